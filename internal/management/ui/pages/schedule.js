// The schedule: what waits for its instant, on a calendar and as a list; to call off, to move, to send early.
import { html, useState } from '../lib/html.js';
import { t, clock, day, month, num, size, span, weekday } from '../lib/i18n.js';
import { api, path } from '../lib/api.js';
import { route, setQuery } from '../lib/router.js';
import { now, useData } from '../lib/live.js';
import { useRows } from '../lib/list.js';
import { Table } from '../lib/table.js';
import { Empty, Shown } from '../lib/states.js';
import { When } from '../lib/time.js';
import { Icon } from '../lib/icon.js';
import { Dialog, attempt, confirm, open, toast } from '../lib/layers.js';
import { Duration, Field, Radios } from '../lib/form.js';
import { vhost } from '../lib/vhosts.js';
import { count, grid, heat, range, step } from './office/calendar.js';
import { delayedSamples } from './office/samples.js';

// readMost bounds how many messages of a stretch are read to be counted.
const readMost = 5000;

export function render() {
  const q = route.value.query;
  const view = ['month', 'day', 'hour'].includes(q.view) ? q.view : 'month';
  const at = Number(q.at) || Date.now();
  const schedules = useData((abort) => api.get('x/scheduled', {}, { signal: abort }), [], { on: ['overview'], every: 5000 });
  const all = (schedules.data || []).filter((s) => !vhost.value || s.vhost === vhost.value);
  return html`<h1>${t('schedule.title')}</h1>
    <${Shown} of=${schedules}>${() => (all.length === 0 ? html`<${Empty} title=${t('schedule.empty')} text=${t('schedule.empty_text')} code=${delayedSamples} cli="bartleby ctl scheduled count" docs="scheduled-messages.md" />`
      : html`<${Exchanges} all=${all} chosen=${q.exchange || ''} /><${Waiting} all=${all.filter((s) => !q.exchange || s.exchange === q.exchange)} view=${view} at=${at} />`)}</${Shown}>`;
}

function Exchanges({ all, chosen }) {
  return html`<div class="cards fill">${all.map((s) => html`<a class=${`stat ${s.orphan ? 'bad' : ''}`} key=${s.vhost + s.exchange} href="#" aria-current=${s.exchange === chosen ? 'true' : undefined} onClick=${(e) => { e.preventDefault(); setQuery({ exchange: s.exchange === chosen ? '' : s.exchange }); }}>
      <b>${num(s.messages)}</b><span class="break">${s.exchange}${s.vhost !== '/' && html` <small>${s.vhost}</small>`}</span>
      <span> · ${s.next_due_ms ? t('schedule.next', { time: span(Math.max(0, s.next_due_ms - Math.max(now.value, Date.now() - 5000))) }) : '–'}</span>
      ${s.orphan && html`<span class="tag bad">${t('schedule.orphan')}</span>`}</a>`)}</div>`;
}

// read reads what is due in a stretch, of several exchanges.
async function read(all, from, until, abort) {
  const items = [];
  let partial = false;
  for (const s of all) {
    let after = '';
    do {
      const got = await api.get(`x/scheduled/${path`${s.vhost}/${s.exchange}`}`, { from, until, limit: 1000, after }, { signal: abort });
      items.push(...got.items.map((x) => ({ ...x, vhost: s.vhost })));
      after = got.next;
    } while (after && items.length < readMost);
    partial ||= !!after;
  }
  return { items: items.sort((a, b) => a.due_ms - b.due_ms), partial };
}

