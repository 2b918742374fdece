// The schedule: what waits for its instant is counted, found, opened, called off, moved, sent early.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const minute = 60_000;
const day = 24 * 60 * minute;
const each = 2_000; // of a crowd, on three days of the month after noon's, so that no other message is in its month
const today = new Date();
// What waits, waits for the middle of a day, and not for hours from now: a test that runs over the full hour before
// midnight would look for it on the wrong day.
const noon = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() + 2, 12);
const untilNoon = () => noon - Date.now();
const tenth = Date.UTC(new Date(noon).getUTCFullYear(), new Date(noon).getUTCMonth() + 1, 10, 12);
const world = World.of('schedule', async (broker) => {
  const channel = await broker.channel();
  await channel.assertExchange('later', 'x-delayed-message', {
    durable: true,
    arguments: { 'x-delayed-type': 'direct' },
  });
  await queues(channel, { due: {} });
  await channel.bindQueue('due', 'later', 'k');
  for (const id of ['stays', 'goes', 'moves-en', 'moves-zh-CN', 'early'])
    await publish(channel, 'later', 'k', [{ body: id, messageId: id, headers: { 'x-delay': untilNoon() } }]);
  await publish(channel, 'later', 'nowhere', [
    { body: '{"to":"nobody"}', messageId: 'stray', headers: { 'x-delay': untilNoon() } },
  ]);
  await publish(channel, 'later', 'k', [
    {
      body: '{"remind":"cart-7"}',
      messageId: 'named',
      headers: { 'x-delay': untilNoon(), 'x-schedule-key': 'cart/7', customer: 17 },
    },
  ]);
  await broker.put('users/half', { password: 'half', tags: 'management' });
  await broker.put('permissions/%2F/half', { configure: '^$', write: '^$', read: '^later$' });
  await channel.assertExchange('crowd', 'x-delayed-message', {
    durable: true,
    arguments: { 'x-delayed-type': 'fanout' },
  });
  await publish(
    channel,
    'crowd',
    'k',
    Array.from({ length: 3 * each }, (_, i) => ({
      body: `${i}`,
      messageId: `crowd-${i}`,
      headers: { 'x-delay': tenth - Date.now() + (i % 3) * day + (i % 7) * minute },
    })),
  );
});

for (const language of ['en', 'zh-CN']) {
  world.test(`scheduled messages are called off, moved and sent early (${language})`, { language }, async (c) => {
    await c.open(`/schedule?view=day&at=${noon}`);
    const row = (id) => c.page.getByRole('row').filter({ hasText: id });
    await row('stays').waitFor();
    if (language === 'en') {
      await c.button('schedule.cancel', {}, row('goes')).click();
      await c.page.getByRole('dialog', { name: c.say('schedule.cancel_title', { n: 1, what: 'goes' }) }).waitFor();
      await c.button('schedule.cancel', {}, c.dialog).click();
      await c.text('schedule.cancel_done', { n: 1 }).waitFor();
      await row('goes').waitFor({ state: 'detached' });
    } else {
      await c.button('schedule.fire', {}, row('early')).click();
      await c.button('schedule.fire', {}, c.dialog).click();
      await c.text('schedule.fire_done', { n: 1 }).waitFor();
      await c.broker.depth('due', 1);
    }
    const id = `moves-${language}`;
    await c.button('schedule.move', {}, row(id)).click();
    await c.page.getByRole('radio', { name: c.say('schedule.by_delay') }).check();
    await c.dialog.getByRole('textbox', { name: c.say('schedule.from_now') }).fill('3m');
    await c.accessible();
    const moved = Date.now() + 3 * minute;
    await c.button('schedule.move', {}, c.dialog).click();
    await c.page.getByText(c.say('schedule.move_done', { n: 1, time: '' }).trim()).waitFor();
    await row(id).waitFor({ state: 'detached' });
    await c.open(`/schedule?view=day&at=${moved}`);
    await row(id).waitFor();
  });
}

