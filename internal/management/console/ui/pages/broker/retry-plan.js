// When a message is tried again, by the settings of delayed retries. Pure.
import { readSteps } from '../../lib/duration.js';

const longestWait = 3650 * 864e5;
const shownMax = 6;

// waits gives wait(n), how long a message waits that is returned for the n-th time, in ms; null if the settings have no waits. Source: the
// broker's Settings.RetryAt; a test compares both.
export function waits(settings) {
  const steps = settings['delayed-retry-steps'] ? readSteps(settings['delayed-retry-steps']).steps : null;
  if (steps) return (n) => steps[Math.min(n, steps.length) - 1];
  const least = settings['delayed-retry-min'];
  if (!(least > 0) || settings['delayed-retry-steps']) return null;
  const backoff = settings['delayed-retry-backoff'] ?? 'linear';
  const most = settings['delayed-retry-max'] || (backoff === 'exponential' ? longestWait : least);
  const grown = { fixed: () => least, exponential: (n) => least * 2 ** (n - 1), linear: (n) => least * n }[backoff];
  return (n) => Math.min(backoff === 'fixed' ? least : Math.min(grown(n), most), longestWait);
}

const isDelayed = (settings) => (settings['delayed-retry-type'] ?? 'disabled') !== 'disabled';

// returnsMax is how often a message may be returned before it dies, Infinity without a limit.
function returnsMax(settings) {
  const attempts = isDelayed(settings) ? settings['delayed-retry-attempts'] || Infinity : Infinity;
  const limit = settings['delivery-limit'] ?? Infinity;
  return Math.min(attempts, limit < 0 ? Infinity : limit);
}

// retriesOf is what returned messages meet: {most: how many returns, Infinity without a limit; waits: how long the first of them wait, in
// ms; more: whether there are others}. Without delayed retry nothing waits.
export function retriesOf(settings) {
  const most = returnsMax(settings);
  const wait = isDelayed(settings) ? waits(settings) : null;
  const shown = wait ? Math.min(most, shownMax) : 0;
  return { most, waits: Array.from({ length: shown }, (_, i) => wait(i + 1)), more: !!wait && most > shown };
}

// planOf is when a message is tried again that fails at once each time, null if it does not wait: {at, all, last, every}. at are the first
// times after the first failure in ms; all is how many there are, Infinity without a limit; last is the last one of them if at lacks it,
// every is the wait that repeats without an end.
export function planOf(settings) {
  const wait = waits(settings);
  if (!isDelayed(settings) || !wait) return null;
  const all = returnsMax(settings);
  const at = [];
  let sum = 0;
  const counted = Math.min(all, 1000);
  for (let n = 1; n <= counted; n++) {
    sum += wait(n);
    if (n <= shownMax) at.push(sum);
  }
  return {
    at,
    all,
    last: all > shownMax && all === counted ? sum : null,
    every: all === Infinity && wait(1000) === wait(2000) ? wait(1000) : null,
  };
}
