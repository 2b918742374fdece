// The frame around every page: language, theme, what is loaded, who may see what, a broker that goes and comes back.
import assert from 'node:assert/strict';
import { World, phone } from '../lib/console.js';
import { field, publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const world = World.of('frame', field);
const transferMax = 300_000;
const filesMax = 60;

world.test('the first view is small, and fetches nothing that it does not show', async (c) => {
  const sizes = [];
  const session = await c.context.newCDPSession(c.page);
  await session.send('Network.enable');
  session.on('Network.loadingFinished', (e) => sizes.push(e.encodedDataLength));
  await c.open('/');
  await c.settled();
  const bytes = sizes.reduce((a, b) => a + b, 0);
  assert.ok(bytes < transferMax, `${bytes} bytes were transferred`);
  assert.ok(sizes.length > 5, 'the figure is of nothing');
  const all = await c.page.evaluate(() => performance.getEntriesByType('resource').map((r) => r.name));
  const files = all.filter((f) => !f.includes('/api/')); // what the broker answers may be asked for again meanwhile
  assert.ok(files.length <= filesMax, `${files.length} files were fetched`);
  assert.deepEqual(
    files.filter((f) => /dagre|pages\/(broker\/|letter|lost|jobs|schedule)/.test(f)),
    [],
    'of other pages',
  );
});

world.test('the frame is painted before the broker has answered anything', async (c) => {
  let answer = () => {};
  /** @type {Promise<void>} */
  const may = new Promise((resolve) => {
    answer = resolve;
  });
  let asked = 0;
  await c.page.route('**/api/**', async (route) => {
    asked++;
    await may;
    await route.continue();
  });
  await c.page.goto(`${c.broker.http}/?lang=en`, { waitUntil: 'commit' });
  await c.page.locator('.top .brand').getByText('Bartleby').waitFor();
  await c.page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length === 1);
  await until('the session to be asked for', () => asked > 0);
  const fetched = await c.page.evaluate(() => performance.getEntriesByType('resource').length);
  assert.ok(fetched <= filesMax, `${fetched} files were fetched until then`);
  assert.equal(await c.page.locator('nav#nav').count(), 0);
  answer();
  await c.heading('overview.title').waitFor();
  await c.settled();
});

world.test('another language, at once and the next time', async (c) => {
  await c.page.goto(c.broker.http); // without a language in the address
  await c.heading('overview.title').waitFor();
  await c.page.locator('summary', { hasText: c.say('frame.language') }).click();
  await c.page.getByRole('button', { name: '简体中文' }).click();
  await c.page
    .getByRole('heading', { level: 1, name: '概览' })
    .or(c.page.getByRole('heading', { level: 1, name: '总览' }))
    .waitFor();
  assert.equal(await c.page.locator('html').getAttribute('lang'), 'zh-CN');
  await c.page.reload();
  await c.page.locator('html[lang="zh-CN"]').waitFor();
  await c.page.getByRole('heading', { level: 1 }).waitFor();
  assert.match(await c.page.getByRole('heading', { level: 1 }).innerText(), /\p{Script=Han}/u);
});

for (const [language, page] of [
  ['en', 'docs/metrics.md'],
  ['zh-CN', 'docs/zh-CN/metrics.md'],
])
  world.test(`the documentation is linked in the language of the console (${language})`, { language }, async (c) => {
    await c.open('/monitoring');
    const link = c.page.getByRole('link', { name: c.say('monitoring.meaning') });
    assert.match(await link.getAttribute('href'), new RegExp(`/main/${page}$`));
  });

world.test('dark and light, as chosen, the next time too', async (c) => {
  const light = () =>
    c.page.evaluate(() => {
      const [r, g, b] = getComputedStyle(document.documentElement)
        .backgroundColor.match(/[\d.]+/g)
        .map(Number);
      return r + g + b > 380;
    });
  await c.open('/');
  assert.equal(await light(), true);
  for (const name of ['auto', 'light']) {
    await c.button('frame.theme', { name: c.say(`theme.${name}`) }).click();
  }
  await until('it to be dark', async () => !(await light()));
  await c.page.reload();
  await c.page.getByRole('heading', { level: 1 }).waitFor();
  assert.equal(await light(), false);
});

