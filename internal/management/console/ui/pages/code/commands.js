// The commands that pages show, as lists of words. Pure.
import { ctl, curl, inVHost } from '../../lib/commands.js';
import { patternOf } from '../broker/queue-name.js';

// What pages show where they have nothing to show.
export const lintCommand = ctl('lint');
export const lostLettersCommand = ctl('list_lost_letters');
export const scheduledCommand = ctl('scheduled count');
export const redriveCommand = ctl('dlq redrive', ['orders.dlq'], ['--dry-run']);
export const queueCommand = ctl('declare_queue', ['orders']);
export const deadLetterCommand = ctl(
  'set_policy',
  ['dlx', '^orders$', '{"dead-letter-exchange":"dlx"}'],
  ['--apply-to', 'queues'],
);

// firstSteps show what the broker is for: a queue with a dead-letter queue, a message that expires, its redrive.
export const firstSteps = {
  create: [
    ctl('declare_queue', ['orders.dlq']),
    ctl(
      'declare_queue',
      ['orders'],
      ['--arguments', '{"x-dead-letter-exchange":"","x-dead-letter-routing-key":"orders.dlq"}'],
    ),
  ],
  publish: [ctl('publish_message', ['orders', '{"order":4711}'], ['--properties', '{"expiration":"1000"}'])],
  redrive: [ctl('dlq redrive', ['orders.dlq'])],
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
    ...given('--to', action === 'redrive' && toOf(target)),
    ...given('--where', filter),
    ...given('--max', max),
    ...(o.order === 'newest' ? ['--newest'] : []),
    ...given('--rate', o.rate),
    ...given('--canary', o.canary),
    ...(o.ramp ? ['--ramp'] : []),
    ...given('--watch', o.watch_ms && (o.canary || o.stop_percent) && `${o.watch_ms}ms`),
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

const given = (name, value) => (value ? [name, String(value)] : []);

// toOf is a target as --to names it, '' for the usual one.
function toOf({ to, queue, exchange, routing_key: key }) {
  if (to === 'queue') return queue ? `queue:${queue}` : '';
  return to === 'elsewhere' ? `exchange:${exchange}${key === undefined ? '' : `/${key}`}` : to;
}

// declareCommand declares a queue {vhost, name, durable, auto_delete, arguments}.
export function declareCommand(at, q) {
  const body = { durable: q.durable, auto_delete: q.auto_delete, arguments: q.arguments || {} };
  return curl(at, 'PUT', `queues/${encodeURIComponent(q.vhost)}/${encodeURIComponent(q.name)}`, body);
}
