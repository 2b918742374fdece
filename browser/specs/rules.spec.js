// Policies before they are saved, and what the topology tells of them.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues } from '../lib/seed.js';

const world = World.of('rules', async (broker) => {
  const channel = await broker.channel();
  await channel.assertExchange('dlx', 'fanout', { durable: true });
  await queues(channel, {
    incoming: {}, 'incoming.dlq': {},
    'round.work': { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'round.retry' },
    'round.retry': { 'x-message-ttl': 60_000, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'round.work' },
  });
  await channel.bindQueue('incoming.dlq', 'dlx', '');
  await publish(channel, '', 'incoming', Array.from({ length: 20 }, (_, i) => ({ body: { i } })));
});

world.test('a policy for everything is tried: what it changes, drops, and that it matches its own dead-letter queue', async (c) => {
  await c.open('/policies/edit');
  await c.field('queues.name').fill('catch-all');
  await c.field('policies.pattern').fill('.*');
  await c.field('setting.dead-letter-exchange').fill('dlx');
  await c.field('setting.max-length').fill('5');
  const trial = c.page.getByRole('region', { name: c.say('trial.title'), exact: true });
  await trial.getByRole('row').filter({ hasText: 'incoming.dlq' }).waitFor();
  await c.page.locator('.banner.warn').filter({ hasText: 'incoming.dlq' }).first().waitFor();
  await trial.getByRole('row').filter({ hasText: 'incoming' }).getByText(c.say('trial.drops', { n: 15 })).waitFor();
  await c.settled();
  await c.accessible();
  await c.picture('policies-edit-trial.en', { fullPage: true });
  assert.deepEqual((await c.broker.get('policies')).length, 0, 'it was only tried');
  await c.broker.depth('incoming', 20);
  await c.field('setting.max-length').fill('');
  await c.button('policies.save').click();
  await c.page.getByRole('heading', { level: 1, name: c.say('policies.title') }).waitFor();
  await c.page.getByRole('link', { name: 'catch-all' }).waitFor();
});

world.test('the graph marks a loop, and so does the list beside it', async (c) => {
  await c.open('/topology');
  const graph = c.page.getByRole('img', { name: c.say('topology.graph') }).or(c.page.getByRole('group', { name: c.say('topology.graph') })).or(c.page.getByLabel(c.say('topology.graph'))).first();
  await graph.getByText('round.retry', { exact: true }).first().waitFor();
  assert.match((await graph.textContent()), /↻/);
  await c.button('topology.as_list').click();
  await c.page.getByText(c.say('topology.loop')).first().waitFor();
  await c.accessible();
});
