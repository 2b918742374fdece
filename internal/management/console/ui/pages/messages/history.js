// The history of a message: a timeline of what became of it, and a drawing of its way through exchanges and queues.
import { html, useRef } from '../../lib/html.js';
import { t, span, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { href, to } from '../../lib/router.js';
import { useData } from '../../lib/live.js';
import { Ago, When } from '../../lib/time.js';
import { Icon } from '../../lib/icon.js';
import { save } from '../../lib/save.js';
import { pictureOf } from '../broker/graph-view.js';
import { retriesOf } from '../broker/retry-plan.js';
import { accountOf, isUntold } from './exception.js';
import { Reason, State } from './badges.js';
import { stops } from './timeline.js';
import { WayGraph } from './way-graph.js';

export function History({ message: l }) {
  const svg = useRef();
  const died = l.deaths.length > 0 || !!l.republished;
  return html`<section class="card" aria-labelledby="way"><header><h2 id="way">${t('viewer.way')}</h2><span class="grow"></span>
      ${died && html`<button type="button" onClick=${() => svg.current && save(`${l.message_id || l.id}.svg`, pictureOf(svg.current), 'image/svg+xml')}><${Icon} name="download" /> ${t('viewer.save_picture')}</button>`}</header>
    ${!died && !accountOf(l.properties?.headers).text && html`<p class="faint">${t('viewer.never_died')}</p>`}
    <ol class="timeline">${stops(l).map((s, i) => html`<${Stop} key=${i} stop=${s} message=${l} />`)}</ol>
    ${died && html`<${WayGraph} message=${l} at=${svg} />`}</section>`;
}

// iconOf is the sign of a stop.
const iconOf = (s, message) =>
  ({
    publish: 'publish',
    republish: 'republished',
    death: s.reason,
    redrive: 'redrive',
    returns: 'delivery_limit',
    now: message.place === 'lost' ? 'discard' : 'letters',
  })[s.kind];

function Stop({ stop: s, message }) {
  const What = {
    publish: Published,
    republish: Republished,
    death: Death,
    redrive: Redriven,
    returns: Returned,
    now: Now,
  }[s.kind];
  return html`<li class=${`stop ${s.kind} ${s.reason ? `died-${s.reason}` : ''}`}>
    ${s.elapsed > 0 && html`<span class="elapsed">${t('viewer.after', { time: span(s.elapsed) })}</span>`}
    <span class="dot"><${Icon} name=${iconOf(s, message)} /></span>
    <div class="what"><${What} stop=${s} message=${message} /></div></li>`;
}

function Published({ stop: s }) {
  return html`${(s.exchange !== null || !s.queue) && html`<b>${t('viewer.published')}</b>`}
    ${s.exchange !== null && html`<small class="faint"><${Route} exchange=${s.exchange} keys=${s.keys} /></small>`}
    ${s.queue && html`<span>${t('viewer.failed_in')} <b class="break">${s.queue}</b></span>`}`;
}

function Republished({ stop: s, message }) {
  return html`<span><${Reason} reason="republished" /></span><small class="faint">${t(isUntold(message) ? 'viewer.by_client' : 'viewer.by_consumer')} ${s.time && html`· ${s.arrived && t('viewer.arrived')} <${When} at=${s.time} />`}</small>`;
}

function Death({ stop: s, message: l }) {
  return html`<span class="stop-line"><${Reason} reason=${s.reason} count=${s.count} /> ${t('viewer.in')}</span>
    <a class="where break" href=${href(to`/queues/${l.vhost}/${s.queue}`)}>${s.queue}</a>
    ${(s.first || s.last) && html`<span class="stop-line">${s.first && html`<span class="tag outline">${t('viewer.first_death')}</span>`} ${s.last && html`<span class="tag outline">${t('viewer.last_death')}</span>`}</span>`}
    ${s.time && html`<small class="faint">${s.count > 1 ? t('viewer.first_time') : ''} <${When} at=${s.time} /></small>`}
    <small class="faint">${t('viewer.came_by')} <${Route} exchange=${s.exchange} keys=${s.keys} /></small>
    ${s.expiration !== null && html`<small class="faint">${t('viewer.had_ttl', { time: span(Number(s.expiration)) })}</small>`}`;
}

function Now({ stop: s, message: l }) {
  return html`<span class="stop-line"><b>${t('viewer.now')}</b> ${s.place !== 'lost' && html`<${State} state=${s.state} />`}</span>
    ${s.place === 'lost' ? html`<span>${t('viewer.in_lost_store', { cause: word('cause', l.cause || '') })}${l.target && html` <b>${l.target}</b>`}</span>` : html`<a class="where break" href=${href(to`/queues/${l.vhost}/${s.queue}`)}>${s.queue}</a>`}
    ${s.time && html`<small class="faint"><${Ago} at=${s.time} /></small>`}
    ${l.due && html`<small class="faint"><${Ago} at=${l.due} say=${(time) => t('viewer.ready', { time })} /></small>`}`;
}

// Returned says that consumers returned the message, how often if that is known, and what its queue, as it is set now, makes of returns.
function Returned({ stop: s, message: l }) {
  const got = useData(
    (abort) => api.get(`x/explain/queues/${path`${l.vhost}/${s.queue}`}`, {}, { signal: abort }).catch(() => null),
    [l.vhost, s.queue],
    { every: 0 },
  );
  const of = got.data && retriesOf(Object.fromEntries(got.data.settings.map((x) => [x.name, x.value])));
  const waits = of?.waits.map((ms) => span(ms)).concat(of.more ? ['…'] : []);
  return html`<b>${s.n === null ? t('viewer.returned_most') : t('viewer.returned', { n: s.n })}</b>
    <a class="where break" href=${href(to`/queues/${l.vhost}/${s.queue}`)}>${s.queue}</a>
    ${s.waiting && html`<span>${t('viewer.waits_again')}</span>`}
    ${waits?.length > 0 && html`<small class="faint">${t('viewer.retry_waits', { waits: waits.join(t('frame.comma')) })}</small>`}
    ${of && of.most < Infinity && html`<small class="faint">${t('viewer.returns_most', { n: of.most })}</small>`}`;
}

// Redriven says how often the message was sent back, by which job last and when, and whether it died again.
function Redriven({ message: l, stop: s }) {
  const got = useData(
    (abort) => api.get(`x/redrives/${encodeURIComponent(l.vhost)}/${s.job}`, {}, { signal: abort }).catch(() => null),
    [l.vhost, s.job],
    { every: 0, enabled: s.job !== null },
  );
  const j = got.data; // null: it is forgotten, or not for these eyes
  return html`<span class="stop-line"><b>${t(s.job === null ? 'viewer.sent_back_by_hand' : 'viewer.sent_back', { n: s.times })}</b>
      ${s.job !== null && html`<a href=${href(to`/jobs/${l.vhost}/${s.job}`)}>${t('jobs.one', { id: s.job })}</a>`}
      ${s.back && html`<span class="tag bad">${t('viewer.died_again')}</span>`}</span>
    ${j && html`<small class="faint">${t('jobs.begun')} <${When} at=${j.begun} />${j.ended && html` · ${t('jobs.ended')} <${When} at=${j.ended} />`}</small>`}
    ${s.back && l.at && html`<small class="faint">${t('viewer.died_again_at')} <${When} at=${l.at} /></small>`}`;
}

export function Route({ exchange, keys }) {
  return html`<span class="mono break">${exchange === '' ? t('exchange.default') : exchange}${keys.length > 0 && html` → ${keys.join(', ')}`}</span>`;
}
