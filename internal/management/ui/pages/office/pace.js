// How fast jobs send, and how long they will. Pure but for the clock that is handed in.

const lately = 10_000;

// expected is how many letters a job will take, as far as that can be told: {n, about}. A filter may find few of those that are
// looked at: known is what a dry run found, or else the share so far is taken for the whole.
export function expected(j, known) {
  const most = j.max || Infinity;
  if (!j.filter) return { n: Math.min(most, j.total), about: false };
  if (known !== undefined) return { n: Math.min(most, Math.max(known, taken(j))), about: false };
  if (j.looked >= j.total) return { n: Math.min(most, taken(j)), about: false };
  return { n: Math.min(most, j.looked ? Math.round((taken(j) / j.looked) * j.total) : j.total), about: true };
}

// taken is how many were sent, discarded or refused.
export const taken = (j) => j.moved + Object.values(j.refused).reduce((n, k) => n + k, 0);

// note remembers what a job has sent by now, in what was remembered of it before, and returns letters per second; null while it cannot
// be told. Several looks at one answer count once.
export function note(samples, j, now) {
  if (j.state !== 'running') samples.length = 0;
  else if (samples.at(-1)?.job !== j) samples.push({ job: j, moved: j.moved, at: now });
  while (samples.length > 2 && samples[1].at <= now - lately) samples.shift();
  if (samples.length < 2) return null;
  const [first, last] = [samples[0], samples.at(-1)];
  return last.at > first.at ? ((last.moved - first.moved) / (last.at - first.at)) * 1000 : null;
}

// left is how many milliseconds a job will go on at a pace, null if that cannot be told.
export function left(j, pace, known) {
  if (j.state !== 'running' || !pace) return null;
  return (Math.max(0, expected(j, known).n - taken(j)) / pace) * 1000;
}
