// Keyboard shortcuts: one key, a chord such as Ctrl+K, or two keys after another such as 'g o'. They are off inside fields, and
// the user may switch all single keys off.
import { signal, useLayoutEffect } from './html.js';
import { composing } from './focus.js';
import { toast } from './layers.js';
import { shortcutsOn } from './theme.js';

// A binding is {keys, title, run, where}; the last one bound to a key wins, so that a dialog's go before the page's.
const bindings = signal([]);
let pending = '';
let pendingUntil = 0;

export const shortcuts = bindings;

// useShortcuts binds keys while a component is shown: {'g o': ['key.of.title', run, lacks]}. lacks is what is missing for it, as of an
// Action: then the key says so, to all. Deps as of useEffect; where is the title of the part of the help. What is shown has its keys at once, not
// after it was drawn: a key that comes in between would be about what was there before.
export function useShortcuts(of, deps = [], where = 'keys.here') {
  useLayoutEffect(() => {
    const mine = Object.entries(of)
      .filter(([, v]) => v)
      .map(([keys, [title, run, lacks]]) => ({ keys, title, run: lacks ? () => toast(lacks, 'note') : run, where }));
    bindings.value = [...bindings.peek(), ...mine];
    return () => {
      bindings.value = bindings.peek().filter((b) => !mine.includes(b));
    };
  }, deps);
}

// under tells whether a dialog is over the page, wherever the focus is: a click beside its fields, or Tab beyond its last button, leaves it
// on no element.
const under = () => !!document.querySelector('dialog[open]');

// within is what an event happened in that matches a selector.
const within = (e, selector) => (e.target instanceof Element ? e.target.closest(selector) : null);

const inField = (el) =>
  el?.closest?.('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]');

function nameOf(e) {
  const key = e.key;
  return (
    (e.ctrlKey || e.metaKey ? 'Ctrl+' : '') +
    (e.altKey ? 'Alt+' : '') +
    (e.shiftKey && /^[A-Za-z]$/.test(key) ? 'Shift+' : '') +
    (/^[A-Za-z]$/.test(key) ? key.toLowerCase() : key)
  );
}

export function startKeys() {
  addEventListener('keydown', (e) => {
    if (e.defaultPrevented || composing(e)) return;
    const name = nameOf(e);
    const chord = e.ctrlKey || e.metaKey;
    if (!chord && (!shortcutsOn.value || inField(e.target) || under())) return; // single keys are the page's
    const sequence = Date.now() < pendingUntil ? `${pending} ${name}` : '';
    const found =
      bindings.peek().findLast((b) => b.keys === sequence) || bindings.peek().findLast((b) => b.keys === name);
    pending = '';
    pendingUntil = 0;
    if (found) {
      if (name === 'Enter' && within(e, 'a, button, summary')) return;
      if (found.run(e) !== false) e.preventDefault();
      return;
    }
    if (!chord && bindings.peek().some((b) => b.keys.startsWith(name + ' '))) {
      pending = name;
      pendingUntil = Date.now() + 1200;
    }
  });
}
