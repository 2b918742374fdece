// What the pages about messages compute: filters as chips, the path of a dead letter, the calendar, payloads.
import test from 'node:test';
import assert from 'node:assert/strict';
import { and, inTerms, quote, split, suggest, without } from '../pages/messages/filter.js';
import { originOf, stops, total, wayOf } from '../pages/messages/timeline.js';
import { accountOf } from '../pages/messages/exception.js';
import { intoSame, meant, optionsFor } from '../pages/deadletters/job-preview.js';
import { diff } from '../pages/deadletters/diff.js';
import { bytesOf, hex, jsonOf, kindsOf } from '../pages/messages/payload.js';
import { sum } from '../pages/schedule/outcomes.js';
import { bucket, count, grid, heat, range, step } from '../pages/schedule/calendar.js';

const terms = (text) => split(text).map((x) => [x.not, x.field, x.value]);
import { cautious, fast, paceOf } from '../pages/deadletters/job-pace.js';
import { expected, judged, left, note, share } from '../pages/deadletters/job-rate.js';
import { atOnce, filterParts, scopesOf, sorted } from '../pages/deadletters/job-scopes.js';
import { read } from '../pages/messages/filter-error.js';
import { readDuration } from '../lib/duration.js';

test('a filter is cut into its terms', () => {
  assert.deepEqual(terms('reason:expired -queue:orders.* age:>1h count>3 "card declined" timeout'), [
    [false, 'reason', 'expired'],
    [true, 'queue', 'orders.*'],
    [false, 'age', '>1h'],
    [false, 'count', '>3'],
    [false, '', '"card declined"'],
    [false, '', 'timeout'],
  ]);
  assert.deepEqual(terms('header.url:"http://x y" body.$.order.id:42'), [
    [false, 'header.url', '"http://x y"'],
    [false, 'body.$.order.id', '42'],
  ]);
  assert.deepEqual(terms('reason=expired -dlq=a header.tenant=acme order=4711'), [
    [false, 'reason', 'expired'],
    [true, 'dlq', 'a'],
    [false, 'header.tenant', 'acme'],
    [false, '', 'order=4711'],
  ]);
  assert.deepEqual(terms('reason：expired 客户：张三'), [
    [false, 'reason', 'expired'],
    [false, '', '客户：张三'],
  ]);
  assert.deepEqual(terms('－reason＝expired body.$.金额：＞105 count＞＝3 a＞b'), [
    [true, 'reason', 'expired'],
    [false, 'body.$.金额', '＞105'],
    [false, 'count', '>=3'],
    [false, '', 'a＞b'],
  ]);
  assert.deepEqual(terms('a\\ b "open'), [
    [false, '', 'a\\ b'],
    [false, '', '"open'],
  ]);
  assert.deepEqual(terms(' - '), [[false, '', '-']]);
  assert.equal(without('a "b c" -d', 1), 'a -d');
  assert.equal(and('a', 'b:c'), 'a b:c');
  assert.equal(and('a b:c', 'b:c'), 'a b:c');
  assert.equal(and('', 'x'), 'x');
});

test('scheduled messages that were gone before are told apart from those that are changed now', () => {
  assert.deepEqual(sum('cancel', { count: 2, outcomes: { cancelled: 2 } }), { n: 2, others: [] });
  assert.deepEqual(sum('cancel', { count: 1, outcomes: { cancelled: 2, already_fired: 3 } }), {
    n: 1,
    others: [
      ['cancelled', 1],
      ['already_fired', 3],
    ],
  });
  assert.deepEqual(sum('move', { count: 0, outcomes: { cancelled: 1 } }).others, [['cancelled', 1]]);
});

test('values are quoted where they would mean something else', () => {
  assert.equal(quote('orders.dlq'), 'orders.dlq');
  assert.equal(quote('a b'), '"a b"');
  assert.equal(quote('*'), '"*"');
  assert.equal(quote('say "hi"\\'), '"say \\"hi\\"\\\\"');
  assert.equal(quote(''), '""');
  assert.equal(quote('-x'), '"-x"');
  assert.deepEqual(terms('queue:' + quote('a b\n"c'))[0], [false, 'queue', '"a b\\n\\"c"']);
});

