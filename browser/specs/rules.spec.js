// Policies before they are saved, and what the topology tells of them.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues } from '../lib/seed.js';
import { until } from '../lib/wait.js';

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
      .getByText(c.say('trial.letters', { n: 15, about: 'no' }))
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

world.test('Enter in the form of a policy asks before messages go, and only then', async (c) => {
  const length = c.field('setting.max-length');
  const over = { about: 'no', limits: c.say('setting.max-length') };
  const asks = c.page.getByRole('dialog', { name: c.say('policies.save_title', { name: 'short' }), exact: true });
  const body = { durable: true, arguments: {} };
  await c.broker.put('queues/%2F/long', body);
  await c.broker.put('queues/%2F/long.dead', { ...body, arguments: { 'x-dead-letter-exchange': 'dlx' } });
  const channel = await c.broker.channel();
  for (const queue of ['long', 'long.dead'])
    await publish(
      channel,
      '',
      queue,
      Array.from({ length: 4 }, (_, i) => ({ body: { i } })),
    );
  await c.broker.depth('long', 4);
  await c.broker.depth('long.dead', 4);
  const graves = (await c.broker.get('queues/%2F/incoming.dlq')).messages;
  await c.open('/policies/edit?vhost=%2F');
  await c.field('queues.name').fill('short');
  await c.field('policies.pattern').fill('^long');
  await c.field('policies.priority').fill('1'); // more than that of catch-all
  await length.fill('1');
  await length.press('Enter');
  await c.text('trial.deletes_all', { n: 3, queues: 'long', ...over }, asks).waitFor();
  await c.text('trial.letters_all', { n: 3, queues: 'long.dead', ...over }, asks).waitFor();
  await c.accessible();
  await c.page.keyboard.press('Escape');
  await asks.waitFor({ state: 'detached' });
  assert.ok(!(await c.broker.get('policies')).some((p) => p.name === 'short'));
  await c.broker.depth('long', 4);
  await c.text('trial.deletes_all', { n: 3, queues: 'long', ...over }).waitFor(); // the preview says the same
  await new Promise((done) => setTimeout(done, 400)); // at once, Enter would be a second press of the first
  await length.press('Enter');
  await c.button('policies.save_drop', { n: 6, about: 'no' }, asks).click();
  await c.text('policies.saved', { name: 'short' }).waitFor();
  await c.broker.depth('long', 1);
  await c.broker.depth('long.dead', 1);
  await c.broker.depth('incoming.dlq', graves + 3);
  await c.open('/policies/edit?vhost=%2F&policy=short');
  await length.fill('2'); // nothing goes
  await length.press('Enter');
  await c.text('policies.saved', { name: 'short' }).waitFor();

  // Without it another policy applies, with a limit of octets.
  await c.broker.put('policies/%2F/tiny', { pattern: '^long$', definition: { 'max-length-bytes': 8 }, priority: 1 });
  await publish(channel, '', 'long', [{ body: { i: 9 } }]);
  await c.broker.depth('long', 2);
  await c.page.getByRole('link', { name: 'short', exact: true }).click();
  await c.button('queues.delete').click();
  const large = { n: 1, queues: 'long', about: 'yes', limits: c.say('setting.max-length-bytes') };
  await c.text('trial.deletes_all', large, c.dialog).waitFor();
  await c.button('queues.delete', {}, c.dialog).click();
  await c.text('policies.deleted', { name: 'short' }).waitFor();
  await c.broker.depth('long', 1);
  await c.broker.api('DELETE', 'policies/%2F/tiny');
  for (const queue of ['long', 'long.dead']) await c.broker.api('DELETE', `queues/%2F/${queue}`);
});

