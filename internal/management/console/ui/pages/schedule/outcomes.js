// What became of scheduled messages that were to be sent, moved or cancelled. Pure.

const done = { fire: 'fired', move: 'rescheduled', cancel: 'cancelled' };

// sum is how many messages an answer of the API says were changed: n, and others: the outcomes of those that were not, each with how many.
// One that was cancelled before has the outcome of one that is cancelled now, but is not counted.
export function sum(action, { count, outcomes }) {
  const others = Object.entries({ ...outcomes, [done[action]]: (outcomes[done[action]] || 0) - count });
  return { n: count, others: others.filter(([, n]) => n > 0) };
}
