// The messages of a queue, looked at without a change; what died elsewhere can be sent back from here.
import { html } from '../../lib/html.js';
import { t, size, word } from '../../lib/i18n.js';
import { go, href, route, setQuery, to, useKept } from '../../lib/router.js';
import { first, rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { Ago } from '../../lib/time.js';
import { Icon } from '../../lib/icon.js';
import { attempt } from '../../lib/layers.js';
import { Select } from '../../lib/form.js';
import { base, keyOf, neverDied, page, sourceOf } from '../messages/address.js';
import { IndexState, exceptionColumn, useMessages } from '../messages/message-table.js';
import { faultOf } from '../messages/badges.js';
import { RetryNow, retryNow } from '../messages/retry.js';
import { FilterBox } from '../messages/filter-box.js';
import { beginRedrive } from '../deadletters/redrive.js';
import { discardLabel } from '../deadletters/discard-label.js';
import { scopesOf } from '../deadletters/job-scopes.js';
import { lacksIn } from '../deadletters/lacks.js';

const columns = (messages) => [
  {
    key: 'id',
    title: t('message.id'),
    sort: false,
    always: true,
    render: (m) => html`<a class="mono" href=${page(m)}>${m.id}</a>`,
  },
  { key: 'state', title: t('message.state'), sort: false, value: (m) => word('state', m.state) },
  { key: 'exchange', title: t('publish.exchange'), sort: false, value: (m) => m.exchange || t('exchange.default') },
  {
    key: 'routing_keys',
    title: t('publish.key'),
    sort: false,
    value: (m) => m.routing_keys.join(', '),
    render: (m) => html`<code class="break">${m.routing_keys.join(', ')}</code>`,
  },
  { key: 'message_id', title: t('publish.message_id'), sort: false },
  {
    key: 'died',
    title: t('message.died'),
    sort: false,
    value: (m) =>
      m.deaths
        .map((d) => t('frame.aside', { what: `${word('reason', d.reason)} × ${d.count}`, aside: d.queue }))
        .join(t('frame.comma')) || (m.republished ? word('reason', 'republished') : ''),
  },
  exceptionColumn(messages),
  { key: 'returns', title: t('waiting.returns'), sort: false, align: 'end' },
  {
    key: 'expires',
    title: t('message.expires'),
    sort: false,
    render: (m) => html`<${Ago} at=${m.expires} />`,
    off: true,
  },
  { key: 'size', title: t('queues.bytes'), sort: false, align: 'end', render: (m) => size(m.size) },
];

// Waiting is what to do about messages that wait for their retry: all are retried now, or some on their own tab.
function Waiting({ vhost, name, n, done }) {
  const retry = () => retryNow(vhost, name, { all: true }).then(done);
  return html`<p class="banner" role="status"><${Icon} name="expired" /> ${t('waiting.n_wait', { n })}
    <${Action} className="small" lacks=${rightsIn(vhost).queue('read', name)} onClick=${retry}>${t('waiting.retry_all')}</${Action}>
    <a href=${href(to`/queues/${vhost}/${name}`, { tab: 'waiting' })}>${t('waiting.title')}</a></p>`;
}

export function Messages({ vhost, name, count, waiting }) {
  const { filter = '', order = 'oldest' } = route.value.query;
  const selection = useKept('selection', new Set());
  const messages = useMessages(base(vhost, name), { filter, order }, { hold: selection[0].size > 0 });
  const chosen = messages.items.filter((l) => selection[0].has(keyOf(l)));
  const lacks = lacksIn(vhost, [name]);
  // What came here as a dead letter is redriven; messages of the queue itself are moved.
  const meant = chosen.length ? chosen : messages.items;
  const alive = meant.length > 0 && !meant.some((l) => !neverDied(l) && sourceOf(l) !== name);
  const move = chosen.length
    ? t('message.move_n', { n: chosen.length })
    : t(filter ? 'message.move_found' : 'message.move_all');
  const begin = (action) =>
    attempt(async () => {
      const jobs = await beginRedrive(
        vhost,
        chosen.length ? scopesOf(chosen) : [{ source: { queue: name }, filter, count: filter ? undefined : count }],
        action,
        alive,
      );
      if (jobs) selection[1](new Set());
      messages.refresh();
    });
  const retried = (done) => {
    if (done) selection[1](new Set());
    messages.refresh();
  };
  const source = {
    rows: messages.items,
    total: messages.items.length,
    filtered: messages.items.length,
    page: 1,
    pages: 1,
    text: '',
    known: messages.known,
    error: messages.wrong ? null : messages.error,
    wrong: messages.wrong,
    refresh: messages.refresh,
  };
  return html`${waiting > 0 && html`<${Waiting} vhost=${vhost} name=${name} n=${waiting} done=${messages.refresh} />`}
    <${FilterBox} filter=${filter} change=${(f) => setQuery({ filter: f })} known=${{}} error="" />
    <div class="buttons"><${Select} label=${t('message.order')} value=${order} onInput=${(v) => setQuery({ order: v === 'oldest' ? '' : v })} options=${[
      ['oldest', t('message.oldest')],
      ['newest', t('message.newest')],
    ]} />
      <button type="button" onClick=${messages.refresh}>${t('message.again')}</button></div>
    ${messages.wrong && html`<p class="banner bad" role="alert"><${Icon} name="warning" /> ${faultOf(messages.error)}</p>`}
    <${IndexState} of=${messages} />
    <${Table} id="queue-messages" caption=${t('queue.messages')} source=${source} columns=${columns(messages.items)} keyOf=${keyOf} selection=${selection} filter=${false} onOpen=${(m) => go(page(m))}
      more=${{ next: messages.next, load: messages.load, busy: messages.busy, partial: messages.partial }}
      actions=${() =>
        (messages.items.length > 0 || messages.wrong) &&
        html`<${Action} lacks=${first(messages.wrong, lacks.redrive)} onClick=${() => begin('redrive')}><${Icon} name="redrive" /> ${alive ? move : chosen.length ? t('redrive.n', { n: chosen.length }) : filter ? t('redrive.found') : t('redrive.all')}</${Action}>
        <${Action} lacks=${first(messages.wrong, lacks.discard)} onClick=${() => begin('discard')}><${Icon} name="discard" /> ${discardLabel(chosen.length, filter ? undefined : count, alive)}</${Action}>
        <${RetryNow} messages=${chosen} done=${retried} />`}
      empty=${!filter && html`<${Empty} title=${t('message.none')} text=${t('message.none_text')} />`} />`;
}
