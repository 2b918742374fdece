// For those who do not see the page, or have no pointer. Keeps the keyboard in the page: the focus of what is removed goes to the item beside
// it, or else to what it was in, or to what came instead. And says what others see happen.
import { signal } from './html.js';
import { visits } from './router.js';

const controls = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, [tabindex]';
const lists = 'tbody, ul, ol, .toasts';

let last = null; // what has the focus, or had it until it was removed
let outside = null; // what had it last beside short messages
let page = 0; // where that was
let inMain = null; // what of the page itself had it last

// focused is what of the page has the focus, or had it before a dialog was opened.
export const focused = () => (document.activeElement?.closest('dialog') ? inMain : document.activeElement);

// heir is what gets the focus of something that was removed from target, in which others may have been added.
function heir({ target, nextSibling, previousSibling }, added) {
  const beside = target.matches(lists) ? [nextSibling, previousSibling] : [];
  for (const item of beside.filter((x) => x instanceof Element && x.isConnected)) {
    const found = item.matches(controls) ? item : [...item.querySelectorAll(controls)].at(-1);
    if (found) return found;
  }
  if (target.matches('.toasts') && outside?.isConnected) return outside;
  const instead = page === visits.peek() && added.map((x) => x.querySelector(controls)).find((x) => x?.closest('main'));
  const around = target.isConnected && target.closest('[tabindex]');
  return (around?.id !== 'main' && around) || instead || document.getElementById('main');
}

// begin gives the focus to the first field of what was opened. What is in it is selected: who types replaces a default.
export function begin(field) {
  field.focus();
  if (field instanceof HTMLInputElement) field.select();
}

// toRows is for who leaves a field of a filter: the keyboard goes on at the row where it was in the list, or at the page.
export function toRows(part = document.getElementById('main')) {
  /** @type {HTMLElement} */
  const row = part.querySelector('tr[data-index][tabindex="0"]');
  (row || document.getElementById('main')).focus({ preventScroll: !row });
}

export function startFocus() {
  addEventListener('focusin', (e) => {
    last = e.target;
    page = visits.peek();
    if (!(e.target instanceof Element)) return;
    if (!e.target.closest('.toasts')) outside = e.target;
    if (e.target.closest('main')) inMain = e.target;
  });
  // Who presses beside everything wants the focus nowhere.
  addEventListener('focusout', () =>
    queueMicrotask(() => {
      if (last?.isConnected && document.activeElement === document.body) last = null;
    }),
  );
  new MutationObserver((records) => {
    if (!last || last.isConnected || document.activeElement !== document.body) return;
    const removal = records.find((r) => [...r.removedNodes].some((node) => node.contains(last)));
    const added = records.flatMap((r) => [...r.addedNodes]).filter((x) => x instanceof Element && x.isConnected);
    if (removal) heir(removal, added)?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}

export const announced = signal('');
const stays = 6000; // ms until what was announced is taken out again, since it is read as a part of the page, too
let saying; // what comes next: the announcement, or its end

// announce says to those who hear the page what others see happen in it. The frame and the dialog on top have the words (layers.js).
export function announce(text) {
  clearTimeout(saying);
  announced.value = '';
  saying = setTimeout(() => {
    announced.value = text;
    saying = setTimeout(() => {
      announced.value = '';
    }, stays);
  }, 100);
}

// composing tells whether a key belongs to an input method: Safari says so of the last one by its code alone.
export const composing = (e) => e.isComposing || e.keyCode === 229;
