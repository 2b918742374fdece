// The HTTP API, as every tool uses it. Paths are below /api/: api.get(path`queues/${vhost}/${name}`, {columns: 'name'}).
import { signal } from './html.js';
import { prefix } from './place.js';

// A Refusal is what the broker answered instead: status is 0 if there was no answer at all.
export class Refusal extends Error {
  constructor(status, kind, reason, lack = undefined) {
    super(reason);
    this.status = status;
    this.kind = kind;
    this.reason = reason;
    this.lack = lack; // what the user lacks, if that is why
  }
  // noRight: the user lacks a tag or a permission.
  get noRight() {
    return this.status === 401 && this.kind !== 'not_authorized';
  }
  get missing() {
    return this.status === 404;
  }
}

// token is what changes have to show; session.js sets it.
export const token = signal('');
// lostSession counts how often an answer said that nobody is logged in.
export const lostSession = signal(0);
// denied counts how often an answer said that the user lacks a right.
export const denied = signal(0);
// reachable is false from when the broker did not answer until it does; live.js finds out. unanswered counts requests without an answer.
export const reachable = signal(true);
export const unanswered = signal(0);

// path escapes what is put into it.
export function path(strings, ...values) {
  return strings.reduce((all, s, i) => all + encodeURIComponent(values[i - 1]) + s);
}

export function address(to, query) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query || {})) {
    if (v !== undefined && v !== null && v !== '' && v !== false) q.set(k, v);
  }
  const text = q.toString();
  return `${prefix}/api/${to}${text ? '?' + text : ''}`;
}

// ask sends a request and returns {status, data, headers}; it throws a Refusal.
/**
 * @param {string} method
 * @param {string} to
 * @param {{query?: object, body?: any, form?: Record<string, string>, signal?: AbortSignal, headers?: Record<string, string>}} [options]
 */
export async function ask(method, to, { query, body, form, signal: abort, headers = {} } = {}) {
  /** @type {any} */
  const init = {
    method,
    headers: { Accept: 'application/json', 'X-CSRF-Token': token.value || 'none', ...headers },
    signal: abort,
    credentials: 'same-origin',
  };
  if (body !== undefined) {
    init.body = typeof body === 'string' ? body : JSON.stringify(body);
    init.headers['Content-Type'] ??= 'application/json';
  }
  if (form) init.body = new URLSearchParams(form);
  let answer;
  try {
    answer = await fetch(address(to, query), init);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw noAnswer();
  }
  if (answer.status === 502 || answer.status === 504) throw noAnswer(); // a proxy's: the broker gives none of these
  reachable.value = true;
  const text = await answer.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    data = text;
  }
  if (answer.ok) return { status: answer.status, data, headers: answer.headers };
  const refusal = new Refusal(answer.status, data?.error || '', String(data?.reason || answer.statusText), data?.lacks);
  if (answer.status === 401 && refusal.kind === 'not_authorized' && !form) lostSession.value++;
  if (refusal.noRight) denied.value++;
  throw refusal;
}

function noAnswer() {
  unanswered.value++;
  return new Refusal(0, 'unreachable', '');
}

const data = (method) => async (to, body, options) => (await ask(method, to, { body, ...options })).data;

export const api = {
  get: async (to, query, options) => (await ask('GET', to, { query, ...options })).data,
  put: data('PUT'),
  post: data('POST'),
  patch: data('PATCH'),
  delete: async (to, query, options) => (await ask('DELETE', to, { query, ...options })).data,
};
