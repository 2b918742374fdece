// What the pages about the broker compute.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { find, said } from '../pages/broker/said.js';
import { deedOf, plainObject } from '../pages/broker/deed.js';
import { nameTrouble } from '../pages/broker/queue-name.js';
import { follow, headersFit, topicFits } from '../pages/broker/routing.js';
import { allows, missing, missingAny, refused } from '../lib/permissions.js';
import { judge, lookAround, password, topicJudge, trouble } from '../pages/broker/rights.js';
import { connected, curve, deadEnd, labelOf, layout, shorten, tree } from '../pages/broker/graph.js';
import { compare, readDocument } from '../pages/broker/definitions-diff.js';
import { isBase64, jsonFault } from '../pages/broker/json-fault.js';
import { remembered } from '../pages/broker/readings.js';
import * as dagre from '../vendor/dagre.mjs';
import { refusal } from '../pages/broker/import-refusals.js';
import { leaveOut } from '../pages/broker/import-without.js';
import { deadLetterExchange } from '../pages/broker/policy-presets.js';
import { isLocal, metricsAt, scrapeConfig } from '../pages/broker/scrape.js';

test('names of queues', () => {
  assert.equal(nameTrouble('orders/1'), '');
  assert.equal(nameTrouble('amq.x'), 'name.amq');
  assert.equal(nameTrouble('死'.repeat(86)), 'name.long');
  assert.equal(nameTrouble('a b', true), 'name.strict');
});

test('settings that a policy cannot have are listed without their values', () => {
  const text =
    'policy \'fed\' in vhost \'/\': Validation failed: [{<<"federation-upstream-set">>,<<"all">>},{<<"nope">>,5}] are not recognised policy settings';
  const names = [];
  refusal(text, (key, params) => {
    if (key === 'frame.comma') return ', ';
    if (key === 'import_why.settings') names.push(params.names);
    return key;
  });
  assert.deepEqual(names, ['federation-upstream-set, nope']);
});

test('topic patterns', () => {
  for (const [pattern, key, want] of [
    ['#', '', true],
    ['a.*', 'a.b', true],
    ['a.*', 'a', false],
    ['a.#', 'a', true],
    ['#.b.#', 'a.b.c.d', true],
    ['*', '', true],
    ['a.#.c', 'a.b', false],
  ]) {
    assert.equal(topicFits(pattern, key), want, `${pattern} ${key}`);
  }
});

test('headers', () => {
  assert.ok(headersFit({ 'x-match': 'any', a: 1, b: 2 }, { b: 2 }));
  assert.ok(!headersFit({ a: 1, b: 2 }, { b: 2 }));
  assert.ok(!headersFit({ a: '1' }, { a: 1 }), 'types differ');
  assert.ok(headersFit({ 'x-match': 'all-with-x', 'x-a': 1 }, { 'x-a': 1 }));
});

test('a message is followed through exchanges, alternates and circles', () => {
  const at = {
    exchanges: [
      { name: '', type: 'direct' },
      { name: 'a', type: 'topic', arguments: { 'alternate-exchange': 'alt' } },
      { name: 'b', type: 'fanout', arguments: {} },
      { name: 'alt', type: 'fanout', arguments: {} },
    ],
    bindings: [
      { source: 'a', destination: 'b', destination_type: 'exchange', routing_key: 'x.#' },
      { source: 'b', destination: 'q', destination_type: 'queue', routing_key: '' },
      { source: 'b', destination: 'a', destination_type: 'exchange', routing_key: '' },
      { source: 'alt', destination: 'rest', destination_type: 'queue', routing_key: '' },
    ],
    queues: new Set(['q', 'rest']),
  };
  assert.deepEqual(follow(at, 'a', 'x.y').queues, [{ name: 'q', sure: true }]);
  assert.deepEqual(follow(at, 'a', 'z').queues, [{ name: 'rest', sure: true }]);
  assert.deepEqual(follow(at, '', 'q').queues, [{ name: 'q', sure: true }]);
  assert.equal(follow(at, 'gone', 'q').steps[0].missing, true);
});

