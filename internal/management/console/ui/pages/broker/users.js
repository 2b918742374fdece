// Users: the list, and what each may where.
import { html } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { go, href, to, useKept } from '../../lib/router.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Icon } from '../../lib/icon.js';
import { attempt, confirm, open } from '../../lib/layers.js';
import { Shown } from '../../lib/states.js';
import { vhosts } from '../../lib/vhosts.js';
import { user as me } from '../../lib/session.js';
import { EditUser, Grant } from './user-dialogs.js';
import { Tabs } from './parts.js';

export const userLink = (name) => html`<a class="name-cell" href=${href(to`/users/${name}`)}>${name}</a>`;

const columnsOf = (permissions) => [
  { key: 'name', title: t('queues.name'), always: true, render: (u) => userLink(u.name) },
  {
    key: 'tags',
    title: t('users.tags'),
    value: (u) => u.tags.join(', '),
    render: (u) =>
      html`<span class="tags">${u.tags.length ? u.tags.map((tag) => html`<span class="tag" key=${tag}>${tag}</span>`) : html`<span class="faint">${t('users.no_tag')}</span>`}</span>`,
  },
  {
    key: 'password',
    title: t('users.password'),
    value: (u) => (u.password_hash ? t('users.has_password') : t('users.no_password')),
  },
  {
    key: 'vhosts',
    title: t('vhosts.title'),
    value: (u) =>
      permissions
        .filter((p) => p.user === u.name)
        .map((p) => p.vhost)
        .join(', ') || t('users.nowhere'),
  },
  {
    key: 'limits',
    title: t('users.limits'),
    value: (u) =>
      Object.entries(u.limits)
        .map(([k, v]) => `${k} ${v}`)
        .join(', ') || '–',
  },
];

async function removeUsers(all) {
  const sure = await confirm({
    title: t('users.delete_title', { n: all.length, name: all[0].name }),
    text: t('users.delete_text', { names: all.map((u) => u.name).join(t('frame.comma')) }),
    action: t('queues.delete'),
    danger: true,
  });
  return (
    sure &&
    attempt(
      () => api.post('users/bulk-delete', { users: all.map((u) => u.name) }),
      t('users.deleted', { n: all.length }),
    )
  );
}

export function render({ query }) {
  const picked = useKept('selection', new Set());
  const got = useData(
    async (signal) => {
      const [users, permissions] = await Promise.all([
        api.get('users', {}, { signal }),
        api.get('permissions', {}, { signal }),
      ]);
      return { users, permissions };
    },
    [],
    { every: 10000 },
  );
  const columns = columnsOf(got.data?.permissions || []);
  const source = useRows({ ...got, data: got.data?.users }, columns, { usual: { sort: 'name' } });
  const matrix = query.tab === 'matrix';
  return html`<div class="page-head"><h1>${t('users.title')}</h1><button type="button" onClick=${() => open(EditUser).then((name) => name && go(to`/users/${name}`))}><${Icon} name="plus" /> ${t('users.create')}</button></div>
    <${Tabs} label=${t('users.title')} at=${matrix ? 'matrix' : 'list'} tabs=${[
      ['list', t('users.list')],
      ['matrix', t('users.matrix')],
    ]} />
    ${
      matrix
        ? html`<${Shown} of=${got}>${(d) => html`<${Matrix} ...${d} changed=${got.refresh} />`}</${Shown}>`
        : html`<${Table} id="users" caption=${t('users.title')} source=${source} columns=${columns} selection=${picked} onOpen=${(u) => go(to`/users/${u.name}`)}
        actions=${(rows) =>
          rows.length > 0 &&
          html`<button type="button" disabled=${rows.some((u) => u.name === me.value?.name)} onClick=${() =>
            removeUsers(rows).then((done) => {
              if (done) {
                picked[1](new Set());
                got.refresh();
              }
            })}><${Icon} name="discard" /> ${t('queues.delete')}</button>`} />`
    }`;
}

// Matrix is users by virtual hosts; an empty cell is no access.
function Matrix({ users, permissions, changed }) {
  const by = new Map(permissions.map((p) => [`${p.user}\n${p.vhost}`, p]));
  return html`<div class="table-box" tabindex="0" role="region" aria-label=${t('users.matrix')}><table class="matrix"><caption class="hidden">${t('users.matrix')}</caption>
    <thead><tr><th scope="col">${t('users.user')}</th>${vhosts.value.map((v) => html`<th scope="col" key=${v}><a href=${href(to`/vhosts/${v}`)}>${v}</a></th>`)}</tr></thead>
    <tbody>${users.map(
      (u) =>
        html`<tr key=${u.name}><th scope="row">${userLink(u.name)}</th>${vhosts.value.map((v) => {
          const p = by.get(`${u.name}\n${v}`);
          return html`<td key=${v}><button type="button" class="plain" onClick=${() => open(Grant, { user: u.name, vhost: v, known: p }).then((done) => done && changed())}><span class="hidden">${t('users.cell', { user: u.name, vhost: v })} </span>${p ? html`<${Rights} of=${p} />` : html`<span class="faint">${t('users.none')}</span>`}</button></td>`;
        })}</tr>`,
    )}</tbody></table></div><p class="hint">${t('users.matrix_hint', { n: num(users.length) })}</p>`;
}

// Rights are the three expressions in short.
export function Rights({ of: p }) {
  const one = (right) =>
    html`<span>${t(`right.${right}`)} <code>${p[right] === '' ? t('users.nothing') : p[right]}</code></span>`;
  return html`<span class="changes">${one('configure')}${one('write')}${one('read')}</span>`;
}
