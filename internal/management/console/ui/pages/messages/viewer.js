// One message: its way here, what it is, what it says. For any place: a queue, the lost letters.
import { html, useEffect, useState } from '../../lib/html.js';
import { t, num, size, span, word } from '../../lib/i18n.js';
import { api, address } from '../../lib/api.js';
import { beside, from, go, href, kept, to } from '../../lib/router.js';
import { announce } from '../../lib/focus.js';
import { attempt } from '../../lib/layers.js';
import { useData } from '../../lib/live.js';
import { Shown } from '../../lib/states.js';
import { Code, CopyButton } from '../../lib/code.js';
import { When } from '../../lib/time.js';
import { Icon } from '../../lib/icon.js';
import { useShortcuts } from '../../lib/keys.js';
import { at, fetchMessage, keyOf, neverDied, page, placeOf, readSome, reasonOf, rowsOf, sourceOf } from './address.js';
import { bytesOf, hex, jsonOf, kindsOf } from './payload.js';
import { accountOf, isUntold } from './exception.js';
import { quote, split } from './filter.js';
import { originOf, total } from './timeline.js';
import { History, Route } from './history.js';
import { JSONTree } from './json-tree.js';
import { State } from './badges.js';
import { keyed, readable } from '../broker/setting-parts.js';

// usualBytes is how much of a payload is shown unasked.
export const usualBytes = 65536;

// titleOf is what the page of a message is called.
export const titleOf = (l, id) =>
  t(l.place === 'lost' ? 'viewer.title_lost' : neverDied(l) ? 'message.title' : 'viewer.title', { id });

// Viewer shows the message that id names: {vhost, place, queue, id}. children(message, refresh) are what can be done with it.
export function Viewer({ id, children }) {
  const [whole, setWhole] = useState(false);
  const got = useData(
    (abort) => fetchMessage(id, { payload: 'true', truncate: whole ? '' : usualBytes }, abort),
    [at(id), whole],
    { every: 0 },
  );
  return html`${got.data === undefined && html`<h1>${titleOf(id, id.id)}</h1>`}<${Shown} of=${got}>${(l) => html`
    ${children?.(l, got.refresh)}
    <div class="viewer">
      <${History} message=${l} />
      <div class="viewer-body"><${Why} message=${l} /><${Body} message=${l} whole=${() => setWhole(true)} /><${Next} message=${l} /></div>
      <div class="viewer-side"><${Facts} message=${l} /><${Properties} message=${l} /><${Headers} message=${l} /><${Related} message=${l} /></div>
    </div>`}</${Shown}>`;
}

// Body shows a payload; whole asks for all of it, and download is false where there is no address of it alone.
export function Body({ message: l, whole, download = true }) {
  const kinds = kindsOf(l);
  const [chosen, choose] = useState('');
  const kind = kinds.includes(chosen) ? chosen : kinds[0];
  const find = (path, value) =>
    go('/letters', {
      vhost: l.vhost,
      filter: `body.${/^[\w$.[\]-]+$/.test(path) ? path : quote(path)}:${quote(String(value))}`,
    });
  return html`<section class="card" aria-labelledby="body"><header><h2 id="body">${t('viewer.body')}</h2>
      <span class="faint">${size(l.size)}</span><span class="grow"></span>
      ${
        kinds.length > 0 &&
        html`<div role="group" aria-label=${t('viewer.show_as')} class="buttons">${kinds.map((k) => html`<button type="button" class="small" aria-pressed=${k === kind} onClick=${() => choose(k)}>${t(`viewer.as_${k}`)}</button>`)}</div>
        <${CopyButton} text=${() => l.payload} />${download && html`<a class="button" download href=${address(`${at(l)}/payload`)}><${Icon} name="download" /> ${t('viewer.download')}</a>`}`
      }</header>
    ${kinds.length === 0 && html`<p class="banner">${t('viewer.no_payload_right')}</p>`}
    ${l.truncated && html`<p class="banner warn" role="status">${t('viewer.truncated', { shown: size(bytesOf(l.payload, l.payload_encoding).length), whole: size(l.size) })} <button type="button" onClick=${whole}>${t('viewer.load_whole')}</button></p>`}
    ${l.payload === '' && html`<p class="faint">${t('viewer.empty_body')}</p>`}
    ${kind && l.payload !== '' && html`<${Payload} message=${l} kind=${kind} find=${find} />`}
  </section>`;
}

