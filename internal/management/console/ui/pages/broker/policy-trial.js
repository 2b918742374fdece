// What a policy would change, as the broker answers while it is written.
import { html, useEffect, useState } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { ask, path } from '../../lib/api.js';
import { Icon } from '../../lib/icon.js';
import { reasonOf } from '../../lib/layers.js';
import { ExchangeLink, QueueLink } from './parts.js';
import { readable, settingName } from './setting-parts.js';
import { refusal } from './import-refusals.js';
import { said } from './said.js';

const shownMax = 100;

// useTrial tries a policy a moment after it changed, or how many exchanges are there: {trial, error, busy}. Nothing is asked without a
// pattern.
export function useTrial({ vhost, name, pattern, definition, priority, applyTo, operator, there }) {
  const [state, set] = useState({ trial: null, error: '', busy: false });
  const body = JSON.stringify({ pattern, definition, priority, 'apply-to': applyTo });
  const ready = pattern !== '' && definition && Object.keys(definition).length > 0;
  useEffect(() => {
    if (!ready) {
      set({ trial: null, error: '', busy: false });
      return undefined;
    }
    const abort = new AbortController();
    set((s) => ({ ...s, busy: true }));
    const timer = setTimeout(() => {
      ask('PUT', `x/dry-run/${operator ? 'operator-policies' : 'policies'}/${path`${vhost}/${name || 'new'}`}`, {
        body,
        signal: abort.signal,
      }).then(
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
    <td><span class="changes">${m.changes.length === 0 ? html`<span class="faint">${t('trial.nothing')}</span>` : m.changes.map((c) => html`<span key=${c.name}>${t('frame.pair', { name: settingName(c.name), value: '' })}<del>${readable(c.name, c.before)}</del> → <ins>${readable(c.name, c.after)}</ins></span>`)}
      ${m.messages_dropped > 0 && html`<span class="tag bad">${t('trial.drops', { n: m.messages_dropped })}</span>`}</span></td></tr>`;
}

export function Trial({ vhost, of: { trial, error, busy, wrong } }) {
  if (wrong) return html`<p class="banner warn" role="status"><${Icon} name="warning" /> ${wrong}</p>`;
  if (error) {
    const text = refusal(error, t);
    return html`<p class="banner bad" role="status"><${Icon} name="warning" /> <span class="break" lang=${text === error ? 'en' : undefined}>${text}</span></p>`;
  }
  if (!trial) return html`<p class="hint" role="status">${busy ? t('trial.busy') : t('trial.begin')}</p>`;
  const drops = trial.matches.reduce((n, m) => n + m.messages_dropped, 0);
  return html`<div role="status"><p>${t('trial.sum', { matched: trial.matched, changed: trial.changed })}</p>
    ${drops > 0 && html`<p class="banner bad"><${Icon} name="warning" /> ${t('trial.drops_all', { n: drops })}</p>`}
    ${trial.warnings.length > 0 && html`<ul>${trial.warnings.map((w) => html`<li class="banner warn" key=${w}><${Icon} name="warning" /> <span class="break">${said(w, t)}</span></li>`)}</ul>`}</div>
    ${
      trial.matches.length > 0 &&
      html`<div class="table-box small" tabindex="0" role="region" aria-label=${t('trial.title')}><table class="plain-table"><caption class="hidden">${t('trial.title')}</caption>
      <thead><tr><th scope="col">${t('trial.object')}</th><th scope="col">${t('trial.policy')}</th><th scope="col">${t('trial.changes')}</th></tr></thead>
      <tbody>${trial.matches.slice(0, shownMax).map((m) => html`<${Outcome} key=${m.kind + m.name} vhost=${vhost} of=${m} />`)}</tbody></table></div>`
    }
    ${trial.matches.length > shownMax && html`<p class="hint">${t('trial.more', { n: trial.matches.length - shownMax })}</p>`}`;
}
