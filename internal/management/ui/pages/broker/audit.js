// Who changed what.
import { html } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { setQuery } from '../../lib/router.js';
import { useServerList } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { When } from '../../lib/time.js';
import { Dialog, open } from '../../lib/layers.js';
import { Code } from '../../lib/code.js';

const plain = (object) => {
  try {
    return decodeURIComponent(object.replace(/^\/api\//, ''));
  } catch {
    return object;
  }
};

const columnsOf = () => [
  { key: 'id', title: t('message.id'), align: 'end', off: true },
  { key: 'at', title: t('audit.at'), sort: 'id', always: true, render: (d) => html`<${When} at=${d.at} />` },
  { key: 'user', title: t('users.user'), render: (d) => html`<button type="button" class="plain" onClick=${() => setQuery({ user: d.user, page: '' }, { push: true })}>${d.user}</button>` },
  { key: 'action', title: t('audit.action'), value: (d) => d.action, render: (d) => html`<span class="tag">${d.action}</span>` },
  { key: 'object', title: t('audit.object'), value: (d) => plain(d.object), render: (d) => html`<span class="name-cell">${plain(d.object)}</span>` },
  { key: 'status', title: t('audit.status'), align: 'end', render: (d) => html`<span class=${`tag ${d.status >= 400 ? 'bad' : ''}`}>${String(d.status)}</span>` },
  { key: 'from', title: t('audit.from'), render: (d) => d.from || t('audit.broker') },
  { key: 'detail', title: t('audit.detail'), sort: false, value: (d) => (d.detail ? JSON.stringify(d.detail) : ''), render: (d) => (d.detail ? html`<button type="button" class="small" onClick=${() => open(Detail, { deed: d })}>${t('audit.show')}</button>` : html`<span class="faint">–</span>`) },
];

function Detail({ close, deed }) {
  return html`<${Dialog} title=${`${deed.action} ${plain(deed.object)}`} close=${close} wide><dl class="pairs"><dt>${t('users.user')}</dt><dd>${deed.user}</dd><dt>${t('audit.at')}</dt><dd><${When} at=${deed.at} /></dd><dt>${t('audit.from')}</dt><dd>${deed.from || t('audit.broker')}</dd><dt>${t('audit.status')}</dt><dd>${String(deed.status)}</dd></dl>
    <${Code} text=${JSON.stringify(deed.detail ?? {}, null, 2)} label=${t('audit.detail')} /></${Dialog}>`;
}

export function render({ query }) {
  const user = query.user || '';
  const source = useServerList('x/audit', { query: { user }, every: 10000 });
  return html`<h1>${t('audit.title')}</h1><p class="hint">${t('audit.about')}</p>
    ${user && html`<p class="banner">${t('audit.only', { user })} <button type="button" onClick=${() => setQuery({ user: '' })}>${t('audit.all')}</button></p>`}
    <${Table} id="audit" caption=${t('audit.title')} source=${source} columns=${columnsOf()} keyOf=${(d) => String(d.id)} onOpen=${(deed) => open(Detail, { deed })}
      empty=${html`<${Empty} title=${t('audit.none')} text=${t('audit.none_text')} docs="audit.md" />`} />`;
}