world.test(
  'a policy names a dead-letter exchange that does not exist: the preview, the save and the list say so, and it is created there',
  async (c) => {
    await c.open('/policies/edit');
    await c.button('preset.letters').click();
    assert.equal(await c.field('setting.dead-letter-exchange').inputValue(), 'dlx', 'there is one');
    await c.field('queues.name').fill('astray');
    await c.field('policies.pattern').fill('^incoming$');
    await c.field('setting.dead-letter-exchange').fill('nowhere');
    await c.text('create.no_exchange').waitFor();
    await c.text('said.missing_lost', { name: 'nowhere' }).waitFor();
    await c.button('policies.create_exchange', { name: 'nowhere' }).waitFor();
    await c.settled();
    await c.accessible();
    await c.button('policies.save').click();
    await c.text('policies.saved_missing', { name: 'astray', exchange: 'nowhere' }).waitFor();
    await c.page
      .getByRole('row')
      .filter({ hasText: 'astray' })
      .getByText(c.say('policy_finding.missing_dlx'), { exact: true })
      .waitFor();

    await c.page.getByRole('link', { name: 'astray', exact: true }).click();
    await c.button('policies.create_exchange', { name: 'nowhere' }).click();
    await c.button('create.do', {}, c.dialog).click();
    await c.text('said.unbound_lost', { name: 'nowhere' }).waitFor();
    assert.equal(await c.button('policies.create_exchange', { name: 'nowhere' }).count(), 0);
    assert.equal((await c.broker.get('exchanges/%2F/nowhere')).type, 'fanout');

    await c.button('queues.delete').click();
    await c.dialog.getByText(c.say('policies.delete_text', { changed: 1, names: 'incoming' }).trim()).waitFor();
    await c.button('queues.delete', {}, c.dialog).click();
    await c.text('policies.deleted', { name: 'astray' }).waitFor();
  },
);

world.test('the template of a dead-letter exchange asks for its name where none is there', async (c) => {
  await c.broker.put('vhosts/bare', {});
  await c.open('/policies/edit?vhost=bare');
  await c.settled();
  await c.button('preset.letters').click();
  const field = c.field('setting.dead-letter-exchange');
  assert.equal(await field.inputValue(), '');
  assert.ok(await field.evaluate((el) => el === document.activeElement), 'the field has the focus');
});

world.test(
  'the form of a policy has the settings that the broker has, those of retries in one place; an exchange may have no name',
  async (c) => {
    await c.open('/policies/edit');
    await c.field('queues.name').fill('backoff');
    await c.field('policies.pattern').fill('^backoff$');
    await c.field('setting.delayed-retry-type').selectOption('all');
    const retries = c.page.getByRole('group', { name: c.say('group.retries'), exact: true });
    const steps = c.field('setting.delayed-retry-steps', {}, retries);
    c.expect(/400 .*dry-run/); // without steps the policy has no delays
    await steps.fill('1m,5');
    await c.button('policies.save').click();
    await c.text('duration.no_unit', { text: '5', s: '5s', ms: '5ms' }).first().waitFor();
    assert.equal(
      (await c.broker.get('policies')).some((p) => p.name === 'backoff'),
      false,
      'a step has no unit',
    );
    await steps.fill('1 min, 5 min'); // as the console shows them
    await c.text('duration.is', { time: '1 minute, 5 minutes' }).waitFor();
    await c.field('setting.delayed-retry-jitter', {}, retries).fill('10');
    const plan = retries.getByRole('status');
    await plan.filter({ hasText: c.say('retry.forever', { times: '1 minute', every: '' }).slice(0, 22) }).waitFor();
    await c.field('setting.delayed-retry-attempts', {}, retries).fill('3');
    const [times, end] = ['1 minute, 6 minutes, 11 minutes', c.say('retry.then_unknown')];
    await plan.filter({ hasText: c.say('retry.after', { times, end }) }).waitFor();
    await c.field('setting.delivery-limit', {}, retries).waitFor();
    await c.field('setting.dead-letter-exchange').fill(c.say('exchange.default'));
    await plan.filter({ hasText: c.say('retry.then_exchange') }).waitFor();
    await c.field('setting.cycle').selectOption('keep');
    await c.page.evaluate(() => scrollTo(0, 0)); // no field is half below the bar
    await c.accessible();
    await c.picture('policies-edit-more.en', { fullPage: true });
    await c.button('policies.save').click();
    await c.page.getByRole('link', { name: 'backoff', exact: true }).waitFor();
    const definition = {
      'delayed-retry-type': 'all',
      'delayed-retry-steps': '1m, 5m',
      'delayed-retry-jitter': 10,
      'delayed-retry-attempts': 3,
      'dead-letter-exchange': '',
      cycle: 'keep',
    };
    await c.page.getByRole('row', { name: 'backoff' }).getByText(c.say('exchange.default'), { exact: true }).waitFor();
    assert.deepEqual((await c.broker.get('policies/%2F/backoff')).definition, definition);
    await c.open('/policies/edit?vhost=/&policy=backoff');
    assert.equal(await steps.inputValue(), '1m, 5m');
    await c.page.getByRole('radio', { name: c.say('retry.formula'), exact: true }).check();
    await c.field('setting.delayed-retry-min', {}, retries).fill('1s');
    await c.field('setting.delayed-retry-backoff', {}, retries).selectOption('exponential');
    const formula = { times: '1 second, 3 seconds, 7 seconds', end: c.say('retry.then_exchange') };
    await plan.filter({ hasText: c.say('retry.after', formula) }).waitFor();
    await c.button('policies.save').click();
    await c.page.getByRole('link', { name: 'backoff', exact: true }).waitFor();
    delete definition['delayed-retry-steps'];
    Object.assign(definition, { 'delayed-retry-min': 1000, 'delayed-retry-backoff': 'exponential' });
    assert.deepEqual((await c.broker.get('policies/%2F/backoff')).definition, definition);
    await c.open('/policies/edit?vhost=/&policy=backoff');
    assert.equal(await c.field('setting.delayed-retry-min', {}, retries).inputValue(), '1s');
    await c.page.getByRole('radio', { name: c.say('retry.steps'), exact: true }).check();
    await steps.waitFor();
    assert.equal(await c.field('setting.dead-letter-exchange').inputValue(), c.say('exchange.default'));
    await c.page.getByLabel(c.say('policies.apply_to'), { exact: true }).selectOption('exchanges');
    await c.field('setting.alternate-exchange').waitFor();
    assert.equal(await steps.count(), 0, 'exchanges have no retry');
    await c.open('/policies/edit?operator=1');
    await c.field('setting.delayed-retry-attempts').waitFor();
    assert.equal(await c.field('setting.cycle').count(), 0, 'operators do not set it');
    assert.equal(await c.field('setting.dead-letter-exchange').count(), 0);
  },
);