function Payload({ message: l, kind, find }) {
  if (kind === 'tree') return html`<${JSONTree} value=${jsonOf(l.payload)} onPath=${find} />`;
  const text =
    kind === 'pretty'
      ? JSON.stringify(jsonOf(l.payload), null, 2)
      : kind === 'hex'
        ? hex(bytesOf(l.payload, l.payload_encoding))
        : l.payload;
  return html`<${Code} text=${text} label=${t('frame.pair', { name: t('viewer.body'), value: t(`viewer.as_${kind}`) })} />`;
}

// Why says which setting led the message here, as the queue of its last death has it now, and where it would go now.
function Why({ message: l }) {
  const last = l.last_death || l.deaths[0];
  const queue = last?.queue;
  const got = useData(
    (abort) =>
      api
        .get(`x/explain/queues/${encodeURIComponent(l.vhost)}/${encodeURIComponent(queue)}`, {}, { signal: abort })
        .catch((e) => ({ refused: e })),
    [l.vhost, queue],
    { every: 0, enabled: !!queue },
  );
  if (!queue) return l.republished || accountOf(l.properties?.headers).text ? html`<${Told} message=${l} />` : null;
  const names =
    {
      expired: /ttl|expir/,
      maxlen: /max-length|overflow/,
      delivery_limit: /delivery-limit|retry-attempts/,
      rejected: /dead-letter/,
    }[reasonOf(l)] || /dead-letter/;
  const settings = (got.data?.settings || []).filter((s) => /dead-letter/.test(s.name) || names.test(s.name));
  return html`<section class="card" aria-labelledby="why"><h2 id="why">${t('viewer.why')}</h2>
    <${Exception} message=${l} />
    <p>${t('viewer.why_text', { queue, why: word('reason_text', reasonOf(l)) })}</p>
    ${got.data?.refused ? html`<p class="faint">${t('viewer.queue_gone', { queue })}</p>` : html`<dl class="pairs">${settings.map((s) => html`<dt>${keyed(s.name)}</dt><dd><b>${readable(s.name, s.value)}</b> <span class="faint">${[word('source', s.source), s.from].filter(Boolean).join(' · ')}</span></dd>`)}</dl>`}
    <p class="buttons"><a class="button" href=${href(to`/queues/${l.vhost}/${queue}`)}>${t('viewer.to_queue', { queue })}</a></p></section>`;
}

// Told is what the headers say of a message of whose death the broker knows nothing: why a consumer published it anew, and where it was.
// Of one that was sent back or discarded since then the headers are all there is.
function Told({ message: l }) {
  const { exchange, routing_key: key, queue } = l.republished || {};
  return html`<section class="card" aria-labelledby="why"><h2 id="why">${l.republished ? t('viewer.why') : t('letters.exception')}</h2>
    <${Exception} message=${l} />
    ${l.republished && html`<p>${t(isUntold(l) ? 'viewer.marked' : 'viewer.republished')}</p>`}
    <dl class="pairs">${queue && html`<dt>${t('viewer.failed_in')}</dt><dd><a class="break" href=${href(to`/queues/${l.vhost}/${queue}`)}>${queue}</a></dd>`}
      ${(exchange || key) && html`<dt>${t('viewer.published')}</dt><dd><${Route} exchange=${exchange} keys=${key ? [key] : []} /></dd>`}</dl></section>`;
}

// Exception is what its headers, or else the broker, tell of the exception, and the way to the messages that died of the same.
function Exception({ message: l }) {
  const one = `${l.place === 'lost' ? 'state:lost' : `queue:${quote(l.queue)}`} id:${l.id}`;
  const got = useData(
    (abort) =>
      api
        .get(
          `x/letters/${encodeURIComponent(l.vhost)}/groups`,
          { by: 'exception', filter: one, limit: 1 },
          { signal: abort },
        )
        .catch(() => ({ groups: [] })),
    [at(l)],
    { every: 0 },
  );
  const group = got.data?.groups.find((g) => g.value !== '');
  const { text, stack } = accountOf(l.properties?.headers);
  const said = text || group?.value || '';
  if (!said) return null;
  const same = group && split(group.filter).find((x) => x.field === 'exception' || x.field === 'fingerprint');
  return html`<p class="exception"><b>${t('frame.pair', { name: t('letters.exception'), value: '' })}</b><span class="mono">${said}</span></p>
    ${stack && html`<details><summary>${t('viewer.stack')}</summary><${Code} text=${stack} label=${t('viewer.stack')} /></details>`}
    ${same && html`<p class="buttons"><a class="button" href=${href('/letters', { vhost: l.vhost, filter: same.text, view: 'list' })}><${Icon} name="filter" /> ${t('viewer.same_exception')}</a></p>`}`;
}

