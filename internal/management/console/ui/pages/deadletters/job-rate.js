// How fast jobs send, and how long they will. Pure but for the clock that is handed in.

const lately = 10_000;

// expected is how many messages a job will take, as far as that can be told: {n, about, most}. A filter may find few of those that are
// looked at: known is what a dry run found, or else the share so far is taken for the whole. Of a job with a limit most says that
// it is not known whether there are as many.
export function expected(j, known) {
  const most = j.max || Infinity;
  if (!j.filter) return { n: Math.min(most, j.total), about: false, most: false };
  if (known !== undefined) return { n: Math.min(most, Math.max(known, taken(j))), about: false, most: false };
  if (j.looked >= j.total || taken(j) >= most) return { n: Math.min(most, taken(j)), about: false, most: false };
  if (j.max) return { n: Math.min(most, j.total), about: false, most: true };
  return { n: j.looked ? Math.round((taken(j) / j.looked) * j.total) : j.total, about: true, most: false };
}

// share is how far a job is, from 0 to 1: by what it sent; where nobody knows how much that will be, by what it looked at.
export function share(j, known) {
  if (j.state === 'done') return 1;
  const { n, about, most } = expected(j, known);
  const sent = Math.min(1, taken(j) / Math.max(1, n));
  const looked = Math.min(1, j.looked / Math.max(1, j.total));
  return about ? looked : most ? Math.max(sent, looked) : sent;
}

// judged is of how many messages at least and at most the share is taken that may stop a job: of the last stretch or two that it sent.
export function judged(j) {
  const stretch = Math.max(100, j.options.canary || 0);
  return { least: Math.min(stretch, j.moved), most: Math.min(2 * stretch, j.moved) };
}

// taken is how many were sent, discarded or refused.
export const taken = (j) => j.moved + Object.values(j.refused).reduce((n, k) => n + k, 0);

// note remembers what a job has sent by now, in what was remembered of it before, and returns messages per second; null while it cannot
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
  const goal = expected(j, known);
  return goal.most ? null : (Math.max(0, goal.n - taken(j)) / pace) * 1000;
}
