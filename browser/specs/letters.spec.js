// What a person does with dead letters: sees them come, finds out why, sends them back, edits, discards, restores.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { World } from '../lib/console.js';
import { order, pair, publish, queues, reject } from '../lib/seed.js';

const world = World.of('letters');

/** Chooses the fast way, which needs no consumers. */
const fast = (c) => c.dialog.getByRole('radio', { name: c.say('redrive.fast'), exact: true }).check();

/** Tries, begins, and waits until the job's card says so many were sent. */
async function redriveInDialog(c, n) {
  await fast(c);
  await c.button('redrive.try', {}, c.dialog).click();
  await c.dialog.getByText(c.say('redrive.would_move', { n })).waitFor();
  await c.button('redrive.begin', {}, c.dialog).click();
  await c.dialog
    .locator('.stat', { hasText: c.say('jobs.moved') })
    .getByText(String(n), { exact: true })
    .waitFor();
  await c.button('redrive.in_background', {}, c.dialog).click();
}

for (const language of ['en', 'zh-CN']) {
  world.test(
    `a queue made with its dead-letter queue; a rejected message shows up, is read, and is redriven (${language})`,
    { language },
    async (c, t) => {
      const name = `shop.${language}`;
      await c.open('/queues/new');
      await c.field('queues.name').fill(name);
      const creates = c.page.getByRole('list', { name: c.say('create.creates'), exact: true });
      await creates.getByText(c.say('create.creates_dlq', { name: `${name}.dlq`, key: name })).waitFor();
      await c.button('create.do').click();
      await c.page.getByRole('heading', { level: 1, name }).waitFor();

      await c.open(`/letters?view=list&filter=queue:${name}.dlq`);
      await c.page.getByRole('heading', { name: c.say('letters.none_found') }).waitFor();
      const channel = await c.broker.channel();
      await publish(channel, '', name, [{ ...order(1), messageId: `letter-${language}` }]);
      const begun = Date.now();
      await reject(channel, name, 1);
      const row = c.page.getByRole('row').filter({ hasText: `letter-${language}` });
      await row.waitFor();
      t.diagnostic(`the dead letter showed up ${Date.now() - begun} ms after it was to be rejected`);
      await row.getByRole('link').first().click();
      await c.page
        .getByRole('heading', { level: 1, name: c.say('viewer.title', { id: `letter-${language}` }) })
        .waitFor();
      await c.page
        .getByRole('region', { name: c.say('viewer.way'), exact: true })
        .getByRole('link', { name, exact: true })
        .waitFor();

      await c.button('redrive.one').click();
      await redriveInDialog(c, 1);
      await c.broker.depth(`${name}.dlq`, 0);
      const got = await new Promise((resolve) => channel.consume(name, resolve));
      assert.equal(got.properties.messageId, `letter-${language}`);
      assert.equal(got.properties.headers['x-redrive-count'], 1);
      channel.ack(got);
      await c.broker.depth(name, 0);
    },
  );
}

world.test('the overview tells of a rejection by itself', async (c, t) => {
  const channel = await c.broker.channel();
  await queues(channel, {
    dying: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'dying.dead' },
    'dying.dead': {},
  });
  await publish(channel, '', 'dying', [{ ...order(1), headers: {} }]); // with failure headers it would be a dead letter already
  await c.open('/');
  await c.settled();
  const panel = c.page.getByRole('region', { name: c.say('overview.dead'), exact: true });
  assert.equal(await panel.getByText('dying.dead').count(), 0);
  const begun = Date.now();
  await reject(channel, 'dying', 1);
  await panel.getByRole('listitem').filter({ hasText: 'dying.dead' }).waitFor();
  t.diagnostic(`the overview had it ${Date.now() - begun} ms after it was to be rejected`);
  // What was there before the page was opened is there, too: where it died, and when.
  await c.open('/?range=10m');
  await c.settled();
  const sources = panel.getByRole('list', {
    name: c.say('overview.sources', { range: c.say('overview.range_10m') }),
    exact: true,
  });
  await sources
    .getByRole('listitem')
    .filter({ has: c.page.getByRole('link', { name: 'dying', exact: true }) })
    .waitFor();
  const chart = panel.getByRole('figure').filter({ hasText: c.say('overview.dying', { step: '10 s' }) });
  await chart.getByRole('button', { name: c.say('chart.table'), exact: true }).click();
  await chart.getByRole('row').nth(50).waitFor();
  const died = await chart
    .getByRole('row')
    .evaluateAll((rows) => rows.slice(1).reduce((n, r) => n + (Number(r.cells[1].textContent) || 0), 0));
  assert.ok(died >= 1, 'the chart has the rejection');
  await sources.getByRole('link', { name: 'dying', exact: true }).click();
  await c.page.getByRole('heading', { name: c.say('queue.trends'), level: 2 }).waitFor();
  await c.page
    .getByText(c.say('queue.died_counts', { range: c.say('overview.range_10m'), died: 1, letters: 0 }))
    .waitFor();
});

