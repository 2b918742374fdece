// The list of queues. The broker sorts, filters and pages it; the saved filters ask for few columns of all, and choose here.
import { html } from '../../lib/html.js';
import { t, size, num, word } from '../../lib/i18n.js';
import { go, href, route, setQuery, to, useKept } from '../../lib/router.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { useServerList, useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { Icon } from '../../lib/icon.js';
import { Sparkline } from '../../lib/chart.js';
import { broken } from '../../lib/samples.js';
import { Ago } from '../../lib/time.js';
import { within, vhost, vhosts, oneVHost } from '../../lib/vhosts.js';
import { may } from '../../lib/session.js';
import { first, rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { QueueLink, Rate, queueType, rateOf } from './parts.js';
import { Badges } from './setting-parts.js';
import { filters } from './settings.js';
import { deadLetterCode } from '../code/clients.js';
import { queueCommand } from '../code/commands.js';
import { patternOf } from './queue-name.js';
import { purge, remove } from './queue-dialogs.js';

const few =
  'name,vhost,type,durable,auto_delete,exclusive,arguments,effective_policy_definition,policy,operator_policy,consumers,messages,messages_ready,messages_unacknowledged,messages_delayed,messages_dlx,message_bytes';

const growth = 'messages_details.rate'; // by what queues are sorted that grow

const samples = (row) => broken([...(row.messages_details?.samples || [])].reverse(), 5000).map((s) => s.sample);

function columnsOf(all) {
  const figure = (key, title, more = {}) => ({ key, title, align: 'end', ...more });
  const speed = (name, title, more) =>
    figure(`message_stats.${name}_details.rate`, title, {
      value: (q) => rateOf(q, name),
      render: (q) => html`<${Rate} of=${q} name=${name} />`,
      ...more,
    });
  return [
    {
      key: 'name',
      title: t('queues.name'),
      always: true,
      render: (q) => html`<${QueueLink} vhost=${q.vhost} name=${q.name} />`,
    },
    { key: 'vhost', title: t('queues.vhost'), off: !!vhost.value },
    { key: 'type', title: t('queues.type'), render: (q) => html`<span class="nowrap">${queueType(q.type)}</span>` },
    {
      key: 'features',
      title: t('queues.features'),
      sort: false, // a set: no order of sets is of use, and the filters above find queues by features
      value: (q) => JSON.stringify({ ...q.arguments, ...q.effective_policy_definition }),
      render: (q) => html`<${Badges} queue=${q} />`,
    },
    figure('consumers', t('queues.consumers')),
    figure('messages_ready', t('queues.ready')),
    figure('messages_unacknowledged', t('queues.unacked')),
    figure('messages_delayed', t('queues.waiting'), { off: innerWidth < 1250 }),
    figure('messages_dlx', t('queues.held'), { off: true }),
    { key: 'state', title: t('message.state'), off: true, value: (q) => word('queue_status', q.state) },
    {
      key: 'head_message_timestamp',
      title: t('queue.head'),
      off: true,
      value: (q) => q.head_message_timestamp,
      render: (q) => html`<${Ago} at=${q.head_message_timestamp ? q.head_message_timestamp * 1000 : null} />`,
    },
    figure('message_bytes', t('queues.bytes'), { render: (q) => size(q.message_bytes), off: true }),
    ...(all
      ? []
      : [
          speed('publish', t('queues.in')),
          speed('deliver_get', t('queues.out')),
          speed('ack', t('queues.acked'), { off: true }),
          speed('redeliver', t('queues.redelivered'), { off: true }),
          {
            key: 'spark',
            title: t('queues.spark'),
            sort: growth, // a course has no order, but it has a direction
            value: (q) => samples(q).join(' '),
            render: (q) =>
              samples(q).length > 1
                ? html`<${Sparkline} width=${innerWidth < 1400 ? 72 : 96} values=${samples(q)} label=${t('queues.spark')} />`
                : '',
          },
        ]),
  ];
}

// deadLetterQueues finds the queues that dead letters come to.
async function deadLetterQueues(signal) {
  const found = new Set();
  for (const v of vhost.value ? [vhost.value] : vhosts.value) {
    const graph = await api.get(path`x/topology/${v}`, { limit: 20000 }, { signal });
    for (const n of graph.nodes) if (n.queue?.letters) found.add(`${v}\n${n.name}`);
  }
  return found;
}

async function chosen(name, signal) {
  const [all, dlqs] = await Promise.all([
    api.get(within('queues'), { columns: few, disable_stats: true, enable_queue_totals: true }, { signal }),
    name === 'dlq' ? deadLetterQueues(signal) : new Set(),
  ]);
  return all.filter((q) => filters[name](q, dlqs));
}

// lacksFor is what is missing to do something to queues.
const lacksFor = (rows, right) => first(...rows.map((q) => rightsIn(q.vhost).queue(right, q.name)));

export function render() {
  const show = route.value.query.show || '';
  const picked = useKept('selection', new Set());
  const isFilter = !!filters[show];
  const growing = show === 'growing';
  const columns = columnsOf(isFilter);
  // There is no row of sums: a page in the order of names reads the queues of that page only, and sums would read all of
  // them each five seconds. The overview has the sums of a virtual host, which the broker counts as it goes.
  const server = useServerList(isFilter ? '' : within('queues'), {
    columns,
    query: { lengths_age: 60, lengths_incr: 5 },
    usual: growing ? { sort: growth, reverse: true } : { sort: 'name' },
    on: ['queues'],
  });
  const found = useData((signal) => chosen(show, signal), [show, vhost.value, vhosts.value], {
    on: ['queues'],
    enabled: isFilter,
    keep: false,
  });
  const here = useRows(found, columns);
  const source = isFilter ? here : server;
  const changed = (done) => {
    if (!done) return;
    picked[1](new Set());
    source.refresh();
  };
  const saved = ['', 'dlq', 'idle', 'ttl', 'full', 'growing'];
  return html`<div class="page-head"><h1>${t('queues.title')}</h1>
      <${Action} lacks=${rightsIn(oneVHost.value).any('configure')} href=${href('/queues/new', { vhost: vhost.value })}><${Icon} name="plus" /> ${t('queues.create')}</${Action}></div>
    <div class="buttons" role="group" aria-label=${t('queues.saved')}>${saved.map(
      (s) =>
        html`<button type="button" key=${s} aria-pressed=${show === s} onClick=${() => {
          picked[1](new Set());
          setQuery({ show: s, page: '', sort: '', desc: '' }, { push: true });
        }}>${t(`queues.show_${s || 'all'}`)}</button>`,
    )}</div>
    <${Table} id="queues" caption=${t('queues.title')} source=${source} columns=${columns} keyOf=${(q) => `${q.name} · ${q.vhost}`} selection=${picked}
      onOpen=${(q) => go(to`/queues/${q.vhost}/${q.name}`)}
      actions=${(rows) =>
        rows.length > 0 &&
        html`<${Action} lacks=${lacksFor(rows, 'read')} onClick=${() => purge(rows).then(changed)}>${t('queues.purge')}</${Action}>
        <${Action} lacks=${lacksFor(rows, 'configure')} onClick=${() => remove(rows).then(changed)}><${Icon} name="discard" /> ${t('queues.delete')}</${Action}>
        ${may('policymaker') && html`<a class="button" href=${href('/policies/edit', { vhost: rows[0].vhost, pattern: patternOf(rows.map((q) => q.name)) })}>${t('queues.set_policy')}</a>`}`}
      empty=${isFilter ? html`<${Empty} title=${t('queues.none_such')} text=${t(`queues.none_${show}`)} />` : html`<${Empty} title=${t('queues.empty')} text=${t('queues.empty_text')} code=${deadLetterCode} cli=${queueCommand} docs="dead-letters.md" />`} />
    ${source.known && html`<p class="hint">${t('queues.legend', { n: source.total })}</p>`}`;
}
