// What a policy would change, as the broker answers while it is written.
import { html, useEffect, useState } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { ask, path } from '../../lib/api.js';
import { Icon } from '../../lib/icon.js';
import { confirm, reasonOf } from '../../lib/layers.js';
import { ExchangeLink, QueueLink } from './parts.js';
import { readable, settingName } from './setting-parts.js';
import { refusal } from './import-refusals.js';
import { said, saysDrop } from './said.js';

const shownMax = 100;
const namedMax = 10; // objects in a sentence

// someNames are the first names of a list, for a sentence.
export const someNames = (names) =>
  names.slice(0, namedMax).join(t('frame.comma')) + (names.length > namedMax ? ' …' : '');

// bodyOf is a policy as the broker takes it, to try it and to save it.
export const bodyOf = ({ pattern, definition, priority, applyTo }) => ({
  pattern,
  definition,
  priority: priority ?? 0,
  'apply-to': applyTo,
});

const tryAt = ({ vhost, name, operator }) =>
  `x/dry-run/${operator ? 'operator-policies' : 'policies'}/${path`${vhost}/${name || 'new'}`}`;

// dropsOf is how many messages go at once because of a policy: n, whether that is an estimate, and a sentence for those that are deleted, and for those that are
// dead-lettered. A queue whose settings stay is not meant: saving changes nothing there.
export function dropsOf(trial) {
  const all = trial.matches.filter((m) => m.messages_dropped > 0 && m.changes.length > 0);
  const count = (of) => of.reduce((n, m) => n + m.messages_dropped, 0);
  const about = (of) => (of.some((m) => m.messages_estimated) ? 'yes' : 'no');
  const limitsOf = (of) => [...new Set(of.flatMap((m) => m.limits_exceeded))].map(settingName).join(t('frame.comma'));
  const say = (of, key) =>
    of.length > 0 &&
    t(key, { n: count(of), about: about(of), limits: limitsOf(of), queues: someNames(of.map((m) => m.name)) });
  const texts = [
    say(
      all.filter((m) => !m.dead_letters),
      'trial.deletes_all',
    ),
    say(
      all.filter((m) => m.dead_letters),
      'trial.letters_all',
    ),
  ].filter(Boolean);
  return { n: count(all), about: about(all), texts };
}

// mayDrop tries a policy that is about to be saved, and asks if messages would go at once. If it cannot be tried, saving it says why.
export async function mayDrop(policy) {
  let trial;
  try {
    trial = (await ask('PUT', tryAt(policy), { body: bodyOf(policy) })).data;
  } catch {
    return true;
  }
  const { n, about, texts } = dropsOf(trial);
  if (n === 0) return true;
  return confirm({
    title: t('policies.save_title', { name: policy.name }),
    text: texts[0],
    children: texts.slice(1).map((text) => html`<p key=${text}>${text}</p>`),
    action: t('policies.save_drop', { n, about }),
    danger: true,
  });
}

// useTrial tries a policy a moment after it changed, or how many exchanges are there: {trial, error, busy}. Nothing is asked without a
// pattern.
export function useTrial({ vhost, name, pattern, definition, priority, applyTo, operator, there }) {
  const [state, set] = useState({ trial: null, error: '', busy: false });
  const body = JSON.stringify(bodyOf({ pattern, definition, priority, applyTo }));
  const ready = pattern !== '' && definition && Object.keys(definition).length > 0;
  useEffect(() => {
    if (!ready) {
      set({ trial: null, error: '', busy: false });
      return undefined;
    }
    const abort = new AbortController();
    set((s) => ({ ...s, busy: true }));
    const timer = setTimeout(() => {
      ask('PUT', tryAt({ vhost, name, operator }), { body, signal: abort.signal }).then(
        ({ data }) => set({ trial: data, error: '', busy: false }),
        (error) => error.name !== 'AbortError' && set({ trial: null, error: reasonOf(error), busy: false }),
      );
    }, 350);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [vhost, name, body, operator, ready, there]);
  return state;
}

function Outcome({ vhost, of: m }) {
  return html`<tr><th scope="row">${m.kind === 'queue' ? html`<${QueueLink} vhost=${vhost} name=${m.name} />` : html`<${ExchangeLink} vhost=${vhost} name=${m.name} />`}</th>
    <td>${m.policy_before === m.policy_after ? m.policy_after || '–' : html`<span class="changes"><del>${m.policy_before || '–'}</del><ins>${m.policy_after || '–'}</ins></span>`}</td>
    <td><span class="changes">${m.changes.length === 0 ? html`<span class="faint">${t('trial.nothing')}</span>` : m.changes.map((c) => html`<span key=${c.name}>${t('frame.pair', { name: settingName(c.name), value: '' })}<del>${readable(c.name, c.before)}</del> → <ins>${readable(c.name, c.after)}</ins>${c.name === 'message-ttl' && html` <span class="faint">${t('trial.ttl_later')}</span>`}</span>`)}
      ${m.messages_dropped > 0 && m.changes.length > 0 && html`<span class="tag bad">${t(m.dead_letters ? 'trial.letters' : 'trial.deletes', { n: m.messages_dropped, about: m.messages_estimated ? 'yes' : 'no' })}</span>`}</span></td></tr>`;
}

export function Trial({ vhost, of: { trial, error, busy, wrong } }) {
  if (wrong) return html`<p class="banner warn" role="status"><${Icon} name="warning" /> ${wrong}</p>`;
  if (error) {
    const text = refusal(error, t);
    return html`<p class="banner bad" role="status"><${Icon} name="warning" /> <span class="break" lang=${text === error ? 'en' : undefined}>${text}</span></p>`;
  }
  if (!trial) return html`<p class="hint" role="status">${busy ? t('trial.busy') : t('trial.begin')}</p>`;
  const odd = trial.warnings.filter((w) => !saysDrop(w));
  return html`<div role="status" class="stack"><p>${t('trial.sum', { matched: trial.matched, changed: trial.changed })}</p>
    ${dropsOf(trial).texts.map((text) => html`<p class="banner bad" key=${text}><${Icon} name="warning" /> <span class="break">${text}</span></p>`)}
    ${odd.length > 0 && html`<ul>${odd.map((w) => html`<li class="banner warn" key=${w}><${Icon} name="warning" /> <span class="break">${said(w, t)}</span></li>`)}</ul>`}</div>
    ${
      trial.matches.length > 0 &&
      html`<div class="table-box small" tabindex="0" role="region" aria-label=${t('trial.title')}><table class="plain-table"><caption class="hidden">${t('trial.title')}</caption>
      <thead><tr><th scope="col">${t('trial.object')}</th><th scope="col">${t('trial.policy')}</th><th scope="col">${t('trial.changes')}</th></tr></thead>
      <tbody>${trial.matches.slice(0, shownMax).map((m) => html`<${Outcome} key=${m.kind + m.name} vhost=${vhost} of=${m} />`)}</tbody></table></div>`
    }
    ${trial.matches.length > shownMax && html`<p class="hint">${t('trial.more', { n: trial.matches.length - shownMax })}</p>`}`;
}
