// Jobs: a thousand dead letters at a hundred a second, held, slowed, called off; and one that stops by itself.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { order, publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const world = World.of('redrive', async (broker) => {
  await broker.put('queues/%2F/sink', { durable: true });
});

async function deadLetters(broker, name, n) {
  const channel = await broker.channel();
  await queues(channel, {
    [name]: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': `${name}.dead` },
    [`${name}.dead`]: {},
  });
  await publish(
    channel,
    '',
    name,
    Array.from({ length: n }, (_, i) => order(i)),
  );
  await reject(channel, name, n);
  await broker.depth(`${name}.dead`, n);
  return channel;
}

/** A number that the job's card shows. */
const stat = async (c, key, params) =>
  Number(
    (
      await c.dialog
        .locator('.stat')
        .filter({ has: c.dialog.page().locator('span', { hasText: new RegExp(`^${c.say(key, params)}`) }) })
        .locator('b')
        .innerText()
    ).replace(/\D/g, ''),
  );

/** Chooses the fast way in the dialog, and opens all options. */
async function fast(c) {
  await c.dialog.getByRole('radio', { name: c.say('redrive.fast'), exact: true }).check();
  await c.dialog.getByText(c.say('redrive.options'), { exact: true }).click();
}

world.test('a thousand dead letters at a hundred a second: pause, go on, what came back, cancel', async (c) => {
  const channel = await deadLetters(c.broker, 'busy', 1000);
  await channel.prefetch(100);
  await channel.consume('busy', (m) => m && channel.nack(m, false, false)); // the consumer fails again
  await c.open('/letters?view=list&filter=queue:busy.dead');
  await c.button('redrive.found').click();
  await fast(c);
  await c.field('redrive.rate', {}, c.dialog).fill('100');
  assert.ok(await c.dialog.getByRole('radio', { name: c.say('redrive.own_pace') }).isChecked());
  await c.button('redrive.try', {}, c.dialog).click();
  await c.dialog.getByText(c.say('redrive.would_move', { n: 1000 })).waitFor();
  await c.accessible();
  await c.button('redrive.begin', {}, c.dialog).click();
  await until(
    'some to be sent',
    async () => (await stat(c, 'jobs.moved')) > 50 || { moved: await stat(c, 'jobs.moved') },
  );
  await c.button('jobs.pause', {}, c.dialog).click();
  await c.dialog.getByText(c.say('job.paused'), { exact: true }).waitFor();
  await c.accessible();
  const [job] = await c.broker.get('x/redrives/%2F');
  assert.equal(job.state, 'paused');
  assert.ok(job.moved < 1000, `${job.moved} were sent in so short a time`);
  await until(
    'what came back to be counted',
    async () => (await stat(c, 'jobs.came_back')) > 0 || { came_back: await stat(c, 'jobs.came_back') },
  );
  await c.button('jobs.resume', {}, c.dialog).click();
  await c.dialog.getByText(c.say('job.running'), { exact: true }).waitFor();
  await until('more to be sent', async () => (await stat(c, 'jobs.moved')) > job.moved || job.moved);
  await c.button('jobs.cancel', {}, c.dialog).click();
  await c.dialog.getByText(c.say('job.cancelled'), { exact: true }).waitFor();
  const [after] = await c.broker.get('x/redrives/%2F');
  assert.equal(after.id, job.id);
  const seconds = (Date.parse(after.ended) - Date.parse(after.begun)) / 1000;
  assert.ok(after.moved <= 105 * seconds + 5, `${after.moved} were sent in ${seconds} s`);
});

world.test('a job at a hundred a second sends a hundred a second', async (c) => {
  const n = 1000;
  const watch = 100;
  await deadLetters(c.broker, 'steady', n);
  const { id } = await c.broker.post('x/redrives/%2F', {
    source: { queue: 'steady.dead' },
    action: 'redrive',
    target: { to: 'queue', queue: 'sink' },
    options: { rate: 100, watch_ms: watch },
  });
  await c.open(`/jobs/%2F/${id}`);
  await c.text('job.done').first().waitFor({ timeout: 60_000 });
  const job = await c.broker.get(`x/redrives/%2F/${id}`);
  assert.equal(job.moved, n);
  // Both instants are the broker's; after the last dead letter it watches what comes back. A machine that is busy may hold up the end;
  // nothing may hurry it.
  const rate = (n - 1) / ((Date.parse(job.ended) - Date.parse(job.begun) - watch) / 1000);
  assert.ok(rate > 90 && rate < 105, `${rate.toFixed(1)} were sent in a second`);
});

