// Settings as people read them, and the fields that ask for them.
import { html } from '../../lib/html.js';
import { t, has, num, percent, size, span, word } from '../../lib/i18n.js';
import { Check, NumberField, Select, TextField } from '../../lib/form.js';
import { Duration, Steps } from '../../lib/duration-fields.js';
import { setting } from '../../lib/known.js';
import { choiceName, yesNo } from './parts.js';
import { readDuration } from '../../lib/duration.js';
import { badgesOf } from './settings.js';

// settingName is a setting's name in words.
export const settingName = (name) => (has(`setting.${name}`) ? t(`setting.${name}`) : name);

// written is a value of a kind of setting as people read it.
export function written(value, kind) {
  if (value === null || value === undefined) return '–';
  if (kind === 'duration') return value < 0 ? '–' : span(value);
  if (kind === 'durations')
    return value
      .split(/, */)
      .map((one) => span(readDuration(one).ms))
      .join(t('frame.comma'));
  if (kind === 'bytes') return size(value);
  if (kind === 'percentage') return percent(value / 100);
  if (typeof value === 'number') return num(value);
  if (typeof value === 'boolean') return yesNo(value);
  if (typeof value === 'string') return value === '' ? t('setting.empty') : value;
  return JSON.stringify(value);
}

const isExchange = (name) => /-exchange$/.test(name);

// writtenOf is the value of the setting of that name as people read it. An exchange without a name is the default one.
export const writtenOf = (name, value) =>
  value === '' && isExchange(name) ? t('exchange.default') : written(value, setting(name)?.kind);

// readable is writtenOf for tables, where a choice is in words with its value in small type.
export const readable = (name, value) =>
  setting(name)?.kind === 'choice' && has(`choice.${name}.${value}`)
    ? html`${choiceName(name, value)} <code class="small faint">${value}</code>`
    : writtenOf(name, value);

// keyed is the name of a setting in words with its key in small type; what has no words is its key only.
export const keyed = (key) => {
  const name = key.replace(/^x-/, '');
  return has(`setting.${name}`)
    ? html`<span class="cap">${t(`setting.${name}`)}</span> <code class="small faint">${key}</code>`
    : html`<code>${key}</code>`;
};

// Args are arguments of something or the definition of a policy, one line each.
export function Args({ of }) {
  const all = Object.entries(of || {});
  if (!all.length) return html`<span class="faint">–</span>`;
  return html`<ul class="args">${all.map(([k, v]) => html`<li key=${k}>${keyed(k)} <span class="break">${writtenOf(k.replace(/^x-/, ''), v)}</span></li>`)}</ul>`;
}

// BadgeList shows {code, text, outline}: a few characters each, and what they mean, for the pointer badge by badge, for the keyboard together.
export function BadgeList({ badges }) {
  if (!badges.length) return html`<span class="faint">–</span>`;
  const all = badges.map((b) => t('frame.pair', { name: b.code, value: b.text })).join('\n');
  return html`<span class="badges" role="group" aria-label=${t('queues.features')} tabindex="0" data-tip=${all}>${badges.map((b) => html`<abbr key=${b.code} class=${`tag ${b.outline ? 'outline' : ''}`} title=${b.text}>${b.code}<span class="hidden"> ${b.text}</span></abbr>`)}</span>`;
}

// policyBadges are the policies of a queue or an exchange.
export const policyBadges = (of) =>
  [
    of.policy && { code: of.policy, text: t('queue.policy', { name: of.policy }), outline: true },
    of.operator_policy && {
      code: of.operator_policy,
      text: t('queue.operator_policy', { name: of.operator_policy }),
      outline: true,
    },
  ].filter(Boolean);

// Badges are what applies to a queue: solid if it was declared so, dashed if a policy says so.
export function Badges({ queue }) {
  const badges = badgesOf(queue).map((b) => {
    const name = settingName(b.name);
    const what = b.kind && b.kind !== 'boolean' ? t('frame.pair', { name, value: writtenOf(b.name, b.value) }) : name;
    return {
      code: word('badge', b.code),
      text: t('frame.aside', { what, aside: t(`from.${b.from}`) }),
      outline: b.from === 'policy',
    };
  });
  return html`<${BadgeList} badges=${[...badges, ...policyBadges(queue)]} />`;
}

// SettingField asks for the value of a setting; null is none, undefined a text that is no value. The first choice of a setting is its default: with
// defaults, it stands for none. exchanges are names to suggest; with nameless the default exchange is one of them.
export function SettingField({ name, value, onInput, defaults = false, exchanges = [], nameless = false, ...rest }) {
  const { kind, min, max, choices } = setting(name);
  const label = settingName(name);
  const put = (v) => onInput(v === '' || v === false ? null : v);
  const field = { label, onInput: put, ...rest };
  const number = { ...field, value: value ?? null, min, max };
  if (kind === 'duration') return html`<${Duration} ...${number} />`;
  if (kind === 'durations') return html`<${Steps} ...${field} value=${value ?? null} />`;
  if (kind === 'number') return html`<${NumberField} ...${number} />`;
  if (kind === 'bytes') return html`<${NumberField} ...${number} unit=${t('create.bytes')} />`;
  if (kind === 'percentage') return html`<${NumberField} ...${number} unit="%" />`;
  if (kind === 'boolean' && defaults) return html`<${Check} ...${field} value=${value} />`;
  if (kind === 'boolean')
    return html`<${Select} ...${field} value=${String(value ?? '')} onInput=${(v) => onInput(v === '' ? null : v === 'true')} options=${[
      ['', t('policies.unset')],
      ['true', t('frame_words.yes')],
      ['false', t('frame_words.no')],
    ]} />`;
  if (kind === 'choice') {
    const none = defaults ? choiceName(name, choices[0]) : t('policies.unset');
    const others = choices.slice(defaults ? 1 : 0).map((c) => [c, choiceName(name, c)]);
    return html`<${Select} ...${field} value=${value ?? ''} options=${[['', none], ...others]} />`;
  }
  if (isExchange(name)) {
    const nothing = t('exchange.default'); // stands for the name that is empty
    const names = nameless ? [nothing, ...exchanges] : exchanges;
    return html`<${TextField} ...${field} value=${value === '' ? nothing : (value ?? '')} onInput=${(v) => (nameless && v === nothing ? onInput('') : put(v))} list=${names} />`;
  }
  const example = value === '' ? t('setting.empty') : undefined;
  return html`<${TextField} ...${field} value=${value ?? ''} placeholder=${example} />`;
}
