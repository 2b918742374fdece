// The schedule: what waits for its instant, on a calendar and as a list; to call off, to move, to send early.
import { html, useState } from '../../lib/html.js';
import { t, clock, day, left, month, num, size, span, weekday } from '../../lib/i18n.js';
import { go, href, route, setQuery, to, useKept } from '../../lib/router.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { Table } from '../../lib/table.js';
import { Empty, Failure, Loading, Shown } from '../../lib/states.js';
import { When } from '../../lib/time.js';
import { Icon } from '../../lib/icon.js';
import { Action } from '../../lib/action.js';
import { oneVHost, vhost, within } from '../../lib/vhosts.js';
import { rightsIn } from '../../lib/rights.js';
import { count, grid, heat, range, step } from './calendar.js';
import { countDue, useDue } from './due-counts.js';
import { faultOf } from '../messages/badges.js';
import { split } from '../messages/filter.js';
import { FilterBox, useRefusal } from '../messages/filter-box.js';
import { act, lacks, move, originOf, scheduleKey, untilDue } from './actions.js';
import { delayedCode } from '../code/clients.js';
import { scheduledCommand } from '../code/commands.js';

export function render() {
  const q = route.value.query;
  const schedules = useData((abort) => api.get('x/scheduled', {}, { signal: abort }), [], {
    on: ['overview'],
    every: 5000,
  });
  const all = (schedules.data || []).filter((s) => !vhost.value || s.vhost === vhost.value);
  return html`<div class="page-head"><h1>${t('schedule.title')}</h1>${all.length > 0 && html`<${Begin} done=${schedules.refresh} />`}</div>
    <${InQueues} />
    <${Shown} of=${schedules}>${() =>
      all.length === 0
        ? html`<${Empty} title=${t('schedule.empty')} text=${t('schedule.empty_text')} code=${delayedCode} cli=${scheduledCommand} docs="scheduled-messages.md"><${Begin} done=${schedules.refresh} none /></${Empty}>`
        : html`<${Exchanges} all=${all} chosen=${q.exchange || ''} /><${Scaled} all=${all.filter((s) => !q.exchange || s.exchange === q.exchange)} query=${q} changed=${schedules.refresh} />`}</${Shown}>`;
}

// Begin is what makes messages wait: one that is scheduled, and where there is none yet an exchange for them.
function Begin({ done, none = false }) {
  const rights = rightsIn(oneVHost.value);
  const schedule = () => import('../broker/queue-dialogs.js').then((m) => m.scheduleIn(oneVHost.value)).then(done);
  const create = () => import('../broker/exchanges.js').then((m) => m.createExchange({ type: 'x-delayed-message' }));
  return html`<span class="buttons">${none && html`<${Action} lacks=${rights.any('configure')} onClick=${create}><${Icon} name="plus" /> ${t('schedule.create_exchange')}</${Action}>`}
    <${Action} lacks=${rights.any('write')} onClick=${schedule}><${Icon} name="schedule" /> ${t('publish.schedule_title')}…</${Action}></span>`;
}

const queuesShown = 8;

// InQueues names the queues in which messages wait themselves, which are in no list of the schedule.
function InQueues() {
  const got = useData(
    (signal) =>
      api.get(
        within('queues'),
        {
          page: 1,
          page_size: queuesShown + 1,
          sort: 'messages_delayed',
          sort_reverse: 'true',
          columns: 'name,vhost,messages_delayed',
        },
        { signal },
      ),
    [vhost.value],
    { on: ['queues'], every: 15000 },
  );
  const filled = (got.data?.items || []).filter((q) => q.messages_delayed > 0);
  if (!filled.length) return null;
  const n = filled.slice(0, queuesShown).reduce((sum, q) => sum + q.messages_delayed, 0);
  return html`<section class="banner" aria-label=${t('waiting.title')}><p>${t('schedule.in_queues', { n })}</p>
    <p class="tags">${filled.slice(0, queuesShown).map((q) => html`<a class="tag" key=${`${q.vhost} ${q.name}`} href=${href(to`/queues/${q.vhost}/${q.name}`, { tab: 'waiting' })}>${q.vhost !== '/' && `${q.vhost} · `}${q.name} <b>${num(q.messages_delayed)}</b></a>`)}
      ${filled.length > queuesShown && html`<a href=${href('/queues', { sort: 'messages_delayed', reverse: 'true' })}>${t('schedule.more_queues')}</a>`}</p></section>`;
}

