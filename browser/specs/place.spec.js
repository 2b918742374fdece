// Where the keyboard goes on: after coming back to a list, after leaving a filter, beside a dialog; and what is called how.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const n = 130;
const world = World.of('place', async (broker) => {
  const channel = await broker.channel();
  await queues(channel, {
    orders: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'orders.dead' },
    'orders.dead': {},
    ...Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`row-${i + 10}`, {}])),
  });
  const orders = Array.from({ length: n }, (_, i) => ({ body: { i }, messageId: `order-${i}`, type: `kind-${i % 2}` }));
  await publish(channel, '', 'orders', orders);
  await reject(channel, 'orders', n);
  await broker.depth('orders.dead', n);
  await until('the index', async () => (await broker.get('x/letters/%2F?limit=200')).items.length === n);
  await broker.put('users/reader', { password: 'p', tags: 'management' });
  await broker.put('permissions/%2F/reader', { configure: '^$', write: '^$', read: '.*' });
});

const inRow = (c) => c.page.evaluate(() => Number(document.activeElement?.closest('tr')?.dataset.index ?? -1));
const focusOn = (c, index) => until(`row ${index} to have the focus`, async () => (await inRow(c)) === index);
const rowsOf = (c) => c.page.locator('tr[data-index]');
const inSight = (c) =>
  c.page.evaluate(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });

world.test(
  'the button that folds the navigation is in sight in a low window',
  { viewport: { width: 1280, height: 420 } },
  async (c) => {
    await c.open('/');
    await c.settled();
    const { y, height } = await c.button('frame.fold').boundingBox();
    assert.ok(y + height <= 420, `it ends at ${y + height}`);
    const links = c.page.locator('#nav a');
    for (const link of await links.all()) {
      await link.focus();
      const box = await link.boundingBox();
      assert.ok(box.y + box.height <= y, `${await link.innerText()} is under it`);
    }
  },
);

world.test('rows and the keys of the help have names', async (c) => {
  const named = (role, name) => c.page.getByRole(role, { name, exact: true }).waitFor();
  await c.open('/queues');
  await named('row', 'row-12');
  await c.open('/exchanges');
  await named('row', 'amq.topic');
  await c.open('/letters?view=list');
  const [letter] = (await c.broker.get('x/letters/%2F?limit=1')).items;
  await c.page.getByRole('row', { name: new RegExp(`^${letter.id}, `) }).waitFor();
  await c.open('/audit');
  await c.page
    .getByRole('row', { name: /reader/ })
    .first()
    .waitFor();
  await c.page.keyboard.press('?');
  await c.dialog.getByRole('group', { name: c.say('keys.help'), exact: true }).waitFor();
  await c.accessible();
});

for (const language of ['en', 'zh-CN']) {
  world.test(`keys say what is missing for them (${language})`, { language, user: 'reader:p' }, async (c) => {
    const lacks = c.say('lacks.tag', { tag: 'policymaker' });
    for (const key of ['r', 'Delete']) {
      await c.open('/lost');
      await c.settled();
      await c.page.keyboard.press(key);
      await c.page.locator('#announced').filter({ hasText: lacks }).waitFor({ state: 'attached' });
      assert.equal(await c.dialog.count(), 0);
    }
  });
}

for (const language of ['en', 'zh-CN']) {
  world.test(
    `what is wrong with the JSON of a policy is said in words of the console (${language})`,
    { language },
    async (c) => {
      const what = c.say('policies.json');
      await c.open('/policies/edit?vhost=%2F&pattern=x');
      await c.field('policies.json').fill('{x');
      await c.page
        .getByRole('alert')
        .filter({ hasText: c.say('form_words.json_at', { what, line: 1, column: 2 }) })
        .waitFor();
      await c.field('policies.json').fill('[]');
      await c.page
        .getByRole('alert')
        .filter({ hasText: c.say('form_words.json_object', { what }) })
        .waitFor();
    },
  );
}
