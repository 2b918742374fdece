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

// refused is what a refusal of the broker says that is missing, null if it does not say.
export const refused = (lack) => (lack ? { key: `lacks.${lack.what}`, params: lack } : null);