test('what may come next is suggested', () => {
  assert.deepEqual(
    suggest('rea', 3).map((x) => x.term),
    ['reason:'],
  );
  assert.deepEqual(
    suggest('x reason:ex', 11).map((x) => x.term),
    ['reason:expired'],
  );
  assert.deepEqual(
    suggest('-queue:or', 9, { queue: ['orders', 'my orders', 'mail'] }).map((x) => x.term),
    ['-queue:orders', '-queue:"my orders"'],
  );
  const [first] = suggest('a re b', 4);
  assert.deepEqual([first.term, first.start, first.end], ['reason:', 2, 4]);
});

test('a field is suggested with what it is called, and found by that', () => {
  const called = {
    reason: '成为死信的原因',
    cause: '无主的原因',
    'lost-at': 'When it was Lost',
    'reason expired': '已过期',
  };
  const gloss = (field, value) => called[value === undefined ? field : `${field} ${value}`] || '';
  const found = (text) => suggest(text, text.length, { queue: ['原因'] }, gloss).map((x) => [x.term, x.gloss]);
  assert.deepEqual(found('-原因'), [
    ['-reason:', '成为死信的原因'],
    ['-cause:', '无主的原因'],
  ]);
  assert.deepEqual(found('－无主'), [['-cause:', '无主的原因']]);
  assert.deepEqual(found('lost'), [['lost-at:', 'When it was Lost']]);
  assert.deepEqual(found('WHEN'), [['lost-at:', 'When it was Lost']]);
  assert.deepEqual(found('reason：过期'), [['reason:expired', '已过期']]);
  assert.deepEqual(found('queue:原'), [['queue:原因', '']]);
  assert.equal(found('').length, 10);
  const titled = suggest('原因：过', 4, {}, gloss, [['原因', 'reason']]);
  assert.deepEqual(
    titled.map((x) => x.term),
    ['reason:expired'],
  );
});

test('fields and values that are called as the console calls them become those of filters', () => {
  const called = {
    fields: [
      ['原因', 'reason'],
      ['关联 ID（correlation ID）', 'correlation-id'],
      ['Message ID', 'message-id'],
    ],
    values: [
      ['投递次数上限', 'reason', 'delivery_limit'],
      ['已过期', 'reason', 'expired'],
      ['delivery limit', 'reason', 'delivery_limit'],
      ['length limit exceeded', 'reason', 'maxlen'],
    ],
  };
  for (const [typed, meant] of [
    ['原因：投递次数上限', 'reason:delivery_limit'],
    ['x -原因:已过期｜投递次数上限 y', 'x -reason:expired|delivery_limit y'],
    ['关联 ID（correlation ID）：17', 'correlation-id:17'],
    ['message id: 4711', 'message-id:4711'],
    ['Reason: Delivery limit age:>1h', 'Reason:delivery_limit age:>1h'],
    ['reason:expired|length limit exceeded', 'reason:expired|maxlen'],
    ['"原因：已过期" body:"reason:delivery limit"', '"原因：已过期" body:"reason:delivery limit"'],
    ['原因不明：已过期 queue:orders.dlq', '原因不明：已过期 queue:orders.dlq'],
  ])
    assert.equal(inTerms(typed, called), meant);
});

const death = (queue, reason, time, count = 1, more = {}) => ({
  queue,
  reason,
  time,
  count,
  exchange: 'x-' + queue,
  'routing-keys': ['k'],
  ...more,
});

