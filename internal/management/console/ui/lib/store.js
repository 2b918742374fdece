// What this browser remembers of its user's choices, and a tab over a reload.
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

// note keeps a text for this tab, also over a reload; null takes it away. It tells whether there is a storage.
export function note(name, text) {
  try {
    if (text === null) sessionStorage.removeItem('bartleby.' + name);
    else sessionStorage.setItem('bartleby.' + name, text);
    return true;
  } catch {
    return false;
  }
}

// noted is what note keeps, null if there is nothing or no storage.
export function noted(name) {
  try {
    return sessionStorage.getItem('bartleby.' + name);
  } catch {
    return null;
  }
}
