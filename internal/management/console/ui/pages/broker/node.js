// The node: memory, disk, alarms, what it listens on, and what is on the disk.
import { html } from '../../lib/html.js';
import { t, has, word, num, size, span, percent } from '../../lib/i18n.js';
import { api, reachable } from '../../lib/api.js';
import { href } from '../../lib/router.js';
import { useData } from '../../lib/live.js';
import { Shown } from '../../lib/states.js';
import { Icon } from '../../lib/icon.js';
import { Chart, Bar, Progress, Ranges } from '../../lib/chart.js';
import { Ago, When } from '../../lib/time.js';
import { asks, perSecond, rangeOf, sampled } from '../../lib/samples.js';
import { Stat, optionValue } from './parts.js';

const usual = '10m';

export function render({ query }) {
  const range = rangeOf(query, usual);
  const got = useData(
    async (signal) => (await api.get('nodes', { memory: true, ...asks(range, 'node_stats') }, { signal }))[0],
    [range],
    { on: ['overview'] },
  );
  const storage = useData((signal) => api.get('x/storage', {}, { signal }), [], { every: 10000 });
  const product = useData((signal) => api.get('overview', { disable_stats: true }, { signal }), [], { every: 0 });
  const clock = useData((signal) => api.get('x/clock', {}, { signal }), [], { every: 10000 });
  return html`<${Shown} of=${got}>${(
    n,
  ) => html`<div class="page-head"><h1>${n.name}</h1><span class="tag">${product.data && `${product.data.product_name} ${product.data.product_version} · `}${t('overview.as_rabbitmq', { version: n.rabbitmq_version })}</span><${Ranges} range=${range} usual=${usual} /></div>
      <${Alarms} of=${n} />
      <div class="cards"><${Stat} title=${t('node.uptime')} value=${span(n.uptime)} /><${Stat} title=${t('connections.title')} value=${num(n.sockets_used)} />
        <${Stat} title=${t('node.files')} value=${`${num(n.fd_used)} / ${num(n.fd_total)}`} /><${Stat} title=${t('node.goroutines')} value=${num(n.proc_used)} /><${Stat} title=${t('node.cpus')} value=${num(n.processors)} />
        <${Stat} title=${t('node.sync')} value=${span(n.io_sync_avg_time || 0)} /></div>
      <${Readings} of=${n} range=${range} />
      <div class="grid wide"><${Memory} of=${n} />
        <section class="card"><h2>${t('node.disk')}</h2><p>${t('node.disk_free', { free: size(n.disk_free), limit: size(n.disk_free_limit) })}</p>
          <${Shown} of=${storage}>${(s) => html`<${Storage} of=${s} />`}</${Shown}></section>
        <section class="card"><h2>${t('node.listeners')}</h2><div class="table-box small" tabindex="0" role="region" aria-label=${t('node.listeners')}><table class="plain-table"><caption class="hidden">${t('node.listeners')}</caption><thead><tr><th scope="col">${t('connections.protocol')}</th><th scope="col">${t('node.address')}</th><th scope="col">${t('connections.tls')}</th></tr></thead>
          <tbody>${n.listeners.map((l) => html`<tr key=${l.protocol + l.port}><td>${l.protocol}</td><td>${l.ip_address.includes(':') ? `[${l.ip_address}]` : l.ip_address}:${String(l.port)}</td><td>${l.tls ? t('frame_words.yes') : t('frame_words.no')}</td></tr>`)}</tbody></table></div>
          <p><a href=${href('/monitoring')}>${t('monitoring.title')}</a></p></section>
        <section class="card"><h2>${t('node.places')}</h2><dl class="pairs"><dt>${t('node.data')}</dt><dd><code>${n.db_dir || t('node.in_memory')}</code></dd><dt>${t('node.config')}</dt><dd>${n.config_files.map((f) => html`<code>${f}</code> `)}${n.config_files.length === 0 && '–'}</dd><dt>${t('node.logs')}</dt><dd>${n.log_files.map((f) => html`<code>${f}</code> `)}</dd>
          ${clock.data?.now && html`<dt>${t('node.clock')}</dt><dd><${When} at=${clock.data.now} /></dd>`}
          <dt>${t('node.clock_behind')}</dt><dd>${span(n.clock_behind_ms)}</dd></dl></section></div>`}</${Shown}>
    <${Shown} of=${storage}>${(s) => html`<${VHosts} of=${s} />`}</${Shown}>`;
}

function Alarms({ of: n }) {
  const raised = [
    n.mem_alarm && 'memory',
    n.disk_free_alarm && 'disk',
    n.journal_alarm && 'journal',
    n.clock_alarm && 'clock',
  ].filter(Boolean);
  if (!raised.length)
    return reachable.value
      ? html`<p class="banner good"><${Icon} name="check" /> ${t('node.no_alarm')}</p>`
      : html`<p class="banner">${t('node.no_alarm_before')}</p>`;
  return html`<ul>${raised.map((a) => html`<li class="banner bad" role="alert" key=${a}><${Icon} name="warning" /> ${t(`alarm.${a}`)}</li>`)}</ul>`;
}