world.test('a queue shows the dead letters that arrived in it, and else those that died in it', async (c) => {
  await pair(await c.broker.channel(), 'tabbed', 3);
  await c.broker.depth('tabbed.dead', 3);
  const tab = (which, n) =>
    c.page.getByRole('button', { name: `${c.say(`queue.letters_${which}`)} ${n}`, exact: true });
  const rows = c.page.locator('tbody tr');
  for (const [queue, shown, into, from] of [
    ['tabbed.dead', 'into', 3, 0],
    ['tabbed', 'from', 0, 3],
  ]) {
    await c.open(`/queues/%2F/${queue}?tab=letters`);
    await tab('into', into).waitFor();
    assert.equal(await tab(shown, 3).getAttribute('aria-pressed'), 'true');
    await rows.nth(2).waitFor();
    await tab('from', from).click();
    await tab('from', from).and(c.page.locator('[aria-pressed=true]')).waitFor();
    await c.accessible();
    // A queue whose dead letters nobody consumes raises no alarm; one whose messages nobody consumes does.
    await c.open(`/queues/%2F/${queue}`);
    await c.settled();
    assert.equal(await c.page.locator('.stat.bad', { hasText: c.say('queues.consumers') }).count(), 0);
  }
  await publish(await c.broker.channel(), '', 'tabbed', [{ body: { n: 1 } }]);
  await c.open('/queues/%2F/tabbed');
  await c.page.locator('.stat.bad', { hasText: c.say('queues.consumers') }).waitFor();
});

for (const language of ['en', 'zh-CN']) {
  world.test(
    `a queue is marked with a click: what a client published to it is listed, until the mark is removed (${language})`,
    { language },
    async (c) => {
      const name = `errors.${language}`;
      const channel = await c.broker.channel();
      await queues(channel, { [name]: {} });
      await publish(channel, '', name, [{ body: 'no price', messageId: `by-itself-${language}` }]);
      const marks = async () => (await c.broker.get('x/options/%2F'))['dead-letter-queues'] ?? {};
      const row = c.page.getByRole('row').filter({ hasText: `by-itself-${language}` });

      await c.open(`/queues/%2F/${name}`);
      await c.page.getByText(c.say('queue.role_none'), { exact: true }).waitFor();
      await c.button('queue.mark').click();
      await c.page.getByText(c.say('queue.marked'), { exact: true }).waitFor();
      assert.equal((await marks())[name], true);
      await c.accessible();

      await c.open(`/letters?view=list&filter=queue:${name}`);
      await row.getByRole('link').first().click();
      await c.page.getByText(c.say('viewer.marked'), { exact: true }).waitFor();
      await c.text('viewer.by_client').waitFor();

      await c.open('/vhosts/%2F?tab=limits');
      await c.page
        .getByRole('button', { name: c.say('frame.pair', { name: c.say('queue.unmark'), value: name }), exact: true })
        .waitFor();
      await c.open(`/queues/%2F/${name}`);
      await c.button('queue.unmark').click();
      await c.button('queue.mark').waitFor();
      assert.equal((await marks())[name], undefined);
      await c.open(`/letters?view=list&filter=queue:${name}`);
      await c.page.getByRole('heading', { name: c.say('letters.none_found') }).waitFor();
    },
  );
}

