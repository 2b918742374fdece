// Who is logged in, and what that user may.
import { signal, computed } from './html.js';
import { ask, api, token, lostSession } from './api.js';
import { session } from './ahead.js';
import { note, noted } from './store.js';

// user is undefined until it is known, null if nobody is logged in, else {name, tags}.
export const user = signal(undefined);
// ended is why the session was lost, if nobody has logged in since: session, password_changed, user_deleted; else ''.
export const ended = signal('');
export const tags = computed(() => user.value?.tags || []);

const includes = {
  administrator: ['administrator'],
  monitoring: ['administrator', 'monitoring'],
  policymaker: ['administrator', 'policymaker'],
  management: ['administrator', 'monitoring', 'policymaker', 'management'],
};

// may tells whether the tags suffice for what asks for one.
export const may = (tag) => !tag || (includes[tag] || [tag]).some((x) => tags.value.includes(x));

let was = noted('session') !== null; // a user is logged in in this tab, or was until the session was lost

function take(session, lost = false) {
  ended.value = lost && !session.user && was ? session.ended || 'session' : '';
  if (session.user || !lost) remember(!!session.user);
  token.value = session.token;
  user.value = session.user;
}

function remember(is) {
  was = is;
  note('session', is ? '1' : null);
}

export async function startSession() {
  take(await session.catch(() => api.get('x/session')), true); // asked for ahead
  lostSession.subscribe(async (n) => {
    if (n === 0) return;
    const why = await api.get('x/session', {}, { signal: AbortSignal.timeout(1000) }).catch(() => null);
    if (user.value) take({ user: null, token: '', ended: why?.ended }, true);
  });
}

export async function logIn(username, password) {
  take((await ask('POST', 'x/session', { form: { username, password } })).data);
}

export async function logOut() {
  await api.delete('x/session');
  take({ user: null, token: '' });
}

// checkSession asks who is logged in, and tells whether the broker answered. No answer is no news of the session.
/** @param {AbortSignal} [signal] */
export async function checkSession(signal) {
  try {
    const s = await api.get('x/session', {}, { signal });
    if (!s.user && user.value) take(s, true);
    return true;
  } catch (error) {
    return error.status > 0;
  }
}
