// The commands that pages show, as lists of words. Pure.
import { ctl, curl, inVHost } from '../../lib/commands.js';
import { durationText } from '../../lib/duration.js';
import { patternOf } from '../broker/queue-name.js';

// What pages show where they have nothing to show.
export const lintCommand = ctl('lint');
export const lostLettersCommand = ctl('list_lost_letters');
export const scheduledCommand = ctl('scheduled count');
export const redriveCommand = ctl('dlq redrive', ['orders.dlq'], ['--dry-run']);
export const queueCommand = ctl(
  'declare_queue',
  ['orders'],
  ['--arguments', '{"x-dead-letter-exchange":"","x-dead-letter-routing-key":"orders.dlq"}'],
);
export const deadLetterCommand = ctl(
  'set_policy',
  ['dlx', '^orders$', '{"dead-letter-exchange":"dlx"}'],
  ['--apply-to', 'queues'],
);

// firstSteps show what the broker is for: a queue with a dead-letter queue, a message that expires, its redrive.
export const firstSteps = {
  create: [ctl('declare_queue', ['orders.dlq']), queueCommand],
  publish: [ctl('publish_message', ['orders', '{"order":4711}'], ['--properties', '{"expiration":"1000"}'])],
  redrive: [ctl('dlq redrive', ['orders.dlq'], ['--drop-expiration'])],
};

// retryCommand makes messages that are returned to a queue wait.
export function retryCommand({ vhost, name }) {
  const definition = { 'delayed-retry-type': 'all', 'delayed-retry-min': 1000, 'delayed-retry-max': 60000 };
  return ctl(
    'set_policy',
    ['backoff', patternOf([name]), JSON.stringify(definition)],
    [...inVHost(vhost), '--apply-to', 'queues'],
  );
}

// jobCommands begin a redrive or a discard, as the body says: {ctl, curl}.
export function jobCommands(at, vhost, body) {
  const { source, action, options: o = {}, target, ids = [], filter, max, force } = body;
  const options = [
    ...inVHost(vhost),
    ...(action === 'redrive' ? toOf(target) : []),
    ...given('--where', filter),
    ...given('--max', max),
    ...(o.order === 'newest' ? ['--newest'] : []),
    ...given('--rate', o.rate),
    ...given('--canary', o.canary),
    ...(o.ramp ? ['--ramp'] : []),
    ...given('--watch', o.watch_ms && (o.canary || o.stop_percent) && durationText(o.watch_ms)),
    ...given('--stop-percent', o.stop_percent),
    ...(o.stop_no_consumer ? ['--stop-without-consumer'] : []),
    ...(o.strip_deaths ? ['--strip-deaths'] : []),
    ...(o.drop_expiration ? ['--drop-expiration'] : []),
    ...(force ? ['--force'] : []),
    ...(action === 'discard' ? ['--yes'] : []),
    ...(source.lost ? ['--lost'] : []),
  ];
  return {
    ctl: ctl(`dlq ${action}`, [...(source.lost ? [] : [source.queue]), ...ids.map(String)], options),
    curl: curl(at, 'POST', `x/redrives/${encodeURIComponent(vhost)}`, body),
  };
}

const to = (...parts) => parts.map(encodeURIComponent).join('/');

// purgeCommands and deleteCommands are of queues {vhost, name}: {ctl, curl}.
export const purgeCommands = (at, queues) => ({
  ctl: queues.map((q) => ctl('purge_queue', [q.name], inVHost(q.vhost))),
  curl: queues.map((q) => curl(at, 'DELETE', `queues/${to(q.vhost, q.name)}/contents`)),
});
export const deleteCommands = (at, queues) => ({
  ctl: queues.map((q) => ctl('delete_queue', [q.name], inVHost(q.vhost))),
  curl: queues.map((q) => curl(at, 'DELETE', `queues/${to(q.vhost, q.name)}`)),
});