world.test('the way of a dead letter that died three times', async (c) => {
  const channel = await c.broker.channel();
  await queues(channel, {
    'hop.one': { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'hop.two' },
    'hop.two': { 'x-message-ttl': 100, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'hop.three' },
    'hop.three': { 'x-max-length': 1, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'hop.dead' },
    'hop.dead': {},
  });
  await publish(channel, '', 'hop.one', [{ body: { hop: 1 }, messageId: 'hopper' }]);
  await reject(channel, 'hop.one', 1);
  await c.broker.depth('hop.three', 1);
  await publish(channel, '', 'hop.three', [{ body: { hop: 2 } }]);
  await c.broker.depth('hop.dead', 1);

  await c.open('/letters?view=list&filter=queue:hop.dead');
  await c.page.getByRole('row').filter({ hasText: 'hopper' }).getByRole('link').first().click();
  const stops = c.page.getByRole('region', { name: c.say('viewer.way') }).getByRole('listitem');
  await stops.nth(4).waitFor();
  const texts = (await stops.allInnerTexts()).map((s) => s.replace(/\s+/g, ' '));
  assert.equal(texts.length, 5, texts.join(' | '));
  ['hop.one', ...['rejected', 'expired', 'maxlen'].map((r) => c.say(`reason.${r}`)), 'hop.dead'].forEach((words, i) =>
    assert.ok(texts[i].includes(words), `stop ${i} is ${texts[i]}`),
  );
  ['hop.one', 'hop.two', 'hop.three'].forEach((queue, i) =>
    assert.ok(texts[i + 1].includes(queue), `stop ${i + 1} is ${texts[i + 1]}`),
  );
});

world.test('dead letters by the exception that a header tells of', async (c) => {
  await pair(await c.broker.channel(), 'grouped', 12);
  await c.open('/letters?filter=queue:grouped.dead&view=groups');
  await c.page.getByLabel(c.say('letters.group_by')).selectOption('header');
  const header = c.page.getByLabel(c.say('letters.header_name'));
  await header.fill('error-message');
  await header.press('Enter');
  const table = c.page.getByRole('table', { name: c.say('letters.as_groups') });
  await table
    .getByRole('row')
    .filter({ hasText: 'order.shipTo' })
    .getByRole('cell', { name: '3', exact: true })
    .waitFor();
  await c.page.getByLabel(c.say('letters.group_by')).selectOption('exception');
  const row = table.getByRole('row').filter({ hasText: 'PaymentDeclined' });
  await row.getByRole('cell', { name: '6', exact: true }).waitFor(); // the numbers of the orders fold
  await row.getByRole('link').first().click();
  await c.page.getByRole('row').filter({ hasText: 'grouped-' }).nth(5).waitFor();
});

world.test('a dead letter is edited and sent again, after its changes were shown', async (c) => {
  const channel = await c.broker.channel();
  await pair(channel, 'edited', 1);
  await c.open('/letters?view=list&filter=queue:edited.dead');
  await c.page.getByRole('row').filter({ hasText: 'edited-0' }).getByRole('link').first().click();
  await c.button('resend.one').click();
  const body = c.field('viewer.body', {}, c.dialog);
  await body.fill((await body.inputValue()).replace('"acme"', '"acme & sons"'));
  await c.dialog.getByRole('radio', { name: c.say('redrive.to_origin'), exact: true }).check();
  await c.field('letters.key', {}, c.dialog).fill('edited.dead');
  await c.button('resend.review', {}, c.dialog).click();
  await c.dialog.getByText(c.say('resend.into_same', { queue: 'edited.dead' })).waitFor();
  const send = c.button('resend.send', {}, c.dialog);
  assert.ok(await send.isDisabled(), 'it is sent to where it is without a question');
  await c.field('resend.all_the_same', {}, c.dialog).check();
  assert.ok(await send.isEnabled());
  await c.accessible();
  await c.button('resend.back', {}, c.dialog).click();
  await c.dialog.getByRole('radio', { name: c.say('redrive.to_queue'), exact: true }).check();
  await c.button('resend.review', {}, c.dialog).click();
  await c.dialog.getByText(c.say('resend.goes', { queues: 'edited' })).waitFor();
  const diff = c.dialog.getByRole('region', { name: c.say('resend.diff_of', { what: c.say('viewer.body') }) });
  await diff.locator('.line.new', { hasText: 'acme & sons' }).waitFor();
  await diff.locator('.line.gone', { hasText: '"acme"' }).waitFor();
  await c.accessible();
  await c.button('resend.send', {}, c.dialog).click();
  await c.text('resend.sent').waitFor();
  await c.broker.depth('edited.dead', 0);
  const got = await new Promise((resolve) => channel.consume('edited', resolve, { noAck: true }));
  assert.match(got.content.toString(), /acme & sons/);
  assert.ok('x-edited-from' in got.properties.headers, Object.keys(got.properties.headers).join());
});

