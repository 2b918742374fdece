// What those who have no pointer meet on their way: where dialogs begin, what is said to them, and what stays.
import assert from 'node:assert/strict';
import { World, phone } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const world = World.of('pointerless', async (broker) => {
  const channel = await broker.channel();
  for (const [name, n] of Object.entries({ orders: 2, many: 9 })) {
    const dead = `${name}.dead`;
    await queues(channel, { [name]: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': dead }, [dead]: {} });
    const bodies = Array.from({ length: n }, (_, i) => ({ body: { i } }));
    await publish(channel, '', name, bodies);
    await reject(channel, name, n);
    await broker.depth(dead, n);
  }
});

const isFocused = (field) => field.evaluate((e) => e === document.activeElement);

world.test('a dialog without fields begins with its text, and Ctrl Enter presses its last button', async (c) => {
  await c.open('/letters?view=list&filter=' + encodeURIComponent('queue:orders.dead'));
  await c.page.locator('tr[data-index="0"]').focus();
  await c.page.keyboard.press('r'); // nothing is selected: it is about this row
  await c.dialog.getByRole('heading', { name: c.say('redrive.title', { n: 1 }) }).waitFor();
  await c.page.keyboard.press('Escape');
  await c.dialog.waitFor({ state: 'detached' });
  await c.page.keyboard.press('Space');
  await c.text('table.selected', { n: 1 }).waitFor();
  await c.page.keyboard.press('Delete');
  const body = c.dialog.locator('.dialog-body');
  await until('the text to have the focus', () => isFocused(body));
  await until('the discard to be possible', () => c.dialog.locator('footer .danger').isEnabled());
  await c.page.keyboard.press('Enter');
  await c.accessible();
  await c.page.keyboard.press('Control+Enter');
  await c.dialog
    .getByRole('status')
    .filter({ hasText: c.say('job.done') })
    .last()
    .waitFor({ state: 'attached' });
});

world.test('the slash goes to the search field of the topology', async (c) => {
  await c.open('/topology');
  await c.settled();
  await c.page.keyboard.press('/');
  await until('the field to have the focus', () => isFocused(c.field('topology.focus')));
});

world.test('a list of policies stays that of all virtual hosts after one was saved', async (c) => {
  await c.broker.put('vhosts/shop', {});
  await c.broker.put('policies/shop/there', { pattern: 'x', definition: { 'max-length': 9 }, 'apply-to': 'queues' });
  await c.broker.put('policies/%2F/mine', { pattern: 'x', definition: { 'max-length': 9 }, 'apply-to': 'queues' });
  await c.open('/policies');
  const link = (name) => c.page.getByRole('link', { name, exact: true });
  await link('mine').click();
  await c.button('policies.save').click();
  await link('there').waitFor();
  await link('mine').waitFor();
  await c.broker.api('DELETE', 'policies/%2F/mine');
  await c.broker.api('DELETE', 'vhosts/shop');
});

world.test('JSON is called wrong when the typing pauses, not at each key', async (c) => {
  await c.open('/policies/edit?vhost=%2F');
  const field = c.field('policies.json');
  const alerts = c.page.locator('main').getByRole('alert');
  await field.fill('{');
  await alerts.waitFor();
  await field.fill('{}');
  await alerts.waitFor({ state: 'detached' });
  await field.press('ControlOrMeta+a');
  await c.page.keyboard.type('{"a":[1,2', { delay: 30 });
  assert.equal(await alerts.count(), 0);
  await alerts.waitFor();
  await c.field('policies.pattern').fill('＾订单＄');
  const wide = alerts.filter({ hasText: c.say('policies.wide', { wide: '＾ ＄', narrow: '^订单$' }) });
  await wide.waitFor();
  await c.page
    .getByRole('group', { name: c.say('policies.templates') })
    .getByRole('button')
    .first()
    .waitFor();
  await c.accessible();
});

world.test('with a dialog open and the focus on nothing, single keys do nothing to the page behind it', async (c) => {
  const theme = () => c.page.evaluate(() => document.documentElement.dataset.theme);
  await c.open('/exchanges');
  await c.button('exchange.create').first().click();
  await c.field('queues.name', {}, c.dialog).waitFor();
  await c.page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).blur());
  const before = await theme();
  await c.page.keyboard.press('t');
  await c.page.keyboard.press('?');
  assert.equal(await theme(), before);
  assert.equal(await c.dialog.count(), 1);
  await c.page.keyboard.press('Escape');
  await c.dialog.waitFor({ state: 'detached' });
  await c.page.keyboard.press('t');
  assert.notEqual(await theme(), before);
});

