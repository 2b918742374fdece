// The parts of the console that only compute.
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { parse, format, tight } from '../lib/message.js';
import { once } from '../lib/once.js';
import { named, ranked, wordsOf } from '../lib/find.js';
import { addressOf, chinese, matchPath } from '../lib/paths.js';
import { order, matches, isRegex, csv, between, view } from '../lib/order.js';
import { asks, broken, perSecond, rangeOf, sampled, together } from '../lib/samples.js';

const say = (text, params, lang = 'en') => format(parse(text), params, lang);

test('messages', () => {
  assert.equal(say('{n, plural, =0 {none} one {# message} other {# messages}}', { n: 0 }), 'none');
  assert.equal(say('{n, plural, one {# message} other {# messages}}', { n: 1 }), '1 message');
  assert.equal(
    say('{n, plural, one {# message} other {# messages}} in {place}', { n: 1234, place: 'q' }),
    '1,234 messages in q',
  );
  assert.equal(say('{n, plural, other {# 封死信}}', { n: 1 }, 'zh-CN'), '1 封死信');
  assert.equal(say('{x, select, a {A} other {{y}!}}', { x: 'b', y: 'Y' }), 'Y!');
  assert.equal(say('{n, number}', { n: 12345.678 }), '12,345.68');
  assert.throws(() => parse('{a'));
  assert.throws(() => parse('{a, plural, one {x}}'));
});

test('behind a full-width mark there is no space, whatever stands between', () => {
  const button = {};
  assert.deepEqual(tight(['一。', ' ', false, ' ', '二']), ['一。', '', false, '', '二']);
  assert.deepEqual(tight(['One.', ' ', 'Two.']), ['One.', ' ', 'Two.']);
  assert.deepEqual(tight(['一。', button, ' 二', 5, ' 三']), ['一。', button, ' 二', 5, ' 三']);
});

test('what a button began, or a form just sent, it does not do again', async () => {
  const [form, button, other] = [{}, {}, {}];
  let kept = 0;
  const event = (type, currentTarget) => ({ type, currentTarget, preventDefault: () => kept++ });
  let finish = (_ = 0) => {};
  let done = 0;
  const slow = once(() => {
    done++;
    return new Promise((resolve) => {
      finish = resolve;
    });
  });
  slow(event('click', button));
  slow(event('click', button));
  assert.deepEqual([done, kept], [1, 1]);
  slow(event('click', other));
  assert.equal(done, 2);
  finish(); // of the other
  await new Promise(setImmediate);
  slow(event('click', button));
  slow(event('click', other));
  assert.equal(done, 3);
  const failed = once(() => Promise.reject(new Error('no')));
  await assert.rejects(failed(event('click', form)), /no/);
  await assert.rejects(failed(event('click', form)), /no/);
  const send = once(() => void done++);
  send(event('submit', form));
  send(event('submit', form));
  assert.equal(done, 4);
  await new Promise((resolve) => setTimeout(resolve, 350));
  send(event('submit', form));
  assert.equal(done, 5, 'later it is meant');
});

test('Chinese has a space where its script meets letters or digits, and only there', () => {
  const zh = (text, params) => say(text, params, 'zh-CN');
  assert.equal(zh('最近 {range} 成为死信', { range: '5 分钟' }), '最近 5 分钟成为死信');
  assert.equal(zh('每{step}死信数', { step: '分钟' }), '每分钟死信数');
  assert.equal(zh('每{step}死信数', { step: '5 分钟' }), '每 5 分钟死信数');
  assert.equal(zh('每 {step} 死信数', { step: '分钟' }), '每分钟死信数');
  assert.equal(zh('打开队列{queue}', { queue: 'orders' }), '打开队列 orders');
  assert.equal(zh('{n}条', { n: 3 }), '3 条');
  assert.equal(zh('交换机 {name} 的权限', { name: '（默认交换机）' }), '交换机（默认交换机）的权限');
  assert.equal(zh('交换机 {name} 的权限', { name: 'orders' }), '交换机 orders 的权限');
  assert.equal(zh('删除{what}。', { what: '订单 a' }), '删除订单 a。');
  assert.equal(say('in {place}', { place: '队列' }), 'in 队列');
});