world.test('a dead letter is discarded, is found among the lost ones, and is restored', async (c) => {
  const channel = await c.broker.channel();
  for (const name of ['thrown', 'earlier']) await pair(channel, name, 1);
  await c.broker.post('x/redrives/%2F', { source: { queue: 'earlier.dead' }, action: 'discard' });
  await c.broker.depth('earlier.dead', 0);
  await c.open('/letters?view=list&filter=queue:thrown.dead');
  await c.page.getByRole('row').filter({ hasText: 'thrown-0' }).getByRole('link').first().click();
  await c.button('redrive.discard').click();
  await c.dialog.getByText(c.say('redrive.would_discard', { n: 1 })).waitFor();
  await c.accessible();
  await c.button('redrive.discard', {}, c.dialog).click();
  await c.dialog
    .locator('.stat', { hasText: c.say('jobs.discarded') })
    .getByText('1', { exact: true })
    .waitFor();
  await c.broker.depth('thrown.dead', 0);

  await c.dialog.getByRole('link', { name: c.say('jobs.view_discarded') }).click();
  const row = c.page.getByRole('row').filter({ hasText: 'thrown-0' });
  await row.waitFor();
  assert.equal(await c.page.getByRole('row').filter({ hasText: 'earlier-0' }).count(), 0, 'of another discard');
  await row.getByRole('checkbox').click();
  await c.button('redrive.n', { n: 1 }).click();
  await redriveInDialog(c, 1);
  await c.broker.depth('thrown.dead', 1); // where it was discarded, and not where it died
  await row.waitFor({ state: 'detached' });
});

world.test(
  'a discard is undone by its button, and a careful redrive needs no consumer at a dead-letter queue',
  async (c) => {
    const channel = await c.broker.channel();
    for (const name of ['oops', 'before']) await pair(channel, name, 3);
    const discard = async () => {
      await c.open('/letters?view=list&filter=queue:oops.dead');
      await c.button('redrive.discard_all', { n: 3 }).click();
      await c.dialog.getByText(c.say('redrive.would_discard', { n: 3 })).waitFor();
      await c.button('redrive.discard', {}, c.dialog).click();
    };
    await c.broker.post('x/redrives/%2F', { source: { queue: 'before.dead' }, action: 'discard' });
    await discard();
    await c.button('jobs.undo', {}, c.dialog).click();
    await c.dialog.getByText(c.say('redrive.would_move', { n: 3 })).waitFor();
    await c.accessible();
    await c.button('redrive.begin', {}, c.dialog).click();
    await c.broker.depth('oops.dead', 3);
    await c.broker.depth('before.dead', 0);
    await c.button('redrive.in_background', {}, c.dialog).click();

    await discard();
    await c.broker.depth('oops.dead', 0);
    await c.open('/lost?filter=target:oops.dead');
    await c.button('redrive.all').click();
    assert.ok(await c.dialog.getByRole('radio', { name: c.say('redrive.careful'), exact: true }).isChecked());
    await c.button('redrive.try', {}, c.dialog).click();
    await c.dialog.getByText(c.say('redrive.would_move', { n: 3 })).waitFor();
    await c.settled();
    assert.equal(await c.dialog.getByText(c.say('redrive.no_consumers', { queue: 'oops.dead' })).count(), 0);
    await c.button('redrive.begin', {}, c.dialog).click();
    await c.broker.depth('oops.dead', 3);

    await discard();
    await c.broker.depth('oops.dead', 0);
    const last = (await c.broker.get('x/redrives/%2F')).map((j) => j.id).sort((a, b) => b - a)[0];
    await c.open(`/jobs/%2F/${last}`);
    await c.button('jobs.undo').waitFor();
    assert.equal(await c.page.locator(`main a[href*="/jobs/%2F/${last}"]`).count(), 0, 'the page leads to itself');
    await c.button('jobs.undo').click();
    await c.dialog.getByText(c.say('redrive.would_move', { n: 3 })).waitFor();
    await c.button('redrive.begin', {}, c.dialog).click();
    await c.broker.depth('oops.dead', 3);
  },
);

