// The overview: is anything dying now, why, from where, how old is it; and how the broker is.
import { html } from '../lib/html.js';
import { t, num, rate, short, size, span } from '../lib/i18n.js';
import { api } from '../lib/api.js';
import { href, route, to } from '../lib/router.js';
import { useData } from '../lib/live.js';
import { Shown } from '../lib/states.js';
import { Chart } from '../lib/chart.js';
import { Ranges } from '../lib/ranges.js';
import { asks, perSecond, rangeOf, sampled } from '../lib/samples.js';
import { may } from '../lib/session.js';
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
  return html`<div class="page-head"><h1>${t('overview.title')}</h1><${Ranges} range=${range} usual=${usual} /></div>
    <${Health} />
    <${DeadPanel} range=${range} />
    <${Shown} of=${overview}>${(o) => html`<${Charts} of=${o} />
      <section class="card" aria-labelledby="objects"><h2 id="objects">${t('overview.objects')}</h2><div class="cards">
        ${[
          ['connections', '/connections'],
          ['channels', '/channels'],
          ['exchanges', '/exchanges'],
          ['queues', '/queues'],
          ['consumers', '/consumers'],
        ].map(
          ([k, at]) =>
            html`<a class="stat" href=${href(at)}><b>${num(o.object_totals[k])}</b><span>${t(`overview.${k}`)}</span></a>`,
        )}
        <div class="stat"><b>${num(o.queue_totals.messages_ready ?? 0)}</b><span>${t('overview.ready')}</span></div>
        <div class="stat"><b>${num(o.queue_totals.messages_unacknowledged ?? 0)}</b><span>${t('overview.unacked')}</span></div></div>
        <p class="faint">${o.product_name} ${o.product_version} · ${t('overview.as_rabbitmq', { version: o.rabbitmq_version })} · ${o.node}</p></section>`}</${Shown}>
    <${Top} />`;
}

// Health is a strip of what limits the node.
function Health() {
  const watches = may('monitoring');
  const nodes = useData((abort) => api.get('nodes', {}, { signal: abort }), [], { every: 10000, enabled: watches });
  const lint = useData((abort) => api.get('x/lint', { limit: 1 }, { signal: abort }), [], { every: 30000 });
  const n = nodes.data?.[0];
  const findings = lint.data && lint.data.errors + lint.data.warnings;
  return html`<div class="cards fill">
    ${
      n &&
      html`<a class=${`stat ${n.mem_alarm ? 'bad' : ''}`} href=${href('/node')}><b>${size(n.mem_used)}</b><span>${t('overview.memory', { limit: size(n.mem_limit) })}</span></a>
      <a class=${`stat ${n.disk_free_alarm ? 'bad' : ''}`} href=${href('/node')}><b>${size(n.disk_free)}</b><span>${t('overview.disk', { limit: size(n.disk_free_limit) })}</span></a>
      <a class="stat" href=${href('/node')}><b>${span(n.uptime)}</b><span>${t('overview.uptime')}</span></a>`
    }
    ${lint.data && html`<a class=${`stat ${lint.data.errors ? 'bad' : ''}`} href=${href('/lint')}><b>${num(findings)}</b><span>${t('overview.findings', { errors: lint.data.errors })}</span></a>`}
  </div>`;
}

function Charts({ of: o }) {
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
    perSecond,
  );
  const depths = sampled(o.queue_totals, [
    ['messages_ready_details', t('overview.ready')],
    ['messages_unacknowledged_details', t('overview.unacked')],
  ]);
  return html`<div class="grid">
    <section class="card">${rates ? html`<${Chart} title=${t('overview.rates')} times=${rates.times} series=${rates.series} value=${rate} />` : html`<h2>${t('overview.rates')}</h2><p class="faint">${t('overview.no_rates')}</p>`}</section>
    <section class="card">${depths ? html`<${Chart} title=${t('overview.depths')} times=${depths.times} series=${depths.series} value=${short} />` : html`<h2>${t('overview.depths')}</h2><p class="faint">${t('overview.no_rates')}</p>`}</section></div>`;
}

// Top are the longest queues.
function Top() {
  const got = useData(
    (abort) =>
      api.get(
        vhost.value ? `queues/${encodeURIComponent(vhost.value)}` : 'queues',
        {
          page: 1,
          page_size: 8,
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
      : html`<div class="table-box bare" tabindex="0" role="region" aria-label=${t('overview.queues')}><table><caption class="hidden">${t('overview.longest')}</caption>
    <thead><tr><th scope="col">${t('overview.queue')}</th><th scope="col" class="end">${t('overview.messages')}</th><th scope="col" class="end">${t('overview.ready')}</th><th scope="col" class="end">${t('overview.consumers')}</th></tr></thead>
    <tbody>${d.items.map((x) => html`<tr key=${x.vhost + ' ' + x.name}><td class="break"><a href=${href(to`/queues/${x.vhost}/${x.name}`)}>${x.name}</a>${x.vhost !== '/' && html` <small class="faint">${x.vhost}</small>`}</td><td class="end">${num(x.messages)}</td><td class="end">${num(x.messages_ready)}</td><td class="end">${num(x.consumers)}</td></tr>`)}</tbody></table></div>`}</${Shown}></section>`;
}
