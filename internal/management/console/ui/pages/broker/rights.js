// What permissions let a user do. Pure. The broker's expressions are RE2's: what only JavaScript takes is refused there.
import { allows } from '../../lib/permissions.js';

export const deeds = ['declare', 'declare_dlx', 'delete', 'purge', 'publish', 'consume', 'bind', 'declare_exchange'];

// needs lists the rights that a deed asks for: [right, what it is for: name of a queue or an exchange].
export function needs(deed, queue, exchange) {
  switch (deed) {
    case 'declare':
      return [['configure', queue]];
    case 'declare_dlx':
      return [
        ['configure', queue],
        ['read', queue],
        ['write', exchange],
      ];
    case 'delete':
      return [['configure', queue]];
    case 'purge':
      return [['read', queue]];
    case 'publish':
      return [['write', exchange]];
    case 'consume':
      return [['read', queue]];
    case 'bind':
      return [
        ['write', queue],
        ['read', exchange],
      ];
    case 'declare_exchange':
      return [['configure', exchange]];
    default:
      return [];
  }
}

// judge says of each right that a deed asks for whether a permission {configure, write, read} gives it: [{right, name, expression, ok}].
// Without a permission there is none.
export function judge(permission, deed, queue, exchange) {
  return needs(deed, queue, exchange).map(([right, name]) => {
    const expression = permission ? permission[right] : '';
    return { right, name, expression, ok: !!permission && allows(expression, name) };
  });
}

// topicJudge says whether topic permissions let a key through, published to (write) or bound from (read) a topic exchange.
export function topicJudge(permissions, exchange, right, key) {
  const p = permissions.find((x) => x.exchange === exchange);
  return p ? { ok: allows(p[right], key), expression: p[right] } : { ok: true, expression: null };
}

// usual sets of rights, by name.
export const usual = { full: ['.*', '.*', '.*'], monitor: ['^$', '^$', '.*'], none: ['', '', ''] };

// trouble is what JavaScript says about an expression, '' if nothing. lookAround tells that RE2, and so the broker, lacks it.
export function trouble(expression) {
  try {
    RegExp(expression, 'u');
    return '';
  } catch (error) {
    return error.message;
  }
}
export const lookAround = (expression) => /\(\?(?:[=!]|<[=!])|\\[1-9]/.test(expression);

// password makes one of so many characters that people do not mix up. random fills an array of bytes.
export function password(random, length = 24) {
  const characters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
  let out = '';
  while (out.length < length) {
    for (const n of random(new Uint8Array(64))) {
      if (n < characters.length * 4 && out.length < length) out += characters[n % characters.length];
    }
  }
  return out;
}