/** Failures as Spring's RepublishMessageRecoverer publishes them anew to where dead letters go. */
const recovered = (n, name) =>
  Array.from({ length: n }, (_, i) => ({
    body: { order: i },
    messageId: `${name}-${i}`,
    headers: {
      'x-exception-message': `no price for item ${i}`,
      'x-exception-stacktrace': `com.example.PriceMissingException: no price for item ${i}\n\tat com.example.Shop.price(Shop.java:42)`,
      'x-original-exchange': 'shop',
      'x-original-routingKey': `${name}.new`,
    },
  }));

world.test(
  'what a consumer published anew is found by its exception, shown, and redriven to where it came from',
  async (c) => {
    const channel = await c.broker.channel();
    await channel.assertExchange('shop', 'topic');
    await channel.assertExchange('shop.dlx', 'topic');
    await queues(channel, { refunds: {}, 'refunds.dlq': {} });
    await channel.bindQueue('refunds', 'shop', 'refunds.new');
    await channel.bindQueue('refunds.dlq', 'shop.dlx', 'refunds.failed');
    await publish(channel, 'shop.dlx', 'refunds.failed', recovered(4, 'refunds'));
    await publish(channel, 'shop.dlx', 'refunds.failed', [
      {
        ...order(2),
        messageId: 'refunds-other',
        headers: {
          'x-exception-message': 'timed out',
          'x-original-exchange': 'shop',
          'x-original-routingKey': 'refunds.new',
        },
      },
    ]);

    await c.open('/letters?by=exception&view=groups&filter=queue:refunds.dlq');
    const table = c.page.getByRole('table', { name: c.say('letters.as_groups') });
    const group = table.getByRole('row').filter({ hasText: 'PriceMissingException' });
    await group.getByRole('cell', { name: '4', exact: true }).waitFor(); // their numbers fold
    await c.page.getByLabel(c.say('letters.group_by')).selectOption('reason');
    await table
      .getByRole('row')
      .filter({ hasText: c.say('reason.republished') })
      .getByRole('cell', { name: '5', exact: true })
      .waitFor();
    await c.accessible();
    await c.page.getByLabel(c.say('letters.group_by')).selectOption('exception');
    await group.getByRole('link').first().click();
    const row = c.page.getByRole('row').filter({ hasText: 'refunds-2' });
    await row.getByText('no price for item 2').waitFor();
    await row.getByText(c.say('viewer.arrived')).waitFor();
    assert.equal(await c.page.getByRole('row').filter({ hasText: 'refunds-' }).count(), 4);
    await c.accessible();

    await row.getByRole('link').first().click();
    const why = c.page.getByRole('region', { name: c.say('viewer.why') });
    await why.locator('.exception').getByText('no price for item 2').waitFor();
    await why.getByText(c.say('viewer.republished')).waitFor();
    await why.getByText('shop → refunds.new').waitFor();
    const way = c.page.getByRole('region', { name: c.say('viewer.way') });
    assert.match(
      (await way.getByRole('listitem').allInnerTexts()).join(' | ').replace(/\s+/g, ' '),
      /shop → refunds\.new \| republished .* arrived .* \| Now ready refunds\.dlq/,
    );
    assert.equal(await c.page.getByText(c.say('viewer.never_died')).count(), 0);
    const next = c.page.getByRole('region', { name: c.say('viewer.next') });
    await next.getByRole('link', { name: 'refunds', exact: true }).waitFor();
    await c.settled();
    await c.accessible();
    await c.picture('letter-republished.en');
    await c.button('redrive.one').click();
    await redriveInDialog(c, 1);
    await c.broker.depth('refunds', 1);

    // Those of a group, out of a queue that no dead letter of another comes to; what was sent back is left alone.
    await c.open('/letters?by=exception&view=groups&filter=exception:*PriceMissing* key:refunds.new');
    await group.getByRole('cell', { name: '3', exact: true }).waitFor();
    await group.getByRole('button', { name: /^Redrive/ }).click();
    await c.dialog.getByText('refunds.dlq', { exact: false }).first().waitFor();
    await redriveInDialog(c, 3);
    await c.broker.depth('refunds', 4);
    await c.broker.depth('refunds.dlq', 1);
  },
);

