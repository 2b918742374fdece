// A list of messages in portions: of one queue, of the lost letters, or of everything that died in a virtual host.
import { html, useEffect, useMemo, useRef, useState } from '../../lib/html.js';
import { t, num, size, dateTime, word } from '../../lib/i18n.js';
import { go, keep, kept } from '../../lib/router.js';
import { deadSoFar, indexed, lostNow, topic, useAgain, useData } from '../../lib/live.js';
import { Table } from '../../lib/table.js';
import { Ago } from '../../lib/time.js';
import { Icon } from '../../lib/icon.js';
import { announce } from '../../lib/focus.js';
import { reasonOf as reasonText, toast } from '../../lib/layers.js';
import { useShortcuts } from '../../lib/keys.js';
import { exceptionOf, keyOf, page, placeOf, readSome, reasonOf, rowsOf, sourceOf, withHeaders } from './address.js';
import { total } from './timeline.js';
import { Reason, State } from './badges.js';
import { useRefusal } from './filter-box.js';

const portion = 100; // messages that are shown at a time; one more is read, which says that there are more

// useMessages reads a list: path of the API, query (filter, order). It is empty while the filter is wrong.
// It is read again when something died, but not while it is held: then somebody selects or reads on. Who comes back finds as much of it as
// was read before.
export function useMessages(list, query, { hold = false } = {}) {
  const key = JSON.stringify([list, query]);
  const [read, setRead] = useState(null); // {key, items, next, partial, most}: what was read on, and how many of it are shown
  const [busy, setBusy] = useState(false);
  const more = read?.key === key ? read : null;
  const begin = useRef(Math.max(portion, kept('list')?.shown || 0)); // how many are shown at first
  const still = hold || !!more || begin.current > portion;
  const some = (abort) => withHeaders((q) => readSome(list, q, begin.current + 1, abort), query);
  const first = useData(some, [list, query], {
    every: 0,
    on: still ? [] : ['letters'],
  });
  useCompleted(still ? { data: null } : first, key);
  const latest = useRef(key);
  latest.current = key;
  useRefusal(first.error);
  const wrong = first.error?.status === 400 ? t('filter.invalid') : ''; // then no list is that of the filter
  const now = wrong ? null : more || first.data;
  const items = useMemo(() => now?.items.slice(0, now.most ?? begin.current) || [], [now]);
  const goesOn = !!now && (items.length < now.items.length || !!now.next);
  const found = t(goesOn ? 'letters.found_least' : 'letters.found', { n: items.length });
  useFound(query.filter, first.at, found);
  useEffect(() => {
    if (now) keep('list', { list, query, rows: rowsOf(now.items), next: now.next, shown: items.length });
  }, [now]);
  const load = async () => {
    setBusy(true);
    try {
      const most = items.length + portion;
      const wanted = most + 1 - now.items.length;
      const got = now.next && (await withHeaders((q) => readSome(list, q, wanted), { ...query, after: now.next }));
      const all = got ? [...now.items, ...got.items] : now.items;
      if (latest.current === key) setRead({ ...now, ...got, key, items: all, most });
    } catch (error) {
      toast(reasonText(error), 'bad');
    }
    setBusy(false);
  };
  const refresh = () => {
    begin.current = portion;
    setRead(null);
    return first.refresh();
  };
  const died = list.startsWith('x/lost-letters/') ? lostNow() : deadSoFar();
  const since = useRef({ at: 0, died: null });
  if (since.current.at !== first.at || since.current.died === null) since.current = { at: first.at, died };
  const fresh = still && died !== null && since.current.died !== null ? Math.max(0, died - since.current.died) : 0;
  return {
    items,
    known: first.data !== undefined || !!wrong,
    wrong,
    error: first.error,
    loading: first.loading,
    next: goesOn,
    busy,
    load,
    refresh,
    at: first.at,
    fresh,
    index: now?.index,
    scanned: now?.scanned,
    partial: now?.partial,
  };
}

// exceptionColumn is there where any row has one.
export const exceptionColumn = (messages) => ({
  key: 'exception',
  title: t('letters.exception'),
  sort: false,
  off: !messages.some((l) => exceptionOf(l)),
  value: exceptionOf,
  render: (l) => html`<span class="mono exception-line" title=${exceptionOf(l)}>${exceptionOf(l)}</span>`,
});

