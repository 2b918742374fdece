// What the keyboard and those who hear the page need: where the focus goes, and what is said beside what was done.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { queues } from '../lib/seed.js';

const world = World.of('keyboard', async (broker) => {
  const channel = await broker.channel();
  await queues(channel, { orders: {} });
});

for (const language of ['en', 'zh-CN']) {
  world.test(`whether a message was published is said beside the button (${language})`, { language }, async (c) => {
    await c.open('/queues/%2F/orders');
    await c.button('publish.do').click();
    await c.button('publish.do', {}, c.dialog).click();
    const said = c.text('publish.routed', {}, c.dialog.getByRole('status'));
    await said.waitFor();
    const { y, height } = await said.boundingBox();
    assert.ok(y + height <= c.page.viewportSize().height, `it ends at ${y + height}`);
    const button = await c.button('publish.do', {}, c.dialog).boundingBox();
    assert.ok(Math.abs(y + height / 2 - button.y - button.height / 2) < button.height, 'it is beside the button');
    await c.accessible();
    await c.field('publish.key', {}, c.dialog).fill('nowhere');
    await said.waitFor({ state: 'detached' });
  });
}
