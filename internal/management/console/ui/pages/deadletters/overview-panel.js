// The overview's panel of dead letters: is something dying now, why, from where, how old is it.
import { html } from '../../lib/html.js';
import { t, num, span, word } from '../../lib/i18n.js';
import { api } from '../../lib/api.js';
import { href, to } from '../../lib/router.js';
import { useData } from '../../lib/live.js';
import { Shown } from '../../lib/states.js';
import { Bar } from '../../lib/chart.js';
import { Icon } from '../../lib/icon.js';
import { vhost } from '../../lib/vhosts.js';
import { Deaths, reasons } from './deaths-chart.js';

const shownMax = 6;

export function DeadPanel({ range }) {
  const got = useData((abort) => api.get('x/letters', { range }, { signal: abort }), [range], {
    on: ['letters'],
    every: 5000,
  });
  const all = (got.data || []).filter((s) => !vhost.value || s.vhost === vhost.value);
  return html`<section class="card dead" aria-labelledby="dead"><header><h2 id="dead">${t('overview.dead')}</h2><span class="grow"></span><a class="button" href=${href('/letters')}>${t('overview.look')} <${Icon} name="right" /></a></header>
    <${Shown} of=${got}>${() => html`<${Cards} of=${all} range=${range} />
      <${Recent} of=${all.map((s) => s.recent)} range=${range} />
      <div class="grid"><${Sources} of=${all} range=${range} /><${Targets} of=${all} /></div>`}</${Shown}></section>`;
}

const sum = (all, pick) => all.reduce((n, s) => n + (pick(s) || 0), 0);
const diedOf = (s) => Object.values(s.recent.died).reduce((a, b) => a + b, 0);

function Cards({ of: all, range }) {
  const oldest = all.map((s) => s.oldest_seconds).filter((x) => x !== null && x !== undefined);
  const [dropped, lost, back] = [
    sum(all, (s) => s.recent.no_dlx),
    sum(all, (s) => s.lost.messages),
    sum(all, (s) => s.recent.came_back),
  ];
  return html`<div class="cards"><div class="stat"><b>${num(sum(all, diedOf))}</b><span>${t('overview.card_died', { range: t(`overview.range_${range}`) })}</span></div>
    <div class=${`stat ${dropped ? 'bad' : ''}`}><b>${num(dropped)}</b><span>${t('letters.card_dropped')}</span></div>
    <div class=${`stat ${back ? 'bad' : ''}`}><b>${num(back)}</b><span>${t('letters.card_came_back')}</span></div>
    <a class="stat" href=${href('/letters')}><b>${num(sum(all, (s) => s.dead_letters))}</b><span>${t('letters.card_now', { retrying: sum(all, (s) => s.retrying) })}</span></a>
    <div class="stat"><b>${oldest.length ? span(Math.max(...oldest) * 1000) : '–'}</b><span>${t('letters.card_oldest')}</span></div>
    <a class=${`stat ${lost ? 'bad' : ''}`} href=${href('/lost')}><b>${num(lost)}</b><span>${t('letters.card_lost')}</span></a></div>`;
}

function Recent({ of: all, range }) {
  const by = reasons.map((r, i) => ({ label: word('reason', r), value: sum(all, (d) => d.died[r]), n: i + 1 }));
  if (!by.some((p) => p.value > 0))
    return html`<p class="faint">${t('overview.none_died', { range: t(`overview.range_${range}`) })}</p>`;
  return html`<${Bar} parts=${by} label=${t('overview.by_reason')} /><ul class="legend">${by.map((p) => html`<li key=${p.n}><i class=${`swatch s${p.n}`}></i>${p.label} <b>${num(p.value)}</b></li>`)}</ul>
    <${Deaths} of=${all} height=${130} legend=${false} />`;
}

// Sources are the queues in which most died.
function Sources({ of: all, range }) {
  const rows = all
    .flatMap((s) => s.recent.sources.map((x) => ({ ...x, vhost: s.vhost })))
    .sort((a, b) => b.total - a.total)
    .slice(0, shownMax);
  if (!rows.length) return null;
  const others = sum(all, diedOf) - sum(rows, (x) => x.total);
  const title = t('overview.sources', { range: t(`overview.range_${range}`) });
  return html`<div><h3>${title}</h3><div class="table-box bare" tabindex="0" role="region" aria-label=${title}><table><caption class="hidden">${title}</caption><thead><tr><th scope="col">${t('overview.queue')}</th><th scope="col" class="end">${t('overview.died')}</th><th scope="col">${t('overview.by_reason')}</th></tr></thead>
    <tbody>${rows.map(
      (
        x,
      ) => html`<tr key=${`${x.vhost} ${x.queue}`}><td class="break"><a href=${href(to`/queues/${x.vhost}/${x.queue}`, { tab: 'trends', range })}>${x.queue}</a>${x.vhost !== '/' && html` <small class="faint">${x.vhost}</small>`}</td><td class="end"><a href=${href('/letters', { vhost: x.vhost, filter: `source:${JSON.stringify(x.queue)}`, view: 'list' })} aria-label=${t('overview.letters_of', { n: num(x.total), queue: x.queue })}>${num(x.total)}</a></td>
      <td><${Bar} label=${t('overview.by_reason')} parts=${reasons.map((r, i) => ({ label: word('reason', r), value: x.died[r], n: i + 1 }))} /></td></tr>`,
    )}</tbody></table></div>
    ${others > 0 && html`<p class="hint">${t('overview.sources_others', { n: others })}</p>`}</div>`;
}

// Targets are the queues with most dead letters.
function Targets({ of: all }) {
  const rows = all
    .flatMap((s) => s.queues.map((x) => ({ ...x, vhost: s.vhost })))
    .filter((x) => x.dead_letters > 0 && x.role !== 'retry')
    .sort((a, b) => b.dead_letters - a.dead_letters)
    .slice(0, shownMax);
  return html`<div><h3>${t('overview.dlqs')}</h3>${
    rows.length > 0
      ? html`<div class="table-box bare" tabindex="0" role="region" aria-label=${t('overview.dlqs')}><table><caption class="hidden">${t('overview.dlqs')}</caption><thead><tr><th scope="col">${t('letters.place')}</th><th scope="col" class="end">${t('letters.dead')}</th><th scope="col" class="end">${t('letters.oldest')}</th><th scope="col" class="end">${t('letters.consumers')}</th></tr></thead>
    <tbody>${rows.map((x) => html`<tr key=${`${x.vhost} ${x.name}`}><td class="break"><a href=${href('/letters', { vhost: x.vhost, filter: `queue:${JSON.stringify(x.name)}`, view: 'list' })}>${x.name}</a></td><td class="end">${num(x.dead_letters)}</td><td class="end">${x.oldest_seconds === null ? '–' : span(x.oldest_seconds * 1000)}</td><td class="end">${num(x.consumers)}</td></tr>`)}</tbody></table></div>`
      : html`<p class="faint">${t('overview.none_dead')}</p>`
  }</div>`;
}