// bindCommands bind a queue, or with type exchange an exchange, to an exchange that is not the default one.
export function bindCommands(at, { vhost, source, type, name, key, args = {} }) {
  const options = [
    ...inVHost(vhost),
    ...given('--routing-key', key),
    ...(Object.keys(args).length ? ['--arguments', JSON.stringify(args)] : []),
    ...(type === 'exchange' ? ['--to-exchange'] : []),
  ];
  const body = { routing_key: key, arguments: args };
  return {
    ctl: ctl('declare_binding', [source, name], options),
    curl: curl(
      at,
      'POST',
      `bindings/${to(vhost)}/e/${to(source)}/${type === 'exchange' ? 'e' : 'q'}/${to(name)}`,
      body,
    ),
  };
}

// publishCommands publish a message as the HTTP API takes it, in body. bartleby ctl takes text only.
export function publishCommands(at, { vhost, exchange, body }) {
  const { routing_key: key, payload, payload_encoding: encoding, properties } = body;
  const options = [...inVHost(vhost), ...given('--exchange', exchange), '--properties', JSON.stringify(properties)];
  return {
    ctl: encoding === 'string' && ctl('publish_message', [key, payload], options),
    curl: curl(at, 'POST', `exchanges/${to(vhost, exchange || 'amq.default')}/publish`, body),
  };
}

// resendCommands publish a message of a place {vhost, queue, lost} again, edited as the body says.
export function resendCommands(at, { vhost, queue, lost, id }, body) {
  const { target, exchange, routing_key: key, payload, payload_encoding: encoding, properties, keep, force } = body;
  const text = (name, value) => (value === undefined ? [] : [name, value]);
  const options = [
    ...inVHost(vhost),
    ...given('--to', target?.to),
    ...text('--exchange', exchange),
    ...text('--routing-key', key),
    ...text('--payload-text', payload),
    ...text('--properties', properties && JSON.stringify(properties)),
    ...(keep ? ['--keep'] : []),
    ...(force ? ['--force'] : []),
    ...(lost ? ['--lost'] : []),
  ];
  const path = lost ? `x/lost-letters/${to(vhost)}` : `x/queues/${to(vhost, queue)}`;
  return {
    ctl: encoding !== 'base64' && ctl('resend_letter', [...(lost ? [] : [queue]), String(id)], options),
    curl: curl(at, 'POST', `${path}/messages/${to(id)}/resend`, body),
  };
}

// importCommands import a file of definitions: of everything, or of one virtual host, which bartleby ctl does not do.
export const importCommands = (at, vhost, file) => ({
  ctl: !vhost && ctl('import_definitions', [file]),
  curl: curl(at, 'POST', vhost ? `definitions/${to(vhost)}` : 'definitions', { file }),
});

// userCommands make a user, or change one that is known. how is what becomes of the password: password, hash, none, keep. bartleby ctl
// asks for a password; curl has it, so that command is there only where the password is shown.
export function userCommands(at, name, body, { known, how, shown }) {
  const change = {
    password: () => [ctl(known ? 'change_password' : 'add_user', [name])],
    hash: () => !known && [ctl('add_user', [name, body.password_hash], ['--pre-hashed-password'])],
    none: () => known && [ctl('clear_password', [name])],
    keep: () => [],
  }[how]();
  return {
    ctl: change && [...change, ctl('set_user_tags', [name, ...body.tags.split(',').filter(Boolean)])],
    curl: (how !== 'password' || shown) && curl(at, 'PUT', `users/${to(name)}`, body),
  };
}

// grantCommands and topicCommands set the permissions of a user in a virtual host, and those for the keys of a topic exchange.
export const grantCommands = (at, { vhost, user, configure, write, read }) => ({
  ctl: ctl('set_permissions', [user, configure, write, read], inVHost(vhost)),
  curl: curl(at, 'PUT', `permissions/${to(vhost, user)}`, { configure, write, read }),
});
export const topicCommands = (at, { vhost, user, exchange, write, read }) => ({
  ctl: ctl('set_topic_permissions', [user, exchange, write, read], inVHost(vhost)),
  curl: curl(at, 'PUT', `topic-permissions/${to(vhost, user)}`, { exchange, write, read }),
});