world.test(
  'a redrive is called by what a filter finds, and asks again before dead letters come to where they are',
  async (c) => {
    const channel = await c.broker.channel();
    await pair(channel, 'priced', 1);
    await publish(channel, '', 'priced.dead', recovered(101, 'priced'));
    await c.open('/queues/%2F/priced.dead?tab=messages&filter=exception:*PriceMissing*');
    await c.text('table.so_far', { n: 100 }).waitFor();
    await c.page.getByRole('columnheader', { name: c.say('letters.exception') }).waitFor();
    await c.page
      .getByRole('row')
      .filter({ hasText: 'priced-7' })
      .filter({ hasText: 'no price for item 7' })
      .first()
      .waitFor();
    await c.accessible();
    await c.button('redrive.found').click();
    await c.dialog.getByRole('heading', { name: c.say('redrive.title_found') }).waitFor();
    await c.dialog.getByRole('radio', { name: c.say('redrive.to_other_queue') }).check();
    await c.field('redrive.queue', {}, c.dialog).fill('priced.dead');
    await c.button('redrive.try', {}, c.dialog).click();
    await c.dialog.getByText(c.say('redrive.into_same', { n: 101, queue: 'priced.dead' })).waitFor();
    await c.dialog.getByRole('heading', { name: c.say('redrive.title', { n: 101 }) }).waitFor();
    await c.accessible();
    const begin = c.button('redrive.begin', {}, c.dialog);
    assert.ok(await begin.isDisabled(), 'it begins with a click');
    await c.field('redrive.all_the_same', {}, c.dialog).check();
    assert.ok(await begin.isEnabled(), 'it does not begin though it was asked for');
    await c.button('redrive.try', {}, c.dialog).click();
    await c.dialog.getByText(c.say('redrive.into_same', { n: 101, queue: 'priced.dead' })).waitFor();
    assert.ok(await begin.isDisabled(), 'another dry run is to be answered anew');
    await c.dialog.getByRole('radio', { name: c.say('redrive.to_other_queue') }).check();
    await c.field('redrive.queue', {}, c.dialog).fill('priced');
    await fast(c);
    await c.button('redrive.try', {}, c.dialog).click();
    await c.dialog.getByText(c.say('redrive.would_move', { n: 101 })).waitFor();
    assert.equal(await c.field('redrive.all_the_same', {}, c.dialog).count(), 0);
    await begin.click();
    await c.dialog
      .locator('.stat', { hasText: c.say('jobs.moved') })
      .getByText('101', { exact: true })
      .waitFor();
    await c.broker.depth('priced', 101);
  },
);

world.test('a group is discarded, and brought back from the lost letters', async (c) => {
  await pair(await c.broker.channel(), 'cast', 8);
  await c.open('/letters?view=groups&by=source&filter=queue:cast.dead');
  const table = c.page.getByRole('table', { name: c.say('letters.as_groups') });
  await table.getByRole('row').filter({ hasText: 'cast' }).getByRole('cell', { name: '8', exact: true }).waitFor();
  const card = async () => {
    const { dead_letters: n, retrying } = await c.broker.get('x/letters/%2F/summary');
    const stat = c.page.locator('main .stat', { hasText: c.say('letters.card_now', { retrying }) });
    await stat.getByText(String(n), { exact: true }).waitFor({ timeout: 12_000 }); // sooner than pages ask by themselves
  };
  await card();
  await c.button('letters.discard_group', { group: 'cast' }).click();
  await c.dialog.getByText(c.say('redrive.would_discard', { n: 8 })).waitFor();
  await c.button('redrive.discard', {}, c.dialog).click();
  await c.dialog
    .locator('.stat', { hasText: c.say('jobs.discarded') })
    .getByText('8', { exact: true })
    .waitFor();
  await c.broker.depth('cast.dead', 0);
  await card();

  const inLost = '/letters?view=groups&by=source&filter=source:cast';
  await c.open(inLost);
  await c.heading('letters.none_found').waitFor();
  await c.open(`${inLost}&lost=true`);
  await table.getByRole('cell', { name: '8', exact: true }).waitFor();
  await c.button('letters.discard_group', { group: 'cast' }).click();
  await c.dialog.getByText(c.say('redrive.would_delete', { n: 8 })).waitFor();
  await c.button('lost.erase', {}, c.dialog).waitFor();
  await c.button('frame.cancel', {}, c.dialog).click();

  await c.open('/lost?filter=cause:discarded source:cast');
  await c.text('table.rows', { n: 8 }).waitFor();
  await c.button('redrive.all').click();
  await c.page.getByRole('radio', { name: c.say('redrive.to_origin'), exact: true }).check();
  await redriveInDialog(c, 8);
  await c.broker.depth('cast', 8);
  await c.heading('letters.none_found').waitFor();
  const back = await c.broker.get('x/queues/%2F/cast/messages?limit=20');
  assert.deepEqual(
    back.items.map((l) => l.message_id).sort(),
    Array.from({ length: 8 }, (_, i) => `cast-${i}`),
  );
});

