// The way in.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { until } from '../lib/wait.js';

const world = World.of('login');

for (const language of ['en', 'zh-CN']) {
  world.test(`log in with a wrong password, then the right one (${language})`, { language, user: '' }, async (c) => {
    c.expect(/401/);
    await c.open('/');
    assert.equal(await c.page.locator('html').getAttribute('lang'), language);
    await c.field('login.name').fill('guest');
    await c.field('login.password').fill('wrong');
    await c.button('login.submit').click();
    await c.page
      .getByRole('alert')
      .filter({ hasText: c.say('login.wrong') })
      .waitFor();
    await c.accessible();
    await c.field('login.password').fill('guest');
    await c.page.keyboard.press('Enter');
    await c.page.getByRole('heading', { level: 1, name: c.say('overview.title') }).waitFor();
    await c.settled();
    assert.equal(await c.page.evaluate(() => document.activeElement.id), 'main');
    await c.accessible();
  });
}

for (const language of ['en', 'zh-CN']) {
  world.test(
    `who logs in at an address of another user is led to the overview (${language})`,
    { language, user: '' },
    async (c) => {
      c.expect(/40[14]/);
      const user = `erika-${language}`;
      await c.broker.put(`users/${user}`, { password: 'p', tags: 'management' });
      await c.broker.put(`permissions/%2F/${user}`, { configure: '.*', write: '.*', read: '.*' });
      await c.broker.put('vhosts/other', {});
      for (const path of ['/users', '/node', '/vhosts/other', '/queues/other/orders', '/queues?vhost=other']) {
        await c.open(path);
        await c.field('login.name').fill(user);
        await c.field('login.password').fill('p');
        await c.button('login.submit').click();
        await c.heading('overview.title').waitFor();
        await c.settled();
        assert.equal(new URL(c.page.url()).pathname, '/', path);
        await c.open('/users'); // a link says why
        await c.heading('frame.no_right').waitFor();
        assert.equal(new URL(c.page.url()).pathname, '/users');
        await c.page.locator(`summary[aria-label="${c.say('frame.user', { name: user })}"]`).click();
        await c.button('frame.log_out').click();
        await c.field('login.name').waitFor();
      }
      for (const path of ['/queues?vhost=%2F', '/vhosts/%2F', '/letters']) {
        await c.open(path);
        await c.field('login.name').fill(user);
        await c.field('login.password').fill('p');
        await c.page.keyboard.press('Enter');
        await c.page.locator('#nav').waitFor();
        await c.settled();
        assert.equal(new URL(c.page.url()).pathname, path.split('?')[0]);
        await c.context.clearCookies();
      }
    },
  );
}

world.test(
  'a broker without queues shows three steps; after them the dead letter is what it shows first',
  async (c) => {
    await c.open('/');
    await c.heading('first.title').waitFor();
    await c.settled();
    await c.accessible();
    await c.picture('first-steps.en', { fullPage: true });
    const steps = c.page.getByRole('region', { name: c.say('first.title'), exact: true }).getByRole('listitem');
    assert.equal(await steps.count(), 3);
    await steps
      .filter({ hasText: c.say('first.redrive') })
      .getByText(`bartleby ctl --node ${c.broker.http} dlq redrive orders.dlq --drop-expiration`, { exact: true })
      .waitFor();
    await c.broker.put('queues/%2F/orders.dlq', { durable: true });
    await c.broker.put('queues/%2F/orders', {
      durable: true,
      arguments: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'orders.dlq' },
    });
    await c.broker.post('exchanges/%2F/amq.default/publish', {
      routing_key: 'orders',
      payload: '{"order":4711}',
      payload_encoding: 'string',
      properties: { expiration: '1' },
    });
    await c.broker.depth('orders.dlq', 1);
    const panel = c.page.getByRole('region', { name: c.say('overview.dead'), exact: true });
    await panel.getByRole('link', { name: `1 ${c.say('overview.dead_now', { n: 1 })}` }).waitFor();
    assert.equal(await steps.count(), 3); // the third is still to be taken
    const taken = steps.filter({ hasText: c.say('first.taken') });
    await until('two steps to be ticked', async () => (await taken.count()) === 2);
    await c.broker.post('x/redrives/%2F', {
      source: { queue: 'orders.dlq' },
      filter: 'id:0',
      action: 'redrive',
      options: {},
    });
    await until('all steps to be ticked', async () => (await taken.count()) === 3);
    const fails = panel.getByRole('listitem').filter({ hasText: c.say('reason.expired') });
    await fails.getByRole('link', { name: c.say('reason.expired'), exact: true }).click();
    await c.text('table.rows', { n: 1 }).waitFor();
    await c.open('/');
    await c.settled();
    assert.equal(await steps.count(), 0, 'the steps are shown though all are taken');
    for (const name of ['orders', 'orders.dlq']) await c.broker.api('DELETE', `queues/%2F/${name}`);
    await c.open('/');
    await until('the steps to begin again', async () => (await steps.count()) === 3 && (await taken.count()) === 0);
    await c.button('first.dismiss').click();
    await steps.first().waitFor({ state: 'detached' });
  },
);

world.test('who loses the session by an import of definitions, or by the end of the user, is told why', async (c) => {
  c.expect(/401/);
  const user = { name: 'chief', tags: 'administrator' };
  await c.broker.put('users/chief', { password: 'old', tags: user.tags });
  await c.logIn('chief', 'old');
  await c.open('/definitions');
  const buffer = Buffer.from(JSON.stringify({ users: [{ ...user, password: 'new' }] }));
  await c.field('definitions.file').setInputFiles({ name: 'own.json', mimeType: 'application/json', buffer });
  await c.text('definitions.own_password', { name: 'chief' }).waitFor();
  await c.button('definitions.do').click();
  await c.text('login.ended_password_changed').waitFor();
  await c.accessible();
  await c.field('login.name').fill('chief');
  await c.field('login.password').fill('new');
  await c.page.keyboard.press('Enter');
  await c.heading('definitions.title').waitFor();
  await c.broker.api('DELETE', 'users/chief');
  await c.text('login.ended_user_deleted').waitFor();
});