function Waiting({ all, view, at }) {
  const selection = useState(new Set());
  const { from, until } = range(view, at);
  const key = all.map((s) => [s.vhost, s.exchange, s.messages]);
  const got = useData((abort) => read(all, from, until, abort), [from, until, key], { every: 15000 });
  const late = useData((abort) => read(all, 0, Date.now() - 2000, abort), [key], { every: 10000 });
  const cells = grid(view, at);
  const counts = count(cells, (got.data?.items || []).map((x) => x.due_ms));
  const done = () => {
    selection[1](new Set());
    got.refresh();
  };
  return html`${late.data?.items.length > 0 && html`<p class="banner bad" role="status"><${Icon} name="warning" /> ${t('schedule.overdue', { n: late.data.items.length })}</p>`}
    <section class="card" aria-labelledby="calendar"><header><h2 id="calendar" aria-live="polite">${view === 'month' ? month(at) : view === 'day' ? day(at) : `${day(at)} ${clock(from)} – ${clock(until)}`}</h2><span class="grow"></span>
      <span class="buttons"><button type="button" onClick=${() => setQuery({ at: step(view, at, -1) })} aria-label=${t('schedule.earlier')}><${Icon} name="left" /></button><button type="button" onClick=${() => setQuery({ at: '' })}>${t('schedule.today')}</button><button type="button" onClick=${() => setQuery({ at: step(view, at, 1) })} aria-label=${t('schedule.later')}><${Icon} name="right" /></button>
      ${['month', 'day', 'hour'].map((v) => html`<button type="button" class="small" aria-pressed=${v === view} onClick=${() => setQuery({ view: v === 'month' ? '' : v }, { push: true })}>${t(`schedule.view_${v}`)}</button>`)}</span></header>
      ${got.data?.partial && html`<p class="banner warn">${t('schedule.partial', { n: readMost })}</p>`}
      <${Heat} view=${view} cells=${cells} counts=${counts} /></section>
    <${List} got=${got} selection=${selection} done=${done} />`;
}

const holdsNow = (c) => count([c], [Date.now()])[0] > 0;

function Heat({ view, cells, counts }) {
  const most = Math.max(...counts, 1);
  const next = { month: 'day', day: 'hour', hour: 'hour' }[view];
  const text = (c) => (view === 'month' ? String(new Date(c.from).getDate()) : clock(c.from).replace(/:00(?=\D*$)/, ''));
  const say = (c, n) => t('schedule.cell', { when: view === 'month' ? day(c.from) : `${clock(c.from)} – ${clock(c.until)}`, n });
  return html`<div class=${`heat ${view}`} role="group" aria-label=${t('schedule.calendar')}>
    ${view === 'month' && cells.slice(0, 7).map((c) => html`<span class="heat-head" aria-hidden="true">${weekday(c.from)}</span>`)}
    ${cells.map((c, i) => html`<button type="button" key=${c.from} class=${`cell heat-${heat(counts[i], most)} ${c.outside ? 'outside' : ''} ${holdsNow(c) ? 'today' : ''}`} 
      onClick=${() => setQuery({ view: next, at: c.from }, { push: true })} disabled=${c.outside}><span aria-hidden="true">${text(c)}</span>${counts[i] > 0 && html`<b aria-hidden="true">${num(counts[i])}</b>`}<span class="hidden">${say(c, counts[i])}</span></button>`)}</div>`;
}

const keyOf = (x) => `${x.vhost} ${x.exchange} ${x.id}`;

