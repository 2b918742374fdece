// Long lists: ten thousand queues, and as many messages as are shown at a time.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';

const count = 10_000;
const world = World.of('many', async (broker) => {
  await broker.post('definitions', {
    queues: Array.from({ length: count }, (_, i) => ({
      name: `tenant.${String(i).padStart(5, '0')}`,
      vhost: '/',
      durable: true,
      auto_delete: false,
      arguments: i % 2 ? { 'x-message-ttl': 60_000 } : {},
    })),
  });
});

// All that a page holds of a list, however long that is.
const elementsMax = 4000;
const answerMax = 150_000;

world.test('ten thousand queues are listed, filtered and paged; the page never holds all of them', async (c) => {
  const lengths = [];
  c.page.on(
    'response',
    async (r) => /\/api\/queues/.test(r.url()) && lengths.push((await r.body().catch(() => '')).length),
  );
  const small = async () => {
    const elements = await c.page.evaluate(() => document.querySelectorAll('*').length);
    assert.ok(elements < elementsMax, `the page has ${elements} elements`);
  };
  await c.open('/queues');
  await c.page.getByRole('row').filter({ hasText: 'tenant.00000' }).waitFor();
  await c.text('table.rows', { n: count }).waitFor();
  assert.ok((await c.page.locator('tbody tr').count()) < 300, 'the page draws rows that nobody sees');
  await small();
  await c.page.getByRole('searchbox', { name: c.say('table.filter_names') }).fill('tenant.0999');
  await c.text('table.filtered', { n: 10, total: count }).waitFor();
  await c.page.getByRole('row').filter({ hasText: 'tenant.09999' }).waitFor();
  await c.page.getByRole('searchbox', { name: c.say('table.filter_names') }).fill('');
  await c.text('table.rows', { n: count }).waitFor();
  await c.button('table.next').click();
  await c.page.getByRole('row').filter({ hasText: 'tenant.00000' }).waitFor({ state: 'detached' });
  await small();
  await c.page.getByRole('combobox', { name: c.say('table.per_page') }).selectOption('500');
  await c.page.getByRole('row').filter({ hasText: 'tenant.00000' }).waitFor();
  const drawn = async () => (await c.page.locator('tbody tr').count()) < 300;
  assert.ok(await drawn(), 'of a long page, too, rows are drawn that nobody sees');
  await c.page.locator('.table-box').evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await c.page.getByRole('row').filter({ hasText: 'tenant.00499' }).waitFor();
  assert.ok(await drawn(), 'rows that were scrolled out of view are still drawn');
  assert.ok(lengths.length >= 3, lengths.join());
  assert.ok(
    lengths.slice(0, 3).every((n) => n < answerMax),
    `the answers have ${lengths.join()} bytes`,
  );
});

world.test('a list of as many messages as are shown at a time has no button for more', async (c) => {
  const channel = await c.broker.channel();
  await queues(channel, {
    whole: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'whole.dead' },
    'whole.dead': {},
  });
  const die = async (n, all) => {
    const bodies = Array.from({ length: n }, (_, i) => ({ body: { i } }));
    await publish(channel, '', 'whole', bodies);
    await reject(channel, 'whole', n);
    await c.broker.depth('whole.dead', all);
  };
  const more = c.button('table.more');
  const lists = ['/letters?view=list&filter=queue:whole.dead', '/queues/%2F/whole.dead?tab=messages'];
  await die(100, 100);
  for (const path of lists) {
    await c.open(path);
    await c.text('table.rows', { n: 100 }).waitFor();
    assert.equal(await more.count(), 0, path);
  }
  await die(1, 101);
  for (const path of lists) {
    await c.open(path);
    await c.text('table.so_far', { n: 100 }).waitFor();
    await more.click();
    await c.text('table.rows', { n: 101 }).waitFor();
    assert.equal(await more.count(), 0, path);
  }
});
