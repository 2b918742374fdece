// Edit a message and send it again: what may be changed, what changed, then it takes the place of the original or stands beside it.
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { t, word } from '../../lib/i18n.js';
import { api } from '../../lib/api.js';
import { Cancel, Dialog, open, refuse, toast } from '../../lib/layers.js';
import { Check, Radios, TextArea, TextField } from '../../lib/form.js';
import { Icon } from '../../lib/icon.js';
import { Commands } from '../../lib/states.js';
import { here } from '../../lib/here.js';
import { Action } from '../../lib/action.js';
import { first } from '../../lib/rights.js';
import { resendCommands } from '../code/commands.js';
import { jsonFault } from '../broker/json-fault.js';
import { at, neverDied, sourceOf } from '../messages/address.js';
import { diff } from './diff.js';
import { originOf } from '../messages/timeline.js';
import { isJSON, jsonOf } from '../messages/payload.js';

// locked are the headers that tell where a message comes from: they stay.
const locked = /^x-(death|first-death-|last-death-|redrive-|edited-from)/;

// It returns a promise of kept or moved, which is what became of the original, or '' if nothing was sent.
export const edit = (message) => open(Edit, { message });

// pretty shows what a person edits.
const pretty = (v) => JSON.stringify(v, null, 2);

function Edit({ close, message: l }) {
  const binary = l.payload_encoding === 'base64';
  const headers = Object.entries(l.properties?.headers || {});
  const lockedOnes = headers.map(([k]) => k).filter((k) => locked.test(k));
  const origin = originOf(l);
  const home = sourceOf(l); // '' if nobody knows where it died
  const before = {
    to: home ? 'queue' : 'exchange',
    payload: l.payload ?? '',
    exchange: origin.exchange,
    key: origin.keys[0] ?? '',
    properties: pretty(Object.fromEntries(Object.entries(l.properties || {}).filter(([k]) => k !== 'headers'))),
    headers: pretty(Object.fromEntries(headers.filter(([k]) => !locked.test(k)))),
  };
  const [now, setNow] = useState(before);
  const [keep, setKeep] = useState(false);
  const [force, setForce] = useState(false); // though it would come to where the original is
  const [immortal, setImmortal] = useState(false); // without the expiration with which it would die again
  const [review, setReview] = useState(null); // what the broker says to it: {outcome, queues}
  const [busy, setBusy] = useState(false);
  const reviewed = useRef();
  useEffect(() => {
    if (review) reviewed.current?.focus();
  }, [review]);
  const set = (k) => (v) => setNow({ ...now, [k]: v });
  const wrong = {
    properties: notObject(now.properties, t('viewer.properties')),
    headers: notObject(now.headers, t('viewer.headers')),
  };
  const warn = !binary && isJSON(before.payload) ? notJSON(now.payload, t('viewer.body')) : '';
  const bad = wrong.properties || wrong.headers;
  const rerouted = now.exchange !== before.exchange || now.key !== before.key;
  const same = review?.outcome === 'same_queue';
  const toSend = first(
    same && !force && t('form_words.check', { what: t('resend.all_the_same') }),
    review && !same && review.outcome !== 'redriven' && word('refused', review.outcome),
  );
  const bodyOf = (dry) => {
    const body = { keep, dry_run: dry };
    if (same && force && !dry) body.force = true;
    // An exchange or key that is given replaces all its keys, CC among them: what is not changed is left out.
    if (now.to === 'exchange')
      Object.assign(
        body,
        rerouted || neverDied(l)
          ? { exchange: now.exchange, routing_key: now.key }
          : home
            ? { target: { to: 'origin' } }
            : {},
      );
    if (now.payload !== before.payload)
      Object.assign(body, { payload: now.payload, payload_encoding: binary ? 'base64' : 'string' });
    if (now.properties !== before.properties || now.headers !== before.headers) {
      body.properties = {
        ...JSON.parse(now.properties),
        headers: { ...JSON.parse(now.headers), ...Object.fromEntries(headers.filter(([k]) => locked.test(k))) },
      };
    }
    if (immortal && !dry)
      body.properties = {
        ...(body.properties ?? { ...JSON.parse(now.properties), headers: Object.fromEntries(headers) }),
        expiration: null,
      };
    return body;
  };
  const send = async (dry) => {
    setBusy(true);
    try {
      const answer = await api.post(`${at(l)}/resend`, bodyOf(dry));
      if (!dry) {
        const queues = answer.queues.join(t('frame.comma'));
        toast(
          html`<span>${queues ? t('resend.reached', { queues }) : t('resend.done')}</span> <span>${keep ? t('resend.sent_kept') : t('resend.sent')}</span>`,
        );
        close(keep ? 'kept' : 'moved');
        return;
      }
      setForce(false);
      setImmortal(false);
      setReview(answer);
    } catch (e) {
      refuse(e);
    }
    setBusy(false);
  };
  return html`<${Dialog} title=${t('resend.title')} close=${() => close('')} wide actions=${html`
      ${review && html`<button type="button" onClick=${() => setReview(null)}>${t('resend.back')}</button>`}
      <${Cancel} />
      ${review ? html`<${Action} className="primary" lacks=${toSend} disabled=${busy} onClick=${() => send(false)}>${t('resend.send')}</${Action}>` : html`<${Action} className="primary" lacks=${first(l.truncated && t('resend.truncated'), bad)} disabled=${busy} onClick=${() => send(true)}>${t('resend.review')}</${Action}>`}`}>
    ${l.truncated && html`<p class="banner warn">${t('resend.truncated')}</p>`}
    ${
      review
        ? html`<div class="stack" tabindex="-1" ref=${reviewed} role="group" aria-label=${t('resend.review')}><${Whereto} message=${l} answer=${review} now=${now} home=${home} keep=${keep} />${same && html`<${Check} label=${t('resend.all_the_same')} value=${force} onInput=${setForce} />`}${review.expiring.length > 0 && html`<p class="banner warn"><${Icon} name="warning" /> ${t('resend.expires_again', { queues: review.expiring.join(t('frame.comma')) })}</p><${Check} label=${t('redrive.drop_expiration')} value=${immortal} onInput=${setImmortal} />`}${warn && html`<p class="banner warn" role="alert"><${Icon} name="warning" /> ${warn}</p>`}<${Review} before=${before} now=${now} /></div>`
        : html`
      ${
        home &&
        html`<${Radios} label=${t('redrive.where')} value=${now.to} onInput=${set('to')} options=${[
          ['queue', t('redrive.to_queue'), home],
          ['exchange', t('redrive.to_origin')],
        ]} />`
      }
      ${now.to === 'exchange' && html`<div class="form"><${TextField} label=${t('letters.exchange')} hint=${t('resend.exchange_hint')} value=${now.exchange} onInput=${set('exchange')} /><${TextField} label=${t('letters.key')} value=${now.key} onInput=${set('key')} /></div>`}
      <${TextArea} label=${binary ? t('resend.body_base64') : t('viewer.body')} error=${warn} value=${now.payload} onInput=${set('payload')} rows="12" autofocus />
      ${jsonOf(now.payload) !== undefined && html`<p><button type="button" class="small" onClick=${() => set('payload')(pretty(jsonOf(now.payload)))}>${t('resend.tidy')}</button></p>`}
      <${TextArea} label=${t('viewer.properties')} error=${wrong.properties} value=${now.properties} onInput=${set('properties')} rows="5" />
      <${TextArea} label=${t('viewer.headers')} hint=${lockedOnes.length > 0 && t('resend.locked', { which: lockedOnes.join(t('frame.comma')) })} error=${wrong.headers} value=${now.headers} onInput=${set('headers')} rows="5" />
      <${Check} label=${t('resend.keep')} hint=${t('resend.keep_hint')} value=${keep} onInput=${setKeep} />`
    }
    ${!bad && !l.truncated && html`<${Commands} commands=${resendCommands(here(), { ...l, lost: l.place === 'lost' }, bodyOf(false))} />`}
  </${Dialog}>`;
}

