// What the broker remembers, as lines of a chart. Pure.

// ranges are how far back charts go, and how far apart their samples are, in seconds: what the broker keeps readings for.
export const ranges = { '1m': [60, 5], '10m': [600, 10], '1h': [3600, 60], '8h': [28800, 600], '24h': [86400, 1800] };

// rangeOf is the range that a query asks for.
export const rangeOf = (query, usual) => (Object.hasOwn(ranges, query.range || '') ? query.range : usual);

// asks is the query for samples of a range, of what begins with one of the names: lengths, msg_rates, node_stats.
export function asks(range, ...names) {
  const [age, incr] = ranges[range];
  return Object.fromEntries(
    names.flatMap((n) => [
      [`${n}_age`, age],
      [`${n}_incr`, incr],
    ]),
  );
}

// sampled reads the samples of some details, [key, label] each, oldest first: {times, series}; null if there are none. Those before since
// are left out.
export function sampled(of, names, pick = values, since = 0) {
  const found = names.filter(([key]) => of?.[key]?.samples?.length);
  if (!found.length) return null;
  const all = found.map(([key, label]) => ({
    label,
    samples: of[key].samples.filter((s) => s.timestamp >= since).reverse(),
  }));
  return {
    times: all[0].samples.map((s) => s.timestamp),
    series: all.map(({ label, samples }) => ({ label, values: pick(samples) })),
  };
}

// values are samples as they are.
export const values = (samples) => samples.map((s) => s.sample);

// perSecond is what happened between samples of a counter. One that went back began anew.
export const perSecond = (samples) =>
  samples.map((s, i) => {
    if (i === 0 || s.timestamp <= samples[i - 1].timestamp) return null;
    return Math.max(0, (1000 * (s.sample - samples[i - 1].sample)) / (s.timestamp - samples[i - 1].timestamp));
  });

// together adds up what died in several virtual hosts: {times, died: {reason: […]}}. All were read at the same instants.
export function together(deaths, reasons) {
  const longest = deaths.reduce((a, b) => (b.times.length > (a?.times.length || 0) ? b : a), null);
  const times = longest?.times || [];
  const sum = (reason) =>
    times.map((_, i) => deaths.reduce((n, d) => n + (d.by_step[reason]?.at(i - times.length) || 0), 0));
  return { times, died: Object.fromEntries(reasons.map((r) => [r, sum(r)])) };
}
