// The messages of a queue, looked at without a change.
import { html, useState } from '../../lib/html.js';
import { t, size, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { attempt, open, Dialog } from '../../lib/layers.js';
import { setQuery, route, href, to } from '../../lib/router.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { Ago } from '../../lib/time.js';
import { TextField, Select } from '../../lib/form.js';
import { Code } from '../../lib/code.js';

const columns = () => [
  { key: 'id', title: t('message.id'), sort: false, always: true, render: (m) => html`<span class="mono">${m.id}</span>` },
  { key: 'state', title: t('message.state'), sort: false, value: (m) => word('state', m.state) },
  { key: 'exchange', title: t('publish.exchange'), sort: false, value: (m) => m.exchange },
  { key: 'routing_keys', title: t('publish.key'), sort: false, value: (m) => m.routing_keys.join(', ') },
  { key: 'message_id', title: t('publish.message_id'), sort: false },
  { key: 'died', title: t('message.died'), sort: false, value: (m) => m.deaths.map((d) => `${word('reason', d.reason)} × ${d.count}`).join(', ') },
  { key: 'returns', title: t('waiting.returns'), sort: false, align: 'end' },
  { key: 'expires', title: t('message.expires'), sort: false, render: (m) => html`<${Ago} at=${m.expires} />`, off: true },
  { key: 'size', title: t('queues.bytes'), sort: false, align: 'end', render: (m) => size(m.size) },
];

export function Messages({ vhost, name }) {
  const { filter = '', order = 'oldest' } = route.value.query;
  const [text, type] = useState(filter);
  const [more, set] = useState({ items: [], next: undefined });
  const list = path`x/queues/${vhost}/${name}/messages`;
  const first = useData((signal) => api.get(list, { filter, order, limit: 50 }, { signal }), [vhost, name, filter, order], { every: 0, keep: false });
  const mine = more.base === first.data ? more : { items: [], next: first.data?.next };
  const items = [...(first.data?.items || []), ...mine.items];
  const load = () => attempt(async () => {
    const got = await api.get(list, { filter, order, limit: 50, after: mine.next });
    set({ base: first.data, items: [...mine.items, ...got.items], next: got.next });
  });
  const source = { rows: items, total: items.length, filtered: items.length, page: 1, pages: 1, text: filter, known: first.data !== undefined, error: first.error, refresh: first.refresh };
  return html`<form class="form" onSubmit=${(e) => { e.preventDefault(); setQuery({ filter: text }); }}>
      <${TextField} label=${t('message.filter')} hint=${t('message.filter_hint')} value=${text} onInput=${type} type="search" />
      <${Select} label=${t('message.order')} value=${order} onInput=${(v) => setQuery({ order: v === 'oldest' ? '' : v })} options=${[['oldest', t('message.oldest')], ['newest', t('message.newest')]]} />
      <p class="buttons whole"><button type="submit">${t('message.look')}</button> <button type="button" onClick=${first.refresh}>${t('message.again')}</button>
        <a href=${href('/letters', { vhost, filter: `queue:${/^[\w.#-]+$/.test(name) ? name : JSON.stringify(name)}` })}>${t('message.as_letters')}</a></p>
    </form>
    <${Table} id="queue-messages" caption=${t('queue.messages')} source=${source} columns=${columns()} keyOf=${(m) => m.id} filter=${false} more=${{ next: mine.next, load, partial: !!filter }}
      onOpen=${(m) => open(Message, { vhost, name, id: m.id })}
      empty=${html`<${Empty} title=${t('message.none')} text=${t('message.none_text')} />`} />`;
}

function Message({ close, vhost, name, id }) {
  const got = useData((signal) => api.get(path`x/queues/${vhost}/${name}/messages/${id}`, { payload: true }, { signal }), [id], { every: 0 });
  const m = got.data;
  return html`<${Dialog} title=${t('message.title', { id })} close=${close} wide actions=${html`
    <a class="button" href=${href(to`/letters/${vhost}/queue/${name}/${id}`)} onClick=${() => close()}>${t('message.whole')}</a><button type="button" onClick=${() => close()}>${t('frame.close')}</button>`}>
    ${got.error && html`<p class="banner bad" role="alert">${got.error.missing ? t('message.gone') : got.error.reason}</p>`}
    ${m && html`<${Code} text=${JSON.stringify(m.properties ?? {}, null, 2)} label=${t('publish.properties')} />
      ${m.payload !== undefined && m.payload !== null ? html`<${Code} text=${pretty(m.payload, m.payload_encoding)} label=${t('publish.payload')} />` : html`<p class="hint">${t('message.no_payload')}</p>`}`}
  </${Dialog}>`;
}

function pretty(text, encoding) {
  if (encoding !== 'string') return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
