// What the keyboard and those who hear the page need: where the focus goes, and what is said beside what was done.
import assert from 'node:assert/strict';
import { World, phone } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const world = World.of('keyboard', async (broker) => {
  const channel = await broker.channel();
  await queues(channel, {
    orders: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'orders.dead' },
    'orders.dead': {},
  });
  await channel.assertExchange('later', 'x-delayed-message', { arguments: { 'x-delayed-type': 'fanout' } });
  const wait = { headers: { 'x-delay': 3_600_000 } };
  await publish(channel, 'later', '', [
    { body: { n: 1 }, ...wait },
    { body: { n: 2 }, ...wait },
  ]);
  await publish(channel, '', 'orders', [{ body: { n: 1 } }, { body: { n: 2 } }]);
  await reject(channel, 'orders', 2);
  await broker.depth('orders.dead', 2);
  await queues(channel, {
    many: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'many.dead' },
    'many.dead': {},
  });
  const bodies = Array.from({ length: 130 }, (_, n) => ({ body: { n } }));
  await publish(channel, '', 'many', bodies);
  await reject(channel, 'many', bodies.length);
  await broker.depth('many.dead', bodies.length);
});

for (const language of ['en', 'zh-CN']) {
  world.test(`whether a message was published is said beside the button (${language})`, { language }, async (c) => {
    await c.open('/queues/%2F/orders');
    await c.button('publish.do').click();
    await c.button('publish.do', {}, c.dialog).click();
    const said = c.text('publish.routed', {}, c.dialog.getByRole('status'));
    await said.waitFor();
    const { y, height } = await said.boundingBox();
    assert.ok(y + height <= c.page.viewportSize().height, `it ends at ${y + height}`);
    const button = await c.button('publish.do', {}, c.dialog).boundingBox();
    assert.ok(Math.abs(y + height / 2 - button.y - button.height / 2) < button.height, 'it is beside the button');
    await c.accessible();
    await c.field('publish.key', {}, c.dialog).fill('nowhere');
    await said.waitFor({ state: 'detached' });

    const refused = async (key, params = {}) => {
      await c.button('publish.do', {}, c.dialog).click();
      await c.text(key, params, c.dialog.getByRole('status')).waitFor();
    };
    await c.field('publish.headers', {}, c.dialog).fill('{x');
    await refused('form_words.json_at', { what: c.say('publish.headers'), line: 1, column: 2 });
    await c.field('publish.headers', {}, c.dialog).fill('');
    await c.field('publish.encoding', {}, c.dialog).selectOption('base64');
    await c.field('publish.payload', {}, c.dialog).fill('中文');
    await refused('publish.bad_base64');
    await c.field('publish.payload', {}, c.dialog).fill('');
    await c.field('publish.deliver_after', {}, c.dialog).fill('5000d');
    await c.button('publish.do', {}, c.dialog).click();
    await c.dialog
      .getByRole('alert')
      .filter({ hasText: /3,?650/ })
      .waitFor();
  });
}