world.test('dead letters are exported, and imported into another queue, each only once', async (c) => {
  const channel = await c.broker.channel();
  await pair(channel, 'carried', 5);
  await queues(channel, { 'carried.copy': {} });
  await c.open('/letters?view=list&filter=queue:carried.dead');
  await c.text('table.rows', { n: 5 }).waitFor();
  const [download] = await Promise.all([
    c.page.waitForEvent('download'),
    c.page.getByRole('link', { name: c.say('letters.export') }).click(),
  ]);
  const text = await readFile(await download.path(), 'utf8');
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map((l) => l.message_id).sort(),
    Array.from({ length: 5 }, (_, i) => `carried-${i}`),
  );

  const bring = async (content, words, queue = 'carried.copy') => {
    await c.button('import.open').click();
    await c
      .field('import.file', {}, c.dialog)
      .setInputFiles({ name: 'letters.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(content) });
    await c.field('redrive.queue', {}, c.dialog).fill(queue);
    await c.button('import.begin', {}, c.dialog).click();
    for (const w of words) await c.dialog.getByText(w).waitFor();
    await c.accessible();
    await c.button('frame.close', {}, c.dialog.locator('footer')).click();
    await c.dialog.waitFor({ state: 'detached' });
  };
  await bring(text, [c.say('import.skipped', { n: 5 })], 'carried.dead'); // they are still there
  await bring(text, [c.say('import.done', { n: 5, read: 5 })]);
  await c.broker.depth('carried.copy', 5);
  await bring(`${text.split('\n')[0]}\n{"no message\n`, [
    c.say('import.skipped', { n: 1 }),
    c.say('import.failed', { n: 1 }),
  ]);
  await c.broker.depth('carried.copy', 5);
  const got = await new Promise((resolve) => channel.consume('carried.copy', resolve, { noAck: true }));
  const original = order(Number(got.properties.messageId.slice('carried-'.length)));
  assert.deepEqual(JSON.parse(got.content), original.body);
  assert.equal(got.properties.headers.tenant, original.headers.tenant);
});

world.test('a redrive without a mouse', async (c) => {
  const channel = await c.broker.channel();
  await pair(channel, 'keys', 1);
  const focused = () =>
    c.page.evaluate(() => {
      const at = /** @type {HTMLElement} */ (document.activeElement);
      const label = at instanceof HTMLInputElement ? at.labels?.[0] : null;
      return (label?.innerText || at?.innerText || at?.getAttribute('aria-label') || '').trim();
    });
  const tabTo = async (words) => {
    for (let i = 0; i < 80; i++) {
      if ((await focused()) === words) return;
      await c.page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not lead to ${words}`);
  };
  await c.open('/');
  await c.page.keyboard.press('g');
  await c.page.keyboard.press('d');
  await c.page.getByRole('heading', { level: 1, name: c.say('letters.title') }).waitFor();
  await c.settled();
  await c.page.keyboard.press('/');
  await c.page.keyboard.type('queue:keys.dead');
  await c.page.keyboard.press('Enter');
  await tabTo(c.say('letters.as_list'));
  await c.page.keyboard.press('Enter');
  await c.page.getByRole('row').filter({ hasText: 'keys-0' }).waitFor();
  await c.page.keyboard.press('x');
  await c.text('table.selected', { n: 1 }).waitFor();
  await c.page.keyboard.press('r');
  await c.dialog.waitFor();
  await tabTo(c.say('redrive.careful'));
  await c.page.keyboard.press('ArrowDown');
  assert.equal(await focused(), c.say('redrive.fast'));
  await tabTo(c.say('redrive.try'));
  await c.page.keyboard.press('Enter');
  await c.dialog.getByText(c.say('redrive.would_move', { n: 1 })).waitFor();
  await tabTo(c.say('redrive.begin'));
  await c.page.keyboard.press('Enter');
  await c.broker.depth('keys', 1);
  await c.page.keyboard.press('Escape');
  await c.dialog.waitFor({ state: 'detached' });
});
