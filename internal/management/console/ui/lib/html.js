// What every component imports: templates, hooks, signals.
import { h, render, Fragment } from '../vendor/preact.mjs';
import htm from '../vendor/htm.mjs';
import { once } from './once.js';
import { tight } from './message.js';

export { h, render, Fragment };
export {
  useState,
  useEffect,
  useLayoutEffect,
  useRef,
  useMemo,
  useCallback,
  useId,
  useErrorBoundary,
} from '../vendor/hooks.mjs';
export {
  signal,
  computed,
  effect,
  batch,
  untracked,
  useSignal,
  useComputed,
  useSignalEffect,
} from '../vendor/signals.mjs';

const deeds = { form: 'onSubmit', button: 'onClick' };

// element is h for what templates write: forms and buttons do things once, and no space stands behind a full-width mark.
function element(type, props, ...children) {
  const deed = deeds[type];
  const act = deed && props?.[deed];
  return h(type, act ? { ...props, [deed]: once(act) } : props, ...tight(children));
}

export const html = htm.bind(element);