for (const language of ['en', 'zh-CN']) {
  const user = `nobody-${language}`;
  world.test(`who has no virtual host is told so on every page (${language})`, { language, user: '' }, async (c) => {
    c.expect(/40[14]/);
    await c.broker.put(`users/${user}`, { password: 'p', tags: 'management' });
    await c.logIn(user, 'p');
    for (const path of ['/', '/queues', '/letters', '/vhosts', '/queues/%2F/orders']) {
      await c.open(path);
      await c.heading('frame.no_vhost').waitFor();
      await c.text('frame.no_vhost_text').waitFor();
      await c.page
        .getByText(`bartleby ctl --node ${c.broker.http} set_permissions ${user} '.*' '.*' '.*'`, { exact: true })
        .waitFor();
      assert.equal(await c.page.getByRole('heading', { level: 2 }).count(), 5, path); // it, and those of the navigation
    }
    await c.accessible();
    await c.open('/features');
    await c.page.getByRole('table').first().waitFor();
    await c.broker.put(`permissions/%2F/${user}`, { configure: '.*', write: '.*', read: '.*' });
    await c.open('/queues');
    await c.page.getByRole('link', { name: 'orders', exact: true }).waitFor();
  });

  world.test(`a wrong filter shows nothing, and nothing is done to it (${language})`, { language }, async (c) => {
    c.expect(/400/);
    for (const [path, buttons] of [
      ['/queues/%2F/orders.dead?tab=messages', ['redrive.found', 'redrive.discard_matching']],
      ['/letters?view=groups', ['redrive.found']],
      ['/letters?view=list', []],
    ]) {
      await c.open(path);
      const rows = c.page.locator('tr[data-index]');
      await rows.first().waitFor();
      await c.page.getByRole('combobox', { name: c.say('filter.label'), exact: true }).fill('tenant:acme');
      await c.page.keyboard.press('Enter');
      await c.page.getByRole('alert').filter({ hasText: 'tenant:acme' }).waitFor();
      await until('the rows to go', async () => (await rows.count()) === 0);
      assert.equal(await c.text('table.none').count(), 0, 'nothing was looked for');
      assert.equal(await c.text('table.rows', { n: 0 }).count(), 0, 'nothing was counted');
      for (const name of buttons) {
        assert.equal(await c.button(name).getAttribute('aria-disabled'), 'true', `${name} at ${path}`);
        assert.equal(await c.button(name).getAttribute('title'), c.say('filter.invalid'));
      }
      await c.accessible();
      await c.page.keyboard.press('Escape');
      await c.page.keyboard.press('r');
      assert.equal(await c.dialog.count(), 0, 'the key does what the button does not');
    }
  });
}

for (const language of ['en', 'zh-CN']) {
  world.test(`nothing is granted before it is chosen (${language})`, { language }, async (c) => {
    await c.broker.put('users/fresh', { password: 'p', tags: '' });
    await c.open('/users/fresh');
    await c.button('users.grant').first().click(); // the second is for topics
    const values = () =>
      Promise.all(['configure', 'write', 'read'].map((right) => c.field(`right.${right}`, {}, c.dialog).inputValue()));
    assert.deepEqual(await values(), ['', '', '']);
    await c.text('users.read_hint', {}, c.dialog).waitFor();
    await c.accessible();
    await c.button('usual.monitor', {}, c.dialog).click();
    assert.deepEqual(await values(), ['^$', '^$', '.*']);
    await c.button('usual.full', {}, c.dialog).click();
    assert.deepEqual(await values(), ['.*', '.*', '.*']);
    await c.broker.put('permissions/%2F/fresh', { configure: '', write: '', read: '.*' });
    await c.open('/users/fresh');
    await c.page
      .getByRole('row')
      .getByRole('button', { name: c.say('users.change') })
      .first()
      .click();
    const first = c.button('usual.full', {}, c.dialog);
    await until('the first preset to have the focus', () => first.evaluate((el) => el === document.activeElement));
  });
}

world.test('what the broker refuses is said in the dialog, and the field is marked', async (c) => {
  c.expect(/40[04]/);
  const refusal = c.dialog.getByRole('alert');
  const marked = c.dialog.locator('[aria-invalid="true"]');
  const focused = (field) => field.evaluate((e) => e === document.activeElement);
  await c.open('/exchanges/%2F/amq.fanout');
  await c.button('bind.title').first().click();
  const to = c.field('bind.to', {}, c.dialog);
  await to.fill('missing');
  await c.button('bind.do', {}, c.dialog).click();
  await refusal.filter({ hasText: 'missing' }).waitFor();
  await until('a field to be marked', async () => (await marked.count()) === 1);
  assert.equal(await to.getAttribute('aria-invalid'), 'true');
  await until('it to have the focus', () => focused(to));
  const about = await to.getAttribute('aria-describedby');
  assert.equal(await refusal.getAttribute('id'), about.split(' ').at(-1));
  await c.accessible();
  await to.fill('orders');
  await refusal.waitFor({ state: 'detached' });
  await marked.waitFor({ state: 'detached' });
  await c.page.keyboard.press('Control+Enter');
  await c.dialog.waitFor({ state: 'detached' });
  assert.equal(await c.page.locator('.toast.bad').count(), 0);

  await c.open('/exchanges');
  await c.button('exchange.create').click();
  await c.field('queues.name', {}, c.dialog).fill('later');
  await c.page.keyboard.press('Enter');
  await refusal.filter({ hasText: 'inequivalent' }).waitFor();
  const name = c.field('queues.name', {}, c.dialog);
  await until('the name to be marked', async () => (await name.getAttribute('aria-invalid')) === 'true');
  await c.page.keyboard.press('Escape');
  await c.button('frame.close_draft', {}, c.dialog).click();
  await c.dialog.waitFor({ state: 'detached' });

  await c.open('/queues/%2F/orders');
  await c.button('publish.do').click();
  await c.field('publish.properties', {}, c.dialog).fill('{"priority":"high"}');
  await c.button('publish.do', {}, c.dialog).click();
  await refusal.waitFor();
});

