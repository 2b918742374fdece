// The way of a dead letter, oldest stop first, out of what x-death tells. Pure.

// stops are {kind: publish, exchange, keys, queue}, then for each death {kind: death, queue, reason, count, time (ms), exchange, keys,
// expiration, elapsed (ms since the stop before), first, last}, before one at the delivery limit {kind: returns, queue, n: null, for nobody
// has counted them}, then {kind: redrive, times, job, back} if it was sent back, before the death that came after it if that is known, then
// {kind: returns, queue, n, waiting} if consumers returned it where it is, then {kind: now, place, queue, state}. x-death has the newest
// death first and keeps of each queue and reason the time of the first. What a consumer published anew instead has no deaths but
// {kind: republish, time, arrived: whether that is when it came}, after the redrives before it; where its headers do not name its first publish the exchange of that is null,
// and queue is where it failed.
export function stops(message) {
  const deaths = [...(message.deaths || [])].reverse();
  /** @type {any[]} */
  const out = [];
  const origin = deaths[0];
  const anew = message.republished;
  if (anew) out.push({ kind: 'publish', ...firstOf(anew), queue: anew.queue });
  else
    out.push({
      kind: 'publish',
      exchange: origin ? origin.exchange : message.exchange,
      keys: origin ? origin['routing-keys'] || [] : message.routing_keys || [],
      queue: '',
    });
  const instant = (text) => (text ? Date.parse(text) : null);
  const at = instant(message.at);
  const sentBack = {
    kind: 'redrive',
    times: message.redrives,
    job: message.redrive ?? null,
    back: !!message.came_back,
  };
  // A death that was counted once is the newest of all if it has its time: what died after it was sent back died of that.
  const newest = deaths.at(-1);
  const since = newest?.count === 1 && at !== null && newest.time * 1000 === whole(at) ? newest : null;
  const diedSince = message.redrives > 0 && message.came_back && !anew ? since : null;
  /** @type {number | null} */
  let before = null;
  deaths.forEach((d, i) => {
    const time = d.time ? d.time * 1000 : null;
    if (d === diedSince) out.push(sentBack);
    if (d.reason === 'delivery_limit') out.push({ kind: 'returns', queue: d.queue, n: null, waiting: false });
    out.push({
      kind: 'death',
      queue: d.queue,
      reason: d.reason,
      count: d.count || 1,
      time,
      exchange: d.exchange,
      keys: d['routing-keys'] || [],
      expiration: d['original-expiration'] ?? null,
      elapsed: time !== null && before !== null ? time - before : null,
      first: is(message.first_death, d) || (!message.first_death && i === 0),
      last: is(message.last_death, d) || (!message.last_death && i === deaths.length - 1),
    });
    before = time ?? before;
  });
  const lost = message.place === 'lost';
  if (message.redrives > 0 && !diedSince) out.push(sentBack);
  if (anew) {
    const dated = message.at === message.lost_at ? null : at; // by its headers
    out.push({ kind: 'republish', time: instant(message.arrived_at) ?? dated, arrived: !!message.arrived_at });
  }
  if (message.returns > 0 && !lost)
    out.push({ kind: 'returns', queue: message.queue, n: message.returns, waiting: message.state === 'waiting' });
  const here = lost ? instant(message.lost_at) : anew ? null : at;
  out.push({
    kind: 'now',
    place: message.place,
    queue: message.queue,
    state: message.state,
    exchange: message.exchange,
    keys: message.routing_keys || [],
    time: here,
    elapsed: here !== null && before !== null ? whole(here) - before : null,
  });
  return out;
}

// whole is an instant as x-death has it, without what is less than a second: between it and one of those the rest would be no time.
const whole = (ms) => 1000 * Math.floor(ms / 1000);

// wayOf is the way of a message as a graph: nodes {id, kind: start, exchange, queue or lost, name, type, now}, edges {from, to, kind:
// publish, dead_letter or redrive, key, reason, of (the reason for the whole hop), count}. The default exchange is no node: a message goes straight to its queue. What it
// did again is there once.
export function wayOf(message) {
  /** @type {Map<string, any>} */
  const nodes = new Map();
  const edges = new Map();
  const node = (kind, name) => {
    const id = `${kind} ${name}`;
    if (!nodes.has(id)) nodes.set(id, { id, kind, name, type: '', now: false });
    return id;
  };
  const edge = (from, to, e) => {
    const id = JSON.stringify([from, to, e.kind]);
    if (from !== to && !edges.has(id))
      edges.set(id, { from, to, key: '', reason: '', of: e.reason || '', count: 1, ...e });
  };
  let last = node('start', '');
  let leaves = { kind: 'publish' };
  const go = (exchange, keys, place) => {
    const key = keys.join(', ');
    if (exchange) {
      const by = node('exchange', exchange);
      edge(last, by, leaves);
      edge(by, place, { kind: leaves.kind, key, of: leaves.reason || '' });
    } else edge(last, place, leaves);
    last = place;
  };
  const all = stops(message);
  for (const s of all) {
    if (s.kind === 'publish' && s.queue) go(s.exchange || '', s.keys, node('queue', s.queue));
    if (s.kind === 'death') {
      go(s.exchange, s.keys, node('queue', s.queue));
      leaves = { kind: 'dead_letter', reason: s.reason, count: s.count };
    }
    if (s.kind === 'republish') leaves = { kind: 'dead_letter', reason: 'republished' };
    if (s.kind === 'now') go(s.exchange || '', s.keys, s.place === 'lost' ? node('lost', '') : node('queue', s.queue));
  }
  nodes.get(last).now = true;
  const first = all.find((s) => s.queue);
  if (message.redrives > 0 && first && message.place === 'queue')
    edge(last, node('queue', first.queue), { kind: 'redrive', count: message.redrives });
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

const is = (named, d) => !!named && named.queue === d.queue && named.reason === d.reason;

// firstOf is the first publish as the headers of a message name it that a consumer published anew. An exchange without a name is the
// default one, unless nothing is named.
const firstOf = (anew) =>
  anew.exchange || anew.routing_key
    ? { exchange: anew.exchange, keys: anew.routing_key ? [anew.routing_key] : [] }
    : { exchange: null, keys: [] };

// originOf is where a message goes if it is sent back: {exchange, keys} of its first publish, or the queue where it failed if nothing else
// is known of it.
export function originOf(message) {
  const anew = message.republished;
  if (anew?.exchange || anew?.routing_key) return firstOf(anew);
  if (anew?.queue) return { exchange: '', keys: [anew.queue] };
  const first = (message.deaths || []).at(-1);
  return {
    exchange: message.first_death?.exchange ?? first?.exchange ?? message.exchange,
    keys: first?.['routing-keys'] || message.routing_keys || [],
  };
}

// total is how often the message died in all.
export const total = (message) => (message.deaths || []).reduce((n, d) => n + (d.count || 1), 0);
