// What the user may do, asked of the broker before it refuses: a text that names the permission or the tag that is missing, or ''.
import { signal } from './html.js';
import { t, word } from './i18n.js';
import { api, denied, path } from './api.js';
import { may, user } from './session.js';
import { missing, missingAny } from './permissions.js';

const freshMillis = 30_000;

const known = signal(new Map()); // own permissions, by virtual host
const asked = new Map(); // when each was asked for last

// own are the user's permissions in a virtual host: those known, while newer ones are asked for.
function own(vhost) {
  if (vhost && Date.now() - (asked.get(vhost) ?? 0) > freshMillis) {
    asked.set(vhost, Date.now());
    api.get(`x/permissions/${path`${vhost}`}`).then(
      (p) => {
        known.value = new Map(known.peek()).set(vhost, p);
      },
      () => {}, // the broker decides
    );
  }
  return known.value.get(vhost);
}

user.subscribe(() => {
  asked.clear();
  known.value = new Map();
});
// renewRights asks for the permissions once more: they may have changed.
export function renewRights() {
  asked.clear();
  for (const vhost of known.peek().keys()) own(vhost);
}
denied.subscribe(renewRights);

// hasNone tells whether the user has no permission at all in a virtual host, as far as that is known.
export function hasNone(vhost) {
  const mine = own(vhost);
  return !!mine && ['configure', 'write', 'read'].every((right) => mine[right] === '');
}

// inWords is what is missing, as texts say it.
export const inWords = (lack) => {
  if (!lack) return '';
  const { right, name } = lack.params;
  return t(lack.key, {
    ...lack.params,
    ...(right && { right: word('right', right) }),
    ...(name === '' && { name: t('exchange.default') }),
  });
};

// first is the first of some texts that is one.
export const first = (...texts) => texts.find(Boolean) || '';

// lacksTag says that the user lacks a tag, or one that includes it.
export const lacksTag = (tag) => (may(tag) ? '' : inWords({ key: 'lacks.tag', params: { tag } }));

// lacksOwner says that something was made by another user, and is not for this one to change.
export const lacksOwner = (name) =>
  user.value?.name === name || may('administrator') ? '' : inWords({ key: 'lacks.owner', params: { user: name } });

// rightsIn says what the user lacks in a virtual host: queue('read', names…), exchange('write', names…), any('configure') for something
// that has no name yet, deadLetters('redrive') for a tag of strict access to dead letters.
export function rightsIn(vhost) {
  const mine = own(vhost);
  return {
    queue: (right, ...names) => inWords(missing(mine, right, 'queue', names)),
    exchange: (right, ...names) => inWords(missing(mine, right, 'exchange', names)),
    any: (right) => inWords(missingAny(mine, right)),
    deadLetters: (action) =>
      mine && mine.dead_letters[`office-${action}`] === false
        ? inWords({ key: 'lacks.tag', params: { tag: `office-${action}` } })
        : '',
  };
}