world.test('a few messages within an hour are shown on the scale of an hour, with their keys', async (c) => {
  const channel = await c.broker.channel();
  await channel.assertExchange('soon', 'x-delayed-message', {
    durable: true,
    arguments: { 'x-delayed-type': 'direct' },
  });
  await publish(
    channel,
    'soon',
    'k',
    ['a', 'b'].map((id) => ({
      body: id,
      messageId: `soon-${id}`,
      headers: { 'x-delay': untilNoon() + 5 * minute, 'x-schedule-key': `order/${id}` },
    })),
  );
  await c.open('/schedule?exchange=soon');
  await c.page.locator('.heat.hour').waitFor();
  await c.text('schedule.sum', { n: 2 }).waitFor();
  await c.page.getByRole('cell', { name: 'order/a', exact: true }).waitFor();
  await c.button('schedule.view_month').click();
  await c.page.locator('.heat.month').waitFor();
});

world.test('a calendar of more than 5,000 messages has the right numbers, and its lists go on', async (c) => {
  await c.open(`/schedule?exchange=crowd&at=${tenth}`);
  const cell = (text) => c.page.locator('.heat .cell').filter({ hasText: text });
  const counts = () => c.page.locator('.heat .cell b').allInnerTexts();
  await c.text('schedule.sum', { n: 3 * each }).waitFor();
  assert.deepEqual(await counts(), ['2,000', '2,000', '2,000']);
  await c.text('table.so_far', { n: 500 }).waitFor();
  await c.accessible();
  await c.picture('schedule-crowd');
  await cell('2,000').nth(1).click(); // the eleventh: its hours
  await c.text('schedule.sum', { n: each }).waitFor();
  assert.deepEqual(await counts(), ['2,000']);
  await cell('2,000').click(); // twelve o'clock: its minutes by fives
  await c.page.locator('.heat.hour').waitFor();
  await c.text('schedule.sum', { n: each }).waitFor();
  const [first, second] = (await counts()).map((n) => Number(n.replace(',', '')));
  assert.equal(first + second, each);
  const chosen = c.page.locator('.heat .cell').nth(1);
  await chosen.click();
  assert.equal(await chosen.getAttribute('aria-pressed'), 'true');
  await c.text('table.so_far', { n: 500 }).waitFor();
  const more = c.button('table.more');
  while (await more.count()) {
    await more.click();
    await c.settled();
  }
  await c.text('table.rows', { n: second }).waitFor();
});

world.test('a scheduled message is found by a filter, opened with the keyboard, and called off', async (c) => {
  await c.open(`/schedule?view=day&at=${noon}&exchange=later`);
  const row = (id) => c.page.getByRole('row').filter({ hasText: id });
  await row('stray').waitFor();
  await c.page.keyboard.press('/');
  await c.page.keyboard.type('header.customer:17');
  await c.page.keyboard.press('Enter');
  await row('stray').waitFor({ state: 'detached' });
  await row('named').waitFor();
  await row('named').focus();
  await c.page.keyboard.press('Enter');
  const heading = (id) => c.page.getByRole('heading', { level: 1, name: c.say('scheduled.title', { id }) });
  await heading('named').waitFor();
  const region = (key) => c.page.getByRole('region', { name: c.say(key) });
  await region('scheduled.way').getByRole('link', { name: 'due', exact: true }).waitFor();
  await region('viewer.facts').getByText('cart/7', { exact: true }).waitFor();
  await region('viewer.body').getByText('cart-7').waitFor();
  await region('viewer.headers').getByText('x-schedule-key').waitFor();
  await c.settled();
  await c.accessible();
  await c.picture('scheduled-message');
  await c.page.keyboard.press('Escape');
  await row('named').waitFor();
  assert.match(c.page.url(), /filter=header/);
  await row('named').getByRole('link').first().click();
  await heading('named').waitFor();
  await c.button('schedule.cancel').click();
  await c.button('schedule.cancel', {}, c.dialog).click();
  await c.text('schedule.cancel_done', { n: 1 }).waitFor();
  await c.page.getByRole('heading', { level: 1, name: c.say('schedule.title') }).waitFor();
  await c.text('schedule.none_found').waitFor();
  await c.open(`/schedule?view=day&at=${noon}&filter=message-id:crowd-4321`);
  await c.text('schedule.none_found').waitFor();
  await c.button('schedule.search_all').click();
  await row('crowd-4321').waitFor();
  await c.accessible();
});

