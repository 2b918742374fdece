// The addresses of messages in the API and the console, and the names of where they are.
import { signal } from '../../lib/html.js';
import { api, path } from '../../lib/api.js';
import { user } from '../../lib/session.js';
import { to } from '../../lib/router.js';
import { t } from '../../lib/i18n.js';
import { accountOf } from './exception.js';

// base is the path of the API below which a message's place has its messages.
export const base = (vhost, queue, lost) =>
  lost ? `x/lost-letters/${path`${vhost}`}/messages` : `x/queues/${path`${vhost}/${queue}`}/messages`;

// at is the path of one message.
export const at = (l) => `${base(l.vhost, l.queue, l.place === 'lost')}/${encodeURIComponent(l.id)}`;

// neverDied tells of a message that it is no dead letter: nothing has made it one, so far as the broker knows.
export const neverDied = (l) => l.place === 'queue' && l.state !== 'held' && l.deaths?.length === 0 && !l.republished;

// page is the address of the page that shows it.
export const page = (l) =>
  l.place === 'scheduled'
    ? to`/schedule/${l.vhost}/${l.queue}/${l.id}`
    : l.place === 'lost'
      ? to`/letters/${l.vhost}/lost/${l.id}`
      : neverDied(l)
        ? to`/queues/${l.vhost}/${l.queue}/messages/${l.id}`
        : to`/letters/${l.vhost}/queue/${l.queue}/${l.id}`;

// waitingPage is that of a message that waits in a queue, by its ID in the list of those.
export const waitingPage = (m, vhost) => to`/queues/${vhost}/${m.queue}/messages/${m.id}`;

// keyOf names a message among all of a virtual host.
export const keyOf = (l) => `${l.place === 'lost' ? 'lost' : l.place + ' ' + l.queue} ${l.id}`;

// rowsOf is what the page of a message has to know of a list to walk through it.
export const rowsOf = (items) => items.map((l) => ({ key: keyOf(l), page: page(l) }));

// placeOf says where a message is.
export const placeOf = (l) => (l.place === 'lost' ? t('letters.lost_store') : l.queue);

// reasonOf is why it died last; what a consumer published anew says so itself.
export const reasonOf = (l) => l.last_death?.reason || l.deaths?.[0]?.reason || (l.republished ? 'republished' : '');
export const sourceOf = (l) => l.first_death?.queue || l.deaths?.at(-1)?.queue || l.republished?.queue || '';

// exceptionOf is what the usual headers tell of the exception, in one line; '' for those whose headers are not here.
export const exceptionOf = (l) => accountOf(l.properties?.headers).text.split('\n')[0];

export const fetchMessage = (l, query, abort) => api.get(at(l), query, { signal: abort });

// withHeaders reads as read(query) does, with properties and headers; without them for those who may not see them.
const unread = signal(undefined); // who it was that may not
export async function withHeaders(read, query) {
  if (unread.peek() === user.peek()) return read(query);
  try {
    return await read({ ...query, payload: 'true', truncate: 0 });
  } catch (error) {
    if (!error.noRight) throw error;
    const without = await read(query);
    unread.value = user.peek();
    return without;
  }
}

// readSome goes on with a list in portions until it has as many as are wanted, or its end: {items, next, partial, index, scanned}.
export async function readSome(list, query, most, abort) {
  const items = [];
  let next = query.after;
  let scanned = 0;
  for (let rounds = 0; rounds < 20; rounds++) {
    const got = await api.get(
      list,
      { ...query, after: next, limit: Math.min(most - items.length, 200) },
      { signal: abort },
    );
    items.push(...got.items);
    scanned += got.scanned;
    next = got.next;
    if (!next || items.length >= most || (items.length > 0 && got.partial)) return { ...got, items, scanned };
  }
  return { items, next, partial: !!next, index: null, scanned };
}

// findWaiting is a message that waits in a queue, by its ID in the list of those.
const waitingRounds = 200; // portions that are read
export async function findWaiting(vhost, queue, id, abort) {
  let after;
  for (let i = 0; i < waitingRounds; i++) {
    const got = await api.get(base(vhost, queue), { filter: 'state:waiting', limit: 500, after }, { signal: abort });
    const found = got.items.find((l) => l.waiting_id === id);
    if (found) return found;
    if (!got.next) break;
    after = got.next;
  }
  throw { missing: true };
}
