// What changes, as the broker tells it: one stream of events for this page, or questions every few seconds where there
// is no stream. Nothing is asked for while the page is hidden, or the user has paused it.
import { signal, computed, effect, untracked, useState, useEffect, useRef } from './html.js';
import { address, reachable, unanswered } from './api.js';
import { checkSession, user } from './session.js';
import { pref } from './store.js';

// paused is the user's choice.
export const paused = pref('paused', false);
export const hidden = signal(document.hidden);
// stream is off, open, or failed: then pages ask by themselves.
export const stream = signal('off');
// news is the last event of each topic; version counts them.
const news = new Map();
// held is what waits until no text is selected, since to draw the page anew would end the selection: what to do, by a key.
const held = new Map();
const wanted = signal(new Map());
export const running = computed(() => !paused.value && !hidden.value && !!user.value);
// now moves on every few seconds, for times that are shown as seen from now.
export const now = signal(Date.now());
// attempts counts the streams that were refused.
const attempts = signal(0);
// heard is when something was last heard of the broker.
export const heard = signal(Date.now());
// returns counts how often the broker answered again after it had not.
export const returns = signal(0);
// Until when the broker has to answer whether it is there, and how often it is asked while it is not, in ms.
const answerWithin = 1000;
const askEvery = 1000;

function topicSignal(name) {
  if (!news.has(name)) news.set(name, signal({ version: 0, data: null }));
  return news.get(name);
}

// topic is the signal of a topic's last event: {version, data}. It moves only while somebody uses the topic.
export const topic = topicSignal;

// useTopic listens to a topic while the component is shown.
export function useTopic(...names) {
  const key = names.join();
  useEffect(() => want(names, 1), [key]);
}

function want(names, by) {
  const next = new Map(wanted.value);
  for (const n of names) next.set(n, (next.get(n) || 0) + by);
  wanted.value = next;
  return by > 0 ? () => want(names, -1) : undefined;
}

// inQueues is what becomes of the dead letters that lists show: a queue has them. The others are dropped, or lost letters.
const inQueues = ['routed', 'held', 'kept'];
const died = (v) =>
  Object.values(v.died).reduce((n, fates) => n + inQueues.reduce((m, x) => m + (fates[x] || 0), 0), 0);
const sumOfLetters = (of) => topic('letters').value.data?.reduce((n, v) => n + of(v), 0) ?? null;
// deadSoFar counts what died and came into a queue, lostNow the lost letters that nobody discarded; null before the first event. By them
// pages know what is new.
export const deadSoFar = () => sumOfLetters(died);
export const lostNow = () => sumOfLetters((v) => v.lost - v.discarded);

const topics = computed(() =>
  [...wanted.value]
    .filter(([, n]) => n > 0)
    .map(([n]) => n)
    .sort()
    .join(),
);

const selecting = () => document.getSelection()?.isCollapsed === false;

// whenUnselected does something once no text is selected: at once if none is. Of what has the same key only the last is done.
function whenUnselected(key, act) {
  if (selecting()) held.set(key, act);
  else act();
}

function doHeld() {
  if (selecting()) return;
  const acts = [...held.values()];
  held.clear();
  for (const act of acts) act();
}

function tell(name, data) {
  const s = topicSignal(name);
  s.value = { version: s.value.version + 1, data };
}

export function startLive() {
  document.addEventListener('selectionchange', doHeld);
  document.addEventListener('visibilitychange', () => {
    hidden.value = document.hidden;
  });
  setInterval(() => {
    if (!hidden.value) now.value = Date.now();
  }, 5000);
  watchReach();
  effect(() => {
    const [names] = [topics.value, attempts.value]; // a refused stream is tried again a while later
    if (!running.value || !names) {
      stream.value = 'off';
      return undefined;
    }
    return listen(names);
  });
}

let probing = false;

// probe asks the broker whether it is there, and who is logged in.
async function probe() {
  if (probing) return;
  probing = true;
  if (!(await checkSession(AbortSignal.timeout(answerWithin)))) reachable.value = false;
  probing = false;
}

// watchReach asks once when a request got no answer, and then until there is one, which is news for all that is shown.
function watchReach() {
  let gone = false;
  unanswered.subscribe((n) => n > 0 && reachable.peek() && probe());
  effect(() => {
    if (reachable.value) {
      if (gone) untracked(comeBack);
      gone = false;
      return undefined;
    }
    gone = true;
    if (hidden.value) return undefined;
    untracked(probe);
    const timer = setInterval(probe, askEvery);
    return () => clearInterval(timer);
  });
}

function comeBack() {
  returns.value++;
  attempts.value++;
}

