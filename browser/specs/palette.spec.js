// What the palette does, where the keyboard is afterwards, and what the audit says of it.
import { readFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { field } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const world = World.of('palette', field);

/** Opens the palette and types. */
async function type(c, text) {
  await c.page.keyboard.press('Control+k');
  const box = c.dialog.getByRole('combobox');
  await until('the palette to have the focus', () => box.evaluate((e) => e === document.activeElement));
  await c.page.keyboard.type(text);
}

const focused = (c) => c.page.evaluate(() => document.activeElement.tagName.toLowerCase());

world.test('the palette speaks another language, in its name or in ours', async (c) => {
  await c.page.goto(c.broker.http);
  await c.heading('overview.title').waitFor();
  await type(c, 'chin');
  await c.dialog.getByRole('option').filter({ hasText: '简体中文' }).waitFor();
  await c.page.keyboard.press('Enter');
  await c.page.locator('html[lang="zh-CN"]').waitFor();
  await type(c, '英文');
  await c.page.keyboard.press('Enter');
  await c.page.locator('html[lang="en"]').waitFor();
  await type(c, 'switch language');
  await c.page.keyboard.press('Enter');
  await c.page.locator('html[lang="zh-CN"]').waitFor();
  await type(c, '切换语言');
  await c.page.keyboard.press('Enter');
  await c.page.locator('html[lang="en"]').waitFor();
});

world.test('the keyboard stays at the button that chooses the language', async (c) => {
  await c.page.goto(c.broker.http);
  await c.heading('overview.title').waitFor();
  await c.page.locator('summary', { hasText: c.say('frame.language') }).focus();
  await c.page.keyboard.press('Enter');
  await c.page.getByRole('button', { name: '简体中文' }).focus();
  await c.page.keyboard.press('Enter');
  await c.page.locator('html[lang="zh-CN"]').waitFor();
  assert.equal(await focused(c), 'summary');
});

world.test('a job is found by its number, and the audit says in a sentence who began it', async (c) => {
  const job = await c.broker.post('x/redrives/%2F', {
    source: { queue: 'payments.dead' },
    filter: 'message-id:charge-1',
    action: 'discard',
    options: {},
  });
  await c.open('/audit');
  const said = c.page
    .getByRole('row')
    .filter({ hasText: `${c.say('did.discard')} · payments.dead · message-id:charge-1` });
  await said.getByRole('link').click();
  await c.heading('jobs.one', { id: job.id }).waitFor();
  await c.open('/queues');
  await type(c, String(job.id));
  await c.dialog
    .getByRole('option')
    .filter({ hasText: c.say('jobs.one', { id: job.id }) })
    .click();
  await c.heading('jobs.one', { id: job.id }).waitFor();
  await c.open('/queues/%2F/payments.dead?tab=history');
  await c.page.getByRole('row').filter({ hasText: 'message-id:charge-1' }).waitFor();
});

world.test('the palette begins to create, and to send a queue of dead letters back', async (c) => {
  await c.open('/');
  await type(c, c.say('vhosts.create'));
  await c.page.keyboard.press('Enter');
  await c.dialog.getByRole('heading', { name: c.say('vhosts.create') }).waitFor();
  await c.page.keyboard.press('Escape');
  await c.dialog.waitFor({ state: 'detached' });
  const redrive = c.say('palette.redrive', { queue: 'orders.dead' });
  await type(c, redrive.slice(0, -2));
  await c.dialog.getByRole('option').filter({ hasText: redrive }).waitFor();
  await c.page.keyboard.press('Enter');
  await c.dialog.getByRole('heading', { name: c.say('redrive.title', { n: 120 }) }).waitFor();
});

world.test('the limits of a virtual host have its dialect and the TTL of dead letters', async (c) => {
  await c.open('/vhosts/staging?tab=limits');
  await c.field('option.ttl-in-dlq').selectOption('false');
  await c.page
    .locator('form')
    .filter({ has: c.field('option.ttl-in-dlq') })
    .getByRole('button', { name: c.say('policies.save') })
    .click();
  await until('the option to hold', async () => (await c.broker.get('x/options/staging'))['ttl-in-dlq'] === false);
  await c.field('option.dialect').waitFor();
});

world.test('choices, types and badges are in Chinese', { language: 'zh-CN' }, async (c) => {
  await c.open('/vhosts/%2F?tab=limits');
  assert.match(await c.field('option.sync').locator('option:checked').innerText(), /\p{Script=Han}/u);
  await c.open('/vhosts');
  await c.page.getByRole('cell', { name: '默认虚拟主机', exact: true }).waitFor();
  const retry = { durable: true, arguments: { 'x-delayed-retry-type': 'all', 'x-delayed-retry-min': 1000 } };
  await c.broker.put('queues/%2F/retrying', retry);
  await c.open('/queues?name=retrying');
  const row = c.page.getByRole('row').filter({ hasText: 'retrying' });
  await row.getByRole('cell', { name: '经典队列', exact: true }).waitFor();
  await row.getByText(/^重试/).first().waitFor();
  await c.open('/queues/%2F/thumbnails');
  const settings = c.page.getByRole('region', { name: c.say('queue.settings') });
  await settings.getByRole('cell', { name: `${c.say('choice.overflow.drop-head')} drop-head` }).waitFor();
});

/** @type {[string, string, string, object?][]} */
const typed = [
  ['en', 'cancel scheduled', 'palette.cancel_scheduled'],
  ['en', 'retry', 'palette.redrive_some'],
  ['en', 'requeue orders', 'palette.redrive', { queue: 'orders.dead' }],
  ['en', 'delete queue', 'palette.delete_some'],
  ['en', 'delete queue thumb', 'palette.delete', { queue: 'thumbnails' }],
  ['en', 'purge', 'palette.purge_some'],
  ['en', 'purge mail.welcome', 'palette.purge', { queue: 'mail.welcome' }],
  ['en', 'dead letter', 'letters.title'],
  ['en', 'dlq', 'letters.title'],
  ['en', 'import', 'import.title'],
  ['en', 'publish', 'palette.publish'],
  ['en', 'schedule a message', 'palette.schedule'],
  ['en', 'retry ladder', 'policies.create'],
  ['en', 'backoff', 'policies.create'],
  ['en', 'metrics', 'monitoring.title'],
  ['en', 'prometheus', 'monitoring.title'],
  ['en', 'grafana', 'monitoring.title'],
  ['en', 'alerts', 'monitoring.title'],
  ['en', 'alarms', 'monitoring.title'],
  ['en', 'alert rules', 'monitoring.title'],
  ['zh-CN', '告警规则', 'monitoring.title'],
  ['en', 'monitoring', 'monitoring.title'],
  ['en', 'backup', 'definitions.title'],
  ['en', 'migrate', 'definitions.title'],
  ['en', 'create vhost', 'vhosts.create'],
  ['en', 'create binding', 'bind.title'],
  ['en', 'dark mode', 'frame.theme', { name: 'dark' }],
  ['en', 'reschedule', 'schedule.title'],
  ['en', 'edit message', 'letters.title'],
  ['en', 'find message', 'letters.title'],
  ['en', 'delete policy', 'policies.title'],
  ['en', 'docs', 'palette.docs'],
  ['en', 'logs', 'node.title'],
  ['en', 'pause', 'jobs.title'],
  ['en', 'permission', 'users.title'],
  ['en', 'undo', 'lost.title'],
  ['en', 'canary', 'jobs.title'],
  ['en', 'logout', 'frame.log_out'],
  ['en', 'help', 'keys.help'],
  ['en', 'ｄｌｑ', 'letters.title'],
  ['zh-CN', '暗色', 'frame.theme', { name: '深色' }],
  ['zh-CN', '导出', 'letters.title'],
  ['zh-CN', '取消定时', 'palette.cancel_scheduled'],
  ['zh-CN', '重试', 'palette.redrive_some'],
  ['zh-CN', '重新入队orders', 'palette.redrive', { queue: 'orders.dead' }],
  ['zh-CN', '删除队列', 'palette.delete_some'],
  ['zh-CN', '清空 mail.welcome', 'palette.purge', { queue: 'mail.welcome' }],
  ['zh-CN', 'dlq', 'letters.title'],
  ['zh-CN', '导入', 'import.title'],
  ['zh-CN', '发布', 'palette.publish'],
  ['zh-CN', '重试阶梯', 'policies.create'],
  ['zh-CN', '指标', 'monitoring.title'],
  ['zh-CN', '告警', 'monitoring.title'],
  ['zh-CN', '改期', 'schedule.title'],
  ['zh-CN', '权限', 'users.title'],
  ['zh-CN', '切换', 'vhosts.title'],
  ['zh-CN', '切换主题', 'frame.theme', { name: '深色' }],
];
// first are those that Enter opens.
const first = ['prometheus', 'grafana', 'alerts', 'alarms', 'monitoring', 'metrics', 'pause', '告警'];
for (const language of ['en', 'zh-CN']) {
  world.test(`the palette finds what people type (${language})`, { language }, async (c) => {
    await c.open('/');
    for (const [, text, key, params] of typed.filter(([l]) => l === language)) {
      await type(c, text);
      const option = c.dialog.getByRole('option').filter({ hasText: c.say(key, params) });
      await option.first().waitFor();
      if (first.includes(text))
        assert.match(await c.dialog.getByRole('option').first().innerText(), new RegExp(c.say(key)));
      await c.page.keyboard.press('Escape');
      await c.dialog.waitFor({ state: 'detached' });
    }
    await type(c, 'staging'); // a virtual host by its name
    await c.dialog
      .getByRole('option')
      .filter({ hasText: 'staging' })
      .filter({ hasText: c.say('palette.vhost') })
      .waitFor();
    await c.page.keyboard.press('Escape');
    await c.dialog.waitFor({ state: 'detached' });
    await type(c, language === 'en' ? 'purge mail.welcome' : '清空 mail.welcome');
    const purge = c.dialog.getByRole('option').filter({ hasText: c.say('palette.purge', { queue: 'mail.welcome' }) });
    await purge.click();
    await c.page
      .getByRole('dialog', { name: c.say('queues.purge_title', { n: 1, name: 'mail.welcome' }), exact: true })
      .waitFor();
    await c.accessible();
  });
}

for (const language of ['en', 'zh-CN'])
  world.test(`a scheduled message is found by its key and its message ID (${language})`, { language }, async (c) => {
    const key = `order-4708.${language}`;
    const id = `${language}-4711`;
    const body = { routing_key: 'mail', payload: 'x', in: 3_600_000, properties: { message_id: id } };
    await c.broker.put(`x/scheduled/%2F/reminders/key/${key}`, body);
    await c.open('/');
    await type(c, key);
    const option = c.dialog.getByRole('option').filter({ hasText: c.say('palette.scheduled') });
    await option.filter({ hasText: 'reminders' }).click();
    await c.page.getByText(key, { exact: true }).first().waitFor();
    assert.match(c.page.url(), /schedule\/%2F\/reminders\//);
    await c.open('/lint');
    await type(c, id);
    await option.filter({ hasText: id }).click();
    await c.heading('scheduled.title', { id }).waitFor();
  });

world.test('users and policies are found by their names', async (c) => {
  await c.open('/');
  await type(c, 'erik');
  await c.dialog
    .getByRole('option')
    .filter({ hasText: 'erika' })
    .filter({ hasText: c.say('palette.user') })
    .click();
  await c.page.getByRole('heading', { level: 1, name: 'erika' }).waitFor();
  await type(c, 'thumbs');
  await c.dialog
    .getByRole('option')
    .filter({ hasText: c.say('palette.policy') })
    .click();
  await c.page.waitForURL(/\/policies\/edit\?.*policy=thumbs/);
});

world.test('an action with dots opens its dialog, which asks for the rest', async (c) => {
  await c.open('/lint');
  const run = async (key) => {
    await type(c, c.say(key).replace('…', ''));
    await c.page.keyboard.press('Enter');
  };
  await run('palette.publish');
  const publish = c.page.getByRole('dialog', { name: c.say('publish.title'), exact: true });
  await c.field('publish.exchange', {}, publish).fill('orders');
  await c.field('publish.key', {}, publish).fill('order.created');
  await c.field('publish.payload', {}, publish).fill('{}');
  const box = await c.field('publish.payload', {}, publish).boundingBox();
  assert.ok(box.width > 700, `the payload is ${box.width} px wide`);
  assert.ok(box.y + box.height < 700, 'the payload is below the fold');
  await c.page.keyboard.press('Control+Enter');
  await c.text('publish.routed', {}, publish).waitFor();
  await c.accessible();
  await c.page.keyboard.press('Escape');

  await run('palette.schedule');
  const later = c.page.getByRole('dialog', { name: c.say('publish.schedule_title'), exact: true });
  const exchange = c.field('publish.exchange', {}, later);
  assert.equal(await exchange.inputValue(), 'reminders');
  await until('the exchange to have the focus', () => exchange.evaluate((e) => e === document.activeElement));
  await c.page.keyboard.type('reminders');
  assert.equal(await exchange.inputValue(), 'reminders', 'what is typed does not replace the default');
  assert.equal(await c.field('publish.deliver_after', {}, later).inputValue(), '10m');
  await c.page.keyboard.press('Escape');

  await c.open('/queues/%2F/mail.welcome');
  await run('palette.publish');
  assert.equal(await c.field('publish.key', {}, publish).inputValue(), 'mail.welcome');
  await c.page.keyboard.press('Escape');

  await c.open('/lint');
  await run('palette.redrive_some');
  await until('the first field to have the focus', () =>
    c.field('choose.dead_letters', {}, c.dialog).evaluate((e) => e === document.activeElement),
  );
  await c.field('choose.dead_letters', {}, c.dialog).selectOption('payments.dead');
  await c.accessible();
  await c.button('choose.go_on', {}, c.dialog).click();
  const { messages } = await c.broker.get('queues/%2F/payments.dead');
  await c.dialog.getByRole('heading', { name: c.say('redrive.title', { n: messages }) }).waitFor();
  await c.page.keyboard.press('Escape');
  await c.dialog.waitFor({ state: 'detached' });

  c.expect(/404/);
  await run('palette.purge_some');
  const name = c.field('redrive.queue', {}, c.dialog);
  await name.fill('no.such.queue');
  await c.page.keyboard.press('Enter');
  await c.text('choose.no_queue', { name: 'no.such.queue', vhost: '/' }, c.dialog).waitFor();
  await name.fill('mail.welcome');
  await c.page.keyboard.press('Enter');
  await c.dialog.getByRole('heading', { name: c.say('queues.purge_title', { n: 1, name: 'mail.welcome' }) }).waitFor();
  await c.page.keyboard.press('Escape');
  await c.dialog.waitFor({ state: 'detached' });

  await run('palette.delete_some');
  await c.field('redrive.queue', {}, c.dialog).fill('mail.welcome');
  await c.page.keyboard.press('Enter');
  await c.dialog.getByRole('heading', { name: c.say('queues.delete_title', { n: 1, name: 'mail.welcome' }) }).waitFor();
  await c.page.keyboard.press('Escape');
  assert.equal(new URL(c.page.url()).pathname, '/lint', 'an action has left the page');
});

world.test('monitoring has what Prometheus needs', async (c) => {
  await c.open('/');
  await type(c, 'grafana');
  await c.page.keyboard.press('Enter');
  await c.heading('monitoring.title').waitFor();
  const port = c.broker.arguments[c.broker.arguments.indexOf('--prometheus') + 1];
  const url = c.page.getByRole('region', { name: c.say('monitoring.url'), exact: true });
  assert.equal(await url.innerText(), `http://${port}/metrics`);
  assert.equal((await fetch(await url.innerText())).status, 200);
  await c.page.getByText(`targets: ["${port}"]`).first().waitFor();
  const files = c.page.getByRole('link', { name: /bartleby-.*\.json|bartleby\.rules\.yml/ });
  assert.equal(await files.count(), 4);
  const [saved] = await Promise.all([c.page.waitForEvent('download'), files.last().click()]);
  assert.equal(saved.suggestedFilename(), 'bartleby.rules.yml');
  assert.ok(readFileSync(await saved.path(), 'utf8').startsWith('# '));
  await c.accessible();
});

world.test('Enter waits for names before it searches, and not for ever', async (c) => {
  let wait = 800;
  await c.page.route(/\/api\/(queues|exchanges)\?/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, wait));
    await route.continue().catch(() => {}); // the palette may have closed
  });
  await c.open('/');
  await type(c, 'payments.dead');
  await c.page.keyboard.press('Enter');
  await c.page.getByRole('heading', { level: 1, name: 'payments.dead' }).waitFor();
  await type(c, c.say('lint.title').toLowerCase());
  await c.page.keyboard.press('Enter'); // a page needs no names
  await c.heading('lint.title').waitFor({ timeout: 700 });

  wait = 10_000;
  await type(c, 'nowhere.to.be.found');
  await c.page.keyboard.press('Enter');
  assert.ok(await c.dialog.isVisible(), 'the search has begun before there were names');
  await c.page.waitForURL(/\/letters\?.*filter=nowhere/, { timeout: 6000 });
  await c.page.unrouteAll({ behavior: 'ignoreErrors' });
});

