// The effective settings of a queue, and the few characters of its badges. Pure.
import { fieldsOf, setting } from '../../lib/known.js';

// The badges in their order, and what they show.
export const codes = [
  ['Exp', 'expires'],
  ['TTL', 'message-ttl'],
  ['Lim', 'max-length'],
  ['LimB', 'max-length-bytes'],
  ['Ovfl', 'overflow'],
  ['DLX', 'dead-letter-exchange'],
  ['DLK', 'dead-letter-routing-key'],
  ['DLS', 'dead-letter-strategy'],
  ['DLQ', 'dead-letter-queue'],
  ['DL', 'delivery-limit'],
  ['Retry', 'delayed-retry-type'],
  ['Pri', 'max-priority'],
  ['SAC', 'single-active-consumer'],
];
// silent are the arguments that need no badge.
export const silent = ['queue-type', 'queue-version', 'queue-mode'];
// groups are what forms put together, under a heading each: name and settings. What is in none of them is other.
/** @type {[string, RegExp][]} */
const groups = [
  ['dead_letters', /^(dead-letter-.*|cycle)$/],
  ['limits', /^(message-ttl|expiry|expires|max-length.*|overflow)$/],
  ['retries', /^(delivery-.*|delayed-retry-.*)$/],
];
export const groupOf = (name) => groups.find(([, names]) => names.test(name))?.[0] ?? 'other';
export const groupNames = [...groups.map(([name]) => name), 'other'];

// effective is the value of a setting and where it comes from, argument or policy; null if neither has it.
export function effective(q, name) {
  const s = setting(name);
  const argument = s.argument && q.arguments?.[s.argument];
  const policy = s.set_by.includes('policy') ? q.effective_policy_definition?.[name] : undefined;
  if (argument === undefined && policy === undefined) return null;
  const from = argument === undefined ? 'policy' : policy === undefined ? 'argument' : winner(s, argument, policy, q);
  return { value: from === 'policy' ? policy : argument, from };
}

// winner tells which of two values is effective. The policy is the user's merged with the operator's: that it is the
// operator's is certain only if there is no other.
function winner(s, argument, policy, q) {
  const limit = (n) => ((s.no_limit === 'negative' && n < 0) || (s.no_limit === 'zero' && n === 0) ? Infinity : n);
  const ofPolicy = {
    policy: true,
    'operator policy': !!q.operator_policy && !q.policy,
    smaller: limit(policy) < limit(argument),
    larger: limit(policy) > limit(argument),
  };
  return ofPolicy[s.wins] ? 'policy' : 'argument';
}

// badgesOf lists the badges of a queue of the API: {code, name, value, kind, from}; from is queue, argument or policy;
// kind is the setting's, '' if there is no value to show.
export function badgesOf(q) {
  /** @type {{code: string, name: string, kind: string, from: string, value?: any}[]} */
  const all = [];
  if (q.durable) all.push({ code: 'D', name: 'durable', kind: '', from: 'queue' });
  if (q.auto_delete) all.push({ code: 'AD', name: 'auto-delete', kind: '', from: 'queue' });
  if (q.exclusive) all.push({ code: 'Excl', name: 'exclusive', kind: '', from: 'queue' });
  for (const [code, name] of codes) {
    const e = effective(q, name);
    if (e && e.value !== false && !(name === 'delayed-retry-type' && e.value === 'disabled'))
      all.push({ code, name, kind: setting(name).kind, ...e });
  }
  const told = new Set([...codes.map(([, name]) => name), ...silent].map((name) => setting(name).argument));
  const more = Object.keys(q.arguments || {}).filter((k) => !told.has(k));
  if (more.length)
    all.push({
      code: 'Args',
      name: 'arguments',
      kind: 'text',
      value: more.map((k) => `${k}=${JSON.stringify(q.arguments[k])}`).join(', '),
      from: 'argument',
    });
  return all;
}

// The saved filters of the list, by name; dlqs are the queues that dead letters come to, as 'vhost\nname'.
export const filters = {
  dlq: (q, dlqs) => dlqs.has(`${q.vhost}\n${q.name}`),
  idle: (q) => q.consumers === 0,
  ttl: (q) => !!effective(q, 'message-ttl') && !effective(q, 'dead-letter-exchange'),
  full: (q) => {
    const most = effective(q, 'max-length');
    return !!most && most.value >= 0 && q.messages_ready >= most.value;
  },
};

// dependent are settings that mean nothing without others.
const dependent = [
  { names: /^dead-letter-/, on: ['dead-letter-exchange'] },
  { names: /^delayed-retry-/, on: ['delayed-retry-type'] },
  { names: /^overflow$/, on: ['max-length', 'max-length-bytes'] },
];
const isSet = (v) => v !== null && v !== undefined && v !== false;

// argumentsOf are the arguments of a declaration: the values of settings by name, and more arguments. usual is the type of queues that
// are declared without one in the virtual host.
export function argumentsOf({ type, usual = 'classic', settings, more }) {
  const all = {};
  if (type && type !== usual) all[setting('queue-type').argument] = type;
  for (const s of fieldsOf('argument')) {
    const needs = dependent.filter((d) => d.names.test(s.name));
    const useful = needs.every((d) => d.on.some((other) => isSet(settings[other])));
    if (useful && isSet(settings[s.name])) all[s.argument] = settings[s.name];
  }
  return { ...all, ...more };
}

const differences = (is, asked, names) =>
  [...names]
    .filter((name) => JSON.stringify(is[name]) !== JSON.stringify(asked[name]))
    .map((name) => ({ name, has: is[name], asked: asked[name] }));
const inArguments = (is, asked) => differences(is, asked, new Set([...Object.keys(is), ...Object.keys(asked)]));

// inequivalent lists what a declaration asks for and the queue that is there has not: {name, has, asked}.
export function inequivalent(q, asked, usual = 'classic') {
  const typed = ({ arguments: all }, type) => ({ ...all, 'x-queue-type': all['x-queue-type'] ?? type });
  return [...differences(q, asked, ['durable', 'auto_delete']), ...inArguments(typed(q, q.type), typed(asked, usual))];
}

// inequivalentExchange is the same for an exchange.
export const inequivalentExchange = (e, asked) => [
  ...differences(e, asked, ['type', 'durable', 'auto_delete', 'internal']),
  ...inArguments(e.arguments, asked.arguments),
];