test('the way of a message, oldest stop first', () => {
  const message = {
    place: 'queue',
    queue: 'dlq',
    state: 'ready',
    exchange: 'dlx',
    routing_keys: ['dead'],
    at: '2023-11-14T22:15:00.606Z', // x-death has whole seconds
    deaths: [
      death('work', 'rejected', 1700000040, 3),
      death('retry', 'expired', 1700000010, 2, { 'original-expiration': '5000' }),
      death('orders', 'maxlen', 1700000000),
    ],
    first_death: { queue: 'orders', reason: 'maxlen', exchange: 'shop' },
    last_death: { queue: 'work', reason: 'rejected', exchange: '' },
  };
  const way = stops(message);
  assert.deepEqual(
    way.map((s) => s.kind),
    ['publish', 'death', 'death', 'death', 'now'],
  );
  assert.deepEqual([way[0].exchange, way[0].keys], ['x-orders', ['k']]);
  assert.deepEqual(
    way.slice(1, 4).map((s) => [s.queue, s.count, s.elapsed, s.first, s.last]),
    [
      ['orders', 1, null, true, false],
      ['retry', 2, 10000, false, false],
      ['work', 3, 30000, false, true],
    ],
  );
  assert.equal(way[2].expiration, '5000');
  assert.equal(way[4].elapsed, Date.parse('2023-11-14T22:15:00Z') - 1700000040000);
  assert.equal(total(message), 6);
  const fresh = stops({
    place: 'lost',
    queue: '',
    state: 'lost',
    exchange: 'e',
    routing_keys: ['a'],
    at: null,
    deaths: [],
  });
  assert.deepEqual(
    fresh.map((s) => s.kind),
    ['publish', 'now'],
  );
  assert.equal(fresh[0].exchange, 'e');
});

test('the returns of a message, as far as they are known', () => {
  const living = { place: 'queue', queue: 'work', state: 'waiting', exchange: '', routing_keys: ['work'], deaths: [] };
  const returns = (message) => stops(message).filter((s) => s.kind === 'returns');
  assert.deepEqual(returns({ ...living, returns: 0 }), []);
  assert.deepEqual(returns({ ...living, returns: 3 }), [{ kind: 'returns', queue: 'work', n: 3, waiting: true }]);
  const dead = {
    ...living,
    queue: 'dlq',
    state: 'ready',
    returns: 1,
    deaths: [death('work', 'delivery_limit', 1700000010), death('first', 'rejected', 1700000000)],
  };
  assert.deepEqual(
    stops(dead).map((s) => [s.kind, s.queue]),
    [
      ['publish', ''],
      ['death', 'first'],
      ['returns', 'work'],
      ['death', 'work'],
      ['returns', 'dlq'],
      ['now', 'dlq'],
    ],
  );
  assert.deepEqual(
    returns(dead).map((s) => s.n),
    [null, 1],
  );
  assert.equal(stops(dead)[3].elapsed, 10000);
});

test('a message that a consumer published anew: from where its headers say, and back to there', () => {
  const at = '2023-11-14T22:15:00Z';
  const told = (of) => ({ exchange: '', routing_key: '', queue: '', ...of });
  const anew = (republished, more = {}) => ({
    place: 'queue',
    queue: 'orders.dlq',
    state: 'ready',
    exchange: 'shop.dlx',
    routing_keys: ['orders.dead'],
    at,
    deaths: [],
    redrives: 0,
    republished: told(republished),
    ...more,
  });
  const spring = anew({ exchange: 'shop', routing_key: 'order.new' });
  const way = stops(spring);
  assert.deepEqual(
    way.map((s) => s.kind),
    ['publish', 'republish', 'now'],
  );
  assert.deepEqual([way[0].exchange, way[0].keys], ['shop', ['order.new']]);
  assert.deepEqual([way[1].time, way[2].time, way[2].elapsed], [Date.parse(at), null, null], 'it is told of once');
  assert.deepEqual(originOf(spring), { exchange: 'shop', keys: ['order.new'] });
  assert.deepEqual(originOf(anew({ routing_key: 'orders' })), { exchange: '', keys: ['orders'] });
  assert.deepEqual(originOf(anew({ exchange: 'shop' })), { exchange: 'shop', keys: [] });
  const bus = anew({ queue: 'sales' });
  assert.deepEqual([stops(bus)[0].exchange, stops(bus)[0].queue], [null, 'sales']);
  assert.deepEqual(originOf(bus), { exchange: '', keys: ['sales'] });
  assert.deepEqual(
    stops(anew({ exchange: 'shop' }, { at: null, redrives: 2 })).map((s) => s.kind),
    ['publish', 'redrive', 'republish', 'now'],
  );
  assert.deepEqual(
    originOf(anew({})),
    { exchange: 'shop.dlx', keys: ['orders.dead'] },
    'nothing is told: it goes as it came',
  );
  const later = '2023-11-15T22:15:00Z';
  const lost = stops(anew({ exchange: 'shop' }, { place: 'lost', queue: '', lost_at: later }));
  assert.deepEqual(
    lost.map((s) => [s.kind, s.time ?? null]),
    [
      ['publish', null],
      ['republish', Date.parse(at)],
      ['now', Date.parse(later)],
    ],
    'of a lost letter both times are told',
  );
  const untimed = stops(anew({ exchange: 'shop' }, { place: 'lost', queue: '', at: later, lost_at: later }));
  assert.deepEqual([untimed[1].time, untimed[2].time], [null, Date.parse(later)], 'nobody knows when it failed');
  const dead = {
    exchange: 'dlx',
    routing_keys: ['dead'],
    deaths: [death('work', 'rejected', 2), death('orders', 'maxlen', 1)],
    first_death: { queue: 'orders', reason: 'maxlen', exchange: 'shop' },
  };
  assert.deepEqual(originOf(dead), { exchange: 'shop', keys: ['k'] });
});