world.test('the palette stays that is opened while the page changes', async (c) => {
  await c.open('/queues');
  await type(c, c.say('lint.title').toLowerCase());
  // Ctrl+K is pressed as soon as the next page has its heading, before anything is drawn of it.
  await c.page.evaluate((title) => {
    new MutationObserver((_, observer) => {
      if (document.querySelector('main h1')?.textContent !== title) return;
      observer.disconnect();
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }));
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  }, c.say('lint.title'));
  await c.page.keyboard.press('Enter');
  await c.heading('lint.title').waitFor();
  await c.settled();
  await c.dialog.getByRole('combobox').waitFor();
  assert.equal(await c.dialog.getByRole('combobox').inputValue(), '');
  const top = () => c.dialog.getByRole('combobox').evaluate((e) => e.getBoundingClientRect().top);
  const before = await top();
  await c.page.keyboard.type('nothing.is.called.so');
  await until('the list to be short', async () => (await c.dialog.getByRole('option').count()) === 2);
  assert.equal(await top(), before, 'the field has moved');
});

world.test('Enter that ends the work of an input method chooses nothing', async (c) => {
  await c.open('/queues');
  await c.page.keyboard.press('Control+k');
  const field = c.dialog.getByRole('combobox');
  await field.fill('s');
  await c.dialog.getByRole('option').first().waitFor();
  for (const how of [{ isComposing: true }, { keyCode: 229 }])
    await field.evaluate(
      (e, of) =>
        e.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...of })),
      how,
    );
  await c.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.equal(await field.inputValue(), 's');
  assert.match(c.page.url(), /\/queues/);
});

