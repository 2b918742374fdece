// Ten thousand queues in a list.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';

const count = 10_000;
const world = World.of('many', async (broker) => {
  await broker.post('definitions', {
    queues: Array.from({ length: count }, (_, i) => ({ name: `tenant.${String(i).padStart(5, '0')}`, vhost: '/', durable: true, auto_delete: false, arguments: i % 2 ? { 'x-message-ttl': 60_000 } : {} })),
  });
});

world.test('ten thousand queues are listed, filtered and paged', async (c, t) => {
  const begun = Date.now();
  await c.open('/queues');
  await c.page.getByRole('row').filter({ hasText: 'tenant.00000' }).waitFor();
  t.diagnostic(`the list of ${count} queues was there after ${Date.now() - begun} ms`);
  await c.text('table.rows', { n: count }).waitFor();
  assert.ok((await c.page.locator('tbody tr').count()) < 300, 'the page draws rows that nobody sees');
  await c.page.getByRole('searchbox', { name: c.say('table.filter') }).fill('tenant.0999');
  await c.text('table.filtered', { n: 10, total: count }).waitFor();
  await c.page.getByRole('row').filter({ hasText: 'tenant.09999' }).waitFor();
  await c.page.getByRole('searchbox', { name: c.say('table.filter') }).fill('');
  await c.text('table.rows', { n: count }).waitFor();
  await c.button('table.next').click();
  await c.page.getByRole('row').filter({ hasText: 'tenant.00000' }).waitFor({ state: 'detached' });
});
