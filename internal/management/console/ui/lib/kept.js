// What a page keeps for who comes back to it, with Back of the browser, Escape or the crumbs: which row had the focus, what was selected,
// how far a list was read. It is by the address of the page, and gone when the tab is reloaded.
import { useState } from './html.js';

const most = 50; // pages
const pages = new Map();
let here = {}; // of the page that is shown
let at = '';
const last = new Set(); // what is kept when a page is left

// kept is what the page that is shown, or the one at an address, has of that name.
export const kept = (name, address = at) => pages.get(address)?.[name];
export function keep(name, value) {
  here[name] = value;
}

// useKept is useState, with what was there before for who comes back.
export function useKept(name, initial) {
  const [value, set] = useState(() => kept(name) ?? initial);
  return [
    value,
    (next) => {
      keep(name, next);
      set(next);
    },
  ];
}

// onLeave has something done before another page is shown; what it returns ends that.
export function onLeave(run) {
  last.add(run);
  return () => last.delete(run);
}

// turn is called when another page is shown: back says that somebody comes back to it.
export function turn(address, back) {
  last.forEach((run) => run());
  here = (back && pages.get(address)) || {};
  moved(address);
}

// moved is called when the page that is shown has another address, such as with another filter.
export function moved(address) {
  if (pages.get(at) === here) pages.delete(at);
  at = address;
  pages.delete(at);
  pages.set(at, here);
  if (pages.size > most) pages.delete(pages.keys().next().value);
}
