// The mark of a queue as a dead-letter queue, or as none. Pure.

// markOf is the mark of a queue by the option that names it: true, false, or null if it does not.
export const markOf = (settings) =>
  settings.find((s) => s.name === 'dead-letter-queue' && s.source === 'option')?.value ?? null;

// nextMark is what the button does: a mark is taken back, and without one the queue becomes what it is not.
export function nextMark(role, mark) {
  if (mark !== null) return { mark: null, text: 'queue.unmark' };
  return role === 'dead_letter' ? { mark: false, text: 'queue.mark_none' } : { mark: true, text: 'queue.mark' };
}
