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

// useHere is here with the port of AMQP, where the broker shows its listeners to the user; otherwise clients use the usual one.
export function useHere() {
  const { data } = useData((signal) => api.get('overview', { disable_stats: true }, { signal }), [], { every: 0 });
  return { ...here(), port: data?.listeners?.find((l) => l.protocol === 'amqp')?.port };
}