world.test('a canary comes back: the job stops by itself and says why', async (c) => {
  const channel = await deadLetters(c.broker, 'canary', 200);
  await channel.prefetch(100);
  await channel.consume('canary', (m) => m && channel.nack(m, false, false));
  await c.open('/letters?view=list&filter=queue:canary.dead');
  await c.button('redrive.found').click();
  await c.dialog.getByRole('radio', { name: c.say('redrive.to_other_queue') }).check();
  await c.field('redrive.queue', {}, c.dialog).fill('canary.d');
  const suggested = () => c.dialog.locator('datalist option').evaluateAll((all) => all.map((x) => x.value).join(' '));
  await until(
    'queues with that name to be suggested',
    async () => (await suggested()) === 'canary.dead' || { suggested: await suggested() },
  );
  await c.dialog.getByRole('radio', { name: c.say('redrive.to_queue'), exact: true }).check();
  assert.ok(await c.dialog.getByRole('radio', { name: c.say('redrive.careful'), exact: true }).isChecked());
  await c.dialog.getByText(c.say('redrive.options'), { exact: true }).click();
  for (const [key, value] of [
    ['redrive.rate', '100'],
    ['redrive.canary', '10'],
    ['redrive.stop_share', '20'],
  ])
    assert.equal(await c.field(key, {}, c.dialog).inputValue(), value);
  const watch = c.field('redrive.watch', {}, c.dialog);
  await watch.fill('a while');
  await watch.blur();
  await c.dialog.getByText(c.say('duration.wrong', { text: 'a while', a: '90s', b: '15m', c: '1h30m' })).waitFor();
  assert.ok(await c.button('redrive.try', {}, c.dialog).isDisabled());
  await watch.fill('2m');
  await c.button('redrive.try', {}, c.dialog).click();
  await c.dialog.getByText(c.say('redrive.would_move', { n: 200 })).waitFor();
  await c.dialog.locator('summary', { hasText: c.say('redrive.samples', { n: 20 }) }).click();
  await c.dialog.getByRole('row', { name: 'canary' }).nth(20).waitFor(); // the total, and dead letters by themselves
  await c.accessible();
  await c.picture('redrive-tried.en');
  await c.button('redrive.begin', {}, c.dialog).click();
  await c.dialog.getByText(c.say('job.stopped'), { exact: true }).waitFor();
  await c.dialog.getByText(c.say('job_why.came_back'), { exact: true }).waitFor();
  const [{ moved }] = await c.broker.get('x/redrives/%2F');
  assert.ok(moved > 0 && moved <= 10, `${moved} were sent as a canary of 10`);
  assert.equal(await stat(c, 'jobs.moved'), moved);
  await c.dialog.getByText(c.say('jobs.judged', { share: '20 %', back: moved, sent: moved })).waitFor();
  await c.picture('redrive-stopped.en');
  await c.dialog.getByRole('link', { name: c.say('jobs.show_back') }).click();
  await c.dialog.waitFor({ state: 'detached' });
  await until(
    'the dead letters that came back to be listed',
    async () =>
      (await c.page.locator('tbody tr').count()) === moved || { rows: await c.page.locator('tbody tr').count() },
  );
  await c.open('/jobs');
  await c.page.getByRole('cell', { name: c.say('job_why.came_back') }).waitFor();
  await c.accessible();
  await c.picture('jobs-came-back.en');
  const { items } = await c.broker.get('x/letters/%2F?limit=1&filter=came-back:>0%20queue:canary.dead');
  await c.open(`/letters/%2F/queue/canary.dead/${items[0].id}`);
  await c.page.getByText(c.say('viewer.died_again'), { exact: true }).waitFor();
  await c.accessible();
  await c.picture('letter-came-back.en');
});