test('the palette finds actions by other words, and the name that follows a verb', () => {
  const rows = [
    { title: 'Definitions', also: 'backup import' },
    { title: 'Import dead letters…', also: 'dlq' },
  ];
  const found = (text) => ranked(wordsOf(text), rows).map((r) => r.title);
  assert.deepEqual(found('import'), ['Import dead letters…', 'Definitions'], 'a title comes before other words');
  assert.deepEqual(found('import dlq'), ['Import dead letters…']);
  assert.deepEqual(found('nothing'), []);
  assert.deepEqual(found('Ｉｍｐｏｒｔ dead letters…'), ['Import dead letters…']);
  assert.deepEqual(wordsOf('清空orders.dead 队列'), ['清空', 'orders.dead', '队列']);
  const purge = ['purge', 'empty', '清空'];
  const noise = ['queue', 'the', '队列'];
  assert.deepEqual(named(wordsOf('purge the queue orders'), purge, noise), ['orders']);
  assert.deepEqual(named(wordsOf('pur orders'), purge, noise), ['orders']);
  assert.deepEqual(named(wordsOf('清空队列orders'), purge, noise), ['orders']);
  assert.deepEqual(named(wordsOf('清空订单'), purge, noise), ['订单']);
  assert.deepEqual(named(wordsOf('empty'), purge, noise), []);
  assert.equal(named(wordsOf('orders queue'), purge, noise), null);
});

test('paths', () => {
  assert.deepEqual(matchPath('/queues/:vhost/:name', '/queues/%2F/a%2Fb'), { vhost: '/', name: 'a/b' });
  assert.deepEqual(matchPath('/', '/'), {});
  assert.deepEqual(matchPath('/queues', '/queues/'), {});
  assert.equal(matchPath('/queues/:vhost', '/queues'), null);
  assert.equal(matchPath('/queues/:vhost', '/queues/%'), null);
});

test('order and filter', () => {
  const rows = [{ a: 10 }, { a: 9 }, { a: null }, { a: 100 }];
  assert.deepEqual(
    order(rows, (r) => r.a, false).map((r) => r.a),
    [9, 10, 100, null],
  );
  assert.deepEqual(
    order(rows, (r) => r.a, true).map((r) => r.a),
    [100, 10, 9, null],
  );
  assert.deepEqual(
    order(['q10', 'q9', 'Q1'], (x) => x, false),
    ['Q1', 'q9', 'q10'],
  );
  assert.ok(matches('Orders.DLQ', 'dlq', false));
  assert.ok(matches('orders.dlq', '^ord.*q$', true));
  assert.ok(!matches('orders', '(', true));
  assert.ok(isRegex('^a') && !isRegex('('));
});

test('csv', () => {
  assert.equal(
    csv(
      ['a', 'b'],
      [
        ['x,y', 'say "hi"'],
        ['=1+1', -5],
        [null, { k: 1 }],
      ],
    ),
    'a,b\r\n"x,y","say ""hi"""\r\n\'=1+1,-5\r\n,"{""k"":1}"\r\n',
  );
});

test('ranges', () => {
  assert.deepEqual(between(['a', 'b', 'c', 'd'], 'd', 'b'), ['b', 'c', 'd']);
  assert.deepEqual(between(['a', 'b'], 'gone', 'b'), ['b']);
  assert.deepEqual(view(10000, 30, 3000, 600, 5), { first: 95, last: 125, before: 2850, after: 296250 });
  assert.deepEqual(view(3, 30, 900, 600, 5), { first: 3, last: 3, before: 90, after: 0 });
});