// listen opens the stream, a moment later, since a page that is left and one that comes change the topics at once.
function listen(names) {
  let source = null;
  let again = null;
  let soon = null;
  const later = setTimeout(() => {
    source = new EventSource(address('x/events', { topics: names }));
    source.onopen = () => {
      stream.value = 'open';
      heard.value = Date.now();
    };
    source.onerror = () => {
      stream.value = 'failed';
      probe();
      clearTimeout(soon);
      soon = setTimeout(probe, askEvery); // a broker that stops ends its streams first
      // The browser tries again by itself, but not after a refusal.
      if (source.readyState === EventSource.CLOSED) {
        again = setTimeout(() => {
          attempts.value++;
        }, 10000);
      }
    };
    for (const name of names.split(',')) {
      source.addEventListener(name, (e) => {
        stream.value = 'open';
        heard.value = Date.now();
        whenUnselected(name, () => tell(name, JSON.parse(e.data)));
      });
    }
  }, 50);
  return () => {
    clearTimeout(later);
    clearTimeout(again);
    clearTimeout(soon);
    source?.close();
  };
}

// restAfter is when something may be asked for again because of news: a second after it was, and later if it took long.
const restAfter = (l) => (l.began || 0) + Math.max(1000, 10 * (l.took || 0));

// useData loads something for a component, and again when one of deps changes, a topic has news, or, without a stream,
// every so many ms. It returns {data, error, loading, at, refresh}; data stays while it is loaded again, unless deps changed and
// keep is false. load is given an AbortSignal.
export function useData(load, deps = [], { on = [], every = 5000, keep = true, enabled = true } = {}) {
  const [state, set] = useState({ data: undefined, error: null, loading: true, at: 0 });
  const latest = useRef({});
  Object.assign(latest.current, { load, enabled });
  const key = JSON.stringify(deps);
  useTopic(...on);

  const run = useRef(null);
  run.current ||= async (fresh) => {
    const l = latest.current;
    if (!fresh && selecting()) {
      whenUnselected(run, () => run.current(false));
      return;
    }
    if (!fresh && (l.busy || l.later)) {
      l.again = l.busy;
      return;
    }
    const rest = fresh ? 0 : restAfter(l) - Date.now();
    clearTimeout(l.later);
    l.later = null;
    if (rest > 0) {
      l.later = setTimeout(() => {
        l.later = null;
        run.current(false);
      }, rest);
      return;
    }
    l.began = Date.now();
    l.abort?.abort();
    const abort = new AbortController();
    l.abort = abort;
    l.busy = true;
    try {
      const data = await l.load(abort.signal);
      if (l.abort !== abort) return;
      heard.value = Date.now();
      l.took = Date.now() - l.began;
      l.failed = false;
      set({ data, error: null, loading: false, at: Date.now() });
    } catch (error) {
      if (l.abort !== abort || error.name === 'AbortError') return;
      l.failed = true;
      set((s) => ({ ...s, error, loading: false }));
    }
    l.busy = false;
    if (l.again) {
      l.again = false;
      run.current(false);
    }
  };

  useEffect(() => {
    if (!enabled) return undefined;
    set((s) => ({ ...s, data: keep ? s.data : undefined, loading: true }));
    run.current(true);
    return () => {
      clearTimeout(latest.current.later);
      latest.current.later = null;
      latest.current.busy = false;
      latest.current.abort?.abort();
      latest.current.abort = null;
      held.delete(run);
    };
  }, [key, enabled]);

  useEffect(() => {
    if (!enabled) return undefined;
    let last = on.map((n) => topicSignal(n).peek().version).join();
    let back = returns.peek();
    let at = Date.now();
    const stopListening = effect(() => {
      const versions = on.map((n) => topicSignal(n).value.version).join();
      if (returns.value > back) {
        back = returns.value;
        latest.current.began = 0;
        if ((running.value && (on.length > 0 || every > 0)) || latest.current.failed)
          untracked(() => run.current(false));
        return;
      }
      if (versions === last || !running.value) return;
      last = versions;
      at = Date.now();
      untracked(() => run.current(false));
    });
    const timer = every
      ? setInterval(() => {
          const streamed = on.length > 0 && stream.value === 'open';
          if (!running.value || (streamed && Date.now() - at < every * 6)) return;
          at = Date.now();
          run.current(false);
        }, every)
      : null;
    return () => {
      stopListening();
      clearInterval(timer);
    };
  }, [key, enabled, every, on.join()]);

  return { ...state, refresh: () => latest.current.enabled && run.current(true) };
}

// indexed is when to ask again after something died: by then the index has it. In ms.
export const indexed = [1200, 3000];

// useAgain asks for data again so many ms after one of deps has changed.
export function useAgain(got, waits, deps) {
  const latest = useRef();
  latest.current = got;
  useEffect(() => {
    const timers = waits.map((ms) => setTimeout(() => running.value && latest.current.refresh(), ms));
    return () => timers.forEach(clearTimeout);
  }, deps);
}
