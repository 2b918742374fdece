// The tab of a queue's page about the last while: how many messages there were, what came and went, what died and why.
import { html } from '../../lib/html.js';
import { t, num, per, rate } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { Shown } from '../../lib/states.js';
import { Chart, Unknown, Ranges } from '../../lib/chart.js';
import { asks, perSecond, rangeOf, sampled, unknownOf } from '../../lib/samples.js';
import { byBroker, Deaths } from '../deadletters/deaths-chart.js';

const usual = '1h';

export function Trends({ vhost, name, query }) {
  const range = rangeOf(query, usual);
  const counts = useData(
    (signal) => api.get(path`queues/${vhost}/${name}`, asks(range, 'lengths', 'msg_rates'), { signal }),
    [vhost, name, range],
    { on: ['queues'] },
  );
  const deaths = useData(
    (signal) => api.get(path`x/queues/${vhost}/${name}/deaths`, { range }, { signal }),
    [vhost, name, range],
    { on: ['letters'] },
  );
  return html`<div class="page-head"><h2>${t('queue.trends')}</h2><${Ranges} range=${range} usual=${usual} /></div>
    <section class="card"><h3>${t('queue.died_here')}</h3><${Shown} of=${deaths}>${(d) => html`<${Died} of=${d} range=${range} />`}</${Shown}></section>
    <${Shown} of=${counts}>${(q) => html`<${Counts} of=${q} range=${range} />`}</${Shown}>`;
}

function Died({ of: d, range }) {
  const died = byBroker.reduce((n, r) => n + d.died[r], 0);
  const came =
    d.letters > 0 &&
    html`<${Chart} title=${t('queue.letters_came', { step: per(1000 * d.step_seconds) })} times=${d.times} series=${[{ label: t('queue.letters'), values: d.by_step.letters }]} steps value=${num} height=${130} />`;
  return html`<p>${t('queue.died_counts', { range: t(`overview.range_${range}`), died, letters: d.letters })} <span class="faint">${t('queue.died_then')}</span></p><${Unknown} of=${unknownOf(d, Date.parse(d.since))} />${died > 0 && html`<${Deaths} of=${[d]} by=${byBroker} height=${130} />`}${came}`;
}

function Counts({ of: q, range }) {
  const depths = sampled(
    q,
    [
      ['messages_details', t('queue.all_messages')],
      ['messages_ready_details', t('queues.ready')],
      ['messages_unacknowledged_details', t('queues.unacked')],
    ],
    { answer: q, range },
  );
  const rates = sampled(
    q.message_stats,
    [
      ['publish_details', t('queues.in')],
      ['deliver_get_details', t('queues.out')],
      ['ack_details', t('queues.acked')],
      ['redeliver_details', t('queues.redelivered')],
    ],
    { answer: q, range, pick: perSecond },
  );
  return html`<div class="grid">
    <section class="card">${depths ? html`<${Chart} title=${t('queue.chart_depth')} ...${depths} />` : html`<p class="faint">${t('overview.no_rates')}</p>`}</section>
    <section class="card">${rates ? html`<${Chart} title=${t('queue.chart_rates')} ...${rates} value=${rate} />` : html`<p class="faint">${t('queue.no_traffic')}</p>`}</section></div>`;
}
