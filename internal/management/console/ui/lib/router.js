// The address is the state: path and query of the page that is shown. Links work as links; clicks are taken over.
import { signal, computed, useState } from './html.js';
import { prefix } from './place.js';
import { matchPath } from './paths.js';

const here = signal(read());

function read() {
  const query = Object.fromEntries(new URLSearchParams(location.search));
  return { path: location.pathname.slice(prefix.length) || '/', query };
}

// route is {path, query}; the path as the address has it, escaped.
export const route = computed(() => here.value);

// href is the address of a page: href('/queues', {name: 'a'}). What is empty is left out.
export function href(path, query) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query || {})) {
    if (v !== undefined && v !== null && v !== '' && v !== false) q.set(k, v);
  }
  const text = q.toString();
  return prefix + path + (text ? '?' + text : '');
}

// to escapes what is put into a path: to`/queues/${vhost}/${name}`.
export const to = (strings, ...values) => strings.reduce((all, s, i) => all + encodeURIComponent(values[i - 1]) + s);

// go shows a page.
export function go(path, query, { replace = false } = {}) {
  const address = href(path, query);
  if (replace) show(address, { replace });
  else leave(() => show(address));
}

// from is the address of the page that led to this one, '' if there was none.
export const from = () => history.state?.from || '';

// up is the address of a list that led here, as it was left, or else of the list as it is at first.
export const up = (path, query) => (from().split('?')[0] === prefix + path ? from() : href(path, query));

// back shows that page again, or else the one that is named. A page that stands for its predecessor, as the next message does for
// the one before it, is shown by beside: it leads back to where that came from.
export const back = (path, query) => leave(() => show(from() || href(path, query), { back: true }));
export const beside = (path) => leave(() => show(href(path), { origin: from() }));

// setQuery changes parts of the query; null and '' take one away. It replaces the address unless push is said: what is
// typed into a filter is not a page to come back to.
export function setQuery(patch, { push = false } = {}) {
  const query = { ...here.value.query, ...patch };
  show(href(here.value.path, query), { replace: !push });
}

const shown = () => location.pathname + location.search;

// What a page keeps for who goes back to it, with Back of the browser, Escape or the crumbs, by its address: which row had the focus, what
// was selected, how far a list was read. It is gone when the tab is reloaded.
const recordsMost = 50;
const records = new Map();
let record = {}; // of the page that is shown
let recordAt = '';
const leaving = new Set(); // what is done before a page is left

// kept is what the page that is shown, or the one at an address, has of that name.
export const kept = (name, address = recordAt) => records.get(address)?.[name];
export function keep(name, value) {
  record[name] = value;
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
  leaving.add(run);
  return () => leaving.delete(run);
}

// turn is called when another page is shown: back says that somebody comes back to it.
function turn(back) {
  leaving.forEach((run) => run());
  record = (back && records.get(shown())) || {};
  moved();
}

// moved is called when the page that is shown has another address, such as with another filter.
function moved() {
  if (records.get(recordAt) === record) records.delete(recordAt);
  recordAt = shown();
  records.delete(recordAt);
  records.set(recordAt, record);
  if (records.size > recordsMost) records.delete(records.keys().next().value);
  keep('from', from());
}

// show puts an address into the history. back says that somebody comes back to it: then it leads back to where it led before. So does
// another query of the same page.
function show(address, { replace = false, back = false, origin = undefined } = {}) {
  if (back) origin = kept('from', address) || '';
  else if (replace || new URL(address, location.href).pathname === location.pathname) origin = from();
  else origin ??= shown();
  if (!replace) place++;
  history[replace ? 'replaceState' : 'pushState']({ from: origin, place }, '', address);
  if (replace) moved();
  else {
    turn(back);
    visits.value++;
  }
  here.value = read();
}

// visits counts the pages that were shown one after the other: another query is another page, unless it replaced the one before.
export const visits = signal(0);

const placeNow = () => history.state?.place || 0;
let place = placeNow(); // of the page that is shown among those of the history

let asks = null; // asks whether what was typed into the page may be lost
let subject = []; // the names in the query that say what that is about
let asking = false;
const warn = (e) => e.preventDefault();

// hold has the question ask() answered before another page is shown instead of this one, until letGo; the browser asks in its own
// words before it leaves the console. A page is another, too, with another value of a name in its query that is one of of.
export function hold(ask, of = []) {
  asks = ask;
  subject = of;
  addEventListener('beforeunload', warn);
}

// letGo says that leaving the page loses nothing.
export function letGo() {
  asks = null;
  subject = [];
  removeEventListener('beforeunload', warn);
}

// asksNow are the questions to be answered now before another page is shown: of a dialog, then of the page.
const asksNow = () => [asksOfLayers(), asks].filter(Boolean);

async function leave(then) {
  if (asksNow().length === 0) return then();
  if (!(await mayLeave())) return undefined;
  letGo();
  return then();
}

// leaveFor does what gives a name in the query another value.
export const leaveFor = (name, then) => (subject.includes(name) ? leave(then) : then());

// mayLeave asks, if there is something to ask for, whether what was typed into the page, or a dialog over it, may be lost.
export async function mayLeave() {
  const all = asksNow();
  if (all.length === 0) return true;
  if (asking) return false;
  asking = true;
  let may = true;
  for (const ask of all) may = may && (await ask());
  asking = false;
  return may;
}

let closeLayer = () => false;
let asksOfLayers = () => null;

// beforeTravel has what lies over the page closed instead, if there is something: close tells whether there was. question is what to
// ask before another page is shown, null if nothing is lost.
export function beforeTravel(close, question) {
  closeLayer = close;
  asksOfLayers = question;
}

// travel follows the history of the browser, which has gone on by itself: it is put back if a dialog is closed instead, or for as long as
// it takes to ask.
function travel() {
  const by = placeNow() - place;
  if (!by) return undefined; // it was put back
  const closed = closeLayer();
  if (closed || asks) history.go(-by);
  if (closed) return undefined;
  if (asks) return leave(() => history.go(by));
  place += by;
  turn(true);
  visits.value++;
  here.value = read();
  return undefined;
}

export function startRouter() {
  turn(false);
  addEventListener('popstate', travel);
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = e.target instanceof Element && e.target.closest('a[href]');
    if (!a || a.hasAttribute('target') || a.hasAttribute('download')) return;
    const at = new URL(a.getAttribute('href'), location.href); // a drawing's link has no pathname
    if (at.origin !== location.origin) return;
    const below = at.pathname.slice(prefix.length);
    if (
      !at.pathname.startsWith(prefix + '/') ||
      below.startsWith('/api/') ||
      below.startsWith('/assets/') ||
      below.startsWith('/metrics')
    )
      return;
    if (at.hash && at.pathname === location.pathname) return;
    e.preventDefault();
    leave(() => {
      show(at.pathname + at.search, { back: !!a.closest('.crumbs') });
      scrollTo(0, 0);
    });
  });
}

// find is the first of pages whose path fits, with the names in it: {page, params}.
export function find(pages, path) {
  for (const page of pages) {
    const params = matchPath(page.path, path);
    if (params) return { page, params };
  }
  return null;
}
