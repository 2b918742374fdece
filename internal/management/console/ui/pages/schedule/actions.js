// What is done with scheduled messages: sent now, moved, cancelled. Each is {vhost, exchange, id, due_ms}, or if it waits in a queue
// {vhost, queue, id, due_ms, why}.
import { html, useState } from '../../lib/html.js';
import { dateTime, span, t } from '../../lib/i18n.js';
import { now } from '../../lib/live.js';
import { api, path } from '../../lib/api.js';
import { Cancel, Dialog, attempt, confirm, open } from '../../lib/layers.js';
import { Field, Radios } from '../../lib/form.js';
import { Duration } from '../../lib/duration-fields.js';
import { first, rightsIn } from '../../lib/rights.js';
import { Commands } from '../../lib/states.js';
import { here } from '../../lib/here.js';
import { Icon } from '../../lib/icon.js';
import { withoutQueue } from '../broker/bound-now.js';
import { sum } from './outcomes.js';
import { scheduledCommands } from '../code/commands.js';

// scheduleKey is the name that a message waits under.
export const scheduleKey = (x) => x.properties?.headers?.['x-schedule-key'] ?? '';

// originOf is the header that made it wait, which the broker turns negative.
export function originOf(x) {
  const delay = x.properties?.headers?.['x-delay'];
  return delay === undefined ? '' : `x-delay ${span(Math.abs(Number(delay)))}`;
}

// asWaiting is a message of a queue, as its page has it, as one of those that wait there.
export const asWaiting = (l) => ({
  vhost: l.vhost,
  queue: l.queue,
  id: l.waiting_id,
  due_ms: Date.parse(l.due),
  message_id: l.message_id,
  called: l.id,
  why: l.redelivered ? 'retry' : 'delivery-time',
});

const reading = 5000; // ms until a page has read that a message was sent

// untilDue is how long it takes until a time, in ms; negative if it is over, and not only the page is late.
export function untilDue(at) {
  const ms = at - Math.max(now.value, Date.now());
  return ms < 0 && ms >= -reading ? 0 : ms;
}

// lacks is what is missing to change messages: who may publish to a delayed exchange may change what waits there, who may consume
// from a queue what waits in it.
export const lacks = (rows) =>
  first(
    ...rows.map((x) =>
      x.queue ? rightsIn(x.vhost).queue('read', x.queue) : rightsIn(x.vhost).exchange('write', x.exchange),
    ),
  );

// lacksToCancel is the same for those that are to be cancelled, or why one cannot be.
export const lacksToCancel = (rows) =>
  first(lacks(rows), rows.some((x) => x.why === 'retry') && t('waiting.no_cancel'));

// placeOf is the path of the API of what waits where a message does.
const placeOf = (x) =>
  x.queue ? `x/waiting/${path`${x.vhost}/${x.queue}`}` : `x/scheduled/${path`${x.vhost}/${x.exchange}`}`;

// each calls an action for the messages of each exchange or queue, a thousand at a time. It returns the sum of the answers.
async function each(rows, action, body) {
  const by = rows.reduce((m, x) => m.set(placeOf(x), [...(m.get(placeOf(x)) || []), x]), new Map());
  const all = { count: 0, outcomes: {} };
  for (const [place, of] of by) {
    for (let i = 0; i < of.length; i += 1000) {
      const got = await api.post(`${place}/${action}`, {
        ids: of.slice(i, i + 1000).map((x) => x.id),
        ...body,
      });
      all.count += got.count;
      for (const [outcome, n] of Object.entries(got.outcomes)) all.outcomes[outcome] = (all.outcomes[outcome] || 0) + n;
    }
  }
  return all;
}

// went is what is said of an answer, and the kind of its toast: a warning if a message did not wait any more.
function went(action, answer, more) {
  const { n, others } = sum(action, answer);
  const finished = t(`schedule.${action}_done`, { n, ...more });
  if (!others.length) return finished;
  const rest = others.map(([outcome, n]) => t(`schedule.was_${outcome}`, { n })).join(t('frame.comma'));
  return [n > 0 ? t('schedule.partly', { finished, rest }) : rest, 'note'];
}

// nameOf is how a dialog calls a message: its schedule key, which commands and clients use, before its ids, of which its page has called.
const nameOf = (x) => scheduleKey(x) || x.message_id || x.called || x.id;

// asCommands shows a change as commands, if it is of few messages of one exchange or queue.
const few = 20;
const asCommands = (verb, rows, time) =>
  rows.length <= few &&
  rows.every((x) => placeOf(x) === placeOf(rows[0])) &&
  html`<${Commands} commands=${scheduledCommands(here(), verb, rows, time)} />`;

// act sends messages now, or cancels them, if the user wants that; it tells whether it was done.
export async function act(action, rows) {
  const lost = action === 'fire' ? (await withoutQueue(rows.filter((x) => !x.queue))).length : 0;
  if (
    !(await confirm({
      title: t(`schedule.${action}_title`, { n: rows.length, what: nameOf(rows[0]) }),
      text: t(`schedule.${action}_text`, { n: rows.length }),
      action: t(`schedule.${action}`),
      dismiss: action === 'cancel' && t('schedule.keep'),
      danger: action === 'cancel',
      children: [
        lost > 0 && html`<p class="banner warn"><${Icon} name="warning" /> ${t('schedule.fire_lost', { n: lost })}</p>`,
        asCommands(action, rows),
      ],
    }))
  )
    return false;
  return attempt(
    () => each(rows, action),
    (answer) => went(action, answer),
  );
}

// move asks for another time, and gives it to messages; it tells whether it was done.
export const move = (rows) => open(Move, { rows });

function Move({ close, rows }) {
  const [how, setHow] = useState('at');
  const local = (ms) => new Date(ms - new Date(ms).getTimezoneOffset() * 60000).toISOString().slice(0, 19);
  const [at, setAt] = useState(local(rows[0].due_ms));
  const [ms, setMS] = useState(6e5);
  const bodyOf = () =>
    how === 'in' ? { in: ms } : Number.isNaN(Date.parse(at)) ? {} : { at: new Date(at).toISOString() };
  const submit = async (e) => {
    e.preventDefault();
    const body = bodyOf();
    if (
      await attempt(
        () => each(rows, 'reschedule', body),
        (answer) => went('move', answer, { time: dateTime(body.at ?? Date.now() + ms) }),
      )
    )
      close(true);
  };
  return html`<${Dialog} title=${t('schedule.move_title', { n: rows.length, what: nameOf(rows[0]) })} close=${() => close(false)} actions=${html`<${Cancel} /><button type="submit" form="move" class="primary">${t('schedule.move')}</button>`}>
    <form id="move" onSubmit=${submit}><${Radios} label=${t('schedule.move_how')} value=${how} onInput=${setHow} options=${[
      ['at', t('schedule.by_time')],
      ['in', t('schedule.by_delay')],
    ]} />
      ${
        how === 'at'
          ? html`<${Field} label=${t('schedule.at')} hint=${t('schedule.zone', { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}>${(a) => html`<input type="datetime-local" step="1" required ...${a} value=${at} onInput=${(e) => setAt(e.target.value)} />`}</${Field}>`
          : html`<${Duration} label=${t('schedule.from_now')} value=${ms} onInput=${setMS} required />`
      }</form>${asCommands('reschedule', rows, bodyOf())}</${Dialog}>`;
}
