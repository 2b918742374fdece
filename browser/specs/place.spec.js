// Where the keyboard goes on: after coming back to a list, after leaving a filter, beside a dialog; and what is called how.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const n = 130;
const world = World.of('place', async (broker) => {
  const channel = await broker.channel();
  await queues(channel, {
    orders: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'orders.dead' },
    'orders.dead': {},
    ...Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`row-${i + 10}`, {}])),
  });
  const orders = Array.from({ length: n }, (_, i) => ({ body: { i }, messageId: `order-${i}`, type: `kind-${i % 2}` }));
  await publish(channel, '', 'orders', orders);
  await reject(channel, 'orders', n);
  await broker.depth('orders.dead', n);
  await until('the index', async () => (await broker.get('x/letters/%2F?limit=200')).items.length === n);
  await broker.put('users/reader', { password: 'p', tags: 'management' });
  await broker.put('permissions/%2F/reader', { configure: '^$', write: '^$', read: '.*' });
});

const inRow = (c) => c.page.evaluate(() => Number(document.activeElement?.closest('tr')?.dataset.index ?? -1));
const focusOn = (c, index) => until(`row ${index} to have the focus`, async () => (await inRow(c)) === index);
const rowsOf = (c) => c.page.locator('tr[data-index]');
const inSight = (c) =>
  c.page.evaluate(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });

world.test('who comes back to a list goes on at the row that was left', async (c) => {
  const onMessage = () => c.page.waitForURL(/letters\/%2F\/queue/);
  await c.open('/letters?view=list');
  await rowsOf(c).first().waitFor();
  await c.page.keyboard.press('j');
  await focusOn(c, 0);
  await c.page.keyboard.press('End');
  await focusOn(c, 99);
  await c.page.keyboard.press('ArrowDown'); // more are read
  await focusOn(c, 100);
  await c.page.keyboard.press('x');
  for (const way of ['back', 'escape', 'crumb']) {
    await c.page.keyboard.press('Enter');
    await onMessage();
    await c.settled();
    if (way === 'back') await c.page.goBack();
    if (way === 'escape') await c.page.keyboard.press('Escape');
    if (way === 'crumb') await c.page.locator('.crumbs a').first().press('Enter');
    await c.page.waitForURL(/view=list/);
    await focusOn(c, 100);
    assert.ok(await inSight(c), `after ${way} the row is out of sight`);
    await c.text('table.selected', { n: 1 }).waitFor();
  }

  await c.open('/queues');
  const queue = rowsOf(c).filter({ hasText: 'row-30' });
  await queue.waitFor();
  const index = Number(await queue.getAttribute('data-index'));
  await queue.focus();
  await c.page.keyboard.press('Enter');
  await c.page.waitForURL(/row-30/);
  const tab = c.page.getByRole('navigation', { name: c.say('queue.tabs') }).getByRole('link');
  await tab.nth(1).press('Enter');
  await c.page.waitForURL(/tab=messages/);
  await c.page.locator('.crumbs a').first().press('Enter');
  await focusOn(c, index);

  await c.page.keyboard.press('g');
  await c.page.keyboard.press('q'); // another visit, not a return
  await c.settled();
  assert.equal(await c.page.evaluate(() => document.activeElement.id), 'main');
});

world.test('the next row has the focus if the one that was left is gone', async (c) => {
  await c.open('/queues/%2F/orders.dead?tab=messages');
  await rowsOf(c).nth(2).focus();
  await c.page.keyboard.press('Enter');
  await c.page.waitForURL(/letters\/%2F\/queue/);
  await c.settled();
  await c.page.keyboard.press('Delete');
  await c.dialog.locator('footer .danger').waitFor();
  await until('the discard to be possible', () => c.dialog.locator('footer .danger').isEnabled());
  await c.dialog.locator('footer .danger').click();
  await c.button('redrive.close', {}, c.dialog.locator('footer')).click();
  await c.page.waitForURL(/tab=messages/);
  await focusOn(c, 2);
});