world.test('what is in another virtual host is found, and pages of one say where more is', async (c) => {
  const at = 'shop';
  await c.broker.put(`vhosts/${at}`, {});
  await c.broker.put(`permissions/${at}/guest`, { configure: '.*', write: '.*', read: '.*' });
  await c.broker.put(`queues/${at}/shop.dead`, { durable: true });
  await c.broker.put(`queues/${at}/late`, {
    durable: true,
    arguments: { 'x-message-ttl': 1, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'shop.dead' },
  });
  await c.broker.post(`exchanges/${at}/amq.default/publish`, {
    properties: { message_id: 'only-in-shop' },
    routing_key: 'late',
    payload: 'x',
    payload_encoding: 'string',
  });
  await until(
    'the dead letter to be found',
    async () => (await c.broker.get(`x/letters/${at}?filter=id:only-in-shop`)).items.length === 1,
  );
  const chosen = c.page.locator('.vhost select');
  try {
    await c.open('/letters');
    await c.page.getByText(c.say('letters.only_vhost', { name: '/' })).waitFor();
    await c.page.getByRole('link', { name: `${at} (1)`, exact: true }).click();
    await c.page.waitForURL(/vhost=shop/);
    assert.equal(await chosen.inputValue(), at);
    const nav = c.page.getByRole('navigation', { name: c.say('frame.navigation') });
    await nav.getByRole('link', { name: c.say('queues.title'), exact: true }).click();
    await c.heading('queues.title').waitFor();
    assert.equal(await chosen.inputValue(), '', 'a link has chosen a virtual host');
    await type(c, 'only-in-shop');
    await c.dialog.getByRole('option', { name: c.say('palette.message_id', { text: 'only-in-shop' }) }).click();
    await c.page.waitForURL(/vhost=shop/);
    await c.text('table.rows', { n: 1 }).waitFor();
  } finally {
    await c.broker.api('DELETE', `vhosts/${at}`);
  }
});
