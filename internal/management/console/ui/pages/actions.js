// What can be done from anywhere: rows of the palette besides pages and what the broker has by name.
import { t, word } from '../lib/i18n.js';
import { api, path } from '../lib/api.js';
import { go, route, to } from '../lib/router.js';
import { matchPath } from '../lib/paths.js';
import { open } from '../lib/layers.js';
import { fileAt } from '../lib/states.js';
import { oneVHost, vhost, vhosts, within } from '../lib/vhosts.js';
import { folded, named, wordsOf } from '../lib/find.js';
import { rightsIn } from '../lib/rights.js';
import { quote } from './messages/filter.js';
import { lacksIn } from './deadletters/lacks.js';

// actions are {title, needs, lacks, run}: title is the key of a text, needs the tag without which an action is not offered, lacks says
// what else is missing. also.TITLE are other words that find one.
const lacksAny = (right) => rightsIn(oneVHost.value).any(right);
const dialogs = () => import('./broker/queue-dialogs.js');
const choosing = () => import('./broker/choose.js');

export const actions = [
  { title: 'palette.redrive_some', lacks: () => lacksAny('write'), run: () => choosing().then((m) => m.redriveSome()) },
  {
    title: 'palette.publish',
    lacks: () => lacksAny('write'),
    run: () => dialogs().then((m) => m.publishTo(addressHere())),
  },
  {
    title: 'palette.schedule',
    lacks: () => lacksAny('write'),
    run: () => dialogs().then((m) => m.scheduleIn(oneVHost.value)),
  },
  {
    title: 'palette.cancel_scheduled',
    lacks: () => lacksAny('write'),
    run: () => go('/schedule', { vhost: vhost.value }),
  },
  { title: 'palette.purge_some', lacks: () => lacksAny('read'), run: () => choosing().then((m) => m.purgeSome()) },
  {
    title: 'palette.delete_some',
    lacks: () => lacksAny('configure'),
    run: () => choosing().then((m) => m.deleteSome()),
  },
  {
    title: 'bind.title',
    lacks: () => lacksAny('write'),
    run: () => dialogs().then((m) => m.bind(ends())),
  },
  { title: 'queues.create', lacks: () => lacksAny('configure'), run: () => go('/queues/new', { vhost: vhost.value }) },
  {
    title: 'exchange.create',
    lacks: () => lacksAny('configure'),
    run: () => import('./broker/exchanges.js').then((m) => m.createExchange()),
  },
  { title: 'monitoring.title', needs: 'monitoring', run: () => go('/monitoring') },
  { title: 'palette.docs', run: () => window.open(fileAt('docs'), '_blank', 'noreferrer,noopener') },
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
  {
    title: 'import.title',
    lacks: () => lacksAny('write'),
    run: () => import('./deadletters/import.js').then((m) => m.importMessages(oneVHost.value)),
  },
];

// ends are what is known of a binding: the exchange or the queue whose page is shown is one end of it.
function ends() {
  const [exchange, queue] = ['exchanges', 'queues'].map((of) => matchPath(`/${of}/:vhost/:name`, route.value.path));
  if (exchange && exchange.name !== 'amq.default') return { vhost: exchange.vhost, source: exchange.name };
  if (queue) return { vhost: queue.vhost, target: { type: 'queue', name: queue.name } };
  return { vhost: oneVHost.value };
}

// addressHere is where a message is published to: what the page that is shown is about, its queue by the default exchange.
function addressHere() {
  const { vhost: v, source = '', target } = ends();
  return { vhost: v, exchange: source, routingKey: target?.name ?? '' };
}

// lookUp finds jobs by number, and what can be done to queues that are named: {kind, title, run}.
export async function lookUp(text, abort) {
  const number = /\d+$/.exec(folded(text))?.[0];
  const seen = vhost.value ? [vhost.value] : vhosts.value;
  const ofJobs =
    number &&
    (await Promise.all(seen.map((v) => api.get(`x/redrives/${path`${v}`}`, {}, { signal: abort }).catch(() => []))))
      .flat()
      .filter((j) => String(j.id) === number);
  const words = wordsOf(text);
  const rows = await Promise.all([
    ofDeadLetterQueues(words, abort),
    ofQueues(words, abort),
    ofSchedule(text.trim(), abort),
  ]);
  return [
    ...(ofJobs || []).map((j) => ({
      kind: t('palette.job'),
      title: `${t('jobs.one', { id: j.id })} · ${word('action', j.action)} · ${j.source.lost ? t('letters.lost_store') : j.source.queue}`,
      run: () => go(to`/jobs/${j.vhost}/${j.id}`),
    })),
    ...rows.flat(),
  ];
}