world.test('the page of a queue says in words how it retries', { language: 'zh-CN' }, async (c) => {
  const declared = { 'x-queue-type': 'quorum', 'x-delayed-retry-type': 'all', 'x-delayed-retry-steps': '10s,1m' };
  await c.broker.api('PUT', 'queues/%2F/stepped', {
    durable: true,
    arguments: { ...declared, 'x-delayed-retry-attempts': 3 },
  });
  await c.open('/queues/%2F/stepped');
  const part = (name, value) => c.say('frame.pair', { name: c.say(`setting.delayed-retry-${name}`), value });
  const words = [c.say('choice.delayed-retry-type.all'), part('steps', '10 秒、1 分钟'), part('attempts', '3')];
  await c.page
    .getByRole('definition')
    .filter({ hasText: words.join(' · ') })
    .waitFor();
  await c.text('queue.limit_of_retries', { limit: '20', n: 3 }).waitFor();
  assert.equal(await c.page.getByText('steps:').count(), 0);
});

world.test('if the broker does not say which settings there are, a form shows the error and asks again', async (c) => {
  c.expect(/500/);
  await c.page.route('**/api/x/settings', (r) =>
    r.fulfill({ status: 500, json: { error: 'x', reason: 'no settings' } }),
  );
  await c.open('/policies/edit');
  await c.page.getByText('no settings').waitFor();
  assert.equal(await c.field('policies.pattern').count(), 0);
  await c.page.unroute('**/api/x/settings');
  await c.button('frame.retry').click();
  await c.field('policies.pattern').waitFor();
  await c.field('setting.message-ttl').waitFor();
});

