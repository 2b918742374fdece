// The other tabs of a queue's page: who consumes, what is bound, what waits, what is held.
import { html, useState } from '../../lib/html.js';
import { t, dateTime, num, size, span, word } from '../../lib/i18n.js';
import { go, href, useKept } from '../../lib/router.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { Ago } from '../../lib/time.js';
import { attempt } from '../../lib/layers.js';
import { may } from '../../lib/session.js';
import { rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { ExchangeLink, yesNo } from './parts.js';
import { Args } from './setting-parts.js';
import { bind, lacksToBind, unbind } from './queue-dialogs.js';
import { bindCode, consumeCode } from '../code/clients.js';
import { retryCommand } from '../code/commands.js';
import { waitingPage } from '../messages/address.js';
import { retryNow } from '../messages/retry.js';
import { act, lacks, lacksToCancel, move } from '../schedule/actions.js';
import { patternOf } from './queue-name.js';

const consumerColumns = () => [
  {
    key: 'consumer_tag',
    title: t('consumers.tag'),
    always: true,
    render: (c) => html`<span class="break">${c.consumer_tag}</span>`,
  },
  {
    key: 'channel',
    title: t('consumers.channel'),
    value: (c) => c.channel_details.name,
    render: (c) =>
      html`<a class="break" href=${href('/channels', { name: c.channel_details.name })}>${c.channel_details.name}</a>`,
  },
  { key: 'user', title: t('consumers.user'), value: (c) => c.channel_details.user },
  { key: 'ack_required', title: t('consumers.ack'), value: (c) => yesNo(c.ack_required) },
  { key: 'prefetch_count', title: t('consumers.prefetch'), align: 'end' },
  { key: 'exclusive', title: t('consumers.exclusive'), value: (c) => yesNo(c.exclusive) },
  { key: 'activity_status', title: t('consumers.status'), value: (c) => word('activity', c.activity_status) },
  {
    key: 'consumer_timeout',
    title: t('setting.consumer-timeout'),
    align: 'end',
    off: true,
    value: (c) => c.consumer_timeout,
    render: (c) => span(c.consumer_timeout),
  },
  {
    key: 'arguments',
    title: t('queue.arguments'),
    off: true,
    value: (c) => JSON.stringify(c.arguments),
    render: (c) => html`<${Args} of=${c.arguments} />`,
  },
];

export function Consumers({ queue: q }) {
  const source = useRows({ data: q.consumer_details || [], loading: false, error: null }, consumerColumns(), {
    prefix: 'c.',
  });
  return html`<${Table} id="queue-consumers" caption=${t('consumers.title')} source=${source} columns=${consumerColumns()} keyOf=${(c) => `${c.consumer_tag} ${c.channel_details.name}`}
    empty=${html`<${Empty} title=${t('consumers.none')} text=${t('consumers.none_text')} code=${consumeCode(q.name)} />`} />`;
}

const bindingColumns = (gone) => [
  {
    key: 'source',
    title: t('bind.from'),
    always: true,
    render: (b) => html`<${ExchangeLink} vhost=${b.vhost} name=${b.source} />`,
  },
  {
    key: 'routing_key',
    title: t('publish.key'),
    names: true,
    render: (b) => html`<code class="break">${b.routing_key}</code>`,
  },
  {
    key: 'arguments',
    title: t('bind.arguments'),
    value: (b) => JSON.stringify(b.arguments),
    render: (b) => html`<${Args} of=${b.arguments} />`,
  },
  {
    key: 'do',
    title: t('bind.remove'),
    sort: false,
    value: () => '',
    render: (b) =>
      b.source === ''
        ? html`<span class="faint">${t('bind.implicit')}</span>`
        : html`<${Action} className="small" lacks=${lacksToBind(b)} onClick=${() => unbind(b).then(gone)}>${t('bind.remove')}</${Action}>`,
  },
];

export function Bindings({ vhost, name }) {
  const got = useData((signal) => api.get(path`queues/${vhost}/${name}/bindings`, {}, { signal }), [vhost, name]);
  const columns = bindingColumns((done) => done && got.refresh());
  const source = useRows(got, columns, { prefix: 'b.' });
  const add = () => bind({ vhost, target: { type: 'queue', name } }).then((done) => done && got.refresh());
  return html`<${Table} id="queue-bindings" caption=${t('bind.list')} source=${source} columns=${columns} keyOf=${(b) => `${b.source} ${b.properties_key}`}
      actions=${() => html`<${Action} lacks=${rightsIn(vhost).queue('write', name)} onClick=${add}>${t('bind.title')}</${Action}>`} />
    ${source.total === 1 && html`<${Empty} title=${t('bind.only_default')} text=${t('bind.only_default_text', { name })} code=${bindCode({ queue: name, exchange: 'amq.topic', key: `${name}.#` })} />`}`;
}

// usePortions reads a list in portions: load(after) returns {items, next}.
function usePortions(load, deps) {
  const [more, set] = useState({ key: '', items: [], next: null });
  const key = JSON.stringify(deps);
  const first = useData((signal) => load(undefined, signal), deps);
  const mine = more.key === key && more.base === first.data ? more : { items: [], next: first.data?.next };
  const items = [...(first.data?.items || []), ...mine.items];
  const next = mine.next;
  const go = () =>
    attempt(async () => {
      const got = await load(next);
      set({ key, base: first.data, items: [...mine.items, ...got.items], next: got.next });
    });
  return {
    source: {
      rows: items,
      total: items.length,
      filtered: items.length,
      page: 1,
      pages: 1,
      text: '',
      known: first.data !== undefined,
      error: first.error,
      refresh: first.refresh,
    },
    more: { next, load: go },
    refresh: first.refresh,
  };
}

const waitingColumns = (page) => [
  {
    key: 'due',
    title: t('waiting.due'),
    sort: false,
    always: true,
    render: (m) => html`<a class="bare" href=${href(page(m))}><${Ago} at=${m.due} /></a>`,
  },
  {
    key: 'why',
    title: t('waiting.why'),
    sort: false,
    value: (m) => word('waiting_why', (m.why || '').replaceAll('-', '_')),
  },
  { key: 'returns', title: t('waiting.returns'), sort: false, align: 'end' },
  { key: 'exchange', title: t('publish.exchange'), sort: false },
  { key: 'routing_key', title: t('publish.key'), sort: false },
  { key: 'message_id', title: t('publish.message_id'), sort: false },
  { key: 'payload_bytes', title: t('queues.bytes'), sort: false, align: 'end', render: (m) => size(m.payload_bytes) },
];

// WaitingList is what waits in a queue; spaced says that the queue has delayed retry.
export function WaitingList({ vhost, name, spaced }) {
  const picked = useKept('selection', new Set());
  const page = (m) => waitingPage(m, vhost);
  const list = usePortions(
    (after, signal) => api.get(path`x/waiting/${vhost}/${name}`, { limit: 100, after }, { signal }),
    [vhost, name],
  );
  const done = (acted) => {
    if (!acted) return;
    picked[1](new Set());
    list.refresh();
  };
  const retry = (rows) =>
    retryNow(
      vhost,
      name,
      rows.length ? { ids: rows.map((m) => m.id) } : { all: true },
      rows.filter((m) => m.why === 'delivery-time').length,
    ).then(done);
  const change = (
    rows,
  ) => html`<${Action} lacks=${lacks(rows)} onClick=${() => move(rows).then(done)}>${t('schedule.move')}</${Action}>
    <${Action} className="danger" lacks=${lacksToCancel(rows)} onClick=${() => act('cancel', rows).then(done)}>${t('schedule.cancel')}</${Action}>`;
  return html`<${Table} id="queue-waiting" caption=${t('waiting.title')} source=${list.source} columns=${waitingColumns(page)} keyOf=${(m) => m.id} nameOf=${(m) => [m.message_id, m.routing_key, dateTime(m.due)].filter(Boolean).join(t('frame.clause'))} selection=${picked} onOpen=${(m) => go(page(m))} filter=${false} more=${list.more}
    actions=${(
      rows,
    ) => html`<${Action} lacks=${rightsIn(vhost).queue('read', name)} disabled=${list.source.total === 0} onClick=${() => retry(rows)}>${rows.length ? t('waiting.retry_some', { n: rows.length }) : t('waiting.retry_all')}</${Action}>
      ${rows.length > 0 && change(rows.map((m) => ({ ...m, vhost })))}`}
    empty=${html`<${Empty} title=${t('waiting.none')} text=${t(spaced ? 'waiting.none_now' : 'waiting.none_text')} cli=${spaced ? undefined : retryCommand({ vhost, name })} docs="retries-and-limits.md">
      ${!spaced && may('policymaker') && html`<p><a class="button" href=${href('/policies/edit', { vhost, pattern: patternOf([name]), preset: 'retry' })}>${t('waiting.make_policy')}</a></p>`}</${Empty}>`} />
    ${list.source.rows.some((m) => m.why === 'delivery-time') && html`<p class="hint">${t('waiting.about')}</p>`}`;
}

const heldColumns = () => [
  { key: 'cause', title: t('held.cause'), sort: false, always: true, value: (m) => word('cause', m.cause) },
  { key: 'reason', title: t('held.reason'), sort: false, value: (m) => word('reason', m.reason) },
  { key: 'since', title: t('held.since'), sort: false, render: (m) => html`<${Ago} at=${m.since} />` },
  { key: 'exchange', title: t('publish.exchange'), sort: false },
  { key: 'routing_keys', title: t('publish.key'), sort: false, value: (m) => m.routing_keys.join(', ') },
  { key: 'took', title: t('held.took'), sort: false, value: (m) => m.took.join(', ') },
  { key: 'size', title: t('queues.bytes'), sort: false, align: 'end', render: (m) => size(m.size) },
];

export function HeldList({ vhost, name }) {
  const list = usePortions(
    (after, signal) => api.get(path`x/held/${vhost}/${name}`, { limit: 100, after }, { signal }),
    [vhost, name],
  );
  return html`<${Table} id="queue-held" caption=${t('held.title')} source=${list.source} columns=${heldColumns()} keyOf=${(m) => m.id} filter=${false} more=${list.more}
    empty=${html`<${Empty} title=${t('held.none')} text=${t('held.none_text')} docs="dead-letters.md" />`} />
    ${list.source.total > 0 && html`<p class="hint">${t('held.about', { n: list.source.total })}</p>`}`;
}
