// What is in force on a queue, in the few letters of badges. Pure.

// smaller are the settings of which the smaller value applies if both an argument and a policy have it.
const smaller = ['message-ttl', 'expires', 'max-length', 'max-length-bytes', 'delivery-limit'];

// The badges in their order: what they show, its kind, and how its value is written: span (ms), size (bytes), number, text, '' not at all.
const codes = [
  ['Exp', 'expires', 'span'],
  ['TTL', 'message-ttl', 'span'],
  ['Lim', 'max-length', 'number'],
  ['LimB', 'max-length-bytes', 'size'],
  ['Ovfl', 'overflow', 'text'],
  ['DLX', 'dead-letter-exchange', 'text'],
  ['DLK', 'dead-letter-routing-key', 'text'],
  ['DLS', 'dead-letter-strategy', 'text'],
  ['DL', 'delivery-limit', 'number'],
  ['Retry', 'delayed-retry-type', 'text'],
  ['Pri', 'max-priority', 'number'],
  ['SAC', 'single-active-consumer', ''],
];
const shown = new Set([...codes.map(([, name]) => name), 'queue-type', 'queue-version', 'queue-mode']);

// effective is the value of a setting and where it comes from, argument or policy; null if neither has it.
export function effective(q, name) {
  const argument = q.arguments?.['x-' + name];
  const policy = q.effective_policy_definition?.[name];
  if (argument === undefined && policy === undefined) return null;
  const first = name === 'delayed-retry-type' ? 'policy' : 'argument';
  let from = argument === undefined ? 'policy' : policy === undefined ? 'argument' : first;
  if (argument !== undefined && policy !== undefined && smaller.includes(name)) {
    const unlimited = (n) => (n < 0 ? Infinity : n);
    from = unlimited(policy) < unlimited(argument) ? 'policy' : 'argument';
  }
  return { value: from === 'policy' ? policy : argument, from };
}

// badgesOf lists the badges of a queue of the API: {code, name, value, kind, from}; from is queue, argument or policy.
export function badgesOf(q) {
  /** @type {{code: string, name: string, kind: string, from: string, value?: any}[]} */
  const all = [];
  if (q.durable) all.push({ code: 'D', name: 'durable', kind: '', from: 'queue' });
  if (q.auto_delete) all.push({ code: 'AD', name: 'auto-delete', kind: '', from: 'queue' });
  if (q.exclusive) all.push({ code: 'Excl', name: 'exclusive', kind: '', from: 'queue' });
  for (const [code, name, kind] of codes) {
    const e = effective(q, name);
    if (e && e.value !== false && !(name === 'delayed-retry-type' && e.value === 'disabled'))
      all.push({ code, name, kind, ...e });
  }
  const more = Object.keys(q.arguments || {}).filter((k) => !shown.has(k.replace(/^x-/, '')));
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

// The saved filters of the list, by name; letters are the queues that dead letters come to, as 'vhost\nname'.
export const filters = {
  dlq: (q, letters) => letters.has(`${q.vhost}\n${q.name}`),
  idle: (q) => q.consumers === 0,
  ttl: (q) => !!effective(q, 'message-ttl') && !effective(q, 'dead-letter-exchange'),
  full: (q) => {
    const most = effective(q, 'max-length');
    return !!most && most.value >= 0 && q.messages_ready >= most.value;
  },
};

// Fields of the page that creates a queue become the arguments of its declaration.
export function argumentsOf(f) {
  const all = {};
  if (f.type && f.type !== 'classic') all['x-queue-type'] = f.type;
  if (f.dlx !== null && f.dlx !== undefined) all['x-dead-letter-exchange'] = f.dlx;
  if (f.dlx !== null && f.dlx !== undefined && f.dlk) all['x-dead-letter-routing-key'] = f.dlk;
  if (f.strategy) all['x-dead-letter-strategy'] = f.strategy;
  const numbers = {
    ttl: 'x-message-ttl',
    expires: 'x-expires',
    maxLength: 'x-max-length',
    maxBytes: 'x-max-length-bytes',
    deliveryLimit: 'x-delivery-limit',
    priority: 'x-max-priority',
  };
  for (const [field, name] of Object.entries(numbers))
    if (f[field] !== null && f[field] !== undefined) all[name] = f[field];
  if (f.overflow && (f.maxLength || f.maxBytes)) all['x-overflow'] = f.overflow;
  if (f.single) all['x-single-active-consumer'] = true;
  if (f.retryType) {
    all['x-delayed-retry-type'] = f.retryType;
    if (f.retryMin) all['x-delayed-retry-min'] = f.retryMin;
    if (f.retryMax) all['x-delayed-retry-max'] = f.retryMax;
    if (f.retryBackoff) all['x-delayed-retry-backoff'] = f.retryBackoff;
    if (f.retryAttempts) all['x-delayed-retry-attempts'] = f.retryAttempts;
  }
  return { ...all, ...f.more };
}

// nameTrouble says what is wrong with a queue's name, as the key of a message; '' if nothing is. strict: only what ApsaraMQ takes.
export function nameTrouble(name, strict) {
  if (!name) return 'name.empty';
  if (new TextEncoder().encode(name).length > 255) return 'name.long';
  if (name.startsWith('amq.')) return 'name.amq';
  if (/[\r\n]/.test(name)) return 'name.line';
  if (strict && !/^[\w\-.#/@]+$/.test(name)) return 'name.strict';
  return '';
}

// inequivalent lists what a declaration asks for and the queue that is there has not: {name, has, asked}.
export function inequivalent(q, asked) {
  const all = [];
  if (q.durable !== asked.durable) all.push({ name: 'durable', has: q.durable, asked: asked.durable });
  if (q.auto_delete !== asked.auto_delete)
    all.push({ name: 'auto_delete', has: q.auto_delete, asked: asked.auto_delete });
  const is = { ...q.arguments };
  const wanted = { ...asked.arguments };
  if (is['x-queue-type'] === undefined) is['x-queue-type'] = q.type;
  if (wanted['x-queue-type'] === undefined) wanted['x-queue-type'] = 'classic';
  for (const name of new Set([...Object.keys(is), ...Object.keys(wanted)])) {
    if (JSON.stringify(is[name]) !== JSON.stringify(wanted[name]))
      all.push({ name, has: is[name], asked: wanted[name] });
  }
  return all;
}
