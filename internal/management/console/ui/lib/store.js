// What this browser remembers of its user's choices.
import { signal } from './html.js';

const known = new Map();

// pref is a signal that outlives the page. Those of one name are one.
export function pref(name, initial) {
  if (known.has(name)) return known.get(name);
  const key = 'bartleby.' + name;
  let value = initial;
  try {
    const text = localStorage.getItem(key);
    if (text !== null) value = JSON.parse(text);
  } catch {
    value = initial; // no storage, or nonsense in it
  }
  const s = signal(value);
  let changed = false;
  s.subscribe((v) => {
    if (!changed) {
      // called at once with what is there already
      changed = true;
      return;
    }
    try {
      localStorage.setItem(key, JSON.stringify(v));
    } catch {
      // no storage: it holds until the page is left
    }
  });
  known.set(name, s);
  return s;
}