for (const language of ['en', 'zh-CN']) {
  world.test(`what was typed into a dialog is not lost unasked (${language})`, { language }, async (c) => {
    const asked = c.page.getByRole('dialog', { name: c.say('frame.close_draft_title'), exact: true });
    const gone = () => c.dialog.waitFor({ state: 'detached' });
    const resend = async () => {
      await c.button('resend.one').click();
      await c.dialog.locator(':focus').waitFor(); // else Escape leaves the page
      return c.field('viewer.body', {}, c.dialog);
    };
    await c.open('/letters?view=list&filter=queue:orders.dead');
    await c.page.locator('tr[data-index="0"]').focus();
    await c.page.keyboard.press('Enter');
    await resend();
    await c.page.keyboard.press('Escape'); // nothing was typed
    await gone();
    const body = await resend();
    await body.press('End');
    await c.page.keyboard.type('x');
    const typed = await body.inputValue();
    await c.page.keyboard.press('Backspace'); // as it was
    await c.page.keyboard.press('Escape');
    await gone();
    await resend();
    await body.press('End');
    await c.page.keyboard.type('x');
    await c.page.keyboard.press('Escape');
    await asked.waitFor();
    await c.accessible();
    assert.ok(await c.button('frame.keep_draft', {}, asked).evaluate((e) => e === document.activeElement));
    await c.page.keyboard.press('Escape');
    await asked.waitFor({ state: 'detached' });
    assert.equal(await body.inputValue(), typed);
    await until('the body to have the focus', () => body.evaluate((e) => e === document.activeElement));
    await c.page.keyboard.press('Escape'); // without a key between: chromium closes the dialog then by itself
    await asked.waitFor();
    await c.page.keyboard.press('Enter');
    await asked.waitFor({ state: 'detached' });
    assert.equal(await body.inputValue(), typed);
    await c.button('frame.cancel', {}, c.dialog).click();
    await c.button('frame.close_draft', {}, asked).click();
    await gone();

    await c.open('/letters?view=groups&by=source');
    await c.page.locator('button.note').first().click();
    await c.field('letters.note', {}, c.dialog).fill(`known ${language}`);
    await c.page.keyboard.press('Escape');
    await asked.waitFor();
    await c.page.keyboard.press('Tab');
    await c.page.keyboard.press('Enter');
    await gone();
    await c.page.locator('button.note').first().click();
    await c.field('letters.note', {}, c.dialog).fill(`known ${language}`);
    await c.button('letters.keep_note', {}, c.dialog).click();
    await gone();
    assert.equal(await asked.count(), 0);
  });
}

