// All that the console shows to be copied, with sample values that shells and languages find hard. Run as a program, it
// prints them as JSON for the broker at BASE (HTTP) and PORT (AMQP): samples.mjs BASE PORT
import { fileURLToPath } from 'node:url';
import { toBroker, typed } from '../lib/commands.js';
import * as clients from '../pages/code/clients.js';
import * as commands from '../pages/code/commands.js';
import * as policy from '../pages/code/policy.js';

export const exported = { ...clients, ...commands, ...policy };

// hard is a name with what shells and languages have a meaning for.
export const hard = `it's "50%" \\ $HOME \`id\` & a|b (死信) ${'$'}{x} %{y} ^!`;

const everyKind = {
  'x-dead-letter-exchange': 'dlx',
  'x-dead-letter-routing-key': hard,
  'x-message-ttl': 60000,
  'x-max-length-bytes': 5000000000,
  'x-single-active-consumer': true,
  'x-note': { list: [1, 'two', false], text: "it's" },
};

const ofPolicy = (name, operator) => ({
  vhost: '/',
  name,
  pattern: `^${hard.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`,
  definition: operator
    ? { 'max-length': 1000 }
    : { 'dead-letter-exchange': 'dlx', 'dead-letter-routing-key': hard, 'message-ttl': 5 },
  priority: 3,
  applyTo: 'queues',
  operator,
});