world.test('what would expire again is said, and can lose its expiration; a stopped job does not wait', async (c) => {
  const channel = await c.broker.channel();
  await queues(channel, {
    brief: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'brief.dead' },
    'brief.dead': {},
  });
  const expire = async (n) => {
    channel.publish('', 'brief', Buffer.from('{}'), { expiration: '20', messageId: `brief-${n}` });
    await c.broker.depth('brief.dead', 1);
  };
  await expire(1);
  const list = `/letters?view=list&filter=${encodeURIComponent('queue:brief.dead -state:lost')}`;
  await c.open(list);
  await c.button('redrive.found').click();
  await c.button('redrive.try', {}, c.dialog).click();
  const warning = c.dialog.getByText(c.say('redrive.expires_again', { queues: 'brief' }));
  await warning.waitFor();
  await c.accessible();
  await c.picture('redrive-expires.en');
  await c.button('redrive.begin', {}, c.dialog).click();
  await c.dialog.getByText(c.say('jobs.needs_consumer')).waitFor();
  const matched = c.dialog.locator('.stat', { hasText: c.say('jobs.matched') });
  assert.match(await matched.innerText(), /^–/, 'nothing was looked at');
  assert.equal(await c.dialog.getByText('-state:lost').count(), 0);
  await c.button('jobs.cancel', {}, c.dialog).click();
  await c.dialog.getByText(c.say('job.cancelled'), { exact: true }).waitFor();

  await c.open(list);
  await c.button('redrive.found').click();
  await c.button('redrive.try', {}, c.dialog).click();
  await c.button('redrive.choose_fast', {}, c.dialog).click();
  await warning.waitFor();
  await c.button('redrive.drop_expiration', {}, c.dialog).click();
  await warning.waitFor({ state: 'detached' });
  await c.button('redrive.begin', {}, c.dialog).click();
  await c.broker.depth('brief', 1);

  await expire(2);
  await c.open(list);
  await c.page.getByRole('row').filter({ hasText: 'brief-2' }).getByRole('link').first().click();
  await c.button('resend.one').click();
  await c.button('resend.review', {}, c.dialog).click();
  await c.dialog.getByText(c.say('resend.expires_again', { queues: 'brief' })).waitFor();
  await c.field('redrive.drop_expiration', {}, c.dialog).check();
  await c.accessible();
  await c.button('resend.send', {}, c.dialog).click();
  await c.text('resend.sent').waitFor();
  await new Promise((wait) => setTimeout(wait, 200));
  await c.broker.depth('brief', 2);
  await c.broker.depth('brief.dead', 0);
});

world.test(
  'dead letters go to the queue where they died; by their exchange others get copies, which is said',
  async (c) => {
    const channel = await c.broker.channel();
    await channel.assertExchange('shop', 'topic', { durable: true });
    await queues(channel, {
      billing: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'billing.dead' },
      'billing.dead': {},
      analytics: {},
    });
    for (const name of ['billing', 'analytics']) await channel.bindQueue(name, 'shop', 'order.#');
    await publish(channel, 'shop', 'order.new', [order(1), order(2), order(3)]);
    await channel.purgeQueue('analytics');
    await reject(channel, 'billing', 3);
    await c.open('/letters?view=list&filter=queue:billing.dead');
    await c.button('redrive.found').click();
    assert.ok(await c.dialog.getByRole('radio', { name: c.say('redrive.to_queue'), exact: true }).isChecked());
    await c.dialog.getByRole('radio', { name: c.say('redrive.to_origin'), exact: true }).check();
    await c.button('redrive.try', {}, c.dialog).click();
    await c.dialog.getByText(c.say('redrive.never_died', { n: 3, queue: 'analytics' })).waitFor();
    await c.accessible();
    await c.dialog.getByRole('radio', { name: c.say('redrive.to_queue'), exact: true }).check();
    await c.button('redrive.try', {}, c.dialog).click();
    await c.dialog.getByText(c.say('redrive.would_move', { n: 3 })).waitFor();
    await c.dialog.getByText(c.say('redrive.no_consumers', { queue: 'billing' })).waitFor();
    await c.dialog.getByText(c.say('frame.as_command'), { exact: true }).click();
    const command = c.dialog.getByRole('region', { name: c.say('frame.with_ctl'), exact: true });
    assert.match(
      await command.innerText(),
      /^bartleby ctl --node http\S+ dlq redrive billing\.dead .*--stop-without-consumer$/,
    );
    await c.button('redrive.choose_fast', {}, c.dialog).click();
    assert.match(
      await command.innerText(),
      /^bartleby ctl --node http\S+ dlq redrive billing\.dead --where queue:billing\.dead$/,
    );
    await c.dialog.getByText(c.say('redrive.would_move', { n: 3 })).waitFor();
    assert.equal(await c.dialog.getByText(c.say('redrive.no_consumers', { queue: 'billing' })).count(), 0);
    assert.equal(await c.dialog.getByText(c.say('redrive.never_died', { n: 3, queue: 'analytics' })).count(), 0);
    await c.button('redrive.begin', {}, c.dialog).click();
    await c.broker.depth('billing', 3);
    await c.broker.depth('analytics', 0);
    const got = await channel.get('billing', { noAck: true });
    assert.equal(got && got.fields.routingKey, 'order.new');
  },
);

