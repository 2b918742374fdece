// Where the console is, for what users copy out of it.
import { prefix } from './place.js';
import { api } from './api.js';
import { useData } from './live.js';
import { user } from './session.js';

// here is the address of the HTTP API, the host of the broker, and who is logged in.
export const here = () => ({
  base: location.origin + prefix,
  host: location.hostname || 'localhost',
  user: user.value?.name || 'guest',
});

// useHere is here with the port of AMQP, and tls if there is only one with TLS.
export function useHere() {
  const { data } = useData((signal) => api.get('x/ports', {}, { signal }), [], { every: 0 });
  const found = data?.find((p) => p.protocol === 'amqp') ?? data?.[0];
  return { ...here(), port: found?.port, tls: found?.protocol === 'amqp/ssl' };
}
