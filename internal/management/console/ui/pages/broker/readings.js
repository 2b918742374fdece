// What the broker remembers of the last minute, as readings of a chart. Pure.

// remembered makes readings, the oldest first, of the samples of a queue or an exchange: lengths are taken as they are, counters as what
// happened between two samples, per second. What is not known is null: a rate before the first sample, and all in a gap.
export function remembered(of, lengths, counters) {
  const samples = (details) => [...(details?.samples || [])].reverse();
  const rows = new Map();
  const row = (at) => {
    if (!rows.has(at)) rows.set(at, { at, depth: lengths.map(() => 0), rates: counters.map(() => 0) });
    return rows.get(at);
  };
  lengths.forEach((name, i) =>
    samples(of[`${name}_details`]).forEach((s) => {
      row(s.timestamp).depth[i] = s.sample;
    }),
  );
  counters.forEach((name, i) =>
    samples(of.message_stats?.[`${name}_details`]).forEach((s, n, all) => {
      const before = all[n - 1];
      row(s.timestamp).rates[i] =
        before && s.timestamp > before.timestamp
          ? Math.max(0, (1000 * (s.sample - before.sample)) / (s.timestamp - before.timestamp))
          : 0;
    }),
  );
  const holes = (of.gaps || []).map((g) => g.from + 1);
  for (const at of holes) rows.set(at, { at, depth: lengths.map(() => null), rates: counters.map(() => null) });
  const all = [...rows.values()].sort((a, b) => a.at - b.at);
  all.forEach((r, i) => {
    if (i === 0 || holes.includes(all[i - 1].at)) r.rates = counters.map(() => null);
  });
  return all;
}