world.test('the neighbours of a message are those of the list that led to it', async (c) => {
  await c.open('/letters?view=list&order=oldest&filter=' + encodeURIComponent('type:kind-1'));
  const ids = rowsOf(c).locator('td[data-label]');
  await ids.first().waitFor();
  await rowsOf(c).nth(1).focus();
  await c.page.keyboard.press('Enter');
  const title = (i) => c.page.getByRole('heading', { level: 1, name: c.say('viewer.title', { id: `order-${i}` }) });
  await title(3).waitFor();
  await c.page.keyboard.press(']');
  await title(5).waitFor();
  await c.page.keyboard.press(']');
  await title(7).waitFor();
  await c.page.keyboard.press('[');
  await title(5).waitFor();
  await c.page.reload(); // the list is not there any more, its filter is
  await title(5).waitFor();
  await c.settled();
  await c.page.keyboard.press(']');
  await title(7).waitFor();
  await c.page.keyboard.press('Escape');
  await c.page.waitForURL(/filter=type/);

  await c.open('/letters?view=list&order=oldest&filter=' + encodeURIComponent('type:kind-1'));
  await rowsOf(c).first().focus();
  await c.page.keyboard.press('Enter');
  await title(1).waitFor();
  await c.page.keyboard.press('[');
  await c.page
    .getByRole('status')
    .filter({ hasText: c.say('viewer.is_first') })
    .waitFor({ state: 'attached' });
  await c.page.keyboard.press(']');
  await title(3).waitFor();
  await c.page.keyboard.press('Escape');
  await focusOn(c, 1);
});

world.test('who leaves a filter goes on in the list', async (c) => {
  await c.open('/queues');
  await rowsOf(c).first().waitFor();
  const field = c.page.locator('.table-tools input[type=search]');
  await c.page.keyboard.press('/');
  await c.page.keyboard.type('row-2');
  await c.page.waitForURL(/name=row-2/);
  await until('ten rows', async () => (await rowsOf(c).count()) === 10);
  await c.page.keyboard.press('Escape');
  await focusOn(c, 0);
  assert.equal(await field.inputValue(), 'row-2');
  const leave = async () => {
    for (const key of ['/', 'Escape', 'Escape']) await c.page.keyboard.press(key); // the first closes the suggestions
  };
  await c.open('/letters?view=list');
  await rowsOf(c).first().waitFor();
  await leave();
  await focusOn(c, 0);
  await c.open('/letters?view=list&filter=' + encodeURIComponent('id:none'));
  await c.heading('letters.none_found').waitFor();
  await leave();
  assert.equal(await c.page.evaluate(() => document.activeElement.id), 'main');
});

world.test('Back of the browser closes a dialog, and asks before it drops what was typed', async (c) => {
  const [letter] = (await c.broker.get('x/letters/%2F?limit=1')).items;
  const path = `/letters/%2F/queue/orders.dead/${letter.id}`;
  const asks = c.page.getByRole('dialog', { name: c.say('frame.close_draft_title'), exact: true });
  const edit = c.page.getByRole('dialog', { name: c.say('resend.title'), exact: true });
  await c.open('/queues');
  await c.page.evaluate((at) => {
    const a = document.createElement('a');
    a.href = at;
    document.body.append(a);
    a.click();
  }, path);
  await c.button('resend.one').waitFor();
  await c.settled();
  await c.page.keyboard.press('e');
  await edit.waitFor();
  await c.page.goBack();
  await edit.waitFor({ state: 'detached' });
  assert.ok(c.page.url().includes(path), 'the page was left');

  await c.page.keyboard.press('e');
  await c.field('viewer.body', {}, edit).fill('{"typed": 1}');
  await c.page.goBack();
  await asks.waitFor();
  await c.page.goBack(); // it closes the question alone
  await asks.waitFor({ state: 'detached' });
  assert.equal(await c.field('viewer.body', {}, edit).inputValue(), '{"typed": 1}');
  const leaves = c.page.getByRole('dialog', { name: c.say('frame.leave_draft_title'), exact: true });
  await c.page.keyboard.press('Control+k');
  await c.dialog.last().getByRole('combobox').fill(c.say('exchanges.title'));
  await c.dialog.last().getByRole('option').first().waitFor();
  await c.page.keyboard.press('Enter');
  await c.button('frame.keep_draft', {}, leaves).click();
  assert.equal(await c.field('viewer.body', {}, edit).inputValue(), '{"typed": 1}');
  await c.page.goBack();
  await c.button('frame.close_draft', {}, asks).click();
  await edit.waitFor({ state: 'detached' });
  assert.ok(c.page.url().includes(path));
  await c.page.goBack();
  await c.page.waitForURL(/\/queues/);
  await c.heading('queues.title').waitFor();
});

