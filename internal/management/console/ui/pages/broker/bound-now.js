// Where messages would go by what is bound now.
import { api, path } from '../../lib/api.js';
import { follow } from './routing.js';

// boundNow is what routes messages in a virtual host, as follow wants it.
export async function boundNow(vhost, signal) {
  const [exchanges, bindings, queues, policies] = await Promise.all([
    api.get(path`exchanges/${vhost}`, { columns: 'name,type,arguments,policy', disable_stats: true }, { signal }),
    api.get(path`bindings/${vhost}`, {}, { signal }),
    api.get(path`queues/${vhost}`, { columns: 'name', disable_stats: true }, { signal }),
    api.get(path`policies/${vhost}`, {}, { signal }).catch(() => []), // not everybody may read them
  ]);
  const alternates = new Map(policies.map((p) => [p.name, p.definition['alternate-exchange']]));
  return {
    exchanges: exchanges.map((e) => ({ ...e, policyAlternate: e.policy ? alternates.get(e.policy) : undefined })),
    bindings: bindings.filter((b) => b.source !== ''),
    queues: new Set(queues.map((q) => q.name)),
  };
}

// withoutQueue are those messages {vhost, exchange, routing_key, properties} that no queue would get now. One whose exchange is not there is
// none of them, and nor is any if it cannot be known.
export async function withoutQueue(messages) {
  const found = await Promise.all(
    [...new Set(messages.map((m) => m.vhost))].map(async (vhost) => {
      const at = await boundNow(vhost).catch(() => null);
      const there = new Set(at?.exchanges.map((e) => e.name));
      const here = messages.filter((m) => m.vhost === vhost && there.has(m.exchange));
      return here.filter((m) => keysOf(m).every((key) => goesNowhere(at, m, key)));
    }),
  );
  return found.flat();
}

const goesNowhere = (at, m, key) => follow(at, m.exchange, key, m.properties?.headers || {}).queues.length === 0;

// keysOf are all keys that a message is routed by.
const keysOf = (m) => [
  m.routing_key,
  ...['CC', 'BCC'].flatMap((name) => m.properties?.headers?.[name] || []).filter((key) => typeof key === 'string'),
];