world.test(
  'who may read one exchange sees what waits there, and is told of the other',
  { user: 'half:half' },
  async (c) => {
    c.expect(/40[13]/);
    await c.open(`/schedule?at=${tenth}`);
    await c.text('schedule.sum', { n: 3 * each }).waitFor();
    await c.text('schedule.unread', { names: 'crowd' }).waitFor();
    await c.open(`/schedule?view=day&at=${noon}`);
    await c.page.getByRole('row').filter({ hasText: 'stays' }).waitFor();
  },
);

world.test('a scheduled message that would go nowhere says so (zh-CN)', { language: 'zh-CN' }, async (c) => {
  await c.open(`/schedule?view=day&at=${noon}&exchange=later&filter=key:nowhere`);
  await c.page.getByRole('row').filter({ hasText: 'stray' }).getByRole('link').first().click();
  await c.page.getByText(c.say('scheduled.lost')).waitFor();
  await c.accessible();
  await c.picture('scheduled-message-zh');
});

world.test('what waits for its retry is retried now from the list of messages', async (c) => {
  const channel = await c.broker.channel();
  await channel.assertQueue('backoff', {
    durable: true,
    arguments: { 'x-queue-type': 'quorum', 'x-delayed-retry-type': 'all', 'x-delayed-retry-min': 600_000 },
  });
  await publish(channel, '', 'backoff', [{ body: 'a' }, { body: 'b' }]);
  for (let i = 0; i < 2; i++) {
    const got = await channel.get('backoff');
    if (got) channel.nack(got, false, true);
  }
  await c.open('/queues/%2F/backoff?tab=messages');
  await c.page.getByText(c.say('waiting.n_wait', { n: 2 })).waitFor();
  await c.accessible();
  await c.button('waiting.retry_all').click();
  await c.text('waiting.retried', { n: 2 }).waitFor();
  await c.page.getByText(c.say('waiting.n_wait', { n: 2 })).waitFor({ state: 'detached' });

  const later = { 'x-opt-delivery-time': Date.now() + 900_000 }; // no retry: it was never delivered
  await publish(channel, '', 'backoff', [{ body: 'c', headers: later }]);
  await c.open('/queues/%2F/backoff?tab=waiting');
  await c.button('waiting.retry_all').click();
  await c.dialog.getByText(c.say('waiting.timed', { n: 1 })).waitFor();
  await c.button('frame.cancel', {}, c.dialog).click();
  assert.equal((await c.broker.get('queues/%2F/backoff')).messages_delayed, 1);
  await c.button('waiting.retry_all').click();
  await c.button('waiting.timed_too', {}, c.dialog).click();
  await c.text('waiting.retried', { n: 1 }).waitFor();
});

world.test('a message that waits is retried now where it is selected, and on its page', async (c) => {
  const channel = await c.broker.channel();
  await channel.assertQueue('single', {
    durable: true,
    arguments: { 'x-queue-type': 'quorum', 'x-delayed-retry-type': 'all', 'x-delayed-retry-min': 600_000 },
  });
  await publish(channel, '', 'single', [{ body: 'a' }, { body: 'b' }]);
  for (let i = 0; i < 2; i++) {
    const got = await channel.get('single');
    if (got) channel.nack(got, false, true);
  }
  await c.open('/queues/%2F/single?tab=messages');
  const row = c.page.locator('tbody tr[data-index]').first();
  await row.getByRole('checkbox').click();
  await c.button('waiting.retry_some', { n: 1 }).click();
  await c.text('waiting.retried', { n: 1 }).waitFor();
  await c.page.getByText(c.say('waiting.n_wait', { n: 1 })).waitFor();
  await c.page.locator('tbody tr[data-index]').nth(1).getByRole('link').first().click();
  assert.equal(await c.button('schedule.cancel').getAttribute('title'), c.say('waiting.no_cancel'));
  await c.button('waiting.retry_one').click();
  await c.button('waiting.retry_one').waitFor({ state: 'detached' });
  assert.equal(await c.button('schedule.cancel').count(), 0, 'it waits no more');
  await c.accessible();
});

