// What every component imports: templates, hooks, signals.
import { h, render, Fragment } from '../vendor/preact.mjs';
import htm from '../vendor/htm.mjs';

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

export const html = htm.bind(h);
