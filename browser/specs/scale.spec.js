// Fifty thousand dead letters.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const count = 50_000;
const tenants = 40;
const world = World.of('scale', async (broker) => {
  const channel = await broker.channel();
  // What is published to crowd dies at once.
  await queues(channel, {
    crowd: { 'x-max-length': 0, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'crowd.dead' },
    'crowd.dead': {},
  });
  for (let from = 0; from < count; from += 5000) {
    await publish(
      channel,
      '',
      'crowd',
      Array.from({ length: 5000 }, (_, i) => ({
        body: { n: from + i },
        messageId: `crowd-${from + i}`,
        headers: { tenant: `t${(from + i) % tenants}` },
      })),
    );
  }
  await broker.depth('crowd.dead', count);
  await until(
    'the index to have all',
    async () => (await broker.get('x/letters/%2F/groups?by=source')).total === count,
    60_000,
  );
});

// All that a page holds of a list, however long that is.
const rowsMax = 300;
const answerMax = 400_000;

world.test('a list of fifty thousand dead letters comes in portions, and finds one', async (c) => {
  const lengths = [];
  c.page.on(
    'response',
    async (r) => /\/api\/x\/letters\/%2F\?/.test(r.url()) && lengths.push((await r.body().catch(() => '')).length),
  );
  const rows = c.page.locator('tbody tr[data-index]');
  await c.open('/letters?view=list&filter=queue:crowd.dead');
  await c.page
    .getByRole('row')
    .filter({ hasText: `crowd-${count - 1}` })
    .waitFor(); // the newest is first
  await c.text('table.so_far', { n: 100 }).waitFor();
  for (const n of [200, 300, 400]) {
    await c.button('table.more').click();
    await c.text('table.so_far', { n }).waitFor();
    assert.ok((await rows.count()) < rowsMax, `${await rows.count()} rows are drawn`);
  }
  await c.page.locator('.table-box').evaluate((box) => {
    box.scrollTop = box.scrollHeight;
  });
  await c.page
    .getByRole('row')
    .filter({ hasText: `crowd-${count - 400}` })
    .waitFor(); // each once, in order
  assert.ok(
    lengths.length >= 4 && lengths.every((n) => n > 0 && n < answerMax),
    `the answers have ${lengths.join()} bytes`,
  );
  await c.open('/letters?view=list&filter=message-id:crowd-31415');
  await c.page.getByRole('row').filter({ hasText: 'crowd-31415' }).waitFor();
  await c.text('table.rows', { n: 1 }).waitFor();
  await c.accessible();
});

world.test('groups of fifty thousand dead letters count all of them, and lead to those of one', async (c) => {
  await c.open('/letters?view=groups&by=header:tenant&filter=queue:crowd.dead');
  const table = c.page.getByRole('table', { name: c.say('letters.as_groups') });
  await table
    .getByRole('row')
    .filter({ has: c.page.getByRole('link', { name: 't7', exact: true }) })
    .getByRole('cell', { name: '1,250', exact: true })
    .waitFor();
  assert.equal(await table.getByRole('cell', { name: '1,250', exact: true }).count(), tenants);
  await table.getByRole('link', { name: 't7', exact: true }).click();
  await c.text('table.so_far', { n: 100 }).waitFor();
  await c.button('redrive.found').click();
  await c.button('redrive.try', {}, c.dialog).click();
  await c.dialog.getByText(/1,250/).first().waitFor();
  await c.accessible();
});
