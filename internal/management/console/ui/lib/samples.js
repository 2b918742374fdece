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

// unknownOf is of what time there are no readings: since, when they begin, 0 if that is before from; and the gaps after that.
export function unknownOf(/** @type {{counted_since?: string, gaps?: {from: number, to: number}[]}} */ answer, from) {
  const since = answer.counted_since ? Date.parse(answer.counted_since) : 0;
  return { since: since > from ? since : 0, gaps: answer.gaps || [] };
}

// sampled reads the samples of some details in a range, [key, label] each, oldest first: {times, series, unknown}; null if there are
// none. What answer does not know is null: what was before its first reading, and a time in each gap.
export function sampled(of, names, { answer = {}, range = '', pick = values } = {}) {
  const found = names.filter(([key]) => of?.[key]?.samples?.length);
  if (!found.length) return null;
  const last = of[found[0][0]].samples[0].timestamp;
  const from = range ? last - 1000 * ranges[range][0] : 0;
  const unknown = unknownOf(answer, from);
  const holes = unknown.gaps.map((g) => g.from + 1);
  if (unknown.since) holes.push(from);
  const none = holes.map((timestamp) => ({ timestamp, sample: null }));
  const all = found.map(([key, label]) => ({
    label,
    samples: [...of[key].samples, ...none].sort((a, b) => a.timestamp - b.timestamp),
  }));
  return {
    times: all[0].samples.map((s) => s.timestamp),
    series: all.map(({ label, samples }) => ({ label, values: pick(samples) })),
    unknown,
  };
}

// broken puts a sample without a value where samples, the oldest first, are more than two steps apart.
export const broken = (samples, step) =>
  samples.flatMap((s, i) =>
    i > 0 && s.timestamp - samples[i - 1].timestamp > 2 * step
      ? [{ timestamp: s.timestamp - step, sample: null }, s]
      : [s],
  );

// values are samples as they are.
export const values = (samples) => samples.map((s) => s.sample);

// perSecond is what happened between samples of a counter, null beside what is not known. One that went back began at 0 again.
export const perSecond = (samples) =>
  samples.map((s, i) => {
    if (i === 0 || s.timestamp <= samples[i - 1].timestamp) return null;
    if (s.sample === null || samples[i - 1].sample === null) return null;
    return Math.max(0, (1000 * (s.sample - samples[i - 1].sample)) / (s.timestamp - samples[i - 1].timestamp));
  });

// isKnown reports whether anything is known of a step that ends with one of the times of deaths. The last one continues until now.
function isKnown(deaths, i) {
  const to = deaths.times[i];
  const from = i > 0 ? deaths.times[i - 1] : to - 1000 * deaths.step_seconds;
  const begun = i === deaths.times.length - 1 || Date.parse(deaths.counted_since) < to;
  return begun && !(deaths.gaps || []).some((g) => g.from <= from && to <= g.to);
}

// together adds up what died in several virtual hosts: {times, died: {reason: […]}}. All were read at the same times. Of a step of which
// nothing is known there is null.
export function together(deaths, reasons) {
  const longest = deaths.reduce((a, b) => (b.times.length > (a?.times.length || 0) ? b : a), null);
  const times = longest?.times || [];
  const known = times.map((_, i) => isKnown(longest, i));
  const sum = (reason) =>
    times.map((_, i) =>
      known[i] ? deaths.reduce((n, d) => n + (d.by_step[reason]?.at(i - times.length) || 0), 0) : null,
    );
  return { times, died: Object.fromEntries(reasons.map((r) => [r, sum(r)])) };
}