test('what a user lacks is found before the broker refuses, and in what it says', () => {
  const own = { vhost: '/', configure: '', write: '^$', read: '^(orders|amq\\.default$)' };
  assert.equal(missing(own, 'read', 'queue', ['orders', 'orders.dead']), null);
  assert.deepEqual(missing(own, 'read', 'queue', ['orders', 'mail']), {
    key: 'lacks.queue',
    params: { right: 'read', name: 'mail' },
  });
  assert.equal(missing(own, 'read', 'exchange', ['']), null);
  assert.equal(missing(own, 'write', 'exchange', ['x']).key, 'lacks.exchange');
  assert.equal(missing(undefined, 'write', 'exchange', ['x']), null, 'the broker decides');
  assert.equal(missing({ ...own, read: '(?i)ORDERS' }, 'read', 'queue', ['orders']), null, 'JavaScript cannot read it');
  assert.deepEqual(
    ['configure', 'write', 'read'].map((right) => missingAny(own, right)?.params.right ?? ''),
    ['configure', 'write', ''],
  );
  const lack = { what: 'queue', right: 'configure', name: "it's" };
  assert.deepEqual(refused(lack), { key: 'lacks.queue', params: lack });
  assert.equal(refused(undefined), null);
});

test('rights', () => {
  const p = { configure: '^app', write: '^dlx$', read: '' };
  assert.deepEqual(
    judge(p, 'declare_dlx', 'app.q', 'dlx').map((x) => x.ok),
    [true, false, true],
  );
  assert.ok(!judge(undefined, 'publish', '', 'x')[0].ok);
  assert.ok(allows('^amq\\.default$', ''));
  assert.ok(!allows('(', 'a') && trouble('(') && lookAround('(?!a)') && !lookAround('(?:a)'));
  assert.ok(topicJudge([], 'e', 'write', 'k').ok);
  assert.ok(!topicJudge([{ exchange: 'e', write: '^a', read: '' }], 'e', 'write', 'k').ok);
  assert.match(
    password((b) => b.map((_, i) => i * 7), 30),
    /^[\w]{30}$/,
  );
});

const graph = {
  vhost: '/',
  root: '',
  nodes: [
    { id: 'e:x', kind: 'exchange', name: 'x', type: 'direct' },
    { id: 'e:amq.fanout', kind: 'exchange', name: 'amq.fanout', type: 'fanout' },
    {
      id: 'q:a',
      kind: 'queue',
      name: 'a',
      type: 'classic',
      queue: { letters: true, consumers: 0, dead_letter_exchange: 'x' },
    },
    {
      id: 'q:b',
      kind: 'queue',
      name: 'b',
      type: 'classic',
      queue: { letters: true, consumers: 0, dead_letter_exchange: null },
    },
  ],
  edges: [
    { from: 'e:x', to: 'q:a', kind: 'binding', keys: ['k'], count: 1 },
    { from: 'e:x', to: 'q:b', kind: 'binding', keys: ['1', '2', '3'], count: 5 },
    { from: 'q:a', to: 'e:x', kind: 'dead_letter', keys: [], own_keys: true, count: 1 },
  ],
};

test('the drawing has every node and edge, and no two nodes in one place', () => {
  const seen = connected(graph);
  assert.deepEqual(
    seen.nodes.map((n) => n.id),
    ['e:x', 'q:a', 'q:b'],
  );
  const placed = layout(dagre, seen, { ownKeys: 'own', defaultExchange: 'default' });
  assert.equal(placed.nodes.length, 3);
  assert.equal(placed.edges.length, 3);
  assert.equal(new Set(placed.nodes.map((n) => `${n.x} ${n.y}`)).size, 3);
  assert.match(curve(placed.edges[0].points), /^M[\d.]+ [\d.]+Q?.*L[\d.]+ [\d.]+$/);
  assert.equal(labelOf(graph.edges[1], 'own'), '1, 2, …');
  assert.equal(labelOf(graph.edges[2], 'own'), 'own');
  assert.ok(deadEnd(graph.nodes[3]) && !deadEnd(graph.nodes[2]));
  assert.equal([...shorten('x'.repeat(40))].length, 26);
});

