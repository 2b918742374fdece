// The first tab of a queue's page: figures, what is in force and why, and where its messages go.
import { html, useRef, useState } from '../../lib/html.js';
import { t, left, num, size, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { href } from '../../lib/router.js';
import { NoPermissions, Shown } from '../../lib/states.js';
import { Chart } from '../../lib/chart.js';
import { Ago } from '../../lib/time.js';
import { Check } from '../../lib/form.js';
import { setting } from '../../lib/known.js';
import { Stat, choiceName, queueType, rateOf } from './parts.js';
import { effective } from './settings.js';
import { Args, Badges, readable, settingName, writtenOf } from './setting-parts.js';
import { Findings, Paths } from './follow.js';
import { Way } from './graph-view.js';
import { QueueRole } from './queue-role.js';
import { remembered } from './readings.js';
import { said } from './said.js';

const most = 360;
const depth = ['messages_ready', 'messages_unacknowledged', 'messages_delayed'];
const speeds = ['publish', 'deliver_get', 'ack', 'redeliver'];

// useReadings keeps what was read of a queue since the page was opened, and begins with what the broker remembers.
function useReadings(q, at) {
  const kept = useRef({ at: 0, all: [] });
  const k = kept.current;
  if (q && at !== k.at) {
    if (k.at === 0) k.all = remembered(q, depth, speeds);
    k.at = at;
    k.all = [...k.all, { at, depth: depth.map((n) => q[n] ?? 0), rates: speeds.map((n) => rateOf(q, n) ?? 0) }].slice(
      -most,
    );
  }
  return k.all;
}

// retries are the settings of delayed retries in words, without those that have their default values.
const retries = (settings) =>
  settings
    .filter((s) => s.name.startsWith('delayed-retry-') && s.source !== 'default')
    .map(({ name, value }) => {
      if (name === 'delayed-retry-type') return choiceName(name, value);
      const words = setting(name)?.kind === 'choice' ? choiceName(name, value) : writtenOf(name, value);
      return t('frame.pair', { name: settingName(name), value: words });
    })
    .join(' · ');

function Settings({ of }) {
  const [all, showAll] = useState(false);
  const rows = of.settings.filter((s) => all || s.source !== 'default');
  return html`<section class="card"><header><h2>${t('queue.settings')}</h2><span class="grow"></span><${Check} label=${t('queue.defaults_too')} value=${all} onInput=${showAll} /></header>
    ${
      rows.length === 0
        ? html`<p>${t('queue.all_default')}</p>`
        : html`<div class="table-box small" tabindex="0" role="region" aria-label=${t('queue.settings')}><table class="plain-table"><caption class="hidden">${t('queue.settings')}</caption>
      <thead><tr><th scope="col">${t('queue.setting')}</th><th scope="col">${t('queue.value')}</th><th scope="col">${t('queue.origin')}</th><th scope="col">${t('queue.why')}</th></tr></thead>
      <tbody>${rows.map(
        (
          s,
        ) => html`<tr key=${s.name}><td class="cap" title=${s.name}>${settingName(s.name)}</td><td class="break">${readable(s.name, s.value)}</td>
        <td><span class=${`tag ${/policy/.test(s.source) ? 'outline' : ''}`}>${word('origin', s.source.replaceAll(' ', '_'))}${s.from ? ` ${s.from}` : ''}</span></td><td class="hint">${said(s.why, t, (v) => writtenOf(s.name, v))}</td></tr>`,
      )}</tbody></table></div>`
    }
    ${of.ignored.length > 0 && html`<h3>${t('queue.ignored')}</h3><ul>${of.ignored.map((s) => html`<li key=${s.name}><code>${s.name}</code> <span>${said(s.why, t, (v) => writtenOf(s.name, v))}</span></li>`)}</ul>`}
    ${of.warnings.length > 0 && html`<ul>${of.warnings.map((w) => html`<li class="banner warn" key=${w}>${said(w, t)}</li>`)}</ul>`}
  </section>`;
}

// deliveryLimit is the limit in words, with that of delayed retries if it is lower: a message dies by whichever comes first.
function deliveryLimit(q) {
  const limit = q.delivery_limit === 'unlimited' ? t('queue.unlimited') : num(q.delivery_limit);
  const attempts = q.delayed_retry ? effective(q, 'delayed-retry-attempts')?.value : 0;
  const lower = attempts > 0 && (q.delivery_limit === 'unlimited' || attempts < q.delivery_limit);
  return lower ? t('queue.limit_of_retries', { limit, n: attempts }) : limit;
}

export function Summary({ vhost, name, queue: q, at }) {
  const readings = useReadings(q, at);
  const explained = useData(
    (signal) => api.get(path`x/explain/queues/${vhost}/${name}`, {}, { signal }),
    [vhost, name],
    { every: 15000 },
  );
  const paths = useData((signal) => api.get(path`x/paths/${vhost}/${name}`, {}, { signal }), [vhost, name], {
    every: 15000,
  });
  // Dead letters wait for somebody who looks at them: without consumers a dead-letter queue is as it should be.
  const isDLQ = useData(
    async (signal) =>
      (await api.get(`x/letters/${path`${vhost}`}/summary`, {}, { signal })).queues.some((x) => x.name === name),
    [vhost, name],
    { every: 15000 },
  );
  const times = readings.map((r) => r.at);
  return html`<${NoPermissions} vhost=${vhost} /><div class="cards">
      <${Stat} value=${num(q.messages_ready)} title=${t('queues.ready')} />
      <${Stat} value=${num(q.messages_unacknowledged)} title=${t('queues.unacked')} />
      <${Stat} value=${num(q.messages_delayed)} title=${t('queues.waiting')} />
      <${Stat} value=${num(q.messages_dlx)} title=${t('queues.held')} bad=${q.messages_dlx > 0} />
      <${Stat} value=${num(q.consumers)} title=${t('queues.consumers')} bad=${q.consumers === 0 && q.messages_ready > 0 && isDLQ.data === false} />
      <${Stat} value=${size(q.message_bytes)} title=${t('queues.bytes')} />
    </div>
    <div class="grid">
      <section class="card"><${Chart} title=${t('queue.chart_depth')} times=${times} stacked series=${[t('queues.ready'), t('queues.unacked'), t('queues.waiting')].map((label, i) => ({ label, values: readings.map((r) => r.depth[i]) }))} /></section>
      <section class="card"><${Chart} title=${t('queue.chart_rates')} times=${times} series=${[t('queues.in'), t('queues.out'), t('queues.acked'), t('queues.redelivered')].map((label, i) => ({ label, values: readings.map((r) => r.rates[i]) }))} /></section>
    </div>
    <section class="card"><h2>${t('queue.about')}</h2><dl class="pairs">
      <dt>${t('queues.type')}</dt><dd>${queueType(q.type)}</dd>
      ${
        paths.data &&
        explained.data &&
        html`<dt>${t('queue.role')}</dt><dd><${QueueRole} vhost=${vhost} name=${name} role=${paths.data.role} settings=${explained.data.settings} changed=${() => {
          explained.refresh();
          paths.refresh();
        }} /></dd>`
      }
      <dt>${t('queues.features')}</dt><dd><${Badges} queue=${q} /></dd>
      <dt>${t('queue.arguments')}</dt><dd><${Args} of=${q.arguments} /></dd>
      ${q.head_message_timestamp && html`<dt>${t('queue.head')}</dt><dd><${Ago} at=${q.head_message_timestamp * 1000} /></dd>`}
      ${q.idle_since && html`<dt>${t('queue.idle')}</dt><dd><${Ago} at=${q.idle_since} /></dd>`}
      <dt class="cap">${t('setting.delivery-limit')}</dt><dd>${deliveryLimit(q)}</dd>
      ${q.delayed_retry && explained.data && html`<dt class="cap">${t('setting.delayed-retry-type')}</dt><dd>${retries(explained.data.settings)}</dd>`}
      ${q.next_delayed_at && html`<dt>${t('queue.next_retry')}</dt><dd>${t('unit.from_now', { time: left(q.next_delayed_at - Date.now()) })}</dd>`}
      ${q.owner_pid_details && html`<dt>${t('queue.owner')}</dt><dd>${q.owner_pid_details.name}</dd>`}
    </dl></section>
    <${Shown} of=${explained}>${(d) => html`<${Settings} of=${d} />`}</${Shown}>
    <section class="card"><header><h2>${t('paths.title')}</h2><span class="grow"></span><a href=${href('/topology', { vhost, root: `q:${name}` })}>${t('paths.graph')}</a></header>
      <${Shown} of=${paths}>${(d) => html`<${Findings} of=${d.findings} /><${Way} vhost=${vhost} root=${`q:${name}`} /><${Paths} of=${d} />`}</${Shown}></section>`;
}