// Next says where the message would go if it were sent back now.
function Next({ message: l }) {
  const source = l.place === 'lost' ? { lost: true } : { queue: l.queue };
  const got = useData(
    (abort) =>
      api.post(`x/redrives/${encodeURIComponent(l.vhost)}`, { source, ids: [l.id], dry_run: true }, { signal: abort }),
    [at(l)],
    { every: 0, enabled: l.deaths.length > 0 || !!l.republished },
  );
  const x = got.data;
  if (!x && !got.error) return null;
  const refused = x && Object.keys(x.refused);
  const origin = originOf(l);
  const died = l.deaths.length > 0;
  const way = html`${!died && t('viewer.next_published')} <${Route} exchange=${origin.exchange} keys=${origin.keys} />`;
  return html`<section class="card" aria-labelledby="next"><h2 id="next">${t('viewer.next')}</h2>
    ${
      got.error
        ? html`<p class="faint">${got.error.reason}</p>`
        : html`<p>${died ? t('viewer.next_text') : way}</p>
      ${Object.keys(x.queues).length > 0 && html`<p class="tags">${Object.keys(x.queues).map((q) => html`<a class="tag good" href=${href(to`/queues/${l.vhost}/${q}`)}>${q}</a>`)}</p>`}
      ${died && html`<p class="faint">${t('viewer.next_origin')} ${way}</p>`}
      ${l.place === 'queue' && x.queues[l.queue] > 0 && html`<p class="banner">${t('viewer.next_same')}</p>`}
      ${refused.length > 0 && html`<p class="banner warn"><${Icon} name="warning" /> ${refused.map((why) => word('refused', why)).join(t('frame.comma'))}</p>`}`
    }</section>`;
}

function Facts({ message: l }) {
  return html`<section class="card" aria-labelledby="facts"><h2 id="facts">${t('viewer.facts')}</h2><dl class="pairs">
    <dt>${t('letters.place')}</dt><dd>${placeOf(l)} <${State} state=${l.state} /></dd>
    <dt>${t('letters.id')}</dt><dd class="mono">${l.id}</dd>
    <dt>${t('letters.deaths')}</dt><dd>${num(total(l))}</dd>
    <dt>${t('letters.returns')}</dt><dd>${num(l.returns)} ${l.redelivered && html`<span class="tag">${t('viewer.redelivered')}</span>`}</dd>
    <dt>${t('letters.redrives')}</dt><dd>${num(l.redrives)} ${l.redrive !== null && html`<a href=${href(to`/jobs/${l.vhost}/${l.redrive}`)}>${t('jobs.one', { id: l.redrive })}</a>`}</dd>
    ${l.due && html`<dt>${t('viewer.due')}</dt><dd><${When} at=${l.due} /></dd>`}
    ${l.expires && html`<dt>${t(l.place === 'lost' ? 'viewer.kept_until' : 'viewer.expires')}</dt><dd><${When} at=${l.expires} /></dd>`}
    ${l.cause && html`<dt>${t('letters.cause')}</dt><dd>${word('cause', l.cause)}</dd>`}
  </dl></section>`;
}

// meaning is a property in words, where its value alone says little.
function meaning(name, value) {
  if (name === 'expiration') return span(Number(value));
  if (name === 'delivery_mode') return Number(value) === 2 ? t('viewer.persistent') : t('viewer.transient');
  if (name === 'timestamp') return html`<${When} at=${Number(value) * 1000} />`;
  return null;
}

export function Properties({ message: l }) {
  const of = Object.entries(l.properties || {}).filter(([k]) => k !== 'headers');
  return html`<section class="card" aria-labelledby="properties"><h2 id="properties">${t('viewer.properties')}</h2>
    ${of.length === 0 ? html`<p class="faint">${t('viewer.none')}</p>` : html`<dl class="pairs">${of.map(([k, v]) => html`<dt class="mono">${k}</dt><dd>${meaning(k, v) ? html`${meaning(k, v)} <small class="faint mono">${String(v)}</small>` : html`<span class="mono">${typeof v === 'object' ? JSON.stringify(v) : String(v)}</span>`}</dd>`)}</dl>`}</section>`;
}

// aboutHeader is a part of a header in words: x-death tells times in seconds.
const aboutHeader = (name, value) =>
  name === 'time' && typeof value === 'number' && value > 1e9 ? html`<${When} at=${value * 1000} />` : null;

