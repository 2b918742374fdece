// The virtual hosts that the user sees, and the one that was chosen: in the address, else as last time; '' is all of them.
import { html, signal, computed } from './html.js';
import { t } from './i18n.js';
import { api, path } from './api.js';
import { route, setQuery } from './router.js';
import { pref } from './store.js';

export const vhosts = signal([]);
const last = pref('vhost', '');

export const vhost = computed(() => {
  const asked = route.value.query.vhost;
  return asked !== undefined ? asked : vhosts.value.includes(last.value) ? last.value : '';
});

// oneVHost is the chosen one, or else the first: for pages that show one only.
export const oneVHost = computed(() => vhost.value || (vhosts.value.includes('/') ? '/' : vhosts.value[0] || '/'));

export async function loadVHosts() {
  vhosts.value = (await api.get('vhosts', { columns: 'name' })).map((v) => v.name);
}

export function chooseVHost(name) {
  last.value = name;
  setQuery({ vhost: name, page: '' });
}

// within is the path of a list, of the chosen virtual host only: within('queues').
export const within = (list) => (vhost.value ? `${list}/${path`${vhost.value}`}` : list);

// OneVHost says which one a page shows while all are chosen.
export function OneVHost() {
  if (vhost.value || vhosts.value.length < 2) return null;
  return html`<span class="tag">${t('frame.vhost')} ${oneVHost.value}</span>`;
}
