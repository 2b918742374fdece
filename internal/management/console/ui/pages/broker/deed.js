// What a record of the audit log says was done: a sentence of parts, and where what it is about is shown. Pure.

import { filterParts } from '../deadletters/job-scopes.js';

// Each route is [methods, path, verb, what, more(names, detail, query)]: verb and what are words of the dictionaries (did.VERB,
// did_to.WHAT); a name in braces is one in the path, {v} a virtual host. more gives {name, parts, to}; parts are texts or {key, params}.
const routes = [
  [
    'POST',
    'x/redrives/{v}',
    '',
    '',
    (n, d) => ({
      verb: d.action === 'discard' ? 'discard' : 'redrive',
      name: place(d.source),
      parts: [
        filterParts(d.filter || '').terms,
        filterParts(d.filter || '').noLost && { key: 'did.without_lost' },
        d.ids > 0 && { key: 'did.chosen', n: d.ids },
        d.total !== undefined && !d.ids && { key: d.filter ? 'did.searches' : 'did.of_letters', n: d.total },
      ],
      to: d.id && ['jobs', n.v, d.id],
    }),
  ],
  [
    'PATCH',
    'x/redrives/{v}/{job}',
    'change',
    'job',
    (n, d) => ({
      name: n.job,
      parts: [d.rate !== undefined && { key: 'did.rate', n: d.rate }],
      to: ['jobs', n.v, n.job],
    }),
  ],
  ['POST', 'x/redrives/{v}/{job}/{how}', '', 'job', (n) => ({ verb: n.how, name: n.job, to: ['jobs', n.v, n.job] })],
  ['DELETE', 'x/redrives/{v}/{job}', 'forget', 'job', (n) => ({ name: n.job })],
  [
    'POST',
    'x/queues/{v}/{queue}/messages/{id}/resend',
    'resend',
    'letter',
    (n, d) => ({
      name: n.id,
      parts: [n.queue, d.keep && { key: 'did.kept' }],
      to: d.keep ? ['letters', n.v, 'queue', n.queue, n.id] : ['queues', n.v, n.queue],
    }),
  ],
  [
    'POST',
    'x/lost-letters/{v}/messages/{id}/resend',
    'resend',
    'lost_letter',
    (n, d) => ({
      name: n.id,
      parts: [d.keep && { key: 'did.kept' }],
      to: d.keep ? ['letters', n.v, 'lost', n.id] : undefined,
    }),
  ],
  ['POST', 'x/lost-letters/{v}/republish', 'send_on', 'lost_letters'],
  ['DELETE', 'x/lost-letters/{v}', 'delete', 'lost_letters'],
  ['DELETE', 'x/lost-letters/{v}/{name}', 'delete', 'lost_letter'],
  [
    'POST',
    'x/letters/{v}/import',
    'import',
    'letters',
    (n, d, q) => ({
      parts: [q.get('queue') || q.get('exchange'), d.imported !== undefined && { key: 'did.letters', n: d.imported }],
    }),
  ],
  ['GET', 'x/letters/{v}/export', 'export', 'letters', (n, d, q) => ({ parts: [q.get('queue'), q.get('filter')] })],
  ['PUT', 'x/notes/{v}/{by}/{name}', '', 'note', (n) => ({ parts: [n.by] })],
  ['POST', 'x/waiting/{v}/{name}/retry', 'retry', 'waiting', (n) => ({ to: ['queues', n.v, n.name] })],
  ['POST', 'x/waiting/{v}/{name}/reschedule', 'reschedule', 'waiting', (n) => ({ to: ['queues', n.v, n.name] })],
  ['POST', 'x/waiting/{v}/{name}/cancel', 'cancel', 'waiting', (n) => ({ to: ['queues', n.v, n.name] })],
  ['DELETE', 'x/scheduled/{v}/{name}', 'purge', 'schedule'],
  ['POST', 'x/index/{v}/rebuild', 'rebuild', 'index'],
  [
    'PUT',
    'x/options/{v}',
    'change',
    'options',
    (n, d) => ({ parts: Object.entries(d).map(([k, v]) => `${k} = ${v}`), to: ['vhosts', n.v] }),
  ],
  ['DELETE', 'x/options/{v}/{name}', 'reset', 'options', (n) => ({ to: ['vhosts', n.v] })],
  ['PUT DELETE', 'queues/{v}/{name}', '', 'queue', (n) => ({ to: ['queues', n.v, n.name] })],
  ['PUT', 'x/queues/{v}/{name}', 'create', 'queue', (n) => ({ to: ['queues', n.v, n.name] })],
  ['DELETE', 'queues/{v}/{name}/contents', 'purge', 'queue', (n) => ({ to: ['queues', n.v, n.name] })],
  ['PUT DELETE', 'exchanges/{v}/{name}', '', 'exchange', (n) => ({ to: ['exchanges', n.v, n.name] })],
  [
    'POST',
    'bindings/{v}/e/{name}/{kind}/{target}',
    'create',
    'binding',
    (n, d) => ({ parts: [`→ ${n.target}`, d.routing_key], to: ['exchanges', n.v, n.name] }),
  ],
  [
    'DELETE',
    'bindings/{v}/e/{name}/{kind}/{target}/{key}',
    'delete',
    'binding',
    (n) => ({ parts: [`→ ${n.target}`, n.key === '~' ? '' : n.key], to: ['exchanges', n.v, n.name] }),
  ],
  ['PUT DELETE', 'policies/{v}/{name}', '', 'policy', (n, d) => ({ parts: [d.pattern], to: ['policies'] })],
  [
    'PUT DELETE',
    'operator-policies/{v}/{name}',
    '',
    'operator_policy',
    (n, d) => ({ parts: [d.pattern], to: ['policies'] }),
  ],
  [
    'PUT DELETE',
    'users/{name}',
    '',
    'user',
    (n, d) => ({ parts: [[d.tags].flat().join(', ')], to: ['users', n.name] }),
  ],
  ['POST', 'users/bulk-delete', 'delete', 'users', (n, d) => ({ name: (d.users || []).join(', ') })],
  ['PUT DELETE', 'permissions/{v}/{name}', '', 'permissions', (n) => ({ to: ['users', n.name] })],
  [
    'PUT DELETE',
    'topic-permissions/{v}/{name}',
    '',
    'topic_permissions',
    (n, d) => ({ parts: [d.exchange], to: ['users', n.name] }),
  ],
  [
    'DELETE',
    'topic-permissions/{v}/{name}/{exchange}',
    '',
    'topic_permissions',
    (n) => ({ parts: [n.exchange], to: ['users', n.name] }),
  ],
  [
    'PUT DELETE',
    'user-limits/{name}/{limit}',
    '',
    'user_limit',
    (n, d) => ({ parts: [limit(n, d)], to: ['users', n.name] }),
  ],
  ['PUT DELETE', 'vhosts/{name}', '', 'vhost', (n) => ({ to: ['vhosts', n.name] })],
  ['POST', 'vhosts/{name}/deletion/protection', 'protect', 'vhost', (n) => ({ to: ['vhosts', n.name] })],
  ['DELETE', 'vhosts/{name}/deletion/protection', 'unprotect', 'vhost', (n) => ({ to: ['vhosts', n.name] })],
  ['POST', 'vhosts/{name}/start/{node}', 'start', 'vhost', (n) => ({ to: ['vhosts', n.name] })],
  [
    'PUT DELETE',
    'vhost-limits/{name}/{limit}',
    '',
    'vhost_limit',
    (n, d) => ({ parts: [limit(n, d)], to: ['vhosts', n.name] }),
  ],
  ['PUT DELETE', 'parameters/{component}/{v}/{name}', '', 'parameter', (n) => ({ parts: [n.component] })],
  ['PUT DELETE', 'global-parameters/{name}', '', 'parameter'],
  ['PUT', 'cluster-name', '', 'cluster_name', (n, d) => ({ name: d.name })],
  ['POST', 'definitions', 'import', 'definitions'],
  ['POST', 'all-configuration', 'import', 'definitions'],
  ['POST', 'definitions/{v}', 'import', 'definitions'],
  ['POST', 'x/backup', 'take', 'backup'],
  ['GET', 'x/backup', 'take', 'backup'],
  ['PUT', 'x/log-level', 'change', 'log_level', (n, d) => ({ name: d.level })],
  ['POST', 'x/rotate-logs', 'rotate', 'logs'],
  ['PUT', 'x/resource-limits', 'change', 'resource_limits'],
  ['PUT', 'x/listeners', 'change', 'listeners'],
  ['POST', 'x/clock/{name}', 'change', 'clock'],
  ['PUT', 'feature-flags/{name}/enable', 'enable', 'feature_flag'],
  ['DELETE', 'connections/{name}', 'close', 'connection'],
  ['DELETE', 'connections/username/{name}', 'close', 'connections'],
].map((/** @type {any[]} */ [methods, path, ...rest]) => [methods.split(' '), path.split('/'), ...rest]);