// In the lost store all messages have one place and one state, and each has a cause.
const columns = (messages, lost) => [
  {
    key: 'reason',
    title: t('letters.reason'),
    sort: false,
    always: true,
    value: reasonOf,
    render: (l) =>
      html`<a class="bare" href=${page(l)}><${Reason} reason=${reasonOf(l) || l.cause} count=${total(l)} /></a>`,
  },
  {
    key: 'source',
    title: t('letters.source'),
    sort: false,
    value: sourceOf,
    render: (l) => html`<span class="break">${sourceOf(l) || '–'}</span>`,
  },
  {
    key: 'cause',
    title: t('letters.by_cause'),
    sort: false,
    off: !messages.some((l) => l.place === 'lost'),
    value: (l) => l.cause,
    render: (l) => (l.cause ? word('cause', l.cause) : '–'),
  },
  {
    key: 'place',
    title: t('letters.place'),
    sort: false,
    off: lost,
    value: placeOf,
    render: (l) => html`<span class="break">${placeOf(l)}</span>`,
  },
  {
    key: 'state',
    title: t('letters.state'),
    sort: false,
    off: lost,
    value: (l) => l.state,
    render: (l) => html`<${State} state=${l.state} />`,
  },
  {
    key: 'key',
    title: t('letters.key'),
    sort: false,
    value: (l) => l.routing_keys.join(' '),
    render: (l) => html`<span class="mono break">${l.routing_keys.join(', ')}</span>`,
  },
  { key: 'exchange', title: t('letters.exchange'), sort: false, off: true, value: (l) => l.exchange },
  exceptionColumn(messages),
  {
    key: 'message_id',
    title: t('letters.message_id'),
    sort: false,
    value: (l) => l.message_id,
    render: (l) => html`<span class="mono break">${l.message_id}</span>`,
  },
  {
    key: 'at',
    title: t('letters.died'),
    sort: false,
    off: lost && innerWidth < 1400,
    value: (l) => l.at,
    render: (l) =>
      html`${l.arrived_at && l.at === l.arrived_at && html`<small class="faint">${t('viewer.arrived')}</small> `}<${Ago} at=${l.at} />`,
  },
  {
    key: 'lost_at',
    title: t('letters.lost_at'),
    sort: false,
    off: !lost,
    value: (l) => l.lost_at,
    render: (l) => (l.lost_at ? html`<${Ago} at=${l.lost_at} />` : '–'),
  },
  { key: 'deaths', title: t('letters.deaths'), sort: false, align: 'end', off: true, value: total },
  {
    key: 'redrives',
    title: t('letters.redrives'),
    sort: false,
    align: 'end',
    off: innerWidth < 1400,
    value: (l) => l.redrives,
  },
  {
    key: 'size',
    title: t('letters.size'),
    sort: false,
    align: 'end',
    off: innerWidth < 1400,
    value: (l) => l.size,
    render: (l) => size(l.size),
  },
];

// MessagesTable shows what useMessages read.
export function MessagesTable({ id = 'letters', messages, selection, actions, empty, caption }) {
  const source = {
    rows: messages.items,
    total: messages.items.length,
    filtered: messages.items.length,
    page: 1,
    pages: 1,
    text: '',
    known: messages.known,
    error: messages.error,
    wrong: messages.wrong,
    refresh: messages.refresh,
  };
  useShortcuts({ n: messages.fresh > 0 && ['keys.load_new', messages.refresh] }, [messages.fresh]);
  return html`<${IndexState} of=${messages} />
    ${messages.fresh > 0 && html`<p class="banner" role="status">${t(id === 'lost' ? 'lost.fresh' : 'letters.fresh', { n: messages.fresh })} <button type="button" onClick=${messages.refresh}>${t('keys.load_new')}</button></p>`}
    <${Table} id=${id} className="fits" caption=${caption || t('letters.list')} source=${source} columns=${columns(messages.items, id === 'lost')} keyOf=${keyOf} nameOf=${(l) => [l.id, reasonOf(l) && word('reason', reasonOf(l)), sourceOf(l)].filter(Boolean).join(t('frame.clause'))} selection=${selection} onOpen=${(l) => go(page(l))} filter=${false}
      actions=${actions} empty=${!messages.wrong && empty} more=${{ next: messages.next, busy: messages.busy, load: messages.load, partial: messages.partial }} />`;
}

// useFound announces what another filter has found, which words say, once it is known.
export function useFound(filter, at, words) {
  const last = useRef({ filter, before: -1 });
  useEffect(() => {
    const { current: l } = last;
    if (l.filter !== filter) last.current = { filter, before: at };
    else if (l.before >= 0 && l.before !== at) {
      announce(words);
      l.before = -1;
    }
  }, [filter, at]);
}

// useCompleted asks again twice after a list was read or something died, and then as long as the answer says that the index is behind
// what happens.
export function useCompleted(got, key) {
  const { version } = topic('letters').value;
  useAgain({ refresh: () => got.data?.index && got.refresh() }, indexed, [version, key]);
  const behind = got.data?.index?.behind > 0;
  useAgain(got, behind ? [1000] : [], [behind, got.at, key]);
}

// IndexState says what an answer may lack.
export function IndexState({ of }) {
  if (!of.known) return null;
  return html`${of.index && of.index.behind > 0 && html`<p class="hint">${t('letters.index_behind', { n: of.index.behind, until: dateTime(of.index.complete_until) })}</p>`}
    ${
      of.partial &&
      html`<p class="banner warn" role="status"><${Icon} name="warning" /> ${t('letters.partial', { n: num(of.scanned) })}
      ${of.next && html`<button type="button" onClick=${of.load} disabled=${of.busy}>${t('letters.go_on')}</button>`}</p>`
    }`;
}
