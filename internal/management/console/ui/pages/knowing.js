// Loads pages that show settings, with the settings that the broker has.
import { api } from '../lib/api.js';
import { know } from '../lib/known.js';

let asked = null;

// settings asks once; after a failure the next page asks again.
function settings() {
  asked ||= api.get('x/settings').then(know);
  asked.catch(() => {
    asked = null;
  });
  return asked;
}

// knowing loads a page and the settings; it fails if either does, so that no form lacks its fields.
export const knowing = (load) => async () => {
  const [page] = await Promise.all([load(), settings()]);
  return page;
};
