// Pieces that the pages about the broker share.
import { html } from '../../lib/html.js';
import { t, has, num, rate } from '../../lib/i18n.js';
import { href, route, to } from '../../lib/router.js';
import { jsonFault } from './json-fault.js';

// exchangeName is how an exchange is called in paths: the default one has no name of its own.
export const exchangeName = (name) => name || 'amq.default';

// breakable lets a long name go on in the next line where its parts end.
export const breakable = (name) =>
  name.split(/(?<=[._:/-])/).flatMap((part, i) => (i ? [html`<wbr />`, part] : [part]));

export function QueueLink({ vhost, name }) {
  return html`<a class="name-cell" href=${href(to`/queues/${vhost}/${name}`)}>${breakable(name)}</a>`;
}

export function ExchangeLink({ vhost, name }) {
  return html`<a class="break" href=${href(to`/exchanges/${vhost}/${exchangeName(name)}`)}>${name || t('exchange.default')}</a>`;
}

// Tabs are links that change one part of the query. tabs are [id, title, count].
export function Tabs({ tabs, at, label, name = 'tab' }) {
  const { path, query } = route.value;
  return html`<nav class="tabs" aria-label=${label}>${tabs.filter(Boolean).map(
    ([id, title, count], i) => html`
    <a key=${id} href=${href(path, { ...query, [name]: i === 0 ? '' : id, page: '', sort: '', desc: '', name: '' })} aria-current=${id === at ? 'page' : undefined}>${title}${count ? html` <small>${num(count)}</small>` : ''}</a>`,
  )}</nav>`;
}

// rateOf is a rate of message_stats, '' if nothing of the kind has ever happened.
export const rateOf = (row, name) => row.message_stats?.[`${name}_details`]?.rate;
export function Rate({ of, name }) {
  const r = rateOf(of, name);
  return r === undefined ? html`<span class="faint">–</span>` : rate(r);
}

// Stat is one figure with what it is.
export function Stat({ value, title, bad, to: at }) {
  const inside = html`<b>${value}</b><span>${title}</span>`;
  return at
    ? html`<a class=${`stat ${bad ? 'bad' : ''}`} href=${at}>${inside}</a>`
    : html`<div class=${`stat ${bad ? 'bad' : ''}`}>${inside}</div>`;
}

// YesNo is a flag in words.
export const yesNo = (v) => (v ? t('frame_words.yes') : t('frame_words.no'));

// choiceName is one of the values of a setting in words, optionValue one of an option of virtual hosts, queueType a type of queues.
export const choiceName = (name, value) => (has(`choice.${name}.${value}`) ? t(`choice.${name}.${value}`) : value);
export const optionValue = (name, value) => (has(`option.${name}.${value}`) ? t(`option.${name}.${value}`) : value);
export const queueType = (type) => choiceName('queue-type', type);

// descriptionOf is what a virtual host is for: in the language of the console if the broker wrote it.
export const descriptionOf = (v) =>
  v.description === 'Default virtual host' ? t('vhosts.first_description') : v.description;

// parseObject reads JSON that has to be an object: {value} or {error}, which names the field, what.
export function parseObject(text, what) {
  if (!text.trim()) return { value: {} };
  try {
    const value = JSON.parse(text);
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      return { error: t('form_words.json_object', { what }) };
    return { value };
  } catch (error) {
    const { key, params } = jsonFault(error.message, text);
    return { error: t(key, { what, ...params }) };
  }
}
