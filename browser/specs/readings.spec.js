// What the charts and figures of a young or restarted broker say about time of which nothing is known.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';

const died = 2;

const world = World.of('readings', async (broker) => {
  const channel = await broker.channel();
  await queues(channel, { counted: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'counted.dead' } });
  await queues(channel, { 'counted.dead': {} });
  await publish(channel, '', 'counted', [{ body: { n: 1 } }, { body: { n: 2 } }]);
  await reject(channel, 'counted', died);
  await broker.depth('counted.dead', died);
});

const recentOf = async (broker) => (await broker.api('GET', 'x/letters/%2F/summary?range=1h')).recent;
const time = (c, style, at) =>
  new Intl.DateTimeFormat(c.language, { timeStyle: style, timeZone: 'UTC' }).format(new Date(at));
const since = (c, at) => c.say('chart.since', { at: time(c, 'short', at) });
const panelOf = (c) => c.page.getByRole('region', { name: c.say('overview.dead'), exact: true });

// figuresOf opens the table of the chart of deaths, and reads its first column.
async function figuresOf(c, within) {
  const chart = within.getByRole('figure').first();
  await c.button('chart.table', {}, chart).click();
  await chart.getByRole('row').nth(50).waitFor();
  return chart.getByRole('row').evaluateAll((rows) => rows.slice(1).map((r) => r.cells[1].textContent));
}

for (const language of ['en', 'zh-CN']) {
  world.test(
    `a young broker says since when it counts, and draws no zeros before (${language})`,
    { language },
    async (c) => {
      const counted = since(c, (await recentOf(c.broker)).counted_since);
      await c.open('/');
      await c.settled();
      await panelOf(c).getByText(counted).waitFor();
      assert.equal(await c.page.getByText(counted).count(), 3, 'the panel and both charts say since when they count');
      const figures = await figuresOf(c, panelOf(c));
      const known = figures.filter((x) => x !== '–');
      assert.ok(
        known.length < 20 && figures.indexOf('–') === 0,
        `there are ${known.length} of ${figures.length} figures`,
      );
      assert.equal(
        known.reduce((n, x) => n + Number(x), 0),
        died,
      );
      for (const [path, notes] of [
        ['/queues/%2F/counted?tab=trends', 3],
        ['/node?range=1h', 4],
      ]) {
        await c.open(String(path));
        await c.settled();
        await c.page.getByText(counted).first().waitFor();
        assert.equal(await c.page.getByText(counted).count(), notes, `notes of ${path}`);
      }
      await c.open('/letters');
      await c.settled();
      const { counted_since: opened } = await c.broker.api('GET', 'x/letters/%2F/summary');
      const [start, end] = c.say('letters.counted', { at: '|' }).split('|');
      const shown = await c.page.locator('p.hint', { hasText: start.trim() }).textContent();
      const minute = new Date(opened).toISOString().slice(14, 16);
      assert.ok(shown.endsWith(end) && shown.includes(`:${minute}`), shown);
      await c.accessible();
      await c.picture(`readings-young-${language}`);
    },
  );
}

world.test(
  'after a restart all is still counted, and the time without a broker is named',
  { timeout: 150_000 },
  async (c) => {
    const before = await recentOf(c.broker);
    await c.broker.halt();
    await c.broker.run();
    await c.logIn();
    const after = await recentOf(c.broker);
    assert.equal(after.died.rejected, died);
    assert.equal(after.counted_since, before.counted_since);
    const [gap] = after.gaps;
    const [from, to] = [gap.from, gap.to].map((at) => time(c, 'medium', at));
    const named = gap.to - gap.from < 5000 ? c.say('chart.restart', { at: to }) : c.say('chart.gap', { from, to });
    await c.open('/');
    await c.settled();
    await panelOf(c).getByText(since(c, before.counted_since)).waitFor();
    await panelOf(c).getByText(named).waitFor();
    const figures = await figuresOf(c, panelOf(c));
    assert.equal(
      figures.reduce((n, x) => n + (Number(x) || 0), 0),
      died,
    );
    await c.open('/queues/%2F/counted?tab=trends');
    await c.settled();
    await c.page.getByText(named).first().waitFor();
    await c.page
      .getByText(c.say('queue.died_counts', { range: c.say('overview.range_1h'), died, letters: 0 }))
      .waitFor();
    await c.picture('readings-restart');
  },
);
