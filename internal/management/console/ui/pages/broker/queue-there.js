// What a declaration meets: a queue or an exchange of that name that is there, and what is different about it.
import { html, useEffect, useState } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { ExchangeLink, QueueLink } from './parts.js';
import { written } from './setting-parts.js';

// useThere is the queue of that name, a moment after it was typed; null if there is none.
export function useThere(vhost, name) {
  const [found, set] = useState(null);
  useEffect(() => {
    set(null);
    if (!name) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        api
          .get(
            path`queues/${vhost}`,
            {
              name: `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`,
              use_regex: true,
              page: 1,
              page_size: 2,
              disable_stats: true,
            },
            { signal: abort.signal },
          )
          .then(
            (got) => set(got.items.find((q) => q.name === name) || null),
            () => {},
          ),
      250,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [vhost, name]);
  return found;
}

// There says that a queue or an exchange is there, and what is different, as inequivalent lists it.
export function There({ kind, vhost, name, clash }) {
  const Link = kind === 'exchange' ? ExchangeLink : QueueLink;
  return html`<p class=${`banner ${clash.length ? 'bad' : 'warn'}`} role="status">${t(clash.length ? 'create.clash' : 'create.same', { kind, name })} <${Link} vhost=${vhost} name=${name} /></p>
    ${clash.length > 0 && html`<ul>${clash.map((c) => html`<li key=${c.name}>${t('create.differs', { name: c.name, has: written(c.has), asked: written(c.asked) })}</li>`)}</ul>`}`;
}
