// The overview's panel of dead letters: how many there are now, how old the oldest is, how many deaths there were; why, from
// where, and where they wait.
import { html } from '../../lib/html.js';
import { t, num, span, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { href, to } from '../../lib/router.js';
import { indexed, useAgain, useData } from '../../lib/live.js';
import { Shown } from '../../lib/states.js';
import { Ago } from '../../lib/time.js';
import { Bar, Unknown } from '../../lib/chart.js';
import { Icon } from '../../lib/icon.js';
import { unknownOf } from '../../lib/samples.js';
import { and } from '../messages/filter.js';
import { vhost } from '../../lib/vhosts.js';
import { Deaths, reasons } from './deaths-chart.js';

const shownMax = 5;
const groupedMax = 3; // virtual hosts whose dead letters are grouped

export function DeadPanel({ range }) {
  const got = useData((abort) => api.get('x/letters', { range }, { signal: abort }), [range], {
    on: ['letters', 'jobs'],
    every: 5000,
  });
  const all = (got.data || []).filter((s) => !vhost.value || s.vhost === vhost.value);
  return html`<section class="card dead" aria-labelledby="dead"><header><h2 id="dead">${t('overview.dead')}</h2><span class="grow"></span><a class="button" href=${href('/letters')}>${t('overview.look')} <${Icon} name="right" /></a></header>
    <${Shown} of=${got}>${() => html`<div class="lead"><${Figures} of=${all} range=${range} /><${Recent} of=${all.map((s) => s.recent)} range=${range} /></div>
      ${all.length > 0 && html`<${Unknown} of=${unknownOf(all[0].recent, Date.parse(all[0].recent.since))} />`}
      <${Moving} of=${all} />
      <${Troubles} of=${all} range=${range} />
      <div class="thirds"><${Failures} of=${all} /><${Sources} of=${all} range=${range} /><${Targets} of=${all} /></div>`}</${Shown}></section>`;
}

const sum = (all, pick) => all.reduce((n, s) => n + (pick(s) || 0), 0);
const diedOf = (s) => Object.values(s.recent.died).reduce((a, b) => a + b, 0);
const named = (range) => t(`overview.range_${range}`);

// Figures are what one looks for first.
function Figures({ of: all, range }) {
  const oldest = all.map((s) => s.oldest_seconds).filter((x) => x !== null && x !== undefined);
  const dead = sum(all, (s) => s.dead_letters);
  const retrying = sum(all, (s) => s.retrying);
  return html`<div class="figures">
    <a class=${`figure first ${dead ? '' : 'good'}`} href=${href('/letters')}><b>${num(dead)}</b><span>${t('overview.dead_now', { n: dead })}</span>${retrying > 0 && html`<small>${t('overview.retrying', { n: retrying })}</small>`}</a>
    <div class="figure"><b>${oldest.length ? span(Math.max(...oldest) * 1000) : '–'}</b><span>${t('letters.card_oldest')}</span></div>
    <div class="figure"><b>${num(sum(all, diedOf))}</b><span>${t('overview.card_died', { n: sum(all, diedOf), range: named(range) })}</span></div></div>`;
}

// Moving says why figures differ while jobs run: they are asked for one after the other.
function Moving({ of: all }) {
  const n = sum(all, (s) => s.jobs.running);
  return n > 0 && html`<p class="hint"><a href=${href('/jobs')}>${t('overview.moving', { n })}</a></p>`;
}

// Troubles are what should not be at all; where nothing is amiss there is nothing.
function Troubles({ of: all, range }) {
  const lint = useData((abort) => api.get('x/lint', { limit: 1 }, { signal: abort }), [], { every: 30000 });
  const found = [
    [sum(all, (s) => s.recent.no_dlx), (n) => t('overview.dropped', { n, range: named(range) }), '/lint'],
    [sum(all, (s) => s.recent.came_back), (n) => t('overview.came_back', { n, range: named(range) }), '/jobs'],
    [sum(all, (s) => s.lost.messages), (n) => t('overview.lost', { n }), '/lost'],
    [lint.data?.errors, (n) => t('overview.lint_errors', { n }), '/lint'],
  ].filter(([n]) => n > 0);
  const warnings = lint.data?.warnings || 0;
  if (!found.length && !warnings) return null;
  return html`<ul class="troubles">${found.map(([n, text, at]) => html`<li key=${at + text}><a class="trouble" href=${href(at)}><${Icon} name="warning" /> ${text(n)}</a></li>`)}
    ${warnings > 0 && html`<li><a class="trouble calm" href=${href('/lint')}>${t('overview.lint_warnings', { n: warnings })}</a></li>`}</ul>`;
}

function Recent({ of: all, range }) {
  if (!all.some((d) => reasons.some((r) => d.died[r] > 0)))
    return html`<p class="calm"><${Icon} name="check" /> ${t('overview.none_died', { range: named(range) })}</p>`;
  return html`<${Deaths} of=${all} by=${reasons} height=${120} />`;
}

// groupsOf are what dead letters of a virtual host died of: exceptions, and reasons of those without one.
async function groupsOf(v, signal) {
  const ask = (by, filter) =>
    api.get(`x/letters/${path`${v}`}/groups`, { by, filter, limit: shownMax }, { signal }).catch((error) => {
      if (error.name === 'AbortError') throw error;
      return { groups: [], without: 0 }; // who may not read them has none
    });
  const exceptions = await ask('exception', '-state:lost');
  const others =
    exceptions.without > 0 || !exceptions.groups.length
      ? await ask('reason', and('-state:lost', exceptions.without_filter || ''))
      : { groups: [] };
  return [
    ...exceptions.groups.map((g) => ({ ...g, by: 'exception' })),
    ...others.groups.map((g) => ({ ...g, by: 'reason' })),
  ].map((g) => ({ ...g, vhost: v }));
}

// Failures are what most dead letters died of.
function Failures({ of: all }) {
  const hosts = all
    .filter((s) => s.dead_letters > 0)
    .sort((a, b) => b.dead_letters - a.dead_letters)
    .slice(0, groupedMax)
    .map((s) => s.vhost);
  const total = sum(all, (s) => s.dead_letters);
  const got = useData((abort) => Promise.all(hosts.map((v) => groupsOf(v, abort))), [hosts.join('\n'), total], {
    every: 15000,
    keep: true,
  });
  useAgain(got, indexed, [total]);
  const rows = (got.data || [])
    .flat()
    .filter((g) => g.value !== '' && g.count > 0)
    .sort((a, b) => b.count - a.count)
    .slice(0, shownMax);
  if (!rows.length) return null;
  return html`<div><h3>${t('overview.failures')}</h3><ol class="ranks">${rows.map((g) => {
    const text = g.by === 'reason' ? word('reason', g.value) : g.value;
    return html`<li key=${`${g.vhost} ${g.by} ${g.value}`}><a class=${g.by === 'reason' ? '' : 'mono clamp'} title=${text} href=${href('/letters', { vhost: g.vhost, filter: and(g.filter, '-state:lost'), view: 'list' })}>${text}</a><b>${num(g.count)}</b>
      <small class="faint">${g.vhost !== '/' && `${g.vhost} · `}${t('overview.last')} <${Ago} at=${g.last} /></small><${Share} n=${g.count} most=${rows[0].count} /></li>`;
  })}</ol></div>`;
}

// Share is a count beside the largest of its list, as a thin bar.
const widthOf = (n, most) => `${(100 * n) / Math.max(1, most)}%`;
const Share = ({ n, most }) => html`<i class="share" aria-hidden="true" style=${{ width: widthOf(n, most) }}></i>`;

// foundBy is the filter that finds what died in a queue, or what clients published to it as dead letters.
const foundBy = ({ queue, died, total }) =>
  died.republished === total ? `queue:${JSON.stringify(queue)} reason:republished` : `source:${JSON.stringify(queue)}`;

// Sources are the queues in which most died.
function Sources({ of: all, range }) {
  const rows = all
    .flatMap((s) => s.recent.sources.map((x) => ({ ...x, vhost: s.vhost })))
    .sort((a, b) => b.total - a.total)
    .slice(0, shownMax);
  if (!rows.length) return null;
  const others = sum(all, diedOf) - sum(rows, (x) => x.total);
  const title = t('overview.sources', { range: named(range) });
  return html`<div><h3 id="sources">${title}</h3><ol class="ranks" aria-labelledby="sources">${rows.map(
    (
      x,
    ) => html`<li key=${`${x.vhost} ${x.queue}`}><a class="break" href=${href(to`/queues/${x.vhost}/${x.queue}`, { tab: 'trends', range })}>${x.queue}</a>
      <b><a href=${href('/letters', { vhost: x.vhost, filter: foundBy(x), view: 'list' })} aria-label=${t('overview.letters_of', { n: num(x.total), queue: x.queue })}>${num(x.total)}</a></b>
      ${x.vhost !== '/' && html`<small class="faint">${x.vhost}</small>`}
      <span class="scaled" style=${{ width: widthOf(x.total, rows[0].total) }}><${Bar} label=${t('overview.by_reason')} parts=${reasons.map((r, i) => ({ label: word('reason', r), value: x.died[r], n: i + 1 }))} /></span></li>`,
  )}</ol>${others > 0 && html`<p class="hint">${t('overview.sources_others', { n: others })}</p>`}</div>`;
}

// Targets are the queues with most dead letters.
function Targets({ of: all }) {
  const rows = all
    .flatMap((s) => s.queues.map((x) => ({ ...x, vhost: s.vhost })))
    .filter((x) => x.dead_letters > 0 && x.role !== 'retry')
    .sort((a, b) => b.dead_letters - a.dead_letters)
    .slice(0, shownMax);
  if (!rows.length) return null;
  const about = (x) =>
    [
      x.vhost !== '/' && x.vhost,
      x.oldest_seconds !== null && t('overview.oldest', { age: span(x.oldest_seconds * 1000) }),
      x.consumers > 0 && t('overview.n_consumers', { n: x.consumers }),
    ]
      .filter(Boolean)
      .join(' · ');
  return html`<div><h3 id="dlqs">${t('overview.dlqs')}</h3><ol class="ranks" aria-labelledby="dlqs">${rows.map(
    (
      x,
    ) => html`<li key=${`${x.vhost} ${x.name}`}><a class="break" href=${href('/letters', { vhost: x.vhost, filter: `queue:${JSON.stringify(x.name)}`, view: 'list' })}>${x.name}</a><b>${num(x.dead_letters)}</b>
      <small class="faint">${about(x)}</small><${Share} n=${x.dead_letters} most=${rows[0].dead_letters} /></li>`,
  )}</ol></div>`;
}