test('the drawing is walked by Tab from left to right, and from top to bottom', () => {
  const ids = ['q:b', 'q:a', 'e:x', 'q:dead', 'e:dlx'];
  const binding = (from, to) => ({ from, to, kind: 'binding', keys: [], count: 1 });
  const placed = layout(
    dagre,
    {
      nodes: ids.map((id) => ({ id, kind: id[0] === 'q' ? 'queue' : 'exchange', name: id, type: 'direct' })),
      edges: [binding('e:x', 'q:a'), binding('e:x', 'q:b'), binding('q:b', 'e:dlx'), binding('e:dlx', 'q:dead')],
    },
    { ownKeys: 'own', defaultExchange: 'default' },
  ).nodes;
  const [exchange, ...queues] = placed.slice(0, 3);
  assert.equal(exchange.node.id, 'e:x');
  assert.ok(queues[0].x === queues[1].x && queues[0].y < queues[1].y, 'the upper of two queues is first');
  assert.deepEqual(
    placed.slice(3).map((p) => p.node.id),
    ['e:dlx', 'q:dead'],
  );
});

test('the list tells every node once, and where a circle closes', () => {
  const roots = tree(connected(graph));
  const told = [];
  const walk = (b) => {
    told.push(`${b.node.id}${b.again ? ' again' : ''}`);
    b.children.forEach(walk);
  };
  roots.forEach(walk);
  assert.deepEqual(told, ['e:x', 'q:a', 'e:x again', 'q:b']);
});

test('what the broker remembers becomes readings', () => {
  const details = (...all) => ({ samples: all.map(([timestamp, sample]) => ({ timestamp, sample })) });
  const q = {
    messages_ready_details: details([2000, 7], [1000, 5]),
    message_stats: { publish_details: details([2000, 30], [1000, 20]) },
  };
  assert.deepEqual(remembered(q, ['messages_ready'], ['publish', 'ack']), [
    { at: 1000, depth: [5], rates: [null, null] },
    { at: 2000, depth: [7], rates: [10, 0] },
  ]);
  assert.deepEqual(remembered({ ...q, gaps: [{ from: 1200, to: 1900 }] }, ['messages_ready'], ['publish']), [
    { at: 1000, depth: [5], rates: [null] },
    { at: 1201, depth: [null], rates: [null] },
    { at: 2000, depth: [7], rates: [null] },
  ]);
  assert.deepEqual(remembered({}, ['messages_ready'], []), []);
});

test('an import is compared with what is there', () => {
  const now = {
    queues: [{ vhost: '/', name: 'a', durable: true, arguments: {} }],
    policies: [{ vhost: '/', name: 'p', pattern: 'x', definition: { 'max-length': 1 }, priority: 0 }],
    users: [],
  };
  const kinds = compare(now, {
    queues: [
      { vhost: '/', name: 'a', durable: false, arguments: {} },
      { vhost: '/', name: 'b' },
    ],
    policies: [{ vhost: '/', name: 'p', priority: 0, pattern: 'x', definition: { 'max-length': 1 } }],
    bindings: [],
  });
  assert.deepEqual(
    kinds.map((k) => [k.kind, k.made, k.changed, k.same, k.kept]),
    [
      ['policies', [], [], ['/ · p'], []],
      ['queues', ['/ · b'], [], [], ['/ · a']],
    ],
  );
  assert.deepEqual(
    compare(now, { policies: [{ name: 'p', pattern: 'y' }] }, '/')[0].changed,
    ['/ · p'],
    'a document of one virtual host names none',
  );
  assert.equal(readDocument('{"a":1}').fault, null);
  assert.ok(readDocument('{"users":[]}').document && readDocument('{').fault);
});

test('a record of the audit log is read: what was done, to what, and where that is shown', () => {
  const job = deedOf({
    action: 'POST',
    object: '/api/x/redrives/%2F',
    status: 202,
    detail: { id: 7, action: 'discard', source: { queue: 'a/b' }, ids: 0, filter: 'reason:expired', total: 109 },
  });
  assert.deepEqual(job, {
    verb: 'discard',
    what: '',
    name: 'a/b',
    vhost: '/',
    parts: ['reason:expired', { key: 'did.searches', n: 109 }],
    to: ['jobs', '/', 7],
  });
  assert.deepEqual(deedOf({ action: 'DELETE', object: '/api/queues/shop/orders?if-empty=true', status: 204 }), {
    verb: 'delete',
    what: 'queue',
    name: 'orders',
    vhost: 'shop',
    parts: [],
    to: undefined,
  });
  assert.equal(deedOf({ action: 'PUT', object: '/api/queues/shop/orders', status: 201 }).verb, 'create');
  assert.equal(deedOf({ action: 'PUT', object: '/api/permissions/shop/eva', status: 201 }).verb, 'grant');
  assert.equal(deedOf({ action: 'POST', object: '/api/x/redrives/%2F/3/pause', status: 204 }).verb, 'pause');
  // Tags are a text or a list, and none of them is no part of the sentence.
  const tagged = (tags) => deedOf({ action: 'PUT', object: '/api/users/ann', status: 204, detail: { tags } }).parts;
  assert.deepEqual([tagged([]), tagged(''), tagged(['a', 'b'])], [[], [], ['a, b']]);
  assert.equal(deedOf({ action: 'POST', object: '/api/never/heard/of', status: 204 }), null);
  assert.equal(plainObject('/api/policies/%2F/a%20b'), 'policies/%2F/a b');
});