world.test('the palette leads to a queue by its name', async (c) => {
  await c.open('/');
  await c.settled();
  await c.page.keyboard.press('Control+k');
  const box = c.dialog.getByRole('combobox');
  await until('the palette to have the focus', () => box.evaluate((e) => e === document.activeElement));
  await c.page.keyboard.type('payments.ch');
  assert.equal(await box.inputValue(), 'payments.ch');
  await c.dialog.getByRole('option').filter({ hasText: 'payments.charge' }).waitFor();
  await c.accessible();
  await c.page.keyboard.press('Enter');
  await c.page.getByRole('heading', { level: 1, name: 'payments.charge' }).waitFor();
});

/** Counts the events of a topic in the page's own stream. */
async function events(c, topic) {
  const told = { n: 0 };
  const session = await c.context.newCDPSession(c.page);
  await session.send('Network.enable');
  session.on('Network.eventSourceMessageReceived', (e) => {
    if (e.eventName === topic) told.n++;
  });
  return told;
}

world.test('what changes while text is selected is shown when it is not any more', async (c) => {
  const told = await events(c, 'queues');
  await c.open('/queues');
  await c.settled();
  await c.page.getByRole('link', { name: 'payments.charge' }).first().selectText();
  const before = told.n;
  await c.broker.put('queues/%2F/declared-meanwhile', { durable: true });
  await until('the page to be told', () => told.n > before);
  assert.equal(await c.page.evaluate(() => getSelection().toString()), 'payments.charge', 'the selection is as it was');
  assert.equal(await c.page.getByRole('link', { name: 'declared-meanwhile' }).count(), 0);
  await c.page.evaluate(() => getSelection().removeAllRanges());
  await c.page.getByRole('link', { name: 'declared-meanwhile' }).first().waitFor({ timeout: 12_000 }); // sooner than pages ask by themselves
});

world.test('who may do little is told what is missing', { user: 'erika:erika' }, async (c) => {
  c.expect(/40[13]/);
  await c.broker.put('permissions/%2F/erika', { configure: '^$', write: '^elsewhere$', read: '^payments\\.' });
  await c.open('/letters?view=list&filter=queue:payments.dead');
  await c.page.getByRole('row').filter({ hasText: 'charge-' }).first().waitFor(); // it may read that queue
  await c.button('redrive.found').click();
  await c.button('redrive.try', {}, c.dialog).click();
  await c.dialog
    .getByRole('alert')
    .filter({ hasText: /access|refused|permission|not allowed/i })
    .waitFor();
  assert.equal(await c.button('redrive.begin', {}, c.dialog).isDisabled(), true);
  await c.open('/letters?view=list&filter=queue:orders.dead');
  assert.equal(await c.page.getByRole('row').filter({ hasText: 'order-' }).count(), 0);
});

for (const language of ['en', 'zh-CN']) {
  world.test(`what gets no answer is said soon, and goes by itself (${language})`, { language }, async (c) => {
    c.expect(/ERR_/);
    const banner = c.page.getByRole('alert').filter({ hasText: c.say('frame.unreachable') });
    const pill = c.page.locator('.top .live');
    const soon = { timeout: 4000 }; // 2 s, and as much for a busy machine
    await c.open('/node');
    await c.text('node.no_alarm').waitFor();
    await c.settled();
    await c.page.route('**/api/**', (r) => r.abort('connectionrefused'));
    await c.page.keyboard.press('g');
    await c.page.keyboard.press('q'); // it asks for something
    await banner.waitFor(soon);
    assert.equal(await banner.innerText(), c.say('frame.unreachable'), 'what is announced once has no age of the data');
    assert.doesNotMatch(await c.page.locator('.banner.stale').innerText(), /(^|\D)0\D/, 'the age of the data');
    await pill.filter({ hasText: c.say('frame.no_connection') }).waitFor(soon);
    assert.match(await pill.getAttribute('class'), /gone/);
    assert.doesNotMatch(await pill.getAttribute('class'), /on$/);
    await c.accessible();
    await c.page.unroute('**/api/**');
    await banner.waitFor({ ...soon, state: 'detached' });
    await c.page.locator('#announced', { hasText: c.say('frame.reached') }).waitFor({ state: 'attached' });
    await pill.filter({ hasText: c.say('frame.live') }).waitFor();
    await c.page.getByRole('link', { name: 'payments.charge', exact: true }).first().waitFor(soon);
  });
}

