// Who changed what.
import { html } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { href, setQuery } from '../../lib/router.js';
import { useServerList } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { When } from '../../lib/time.js';
import { Dialog, open } from '../../lib/layers.js';
import { Code } from '../../lib/code.js';
import { deedOf, plainObject } from './deed.js';

// sentence says what was done, in parts: 'redrive · orders.dlq · reason:expired · of 109 dead letters'.
function sentence(deed) {
  const d = deedOf(deed);
  if (!d) return [`${deed.action} ${plainObject(deed.object)}`];
  const verb = t(`did.${d.verb}`);
  const said = (part) => (typeof part === 'string' ? part : t(part.key, part));
  return [
    d.what ? t('did.phrase', { verb, what: t(`did_to.${d.what}`) }) : verb,
    ...[d.name, ...d.parts].filter(Boolean).map(said),
    ...(d.vhost ? [t('did.in', { vhost: d.vhost })] : []),
  ];
}

// Done is the sentence, with a link to what it is about.
function Done({ deed }) {
  const [what, ...rest] = sentence(deed);
  const to = deed.status < 400 && deedOf(deed)?.to;
  const text = html`<b>${what}</b>${rest.map((part) => html`<span class="faint"> · </span><span class="break">${part}</span>`)}`;
  return to
    ? html`<a class="deed" href=${href('/' + to.map(encodeURIComponent).join('/'))}>${text}</a>`
    : html`<span class="deed">${text}</span>`;
}

// deedColumns are the columns of a table of records.
export const deedColumns = () => [
  { key: 'id', title: t('message.id'), align: 'end', off: true },
  { key: 'at', title: t('audit.at'), sort: 'id', always: true, render: (d) => html`<${When} at=${d.at} />` },
  {
    key: 'user',
    title: t('users.user'),
    render: (d) =>
      html`<button type="button" class="plain" onClick=${() => setQuery({ user: d.user, page: '' }, { push: true })}>${d.user}</button>`,
  },
  {
    key: 'deed',
    title: t('audit.deed'),
    sort: false,
    always: true,
    value: (d) => sentence(d).join(' · '),
    render: (d) => html`<${Done} deed=${d} />`,
  },
  {
    key: 'action',
    title: t('audit.action'),
    off: true,
    value: (d) => d.action,
    render: (d) => html`<span class="tag">${d.action}</span>`,
  },
  {
    key: 'object',
    title: t('audit.object'),
    off: true,
    value: (d) => plainObject(d.object),
    render: (d) => html`<span class="name-cell">${plainObject(d.object)}</span>`,
  },
  {
    key: 'status',
    title: t('audit.status'),
    align: 'end',
    render: (d) => html`<span class=${`tag ${d.status >= 400 ? 'bad' : ''}`}>${String(d.status)}</span>`,
  },
  { key: 'from', title: t('audit.from'), render: (d) => d.from || t('audit.broker') },
  {
    key: 'detail',
    title: t('audit.detail'),
    sort: false,
    value: (d) => (d.detail ? JSON.stringify(d.detail) : ''),
    render: (d) =>
      d.detail
        ? html`<button type="button" class="small" onClick=${() => open(Detail, { deed: d })}>${t('audit.show')}</button>`
        : html`<span class="faint">–</span>`,
  },
];

export function Detail({ close, deed }) {
  return html`<${Dialog} title=${sentence(deed).join(' · ')} close=${close} wide><dl class="pairs"><dt>${t('audit.object')}</dt><dd><code class="break">${deed.action} ${deed.object}</code></dd><dt>${t('users.user')}</dt><dd>${deed.user}</dd><dt>${t('audit.at')}</dt><dd><${When} at=${deed.at} /></dd><dt>${t('audit.from')}</dt><dd>${deed.from || t('audit.broker')}</dd><dt>${t('audit.status')}</dt><dd>${String(deed.status)}</dd></dl>
    <${Code} text=${JSON.stringify(deed.detail ?? {}, null, 2)} label=${t('audit.detail')} /></${Dialog}>`;
}

export function render({ query }) {
  const user = query.user || '';
  const source = useServerList('x/audit', { query: { user }, every: 10000 });
  return html`<h1>${t('audit.title')}</h1><p class="hint">${t('audit.about')}</p>
    ${user && html`<p class="banner">${t('audit.only', { user })} <button type="button" onClick=${() => setQuery({ user: '' })}>${t('audit.all')}</button></p>`}
    <${Table} id="audit" caption=${t('audit.title')} source=${source} columns=${deedColumns()} keyOf=${(d) => String(d.id)} onOpen=${(deed) => open(Detail, { deed })}
      empty=${html`<${Empty} title=${t('audit.none')} text=${t('audit.none_text')} docs="audit.md" />`} />`;
}
