// Policies before they are saved, and what the topology tells of them.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues } from '../lib/seed.js';

const world = World.of('rules', async (broker) => {
  const channel = await broker.channel();
  await channel.assertExchange('dlx', 'fanout', { durable: true });
  await queues(channel, {
    incoming: {},
    'incoming.dlq': {},
    'round.work': { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'round.retry' },
    'round.retry': { 'x-message-ttl': 60_000, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'round.work' },
  });
  await channel.bindQueue('incoming.dlq', 'dlx', '');
  await publish(
    channel,
    '',
    'incoming',
    Array.from({ length: 20 }, (_, i) => ({ body: { i } })),
  );
});

world.test(
  'a policy for everything is tried: what it changes, drops, and that it matches its own dead-letter queue',
  async (c) => {
    await c.open('/policies/edit');
    await c.field('queues.name').fill('catch-all');
    await c.field('policies.pattern').fill('.*');
    await c.field('setting.dead-letter-exchange').fill('dlx');
    await c.field('setting.max-length').fill('5');
    const trial = c.page.getByRole('region', { name: c.say('trial.title'), exact: true });
    await trial.getByRole('row').filter({ hasText: 'incoming.dlq' }).waitFor();
    await c.page.locator('.banner.warn').filter({ hasText: 'incoming.dlq' }).first().waitFor();
    await trial
      .getByRole('row')
      .filter({ hasText: 'incoming' })
      .getByText(c.say('trial.drops', { n: 15 }))
      .waitFor();
    await c.settled();
    await c.accessible();
    await c.picture('policies-edit-trial.en', { fullPage: true });
    assert.deepEqual((await c.broker.get('policies')).length, 0, 'it was only tried');
    await c.broker.depth('incoming', 20);
    await c.field('setting.max-length').fill('');
    await c.button('policies.save').click();
    await c.page.getByRole('heading', { level: 1, name: c.say('policies.title') }).waitFor();
    await c.page.getByRole('link', { name: 'catch-all' }).waitFor();
  },
);

world.test('the graph marks a loop, and so does the list beside it', async (c) => {
  await c.open('/topology');
  const graph = c.page
    .getByRole('img', { name: c.say('topology.graph') })
    .or(c.page.getByRole('group', { name: c.say('topology.graph') }))
    .or(c.page.getByLabel(c.say('topology.graph')))
    .first();
  await graph.getByText('round.retry', { exact: true }).first().waitFor();
  assert.match(await graph.textContent(), /↻/);
  await c.button('topology.as_list').click();
  await c.page.getByText(c.say('topology.loop')).first().waitFor();
  await c.accessible();
});

world.test(
  'lint tells of a dead-letter exchange that is missing, leads to the queue, and has nothing more to say when it is there',
  async (c) => {
    const channel = await c.broker.channel();
    await queues(channel, { 'lint.work': { 'x-dead-letter-exchange': 'lint.dlx' }, 'lint.dead': {} });
    await c.open('/lint');
    const row = c.page.getByRole('row').filter({ hasText: 'lint.work' });
    await row.filter({ hasText: 'lint.dlx' }).first().waitFor();
    await row.getByText(c.say('severity.error'), { exact: true }).first().waitFor();
    await c.accessible();
    await row.getByRole('link', { name: 'lint.work' }).first().click();
    await c.page.getByRole('heading', { level: 1, name: 'lint.work' }).waitFor();
    await c.page.getByText('lint.dlx').first().waitFor();
    await channel.assertExchange('lint.dlx', 'fanout', { durable: true });
    await channel.bindQueue('lint.dead', 'lint.dlx', '');
    await c.open('/lint');
    await c.settled();
    assert.deepEqual(await row.filter({ hasText: 'lint.dlx' }).allInnerTexts(), []);
  },
);

for (const language of ['en', 'zh-CN']) {
  world.test(
    `a queue that cannot be made: what is wrong stands beside the field, and nothing is lost (${language})`,
    { language },
    async (c) => {
      c.expect(/400/);
      await c.open('/queues/new');
      const name = c.field('queues.name');
      const make = c.button('create.do');
      const more = c.field('setting.arguments');
      await c.field('setting.max-length').fill('70');
      await name.fill('amq.mine');
      await c.page.locator('.field.wrong').filter({ has: name }).getByText(c.say('name.amq')).waitFor();
      assert.equal(await name.getAttribute('aria-invalid'), 'true');
      assert.equal(await make.isDisabled(), true);
      await c.accessible();
      await name.fill('名'.repeat(90)); // 270 bytes
      await c.page.locator('.field.wrong').filter({ has: name }).getByText(c.say('name.long')).waitFor();
      await name.fill(`refused.${language}`);
      await more.fill('{"x-max-age": ');
      await c.page.locator('.field.wrong').filter({ has: more }).getByRole('alert').waitFor();
      assert.equal(await make.isDisabled(), true);
      await more.fill('{"x-message-ttl": "soon"}'); // only the broker knows that this is none
      await make.click();
      await c.page.locator('.toast.bad, [role=alert]').filter({ hasText: 'x-message-ttl' }).first().waitFor();
      assert.equal(await name.inputValue(), `refused.${language}`);
      assert.equal(await more.inputValue(), '{"x-message-ttl": "soon"}');
      assert.equal(await c.field('setting.max-length').inputValue(), '70');
      await more.fill('{"x-message-ttl": 60000}');
      await make.click();
      await c.page.getByRole('heading', { level: 1, name: `refused.${language}` }).waitFor();
      const queue = await c.broker.get(`queues/%2F/refused.${language}`);
      assert.deepEqual(queue.arguments, { 'x-message-ttl': 60000, 'x-max-length': 70 });
    },
  );
}