const typeOf = (v) =>
  v === null
    ? 'void'
    : Array.isArray(v)
      ? 'array'
      : typeof v === 'object'
        ? 'table'
        : typeof v === 'number'
          ? Number.isInteger(v)
            ? 'integer'
            : 'double'
          : typeof v;

// wide is what a value takes for itself below its name.
const wide = (k, v) => ((v !== null && typeof v === 'object') || k.length + String(v).length > 50 ? 'whole' : '');

export function Headers({ message: l }) {
  const of = Object.entries(l.properties?.headers || {});
  return html`<section class="card" aria-labelledby="headers"><h2 id="headers">${t('viewer.headers')}</h2>
    ${
      of.length === 0
        ? html`<p class="faint">${t('viewer.none')}</p>`
        : html`<dl class="pairs headers">${of.map(
            ([
              k,
              v,
            ]) => html`<dt class=${`mono ${wide(k, v)}`}>${k} <small class="faint">${typeOf(v)}</small></dt><dd class=${`mono ${wide(k, v)}`}>${v !== null && typeof v === 'object' ? html`<${JSONTree} value=${v} about=${aboutHeader} />` : html`<span class="pre">${String(v)}</span>`}
      ${(v === null || typeof v !== 'object') && html`<a class="find-same" href=${href('/letters', { vhost: l.vhost, filter: `header.${/^[\w.-]+$/.test(k) ? k : quote(k)}:${quote(String(v))}` })} aria-label=${t('viewer.find_same', { path: k })} title=${t('viewer.find_same', { path: k })}><${Icon} name="filter" /></a>`}</dd>`,
          )}</dl>`
    }</section>`;
}

function Related({ message: l }) {
  const p = l.properties || {};
  const links = [
    p.correlation_id && [t('viewer.same_correlation'), `correlation-id:${quote(p.correlation_id)}`],
    l.message_id && [t('viewer.same_message'), `message-id:${quote(l.message_id)}`],
    sourceOf(l) && [t('viewer.same_source', { queue: sourceOf(l) }), `source:${quote(sourceOf(l))}`],
  ].filter(Boolean);
  if (!links.length) return null;
  return html`<section class="card" aria-labelledby="related"><h2 id="related">${t('viewer.related')}</h2><ul>${links.map(([text, filter]) => html`<li><a href=${href('/letters', { vhost: l.vhost, filter })}>${text}</a></li>`)}</ul></section>`;
}

// neighbour is the address of the page of the message after or before one, by 1 or -1: in the list that led to it, or else in its
// place, where the filter of that list counts, too.
async function neighbour(id, by) {
  const list = kept('list', from());
  const i = list ? list.rows.findIndex((row) => row.key === keyOf(id)) : -1;
  if (i < 0) {
    const filter = new URLSearchParams(from().split('?')[1]).get('filter');
    const query = { order: by > 0 ? 'oldest' : 'newest', after: id.id, limit: 1, filter };
    const got = await api.get(at(id).replace(/\/[^/]*$/, ''), query);
    return got.items.map(page)[0];
  }
  if (i + by === list.rows.length && list.next) {
    const got = await readSome(list.list, { ...list.query, after: list.next }, 100);
    list.rows.push(...rowsOf(got.items));
    list.next = got.next;
  }
  return list.rows[i + by]?.page;
}

// stepNames are the titles of the steps to the message before and after one, by 1 or -1.
export const stepNames = (alive) => ({
  [-1]: alive ? 'keys.previous_message' : 'keys.previous_letter',
  1: alive ? 'keys.next_message' : 'keys.next_letter',
});

// useNeighbours binds [ and ] to the messages before and after one; alive says that it never died. Who goes back to the list then is at the
// row of the last one.
export function useNeighbours(id, alive) {
  useEffect(() => {
    const [list, row] = ['list', 'row'].map((name) => kept(name, from()));
    const index = list ? list.rows.findIndex((x) => x.key === keyOf(id)) : -1;
    if (!row || index < 0) return;
    Object.assign(row, { key: keyOf(id), index });
    list.shown = Math.max(list.shown, index + 1);
  }, [at(id)]);
  const step = async (by) => {
    let next;
    const found = await attempt(async () => {
      next = await neighbour(id, by);
    });
    if (next) beside(next);
    else if (found) announce(t(by > 0 ? 'viewer.is_last' : 'viewer.is_first'));
  };
  const names = stepNames(alive);
  useShortcuts({ '[': [names[-1], () => void step(-1)], ']': [names[1], () => void step(1)] }, [at(id), alive]);
  return step;
}