test('an exception has its class where the trace alone has it', () => {
  const trace = 'com.example.PriceMissing: no price\n\tat a.B';
  assert.equal(
    accountOf({ 'x-exception-message': 'no price', 'x-exception-stacktrace': trace }).text,
    'com.example.PriceMissing: no price',
  );
  assert.equal(
    accountOf({ 'x-exception-message': 'no', 'x-exception-stacktrace': 'Outer: why\nCaused by: Inner: no' }).text,
    'no',
  );
  assert.equal(
    accountOf({ 'x-exception-message': 'no price', 'x-exception-type': 'T', 'x-exception-stacktrace': trace }).text,
    'T: no price',
  );
  assert.equal(accountOf({}).text, '');
});

test('how many messages a redrive means, and which would come to where they are', () => {
  const of = (more) => [{ source: { queue: 'orders.dlq' }, ...more }];
  const trial = (more) => [
    { matches: 1000, looked: 5000, partial: false, found: null, queues: { orders: 1000 }, refused: {}, ...more },
  ];
  assert.deepEqual(meant(of({ count: 25000 }), null), { n: 25000, partial: false, known: true });
  assert.equal(meant(of({ filter: 'a' }), null).known, false, 'a filter finds what it finds');
  assert.deepEqual(meant(of({ filter: 'a' }), trial()), { n: 1000, partial: false, known: true });
  assert.deepEqual(meant(of({ filter: 'a' }), trial({ partial: true, found: 1200 })), {
    n: 1200,
    partial: false,
    known: true,
  });
  assert.deepEqual(meant(of({ filter: 'a' }), trial({ partial: true })), { n: 1000, partial: true, known: false });
  assert.deepEqual(meant(of({ count: 25000 }), trial({ partial: true })), { n: 25000, partial: true, known: true });
  assert.equal(intoSame(trial()[0]), 0);
  assert.equal(intoSame(trial({ refused: { no_queue: 1, same_queue: 7 } })[0]), 7);
});

test('a careful redrive does not stop at dead-letter queues, which need no consumers', () => {
  const stops = (no_consumers, dead_letter_queues) =>
    optionsFor({ rate: 100, stop_no_consumer: true }, { no_consumers, dead_letter_queues });
  assert.deepEqual(stops(['orders.dlq'], ['orders.dlq']), { rate: 100, stop_no_consumer: false });
  assert.ok(stops(['orders', 'orders.dlq'], ['orders.dlq']).stop_no_consumer, 'orders needs some');
  assert.ok(stops(['orders'], []).stop_no_consumer);
  assert.ok(stops([], []).stop_no_consumer, 'the consumers may go');
  assert.ok(optionsFor({ stop_no_consumer: true }, undefined).stop_no_consumer, 'before a dry run');
});

