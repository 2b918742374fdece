// A field for the name of a queue or an exchange: what is typed asks the server, for there may be many.
import { html, useEffect, useState } from '../../lib/html.js';
import { sentences, t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { TextField } from '../../lib/form.js';

const most = 50;
const pause = 250;

// NameField: of is 'queues' or 'exchanges'. It suggests the first whose names have what was typed, and says how many others there are.
export function NameField({ vhost, of, value, hint, ...rest }) {
  const [found, setFound] = useState({ names: [], others: 0 });
  const [asked, setAsked] = useState(value || '');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(value || ''), pause);
    return () => clearTimeout(timer);
  }, [value]);
  useEffect(() => {
    const abort = new AbortController();
    const query = { page: 1, page_size: most, name: asked, use_regex: 'false', columns: 'name', disable_stats: 'true' };
    api.get(`${of}/${path`${vhost}`}`, query, { signal: abort.signal }).then(
      (x) => {
        const names = x.items.map((one) => one.name).filter(Boolean);
        setFound({ names, others: Math.max(0, x.filtered_count - x.items.length) });
      },
      () => {},
    );
    return () => abort.abort();
  }, [vhost, of, asked]);
  const more = found.others > 0 ? t('redrive.more_names', { n: found.others, shown: found.names.length }) : '';
  return html`<${TextField} value=${value} list=${found.names} hint=${sentences(hint, more) || undefined} autocomplete="off" ...${rest} />`;
}