test('what the broker remembers becomes lines', () => {
  const details = (...samples) => ({ samples: samples.map(([timestamp, sample]) => ({ timestamp, sample })) });
  const of = { publish_details: details([3000, 40], [2000, 20], [1000, 30]), ack_details: { rate: 0 } };
  assert.deepEqual(
    sampled(
      of,
      [
        ['publish_details', 'in'],
        ['ack_details', 'acked'],
      ],
      { pick: perSecond },
    ),
    { times: [1000, 2000, 3000], series: [{ label: 'in', values: [null, 0, 20] }], unknown: { since: 0, gaps: [] } },
  );
  assert.deepEqual(sampled(of, [['publish_details', 'in']]).series[0].values, [30, 20, 40]);
  const published = [['publish_details', 'in']];
  const young = { counted_since: new Date(1000).toISOString(), gaps: [{ from: 2000, to: 2900 }] };
  const drawn = (pick) => sampled(of, published, { answer: young, range: '1m', pick });
  assert.deepEqual(drawn(), {
    times: [-57_000, 1000, 2000, 2001, 3000],
    series: [{ label: 'in', values: [null, 30, 20, null, 40] }],
    unknown: { since: 1000, gaps: young.gaps },
  });
  assert.deepEqual(drawn(perSecond).series[0].values, [null, null, 0, null, null]);
  const old = { counted_since: new Date(-57_000).toISOString() };
  assert.equal(sampled(of, published, { answer: old, range: '1m' }).times.length, 3);
  const at = (...times) => times.map((timestamp) => ({ timestamp, sample: 1 }));
  assert.deepEqual(
    broken(at(0, 5, 30), 5).map((s) => [s.timestamp, s.sample]),
    [
      [0, 1],
      [5, 1],
      [25, null],
      [30, 1],
    ],
  );
  assert.equal(sampled(undefined, [['publish_details', 'in']]), null);
  assert.deepEqual(asks('10m', 'lengths'), { lengths_age: 600, lengths_incr: 10 });
  assert.equal(rangeOf({ range: 'toString' }, '1h'), '1h');
  assert.equal(rangeOf({ range: '8h' }, '1h'), '8h');
  const always = { counted_since: new Date(0).toISOString(), step_seconds: 0.001 };
  const two = [
    { ...always, times: [1, 2], by_step: { rejected: [5, 6] } },
    { ...always, times: [2], by_step: { rejected: [1], expired: [2] } },
  ];
  assert.deepEqual(together(two, ['rejected', 'expired']), {
    times: [1, 2],
    died: { rejected: [5, 7], expired: [0, 2] },
  });
  assert.deepEqual(together([], ['rejected']), { times: [], died: { rejected: [] } });
  const restarted = {
    counted_since: new Date(1500).toISOString(),
    gaps: [{ from: 3000, to: 4500 }],
    step_seconds: 1,
    times: [1000, 2000, 3000, 4000, 5000],
    by_step: { rejected: [0, 1, 2, 0, 3] },
  };
  assert.deepEqual(together([restarted], ['rejected']).died.rejected, [null, 1, 2, null, 3]);
});

test('the documentation is linked in Chinese where it is there in Chinese', () => {
  const root = new URL('../../../../../', import.meta.url);
  const translated = readdirSync(new URL('docs/zh-CN/', root)).filter((name) =>
    existsSync(new URL(`docs/${name}`, root)),
  );
  for (const name of translated) assert.equal(chinese[`docs/${name}`], `docs/zh-CN/${name}`);
  for (const page of Object.values(chinese)) {
    const [file, section] = page.split('#');
    const text = readFileSync(new URL(file, root), 'utf8');
    if (section) assert.ok(text.includes(`\n## ${section}\n`), page);
  }
  const main = 'https://github.com/bartleby-mq/bartleby/blob/main/';
  assert.equal(addressOf('docs/filters.md', 'zh-CN'), `${main}docs/zh-CN/filters.md`);
  assert.equal(addressOf('docs/filters.md', 'en'), `${main}docs/filters.md`);
  assert.equal(addressOf('docs/audit.md', 'zh-CN'), `${main}docs/audit.md`);
});