world.test('a dead letter that waits is retried now from the list of dead letters', async (c) => {
  const channel = await c.broker.channel();
  await queues(channel, {
    task: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'task.retry' },
    'task.retry': { 'x-queue-type': 'quorum', 'x-delayed-retry-type': 'all', 'x-delayed-retry-min': 600_000 },
  });
  await publish(channel, '', 'task', [{ body: 'a', messageId: 'task-a' }]);
  await reject(channel, 'task', 1);
  await c.broker.depth('task.retry', 1);
  await c.open('/letters?view=list&filter=queue:task.retry');
  const row = c.page.getByRole('row').filter({ hasText: 'task-a' });
  await row.getByRole('checkbox').click();
  await c.text('table.selected', { n: 1 }).waitFor();
  assert.equal(await c.button('waiting.retry_some', { n: 1 }).count(), 0, 'it does not wait yet');
  const got = await channel.get('task.retry');
  if (got) channel.nack(got, false, true);
  const delayed = async () => (await c.broker.get('queues/%2F/task.retry')).messages_delayed;
  await until('the message to wait', async () => (await delayed()) === 1);
  await c.open('/letters?view=list&filter=queue:task.retry');
  await row.getByText(c.say('state.waiting'), { exact: true }).waitFor();
  await row.getByRole('checkbox').click();
  await c.button('waiting.retry_some', { n: 1 }).click();
  await c.text('waiting.retried', { n: 1 }).waitFor();
  await row.getByText(c.say('state.ready'), { exact: true }).waitFor();
  await c.accessible();
});

world.test(
  'a scheduled message has the delay that was published, and its tile counts what was called off',
  async (c) => {
    const channel = await c.broker.channel();
    const delay = 40 * day;
    await channel.assertExchange('tile', 'x-delayed-message', {
      durable: true,
      arguments: { 'x-delayed-type': 'direct' },
    });
    for (const key of ['tile/1', 'tile/2'])
      await publish(channel, 'tile', 'k', [{ body: key, headers: { 'x-delay': delay, 'x-schedule-key': key } }]);
    const due = Date.now() + delay;
    await c.open(`/schedule?view=month&exchange=tile&at=${due}`);
    const row = (key) => c.page.getByRole('row').filter({ hasText: key });
    await row('tile/1').getByRole('link').first().click();
    const headers = c.page.getByRole('region', { name: c.say('viewer.headers') });
    await headers.getByText(/^3[,.]?456[,.]?000[,.]?000$/).waitFor();
    await c.open(`/schedule?view=month&exchange=tile&at=${due}`);
    const tile = c.page.locator('.stat').filter({ hasText: 'tile' }).locator('b');
    await row('tile/2').waitFor();
    assert.equal(await tile.innerText(), '2');
    await c.settled();
    await c.page.keyboard.press('p'); // without live updates, only what was done is shown
    await c.text('frame.paused').waitFor();
    let asked = Date.now();
    c.page.on('request', () => {
      asked = Date.now();
    });
    await until('nothing to be asked for any more', () => Date.now() - asked > 2500);
    await c.button('schedule.cancel', {}, row('tile/1')).click();
    await c.page.getByRole('dialog', { name: c.say('schedule.cancel_title', { n: 1, what: 'tile/1' }) }).waitFor();
    await c.button('schedule.cancel', {}, c.dialog).click();
    await row('tile/1').waitFor({ state: 'detached' });
    await until('the tile to count one', async () => (await tile.innerText()) === '1');
  },
);