world.test('an error of a page is said until it is left, or Escape is pressed', async (c) => {
  c.expect(/404/);
  const bad = c.page.locator('.toast.bad');
  const fail = async () => {
    await c.broker.post('bindings/%2F/e/amq.fanout/q/orders', { routing_key: 'gone' });
    await c.open('/exchanges/%2F/amq.fanout');
    await c.settled();
    await c.page.keyboard.press('p'); // the page goes on to show what is gone
    await c.broker.api('DELETE', 'bindings/%2F/e/amq.fanout/q/orders/gone');
    await c.page.getByRole('row', { name: 'gone' }).getByRole('button').last().click();
    await c.button('bind.remove', {}, c.dialog).click();
    await bad.waitFor();
  };
  await fail();
  await c.page.keyboard.press('Escape');
  await bad.waitFor({ state: 'detached' });
  await fail();
  await c.button('publish.do').click();
  const said = await c.dialog.locator('.toast.bad').boundingBox();
  const buttons = await c.dialog.locator('footer').boundingBox();
  assert.ok(said.y + said.height <= buttons.y, 'what is said covers the buttons of the dialog');
  await c.button('frame.close', {}, c.dialog.locator('footer')).click();
  await c.page
    .getByRole('link', { name: c.say('queues.title'), exact: true })
    .first()
    .click();
  await c.heading('queues.title').waitFor();
  await bad.waitFor({ state: 'detached' });
});

world.test('what has the focus is not under the header', async (c) => {
  await c.open('/');
  await c.settled();
  await c.page.keyboard.press('Tab');
  await c.page.keyboard.press('Enter'); // skip to the content
  const header = (await c.page.locator('header.top').boundingBox()).height;
  const top = () => c.page.evaluate(() => document.activeElement.getBoundingClientRect().top);
  assert.ok((await top()) >= header, `main begins at ${await top()}`);
  const tab = async (key) => {
    await c.page.keyboard.press(key);
    const inMain = await c.page.evaluate(() => !!document.activeElement.closest('main'));
    if (inMain) assert.ok((await top()) >= header, `after ${key} the focus is at ${await top()}`);
    return inMain;
  };
  for (let i = 0; i < 20; i++) await tab('Tab');
  await c.page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  for (let i = 0; i < 20 && (await tab('Shift+Tab')); i++);
});

world.test('the help begins with the keys of the page, and scrolls by keys', async (c) => {
  await c.open('/letters?view=list');
  await c.settled();
  await c.page.keyboard.press('?');
  const keys = c.dialog.locator('.keys');
  await until('the keys to have the focus', () => keys.evaluate((e) => e === document.activeElement));
  assert.equal(await c.dialog.locator('caption').first().innerText(), c.say('keys.here'));
  for (const key of ['j', 'x', 'r']) {
    const box = await c.dialog
      .locator('kbd', { hasText: new RegExp(`^${key}$`) })
      .first()
      .boundingBox();
    assert.ok(box.y + box.height < c.page.viewportSize().height, `${key} is at ${box.y}`);
  }
  await c.accessible();
});

world.test('a part of the help has its title above it', async (c) => {
  await c.open('/node'); // it has no keys of its own
  await c.settled();
  await c.page.keyboard.press('?');
  await c.dialog.locator('.keys caption').first().waitFor();
  for (const caption of await c.dialog.locator('.keys caption').all()) {
    const [title, first] = await Promise.all(
      [caption, caption.locator('xpath=../tbody/tr[1]')].map((part) => part.boundingBox()),
    );
    assert.ok(title.y < first.y && title.x === first.x, `${await caption.innerText()} is in another column`);
  }
});

world.test('the drawer of a narrow window is entered and left by keys', { viewport: phone }, async (c) => {
  await c.open('/queues');
  await c.settled();
  const burger = c.page.locator('#burger');
  const nav = c.page.locator('#nav');
  const inNav = () => c.page.evaluate(() => !!document.activeElement.closest('#nav'));
  await burger.focus();
  await c.page.keyboard.press('Enter');
  await until('the drawer to have the focus', inNav);
  const header = await c.page.locator('header.top').boundingBox();
  assert.ok((await nav.boundingBox()).y >= header.y + header.height - 1, 'the drawer covers the header');
  await c.page.keyboard.press('Escape');
  assert.equal(await nav.isVisible(), false);
  assert.ok(await burger.evaluate((e) => e === document.activeElement));
  await c.page.keyboard.press('Enter');
  await until('the drawer to have the focus', inNav);
  for (let i = 0; i < 40 && (await inNav()); i++) await c.page.keyboard.press('Tab');
  assert.equal(await nav.isVisible(), false, 'it covers the page after the focus has left it');
});

