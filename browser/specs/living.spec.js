// Messages that never died: their pages are those of their queue, and they are moved. What consumers return is in their history.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const world = World.of('living');

for (const language of ['en', 'zh-CN'])
  world.test(`a message that never died is one of its queue, and is moved (${language})`, { language }, async (c) => {
    const [from, target] = [`living.${language}`, `moved.${language}`];
    const channel = await c.broker.channel();
    await queues(channel, { [from]: {}, [target]: {} });
    await publish(channel, '', from, [{ body: '{"a":1}', messageId: 'one' }, { body: '{"a":2}' }, { body: '{"a":3}' }]);
    await c.broker.depth(from, 3);
    await c.open(`/queues/%2F/${from}?tab=messages`);
    await c.button('message.discard_all', { n: 3 }).waitFor();
    assert.equal(await c.button('redrive.all').count(), 0, 'a living message is redriven');
    await c.page.getByRole('row').filter({ hasText: 'one' }).getByRole('link').click();
    await c.page.getByRole('heading', { level: 1, name: c.say('message.title', { id: 'one' }) }).waitFor();
    assert.match(c.page.url(), /\/queues\/%2F\/living[^/]*\/messages\//);
    const crumbs = c.page.getByRole('navigation', { name: c.say('frame.crumbs') });
    assert.deepEqual(await crumbs.getByRole('link').allInnerTexts(), [c.say('queues.title'), from]);
    assert.equal(await c.button('redrive.one').count(), 0);
    await c.accessible();
    await c.button('message.move').click();
    await c.dialog.getByRole('heading', { name: c.say('message.move_title', { n: 1 }) }).waitFor();
    await c.field('redrive.queue', {}, c.dialog).fill(target);
    await c.button('redrive.try', {}, c.dialog).click();
    await c.text('message.would', { n: 1 }, c.dialog).waitFor();
    await c.button('redrive.begin', {}, c.dialog).click();
    await c.broker.depth(target, 1);
    await c.button('redrive.close', {}, c.dialog.locator('footer')).click();
    await c.heading('queue.messages').or(c.button('message.move_all')).first().waitFor();

    const { items } = await c.broker.get(`x/queues/%2F/${from}/messages`);
    await c.open(`/letters/%2F/queue/${from}/${items[0].id}`); // an old link
    await c.page.waitForURL(/\/queues\/%2F\/living[^/]*\/messages\//);
    await c.button('resend.one').click();
    const body = c.field('viewer.body', {}, c.dialog);
    await body.fill('{"a":22}');
    await c.button('resend.review', {}, c.dialog).click();
    await c.field('resend.all_the_same', {}, c.dialog).waitFor();
    await c.page.keyboard.press('Escape');

    await c.open(`/queues/%2F/${from}?tab=messages`);
    await c.button('message.move_all').click();
    await c.field('redrive.queue', {}, c.dialog).fill(target);
    await c.button('redrive.try', {}, c.dialog).click();
    await c.text('message.would', { n: 2 }, c.dialog).waitFor();
    await c.button('redrive.begin', {}, c.dialog).click();
    await c.broker.depth(target, 3);
  });

for (const language of ['en', 'zh-CN']) {
  world.test(`the retries of a message are in its history (${language})`, { language }, async (c) => {
    const name = `tried.${language}`;
    const channel = await c.broker.channel();
    await queues(channel, {
      [name]: {
        'x-delayed-retry-type': 'all',
        'x-delayed-retry-steps': '1ms, 2h',
        'x-delayed-retry-attempts': 1,
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': `${name}.dead`,
      },
      [`${name}.dead`]: {},
    });
    const back = async () => {
      let got = null;
      await until('a message', async () => !!(got = await channel.get(name)));
      channel.nack(got, false, true);
    };
    const returns = c.page.getByRole('region', { name: c.say('viewer.way') }).locator('.stop.returns');
    await publish(channel, '', name, [{ body: { n: 1 }, messageId: `tried-${language}` }]);
    await back();
    const list = `x/queues/%2F/${name}/messages`;
    await until('its return', async () => (await c.broker.get(list)).items[0]?.returns === 1);
    const [message] = (await c.broker.get(list)).items;
    await c.open(`/queues/%2F/${name}/messages/${message.id}`);
    await returns.getByText(c.say('viewer.returned', { n: 1 })).waitFor();
    await c.accessible();
    await back();
    await c.broker.depth(`${name}.dead`, 1);
    const [dead] = (await c.broker.get(`x/queues/%2F/${name}.dead/messages`)).items;
    await c.open(`/letters/%2F/queue/${name}.dead/${dead.id}`);
    await returns.getByText(c.say('viewer.returned_most')).waitFor();
    await returns.getByText(c.say('viewer.returns_most', { n: 1 })).waitFor();
    await c.accessible();
  });
}
