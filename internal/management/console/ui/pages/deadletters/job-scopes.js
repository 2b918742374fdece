// Which messages a job takes. A scope is {source: {queue} or {lost: true}, ids or filter, count}; count is
// undefined if nobody knows yet. A job has one source; messages of several places become several jobs. A list
// of scopes may have out: {held, scheduled, elsewhere}, what is left out and why: how many queues hold, how
// many are scheduled, and the scopes of queues that are no dead-letter queues. Pure.

import { split } from '../messages/filter.js';

// A virtual host has so many jobs at once.
const jobsMost = 16;

export const countOf = (scopes) => scopes.reduce((n, s) => n + (s.count || 0), 0);

// scopesOf sorts chosen messages by where they are. What is scheduled goes by itself, and what is held by its queue.
export function scopesOf(messages) {
  const by = new Map();
  const out = { held: 0, scheduled: 0, elsewhere: [] };
  for (const l of messages) {
    if (l.place === 'scheduled' || l.state === 'held') {
      out[l.place === 'scheduled' ? 'scheduled' : 'held']++;
      continue;
    }
    const key = l.place === 'lost' ? '' : 'q' + l.queue;
    if (!by.has(key))
      by.set(key, { source: l.place === 'lost' ? { lost: true } : { queue: l.queue }, ids: [], count: 0 });
    by.get(key).ids.push(l.id);
    by.get(key).count++;
  }
  return Object.assign([...by.values()], { out });
}

// filterParts are the terms of a filter without the one that leaves out lost letters, and whether that was there:
// {terms, noLost}.
export function filterParts(filter) {
  const all = split(filter);
  const others = all.filter((x) => !(x.not && x.field === 'state' && x.value === 'lost'));
  return { terms: others.map((x) => x.text).join(' '), noLost: others.length < all.length };
}

// sorted makes scopes of what was answered; targets are the dead-letter queues, null if it does not matter.
export function sorted({ filter, places, targets, lost, held }) {
  const { terms } = filterParts(filter); // what is in a queue is not lost
  const of = (g) => ({ source: { queue: g.value }, filter: terms, count: g.count });
  const found = places.groups.filter((g) => g.value !== '');
  const meant = found.filter((g) => !targets || targets.includes(g.value)).map(of);
  if (lost > 0) meant.push({ source: { lost: true }, filter, count: lost });
  const elsewhere = found.filter((g) => targets && !targets.includes(g.value)).map(of);
  return Object.assign(
    meant.sort((a, b) => b.count - a.count),
    { more: places.others, out: { held, scheduled: 0, elsewhere } },
  );
}

// atOnce is what may become jobs now: the scopes with most messages, with those elsewhere if also. Of the others rest tells how many
// places there are.
export function atOnce(scopes, also) {
  const every = also ? [...scopes, ...scopes.out.elsewhere].sort((a, b) => b.count - a.count) : scopes;
  const now = every.slice(0, jobsMost);
  const rest = every.length - now.length + (now.length === jobsMost ? scopes.more || 0 : 0);
  return rest > 0 ? Object.assign(now, { rest: { places: rest } }) : now;
}