world.test(
  'a message is published with a delay as people write it, and with a key, into an exchange or a queue',
  async (c) => {
    const channel = await c.broker.channel();
    const delayed = { durable: true, arguments: { 'x-delayed-type': 'fanout' } };
    await channel.assertExchange('typed.later', 'x-delayed-message', delayed);
    await queues(channel, { typed: {} });
    await channel.bindQueue('typed', 'typed.later', '');
    const send = async (path, fill) => {
      await c.open(path);
      await c.button('publish.do').click();
      await fill();
      await c.button('publish.do', {}, c.dialog).click();
    };
    const fill = (key, value) => c.field(key, {}, c.dialog).fill(value);
    const sent = { times: [] };
    for (const after of ['1h30m', '2h'])
      await send('/exchanges/%2F/typed.later', async () => {
        await c.text('publish.waits_in_exchange').waitFor();
        await fill('publish.deliver_after', 'tomorrow');
        await c.button('publish.do', {}, c.dialog).click();
        await c.text('duration.wrong', { text: 'tomorrow', a: '90s', b: '15m', c: '1h30m' }).waitFor();
        await fill('publish.deliver_after', after);
        await fill('publish.schedule_key', 'order-4711');
        await c.text('duration.is', { time: after === '2h' ? '2 hours' : '1 hour 30 minutes' }).waitFor();
        await c.accessible();
        sent.times.push(Date.now());
      });
    await c.dialog.locator('.outcome').waitFor();
    const [only, ...more] = (await c.broker.get('x/scheduled/%2F/typed.later')).items;
    assert.deepEqual(more, [], 'the second message has the key of the first');
    assert.ok(Math.abs(only.due_ms - sent.times[1] - 2 * 60 * minute) < minute, `due at ${only.due_ms}`);
    await send('/queues/%2F/typed', async () => {
      await c.text('publish.waits_in_queue').waitFor();
      await until('the field of the key to be read-only', async () => {
        return !(await c.field('publish.schedule_key', {}, c.dialog).isEditable());
      });
      await fill('publish.deliver_after', '15m');
    });
    await until('the message to wait in its queue', async () => {
      const { messages, messages_delayed: waiting } = await c.broker.get('queues/%2F/typed');
      return (messages === 1 && waiting === 1) || { messages, waiting };
    });
  },
);

for (const language of ['en', 'zh-CN'])
  world.test(
    `what waits in a plain queue is found from the schedule, opened, rescheduled and cancelled (${language})`,
    { language },
    async (c) => {
      const name = `plain.${language}`;
      const channel = await c.broker.channel();
      await queues(channel, { [name]: {} });
      const later = { 'x-opt-delivery-time': Date.now() + 15 * minute };
      for (const messageId of ['first', 'second', 'third'])
        await publish(channel, '', name, [{ body: messageId, messageId, headers: later }]);
      const waits = async () => (await c.broker.get(`queues/%2F/${name}`)).messages_delayed;
      await until('all to wait', async () => (await waits()) === 3);
      await c.open('/schedule');
      await c.page.getByRole('link', { name: `${name} 3` }).click();
      await c.text('waiting.about').waitFor();
      const row = (id) => c.page.getByRole('row').filter({ hasText: id });
      const tomorrow = Date.now() + 24 * 60 * minute;
      const moveTo = async () => {
        await c.button('schedule.move').click();
        await c.page.getByRole('radio', { name: c.say('schedule.by_delay') }).check();
        await c.dialog.getByRole('textbox', { name: c.say('schedule.from_now') }).fill('24h');
        await c.dialog.getByText(c.say('frame.as_command'), { exact: true }).click();
        const command = c.dialog.getByRole('region', { name: c.say('frame.with_ctl'), exact: true });
        assert.match(
          await command.innerText(),
          new RegExp(`^bartleby ctl --node \\S+ reschedule_waiting ${name} \\S+ --in 86400000ms$`),
        );
        await c.button('schedule.move', {}, c.dialog).click();
        await c.dialog.waitFor({ state: 'detached' });
        await c.page
          .getByText(c.say('schedule.move_done', { n: 1, time: '' }).trim())
          .last()
          .waitFor();
      };
      const dueOf = async (id) =>
        (await c.broker.get(`x/waiting/%2F/${name}`)).items.find((m) => m.message_id === id)?.due_ms;
      await row('first').getByRole('checkbox').click();
      await moveTo();
      assert.ok(Math.abs((await dueOf('first')) - tomorrow) < minute, 'it waits until tomorrow');
      await row('third').getByRole('checkbox').click();
      await c.button('schedule.cancel').click();
      await c.page.getByRole('dialog', { name: c.say('schedule.cancel_title', { n: 1, what: 'third' }) }).waitFor();
      await c.button('schedule.cancel', {}, c.dialog).click();
      await c.text('schedule.cancel_done', { n: 1 }).waitFor();
      await row('third').waitFor({ state: 'detached' });
      assert.equal(await waits(), 2);
      await row('second').getByRole('link').click();
      await c.page.getByRole('heading', { level: 1, name: c.say('message.title', { id: 'second' }) }).waitFor();
      await c.page.getByText(c.say('message.waits_delivery')).first().waitFor();
      const ready = c.say('viewer.ready', { time: '' }).trim();
      await c.page.locator('.timeline').getByText(ready).waitFor();
      for (const name of ['keys.previous_message', 'keys.next_message']) await c.button(name).waitFor();
      assert.equal(await c.button('message.move').getAttribute('aria-disabled'), 'true');
      await c.accessible();
      await moveTo();
      assert.ok(Math.abs((await dueOf('second')) - tomorrow) < minute, 'it waits until tomorrow, too');
      await c.button('waiting.deliver_one').click();
      await until('it to be ready', async () => (await c.broker.get(`queues/%2F/${name}`)).messages_ready === 1);
      await until(
        'the page to say so',
        async () => (await c.button('message.move').getAttribute('aria-disabled')) === null,
      );
      await c.open(`/queues/%2F/${name}?tab=waiting`);
      await row('first').getByRole('link').click();
      await c.page.getByRole('heading', { level: 1, name: c.say('message.title', { id: 'first' }) }).waitFor();
      await c.button('schedule.cancel').click();
      await c.button('schedule.cancel', {}, c.dialog).click();
      await until('none to wait', async () => (await waits()) === 0);
      await c.page.getByRole('heading', { level: 1, name }).waitFor();
      await publish(channel, '', name, [{ body: 'nameless', headers: later }]);
      await until('it to wait', async () => (await waits()) === 1);
      await c.open(`/queues/%2F/${name}?tab=waiting`);
      await c.page.locator('tr[data-index="0"]').getByRole('link').click();
      await c.button('waiting.deliver_one').waitFor();
      const id = new URL(c.page.url()).pathname.split('/').at(-1);
      await c.page.getByRole('heading', { level: 1, name: c.say('message.title', { id }), exact: true }).waitFor();
      await c.button('schedule.cancel').click();
      await c.page.getByRole('dialog', { name: c.say('schedule.cancel_title', { n: 1, what: id }) }).waitFor();
    },
  );