world.test('the broker is restarted under an open page', async (c) => {
  c.expect(/ERR_|40[13]|50[0-9]/);
  await c.open('/node');
  await c.text('node.no_alarm').waitFor();
  await c.settled();
  await c.broker.halt(); // nobody asks for anything: the stream ends
  await c.text('node.no_alarm_before').waitFor({ timeout: 4000 });
  await c.page.locator('.top .live.gone').waitFor();
  await c.broker.run();
  await c.text('node.no_alarm').or(c.field('login.name')).first().waitFor({ timeout: 4000 });
  await c.logIn();
  await c.open('/lost');
  const row = c.page.getByRole('row').filter({ hasText: 'row-7' });
  await row.waitFor();
  await c.broker.halt();
  await c.page
    .getByRole('alert')
    .filter({ hasText: c.say('frame.unreachable') })
    .waitFor({ timeout: 30_000 });
  await row.waitFor(); // what was shown stays
  await c.broker.run();
  // Sessions go with the broker: the page asks who it is, and goes on where it was.
  const name = c.field('login.name');
  await name.or(c.page.locator('nav#nav')).first().waitFor();
  await until(
    'the page to be heard again or to ask who it is',
    async () => (await name.count()) > 0 || (await c.page.getByRole('alert').count()) === 0,
    30_000,
  );
  if (await name.count()) {
    await name.fill('guest');
    await c.field('login.password').fill('guest');
    await c.button('login.submit').click();
  }
  await row.waitFor();
  assert.match(c.page.url(), /\/lost/);
});

world.test('a page that is open while the broker is upgraded loads the new console, or says what to do', async (c) => {
  c.expect(/404/);
  await c.open('/');
  const file = '**/pages/broker/queues.js';
  let newer = true;
  await c.page.route(file, (r) => r.fulfill({ status: 404 }));
  await c.page.route(
    (url) => url.pathname === '/',
    async (r) => {
      const answer = await r.fetch();
      const text = await answer.text();
      await r.fulfill({
        response: answer,
        body: newer ? text.replace(/(name="bartleby-assets" content=")[^"]*/, '$1/assets/another') : text,
      });
    },
  );
  await c.page.evaluate(() => {
    document.body.dataset.before = 'yes';
  });
  await c.page.getByRole('link', { name: c.say('queues.title'), exact: true }).click();
  await until('the page to be loaded anew', () =>
    c.page.evaluate(() => !document.body.dataset.before).catch(() => false),
  );
  newer = false;
  await c.text('frame.not_loaded').waitFor(); // once is enough
  assert.equal(new URL(c.page.url()).pathname, '/queues');
  await c.accessible();
  await c.page.unroute(file);
  await c.button('frame.reload').click();
  await c.page.getByRole('table').getByRole('link').first().waitFor();
});

world.test('a table says that its filter is no regular expression, and shows no rows of another one', async (c) => {
  for (const path of ['/queues', '/policies']) {
    await c.open(path);
    await c.page.getByRole('table').getByRole('link').first().waitFor();
    if (path === '/queues') c.expect(/400/); // the broker judges it
    await c.page.getByRole('checkbox', { name: c.say('table.regex') }).check();
    await c.field('table.filter').fill('(');
    await c.page
      .getByRole('alert')
      .filter({ hasText: c.say('table.no_regex') })
      .waitFor();
    assert.equal(await c.page.getByRole('table').getByRole('link').count(), 0);
    await c.field('table.filter').fill('.');
    await c.page.getByRole('table').getByRole('link').first().waitFor();
    assert.equal(await c.text('table.no_regex').count(), 0);
  }
});

for (const language of ['en', 'zh-CN'])
  world.test(`a filter is for what the columns show (${language})`, { language }, async (c) => {
    for (const [path, text, found] of [
      ['/exchanges', 'delayed', 'reminders'],
      ['/queues', c.say('choice.queue-type.quorum'), 'payments.charge'],
      ['/lint', c.say('severity.warning'), ''],
    ]) {
      await c.open(path);
      await c.field('table.filter').fill(text);
      await until(`${path} to be filtered`, async () => {
        const rows = await c.page.locator('tr[data-index]').allInnerTexts();
        return (
          (rows.some((row) => row.includes(found)) &&
            rows.every((row) => row.toLowerCase().includes(text.toLowerCase()))) || { rows }
        );
      });
    }
  });