function List({ got, selection, done }) {
  const columns = [
    { key: 'due', title: t('schedule.due'), always: true, value: (x) => x.due_ms, render: (x) => html`<${When} at=${x.due_ms} />` },
    { key: 'in', title: t('schedule.in'), sort: false, align: 'end', value: (x) => x.due_ms - Math.max(now.value, Date.now() - 5000), render: (x) => { const ms = x.due_ms - Math.max(now.value, Date.now() - 5000); return ms < 0 ? html`<b class="reason">${t('schedule.late', { time: span(-ms) })}</b>` : span(ms); } },
    { key: 'exchange', title: t('letters.exchange') }, { key: 'routing_key', title: t('letters.key') },
    { key: 'message_id', title: t('letters.message_id'), value: (x) => x.message_id || '' },
    { key: 'payload_bytes', title: t('letters.size'), align: 'end', render: (x) => size(x.payload_bytes) },
    { key: 'origin', title: t('schedule.origin'), off: true, value: (x) => (x.properties?.headers?.['x-delay'] !== undefined ? `x-delay ${x.properties.headers['x-delay']}` : '') },
    { key: 'do', title: t('letters.do'), sort: false, render: (x) => html`<span class="buttons nowrap"><button type="button" class="small" onClick=${() => act('fire', [x], done)}>${t('schedule.fire')}</button>
      <button type="button" class="small" onClick=${() => move([x], done)}>${t('schedule.move')}</button><button type="button" class="small" onClick=${() => act('cancel', [x], done)}>${t('schedule.cancel')}</button></span>` },
  ];
  const source = useRows({ ...got, data: got.data?.items }, columns, { usual: { sort: 'due' }, search: (x) => `${x.exchange} ${x.routing_key} ${x.message_id || ''} ${x.id}` });
  return html`<${Table} id="schedule" caption=${t('schedule.list')} source=${source} columns=${columns} keyOf=${keyOf} selection=${selection} empty=${html`<p class="banner">${t('schedule.none_here')}</p>`}
    actions=${(rows) => rows.length > 0 && html`<button type="button" onClick=${() => act('fire', rows, done)}>${t('schedule.fire')}</button><button type="button" onClick=${() => move(rows, done)}>${t('schedule.move')}</button>
      <button type="button" class="danger" onClick=${() => act('cancel', rows, done)}>${t('schedule.cancel')}</button>`} />`;
}

// each calls an action for the messages of each exchange, a thousand at a time.
async function each(rows, action, body) {
  const by = Map.groupBy ? Map.groupBy(rows, (x) => `${x.vhost}\u0000${x.exchange}`) : rows.reduce((m, x) => m.set(`${x.vhost}\u0000${x.exchange}`, [...(m.get(`${x.vhost}\u0000${x.exchange}`) || []), x]), new Map());
  let changed = 0;
  for (const of of by.values()) {
    for (let i = 0; i < of.length; i += 1000) {
      const got = await api.post(`x/scheduled/${path`${of[0].vhost}/${of[0].exchange}`}/${action}`, { ids: of.slice(i, i + 1000).map((x) => x.id), ...body });
      changed += got.count;
    }
  }
  return changed;
}

async function act(action, rows, done) {
  if (!(await confirm({ title: t(`schedule.${action}_title`, { n: rows.length }), text: t(`schedule.${action}_text`), action: t(`schedule.${action}`), danger: action === 'cancel' }))) return;
  await attempt(async () => toast(t(`schedule.${action}_done`, { n: await each(rows, action) })));
  done();
}

const move = (rows, done) => open(Move, { rows }).then((moved) => moved && done());

function Move({ close, rows }) {
  const [how, setHow] = useState('at');
  const local = (ms) => new Date(ms - new Date(ms).getTimezoneOffset() * 60000).toISOString().slice(0, 19);
  const [at, setAt] = useState(local(rows[0].due_ms));
  const [ms, setMS] = useState(6e5);
  const submit = async (e) => {
    e.preventDefault();
    const body = how === 'at' ? { at: new Date(at).toISOString() } : { in: ms };
    if (await attempt(async () => toast(t('schedule.move_done', { n: await each(rows, 'reschedule', body) })))) close(true);
  };
  return html`<${Dialog} title=${t('schedule.move_title', { n: rows.length })} close=${() => close(false)} actions=${html`<button type="button" onClick=${() => close(false)}>${t('frame.cancel')}</button><button type="submit" form="move" class="primary">${t('schedule.move')}</button>`}>
    <form id="move" onSubmit=${submit}><${Radios} label=${t('schedule.move_how')} value=${how} onInput=${setHow} options=${[['at', t('schedule.at')], ['in', t('schedule.from_now')]]} />
      ${how === 'at' ? html`<${Field} label=${t('schedule.at')} hint=${t('schedule.zone', { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}>${(a) => html`<input type="datetime-local" step="1" required ...${a} value=${at} onInput=${(e) => setAt(e.target.value)} />`}</${Field}>`
        : html`<${Duration} label=${t('schedule.from_now')} value=${ms} onInput=${setMS} required />`}</form></${Dialog}>`;
}