world.test('a message is scheduled from the page, and an exchange for that is created', async (c) => {
  await c.broker.put('vhosts/unscheduled');
  await c.broker.put('permissions/unscheduled/guest', { configure: '.*', write: '.*', read: '.*' });
  await c.open('/schedule?vhost=unscheduled');
  await c.button('schedule.create_exchange').click();
  assert.equal(await c.field('queues.type', {}, c.dialog).inputValue(), 'x-delayed-message');
  assert.equal(await c.field('queues.vhost', {}, c.dialog).inputValue(), 'unscheduled');
  await c.field('queues.name', {}, c.dialog).fill('someday');
  await c.button('create.do', {}, c.dialog).click();
  await c.page.getByRole('heading', { level: 1, name: 'someday' }).waitFor();
  await c.open('/schedule?vhost=unscheduled');
  await c.page.getByRole('button', { name: c.say('publish.schedule_title') }).click();
  assert.equal(await c.field('publish.exchange', {}, c.dialog).inputValue(), 'someday');
  await c.button('publish.do', {}, c.dialog).click();
  const asked = c.page.getByRole('dialog', { name: c.say('publish.no_queue'), exact: true });
  await asked.waitFor();
  await c.accessible();
  await c.page.keyboard.press('Enter'); // the safe button has the focus
  await asked.waitFor({ state: 'detached' });
  assert.equal((await c.broker.get('x/scheduled/unscheduled')).messages, 0);
  await c.button('publish.do', {}, c.dialog).click();
  await c.button('publish.do_all_the_same', {}, asked).click();
  await until('one to be scheduled', async () => (await c.broker.get('x/scheduled/unscheduled')).messages === 1);
  await c.button('frame.close', {}, c.dialog.locator('footer')).click();
  await c.button('schedule.fire').click();
  await c.text('schedule.fire_lost', { n: 1 }, c.dialog).waitFor();
});
