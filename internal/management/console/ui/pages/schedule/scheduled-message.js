// One scheduled message: what it is, when it is due, where it will go; to call off, to move, to send early.
import { html, useState } from '../../lib/html.js';
import { t, left, size, span, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { back, href, to, up } from '../../lib/router.js';
import { useData } from '../../lib/live.js';
import { Shown } from '../../lib/states.js';
import { When } from '../../lib/time.js';
import { Icon } from '../../lib/icon.js';
import { Action } from '../../lib/action.js';
import { useShortcuts } from '../../lib/keys.js';
import { Body, Headers, Properties, usualBytes } from '../messages/viewer.js';
import { bytesOf } from '../messages/payload.js';
import { act, lacks, move, originOf, scheduleKey, untilDue } from './actions.js';

export function render({ params }) {
  const [whole, setWhole] = useState(false);
  const at = `x/scheduled/${path`${params.vhost}/${params.exchange}/${params.id}`}`;
  const got = useData((abort) => api.get(at, { truncate: whole ? '' : usualBytes }, { signal: abort }), [at, whole], {
    every: 0,
  });
  const list = ['/schedule', { exchange: params.exchange }];
  useShortcuts({ Escape: ['keys.back', () => back(...list)] }, [at]);
  const m = got.data && { ...got.data, vhost: params.vhost };
  const gone = (done) => done && back(...list);
  return html`<nav class="crumbs" aria-label=${t('frame.crumbs')}><a href=${up(...list)}>${t('schedule.title')}</a> <span aria-hidden="true">›</span>
      <a href=${href(to`/exchanges/${params.vhost}/${params.exchange}`)}>${params.exchange}</a></nav>
    <div class="page-head"><h1>${t('scheduled.title', { id: m?.message_id || params.id })}</h1>${
      m &&
      html`<div class="buttons">
      <${Action} className="primary" lacks=${lacks([m])} onClick=${() => act('fire', [m]).then(gone)}>${t('schedule.fire')}</${Action}>
      <${Action} lacks=${lacks([m])} onClick=${() => move([m]).then((moved) => moved && got.refresh())}>${t('schedule.move')}</${Action}>
      <${Action} className="danger" lacks=${lacks([m])} onClick=${() => act('cancel', [m]).then(gone)}>${t('schedule.cancel')}</${Action}></div>`
    }</div>
    <${Shown} of=${got}>${() => html`<div class="viewer">
      <${Way} message=${m} />
      <div class="viewer-body"><${Body} message=${bodyOf(m)} download=${false} whole=${() => setWhole(true)} /></div>
      <div class="viewer-side"><${Facts} message=${m} /><${Properties} message=${m} /><${Headers} message=${asPublished(m)} /></div>
    </div>`}</${Shown}>`;
}

// asPublished is a message with the delay that its publisher set, which the broker turns negative once it applies.
function asPublished(m) {
  const headers = m.properties?.headers;
  if (!(headers?.['x-delay'] < 0)) return m;
  return { ...m, properties: { ...m.properties, headers: { ...headers, 'x-delay': -headers['x-delay'] } } };
}

// bodyOf is a message as the viewer of messages shows its body.
const bodyOf = (m) => ({
  ...m,
  size: m.payload_bytes,
  truncated: bytesOf(m.payload, m.payload_encoding).length < m.payload_bytes,
});

// Way is when it goes, by which exchange, and to which queues if that were now.
function Way({ message: m }) {
  const ms = untilDue(m.due_ms);
  return html`<section class="card" aria-labelledby="way"><h2 id="way">${t('scheduled.way')}</h2>
    <p><b><${When} at=${m.due_ms} /></b> <span class=${ms < 0 ? 'reason' : 'faint'}>${ms < 0 ? t('schedule.late', { time: span(-ms) }) : t('scheduled.in', { time: left(ms) })}</span></p>
    <p>${t('scheduled.by')} <a class="mono break" href=${href(to`/exchanges/${m.vhost}/${m.exchange}`)}>${m.exchange}</a> <span class="mono break">→ ${m.routing_key}</span></p>
    ${m.queues?.length > 0 && html`<p class="tags">${t('scheduled.reaches')} ${m.queues.map((q) => html`<a class="tag good" key=${q} href=${href(to`/queues/${m.vhost}/${q}`)}>${q}</a>`)}</p>`}
    ${m.refused && html`<p class="banner warn"><${Icon} name="warning" /> <b>${word('refused', m.refused)}</b> ${t('scheduled.lost')}</p>`}</section>`;
}

function Facts({ message: m }) {
  const key = scheduleKey(m);
  return html`<section class="card" aria-labelledby="facts"><h2 id="facts">${t('viewer.facts')}</h2><dl class="pairs">
    <dt>${t('letters.id')}</dt><dd class="mono">${m.id}</dd>
    ${key && html`<dt>${t('scheduled.key')}</dt><dd class="mono break">${key}</dd>`}
    ${m.message_id && html`<dt>${t('letters.message_id')}</dt><dd class="mono break">${m.message_id}</dd>`}
    <dt>${t('letters.size')}</dt><dd>${size(m.payload_bytes)}</dd>
    ${originOf(m) && html`<dt>${t('schedule.origin')}</dt><dd class="mono">${originOf(m)}</dd>`}
  </dl></section>`;
}
