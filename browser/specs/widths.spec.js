// What the tables of jobs and of the schedule show in narrow windows: all of it.
import assert from 'node:assert/strict';
import { World, phone } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const long = 'orders.europe.fulfilment-of-express-shipments';

const world = World.of('widths', async (broker) => {
  const channel = await broker.channel();
  await queues(channel, {
    [long]: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': `${long}.dead-letters` },
    [`${long}.dead-letters`]: {},
  });
  await publish(channel, '', long, [{ body: { n: 1 } }, { body: { n: 2 } }, { body: { n: 3 } }]);
  await reject(channel, long, 3);
  await broker.depth(`${long}.dead-letters`, 3);
  const from = { source: { queue: `${long}.dead-letters` } };
  await broker.api('POST', 'x/redrives/%2F', { ...from, action: 'redrive', max: 1 });
  await broker.api('POST', 'x/redrives/%2F', { ...from, action: 'discard', filter: 'reason:expired' });
  const few = { stop_no_consumer: true }; // it stops, and how many are left is an estimate
  await broker.api('POST', 'x/redrives/%2F', { ...from, action: 'redrive', filter: 'reason:rejected', options: few });
  const astray = 'orders.europe.without-an-exchange';
  await queues(channel, { [astray]: { 'x-dead-letter-exchange': 'orders.failed' } });
  await publish(channel, '', astray, [{ body: {}, messageId: '3f2b8a54-9d3e-4c3a-8f6d-0a53f1c0d7aa' }]);
  await reject(channel, astray, 1);
  await channel.deleteQueue(astray);
  await broker.api('PUT', 'exchanges/%2F/reminders.of-unpaid-invoices', {
    type: 'x-delayed-message',
    arguments: { 'x-delayed-type': 'direct' },
  });
  channel.publish('reminders.of-unpaid-invoices', 'nobody', Buffer.from('{}'), { headers: { 'x-delay': 1 } });
  for (const messageId of ['3f2b8a54-9d3e-4c3a-8f6d-0a53f1c0d7aa', 'short'])
    channel.publish('reminders.of-unpaid-invoices', 'invoice.reminder.second.europe', Buffer.from('{}'), {
      messageId,
      headers: { 'x-delay': 3_600_000, 'x-schedule-key': `reminder-of-${messageId}` },
    });
});

const lists = [
  ['/letters?view=list', 2],
  ['/lost', 2],
];

// cutIn finds what is wider than what shows it: the page, boxes that scroll sideways, cells.
const cutIn = (page) =>
  page.evaluate(() => {
    const wide = (el) => el.scrollWidth > el.clientWidth + 1;
    const beside = (el) => {
      const box = el.getBoundingClientRect();
      const frame = el.closest('.table-box').getBoundingClientRect();
      return box.width > 0 && (box.right > frame.right + 1 || box.left < frame.left - 1);
    };
    const found = [document.documentElement, ...document.querySelectorAll('.table-box, tbody td')].filter(wide);
    found.push(...[...document.querySelectorAll('tbody td, tbody td *')].filter(beside));
    return found.map((el) => `${el.tagName} ${el.className} ${el.textContent.slice(0, 40)}`);
  });

for (const language of ['en', 'zh-CN'])
  for (const width of [1280, 1200, 1024, 700, 390])
    world.test(
      `nothing of the jobs, the schedule and the lists of letters is cut at ${width} pixels (${language})`,
      { language, viewport: { width, height: 900 } },
      async (c) => {
        for (const [path, rows] of [['/jobs', 3], ['/schedule', 2], ...(width === 1280 ? lists : [])]) {
          await c.open(String(path));
          await c.page
            .locator('tbody tr[data-index]')
            .nth(Number(rows) - 1)
            .waitFor();
          await c.settled();
          assert.deepEqual(await cutIn(c.page), [], `of ${path}`);
          assert.equal(await c.page.getByText('no_route').count(), 0, 'it is said in words');
          const head = c.page.locator('thead th').last();
          const last = c.page.locator('tbody tr[data-index]').first().locator('td').last();
          assert.equal(await last.getAttribute('data-label'), (await head.textContent()).replace(/[▾▴]/, ''));
          await c.accessible();
          await last.scrollIntoViewIfNeeded();
          assert.ok(await last.isVisible());
          await c.picture(`widths-${String(path).slice(1).split('?')[0]}-${width}-${language}`);
        }
      },
    );

for (const width of [1280, 1024, 390])
  world.test(
    `the rows of a day and of an hour are full and equal at ${width} pixels`,
    { viewport: { width, height: 900 } },
    async (c) => {
      for (const view of ['day', 'hour']) {
        await c.open(`/schedule?view=${view}`);
        await c.page.locator(`.heat.${view} .cell`).nth(11).waitFor();
        const boxes = await c.page
          .locator('.heat .cell')
          .evaluateAll((cells) => cells.map((e) => [e.offsetTop, e.offsetHeight]));
        const tops = [...new Set(boxes.map(([top]) => top))];
        const lengths = tops.map((top) => boxes.filter((b) => b[0] === top).length);
        assert.equal(new Set(lengths).size, 1, `rows of ${lengths} in a ${view}`);
        assert.equal(new Set(boxes.map(([, height]) => height)).size, 1, `cells of other heights in a ${view}`);
      }
    },
  );

for (const width of [1280, 1600])
  world.test(
    `the heads of figures stand above them at ${width} pixels`,
    { viewport: { width, height: 900 } },
    async (c) => {
      await c.open(`/queues/%2F/${long}.dead-letters?tab=messages`);
      await c.page.locator('tbody tr[data-index]').first().waitFor();
      const heads = c.page.locator('thead th.end');
      const sides = await heads.evaluateAll((all) => all.map((th) => getComputedStyle(th).textAlign));
      assert.ok(sides.length > 1);
      assert.deepEqual([...new Set(sides)], ['right']);
    },
  );

world.test('the ring of the focus is whole on each tab', async (c) => {
  await c.open('/letters');
  const tabs = c.page.getByRole('tab');
  await tabs.nth(2).waitFor();
  await tabs.first().focus();
  for (let i = 0; i < 3; i++) {
    const cut = await tabs.nth(i).evaluate((tab) => {
      const style = getComputedStyle(tab);
      const out = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth);
      const [box, row] = [tab, tab.parentElement].map((e) => e.getBoundingClientRect());
      const ring =
        tab.matches(':focus-visible') && style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) > 0;
      return !ring || box.left - out < row.left || box.top - out < row.top || box.bottom + out > row.bottom;
    });
    assert.equal(cut, false, `the ring of tab ${i} is cut or missing`);
    await c.page.keyboard.press('Tab');
  }
});

world.test('on a phone rows are sorted, and all are selected, above the cards', { viewport: phone }, async (c) => {
  await c.open('/queues');
  const names = () => c.page.locator('tbody tr[data-index] .name-cell').allInnerTexts();
  await until('the queues to be there', async () => (await names()).length === 2);
  assert.equal((await names())[0], long);
  await c.accessible();
  await c.button('table.ascending').click();
  await until('the order to be turned', async () => (await names())[1] === long);
  await c.field('table.sort').selectOption({ label: c.say('queues.ready') });
  await c.button('table.descending').waitFor();
  await until('the longest to be first', async () => (await names())[0] !== long);
  await c.page.getByRole('checkbox', { name: c.say('table.select_all'), exact: true }).check();
  await c.text('table.selected', { n: 2 }).waitFor();
});