for (const language of ['en', 'zh-CN']) {
  world.test(`a button of a dialog that is off says why (${language})`, { language }, async (c) => {
    const off = async (button, says) => {
      await until(`it to say ${says}`, async () => (await button.getAttribute('title')) === says);
      assert.equal(await button.getAttribute('aria-disabled'), 'true');
      assert.equal(await button.isDisabled(), true);
      await button.focus();
      await c.page.keyboard.press('Enter');
      await c.page.getByRole('status').filter({ hasText: says }).first().waitFor({ state: 'attached' });
    };
    const first = (key) => c.say('form_words.fill_in', { what: c.say(key) });
    await c.open('/exchanges');
    await c.button('exchange.create').click();
    await off(c.button('create.do', {}, c.dialog), c.say('name.empty'));
    await c.field('queues.name', {}, c.dialog).fill('amq.mine');
    await c.page.keyboard.press('Enter'); // in the field
    await c.dialog
      .getByRole('status')
      .filter({ hasText: c.say('name.amq') })
      .waitFor({ state: 'attached' });
    await c.accessible();

    await c.open('/letters?view=list');
    await c.button('import.open').click();
    await off(c.button('import.begin', {}, c.dialog), first('import.file'));
    await c.open('/letters?view=list');
    await rowsOf(c).first().waitFor();
    await c.page.keyboard.press('r');
    await off(c.button('redrive.begin', {}, c.dialog), c.say('redrive.not_tried'));
    await c.accessible();

    const [letter] = (await c.broker.get('x/letters/%2F?limit=1')).items;
    await c.open(`/letters/%2F/queue/orders.dead/${letter.id}`);
    await c.button('resend.one').click();
    await c.field('viewer.headers', {}, c.dialog).fill('{x');
    await off(
      c.button('resend.review', {}, c.dialog),
      c.say('form_words.json_at', { what: c.say('viewer.headers'), line: 1, column: 2 }),
    );

    await c.open('/policies/edit?vhost=%2F&pattern=x');
    const save = c.button('policies.save');
    await off(save, first('queues.name'));
    await c.field('queues.name').fill('new');
    await off(save, first('policies.definition'));
  });
}

world.test(
  'the button that folds the navigation is in sight in a low window',
  { viewport: { width: 1280, height: 420 } },
  async (c) => {
    await c.open('/');
    await c.settled();
    const { y, height } = await c.button('frame.fold').boundingBox();
    assert.ok(y + height <= 420, `it ends at ${y + height}`);
    const links = c.page.locator('#nav a');
    for (const link of await links.all()) {
      await link.focus();
      const box = await link.boundingBox();
      assert.ok(box.y + box.height <= y, `${await link.innerText()} is under it`);
    }
  },
);

world.test('rows and the keys of the help have names', async (c) => {
  const named = (role, name) => c.page.getByRole(role, { name, exact: true }).waitFor();
  await c.open('/queues');
  await named('row', 'row-12');
  await c.open('/exchanges');
  await named('row', 'amq.topic');
  await c.open('/letters?view=list');
  const [letter] = (await c.broker.get('x/letters/%2F?limit=1')).items;
  await c.page.getByRole('row', { name: new RegExp(`^${letter.id}, `) }).waitFor();
  await c.open('/audit');
  await c.page
    .getByRole('row', { name: /reader/ })
    .first()
    .waitFor();
  await c.page.keyboard.press('?');
  await c.dialog.getByRole('group', { name: c.say('keys.help'), exact: true }).waitFor();
  await c.accessible();
});

for (const language of ['en', 'zh-CN']) {
  world.test(`keys say what is missing for them (${language})`, { language, user: 'reader:p' }, async (c) => {
    const lacks = c.say('lacks.tag', { tag: 'policymaker' });
    for (const key of ['r', 'Delete']) {
      await c.open('/lost');
      await c.settled();
      await c.page.keyboard.press(key);
      await c.page.locator('.toast').filter({ hasText: lacks }).waitFor();
      assert.equal(await c.dialog.count(), 0);
    }
  });
}

for (const language of ['en', 'zh-CN']) {
  world.test(
    `what is wrong with the JSON of a policy is said in words of the console (${language})`,
    { language },
    async (c) => {
      const what = c.say('policies.json');
      await c.open('/policies/edit?vhost=%2F&pattern=x');
      await c.field('policies.json').fill('{x');
      await c.page
        .getByRole('alert')
        .filter({ hasText: c.say('form_words.json_at', { what, line: 1, column: 2 }) })
        .waitFor();
      await c.field('policies.json').fill('[]');
      await c.page
        .getByRole('alert')
        .filter({ hasText: c.say('form_words.json_object', { what }) })
        .waitFor();
    },
  );
}
