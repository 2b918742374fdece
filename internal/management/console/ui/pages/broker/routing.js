// Where a message would go: exchanges and bindings followed as the broker does. Pure.

// topicFits tells whether a topic pattern fits a routing key.
export function topicFits(pattern, key) {
  const want = pattern.split('.');
  const got = key.split('.');
  let fits = new Set([0]); // how much of got may be used up
  for (const word of want) {
    const next = new Set();
    for (const at of fits) {
      if (word === '#') for (let i = at; i <= got.length; i++) next.add(i);
      else if (at < got.length && (word === '*' || word === got[at])) next.add(at + 1);
    }
    fits = next;
  }
  return fits.has(got.length);
}

const text = (v) => (typeof v === 'object' && v !== null ? JSON.stringify(v) : `${typeof v}:${v}`);

// headersFit tells whether a binding's arguments fit the headers of a message.
export function headersFit(args, headers) {
  const how = args['x-match'] || 'all';
  const withX = how === 'all-with-x' || how === 'any-with-x';
  const wanted = Object.entries(args).filter(([k]) => k !== 'x-match' && (withX || !k.startsWith('x-')));
  const fits = ([k, v]) => k in headers && (v === null || text(v) === text(headers[k]));
  if (how.startsWith('any')) return wanted.some(fits);
  return wanted.every(fits);
}

// fits tells how a binding of an exchange of that type takes a message: yes, no, or perhaps, where chance or a hash decides.
export function fits(type, binding, key, headers) {
  switch (type) {
    case 'fanout':
      return 'yes';
    case 'direct':
      return binding.routing_key === key ? 'yes' : 'no';
    case 'topic':
      return topicFits(binding.routing_key, key) ? 'yes' : 'no';
    case 'headers':
      return headersFit(binding.arguments || {}, headers) ? 'yes' : 'no';
    default:
      return 'perhaps';
  }
}

// follow says where a message goes that is published to an exchange: {queues: [{name, sure}], steps: [{exchange, missing, delayed,
// alternate, bindings: [{binding, sure}]}]}. at is {exchanges, bindings} of one virtual host, and queues, their names as a Set.
export function follow(at, exchange, key, headers = {}) {
  const byName = new Map(at.exchanges.map((e) => [e.name, e]));
  const from = new Map();
  for (const b of at.bindings) {
    if (!from.has(b.source)) from.set(b.source, []);
    from.get(b.source).push(b);
  }
  const queues = new Map();
  const steps = [];
  const seen = new Set();
  const take = (name, sure) => queues.set(name, queues.get(name) || false || sure);
  const walk = (name, sure, alternate) => {
    if (seen.has(name)) return false;
    seen.add(name);
    const e = byName.get(name);
    if (!e) {
      steps.push({ exchange: name, missing: true, alternate, bindings: [] });
      return false;
    }
    const delayed = e.type === 'x-delayed-message';
    const type = delayed ? e.arguments?.['x-delayed-type'] || 'direct' : e.type;
    const step = {
      exchange: name,
      type: e.type,
      missing: false,
      delayed: delayed && 'x-delay' in headers,
      alternate,
      bindings: [],
    };
    steps.push(step);
    let routed = false;
    if (name === '') {
      routed = at.queues.has(key);
      if (routed) take(key, sure);
    }
    for (const b of name === '' ? [] : from.get(name) || []) {
      const how = fits(type, b, key, headers);
      if (how === 'no') continue;
      const certain = sure && how === 'yes';
      step.bindings.push({ binding: b, sure: how === 'yes' });
      if (b.destination_type === 'queue') {
        take(b.destination, certain);
        routed = true;
      } else {
        walk(b.destination, certain);
        routed = true;
      }
    }
    const other = e.arguments?.['alternate-exchange'] ?? e.policyAlternate;
    if (!routed && other !== undefined) return walk(other, sure, true);
    return routed;
  };
  walk(exchange, true, false);
  return { queues: [...queues].map(([name, sure]) => ({ name, sure })), steps };
}