world.test('what a filter has found is announced', async (c) => {
  for (const view of ['list', 'groups']) {
    await c.open(`/letters?view=${view}`);
    await c.settled();
    await c.page.keyboard.press('/');
    await c.page.keyboard.type('queue:orders.dead');
    await c.page.keyboard.press('Escape');
    await c.page.getByRole('combobox', { name: c.say('filter.label'), exact: true }).focus();
    await c.page.keyboard.press('Escape');
    await c.button('filter.apply').click();
    await c.page
      .locator('#announced')
      .filter({ hasText: /^[12] / })
      .waitFor({ state: 'attached' });
  }
  await c.page
    .locator('nav#nav')
    .getByRole('link', { name: c.say('queues.title'), exact: true })
    .click();
  await c.page.locator('#announced').filter({ hasText: /^$/ }).waitFor({ state: 'attached', timeout: 3000 }); // sooner than after a while
});

world.test('what has the focus stays in sight in a narrow window', { viewport: phone }, async (c) => {
  const inSight = () =>
    c.page.evaluate(() => {
      const at = document.activeElement.getBoundingClientRect();
      const body = document.activeElement.closest('.dialog-body').getBoundingClientRect();
      return at.bottom > body.top && at.top < body.bottom;
    });
  await c.open('/queues/%2F/orders.dead');
  await c.button('publish.do').first().click();
  await c.field('publish.key', {}, c.dialog).waitFor();
  await c.dialog.locator('.dialog-body').evaluate((body) => {
    const fields = [...body.querySelectorAll('input')];
    const { bottom } = body.getBoundingClientRect();
    fields.findLast((x) => x.getBoundingClientRect().bottom <= bottom).focus({ preventScroll: true });
  });
  await c.page.keyboard.press('Control+Enter');
  await c.text('publish.routed', {}, c.dialog.getByRole('status')).waitFor();
  await until('the field to be in sight', inSight);
  await c.page.keyboard.press('Escape');
  await c.dialog.waitFor({ state: 'detached' });
  await c.open('/letters?view=list');
  await c.page.locator('tr[data-index]').first().waitFor();
  await c.page.keyboard.press('r');
  await c.dialog.getByRole('radio').first().waitFor();
  await c.page.keyboard.press('Control+Enter');
  await c.dialog
    .locator('[aria-live=polite] table, [aria-live=polite] .cards, [aria-live=polite] dl')
    .first()
    .waitFor();
  await until('what has the focus to be in sight', inSight);
});

world.test('a filter is not shown where it does not count', async (c) => {
  await c.open('/letters?view=queues&filter=' + encodeURIComponent('queue:orders.dead'));
  await c.page.getByRole('link', { name: 'many.dead', exact: true }).waitFor();
  assert.equal(await c.page.locator('.filter-box').count(), 0);
});

world.test('what was typed stays while the broker is restarted', async (c) => {
  c.expect(/ERR_|40[13]|50[0-9]/);
  const restart = async () => {
    await c.settled();
    await c.broker.halt();
    await c.page.locator('.top .live.gone').waitFor({ state: 'attached' });
    await c.broker.run();
    await c.page.locator('.top .live.on').waitFor({ state: 'attached', timeout: 30_000 });
    await c.settled();
  };
  await c.open('/queues/%2F/orders');
  await c.button('publish.do').first().click();
  await c.field('publish.payload', {}, c.dialog).fill('{"typed": 1}');
  await restart();
  assert.equal(await c.field('publish.payload', {}, c.dialog).inputValue(), '{"typed": 1}');
  await c.button('publish.do', {}, c.dialog).click();
  await c.text('publish.routed', {}, c.dialog.getByRole('status')).waitFor();

  await c.open('/policies/edit?vhost=%2F');
  await c.field('queues.name').fill('typed');
  await c.field('policies.pattern').fill('^typed');
  await restart();
  assert.equal(await c.field('queues.name').inputValue(), 'typed');
  assert.equal(await c.field('policies.pattern').inputValue(), '^typed');
});

world.test('the preview of a policy names the text that is no value, not what it would lack', async (c) => {
  c.expect(/400/);
  await c.open('/policies/edit?vhost=%2F&preset=retry&pattern=x');
  const preview = c.page.locator('section.card').filter({ has: c.heading('trial.title') });
  await preview.getByRole('status').waitFor();
  await c.page.locator('input[placeholder="1h30m"]').first().fill('a while');
  const wrong = c.say('duration.wrong', { text: 'a while', a: '90s', b: '15m', c: '1h30m' });
  await preview.getByText(wrong).waitFor();
  assert.equal((await preview.getByRole('status').innerText()).trim(), wrong);
});
