// Every page there is: in both languages, light and dark, on a desk and on a phone.
import { readFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { World, desk, phone } from '../lib/console.js';
import { field } from '../lib/seed.js';

const world = World.of('pages', async (broker) => {
  await field(broker);
  const job = await broker.post('x/redrives/%2F', {
    source: { queue: 'payments.dead' },
    max: 4,
    action: 'redrive',
    target: { to: 'origin' },
    options: { rate: 2, watch_ms: 60_000 },
  });
  const messages = await broker.get('x/queues/%2F/orders.dead/messages?limit=1');
  await broker.put('queues/%2F/drafts', { durable: true });
  await broker.post('exchanges/%2F/amq.default/publish', {
    routing_key: 'drafts',
    payload: 'one',
    payload_encoding: 'string',
    properties: {},
  });
  const living = await broker.get('x/queues/%2F/drafts/messages?limit=1');
  const lost = await broker.get('x/lost-letters/%2F/messages?limit=1');
  const scheduled = await broker.get('x/scheduled/%2F/reminders?limit=1');
  Object.assign(names, {
    message: messages.items[0].id,
    living: living.items[0].id,
    lost: lost.items[0].id,
    scheduled: scheduled.items[0].id,
    job: job.id,
  });
});

// What stands in the addresses for the names in the registry's paths.
const names = {};
const params = {
  '/letters/:vhost/queue/:queue/:id': () => `/letters/%2F/queue/orders.dead/${names.message}`,
  '/letters/:vhost/lost/:id': () => `/letters/%2F/lost/${names.lost}`,
  '/schedule/:vhost/:exchange/:id': () => `/schedule/%2F/reminders/${names.scheduled}`,
  '/jobs/:vhost/:id': () => `/jobs/%2F/${names.job}`,
  '/queues/:vhost/:name': () => '/queues/%2F/orders.created',
  '/queues/:vhost/:queue/messages/:id': () => `/queues/%2F/drafts/messages/${names.living}`,
  '/exchanges/:vhost/:name': () => '/exchanges/%2F/orders.dlx',
  '/users/:name': () => '/users/erika',
  '/vhosts/:name': () => '/vhosts/staging',
};

const registry = ['messages', 'broker']
  .map((part) =>
    readFileSync(new URL(`../../internal/management/console/ui/pages/registry-${part}.js`, import.meta.url), 'utf8'),
  )
  .join('\n');
const paths = [...registry.matchAll(/path: '([^']+)'/g)].map((m) => m[1]);
// Views of a page that are as much as a page.
const views = [
  '/letters?view=groups&by=exception',
  '/letters?view=list',
  '/letters?view=queues',
  '/schedule?view=day',
  '/queues/%2F/orders.created?tab=messages',
  '/queues/%2F/orders.created?tab=consumers',
  '/queues/%2F/orders.created?tab=trends',
  '/?range=1m',
  '/queues/%2F/orders.created?tab=bindings',
];

const called = (path) => path.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '') || 'overview';

for (const path of [...paths, ...views]) {
  world.test(`${path}: light, dark, on a phone`, async (c) => {
    await c.page.setViewportSize(desk);
    await show(c, path);
    await c.picture(`${called(path)}.en`, { fullPage: true });
    await c.accessible();
    await c.page.emulateMedia({ colorScheme: 'dark' });
    await c.settled();
    await c.accessible('color-contrast');
    await c.page.emulateMedia({ colorScheme: 'light' });
    await c.page.setViewportSize(phone);
    await c.settled();
    const wide = await c.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `on a phone the page is ${wide} pixels too wide`);
  });

  world.test(`${path}: in Chinese`, { language: 'zh-CN' }, async (c) => {
    await show(c, path);
    await c.picture(`${called(path)}.zh-CN`, { fullPage: true });
    assert.deepEqual(await english(c), [], 'what is not translated');
    assert.deepEqual(await marks(c), [], 'marks that are not Chinese, or have a space behind them');
  });
}

async function show(c, path) {
  const address = params[path]?.() ?? path;
  assert.ok(!address.includes(':'), `this spec does not know what to put into ${path}`);
  await c.open(address);
  await c.settled();
}