function notObject(text, what) {
  try {
    const v = JSON.parse(text);
    return v && typeof v === 'object' && !Array.isArray(v) ? '' : t('form_words.json_object', { what });
  } catch (e) {
    return faultIn(e, text, what);
  }
}

// notJSON says what is wrong with a text that is to be JSON, '' if nothing is.
function notJSON(text, what) {
  try {
    JSON.parse(text);
    return '';
  } catch (e) {
    return faultIn(e, text, what);
  }
}

function faultIn(error, text, what) {
  const { key, params } = jsonFault(error.message, text);
  return t(key, { what, ...params });
}

// Whereto says which queues the message reaches, and what becomes of the original.
function Whereto({ message: l, answer, now, home, keep }) {
  const direct = now.to === 'queue';
  const by = direct ? home : [now.exchange || t('exchange.default'), now.key].filter(Boolean).join(' → ');
  const queues = answer.queues.join(t('frame.comma'));
  const died = [home, ...(l.deaths || []).map((d) => d.queue)];
  const copies = direct || !home ? [] : answer.queues.filter((q) => !died.includes(q));
  if (answer.outcome === 'same_queue')
    return html`<p class="banner warn" role="alert"><${Icon} name="warning" /> ${t('resend.into_same', { queue: l.queue })}</p>`;
  if (answer.outcome !== 'redriven')
    return html`<p class="banner bad" role="alert"><${Icon} name="warning" /> ${t('resend.would_stay', { by, why: word('refused', answer.outcome) })}</p>`;
  return html`<p class="banner" role="status">${queues && (direct ? t('resend.goes', { queues }) : t('resend.reaches', { by, queues }))} ${keep ? t('resend.original_stays') : t('resend.original_goes')}</p>
    ${copies.length > 0 && html`<p class="banner warn"><${Icon} name="warning" /> ${t('resend.never_died', { queues: copies.join(t('frame.comma')) })}</p>`}`;
}

function Review({ before, now }) {
  const titles = {
    exchange: t('letters.exchange'),
    key: t('letters.key'),
    payload: t('viewer.body'),
    properties: t('viewer.properties'),
    headers: t('viewer.headers'),
  };
  const shown = Object.entries(titles).filter(
    ([k]) => before[k] !== now[k] && (now.to === 'exchange' || (k !== 'exchange' && k !== 'key')),
  );
  if (shown.length === 0) return html`<p class="banner">${t('resend.unchanged')}</p>`;
  return html`${shown.map(
    ([k, title]) => html`<section key=${k}><h3>${title}</h3>
    <div class="diff" tabindex="0" role="region" aria-label=${t('resend.diff_of', { what: title })}>${folded(diff(before[k], now[k])).map((x) => html`<div class=${`line ${x.kind}`}><span class="sign">${x.kind === 'gone' ? '−' : x.kind === 'new' ? '+' : ' '}</span><span class="hidden">${x.kind === 'gone' ? t('resend.gone') : x.kind === 'new' ? t('resend.new') : ''}</span><code>${x.text}</code></div>`)}</div></section>`,
  )}`;
}

// folded leaves out what is the same and far from a change.
function folded(lines) {
  const near = (i) => lines.slice(Math.max(0, i - 3), i + 4).some((x) => x.kind !== 'same');
  return lines.flatMap((x, i) => (near(i) ? [x] : i === 0 || near(i - 1) ? [{ kind: 'fold', text: '…' }] : []));
}
