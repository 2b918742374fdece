// What the permissions and tags of a user let it do, and what it lacks: {key, params} of a text, null if nothing. Pure. Expressions are
// RE2's, which JavaScript mostly reads the same way.

// allows tells whether an expression lets a name through; an empty one lets none. The broker takes the empty name of the default
// exchange as amq.default. otherwise is the answer for an expression that JavaScript cannot read.
export function allows(expression, name, otherwise = false) {
  if (expression === '') return false;
  try {
    return new RegExp(expression, 'u').test(name === '' ? 'amq.default' : name);
  } catch {
    return otherwise;
  }
}

// permitsNothing tells whether an expression lets no name through, as far as that is plain to see.
const permitsNothing = (expression) => expression === '' || expression === '^$';

// missing finds what own, the user's permissions in a virtual host, lack for names; undefined: they are not known yet, and the broker
// decides. kind is queue or exchange.
export function missing(own, right, kind, names) {
  const name = own && names.find((n) => !allows(own[right], n, true));
  return name === undefined ? null : { key: `lacks.${kind}`, params: { right, name } };
}

// missingAny finds whether own permit nothing at all of that kind in the virtual host.
export const missingAny = (own, right) =>
  own && permitsNothing(own[right]) ? { key: 'lacks.any', params: { right, vhost: own.vhost } } : null;

// What the broker says in English about what a user lacks, and its key.
/** @type {[RegExp, string][]} */
const refusals = [
  [
    /^(?<right>configure|write|read) access to (?<kind>queue|exchange) '(?<name>.*)' in vhost '.*' refused for user '.*'$/,
    '',
  ],
  [
    /^(?<right>write|read) access to topic '(?<name>.*)' in exchange '(?<exchange>.*)' in vhost '.*' refused for user '.*'$/,
    'topic',
  ],
  [/^Not (?<tag>[\w-]+) user$/, 'tag'],
  [/^User not authorised to access virtual host$/, 'vhost'],
  [/^User not authorised to access connection$/, 'connection'],
  [/^.* belongs to user '(?<user>.*)': only that user and administrators may change it$/, 'owner'],
  [/^read access to the queue where the message died is missing$/, 'died'],
  [/^read access to the source of redrive (?<id>\d+) is missing$/, 'source'],
  [/^the tag monitoring, or read access to all queues in vhost '(?<vhost>.*)', is missing$/, 'notes'],
];

// refused finds what a refusal of the broker says that is missing; null if it says something else.
export function refused(reason) {
  const text = (reason || '').replace(/^(?:Access refused: |ACCESS_REFUSED - )+/, '');
  for (const [pattern, key] of refusals) {
    const m = pattern.exec(text);
    if (m) return { key: `lacks.${key || m.groups.kind}`, params: { ...m.groups } };
  }
  return null;
}