/** Texts of three English words or more: the page's own, that is, neither code nor what came with messages or in names. */
function english(c) {
  return c.page.evaluate(
    (descriptions) => {
      const found = new Set();
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let n = walker.nextNode(); n; n = walker.nextNode()) {
        const text = n.nodeValue.trim();
        if (!/[a-z]{2,} [a-z]{2,} [a-z]{2,}/.test(text) || descriptions.includes(text) || /\p{Script=Han}/u.test(text))
          continue;
        if (
          n.parentElement.closest(
            'code, pre, script, noscript, textarea, .mono, .pre, .json, .break, [lang=en], .hidden',
          )
        )
          continue;
        found.add(text);
      }
      return [...found];
    },
    ['where it is tried first'],
  );
}

/** Lines with a mark of ASCII behind Chinese, or with a space behind a Chinese mark: of what is shown, and of what is only heard. */
function marks(c) {
  return c.page.evaluate(() => {
    // A badge or an arrow behind a sentence is no part of it.
    for (const tag of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.tag')))
      tag.style.display = 'none';
    const labels = [...document.querySelectorAll('[aria-label], [title], [data-tip]')].flatMap((e) =>
      ['aria-label', 'title', 'data-tip'].map((name) => e.getAttribute(name) || ''),
    );
    const all = [document.body.innerText, ...labels].flatMap((text) => text.split(/[\n\t]/));
    return [...new Set(all)].filter((line) => /\p{Script=Han}[,:;!?](?![\w/])|[，、。：；！？] [^\s→]/u.test(line));
  });
}

world.test('what an import would be refused for is listed before it is done', async (c) => {
  const document = {
    queues: [
      { name: 'imported.stream', vhost: '/', durable: true, arguments: { 'x-queue-type': 'stream' } },
      { name: 'imported.good', vhost: '/', durable: true, arguments: {} },
    ],
    policies: [{ vhost: '/', name: 'imported.ahead', pattern: '(?=a)', definition: { 'max-length': 5 } }],
  };
  c.expect(/400.*definitions\?dry_run/);
  await c.open('/definitions');
  const choose = (name, of) =>
    c
      .field('definitions.file')
      .setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(of)) });
  await choose('wrong.json', document);
  const refusals = c.page.getByRole('alert').getByRole('listitem');
  await refusals.filter({ hasText: 'imported.stream' }).waitFor();
  await refusals.filter({ hasText: 'imported.ahead' }).waitFor();
  assert.equal(await refusals.count(), 2);
  assert.ok(await c.button('definitions.do').isDisabled());
  await c.accessible();
  await choose('right.json', { queues: [document.queues[1]] });
  await refusals.first().waitFor({ state: 'detached' });
  await c.button('definitions.do').click();
  await c.text('definitions.done', { name: 'right.json' }).waitFor();
});

world.test('a file in another encoding is not imported', async (c) => {
  const name = Buffer.from([0xb2, 0xd6, 0xbf, 0xe2]); // 仓库 in GBK
  const buffer = Buffer.concat([
    Buffer.from('{"queues":[{"vhost":"/","name":"'),
    name,
    Buffer.from('","durable":true}]}'),
  ]);
  await c.open('/definitions');
  await c.field('definitions.file').setInputFiles({ name: 'gbk.json', mimeType: 'application/json', buffer });
  await c.text('definitions.not_utf8').waitFor();
  assert.equal(await c.button('definitions.do').count(), 0);
  const chooser = c.page.waitForEvent('filechooser');
  await c.field('definitions.file').click();
  await chooser; // the same file may be chosen again: the field has forgotten it
  assert.equal(await c.field('definitions.file').evaluate((e) => e.files.length), 0);
});

