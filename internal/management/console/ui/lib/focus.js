// Keeps the keyboard in the page: the focus of what is removed goes to the item beside it, or else to what it was in.

const controls = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, [tabindex]';
const lists = 'tbody, ul, ol, .toasts';

let last = null; // what has the focus, or had it until it was removed

// heir is what gets the focus of something that was removed from target.
function heir({ target, nextSibling, previousSibling }) {
  const beside = target.matches(lists) ? [nextSibling, previousSibling] : [];
  for (const item of beside.filter((x) => x instanceof Element && x.isConnected)) {
    const found = item.matches(controls) ? item : [...item.querySelectorAll(controls)].at(-1);
    if (found) return found;
  }
  return (target.isConnected && target.closest('[tabindex]')) || document.getElementById('main');
}

export function startFocus() {
  addEventListener('focusin', (e) => {
    last = e.target;
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
    if (removal) heir(removal)?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}