const place = (source) => (source?.lost ? { key: 'letters.lost_store' } : source?.queue || '');
const limit = (n, d) => (d.value === undefined ? n.limit : `${n.limit} ${d.value}`);

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// fits returns the names in a path, null if it is not of that pattern.
function fits(pattern, segments) {
  if (pattern.length !== segments.length) return null;
  const names = {};
  for (let i = 0; i < pattern.length; i++) {
    if (pattern[i][0] === '{') names[pattern[i].slice(1, -1)] = decode(segments[i]);
    else if (pattern[i] !== segments[i]) return null;
  }
  return names;
}

// deedOf reads a record: {verb, what, name, parts, vhost, to}, with what '' where the verb says it; null if it is of no route that is
// known. to are the segments of a page of the console, undefined if there is none, or not any more.
/** @param {{action: string, object: string, status: number, detail?: any}} record */
export function deedOf({ action, object, status, detail }) {
  const [path, query = ''] = object.replace(/^\/api\//, '').split(/\?(.*)/s);
  const segments = path.split('/');
  for (const [methods, pattern, verb, what, more] of routes) {
    const names = methods.includes(action) && fits(pattern, segments);
    if (!names) continue;
    const { parts = [], to, ...rest } = more ? more(names, detail || {}, new URLSearchParams(query)) : {};
    const made = /permissions/.test(what) ? 'grant' : 'create';
    const done = { DELETE: 'delete', PUT: status === 201 ? made : 'change' }[action];
    const gone = action === 'DELETE' && !verb && to?.at(-1) === names.name && !/permissions|limit/.test(what);
    return {
      verb: verb || done,
      what,
      name: names.name ?? '',
      vhost: names.v,
      ...rest,
      parts: parts.filter(Boolean),
      to: gone ? undefined : to,
    };
  }
  return null;
}

// plainObject is the path of a record as it is read: a slash in a name stays %2F.
export const plainObject = (object) =>
  object
    .replace(/^\/api\//, '')
    .split('/')
    .map((s) => (decode(s).includes('/') ? s : decode(s)))
    .join('/');