world.test('an import leaves out what is refused and what refers to it, and names it', async (c) => {
  const queue = (name, more = {}) => ({ name, vhost: '/', durable: true, arguments: more });
  const bind = (destination) => ({
    source: 'amq.fanout',
    destination,
    destination_type: 'queue',
    vhost: '/',
    routing_key: '',
    arguments: {},
  });
  const document = {
    queues: [queue('partly.stream', { 'x-queue-type': 'stream' }), queue('partly.good')],
    bindings: [bind('partly.stream'), bind('partly.good')],
  };
  c.expect(/400.*definitions\?dry_run/);
  await c.open('/definitions');
  await c.field('definitions.file').setInputFiles({
    name: 'partly.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(document)),
  });
  await c.button('definitions.leave_out').click();
  await c.text('definitions.left_out', { n: 2 }).waitFor();
  await c.page.getByRole('status').getByRole('listitem').filter({ hasText: 'partly.stream' }).first().waitFor();
  await c.button('definitions.save_rest').waitFor();
  await c.settled();
  await c.accessible();
  await c.button('definitions.do').click();
  await c.text('definitions.done', { name: 'partly.json' }).waitFor();
  const names = (await c.broker.get('queues')).map((q) => q.name);
  assert.ok(names.includes('partly.good') && !names.includes('partly.stream'), names.join());
});

world.test('what an import would be refused for is in the language of the page', { language: 'zh-CN' }, async (c) => {
  const here = { vhost: '/', durable: true };
  const policy = { vhost: '/', pattern: 'a', definition: { 'max-length': 1 } };
  const queue = (name, args) => ({ ...here, name, arguments: args });
  const bind = (source, to, kind) => ({
    vhost: '/',
    source,
    destination: to,
    destination_type: kind,
    routing_key: 'k',
  });
  const document = {
    users: [{ name: 'u', password_hash: '!!', tags: '' }],
    permissions: [{ user: 'nobody', vhost: '/', configure: '', write: '', read: '' }],
    topic_permissions: [{ user: 'nobody', vhost: '/', exchange: 'e', write: '', read: '' }],
    parameters: [{ vhost: '/', component: 'shovel', name: 's', value: {} }],
    policies: [
      { ...policy, name: 'p1', pattern: '(' },
      { ...policy, name: 'p2', definition: { 'max-lengt': 1, mode: 2 } },
      { ...policy, name: 'p3', definition: { 'max-length': 'x' } },
      { ...policy, name: 'p4', 'apply-to': 'quues' },
      { ...policy, name: 'p5', definition: {} },
    ],
    exchanges: [
      { ...here, name: 'e1', type: 'foo', arguments: {} },
      { ...here, name: 'e2', type: 'x-delayed-message', arguments: {} },
      { ...here, name: 'e3', type: 'fanout', arguments: { 'alternate-exchange': 4 } },
    ],
    queues: [
      queue('q1', { 'x-message-ttl': '5' }),
      queue('q2', { 'x-queue-type': 'stream' }),
      queue('q3', { 'x-message-ttl': -5 }),
      queue('q4', { 'x-dead-letter-routing-key': 'k' }),
      queue('q5', { 'x-queue-type': 'klassic' }),
      { ...queue('q6', { 'x-queue-type': 'quorum' }), durable: false },
      queue('q7', { 'x-overflow': 'foo' }),
      { ...queue('q8', {}), vhost: 'missing' },
    ],
    bindings: [bind('nope', 'q', 'queue'), bind('amq.topic', 'nope', 'queue'), bind('amq.topic', 'q', 'topic')],
  };
  c.expect(/400.*definitions\?dry_run/);
  await c.open('/definitions');
  await c
    .field('definitions.file')
    .setInputFiles({ name: 'wrong.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(document)) });
  const refusals = c.page.getByRole('alert').getByRole('listitem');
  await refusals.first().waitFor();
  const all = await refusals.allInnerTexts();
  assert.equal(all.length, 23, all.join('\n'));
  for (const text of all) {
    const said = text.replace(/“[^”]*”|：.*(?=。语法)|base64.*|可用的值：.*|（[^）]*）/g, '');
    assert.match(text, /\p{Script=Han}.*：.*\p{Script=Han}|不存在$/u, text);
    assert.doesNotMatch(said, /<<|Validation|invalid|\bno\b|not|[{}]/, text);
  }
});