const views = ['month', 'day', 'hour'];

// Scaled shows what waits on the scale that was chosen, or else on the smallest that has all of it.
function Scaled({ all, query: q, changed }) {
  const chosen = views.includes(q.view) ? q.view : '';
  const next = Math.min(...all.map((s) => s.next_due_ms ?? Infinity));
  const first = Number.isFinite(next) ? next : Date.now();
  const paths = pathsOf(all, q.exchange || '');
  const wanted = !chosen && !q.at;
  const got = useData((abort) => fitting(paths, first, abort), [paths, wanted], { every: 0, enabled: wanted });
  const view = chosen || (wanted ? got.data : 'month');
  if (!view) return got.error ? html`<${Failure} error=${got.error} retry=${got.refresh} />` : html`<${Loading} />`;
  const at = Number(q.at) || (wanted && view !== 'month' ? first : Date.now());
  return html`<${Waiting} all=${all} chosen=${q.exchange || ''} view=${view} at=${at} slot=${Number(q.slot) || 0} filter=${q.filter || ''} whole=${q.all === '1' && !!q.filter} changed=${changed} />`;
}

// fitting is the smallest view that has all that is due from a time on.
async function fitting(paths, first, abort) {
  for (const view of ['hour', 'day']) {
    const { after } = await countDue(paths, grid(view, first), abort);
    if (after === 0) return view;
  }
  return 'month';
}

function Exchanges({ all, chosen }) {
  return html`<div class="cards fill">${all.map(
    (
      s,
    ) => html`<a class=${`stat ${s.orphan ? 'bad' : ''}`} key=${s.vhost + s.exchange} href="#" aria-current=${s.exchange === chosen ? 'true' : undefined} onClick=${(
      e,
    ) => {
      e.preventDefault();
      setQuery({ exchange: s.exchange === chosen ? '' : s.exchange });
    }}>
      <b>${num(s.messages)}</b><span class="break">${s.exchange}${s.vhost !== '/' && html` <small>${s.vhost}</small>`}</span>
      <span> · ${s.next_due_ms ? t('schedule.next', { time: left(untilDue(s.next_due_ms)) }) : '–'}</span>
      ${s.orphan && html`<span class="tag bad">${t('schedule.orphan')}</span>`}</a>`,
  )}</div>`;
}

// pathsOf are those of the API that count what waits: in everything, in a virtual host, or in the exchanges of a name.
const pathsOf = (all, chosen) =>
  chosen
    ? all.map((s) => `x/scheduled/${path`${s.vhost}/${s.exchange}`}`)
    : [vhost.value ? `x/scheduled/${path`${vhost.value}`}` : 'x/scheduled'];