world.test('a table is one stop of Tab, and its rows are walked by arrows', async (c) => {
  await c.open('/letters?view=list&filter=' + encodeURIComponent('queue:many.dead'));
  const rows = c.page.locator('tr[data-index]');
  await until('a portion of rows', async () => (await rows.count()) === 100);
  const at = () => c.page.evaluate(() => Number(document.activeElement.closest('tr')?.dataset.index ?? -1));
  const seen = () =>
    c.page.evaluate(() => {
      const { top, bottom } = document.activeElement.getBoundingClientRect();
      return (
        top >= 0 && bottom <= innerHeight && top >= document.querySelector('thead').getBoundingClientRect().bottom - 1
      );
    });
  await c.page.keyboard.press('j');
  await until('the first row to have the focus', async () => (await at()) === 0);
  let stops = 0;
  for (; stops < 9 && (await at()) >= 0; stops++) await c.page.keyboard.press('Tab');
  assert.ok(stops <= 2, `it is ${stops} stops`);
  assert.equal(await c.page.evaluate(() => document.activeElement.textContent), c.say('table.more'));
  await c.page.keyboard.press('Shift+Tab');
  await c.page.keyboard.press('End');
  await until('the last row to have the focus', async () => (await at()) === 99 && (await seen()));
  await c.page.keyboard.press('ArrowDown');
  await until('more rows, and the next to have the focus', async () => (await at()) === 100 && (await seen()));
  assert.ok((await rows.count()) > 100);
  await c.page.keyboard.press('Home');
  await until('the first row to have the focus again', async () => (await at()) === 0 && (await seen()));
  await c.page.keyboard.press('ArrowDown');
  await until('the second row', async () => (await at()) === 1);
  await c.page.keyboard.press('k');
  await until('the first row', async () => (await at()) === 0);
});

world.test('a node of the topology is walked to by keys', async (c) => {
  for (const view of ['', 'list']) {
    await c.open(`/topology${view && `?view=${view}`}`);
    await c.settled();
    const node = c.page.locator('main [data-node="q:orders"]').first();
    await node.focus();
    await c.page.keyboard.press('Enter');
    await c.page.waitForURL(/root=/);
    await until('the node to have the focus', () =>
      c.page.evaluate(() => document.activeElement.getAttribute('data-node') === 'q:orders'),
    );
    if (view) continue;
    await c.page.locator('[data-node="q:orders"][href*="/queues/"]').waitFor(); // it is drawn with the node chosen
    await c.page.keyboard.press('Enter');
    await c.page.getByRole('heading', { level: 1, name: 'orders' }).waitFor();
  }
});

for (const language of ['en', 'zh-CN']) {
  world.test(`who lost the session is told so, and types the name at once (${language})`, { language }, async (c) => {
    c.expect(/401/);
    const ended = c.text('login.ended_session');
    const inName = () => c.field('login.name').evaluate((e) => e === document.activeElement);
    await c.open('/queues');
    await c.settled();
    await c.context.clearCookies();
    const link = c.page.getByRole('navigation').getByRole('link', { name: c.say('queues.title'), exact: true });
    await Promise.race([link.click().catch(() => {}), ended.waitFor()]); // the page may have noticed before
    await ended.waitFor();
    assert.ok(await inName());
    await c.page.reload(); // as after a restart of the broker
    await ended.waitFor();
    await until('the name to have the focus', inName);
    await c.accessible();
    await c.page.keyboard.type('guest');
    await c.field('login.password').fill('guest');
    await c.page.keyboard.press('Enter');
    await c.page.getByRole('link', { name: 'orders', exact: true }).waitFor();
    await c.settled(); // a page that comes takes the focus, and closes the menu
    await c.page.locator(`summary[aria-label="${c.say('frame.user', { name: 'guest' })}"]`).click();
    await c.button('frame.log_out').click();
    await until('the name to have the focus', inName);
    assert.equal(await ended.count(), 0, 'who logs out knows it');
    await c.page.reload();
    await c.field('login.name').waitFor();
    assert.equal(await ended.count(), 0, 'also after a reload');
  });
}