world.test('a queue is created with settings of every part of the form', async (c) => {
  await c.open('/queues/new');
  await c.field('queues.name').fill('every.part');
  await c.page.getByRole('radio', { name: c.say('create.letters_exchange'), exact: true }).check();
  await c.field('setting.dead-letter-exchange').fill('dlx');
  await c.field('setting.dead-letter-strategy').selectOption('at-least-once');
  await c.field('setting.message-ttl').fill('2 moments');
  await c.button('create.do').click();
  await c.text('duration.wrong', { text: '2 moments', a: '90s', b: '15m', c: '1h30m' }).waitFor();
  await c.field('setting.message-ttl').fill('1m60s');
  await c.text('duration.is', { time: '2 minutes' }).waitFor();
  await c.field('setting.max-length').fill('7');
  await c.field('setting.overflow').selectOption('reject-publish');
  await c.field('setting.delayed-retry-type').selectOption('failed');
  await c.field('setting.delayed-retry-steps').fill('1s,2s');
  await c.field('setting.delivery-count-mode').selectOption('failed');
  await c.field('setting.single-active-consumer').check();
  await c.accessible();
  await c.button('create.do').click();
  await c.page.getByRole('heading', { level: 1, name: 'every.part' }).waitFor();
  assert.deepEqual((await c.broker.get('queues/%2F/every.part')).arguments, {
    'x-dead-letter-exchange': 'dlx',
    'x-dead-letter-strategy': 'at-least-once',
    'x-message-ttl': 120000,
    'x-max-length': 7,
    'x-overflow': 'reject-publish',
    'x-delayed-retry-type': 'failed',
    'x-delayed-retry-steps': '1s,2s',
    'x-delivery-count-mode': 'failed',
    'x-single-active-consumer': true,
  });
});

world.test('a new queue is compared with all that is made for it', async (c) => {
  await c.broker.put('exchanges/%2F/taken.dlx', { type: 'fanout', durable: true });
  await c.broker.put('queues/%2F/full.dlq', { durable: true, arguments: { 'x-max-length': 1 } });
  await c.broker.put('queues/%2F/kept.dlq', { durable: true });
  await c.open('/queues/new');
  const create = c.button('create.do');
  const status = c.page.getByRole('status');
  const says = (key, kind, name) => status.getByText(c.say(key, { kind, name })).waitFor();
  const differs = (name, has, asked) => c.text('create.differs', { name, has, asked }).waitFor();
  await c.field('queues.name').fill('taken');
  await says('create.clash', 'exchange', 'taken.dlx');
  await differs('type', 'fanout', 'direct');
  assert.equal(await create.isDisabled(), true);
  await c.field('queues.name').fill('full');
  await says('create.clash', 'queue', 'full.dlq');
  await differs('x-max-length', '1', '–');
  assert.equal(await create.isDisabled(), true);
  await c.accessible();
  await c.page.getByRole('radio', { name: c.say('create.letters_none'), exact: true }).check();
  await until('the form to be ready', () => create.isEnabled());
  await c.page.getByRole('radio', { name: c.say('create.letters_own'), exact: true }).check();
  await c.field('queues.name').fill('x'.repeat(252));
  await c.text('name.long').waitFor();
  assert.equal(await create.isDisabled(), true);
  await c.field('queues.name').fill('kept');
  await says('create.same', 'queue', 'kept.dlq');
  await create.click();
  await c.page.getByRole('heading', { level: 1, name: 'kept' }).waitFor();
});

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
      assert.ok(await c.page.getByRole('radio', { name: c.say('create.letters_own') }).isChecked());
      await c.page.getByRole('radio', { name: c.say('create.letters_none'), exact: true }).check();
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

world.test('a queue that the broker refuses leaves no dead-letter queue behind', async (c) => {
  c.expect(/400/);
  await c.open('/queues/new');
  await c.field('queues.name').fill('unmade');
  assert.ok(await c.page.getByRole('radio', { name: c.say('create.letters_own') }).isChecked());
  await c.field('setting.arguments').fill('{"x-message-ttl": "soon"}');
  await c.button('create.do').click();
  await c.page.locator('.toast.bad, [role=alert]').filter({ hasText: 'x-message-ttl' }).first().waitFor();
  const names = async (of) => (await c.broker.get(of)).map((x) => x.name).filter((name) => name.startsWith('unmade'));
  assert.deepEqual(await names('queues/%2F'), []);
  assert.deepEqual(await names('exchanges/%2F'), []);
  await c.field('setting.arguments').fill('{"x-message-ttl": 60000}');
  await c.button('create.do').click();
  await c.page.getByRole('heading', { level: 1, name: 'unmade' }).waitFor();
  assert.deepEqual((await names('queues/%2F')).sort(), ['unmade', 'unmade.dlq']);
});