const mostRows = 6;
const mostSchedules = 20; // that are asked for a message

// ofSchedule finds messages that wait by their schedule key or message ID, as a whole. Where more wait than the broker looks through at
// once, the schedule goes on with that, if this is chosen.
async function ofSchedule(text, abort) {
  if (!text) return [];
  const all = await api.get('x/scheduled', {}, { signal: abort }).catch(() => []);
  const asked = all
    .filter((s) => s.messages > 0 && (!vhost.value || s.vhost === vhost.value))
    .filter((s) => !rightsIn(s.vhost).exchange('read', s.exchange))
    .slice(0, mostSchedules);
  const find = (s, query) =>
    api
      .get(`x/scheduled/${path`${s.vhost}/${s.exchange}`}`, query, { signal: abort })
      .then((page) => ({ ...page, items: page.items.map((m) => ({ ...m, vhost: s.vhost })) }))
      .catch(() => ({ items: [], next: null }));
  const [keyed, named] = await Promise.all(
    [{ key: text }, { message_id: text, limit: mostRows }].map((query) =>
      Promise.all(asked.map((s) => find(s, query))),
    ),
  );
  const found = new Map(
    [...keyed, ...named].flatMap((page) => page.items).map((m) => [`${m.vhost} ${m.exchange} ${m.id}`, m]),
  );
  const rows = [...found.values()].map((m) => ({
    kind: t('palette.scheduled'),
    title: `${text} · ${m.exchange}`,
    run: () => go(to`/schedule/${m.vhost}/${m.exchange}/${m.id}`),
  }));
  if (rows.length || !named.some((page) => page.next)) return rows;
  const filter = `message-id:${quote(text)}`;
  return [
    {
      kind: t('palette.search'),
      title: t('palette.scheduled_id', { text }),
      last: true,
      run: () => go('/schedule', { filter, all: '1', vhost: vhost.value }),
    },
  ];
}

// askedOf are the words of a name that an action is asked for, null if another is.
const askedOf = (words, verb) => named(words, wordsOf(t(`verbs.${verb}`)), wordsOf(t('verbs.noise')));
const has = (name, words) => words.every((w) => folded(name).toLowerCase().includes(w));

// ofDeadLetterQueues redrives or discards what is in dead-letter queues.
async function ofDeadLetterQueues(words, abort) {
  const v = oneVHost.value;
  const actions = ['redrive', 'discard'].map((action) => [action, askedOf(words, action)]).filter(([, name]) => name);
  if (!actions.length) return [];
  const summary = await api.get(`x/letters/${path`${v}`}/summary`, {}, { signal: abort }).catch(() => null);
  const filled = (summary?.queues || []).filter((q) => q.messages > 0);
  const begin = (q, action) =>
    import('./deadletters/redrive.js').then((m) =>
      m.beginRedrive(v, [{ source: { queue: q.name }, filter: '', count: q.messages }], action),
    );
  return actions.flatMap(([action, name]) =>
    filled
      .filter((q) => has(q.name, name) && !lacksIn(v, [q.name])[action])
      .slice(0, mostRows)
      .map((q) => ({
        kind: t('palette.action'),
        title: t(`palette.${action}`, { queue: q.name }),
        run: () => begin(q, action),
      })),
  );
}

// ofQueues purges or deletes a queue that is named.
async function ofQueues(words, abort) {
  const rights = { purge: 'read', delete: 'configure' };
  const actions = Object.keys(rights)
    .map((action) => [action, askedOf(words, action)])
    .filter(([, name]) => name?.length);
  if (!actions.length) return [];
  const name = actions[0][1];
  const query = { page: 1, page_size: 50, name: name[0], columns: 'name,vhost,messages,messages_ready,consumers' };
  const got = await api.get(within('queues'), query, { signal: abort }).catch(() => ({ items: [] }));
  const run = (action, q) =>
    import('./broker/queue-dialogs.js').then((m) => (action === 'purge' ? m.purge([q]) : m.remove([q])));
  return actions.flatMap(([action]) =>
    got.items
      .filter((q) => has(q.name, name) && !rightsIn(q.vhost).queue(rights[action], q.name))
      .slice(0, mostRows)
      .map((q) => ({
        kind: t('palette.action'),
        title: t(`palette.${action}`, { queue: q.name }),
        run: () => run(action, q),
      })),
  );
}