// vhostCommands make a virtual host, or change one that is known.
export function vhostCommands(at, name, body, known) {
  const text = (option, value) => (known || value ? [option, value] : []);
  const options = [
    ...text('--description', body.description),
    ...text('--tags', body.tags),
    ...['--default-queue-type', body.default_queue_type],
  ];
  const protect = body.protected_from_deletion;
  const verb = protect ? 'enable' : 'disable';
  return {
    ctl: [
      ctl(known ? 'update_vhost_metadata' : 'add_vhost', [name], options),
      ...(protect !== !!known?.protected_from_deletion ? [ctl(`${verb}_vhost_deletion_protection`, [name])] : []),
    ],
    curl: curl(at, 'PUT', `vhosts/${to(name)}`, body),
  };
}

// scheduledCommands change scheduled messages of one exchange, or some that wait in one queue: verb is fire, cancel or reschedule,
// time {at} or {in} in ms.
export function scheduledCommands(at, verb, rows, time = {}) {
  const [{ vhost, exchange, queue }] = rows;
  const ids = rows.map((x) => x.id);
  const options = [...inVHost(vhost), ...given('--at', time.at), ...given('--in', time.in && `${time.in}ms`)];
  return {
    ctl: ctl(`${verb}_${queue ? 'waiting' : 'scheduled'}`, [queue || exchange, ...ids], options),
    curl: curl(at, 'POST', `x/${queue ? 'waiting' : 'scheduled'}/${to(vhost, queue || exchange)}/${verb}`, {
      ids,
      ...time,
    }),
  };
}

const given = (name, value) => (value ? [name, String(value)] : []);

// toOf are the options that name a target, none for the usual one.
function toOf({ to, queue, exchange, routing_key: key }) {
  if (to === 'queue') return given('--to', queue && `queue:${queue}`);
  return to === 'elsewhere'
    ? ['--exchange', exchange, ...(key === undefined ? [] : ['--routing-key', key])]
    : ['--to', to];
}

// declareCommands declare a queue {vhost, name, durable, auto_delete, arguments}, with own its dead-letter exchange and queue
// before: {ctl, curl}. bartleby ctl declares durable ones only.
export function declareCommands(at, q, own) {
  const [vhost, name, dlx, dlq] = [q.vhost, q.name, `${q.name}.dlx`, `${q.name}.dlq`];
  const put = (path, body) => curl(at, 'PUT', path, body);
  const args = Object.keys(q.arguments || {}).length ? ['--arguments', JSON.stringify(q.arguments)] : [];
  const queue = { durable: q.durable, auto_delete: q.auto_delete, arguments: q.arguments || {} };
  const before = own && {
    ctl: [
      ctl('declare_exchange', [dlx], inVHost(vhost)),
      ctl('declare_queue', [dlq], inVHost(vhost)),
      ctl('declare_binding', [dlx, dlq], [...inVHost(vhost), '--routing-key', name]),
    ],
    curl: [
      put(`exchanges/${to(vhost, dlx)}`, { type: 'direct', durable: true }),
      put(`queues/${to(vhost, dlq)}`, { durable: true }),
      curl(at, 'POST', `bindings/${to(vhost)}/e/${to(dlx)}/q/${to(dlq)}`, { routing_key: name, arguments: {} }),
    ],
  };
  const options = [...inVHost(vhost), ...(q.auto_delete ? ['--auto-delete'] : []), ...args];
  return {
    ctl: q.durable && [...(before ? before.ctl : []), ctl('declare_queue', [name], options)],
    curl: [...(before ? before.curl : []), put(`queues/${to(vhost, name)}`, queue)],
  };
}
