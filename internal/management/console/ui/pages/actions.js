// What can be done from anywhere: rows of the palette besides pages and what the broker has by name.
import { t, word } from '../lib/i18n.js';
import { api, path } from '../lib/api.js';
import { go, to } from '../lib/router.js';
import { open } from '../lib/layers.js';
import { oneVHost, vhost, vhosts } from '../lib/vhosts.js';

// actions are {title, needs, run}: title is the key of a text, needs the tag without which an action is not offered.
export const actions = [
  { title: 'queues.create', run: () => go('/queues/new', { vhost: vhost.value }) },
  { title: 'exchange.create', run: () => import('./broker/exchanges.js').then((m) => m.createExchange()) },
  { title: 'policies.create', needs: 'policymaker', run: () => go('/policies/edit', { vhost: oneVHost.value }) },
  {
    title: 'policies.create_operator',
    needs: 'administrator',
    run: () => go('/policies/edit', { vhost: oneVHost.value, operator: '1' }),
  },
  {
    title: 'users.create',
    needs: 'administrator',
    run: () =>
      import('./broker/user-dialogs.js').then((m) => open(m.EditUser)).then((name) => name && go(to`/users/${name}`)),
  },
  {
    title: 'vhosts.create',
    needs: 'administrator',
    run: () => import('./broker/vhosts.js').then((m) => m.createVHost()),
  },
  { title: 'import.title', run: () => import('./deadletters/import.js').then((m) => m.importLetters(oneVHost.value)) },
];

// lookUp finds jobs by number, and the dead-letter queues whose letters can be sent back: {kind, title, run}.
export async function lookUp(text, abort) {
  const asked = text.toLowerCase();
  const number = /\d+$/.exec(asked)?.[0];
  const seen = vhost.value ? [vhost.value] : vhosts.value;
  const ofJobs =
    number &&
    (await Promise.all(seen.map((v) => api.get(`x/redrives/${path`${v}`}`, {}, { signal: abort }).catch(() => []))))
      .flat()
      .filter((j) => String(j.id) === number);
  const summary = await api
    .get(`x/letters/${path`${oneVHost.value}`}/summary`, {}, { signal: abort })
    .catch(() => null);
  const redrive = (q) =>
    import('./deadletters/redrive.js').then((m) =>
      m.beginRedrive(oneVHost.value, [{ source: { queue: q.name }, filter: '', count: q.messages }]),
    );
  return [
    ...(ofJobs || []).map((j) => ({
      kind: t('palette.job'),
      title: `${t('jobs.one', { id: j.id })} · ${word('action', j.action)} · ${j.source.lost ? t('letters.shelf') : j.source.queue}`,
      run: () => go(to`/jobs/${j.vhost}/${j.id}`),
    })),
    ...(summary?.queues || [])
      .filter((q) => q.messages > 0)
      .map((q) => ({
        kind: t('palette.action'),
        title: t('palette.redrive', { queue: q.name }),
        run: () => redrive(q),
      }))
      .filter((x) => asked.split(/\s+/).every((w) => x.title.toLowerCase().includes(w)))
      .slice(0, 6),
  ];
}