// Readings are charts of what the broker remembers.
function Readings({ of: n, range }) {
  const lines = (key, title, pick) => sampled(n, [[key, title]], { answer: n, range, pick });
  const charts = [
    [t('node.memory'), size, lines('mem_used_details', t('node.used'))],
    [t('node.disk'), size, lines('disk_free_details', t('node.free'))],
    [
      t('node.written'),
      (v) => t('connections.rate', { size: size(v) }),
      lines('io_write_bytes_details', t('node.written'), perSecond),
    ],
    [t('connections.title'), num, lines('sockets_used_details', t('connections.title'))],
  ];
  return html`<div class="grid wide">${charts.map(([title, value, drawn]) => drawn && html`<section class="card" key=${title}><${Chart} title=${title} ...${drawn} value=${value} /></section>`)}</div>`;
}

// memoryName is what a part of the memory is for, with the broker's key beside it.
const memoryWord = (name) => word('memory', name);
const memoryName = (name) =>
  has(`memory.${name}`)
    ? html`${memoryWord(name)} <code class="small faint">${name}</code>`
    : html`<code>${name}</code>`;

function Memory({ of: n }) {
  const parts = Object.entries(n.memory || {})
    .filter(([k, v]) => typeof v === 'number' && v > 0 && !['strategy', 'total'].includes(k))
    .sort(([, a], [, b]) => b - a);
  return html`<section class="card"><h2>${t('node.memory')}</h2><p>${t('node.memory_of', { used: size(n.mem_used), limit: size(n.mem_limit), share: percent(n.mem_limit ? n.mem_used / n.mem_limit : 0) })}</p>
    <${Progress} done=${n.mem_used} total=${n.mem_limit} label=${t('node.memory')} />
    ${
      parts.length > 0 &&
      html`<${Bar} label=${t('node.memory')} parts=${parts.slice(0, 6).map(([name, value], i) => ({ label: memoryWord(name), value, n: i + 1 }))} />
      <ul class="legend">${parts.slice(0, 6).map(([label, value], i) => html`<li key=${label}><i class=${`swatch s${i + 1}`}></i>${memoryName(label)} <b>${size(value)}</b></li>`)}</ul>`
    }</section>`;
}

function Storage({ of: s }) {
  return html`<dl class="pairs"><dt>${t('storage.segments')}</dt><dd>${t('storage.files', { n: s.segments.count, size: size(s.segments.bytes) })}</dd>
    <dt>${t('storage.live')}</dt><dd>${t('frame.aside', { what: size(s.live_bytes), aside: percent(s.live_share) })}</dd>
    <dt>${t('storage.spare')}</dt><dd>${t('storage.files', { n: s.spares.count, size: size(s.spares.bytes) })}</dd>
    <dt>${t('storage.spilled')}</dt><dd>${size(s.spilled_bytes)}</dd>
    <dt>${t('storage.unsynced')}</dt><dd>${size(s.unsynced_bytes)}</dd>
    <dt>${t('storage.checkpoint')}</dt><dd>${s.checkpoints.last_at ? html`<${Ago} at=${s.checkpoints.last_at} />` : '–'} ${s.checkpoints.failed > 0 && html`<span class="tag bad">${t('storage.failed', { n: s.checkpoints.failed })}</span>`}</dd>
    <dt>${t('storage.syncs')}</dt><dd>${num(s.syncs.count)} · ${span(s.syncs.count ? (1e3 * s.syncs.seconds) / s.syncs.count : 0)}</dd>
    <dt>${t('storage.rewriting')}</dt><dd>${s.rewriting.running ? t('storage.running') : num(s.rewriting.done)} ${s.rewriting.failed > 0 && html`<span class="tag bad">${t('storage.failed', { n: s.rewriting.failed })}</span>`}</dd>
    <dt>${t('storage.backup')}</dt><dd>${s.backups.running ? html`<${Progress} done=${s.backups.bytes_copied} total=${s.backups.bytes_expected} label=${t('storage.backup')} />` : t('storage.backups', { n: s.backups.made })} ${s.backups.last_failure && html`<span class="reason">${s.backups.last_failure}</span>`}</dd></dl>`;
}

function VHosts({ of: s }) {
  return html`<section class="card"><h2>${t('storage.vhosts')}</h2><div class="table-box small" tabindex="0" role="region" aria-label=${t('storage.vhosts')}><table class="plain-table"><caption class="hidden">${t('storage.vhosts')}</caption>
    <thead><tr><th scope="col">${t('queues.vhost')}</th><th scope="col">${t('message.state')}</th><th scope="col">${t('option.sync')}</th><th scope="col" class="end">${t('storage.hot')}</th><th scope="col" class="end">${t('storage.cold')}</th><th scope="col" class="end">${t('storage.live')}</th></tr></thead>
    <tbody>${s.vhosts.map((v) => html`<tr key=${v.name}><th scope="row">${v.name}</th><td>${v.down ? html`<span class="tag bad">${t('vhosts.down')}</span> <span class="reason">${v.down}</span>` : html`<span class="tag good">${t('vhosts.running')}</span>`} ${v.stops > 0 && html`<span class="tag warn" title=${v.stop_text}>${t('storage.stops', { n: v.stops })}</span>`}</td><td>${optionValue('sync', v.sync)}</td><td class="end">${num(v.messages_hot)}</td><td class="end">${num(v.messages_cold)}</td><td class="end">${size(v.live_bytes)}</td></tr>`)}</tbody></table></div></section>`;
}