test('what an edit changed', () => {
  const of = (a, b) => diff(a, b).map((x) => ({ same: ' ', gone: '-', new: '+' })[x.kind] + x.text);
  assert.deepEqual(of('a\nb\nc', 'a\nx\nc'), [' a', '-b', '+x', ' c']);
  assert.deepEqual(of('a', 'a'), [' a']);
  assert.deepEqual(of('a\nb', 'a\nb\nc'), [' a', ' b', '+c']);
  assert.deepEqual(of('a\na', 'a'), [' a', '-a']);
  const long = Array.from({ length: 5000 }, (_, i) => 'x' + i).join('\n');
  assert.equal(diff(long, long.replaceAll('x', 'y')).length, 10000);
});

test('payloads', () => {
  assert.deepEqual([...bytesOf('AAEC/w==', 'base64')], [0, 1, 2, 255]);
  assert.equal(new TextDecoder().decode(bytesOf('é', 'string')), 'é');
  assert.deepEqual(jsonOf('{"a":[1]}'), { a: [1] });
  assert.equal(jsonOf('hello'), undefined);
  assert.equal(jsonOf('{"id":12345678901234567890}'), undefined, 'a browser would round it');
  assert.deepEqual(jsonOf('{"id":"12345678901234567890"}'), { id: '12345678901234567890' });
  assert.equal(hex(bytesOf('Az\n', 'string')), '00000000  41 7a 0a                                           Az·');
  assert.deepEqual(kindsOf({ payload: '{}', payload_encoding: 'string' }), ['tree', 'pretty', 'raw', 'hex']);
  assert.deepEqual(kindsOf({ payload: 'AA==', payload_encoding: 'base64' }), ['hex', 'base64']);
  assert.deepEqual(kindsOf({}), []);
});

test('the calendar', () => {
  const at = new Date(2026, 10, 21, 15, 30).getTime();
  const days = grid('month', at);
  assert.equal(days.length % 7, 0);
  assert.equal(days.filter((d) => !d.outside).length, 30);
  assert.equal(new Date(days[0].from).getDay(), 1, 'weeks begin on Monday');
  assert.deepEqual(range(days), { from: new Date(2026, 10, 1).getTime(), until: new Date(2026, 11, 1).getTime() });
  assert.ok([23, 24, 25].includes(grid('day', at).length));
  assert.equal(grid('hour', at).length, 12);
  assert.equal(step('month', new Date(2026, 11, 31).getTime(), 1), new Date(2027, 0, 1).getTime());
  const hour = grid('hour', at);
  assert.deepEqual(
    count(
      hour,
      [at - 36e5, at, at + 1, at + 36e5].map((from_ms) => ({ from_ms, messages: 3 })),
    ).filter(Boolean),
    [6],
  );
  assert.equal(bucket(hour), 3e5);
  const lengths = (...of) =>
    of.map((h, i, all) => ({
      from: all.slice(0, i).reduce((a, b) => a + b, 0) * 36e5,
      until: all.slice(0, i + 1).reduce((a, b) => a + b, 0) * 36e5,
    }));
  assert.equal(bucket(lengths(24, 24)), 864e5);
  const changes = lengths(24, 23, 24, 24.5);
  assert.equal(bucket(changes), 18e5, 'a month in which the clocks change is counted by what all its days are made of');
  assert.deepEqual(
    count(
      changes,
      [0, 23.5, 24, 46.5, 47, 71, 95].map((h) => ({ from_ms: h * 36e5, messages: 1 })),
    ),
    [2, 2, 1, 2],
  );
  assert.deepEqual([heat(0, 100), heat(1, 100), heat(100, 100), heat(1, 1)], [0, 1, 4, 2]);
});

test('a job tells how fast it sends, not how fast it looks', () => {
  const job = (patch) => ({
    state: 'running',
    filter: 'header.tenant:acme',
    max: 0,
    total: 99_999,
    looked: 0,
    moved: 0,
    refused: {},
    ...patch,
  });
  const samples = [];
  const first = job({ looked: 10_000, moved: 100 });
  assert.equal(note(samples, first, 1000), null);
  assert.equal(note(samples, first, 1500), null, 'one answer counts once');
  const second = job({ looked: 20_000, moved: 200 });
  assert.equal(note(samples, second, 2000), 100);
  assert.equal(left(second, 100, 999), 7990);
  assert.deepEqual(expected(second, 999), { n: 999, about: false, most: false });
  assert.deepEqual(expected(second), { n: 1000, about: true, most: false });
  assert.deepEqual(expected(job({ filter: '', max: 50 })), { n: 50, about: false, most: false });
  assert.equal(note(samples, job({ state: 'paused' }), 3000), null);
  assert.equal(samples.length, 0);
});