world.test('the space bar selects the row of the keyboard', async (c) => {
  await c.open('/queues/%2F/orders.dead?tab=messages');
  await c.page.locator('tr[data-index="0"]').focus();
  await c.page.keyboard.press('Space');
  await c.text('table.selected', { n: 1 }).waitFor();
  await c.page.keyboard.press('ArrowDown');
  await c.page.locator('tr[data-index="1"]:focus').waitFor();
  await c.page.keyboard.press('Space');
  await c.text('table.selected', { n: 2 }).waitFor();
  await c.page.keyboard.press('Space');
  await c.text('table.selected', { n: 1 }).waitFor();
});

world.test('the focus of what goes is given to what stays', async (c) => {
  const focused = (selector) =>
    until(`the focus at ${selector}`, () => c.page.evaluate((s) => !!document.activeElement.matches(s), selector));
  await c.open('/exchanges/%2F/amq.topic');
  await c.button('bind.title').focus();
  await c.page.keyboard.press('Enter');
  await c.field('bind.to', {}, c.dialog).fill('orders');
  await c.page.keyboard.press('Enter');
  await c.button('bind.remove').waitFor();
  await focused('main *');

  const toast = c.page.locator('.toast').getByRole('button');
  await toast.focus();
  await c.page.keyboard.press('Enter');
  await focused('main *');

  await c.open('/schedule');
  const rows = c.page.locator('tr[data-index]');
  await c.button('schedule.cancel', {}, rows.nth(0)).focus();
  await c.page.keyboard.press('Enter');
  await c.button('schedule.cancel', {}, c.dialog).click();
  await until('one row to be left', async () => (await rows.count()) === 1);
  await focused('tr[data-index="0"]');

  await c.open('/letters?view=groups');
  await rows.first().focus();
  await c.page.keyboard.press('Enter');
  await c.page.waitForURL(/view=list/);
  await rows.first().waitFor();
  await focused('#main');

  await c.open('/definitions');
  const definitions = JSON.stringify({
    queues: [{ name: 'brought', vhost: '/', durable: true, arguments: {} }],
    users: [{ name: 'legacy', password_hash: '', tags: [] }],
  });
  await c
    .field('definitions.file')
    .setInputFiles({ name: 'd.json', mimeType: 'application/json', buffer: Buffer.from(definitions) });
  await c.button('definitions.do').focus();
  await c.page.keyboard.press('Enter');
  await c.text('definitions.done', { name: 'd.json' }).waitFor();
  await c.text('definitions.passwordless', { n: 1, names: 'legacy' }).waitFor();
  await focused('#main, #main *');
});

world.test('a row keeps the focus when its list is read again', async (c) => {
  await c.open('/schedule');
  const rows = c.page.locator('tr[data-index]');
  await rows.first().waitFor();
  await rows.first().focus();
  await c.button('schedule.move', {}, rows.first()).focus();
  await c.page.keyboard.press('Enter');
  await until('a field to have the focus', () =>
    c.page.evaluate(() => !!document.activeElement.matches('dialog input[type=radio]:checked')),
  );
  await c.page.keyboard.press('Control+Enter');
  await c.page.getByText(c.say('schedule.move_done', { n: 1, time: '' }).trim()).waitFor();
  await c.settled();
  await until('the row to have the focus', () => c.page.evaluate(() => !!document.activeElement.closest('tr')));
});

world.test('the calendar is one stop of Tab', async (c) => {
  await c.open('/schedule?view=month');
  await c.settled();
  const stops = c.page.locator('.heat .cell[tabindex="0"]');
  assert.equal(await stops.count(), 1);
  await stops.focus();
  const before = await stops.innerText();
  const last = await c.page.evaluate(() => !document.activeElement.nextElementSibling?.matches('.cell:enabled'));
  await c.page.keyboard.press(last ? 'ArrowLeft' : 'ArrowRight');
  assert.equal(await stops.count(), 1);
  assert.notEqual(await stops.innerText(), before);
  assert.ok(await stops.evaluate((e) => e === document.activeElement));
});

