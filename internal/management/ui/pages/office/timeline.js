// The way of a dead letter, oldest stop first, out of what x-death tells. Pure.

// stops are {kind: publish, exchange, keys}, then for each death {kind: death, queue, reason, count, time (ms), exchange, keys,
// expiration, elapsed (ms since the stop before), first, last}, then {kind: redrive, times, job, back} if it was sent back, then
// {kind: now, place, queue, state}. x-death has the newest
// death first and keeps of each queue and reason the time of the first.
export function stops(letter) {
  const deaths = [...(letter.deaths || [])].reverse();
  const out = [];
  const origin = deaths[0];
  out.push({ kind: 'publish', exchange: origin ? origin.exchange : letter.exchange, keys: origin ? origin['routing-keys'] || [] : letter.routing_keys || [] });
  let before = null;
  deaths.forEach((d, i) => {
    const time = d.time ? d.time * 1000 : null;
    out.push({
      kind: 'death', queue: d.queue, reason: d.reason, count: d.count || 1, time, exchange: d.exchange, keys: d['routing-keys'] || [],
      expiration: d['original-expiration'] ?? null, elapsed: time !== null && before !== null ? time - before : null,
      first: is(letter.first_death, d) || (!letter.first_death && i === 0), last: is(letter.last_death, d) || (!letter.last_death && i === deaths.length - 1),
    });
    before = time ?? before;
  });
  if (letter.redrives > 0) out.push({ kind: 'redrive', times: letter.redrives, job: letter.redrive ?? null, back: !!letter.came_back });
  const at = letter.at ? Date.parse(letter.at) : null;
  out.push({ kind: 'now', place: letter.place, queue: letter.queue, state: letter.state, exchange: letter.exchange, keys: letter.routing_keys || [], time: at, elapsed: at !== null && before !== null ? at - before : null });
  return out;
}

const is = (named, d) => !!named && named.queue === d.queue && named.reason === d.reason;

// total is how often the letter died in all.
export const total = (letter) => (letter.deaths || []).reduce((n, d) => n + (d.count || 1), 0);