test('a job with a limit is as far as it has sent', () => {
  const j = {
    state: 'running',
    filter: 'a',
    max: 300,
    total: 24029,
    looked: 2000,
    moved: 20,
    refused: {},
    options: {},
  };
  assert.deepEqual(expected(j), { n: 300, about: false, most: true });
  assert.deepEqual(expected(j, 120), { n: 120, about: false, most: false });
  assert.equal(share({ ...j, moved: 300, looked: 4300 }), 1);
  assert.equal(share({ ...j, moved: 60 }, 1000), 0.2);
  assert.equal(left(j, 10), null);
  assert.deepEqual(judged({ moved: 240, options: { canary: 10 } }), { least: 100, most: 200 });
  assert.deepEqual(judged({ moved: 30, options: {} }), { least: 30, most: 30 });
});

test('the way of a message as a graph: each exchange and queue once, deaths on the edges', () => {
  const message = {
    place: 'queue',
    queue: 'dlq',
    exchange: 'dlx',
    routing_keys: ['dead'],
    redrives: 0,
    deaths: [
      { queue: 'work', reason: 'rejected', count: 3, exchange: '', 'routing-keys': ['work'] },
      { queue: 'retry', reason: 'expired', count: 2, exchange: '', 'routing-keys': ['retry'] },
      { queue: 'work', reason: 'maxlen', count: 1, exchange: 'shop', 'routing-keys': ['k'] },
    ],
  };
  const { nodes, edges } = wayOf(message);
  assert.deepEqual(
    nodes.map((n) => [n.id, n.now]),
    [
      ['start ', false],
      ['queue work', false],
      ['exchange shop', false],
      ['queue retry', false],
      ['queue dlq', true],
      ['exchange dlx', false],
    ],
  );
  assert.deepEqual(
    edges.map((e) => [e.from, e.to, e.kind, e.reason || e.key, e.count]),
    [
      ['start ', 'exchange shop', 'publish', '', 1],
      ['exchange shop', 'queue work', 'publish', 'k', 1],
      ['queue work', 'queue retry', 'dead_letter', 'maxlen', 1],
      ['queue retry', 'queue work', 'dead_letter', 'expired', 2],
      ['queue work', 'exchange dlx', 'dead_letter', 'rejected', 3],
      ['exchange dlx', 'queue dlq', 'dead_letter', 'dead', 1],
    ],
  );
  const again = wayOf({ ...message, redrives: 2, came_back: 7 }).edges.at(-1);
  assert.deepEqual([again.from, again.to, again.kind, again.count], ['queue dlq', 'queue work', 'redrive', 2]);
  assert.equal(wayOf({ ...message, place: 'lost', queue: '' }).nodes.find((n) => n.now).kind, 'lost');
});

test('what is taken, and what is left out and why', () => {
  const groups = [
    ['dlq', 7],
    ['was.dlq', 4],
    ['other', 9],
  ].map(([value, count]) => ({ value, count }));
  const answer = {
    filter: 'a',
    places: { groups, others: 0 },
    targets: ['dlq', 'other'],
    lost: 8,
    held: 3,
  };
  const scopes = sorted(answer);
  assert.deepEqual(
    scopes.map((s) => [s.source.queue || 'lost', s.count]),
    [
      ['other', 9],
      ['lost', 8],
      ['dlq', 7],
    ],
  );
  assert.deepEqual([scopes.out.held, scopes.out.elsewhere.map((s) => s.source.queue)], [3, ['was.dlq']]);
  assert.deepEqual(
    atOnce(scopes, true).map((s) => s.count),
    [9, 8, 7, 4],
  );
  assert.deepEqual(
    sorted({ ...answer, targets: null, lost: 0 }).map((s) => s.count),
    [9, 7, 4],
  );
  const plain = sorted({ ...answer, filter: 'reason:expired -state:lost' });
  assert.deepEqual(
    plain.map((s) => s.filter),
    ['reason:expired', 'reason:expired -state:lost', 'reason:expired'],
    'what is in a queue is not lost',
  );
  assert.deepEqual(filterParts('a -state:lost b'), { terms: 'a b', noLost: true });
  assert.deepEqual(filterParts('state:lost'), { terms: 'state:lost', noLost: false });
  const many = sorted({
    ...answer,
    places: { groups: Array.from({ length: 20 }, (_, i) => ({ value: `q${i}`, count: i })), others: 2 },
    targets: null,
  });
  assert.deepEqual([atOnce(many, false).length, atOnce(many, false).rest.places], [16, 7]);
  const chosen = scopesOf([
    { place: 'queue', queue: 'q', state: 'held', id: '1' },
    { place: 'scheduled', queue: 'd', state: 'scheduled', id: '2' },
  ]);
  assert.deepEqual([chosen.length, chosen.out.held, chosen.out.scheduled], [0, 1, 1]);
});

