// Where the console is, for what users copy out of it.
import { prefix } from './place.js';
import { user } from './session.js';

// here is the address of the HTTP API, the host of the broker, and who is logged in.
export const here = () => ({
  base: location.origin + prefix,
  host: location.hostname || 'localhost',
  user: user.value?.name || 'guest',
});
