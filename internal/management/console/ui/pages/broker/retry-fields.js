// The fields of delayed retries: waits as a list, or as a formula, and when a message is tried again by them.
import { html, useState } from '../../lib/html.js';
import { exact, num, t } from '../../lib/i18n.js';
import { Radios } from '../../lib/form.js';
import { SettingField } from './setting-parts.js';
import { planOf } from './retry-plan.js';

const type = 'delayed-retry-type';
const steps = 'delayed-retry-steps';
const formula = ['delayed-retry-min', 'delayed-retry-backoff', 'delayed-retry-max'];
const others = ['delayed-retry-attempts', 'delayed-retry-jitter'];

export const isRetry = (name) => name.startsWith('delayed-retry-');

const some = (v) => (v ?? null) !== null;

// RetryFields has the fields of settings that names lists; change is given those that change, null is none. after is where messages go
// after the last attempt: exchange, lost, or unknown.
export function RetryFields({ names, settings, change, defaults = false, after }) {
  const [chosen, choose] = useState('steps');
  const how = some(settings[steps]) ? 'steps' : formula.some((x) => some(settings[x])) ? 'formula' : chosen;
  const field = (name, more = {}) =>
    names.includes(name) &&
    html`<${SettingField} key=${name} name=${name} defaults=${defaults} value=${settings[name]} onInput=${(v) => change({ [name]: v ?? null })} ...${more} />`;
  const turn = (to) => {
    choose(to);
    const gone = to === 'steps' ? formula : [steps];
    change(Object.fromEntries(gone.map((name) => [name, null])));
  };
  const off = (settings[type] ?? 'disabled') === 'disabled';
  const needed = (key) => (off ? undefined : t(key));
  return html`<div class="form">${field(type)}</div>
    ${
      (!defaults || !off) &&
      html`<${Radios} label=${t('retry.waits')} value=${how} onInput=${turn} options=${[
        ['steps', t('retry.steps')],
        ['formula', t('retry.formula')],
      ]} />
      <div class="form">
        ${how === 'steps' ? field(steps, { className: 'whole', hint: t('retry.steps_hint'), needed: needed('retry.needs_steps') }) : formula.map((name) => field(name, name === formula[0] ? { needed: needed('retry.needs_min') } : {}))}
        ${others.map((name) => field(name, name === others[0] ? { hint: t('retry.attempts_hint') } : {}))}
      </div>
      <${Plan} settings=${settings} off=${off} after=${after} />`
    }`;
}

// Plan says when a message is tried again, and what then.
function Plan({ settings, off, after }) {
  const plan = planOf(settings);
  const waits = planOf({ ...settings, [type]: 'all' });
  if (off && waits) return html`<p class="hint" role="status">${t('retry.off')}</p>`;
  if (!plan) return null;
  const end = t(`retry.then_${after}`);
  return html`<p class="banner retry-plan" role="status">${said(plan, end)} ${settings['delayed-retry-jitter'] > 0 && t('retry.jitter', { percent: num(settings['delayed-retry-jitter']) })} <span class="hint">${t('retry.counted')}</span></p>`;
}

function said({ at, all, last, every }, end) {
  const times = at.map(exact).join(t('frame.comma'));
  if (all === 0) return t('retry.never', { end });
  if (all === Infinity)
    return every ? t('retry.forever', { times, every: exact(every) }) : t('retry.growing', { times });
  if (all <= at.length) return t('retry.after', { times, end });
  return last
    ? t('retry.after_many', { times, last: exact(last), n: all, end })
    : t('retry.after_very_many', { times, n: all, end });
}
