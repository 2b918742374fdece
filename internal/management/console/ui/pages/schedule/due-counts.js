// What is due when: counted by the broker, and read in order from several exchanges at once.
import { useRef, useState } from '../../lib/html.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { reasonOf, toast } from '../../lib/layers.js';
import { bucket, range } from './calendar.js';

// portion is how many messages are read at a time, atOnce of how many exchanges, and roundsMax how often each is asked for one.
const portion = 500;
const atOnce = 8;
const roundsMax = 20;

// countDue counts what is due in the cells of a calendar, at paths of the API: {due, exchanges, overdue, messages, after}.
export async function countDue(paths, cells, abort) {
  const all = { due: new Map(), exchanges: new Map(), overdue: 0, messages: 0, after: 0 };
  const add = (to, key, x) => to.set(key, { ...x, messages: x.messages + (to.get(key)?.messages || 0) });
  for (const at of paths) {
    let after = '';
    do {
      const got = await api.get(at, { bucket: `${bucket(cells)}ms`, ...range(cells), after }, { signal: abort });
      got.buckets.forEach((b) => add(all.due, b.from_ms, b));
      got.exchanges.forEach((x) => add(all.exchanges, `${x.vhost}\u0000${x.exchange}`, x));
      all.overdue += got.overdue;
      all.messages += got.messages;
      all.after += got.after;
      after = got.next;
    } while (after);
  }
  const due = [...all.due.values()].sort((a, b) => a.from_ms - b.from_ms);
  return { ...all, due, exchanges: [...all.exchanges.values()].map(({ vhost, exchange }) => ({ vhost, exchange })) };
}

const begin = (sources) => ({
  heads: sources.map((s) => ({ ...s, items: [], after: '', ended: false })),
  rows: [],
  unread: [],
  partial: false,
  more: false,
});

// readOn goes on with a reading until it has as many rows as are wanted, or all. It may be partial: where a filter finds little. unread
// are the exchanges that the user may not read.
async function readOn(was, query, wanted, abort) {
  const r = { ...was, heads: was.heads.map((h) => ({ ...h, items: [...h.items] })), rows: [...was.rows] };
  const limit = Math.max(10, Math.min(1000, Math.ceil((1.5 * (wanted - r.rows.length)) / Math.max(1, r.heads.length))));
  const empty = () => r.heads.filter((h) => h.items.length === 0 && !h.ended);
  for (let round = 0; r.rows.length < wanted && round < roundsMax; round++) {
    const some = empty();
    for (let i = 0; i < some.length; i += atOnce) {
      await Promise.all(
        some.slice(i, i + atOnce).map(async (h) => {
          const got = await api
            .get(
              `x/scheduled/${path`${h.vhost}/${h.exchange}`}`,
              { ...query, limit, after: h.after },
              { signal: abort },
            )
            .catch((error) => {
              if (!error.noRight) throw error;
              r.unread = [...r.unread, h.exchange];
              return { items: [], next: null };
            });
          Object.assign(h, {
            items: got.items.map((x) => ({ ...x, vhost: h.vhost })),
            after: got.next,
            ended: !got.next,
          });
        }),
      );
    }
    take(r, wanted);
    if (r.heads.every((h) => h.ended && h.items.length === 0)) break;
  }
  r.more = r.heads.some((h) => !h.ended || h.items.length > 0);
  r.partial = r.more && r.rows.length < wanted;
  return r;
}

// take puts into rows what comes next, as long as that is known of each exchange.
function take(r, wanted) {
  while (r.rows.length < wanted) {
    let first = null;
    for (const h of r.heads) {
      if (h.items.length === 0 && !h.ended) return;
      if (h.items.length > 0 && (!first || h.items[0].due_ms < first.items[0].due_ms)) first = h;
    }
    if (!first) return;
    r.rows.push(first.items.shift());
  }
}

// useDue reads what waits in sources, {vhost, exchange}, in the order in which it is due, as query says: from, until, filter. sources is
// null as long as they are not known. It is read again now and then, but not while it is held, or was read on.
export function useDue(sources, query, { hold = false } = {}) {
  const key = JSON.stringify([sources, query]);
  const [read, setRead] = useState(null);
  const [busy, setBusy] = useState(false);
  const more = read?.key === key ? read : null;
  const first = useData((abort) => readOn(begin(sources), query, portion, abort), [key], {
    every: hold || more ? 0 : 10000,
    keep: false,
    enabled: sources !== null,
  });
  const latest = useRef(key);
  latest.current = key;
  const now = more || first.data;
  const load = async () => {
    setBusy(true);
    try {
      const got = await readOn(now, query, now.rows.length + portion);
      if (latest.current === key) setRead({ ...got, key });
    } catch (error) {
      toast(reasonOf(error), 'bad');
    }
    setBusy(false);
  };
  const refresh = () => {
    setRead(null);
    return first.refresh();
  };
  return {
    rows: now?.rows || [],
    unread: now?.unread || [],
    known: !!now && sources !== null,
    error: first.error,
    more: !!now?.more,
    partial: !!now?.partial,
    busy,
    load,
    refresh,
  };
}
