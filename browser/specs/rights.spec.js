// What users may do is offered; what they may not do says which permission or tag is missing, to the keyboard as well.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const world = World.of('rights', async (broker) => {
  const channel = await broker.channel();
  await channel.assertExchange('later', 'x-delayed-message', { arguments: { 'x-delayed-type': 'fanout' } });
  await channel.assertExchange('shop', 'topic');
  await queues(channel, {
    orders: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'orders.dead', 'x-message-ttl': 3_600_000 },
    'orders.dead': {},
  });
  await channel.bindQueue('orders', 'shop', 'order.*');
  await publish(channel, '', 'orders', [{ body: { n: 1 }, messageId: 'order-1' }]);
  await reject(channel, 'orders', 1);
  await publish(channel, 'later', '', [{ body: { n: 2 }, messageId: 'later-1', headers: { 'x-delay': 3_600_000 } }]);
  await broker.depth('orders.dead', 1);
  for (const [name, configure, write] of [
    ['reader', '^$', '^$'],
    ['writer', '^orders$', '.*'],
  ]) {
    await broker.put(`users/${name}`, { password: 'p', tags: 'management' });
    await broker.put(`permissions/%2F/${name}`, { configure, write, read: '.*' });
  }
  [names.message] = (await broker.get('x/queues/%2F/orders.dead/messages')).items;
});

const names = { message: null };

/** Resolves when a button says that something is missing, and asserts what it is. */
async function denied(button, says) {
  await until('the button to be off', async () => (await button.getAttribute('aria-disabled')) === 'true');
  assert.equal(await button.getAttribute('title'), says);
  assert.equal(
    await button.evaluate((b) => document.getElementById(b.getAttribute('aria-describedby')).textContent),
    says,
  );
}

const on = (button) =>
  until('the button to be on', async () => (await button.getAttribute('aria-disabled')) !== 'true');

for (const language of ['en', 'zh-CN']) {
  const options = { user: 'reader:p', language };
  world.test(`who may only read is told which permission each action takes (${language})`, options, async (c) => {
    const right = (name) => c.say(`right.${name}`);
    const lacks = (kind, permission, name) => c.say(`lacks.${kind}`, { right: right(permission), name });
    const any = (permission) => c.say('lacks.any', { right: right(permission), vhost: '/' });
    await c.open('/queues/%2F/orders');
    await denied(c.button('queues.delete'), lacks('queue', 'configure', 'orders'));
    await denied(c.button('publish.do'), lacks('exchange', 'write', c.say('exchange.default')));
    await on(c.button('queues.purge'));
    assert.equal(await c.page.getByRole('link', { name: c.say('queues.set_policy'), exact: true }).count(), 0);
    await c.accessible();

    await c.open('/queues');
    await denied(c.button('queues.create'), any('configure'));
    await c.open('/exchanges');
    await denied(c.button('exchange.create'), any('configure'));
    await c.open('/exchanges/%2F/shop');
    await denied(c.button('queues.delete'), lacks('exchange', 'configure', 'shop'));
    await denied(c.button('bind.remove'), lacks('queue', 'write', 'orders'));

    await c.page.keyboard.press('Control+k');
    await c.dialog.getByRole('combobox').fill(c.say('vhosts.create'));
    const forbidden = c.dialog.getByRole('option', { disabled: true }).filter({ hasText: c.say('vhosts.create') });
    await forbidden.filter({ hasText: 'administrator' }).waitFor();
    await c.page.keyboard.press('Enter');
    assert.equal(await c.dialog.getByRole('combobox').count(), 1, 'what is refused is begun all the same');
    await c.page.keyboard.press('Escape');
    await c.dialog.waitFor({ state: 'detached' });

    await c.open('/queues/%2F/orders.dead?tab=messages');
    await denied(c.button('redrive.all'), any('write'));
    const { messages } = await c.broker.get('queues/%2F/orders.dead');
    await denied(c.button('redrive.discard_all', { n: messages }), lacks('queue', 'configure', 'orders.dead'));

    await c.open('/letters?view=list');
    await denied(c.button('redrive.all'), any('write'));
    await denied(c.button('redrive.discard_matching'), any('configure'));
    await denied(c.button('import.open'), any('write'));
    await c.page.keyboard.press('r');
    const said = c.page.locator('.toast');
    await said.getByText(any('write'), { exact: true }).waitFor(); // there is one of them
    await c.page.keyboard.press('Delete');
    await said.getByText(any('configure'), { exact: true }).waitFor();
    assert.equal(await c.dialog.count(), 0, 'the key does what the button does not');
    await c.accessible();
    await c.open(`/letters/%2F/queue/orders.dead/${names.message.id}`);
    await denied(c.button('redrive.one'), any('write'));
    await denied(c.button('resend.one'), any('write'));
    await denied(c.button('redrive.discard'), lacks('queue', 'configure', 'orders.dead'));
    await c.page.keyboard.press('e');
    await said.getByText(any('write'), { exact: true }).waitFor();
    await c.open('/lost?filter=reason:rejected');
    await c.open('/schedule');
    await denied(c.button('schedule.cancel').first(), lacks('exchange', 'write', 'later'));
    await c.open('/vhosts/%2F?tab=limits');
    await c.page.getByText(c.say('lacks.read_only', { why: c.say('lacks.tag', { tag: 'policymaker' }) })).waitFor();
  });

  world.test(`what a user may not create is greyed, with the reason (${language})`, options, async (c) => {
    const tag = (name) => c.say('lacks.tag', { tag: name });
    await c.open('/policies');
    await denied(c.button('policies.create').first(), tag('policymaker'));
    await c.accessible();
    await c.open('/vhosts');
    await denied(c.button('vhosts.create'), tag('administrator'));
    await c.accessible();
    await c.open('/queues/new?name=mine');
    const lacks = c.say('lacks.queue', { right: c.say('right.configure'), name: 'mine' });
    await denied(c.button('create.do'), lacks);
    await c.page.locator('.reason').getByText(lacks, { exact: true }).waitFor();
    await c.accessible();
  });
}