function Waiting({ all, chosen, view, at, slot, filter, whole, changed }) {
  const selection = useKept('selection', new Set());
  const cells = grid(view, at);
  const { from, until } = range(cells);
  const paths = pathsOf(all, chosen);
  const key = JSON.stringify([from, until, paths]);
  const got = useData(async (abort) => ({ ...(await countDue(paths, cells, abort)), key }), [key], { every: 5000 });
  const counted = got.data?.key === key ? got.data : null; // not that of the view before
  const part = view === 'hour' && cells.find((c) => c.from === slot);
  const list = useDue(
    whole ? all.map((s) => ({ vhost: s.vhost, exchange: s.exchange })) : counted ? counted.exchanges : null,
    whole ? { filter } : part ? { from: part.from, until: part.until, filter } : { from, until, filter },
    { hold: selection[0].size > 0 },
  );
  const done = (acted) => {
    if (!acted) return;
    selection[1](new Set());
    changed();
    got.refresh();
    list.refresh();
  };
  useRefusal(list.error);
  const wrong = list.error?.status === 400 ? faultOf(list.error) : '';
  const period = { month: month(at), day: day(at), hour: `${day(at)} ${clock(from)} – ${clock(until)}` }[view];
  const searched = part ? `${clock(part.from)} – ${clock(part.until)}` : period;
  return html`${counted?.overdue > 0 && html`<p class="banner bad" role="status"><${Icon} name="warning" /> ${t('schedule.overdue', { n: counted.overdue })}</p>`}
    <section class="card" aria-labelledby="calendar"><header><h2 id="calendar" aria-live="polite">${period}</h2>
      ${counted && html`<span class="faint">${t('schedule.sum', { n: counted.messages })}</span>`}<span class="grow"></span>
      <span class="buttons"><button type="button" onClick=${() => setQuery({ view, at: step(view, at, -1), slot: '' })} aria-label=${t('schedule.earlier')}><${Icon} name="left" /></button><button type="button" onClick=${() => setQuery({ view, at: '', slot: '' })}>${t('schedule.today')}</button><button type="button" onClick=${() => setQuery({ view, at: step(view, at, 1), slot: '' })} aria-label=${t('schedule.later')}><${Icon} name="right" /></button>
      ${views.map((v) => html`<button type="button" class="small" aria-pressed=${v === view} onClick=${() => setQuery({ view: v, slot: '' }, { push: true })}>${t(`schedule.view_${v}`)}</button>`)}</span></header>
      ${got.error && html`<p class="banner bad" role="alert">${faultOf(got.error)}</p>`}
      <${Heat} key=${`${view} ${from}`} view=${view} cells=${cells} counts=${count(cells, counted?.due || [])} slot=${part ? slot : 0} /></section>
    <${FilterBox} filter=${filter} change=${(f) => setQuery({ filter: f })} error=${wrong} example=${t('schedule.filter_example')} />
    ${list.unread.length > 0 && html`<p class="hint">${t('schedule.unread', { names: list.unread.join(t('frame.comma')) })}</p>`}
    ${
      filter &&
      html`<p class="hint">${whole ? t('schedule.searched_all') : t('schedule.searched', { period: searched })} <button type="button" class="small" onClick=${() => setQuery({ all: whole ? '' : '1' })}>${t(whole ? 'schedule.search_period' : 'schedule.search_all')}</button>${' '}
      ${t('schedule.filter_hint')}${split(filter).some((x) => x.field === 'key') && ` ${t('schedule.key_hint')}`}</p>`
    }
    ${!wrong && html`<${List} list=${list} selection=${selection} done=${done} filter=${filter} whole=${whole} />`}`;
}

const holdsNow = (c) => Date.now() >= c.from && Date.now() < c.until;

// Heat is the cells with what is due in each. A day or an hour opens; five minutes of an hour are chosen for the list.
function Heat({ view, cells, counts, slot }) {
  const [at, setAt] = useState(-1);
  const most = Math.max(...counts, 1);
  const pick = (c) =>
    view === 'hour'
      ? setQuery({ slot: c.from === slot ? '' : c.from })
      : setQuery({ view: { month: 'day', day: 'hour' }[view], at: c.from }, { push: true });
  const minute = (c) => clock(c.from).replace(/:00(?=\D*$)/, ''); // without seconds
  const hour = (c) => minute(c).replace(/:00(?=\D+$)/, ''); // 5 PM, 17:00
  const text = { month: (c) => String(new Date(c.from).getDate()), day: hour, hour: minute }[view];
  const say = (c, n) =>
    t('schedule.cell', { when: view === 'month' ? day(c.from) : `${clock(c.from)} – ${clock(c.until)}`, n });
  // The calendar is one stop of Tab: the arrows go from cell to cell.
  const usual = Math.max(
    0,
    cells.findIndex((c) => !c.outside && (slot ? c.from === slot : holdsNow(c))),
  );
  const stop = cells[at]?.outside === false ? at : cells[usual].outside ? cells.findIndex((c) => !c.outside) : usual;
  const walk = (e) => {
    const all = [...e.currentTarget.querySelectorAll('.cell')];
    const row = all.filter((x) => x.offsetTop === all[0].offsetTop).length;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row }[e.key];
    if (!by) return;
    e.preventDefault();
    const to = all.indexOf(e.target) + by;
    if (!all[to] || all[to].disabled) return;
    setAt(to);
    all[to].focus();
  };
  return html`<div class=${`heat ${view}`} role="group" aria-label=${t('schedule.calendar')} onKeyDown=${walk}>
    ${view === 'month' && cells.slice(0, 7).map((c) => html`<span class="heat-head" aria-hidden="true">${weekday(c.from)}</span>`)}
    ${cells.map(
      (
        c,
        i,
      ) => html`<button type="button" key=${c.from} class=${`cell heat-${heat(counts[i], most)} ${c.outside ? 'outside' : ''} ${holdsNow(c) ? 'today' : ''}`} 
      aria-pressed=${view === 'hour' ? c.from === slot : undefined} tabindex=${i === stop ? 0 : -1} onClick=${() => pick(c)} disabled=${c.outside}><span aria-hidden="true">${text(c)}</span>${counts[i] > 0 && html`<b aria-hidden="true">${num(counts[i])}</b>`}<span class="hidden">${say(c, counts[i])}</span></button>`,
    )}</div>`;
}