for (const options of [{ language: 'en' }, { language: 'zh-CN' }]) {
  world.test(
    `the form of a policy says what is missing or wrong in its own words (${options.language})`,
    options,
    async (c) => {
      await c.broker.put('policies/%2F/there', { pattern: '^none$', definition: { 'max-length': 5 } });
      await c.open('/policies/edit');
      await c.field('queues.name').fill('there');
      await c.text('policies.replaces', { name: 'there' }).waitFor();
      await c.field('queues.name').fill('new');
      await c.text('policies.replaces', { name: 'there' }).waitFor({ state: 'detached' });
      c.expect(/400 .*dry-run/);
      await c.field('policies.pattern').fill('^orders(');
      await c.field('setting.max-length').fill('5');
      const start = c.say('import_why.pattern', { why: '\n' }).split('\n')[0];
      await c.page
        .locator('.field .error')
        .filter({ hasText: start })
        .filter({ hasText: 'missing closing )' })
        .waitFor();
      await c.field('policies.pattern').fill('^orders');
      await c.field('setting.delayed-retry-type').selectOption('all');
      const warning = c.page.locator('.banner.warn');
      const needs = c.say('retry.needs_steps');
      await warning.filter({ hasText: needs }).waitFor();
      await c.button('policies.save').click();
      await c.page.locator('.field .error').filter({ hasText: needs }).waitFor();
      await c.field('setting.delayed-retry-steps').fill('1m；5m');
      await warning.waitFor({ state: 'detached' });
      await c.field('setting.dead-letter-exchange').fill(c.say('exchange.default'));
      await warning.filter({ hasText: c.say('said.same_queue') }).waitFor();
      await c.field('setting.dead-letter-routing-key').fill('nichtda');
      await warning.filter({ hasText: c.say('said.no_queue_lost', { name: 'nichtda' }) }).waitFor();
      await c.field('setting.dead-letter-routing-key').fill('incoming.dlq');
      await warning.waitFor({ state: 'detached' });
    },
  );
}

world.test('a form that is a page asks before what was put into it is dropped', async (c) => {
  const asks = c.page.getByRole('dialog', { name: c.say('frame.leave_draft_title'), exact: true });
  const answer = async (key) => {
    await c.button(key, {}, asks).click();
    await asks.waitFor({ state: 'detached' });
  };
  const heading = (name) => c.page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  const titled = (name) =>
    until('the title', async () => (await c.page.title()) === `${name} – Bartleby`).then(() =>
      c.page.getByRole('main', { name, exact: true }).waitFor(),
    );
  const crumb = c.page.locator('.crumbs a');
  const body = { pattern: '^none$', definition: { 'message-ttl': 1000 }, 'apply-to': 'queues' };
  await c.broker.put('policies/%2F/kept', body);
  await c.open('/policies');
  await c.page.getByRole('link', { name: 'kept', exact: true }).click();
  await heading(c.say('policies.edit', { name: 'kept' }));
  await titled(c.say('policies.edit', { name: 'kept' }));
  await crumb.click(); // nothing was typed
  await heading(c.say('policies.title'));
  await c.page.goBack();
  const pattern = c.field('policies.pattern');
  await pattern.fill('^other$');
  await c.page.goBack();
  await answer('frame.keep_draft');
  assert.match(c.page.url(), /policy=kept/);
  assert.equal(await pattern.inputValue(), '^other$');
  await c.page.goBack();
  await answer('frame.leave_draft');
  await heading(c.say('policies.title'));
  await c.page.goForward();
  await pattern.fill('^other$');
  await c.button('policies.save').click(); // what is saved is not lost
  await heading(c.say('policies.title'));
  assert.equal((await c.broker.get('policies/%2F/kept')).pattern, '^other$');

  await c.open('/queues/new');
  await c.field('queues.name').fill('half');
  await crumb.focus();
  await c.page.keyboard.press('g');
  await c.page.keyboard.press('p');
  await answer('frame.keep_draft');
  assert.ok(await crumb.evaluate((e) => e === document.activeElement));
  await c.choose('policies.create');
  await answer('frame.leave_draft');
  await titled(c.say('policies.create'));
  await c.button('preset.retry').click();
  let left = 0;
  c.page.once('dialog', (d) => {
    left += d.type() === 'beforeunload' ? 1 : 0;
    d.accept();
  });
  await c.page.reload();
  assert.equal(left, 1, 'the browser asks before it leaves the console');
});

