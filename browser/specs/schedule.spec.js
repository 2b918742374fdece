// The schedule: what waits for its instant is called off, moved, sent early.
import { World } from '../lib/console.js';
import { publish, queues } from '../lib/seed.js';

const hour = 3_600_000;
const world = World.of('schedule', async (broker) => {
  const channel = await broker.channel();
  await channel.assertExchange('later', 'x-delayed-message', { durable: true, arguments: { 'x-delayed-type': 'direct' } });
  await queues(channel, { due: {} });
  await channel.bindQueue('due', 'later', 'k');
  for (const id of ['stays', 'goes', 'moves', 'early']) await publish(channel, 'later', 'k', [{ body: id, messageId: id, headers: { 'x-delay': hour } }]);
});

for (const language of ['en', 'zh-CN']) {
  world.test(`scheduled messages are called off, moved and sent early (${language})`, { language }, async (c) => {
    await c.open(`/schedule?view=day&at=${Date.now() + hour}`);
    const row = (id) => c.page.getByRole('row').filter({ hasText: id });
    await row('stays').waitFor();
    if (language === 'en') {
      await c.button('schedule.cancel', {}, row('goes')).click();
      await c.button('schedule.cancel', {}, c.dialog).click();
      await c.text('schedule.cancel_done', { n: 1 }).waitFor();
      await row('goes').waitFor({ state: 'detached' });
    } else {
      await c.button('schedule.fire', {}, row('early')).click();
      await c.button('schedule.fire', {}, c.dialog).click();
      await c.text('schedule.fire_done', { n: 1 }).waitFor();
      await c.broker.depth('due', 1);
    }
    const before = await row('moves').getByRole('cell').nth(1).innerText();
    await c.button('schedule.move', {}, row('moves')).click();
    await c.page.getByRole('radio', { name: c.say('schedule.from_now') }).check();
    await c.dialog.getByRole('spinbutton', { name: c.say('schedule.from_now') }).fill(language === 'en' ? '3' : '4');
    await c.accessible();
    await c.button('schedule.move', {}, c.dialog).click();
    await c.text('schedule.move_done', { n: 1 }).waitFor();
    await row('moves').filter({ hasNotText: before }).waitFor();
  });
}
