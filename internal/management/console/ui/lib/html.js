// What every component imports: templates, hooks, signals.
import { h, render, Fragment } from '../vendor/preact.mjs';
import htm from '../vendor/htm.mjs';
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

// element is h for what templates write: no space stands behind a full-width mark.
const element = (type, props, ...children) => h(type, props, ...tight(children));

export const html = htm.bind(element);