world.test('a filter keeps the focus when it is cleared, and what is empty is said', async (c) => {
  await c.open('/letters?view=list');
  const rows = c.page.locator('tr[data-index]');
  await rows.first().waitFor();
  const field = c.page.getByRole('combobox', { name: c.say('filter.label'), exact: true });
  await field.fill('id:none');
  await c.page.keyboard.press('Enter');
  const none = new RegExp([c.say('table.rows', { n: 0 }), c.say('letters.found', { n: 0 })].join('|')); // the last of them is there for a while
  await c.page.locator('#announced', { hasText: none }).waitFor({ state: 'attached' });
  await field.fill('key:');
  await c.button('filter.clear').focus();
  await c.page.keyboard.press('Enter');
  await rows.first().waitFor();
  assert.equal(await field.inputValue(), '', 'what was not applied is cleared, too');
  assert.ok(await field.evaluate((e) => e === document.activeElement));
});

for (const language of ['en', 'zh-CN']) {
  world.test(`a filter that is typed says that it is not applied yet (${language})`, { language }, async (c) => {
    const paths = [
      '/letters?view=list',
      '/letters?view=groups',
      '/lost',
      '/queues/%2F/orders.dead?tab=messages',
      '/schedule',
    ];
    for (const path of paths) {
      await c.open(path);
      const field = c.page.getByRole('combobox', { name: c.say('filter.label'), exact: true });
      const pending = c.text('filter.pending');
      await field.waitFor();
      assert.equal(await pending.count(), 0, path);
      const called = c.say('field.source');
      await field.fill(called.split(' ').at(-1));
      await c.page.getByRole('option', { name: `source: ${called}`, exact: true }).waitFor();
      await field.fill('key:none');
      await c.page.keyboard.press('Escape'); // the suggestions, if there are any
      await field.blur();
      await pending.waitFor();
      assert.equal(await field.getAttribute('aria-describedby'), await pending.getAttribute('id'));
      assert.doesNotMatch(c.page.url(), /filter=/, path);
      await c.accessible();
      await c.button('filter.apply').focus();
      await c.page.keyboard.press('Enter');
      await c.page.waitForURL(/filter=key/);
      assert.equal(await pending.count(), 0, path);
      assert.ok(await field.evaluate((e) => e === document.activeElement));
    }
  });
}

world.test('the title of a page has its name, and its views are walked by arrows', async (c) => {
  await c.open('/queues/%2F/orders');
  await until('the title', async () => (await c.page.title()) === `orders – ${c.say('queue.title')} – Bartleby`);
  await c.open('/letters?view=groups');
  await c.page.getByRole('tab', { name: c.say('letters.as_groups') }).focus();
  await c.page.keyboard.press('ArrowRight');
  const list = c.page.getByRole('tab', { name: c.say('letters.as_list') });
  await c.page.waitForURL(/view=list/);
  assert.ok(await list.evaluate((e) => e === document.activeElement));
  const nav = c.page.getByRole('navigation', { name: c.say('frame.navigation') });
  await nav.getByRole('link', { name: c.say('queues.title'), exact: true }).focus();
  await c.page.keyboard.press('Enter');
  await until('the page to have the focus', () => c.page.evaluate(() => document.activeElement.id === 'main'));
});

world.test('keys lead to a page that is shown already, and the palette knows whose page it is', async (c) => {
  await c.open('/exchanges/%2F/amq.topic');
  await c.settled();
  await c.choose('bind.title');
  assert.equal(await c.field('bind.from', {}, c.dialog).inputValue(), 'amq.topic');
  await c.page.keyboard.press('Escape');
  await c.open('/queues');
  await c.page.locator('tr[data-index="0"]').focus();
  await c.page.keyboard.press('g');
  await c.page.keyboard.press('q');
  assert.equal(await c.page.evaluate(() => document.activeElement.id), 'main');
});