world.test(
  'dead letters whose dead-letter queue is none any more can be taken; what is held or scheduled is counted',
  async (c) => {
    const channel = await deadLetters(c.broker, 'former', 5);
    await channel.deleteQueue('former');
    await channel.assertQueue('former', { durable: true });
    await queues(channel, {
      keeper: {
        'x-dead-letter-exchange': 'nowhere',
        'x-dead-letter-strategy': 'at-least-once',
        'x-overflow': 'reject-publish',
      },
    });
    await publish(channel, '', 'keeper', [order(1), order(2)]);
    await reject(channel, 'keeper', 2);
    await until('two to be held', async () => {
      const { items } = await c.broker.get('x/held/%2F/keeper');
      return items.length === 2 || { held: items.length };
    });
    await until('all to be in the index', async () => {
      const { items } = await c.broker.get('x/letters/%2F?filter=source:former%7Ckeeper');
      return items.length === 7 || { found: items.length };
    });
    await c.open('/letters?view=list&filter=source:former|keeper');
    await c.text('table.rows', { n: 7 }).waitFor();
    await c.button('redrive.found').click();
    await c.dialog.getByText(c.say('redrive.out_held', { n: 2 })).waitFor();
    assert.ok(await c.button('redrive.try', {}, c.dialog).isDisabled());
    await c.dialog.getByRole('checkbox', { name: c.say('redrive.also', { n: 5 }) }).check();
    await c.accessible();
    await fast(c);
    await c.button('redrive.try', {}, c.dialog).click();
    await c.dialog.getByText(c.say('redrive.would_move', { n: 5 })).waitFor();
    await c.button('redrive.begin', {}, c.dialog).click();
    await c.broker.depth('former', 5);
    await c.open('/letters?view=list&filter=state:held');
    await c.text('table.rows', { n: 2 }).waitFor();
    await c.button('redrive.found').click();
    await c.dialog.getByText(c.say('redrive.none_can')).waitFor();
    await c.accessible();
    assert.equal(await c.button('redrive.begin', {}, c.dialog).count(), 0);
    await c.open('/letters?view=list&filter=state:scheduled');
    await c.settled();
    assert.equal(await c.button('redrive.found').count(), 0);
  },
);

world.test('the page of a job: its limit, how far it is, and the keyboard', async (c) => {
  await deadLetters(c.broker, 'limited', 100);
  const { id } = await c.broker.post('x/redrives/%2F', {
    source: { queue: 'limited.dead' },
    filter: 'state:ready',
    max: 60,
    target: { to: 'queue', queue: 'sink' },
    options: { rate: 5 },
  });
  await c.open(`/jobs/%2F/${id}`);
  await c.page.getByText(c.say('jobs.of_most', { n: 60 })).waitFor();
  await c.page.getByText(c.say('jobs.left_unknown')).waitFor();
  assert.equal(await c.button('jobs.forget').count(), 0);
  await c.button('jobs.pause').press('Enter');
  await c.button('jobs.resume').waitFor();
  assert.equal(
    await c.page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).innerText.trim()),
    c.say('jobs.resume'),
  );
  await c.button('jobs.cancel').press('Enter');
  await c.button('jobs.forget').waitFor();
  await until(
    'the job to have the focus',
    async () => (await c.page.evaluate(() => document.activeElement.tagName)) === 'ARTICLE',
  );
  c.expect(/404/);
  await c.open('/jobs/%2F/4711');
  await c.text('frame.not_there').waitFor();
  assert.equal(await c.button('jobs.forget').count(), 0);
});

world.test('what is wrong with a filter is said in the language of the page', { language: 'zh-CN' }, async (c) => {
  c.expect(/400/);
  await c.open('/letters?view=list&filter=resaon:x');
  await c.page
    .getByRole('alert')
    .filter({ hasText: c.say('fault.field', { a: 'resaon' }) })
    .waitFor();
  await c.accessible();
  await c.open('/letters?view=list');
  const field = c.page.getByRole('combobox', { name: c.say('filter.label'), exact: true });
  await field.fill('resaon:x');
  await c.page.keyboard.press('Enter');
  await until('what was refused to be where it was typed', async () => (await field.inputValue()) === 'resaon:x');
  assert.equal(await c.page.locator('.filter-box .chip').count(), 0);
  await c.accessible();
  await field.fill(`${c.say('letters.reason')}：${c.say('reason.delivery_limit')}`);
  await c.page.keyboard.press('Enter');
  await c.page.waitForURL((url) => url.searchParams.get('filter') === 'reason:delivery_limit');
});

world.test('dead letters without an exception are counted below the groups', async (c) => {
  const channel = await c.broker.channel();
  await queues(channel, {
    mixed: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'mixed.dead' },
    'mixed.dead': {},
  });
  await publish(channel, '', 'mixed', [order(1), { body: 'plain' }, { body: 'plain' }]);
  await reject(channel, 'mixed', 3);
  await c.open('/letters?view=groups&by=exception&filter=queue:mixed.dead');
  await c.page.getByText(c.say('letters.without', { n: 2 })).click();
  await c.text('table.rows', { n: 2 }).waitFor();
});