// cases are the samples of each export of the modules below pages/code: commands are lists of words, codes are texts by
// language or tool. commandsOf and codesOf are what a test runs, in this order.
export function cases(at) {
  const q = { vhost: '/', name: hard, durable: true, auto_delete: false, arguments: everyKind };
  const job = (more) => ({
    source: { queue: 'orders.dlq' },
    action: 'redrive',
    target: { to: 'origin' },
    filter: `header.who:"it's"`,
    ...more,
  });
  const all = (commands) => Object.values(commands).filter(Boolean);
  const message = (m) => ({
    properties: { delivery_mode: 2, headers: { who: hard } },
    payload_encoding: 'string',
    ...m,
  });
  const edited = { vhost: '/', queue: 'edited', lost: false, id: 1 }; // that the test has published first
  const hash = {
    password_hash: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    hashing_algorithm: 'rabbit_password_hashing_sha256',
  };
  // those that the test has scheduled first, in this order
  const [moved, cancelled, fired] = ['2-0', '2-1', '2-2'].map((id) => [{ vhost: '/', exchange: 'later', id }]);
  const careful = { rate: 100, canary: 10, watch_ms: 10000, stop_percent: 20, stop_no_consumer: true };
  const every = { ...careful, order: 'newest', ramp: true, strip_deaths: true, drop_expiration: true };
  return {
    queueCommand: [exported.queueCommand],
    firstSteps: Object.values(exported.firstSteps).flat(),
    declareCommands: [
      exported.declareCommands(at, { ...q, auto_delete: true }, false),
      exported.declareCommands(at, { ...q, name: 'plain', arguments: {} }, false),
      exported.declareCommands(at, { ...q, name: 'own', arguments: { 'x-dead-letter-exchange': 'own.dlx' } }, true),
    ].flatMap(({ ctl, curl }) => [...ctl, ...curl]),
    deadLetterCommand: [exported.deadLetterCommand],
    lintCommand: [exported.lintCommand],
    lostLettersCommand: [exported.lostLettersCommand],
    scheduledCommand: [exported.scheduledCommand],
    redriveCommand: [exported.redriveCommand],
    retryCommand: [exported.retryCommand({ vhost: '/', name: hard })],
    bindCommands: [
      { vhost: '/', source: 'amq.direct', type: 'queue', name: 'plain', key: hard, args: { note: "it's" } },
      { vhost: '/', source: 'amq.direct', type: 'exchange', name: 'amq.topic', key: '' },
    ].flatMap((b) => Object.values(exported.bindCommands(at, b))),
    purgeCommands: Object.values(exported.purgeCommands(at, [{ vhost: '/', name: 'plain' }])).flat(),
    deleteCommands: [
      ...exported.deleteCommands(at, [{ vhost: '/', name: 'plain' }]).ctl,
      ...exported.deleteCommands(at, [{ vhost: '/', name: 'own' }]).curl,
    ],
    publishCommands: [
      { exchange: '', body: message({ routing_key: 'edited.to', payload: `{"who":"it's"}\n${hard}` }) },
      { exchange: 'amq.fanout', body: message({ routing_key: hard, payload_encoding: 'base64', payload: 'eA==' }) },
    ].flatMap((m) => all(exported.publishCommands(at, { vhost: '/', ...m }))),
    resendCommands: [
      {
        keep: true,
        exchange: '',
        routing_key: 'edited.to',
        payload: `{"who":"it's"}\n${hard}`,
        payload_encoding: 'string',
      },
      { keep: true, exchange: 'amq.fanout', routing_key: 'edited', payload: 'eA==', payload_encoding: 'base64' },
      { keep: true, target: { to: 'origin' }, force: true, properties: { headers: { who: hard } } },
      { keep: false, exchange: '', routing_key: 'edited.to' },
    ].flatMap((body, i) => all(exported.resendCommands(at, edited, body)).slice(0, i === 3 ? 1 : 2)),
    importCommands: [
      ...all(exported.importCommands(at, '', 'definitions.json')),
      ...all(exported.importCommands(at, '/', 'of a vhost.json')),
    ],
    userCommands: [
      { name: hard, body: { tags: '', password: 'secret' }, how: 'password', shown: true },
      { name: 'eva', body: { tags: '', password: 'secret' }, how: 'password' },
      { name: 'eva', body: { tags: 'monitoring', password: 'secret' }, how: 'password', known: true },
      { name: 'eva', body: { tags: 'management,policymaker', ...hash }, how: 'keep', known: true },
      { name: 'eva', body: { tags: '', password_hash: '' }, how: 'none', known: true },
      { name: 'hashed', body: { tags: '', ...hash }, how: 'hash' },
    ].flatMap(({ name, body, how, known = false, shown = false }) => {
      const { ctl, curl } = exported.userCommands(at, name, body, { how, known, shown });
      return shown ? [curl] : all({ ...ctl, curl });
    }),
    vhostCommands: [
      ['eu', { description: '', tags: '', default_queue_type: 'classic', protected_from_deletion: false }],
      ['eu', { description: hard, tags: 'a,b', default_queue_type: 'quorum', protected_from_deletion: true }, {}],
    ].flatMap(([name, body, known]) => {
      const { ctl, curl } = exported.vhostCommands(at, name, body, known);
      return [...ctl, curl];
    }),
    grantCommands: all(
      exported.grantCommands(at, { vhost: 'eu', user: 'eva', configure: '', write: '.*', read: hard }),
    ),
    topicCommands: all(
      exported.topicCommands(at, { vhost: '/', user: 'eva', exchange: 'amq.topic', write: '^a', read: '' }),
    ),
    scheduledCommands: [
      exported.scheduledCommands(at, 'cancel', cancelled),
      exported.scheduledCommands(at, 'fire', fired),
      exported.scheduledCommands(at, 'reschedule', moved, { in: 60000 }),
      exported.scheduledCommands(at, 'reschedule', moved, { at: '2030-11-24T10:00:00.000Z' }),
    ].flatMap((of) => Object.values(of)),
    jobCommands: [
      job({}),
      job({ target: { to: 'queue' }, options: careful, force: true }),
      job({ target: { to: 'queue', queue: 'orders.dlq' }, options: every, max: 5 }),
      job({ target: { to: 'elsewhere', exchange: 'amq.direct', routing_key: hard } }),
      job({ target: { to: 'elsewhere', exchange: 'eu/orders' } }),
      job({ source: { lost: true }, target: { to: 'on' } }),
      job({ action: 'discard', target: undefined }),
      job({ source: { lost: true }, action: 'discard', target: undefined, filter: '' }),
    ].flatMap((body) => Object.values(exported.jobCommands(at, '/', body))),
    policyCommands: [false, true].flatMap((operator) => [
      ...Object.values(exported.policyCommands(at, ofPolicy(hard, operator))),
      ...Object.values(exported.policyCommands(at, ofPolicy('--dry-run', operator))),
    ]),
    policyCodes: [false, true].map((operator) => exported.policyCodes(at, ofPolicy(hard, operator))),
    connectCode: [exported.connectCode(at, '/')],
    deadLetterCode: [exported.deadLetterCode],
    declareCode: [exported.declareCode(q), exported.declareCode({ ...q, name: 'plain', arguments: {} })],
    bindCode: [exported.bindCode({ queue: hard, exchange: 'amq.topic', key: hard })],
    delayedCode: [exported.delayedCode],
    consumeCode: [exported.consumeCode(hard)],
  };
}

const isCommand = (sample) => Array.isArray(sample);

export const commandsOf = (all) => Object.values(all).flat().filter(isCommand);

// codesOf are the texts of each language or tool, in the order of cases.
export function codesOf(all) {
  const codes = {};
  for (const sample of Object.values(all)
    .flat()
    .filter((s) => !isCommand(s))) {
    for (const [name, text] of Object.entries(sample)) (codes[name] ??= []).push(text);
  }
  return codes;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [base, port] = process.argv.slice(2);
  const all = cases({ base, host: '127.0.0.1', port, user: 'guest' });
  console.log(
    JSON.stringify({
      hard,
      commands: commandsOf(all).map((words) => typed(toBroker(words, { base })).linux),
      codes: codesOf(all),
    }),
  );
}
