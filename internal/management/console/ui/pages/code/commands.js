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

// retryCommand makes messages that are returned to a queue wait.
export function retryCommand({ vhost, name }) {
  const definition = { 'delayed-retry-type': 'all', 'delayed-retry-min': 1000, 'delayed-retry-max': 60000 };
  return ctl(
    'set_policy',
    ['backoff', patternOf([name]), JSON.stringify(definition)],
    [...inVHost(vhost), '--apply-to', 'queues'],
  );
}

// jobCommand begins a redrive or a discard, as the body says.
export const jobCommand = (at, vhost, body) => curl(at, 'POST', `x/redrives/${encodeURIComponent(vhost)}`, body);

// declareCommand declares a queue {vhost, name, durable, auto_delete, arguments}.
export function declareCommand(at, q) {
  const body = { durable: q.durable, auto_delete: q.auto_delete, arguments: q.arguments || {} };
  return curl(at, 'PUT', `queues/${encodeURIComponent(q.vhost)}/${encodeURIComponent(q.name)}`, body);
}
