// The overview: is anything dying now, why, from where, how old is it; and how the broker is.
import { html, useMemo } from '../lib/html.js';
import { t, num, rate, short, size, span, word } from '../lib/i18n.js';
import { api } from '../lib/api.js';
import { href, setQuery, route, to } from '../lib/router.js';
import { topic, useData, useTopic } from '../lib/live.js';
import { Shown } from '../lib/states.js';
import { Bar, Chart } from '../lib/chart.js';
import { Icon } from '../lib/icon.js';
import { may } from '../lib/session.js';
import { vhost } from '../lib/vhosts.js';

const ranges = { '1m': [60, 5], '10m': [600, 10] };
const reasons = ['rejected', 'expired', 'maxlen', 'delivery_limit'];

export function render() {
  const range = ranges[route.value.query.range] ? route.value.query.range : '10m';
  const [age, incr] = ranges[range];
  const overview = useData((abort) => api.get('overview', { msg_rates_age: age, msg_rates_incr: incr, lengths_age: age, lengths_incr: incr }, { signal: abort }), [range], { every: 5000 });
  return html`<div class="page-head"><h1>${t('overview.title')}</h1>
      <div class="buttons" role="group" aria-label=${t('overview.range')}>${Object.keys(ranges).map((r) => html`<button type="button" class="small" aria-pressed=${r === range} onClick=${() => setQuery({ range: r === '10m' ? '' : r })}>${t(`overview.range_${r}`)}</button>`)}</div></div>
    <${Health} />
    <${DeadPanel} />
    <${Shown} of=${overview}>${(o) => html`<${Charts} of=${o} />
      <section class="card" aria-labelledby="objects"><h2 id="objects">${t('overview.objects')}</h2><div class="cards">
        ${[['connections', '/connections'], ['channels', '/channels'], ['exchanges', '/exchanges'], ['queues', '/queues'], ['consumers', '/consumers']].map(([k, at]) => html`<a class="stat" href=${href(at)}><b>${num(o.object_totals[k])}</b><span>${t(`overview.${k}`)}</span></a>`)}
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
    ${n && html`<a class=${`stat ${n.mem_alarm ? 'bad' : ''}`} href=${href('/node')}><b>${size(n.mem_used)}</b><span>${t('overview.memory', { limit: size(n.mem_limit) })}</span></a>
      <a class=${`stat ${n.disk_free_alarm ? 'bad' : ''}`} href=${href('/node')}><b>${size(n.disk_free)}</b><span>${t('overview.disk', { limit: size(n.disk_free_limit) })}</span></a>
      <a class="stat" href=${href('/node')}><b>${span(n.uptime)}</b><span>${t('overview.uptime')}</span></a>`}
    ${lint.data && html`<a class=${`stat ${lint.data.errors ? 'bad' : ''}`} href=${href('/lint')}><b>${num(findings)}</b><span>${t('overview.findings', { errors: lint.data.errors })}</span></a>`}
  </div>`;
}

// DeadPanel answers: is something dying now, why, from where, how old.
function DeadPanel() {
  useTopic('letters');
  const live = topic('letters').value.data;
  const got = useData((abort) => api.get('x/letters', {}, { signal: abort }), [], { on: ['letters'], every: 5000 });
  const all = (got.data || []).filter((s) => !vhost.value || s.vhost === vhost.value);
  const sum = (pick) => all.reduce((n, s) => n + (pick(s) || 0), 0);
  const by = reasons.map((r, i) => ({ label: word('reason', r), value: sum((s) => s.died[r]), n: i + 1 }));
  const died = by.reduce((n, p) => n + p.value, 0);
  const oldest = all.map((s) => s.oldest_seconds).filter((x) => x !== null && x !== undefined);
  const targets = all.flatMap((s) => s.queues.map((x) => ({ ...x, vhost: s.vhost }))).filter((x) => x.messages > 0).sort((a, b) => b.messages - a.messages).slice(0, 6);
  return html`<section class="card dead" aria-labelledby="dead"><header><h2 id="dead">${t('overview.dead')}</h2><span class="grow"></span><a class="button" href=${href('/letters')}>${t('overview.look')} <${Icon} name="right" /></a></header>
    <${Shown} of=${got}>${() => html`
      <div class="cards"><a class="stat" href=${href('/letters')}><b>${num(sum((s) => s.waiting))}</b><span>${t('letters.card_waiting')}</span></a>
        <div class="stat"><b>${num(died)}</b><span>${t('letters.card_died')}</span></div>
        <div class=${`stat ${sum((s) => s.no_dlx) ? 'bad' : ''}`}><b>${num(sum((s) => s.no_dlx))}</b><span>${t('letters.card_dropped')}</span></div>
        <a class=${`stat ${sum((s) => s.lost.messages) ? 'bad' : ''}`} href=${href('/lost')}><b>${num(sum((s) => s.lost.messages))}</b><span>${t('letters.card_lost')}</span></a>
        <div class="stat"><b>${oldest.length ? span(Math.max(...oldest) * 1000) : '–'}</b><span>${t('letters.card_oldest')}</span></div>
        <div class=${`stat ${sum((s) => s.came_back) ? 'bad' : ''}`}><b>${num(sum((s) => s.came_back))}</b><span>${t('letters.card_came_back')}</span></div></div>
      ${died > 0 && html`<${Bar} parts=${by} label=${t('overview.by_reason')} /><ul class="legend">${by.map((p) => html`<li><i class=${`swatch s${p.n}`}></i>${p.label} <b>${num(p.value)}</b></li>`)}</ul>`}
      ${live && html`<${Dying} live=${live} />`}
      ${targets.length > 0 ? html`<div class="table-box bare" tabindex="0" role="region" aria-label=${t('overview.dlqs')}><table><caption class="hidden">${t('overview.dlqs')}</caption><thead><tr><th scope="col">${t('letters.place')}</th><th scope="col" class="end">${t('letters.count')}</th><th scope="col" class="end">${t('letters.oldest')}</th><th scope="col" class="end">${t('letters.consumers')}</th></tr></thead>
        <tbody>${targets.map((x) => html`<tr key=${x.vhost + ' ' + x.name}><td class="break"><a href=${href('/letters', { vhost: x.vhost, filter: `queue:${JSON.stringify(x.name)}`, view: 'list' })}>${x.name}</a></td><td class="end">${num(x.messages)}</td><td class="end">${x.oldest_seconds === null ? '–' : span(x.oldest_seconds * 1000)}</td><td class="end">${num(x.consumers)}</td></tr>`)}</tbody></table></div>` : html`<p class="faint">${t('overview.none_dead')}</p>`}`}</${Shown}></section>`;
}

const seen = { at: [], values: new Map() };

// Dying charts the deaths of each second since the page was opened, by reason.
function Dying({ live }) {
  useMemo(() => {
    const at = Date.now();
    seen.at.push(at);
    for (const r of reasons) {
      let n = 0;
      for (const v of live) if (!vhost.value || v.vhost === vhost.value) for (const k of Object.values(v.died[r] || {})) n += k;
      if (!seen.values.has(r)) seen.values.set(r, []);
      seen.values.get(r).push(n);
    }
    if (seen.at.length > 600) {
      seen.at.shift();
      seen.values.forEach((x) => x.shift());
    }
  }, [live]);
  if (seen.at.length < 3) return null;
  const series = reasons.map((r) => ({ label: word('reason', r), values: seen.values.get(r).slice(1).map((n, i) => Math.max(0, (n - seen.values.get(r)[i]) / Math.max(0.5, (seen.at[i + 1] - seen.at[i]) / 1000))) }));
  return html`<${Chart} title=${t('overview.dying')} times=${seen.at.slice(1)} series=${series} stacked value=${rate} height=${130} />`;
}

// sampled reads the samples of some details, oldest first: {times, series}.
function sampled(of, names, pick) {
  const found = names.filter(([key]) => of?.[key]?.samples?.length);
  if (!found.length) return null;
  const times = of[found[0][0]].samples.map((s) => s.timestamp).reverse();
  return { times, series: found.map(([key, label]) => ({ label, values: pick(of[key].samples.slice().reverse()) })) };
}

const perSecond = (samples) => samples.map((s, i) => (i === 0 ? null : Math.max(0, (s.sample - samples[i - 1].sample) / ((s.timestamp - samples[i - 1].timestamp) / 1000))));

function Charts({ of: o }) {
  const rates = sampled(o.message_stats, [['publish_details', t('overview.publish')], ['confirm_details', t('overview.confirm')], ['deliver_get_details', t('overview.deliver')], ['ack_details', t('overview.ack')], ['redeliver_details', t('overview.redeliver')], ['return_unroutable_details', t('overview.unroutable')]], perSecond);
  const depths = sampled(o.queue_totals, [['messages_ready_details', t('overview.ready')], ['messages_unacknowledged_details', t('overview.unacked')]], (s) => s.map((x) => x.sample));
  return html`<div class="grid">
    <section class="card">${rates ? html`<${Chart} title=${t('overview.rates')} times=${rates.times} series=${rates.series} value=${rate} />` : html`<h2>${t('overview.rates')}</h2><p class="faint">${t('overview.no_rates')}</p>`}</section>
    <section class="card">${depths ? html`<${Chart} title=${t('overview.depths')} times=${depths.times} series=${depths.series} value=${short} />` : html`<h2>${t('overview.depths')}</h2><p class="faint">${t('overview.no_rates')}</p>`}</section></div>`;
}

// Top are the longest queues.
function Top() {
  const got = useData((abort) => api.get(vhost.value ? `queues/${encodeURIComponent(vhost.value)}` : 'queues', { page: 1, page_size: 8, sort: 'messages', sort_reverse: 'true', columns: 'name,vhost,messages,messages_ready,consumers' }, { signal: abort }), [vhost.value], { on: ['queues'] });
  return html`<section class="card" aria-labelledby="top"><h2 id="top">${t('overview.longest')}</h2><${Shown} of=${got}>${(d) => (d.items.length === 0 ? html`<p class="faint">${t('overview.no_queues')} <a href=${href('/queues/new')}>${t('overview.create_queue')}</a></p>` : html`<div class="table-box bare" tabindex="0" role="region" aria-label=${t('overview.queues')}><table><caption class="hidden">${t('overview.longest')}</caption>
    <thead><tr><th scope="col">${t('overview.queue')}</th><th scope="col" class="end">${t('overview.messages')}</th><th scope="col" class="end">${t('overview.ready')}</th><th scope="col" class="end">${t('overview.consumers')}</th></tr></thead>
    <tbody>${d.items.map((x) => html`<tr key=${x.vhost + ' ' + x.name}><td class="break"><a href=${href(to`/queues/${x.vhost}/${x.name}`)}>${x.name}</a>${x.vhost !== '/' && html` <small class="faint">${x.vhost}</small>`}</td><td class="end">${num(x.messages)}</td><td class="end">${num(x.messages_ready)}</td><td class="end">${num(x.consumers)}</td></tr>`)}</tbody></table></div>`)}</${Shown}></section>`;
}
