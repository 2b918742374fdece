// The virtual hosts that the user sees, and the one that was chosen: in the address, else as last time; '' is all of them.
import { html, signal, computed } from './html.js';
import { t } from './i18n.js';
import { api, path } from './api.js';
import { leaveFor, route, setQuery } from './router.js';
import { may, user } from './session.js';
import { Command } from './states.js';
import { ctl } from './commands.js';
import { pref } from './store.js';

export const vhosts = signal([]);
const loaded = signal(false);
const last = pref('vhost', '');

// chosen is what the user has chosen in this tab, whatever the page that is shown is about.
export const chosen = computed(() => (vhosts.value.includes(last.value) ? last.value : ''));

export const vhost = computed(() => route.value.query.vhost ?? chosen.value);

// oneVHost is the chosen one, or else the first: for pages that show one only.
export const oneVHost = computed(() => vhost.value || (vhosts.value.includes('/') ? '/' : vhosts.value[0] || '/'));

export async function loadVHosts() {
  vhosts.value = (await api.get('vhosts', { columns: 'name' })).map((v) => v.name);
  loaded.value = true;
}

export const chooseVHost = (name) =>
  leaveFor('vhost', () => {
    last.value = name;
    setQuery({ vhost: name, page: '' });
  });

// listWith is the choice of a list that is to show what is in a virtual host: the choice of the user, unless it leaves that out.
export const listWith = (name) => (vhosts.value.includes(last.value) && last.value !== name ? name : undefined);

// within is the path of a list, of the chosen virtual host only: within('queues').
export const within = (list) => (vhost.value ? `${list}/${path`${vhost.value}`}` : list);

// noVHost: the user has a permission in no virtual host. Who monitors sees all of them.
export const noVHost = computed(() => loaded.value && vhosts.value.length === 0 && !may('monitoring'));

// NoVHost is shown then instead of pages, which would say that the broker has nothing.
export function NoVHost() {
  return html`<section class="empty"><h2>${t('frame.no_vhost')}</h2><p>${t('frame.no_vhost_text')}</p>
    <${Command} words=${ctl('set_permissions', [user.value.name, '.*', '.*', '.*'])} label=${t('frame.no_vhost_text')} />
    <p><button type="button" onClick=${() => loadVHosts().catch(() => {})}>${t('frame.retry')}</button></p></section>`;
}

// OneVHost says which one a page shows while all are chosen.
export function OneVHost() {
  if (vhost.value || vhosts.value.length < 2) return null;
  return html`<span class="tag">${t('frame.vhost')} ${oneVHost.value}</span>`;
}