test('a redrive is careful unless it is made fast, and neither with options of its own', () => {
  const order = { order: 'oldest' };
  assert.equal(paceOf({ ...order, ...cautious }), 'careful');
  assert.equal(paceOf({ ...order, ...fast }), 'fast');
  assert.equal(paceOf({ ...order, ...fast, rate: 5 }), 'own');
  assert.equal(paceOf({ ...order, ...cautious, stop_percent: 0 }), 'own');
});

test('what is wrong with a filter is taken apart', () => {
  const field = read(
    'filter: resaon:x at character 4: there is no field "resaon"; quote text that contains : or =; known: reason',
  );
  assert.deepEqual(
    [field.kind, field.a, field.term, field.position, field.known],
    ['field', 'resaon', 'resaon:x', 4, ['reason']],
  );
  const value = read('filter: reason:x at character 1: reason has no value "x"; known: rejected, expired');
  assert.deepEqual([value.kind, value.a, value.b, value.known], ['word', 'reason', 'x', ['rejected', 'expired']]);
  assert.deepEqual([read('filter: more than 64 terms').kind, read('filter: more than 64 terms').a], ['too_many', '64']);
  const said = 'filter: = at character 8: write reason:expired; to search for it as text, quote it';
  assert.deepEqual([read(said).kind, read(said).a], ['meant', 'reason:expired']);
  const unitless = read("filter: age:>5 at character 1: '5' has no unit: write 5s, or 5ms");
  assert.deepEqual(
    [unitless.kind, unitless.term, unitless.text, unitless.s, unitless.ms],
    ['duration.no_unit', 'age:>5', '5', '5s', '5ms'],
  );
  const kinds = {
    "'1年' is not a duration: write a number with ms, s, m, h, d or w, such as 90s or 1h30m": 'duration.wrong',
    "'999999d' is longer than a hundred years": 'duration.long',
    "'1us' is not a whole number of milliseconds": 'duration.part',
    'a number is expected, such as 3, >3 or 2..5': 'number',
    'a number must follow; quote text that starts like this': 'number_follows',
    'a size is expected, such as 100, >10kB or 1MB..2MB': 'size',
    'a time is expected, such as 2026-11-20, >2026-11-20T08:30': 'time',
    'a range needs at least one end': 'no_end',
    'the range ends before it begins': 'backwards',
    'a path is expected, such as body.$.order.items[0].sku': 'path',
    'a phrase of 65 words, at most 64 are allowed': 'phrase',
    'the path has more than 32 steps': 'steps',
    'not UTF-8; write bytes as "\\xFF"': 'utf8',
  };
  const { params } = readDuration('soon');
  const wrong = read("filter: age:>soon at character 1: 'soon' is not a duration: write a number with ms");
  for (const name of Object.keys(params)) assert.equal(wrong[name], params[name], `${name}, as the form says it`);
  for (const [text, kind] of Object.entries(kinds)) assert.equal(read(`filter: ${text}`).kind, kind);
  assert.equal(read('filter: x at character 1: something new').text, 'something new');
  assert.equal(read('no queue'), null);
});