test('every verb and thing of the audit log has its words', () => {
  const words = JSON.parse(readFileSync(new URL('../i18n/en/deeds.json', import.meta.url), 'utf8'));
  const text = readFileSync(new URL('../pages/broker/deed.js', import.meta.url), 'utf8');
  for (const [, verb, what] of text.matchAll(/^ {2}\[\s*'[A-Z ]+',\s*'[^']+',\s*'(\w*)',\s*'(\w*)'/gm)) {
    if (verb) assert.ok(`did.${verb}` in words, verb);
    if (what) assert.ok(`did_to.${what}` in words, what);
  }
});

test('the template of a dead-letter exchange fills in one that is there', () => {
  assert.equal(deadLetterExchange(['amq.direct', 'orders.dlx', 'dlx']), 'dlx');
  assert.equal(deadLetterExchange(['amq.direct', 'orders.dlx']), 'orders.dlx');
  assert.equal(deadLetterExchange(['amq.direct', 'shop.dead-letters', 'deadline']), 'shop.dead-letters');
  assert.equal(deadLetterExchange(['amq.direct', 'deadline', 'dlxs']), undefined);
});

test('what the broker says of settings is found in the dictionaries, and says the same in English', () => {
  const words = JSON.parse(readFileSync(new URL('../i18n/en/said.json', import.meta.url), 'utf8'));
  const say = (key, params) => words[key].replace(/\{(\w+)\}/g, (_, name) => params[name]);
  const settings = readFileSync(new URL('../../../../settings/table.go', import.meta.url), 'utf8');
  const rules = [...settings.matchAll(/(?:rule\{|smaller = )"([^"]+)"/g)].map((m) => m[1]);
  assert.ok(rules.length > 6, 'the pattern finds nothing');
  for (const rule of rules) assert.ok(find(rule), rule);
  for (const text of [
    'no other source sets it',
    "the smaller value applies; the argument sets 5, operator policy 'a, b' sets 7",
    "policy 'p' sets drop-head, which a quorum queue treats as reject-publish",
    "policy 'p' matches queue 'q', which receives its dead letters: messages that die there return there; change the pattern to exclude it",
    "exchange 'a' does not exist: until it exists, dead letters become lost letters",
    "exchange 'a' has no bindings: until it has some, dead letters are held in their queue",
    "queue 'a' does not exist: until it exists, dead letters become lost letters",
    "queue 'a' does not exist: until it exists, dead letters are held in their queue",
    'without a dead-letter routing key, the default exchange returns a dead letter that was published to a queue by its name to this queue; set one',
    'and 3 more warnings like the last one',
  ]) {
    assert.equal(
      said(text, (key, params) => `<${say(key, params)}>`)
        .replace(/[<>]/g, '')
        .replaceAll('; operator', ', operator'),
      text,
    );
  }
  assert.equal(said('something else', say), 'something else');
  const nameless = said("policy 'p' sets the default exchange", say, (value) => (value === '' ? '(default)' : value));
  assert.equal(nameless, "policy 'p' sets (default)");
});

test('the scrape configuration is that of the documentation, for the listener that the broker has', () => {
  const page = readFileSync(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
  const own = [
    { protocol: 'http', port: 15672 },
    { protocol: 'http/prometheus', port: 15692, ip_address: '::' },
  ];
  const console = { protocol: 'http:', hostname: 'broker', port: '15672' };
  assert.ok(page.includes(scrapeConfig(metricsAt(own, console))));
  const secure = metricsAt([{ protocol: 'https/prometheus', port: 15691 }], console);
  assert.deepEqual(secure, { scheme: 'https', host: 'broker', port: '15691' });
  assert.match(scrapeConfig(secure), /scheme: https\n.*broker:15691/);
  assert.deepEqual(metricsAt([], { protocol: 'https:', hostname: 'b', port: '' }), {
    scheme: 'https',
    host: 'b',
    port: '443',
  });
  assert.deepEqual(
    ['127.0.0.1', '::1', '::', '10.0.0.1'].map((ip_address) => isLocal({ ip_address })),
    [true, true, false, false],
  );
});

test('an import leaves out what is refused, and what refers to it', async () => {
  const queue = (name, vhost) => ({ name, vhost, arguments: {} });
  const binding = { source: 'x', destination: 'stream', destination_type: 'queue', vhost: '/', routing_key: 'a' };
  const document = {
    rabbit_version: '4.0',
    queues: [queue('stream', '/'), queue('stream', 'other'), queue('a: b', '/'), queue('good', '/')],
    bindings: [binding, { ...binding, routing_key: 'b' }, { ...binding, destination: 'good' }],
    parameters: [{ component: 'shovel', name: 's', vhost: '/', value: {} }],
  };
  const rounds = [
    [
      "queue 'stream' in vhost '/': queue type 'stream' of queue 'stream' in vhost '/' is not supported",
      "queue 'a: b' in vhost '/': invalid",
      "parameter 's' of component 'shovel' in vhost '/': component shovel not found",
    ],
    ["binding of queue 'stream' to exchange 'x' in vhost '/': no queue 'stream' in vhost '/'"],
    ['there would be 9 vhosts, which exceeds the limit of 8'],
  ];
  let asked = 0;
  const got = await leaveOut(document, rounds[0], '', () => Promise.resolve(rounds[++asked]));
  assert.deepEqual(got.document, {
    rabbit_version: '4.0',
    queues: [queue('stream', 'other'), queue('good', '/')],
    bindings: [{ ...binding, destination: 'good' }],
    parameters: [],
  });
  assert.equal(got.left.length, 5);
  assert.deepEqual(got.refusals, rounds[2], 'what names no object stays');
  const { vhost, ...own } = queue('stream', '/');
  const one = await leaveOut({ queues: [own] }, rounds[0], vhost, () => Promise.resolve([]));
  assert.deepEqual(one.document.queues, [], 'of one virtual host');
});

test('what is wrong with JSON is said with its place, in the words of each browser', () => {
  const of = (message, text) => {
    const { key, params } = jsonFault(message, text);
    return [key.replace('form_words.json_', ''), ...Object.values(params)];
  };
  const here = (text) => {
    try {
      JSON.parse(text);
    } catch (error) {
      return of(error.message, text);
    }
  };
  assert.deepEqual(here('{x'), ['at', 1, 2]);
  assert.deepEqual(here('{"a": 1,\n "b" 2}'), ['at', 2, 6]);
  assert.deepEqual(here('abc'), ['token', 'a']);
  assert.deepEqual(here('{"a"：1}'), ['wide', 1, 5, '：']);
  assert.deepEqual(here('{\n“a”: 1}'), ['wide', 2, 1, '“']);
  for (const cut of ['', '{"a":1\n', '[1,', '{"a":"b']) assert.deepEqual(here(cut), ['cut'], cut);
  const firefox = "JSON.parse: expected property name or '}' at line 1 column 2 of the JSON data";
  assert.deepEqual(of(firefox, '{x'), ['at', 1, 2]);
  assert.deepEqual(of('JSON.parse: unexpected end of data at line 1 column 3 of the JSON data', '[1'), ['cut']);
  assert.deepEqual(of('JSON Parse error: Unexpected EOF', '{'), ['cut']);
  assert.deepEqual(of('JSON Parse error: Unexpected identifier "abc"', 'abc'), ['bad']);
});

test('base64 is what the broker reads as such', () => {
  for (const text of ['', 'YQ==', 'YWI=', 'YWJj', 'YWJj\r\nYQ==', '+/+/']) assert.ok(isBase64(text), text);
  for (const text of ['中文', 'YQ', 'YQ=', 'YWJj YQ==', '-_-_', 'YQ==YQ==', 'a']) assert.ok(!isBase64(text), text);
});
