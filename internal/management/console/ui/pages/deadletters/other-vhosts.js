// What a page of one virtual host leaves out while all are chosen.
import { html } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { api } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { href } from '../../lib/router.js';
import { oneVHost, vhost, vhosts } from '../../lib/vhosts.js';

const askedMax = 200; // of more virtual hosts it takes the broker too long
const namedMax = 10;

// OtherVHosts leads to the other virtual hosts that have something for a page: countOf says how much, of a summary of dead letters.
export function OtherVHosts({ page, countOf }) {
  const all = !vhost.value && vhosts.value.length > 1 && vhosts.value.length <= askedMax;
  const got = useData((signal) => (all ? api.get('x/letters', {}, { signal }) : null), [all], { on: ['letters'] });
  const others = (all && got.data ? got.data : [])
    .map((s) => ({ name: s.vhost, n: countOf(s) }))
    .filter((s) => s.name !== oneVHost.value && s.n > 0)
    .sort((a, b) => b.n - a.n);
  if (others.length === 0) return null;
  return html`<p class="banner">${t('letters.only_vhost', { name: oneVHost.value })} ${others
    .slice(0, namedMax)
    .map(
      (s, i) =>
        html`${i > 0 && t('frame.comma')}<a key=${s.name} class="break" href=${href(page, { vhost: s.name })}>${s.name} (${num(s.n)})</a>`,
    )}${others.length > namedMax && ' …'}</p>`;
}