world.test('another virtual host and the end of the session ask before they drop a form that is a page', async (c) => {
  const asks = c.page.getByRole('dialog', { name: c.say('frame.leave_draft_title'), exact: true });
  const answer = async (key) => {
    await c.button(key, {}, asks).click();
    await asks.waitFor({ state: 'detached' });
  };
  const pattern = c.field('policies.pattern');
  const chosen = c.page.locator('label.vhost select');
  await c.broker.put('vhosts/elsewhere', {});
  await c.broker.put('permissions/elsewhere/guest', { configure: '.*', write: '.*', read: '.*' });
  for (const vhost of ['%2F', 'elsewhere']) {
    const body = { pattern: `^in ${vhost}$`, definition: { 'message-ttl': 1000 }, 'apply-to': 'queues' };
    await c.broker.put(`policies/${vhost}/twice`, body);
  }
  await c.open('/policies/edit?vhost=%2F&policy=twice');
  await until('the policy', async () => (await pattern.inputValue()) === '^in %2F$');
  await pattern.fill('^half$');
  await chosen.selectOption('elsewhere');
  await answer('frame.keep_draft');
  assert.equal(await pattern.inputValue(), '^half$');
  assert.equal(await chosen.inputValue(), '/');
  await c.page.locator('.top details').last().locator('summary').click();
  await c.button('frame.log_out').click();
  await answer('frame.keep_draft');
  assert.equal(await pattern.inputValue(), '^half$');
  await chosen.selectOption('elsewhere');
  await answer('frame.leave_draft');
  await until('the policy of the other', async () => (await pattern.inputValue()) === '^in elsewhere$');
  await chosen.selectOption('/'); // nothing was typed
  await until('the policy', async () => (await pattern.inputValue()) === '^in %2F$');

  await c.open('/policies/edit?vhost=%2F');
  await pattern.fill('^new$');
  await chosen.selectOption('elsewhere'); // a new policy is where its own field says
  assert.equal(await pattern.inputValue(), '^new$');
  assert.equal(await asks.count(), 0);
  await c.choose('frame.log_out');
  await answer('frame.leave_draft');
  await c.button('login.submit').waitFor();
  await c.broker.api('DELETE', 'vhosts/elsewhere');
});

world.test(
  'a double click, or Enter twice, saves a policy, publishes a message and imports definitions once',
  async (c) => {
    const asked = [];
    c.page.on('request', (r) => asked.push(`${r.method()} ${r.url().replace(/.*\/api\//, '')}`));
    const times = (request) => asked.filter((x) => x === request).length;
    await c.page.route(/api\/(policies\/%2F\/once|definitions)/, async (route) => {
      await new Promise((done) => setTimeout(done, 400)); // as over a slow network
      await route.continue();
    });
    const heading = c.heading('policies.title');
    const put = 'PUT policies/%2F/once';
    for (const twice of ['click', 'Enter']) {
      await c.open('/policies/edit?vhost=%2F');
      await c.field('queues.name').fill('once');
      await c.field('policies.pattern').fill('^none$');
      await c.field('setting.max-length').fill(twice === 'click' ? '5' : '6');
      if (twice === 'click') await c.button('policies.save').dblclick();
      else for (let i = 0; i < 2; i++) await c.field('setting.max-length').press('Enter');
      await heading.waitFor();
      assert.equal(times(put), 1, twice);
      asked.length = 0;
    }

    await c.broker.put('queues/%2F/once', { durable: true });
    await c.open('/queues/%2F/once');
    await c.button('publish.do').click();
    const publish = c.button('publish.do', {}, c.dialog);
    await publish.dblclick();
    await c.text('publish.routed', {}, c.dialog.getByRole('status')).waitFor();
    await new Promise((done) => setTimeout(done, 400));
    assert.equal(times('POST exchanges/%2F/amq.default/publish'), 1);
    await publish.press('Enter'); // later it is another message
    await c.broker.depth('once', 2);

    await c.open('/definitions');
    await c.field('definitions.file').setInputFiles({
      name: 'once.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify({ queues: [{ name: 'once', vhost: '/', durable: true, arguments: {} }] })),
    });
    await c.button('definitions.do').dblclick();
    await c.text('definitions.done', { name: 'once.json' }).waitFor();
    assert.equal(times('POST definitions'), 1);
  },
);
