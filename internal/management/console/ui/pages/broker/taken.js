// Names that are there already: what is saved under one of them would replace that object.
import { useState } from '../../lib/html.js';
import { api } from '../../lib/api.js';
import { useData } from '../../lib/live.js';

// useTaken knows the names of a list of the API, such as users: {has(name), free(name)}. free asks the broker again, and is a promise of
// whether the name is free; what it finds, has knows from then on. With enabled false every name is free, and nothing is asked.
export function useTaken(list, enabled) {
  const names = (options = {}) =>
    api.get(list, { columns: 'name' }, options).then((all) => new Set(all.map((x) => x.name)));
  const got = useData((signal) => names({ signal }), [list], { every: 0, enabled });
  const [later, know] = useState(/** @type {Set<string> | null} */ (null));
  return {
    has: (name) => enabled && !!(later ?? got.data)?.has(name),
    free: async (name) => {
      if (!enabled) return true;
      const now = await names();
      know(now);
      return !now.has(name);
    },
  };
}