world.test('the number of running jobs can be read in the menu', async (c) => {
  await c.broker.post('x/redrives/%2F', {
    source: { queue: 'payments.dead' },
    max: 1,
    action: 'redrive',
    options: { watch_ms: 300_000 },
  });
  await c.open('/');
  const link = c.page.getByRole('navigation').getByRole('link', { name: c.say('jobs.title') });
  const badge = link.locator('.badge');
  await badge.waitFor();
  assert.equal((await badge.innerText()).split(/\s/)[0], '1');
  assert.match(await link.ariaSnapshot(), new RegExp(c.say('jobs.going_on', { n: 1 })));
  await c.settled();
  // axe does not judge the contrast of a single character.
  const same = await badge.evaluate((e) => getComputedStyle(e).color === getComputedStyle(e).backgroundColor);
  assert.equal(same, false, 'the number has the color of its ground');

  const stopped = await c.broker.post('x/redrives/%2F', {
    source: { queue: 'payments.dead' },
    max: 1,
    action: 'redrive',
    options: { stop_no_consumer: true },
  });
  await until('the job to stop', async () => (await c.broker.get(`x/redrives/%2F/${stopped.id}`)).state === 'stopped');
  await badge.filter({ hasText: c.say('jobs.have_stopped', { n: 1 }) }).waitFor();
  await c.open(`/jobs/%2F/${stopped.id}`);
  await c.text('jobs.needs_consumer').waitFor();
  await c.broker.post(`x/redrives/%2F/${stopped.id}/cancel`, {});
  await badge.filter({ hasText: c.say('jobs.going_on', { n: 1 }) }).waitFor();
});

world.test('the numbers of new dead letters and lost letters in the menu are of what their pages show', async (c) => {
  const channel = await c.broker.channel();
  await queues(channel, {
    'badge.plain': {},
    'badge.astray': { 'x-dead-letter-exchange': 'badge.none' },
    'badge.kept': { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'badge.dead' },
    'badge.dead': {},
  });
  const died = async (queue, n) => {
    await publish(channel, '', queue, Array(n).fill({ body: {} }));
    await reject(channel, queue, n);
  };
  const told = await events(c, 'letters');
  await c.open('/node');
  await until('the page to be told how many there are', () => told.n > 0);
  await died('badge.plain', 3); // dropped
  await died('badge.astray', 2);
  await died('badge.kept', 1);
  const badge = (key) =>
    c.page
      .locator('#nav')
      .getByRole('link', { name: c.say(key) })
      .locator('.badge');
  await badge('lost.title')
    .filter({ hasText: c.say('lost.fresh', { n: 2 }) })
    .waitFor();
  await badge('letters.title')
    .filter({ hasText: c.say('letters.fresh', { n: 1 }) })
    .waitFor();
  await c.choose('lost.title');
  await badge('lost.title').waitFor({ state: 'detached' });
});

world.test('the keyboard goes on in the page after the help is closed', async (c) => {
  await c.open('/');
  await c.settled();
  await c.page.keyboard.press('?');
  await c.dialog.waitFor();
  await c.page.keyboard.press('Escape');
  await c.dialog.waitFor({ state: 'detached' });
  await until(
    'the page to have the focus',
    async () => (await c.page.evaluate(() => document.activeElement.id)) === 'main',
  );
});

world.test(
  'on a phone rows are cards with all figures, and a tap says what badges mean',
  { viewport: phone },
  async (c) => {
    await c.open('/queues');
    const link = c.page.getByRole('link', { name: 'orders.dead', exact: true });
    const row = c.page.getByRole('row').filter({ has: link });
    await row.getByRole('cell', { name: `${c.say('queues.ready')} 120` }).waitFor();
    const { x, width } = await row.boundingBox();
    assert.ok(x >= 0 && x + width <= phone.width, `a card from ${x} is ${width} wide`);
    await row.locator('.badges').click();
    assert.match(await c.page.locator('.tip').innerText(), /^D: /);
    await c.accessible();
    await c.open('/letters?view=list');
    const letter = c.page.getByRole('row').filter({ hasText: 'order-' }).first();
    await letter.getByRole('checkbox').click();
    await c.text('table.selected', { n: 1 }).waitFor();
    await c.page
      .locator('.table-tools')
      .first()
      .evaluate((tools) => tools.scrollIntoView({ block: 'center' })); // the bar above may hide a part of them
    await c.accessible();
  },
);
