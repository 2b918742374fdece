// The overview: is anything dying now, how old is it, why and where; below that how the broker is.
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { t, num, rate, short, size, span } from '../lib/i18n.js';
import { api } from '../lib/api.js';
import { href, route, to } from '../lib/router.js';
import { useData } from '../lib/live.js';
import { Shown } from '../lib/states.js';
import { Chart, Ranges } from '../lib/chart.js';
import { asks, perSecond, rangeOf, sampled } from '../lib/samples.js';
import { may } from '../lib/session.js';
import { pref } from '../lib/store.js';
import { vhost } from '../lib/vhosts.js';
import { DeadPanel } from './deadletters/overview-panel.js';

const usual = '1h';

export function render() {
  const range = rangeOf(route.value.query, usual);
  const overview = useData(
    (abort) => api.get('overview', asks(range, 'msg_rates', 'lengths'), { signal: abort }),
    [range],
    { every: 5000 },
  );
  const fresh = overview.data?.object_totals.queues === 0;
  const steps = useFirstSteps(fresh);
  return html`<div class="page-head"><h1>${t('overview.title')}</h1>${!fresh && html`<${Ranges} range=${range} usual=${usual} />`}</div>
    ${!fresh && html`<${DeadPanel} range=${range} />`}${steps && html`<${FirstSteps} ...${steps} />`}
    <${Shown} of=${overview}>${(o) => html`${!fresh && html`<${Charts} of=${o} range=${range} /><${Top} />`}<${Broker} of=${o} />`}</${Shown}>`;
}

// useFirstSteps is what of the first steps is taken, {taken, set}, null if they are not shown: they begin where no queue is, and stay
// until all are taken, or nobody wants them. Of those that are all taken the page that shows it is the last one.
function useFirstSteps(fresh) {
  const kept = pref('steps', null); // their names, 'dismissed', or null where they never began
  const began = useRef(false);
  useEffect(() => {
    if (fresh && kept.value === null) kept.value = [];
    if (fresh === false && kept.value === 'dismissed') kept.value = null; // a new broker may be there another time
  }, [fresh, kept.value]);
  const taken = kept.value;
  if (!Array.isArray(taken)) return null;
  began.current ||= fresh || taken.length < 3;
  return began.current ? { taken, set: (next) => (kept.value = next) } : null;
}

// FirstSteps are loaded only where they are shown.
function FirstSteps(props) {
  const [Steps, set] = useState(null);
  useEffect(() => {
    import('./first-steps.js').then((m) => set(() => m.Steps));
  }, []);
  return Steps && html`<${Steps} ...${props} />`;
}

// Broker is what the node has and what limits it, in small print.
function Broker({ of: o }) {
  const watches = may('monitoring');
  const nodes = useData((abort) => api.get('nodes', {}, { signal: abort }), [], { every: 10000, enabled: watches });
  const n = nodes.data?.[0];
  const objects = [
    ['queues', '/queues'],
    ['exchanges', '/exchanges'],
    ['connections', '/connections'],
    ['channels', '/channels'],
    ['consumers', '/consumers'],
  ];
  return html`<section class="card" aria-labelledby="broker"><h2 id="broker">${t('overview.broker')}</h2>
    <dl class="facts">
      ${objects.map(([k, at]) => html`<div key=${k}><dt>${t(`overview.${k}`)}</dt><dd><a href=${href(at)}>${num(o.object_totals[k])}</a></dd></div>`)}
      <div><dt>${t('overview.ready')}</dt><dd>${num(o.queue_totals.messages_ready ?? 0)}</dd></div>
      <div><dt>${t('overview.unacked')}</dt><dd>${num(o.queue_totals.messages_unacknowledged ?? 0)}</dd></div>
      ${
        n &&
        html`<div class=${n.mem_alarm ? 'bad' : ''}><dt>${t('overview.memory')}</dt><dd><a href=${href('/node')}>${size(n.mem_used)}</a> <small>${t('overview.memory_limit', { limit: size(n.mem_limit) })}</small></dd></div>
        <div class=${n.disk_free_alarm ? 'bad' : ''}><dt>${t('overview.disk')}</dt><dd><a href=${href('/node')}>${size(n.disk_free)}</a> <small>${t('overview.disk_limit', { limit: size(n.disk_free_limit) })}</small></dd></div>
        <div><dt>${t('overview.uptime')}</dt><dd>${span(n.uptime)}</dd></div>`
      }
    </dl>
    <p class="faint small">${o.product_name} ${o.product_version} · ${t('overview.as_rabbitmq', { version: o.rabbitmq_version })} · ${o.node}</p></section>`;
}

function Charts({ of: o, range }) {
  const rates = sampled(
    o.message_stats,
    [
      ['publish_details', t('overview.publish')],
      ['confirm_details', t('overview.confirm')],
      ['deliver_get_details', t('overview.deliver')],
      ['ack_details', t('overview.ack')],
      ['redeliver_details', t('overview.redeliver')],
      ['return_unroutable_details', t('overview.unroutable')],
    ],
    { answer: o, range, pick: perSecond },
  );
  const depths = sampled(
    o.queue_totals,
    [
      ['messages_ready_details', t('overview.ready')],
      ['messages_unacknowledged_details', t('overview.unacked')],
    ],
    { answer: o, range },
  );
  return html`<div class="grid">
    <section class="card">${rates ? html`<${Chart} title=${t('overview.rates')} ...${rates} value=${rate} height=${140} />` : html`<h2>${t('overview.rates')}</h2><p class="faint">${t('overview.no_rates')}</p>`}</section>
    <section class="card">${depths ? html`<${Chart} title=${t('overview.depths')} ...${depths} value=${short} height=${140} />` : html`<h2>${t('overview.depths')}</h2><p class="faint">${t('overview.no_rates')}</p>`}</section></div>`;
}

// Top are the longest queues.
function Top() {
  const got = useData(
    (abort) =>
      api.get(
        vhost.value ? `queues/${encodeURIComponent(vhost.value)}` : 'queues',
        {
          page: 1,
          page_size: 6,
          sort: 'messages',
          sort_reverse: 'true',
          columns: 'name,vhost,messages,messages_ready,consumers',
        },
        { signal: abort },
      ),
    [vhost.value],
    { on: ['queues'] },
  );
  return html`<section class="card" aria-labelledby="top"><h2 id="top">${t('overview.longest')}</h2><${Shown} of=${got}>${(
    d,
  ) =>
    d.items.length === 0
      ? html`<p class="faint">${t('overview.no_queues')} <a href=${href('/queues/new')}>${t('overview.create_queue')}</a></p>`
      : html`<ol class="ranks columns">${d.items.map(
          (
            x,
          ) => html`<li key=${`${x.vhost} ${x.name}`}><a class="break" href=${href(to`/queues/${x.vhost}/${x.name}`)}>${x.name}</a><b>${num(x.messages)}</b>
        <small class="faint">${x.vhost !== '/' && `${x.vhost} · `}${t('overview.of_queue', { ready: x.messages_ready, consumers: x.consumers })}</small></li>`,
        )}</ol>`}</${Shown}></section>`;
}
