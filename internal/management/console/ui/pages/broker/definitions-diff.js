// What an import of definitions would make, change and leave, as far as two documents tell. Pure.
import { jsonFault } from './json-fault.js';

const named = {
  users: ['name'],
  vhosts: ['name'],
  permissions: ['user', 'vhost'],
  topic_permissions: ['user', 'vhost', 'exchange'],
  parameters: ['component', 'vhost', 'name'],
  global_parameters: ['name'],
  policies: ['vhost', 'name'],
  operator_policies: ['vhost', 'name'],
  queues: ['vhost', 'name'],
  exchanges: ['vhost', 'name'],
  bindings: ['vhost', 'source', 'destination_type', 'destination', 'routing_key', 'arguments'],
};

// kinds that an import leaves as they are if they are there.
const kept = ['queues', 'exchanges', 'bindings'];

// stable writes a value with its keys in order; what is absent, null or empty is the same.
export function stable(v) {
  if (Array.isArray(v)) return `[${v.map(stable).join(',')}]`;
  if (v && typeof v === 'object') {
    return `{${Object.keys(v)
      .sort()
      .filter((k) => v[k] !== null && v[k] !== undefined && v[k] !== '')
      .map((k) => `${JSON.stringify(k)}:${stable(v[k])}`)
      .join(',')}}`;
  }
  return JSON.stringify(v);
}

// compare lists, for each kind of thing that the document has, {kind, made, changed, same, kept}: names; kept is what differs and stays.
export function compare(now, document, vhost) {
  const out = [];
  for (const [kind, keys] of Object.entries(named)) {
    const asked = document[kind];
    if (!Array.isArray(asked) || asked.length === 0) continue;
    const place = (x) =>
      vhost === undefined || !keys.includes('vhost') || x.vhost !== undefined ? x : { ...x, vhost };
    const key = (x) => stable(keys.map((k) => place(x)[k] ?? ''));
    const there = new Map((now[kind] || []).map((x) => [key(x), x]));
    const one = { kind, made: [], changed: [], same: [], kept: [] };
    for (const x of asked) {
      const name = keys
        .filter((k) => k !== 'arguments')
        .map((k) => place(x)[k] ?? '')
        .join(' · ');
      const before = there.get(key(x));
      if (before === undefined) one.made.push(name);
      else if (same(before, place(x))) one.same.push(name);
      else one[kept.includes(kind) ? 'kept' : 'changed'].push(name);
    }
    out.push(one);
  }
  return out;
}

// same tells whether all that is asked for is there.
function same(before, asked) {
  return Object.keys(asked).every(
    (k) => stable(before[k] ?? '') === stable(asked[k] ?? '') || (isEmpty(before[k]) && isEmpty(asked[k])),
  );
}
const isEmpty = (v) =>
  v === undefined || v === null || v === '' || (typeof v === 'object' && Object.keys(v).length === 0);

// givesPassword tells whether an import gives a user another password: that ends the sessions of the user.
export function givesPassword(now, document, name) {
  const of = (d) => (d.users || []).find((x) => x.name === name);
  const asked = of(document);
  return !!asked && (!!asked.password || (asked.password_hash || '') !== (of(now)?.password_hash || ''));
}

// readDocument reads definitions: {document} or {fault}, what is wrong with the JSON, null if it is JSON and no definitions.
export function readDocument(text) {
  try {
    const document = JSON.parse(text);
    if (
      !document ||
      typeof document !== 'object' ||
      Array.isArray(document) ||
      !Object.keys(named).some((k) => Array.isArray(document[k]))
    )
      return { fault: null };
    return { document };
  } catch (error) {
    return { fault: jsonFault(error.message, text) };
  }
}