world.test(
  'samples for clients have the real port, for users without the tag monitoring too',
  { user: 'reader:p' },
  async (c) => {
    const { port } = new URL(c.broker.amqp);
    await c.open('/connections');
    await c.page.locator('code, pre').getByText(`:${port}/`).first().waitFor();
    assert.equal(await c.page.getByText(':5672/').count(), 0);
  },
);

world.test(
  'who may write is offered what that allows, and told what a refusal is about',
  { user: 'writer:p' },
  async (c) => {
    await c.open(`/letters/%2F/queue/orders.dead/${names.message.id}`);
    const says = c.say('lacks.queue', { right: c.say('right.configure'), name: 'orders.dead' });
    await denied(c.button('redrive.discard'), says);
    await on(c.button('redrive.one'));
    await c.open('/queues/%2F/orders');
    await on(c.button('queues.delete'));
    // Rights that are taken away are missed with the first refusal.
    await c.broker.put('permissions/%2F/writer', { configure: '^$', write: '.*', read: '.*' });
    c.expect(/401/);
    await c.button('queues.delete').click();
    await c.button('queues.delete', {}, c.dialog).click();
    const about = c.say('lacks.queue', { right: c.say('right.configure'), name: 'orders' });
    await c.page.locator('.toast').getByText(about).waitFor();
    await denied(c.button('queues.delete'), about);
  },
);

world.test('the list of jobs says how many virtual hosts it does not show', { user: '' }, async (c) => {
  await c.broker.put('users/watcher', { password: 'p', tags: 'monitoring' });
  await c.broker.put('permissions/%2F/watcher', { configure: '^$', write: '^$', read: '.*' });
  await c.broker.put('vhosts/closed', {});
  c.expect(/401/);
  await c.logIn('watcher', 'p');
  await c.open('/jobs');
  await c.page.getByText(c.say('jobs.hidden', { n: 1 })).waitFor();
  await c.open('/jobs?vhost=/');
  await c.page.getByText(c.say('jobs.total', { n: 0 })).waitFor();
  assert.equal(await c.page.getByText(c.say('jobs.hidden', { n: 1 })).count(), 0);
});

world.test('the keyboard reads what badges and icons mean', async (c) => {
  await c.open('/queues');
  await c.settled();
  const tip = c.page.locator('.tip');
  const row = c.page.getByRole('row').filter({ has: c.page.getByRole('link', { name: 'orders', exact: true }) });
  await row.getByRole('link', { name: 'orders', exact: true }).focus();
  await c.page.keyboard.press('Tab');
  await tip.getByText('TTL: ').waitFor();
  const text = (await tip.innerText()).replaceAll('\u00a0', ' ');
  for (const words of [
    c.say('setting.durable'),
    '1 h',
    c.say('exchange.default'),
    c.say('setting.dead-letter-routing-key'),
  ])
    assert.ok(text.includes(words), `${words} in ${text}`);
  await c.page.keyboard.press('Escape');
  assert.equal(await tip.isVisible(), false);
  const theme = c.page.getByRole('button', { name: c.say('frame.theme', { name: c.say('theme.auto') }) });
  await c.field('frame.vhost').focus();
  await until('the button of the theme to be reached', async () => {
    await c.page.keyboard.press('Tab');
    return theme.evaluate((b) => b === document.activeElement);
  });
  await tip.getByText(c.say('frame.theme', { name: c.say('theme.auto') })).waitFor();
  await c.accessible();
});

for (const language of ['en', 'zh-CN']) {
  const host = `brought-${language}`;
  const says = `an administrator without permissions in an imported virtual host is offered them (${language})`;
  world.test(says, { language }, async (c) => {
    const definitions = JSON.stringify({
      vhosts: [{ name: host }],
      queues: [{ name: 'orders', vhost: host, durable: true, arguments: {} }],
    });
    const missing = c.text('vhosts.not_you', { user: 'guest', vhost: host });
    const give = c.button('frame.grant_self', { user: 'guest' });
    const given = async () => (await c.broker.get(`vhosts/${host}/permissions`)).some((p) => p.user === 'guest');
    const revoke = () => c.broker.api('DELETE', `permissions/${host}/guest`);
    await c.open('/definitions');
    await c
      .field('definitions.file')
      .setInputFiles({ name: 'd.json', mimeType: 'application/json', buffer: Buffer.from(definitions) });
    await c.button('definitions.do').click();
    await missing.waitFor();
    assert.equal(await given(), false);
    await c.accessible();
    await give.click();
    await missing.waitFor({ state: 'detached' });
    assert.equal(await given(), true);

    await revoke();
    await c.open(`/vhosts/${host}`);
    await missing.waitFor();
    await give.click();
    await missing.waitFor({ state: 'detached' });
    assert.equal(await given(), true);

    for (const path of [`/queues/${host}/orders`, `/exchanges/${host}/amq.direct`]) {
      await revoke();
      await c.open(path);
      await missing.waitFor();
      await c.accessible();
      await give.click();
      await missing.waitFor({ state: 'detached' });
      await on(c.button('publish.do'));
    }

    await revoke();
    c.expect(/401/);
    await c.open(`/queues/${host}/orders?tab=messages`);
    await c.heading('frame.no_right').waitFor();
    await give.click();
    await c.heading('frame.no_right').waitFor({ state: 'detached' });
    assert.equal(await given(), true);
  });
}