const keyOf = (x) => `${x.vhost} ${x.exchange} ${x.id}`;

const page = (x) => to`/schedule/${x.vhost}/${x.exchange}/${x.id}`;

function List({ list, selection, done, filter, whole }) {
  const until = (x) => untilDue(x.due_ms);
  const keyed = list.rows.some(scheduleKey);
  const columns = [
    {
      key: 'due',
      title: t('schedule.due'),
      always: true,
      sort: false,
      value: (x) => x.due,
      render: (x) => html`<a class="bare" href=${href(page(x))}><${When} at=${x.due_ms} /></a>`,
    },
    {
      key: 'in',
      title: t('schedule.in'),
      sort: false,
      align: 'end',
      value: until,
      render: (x) =>
        until(x) < 0 ? html`<b class="reason">${t('schedule.late', { time: span(-until(x)) })}</b>` : left(until(x)),
    },
    {
      key: 'exchange',
      title: t('letters.exchange'),
      sort: false,
      render: (x) => html`<span class="break">${x.exchange}</span>`,
    },
    {
      key: 'routing_key',
      title: t('letters.key'),
      sort: false,
      names: true,
      render: (x) => html`<span class="mono break">${x.routing_key}</span>`,
    },
    {
      key: 'message_id',
      title: t('letters.message_id'),
      sort: false,
      off: keyed && innerWidth < 1100,
      names: true,
      value: (x) => x.message_id || '',
      render: (x) => html`<span class="mono break">${x.message_id || ''}</span>`,
    },
    { key: 'id', title: t('letters.id'), sort: false, off: true },
    {
      key: 'key',
      title: t('scheduled.key'),
      sort: false,
      off: !keyed,
      value: scheduleKey,
      render: (x) => html`<span class="mono break">${scheduleKey(x)}</span>`,
    },
    {
      key: 'payload_bytes',
      title: t('letters.size'),
      sort: false,
      align: 'end',
      off: innerWidth < 1100,
      render: (x) => size(x.payload_bytes),
    },
    { key: 'origin', title: t('schedule.origin'), sort: false, off: true, value: originOf },
    {
      key: 'do',
      title: t('letters.do'),
      sort: false,
      value: () => '',
      render: (
        x,
      ) => html`<span class="buttons nowrap"><${Action} className="small" lacks=${lacks([x])} onClick=${() => act('fire', [x]).then(done)}>${t('schedule.fire')}</${Action}>
      <${Action} className="small" lacks=${lacks([x])} onClick=${() => move([x]).then(done)}>${t('schedule.move')}</${Action}><${Action} className="small" lacks=${lacks([x])} onClick=${() => act('cancel', [x]).then(done)}>${t('schedule.cancel')}</${Action}></span>`,
    },
  ];
  const source = {
    rows: list.rows,
    total: list.rows.length,
    filtered: list.rows.length,
    page: 1,
    pages: 1,
    text: '',
    known: list.known,
    error: list.error,
    refresh: list.refresh,
  };
  return html`${list.partial && html`<p class="banner warn" role="status"><${Icon} name="warning" /> ${t('schedule.partial')} <button type="button" onClick=${list.load} disabled=${list.busy}>${t('letters.go_on')}</button></p>`}
    <${Table} id="schedule" className="fits" caption=${t('schedule.list')} source=${source} columns=${columns} keyOf=${keyOf} selection=${selection} filter=${false} onOpen=${(x) => go(page(x))}
      empty=${html`<p class="banner">${t(whole ? 'schedule.none_found_at_all' : filter ? 'schedule.none_found' : 'schedule.none_here')}</p>`} more=${{ next: list.more, busy: list.busy, load: list.load, partial: list.partial }}
      actions=${(rows) =>
        rows.length > 0 &&
        html`<${Action} lacks=${lacks(rows)} onClick=${() => act('fire', rows).then(done)}>${t('schedule.fire')}</${Action}><${Action} lacks=${lacks(rows)} onClick=${() => move(rows).then(done)}>${t('schedule.move')}</${Action}>
      <${Action} className="danger" lacks=${lacks(rows)} onClick=${() => act('cancel', rows).then(done)}>${t('schedule.cancel')}</${Action}>`} />`;
}
