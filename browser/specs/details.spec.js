// Small things: what stands beside what, and what is said where it is asked for.
import assert from 'node:assert/strict';
import { World, phone } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const world = World.of('details', async (broker) => {
  const channel = await broker.channel();
  await queues(channel, {
    mails: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'mails.dead' },
    'mails.dead': {},
    'mails.strict': { 'x-dead-letter-exchange': 'missing.one' },
    'mails.stricter': { 'x-dead-letter-exchange': 'missing.two' },
    paced: { 'x-delayed-retry-type': 'all', 'x-delayed-retry-min': 1000 },
    plain: {},
  });
  await publish(channel, '', 'mails', [{ body: { n: 1 } }, { body: { n: 2 } }]);
  await reject(channel, 'mails', 2);
  await broker.depth('mails.dead', 2);
  const policy = { pattern: '^nothing$', definition: { 'max-length': 5 }, priority: 0, 'apply-to': 'queues' };
  await broker.put('policies/%2F/short', policy);
});

const box = (locator) => locator.evaluate((e) => e.getBoundingClientRect().toJSON());

for (const viewport of [undefined, phone])
  world.test(
    `a short message with a long text and a button is whole (${viewport ? 'phone' : 'desk'})`,
    { viewport },
    async (c) => {
      await c.open('/queues');
      await c.page.evaluate(async () => {
        const { name } = performance.getEntriesByType('resource').find((r) => r.name.includes('lib/layers.js'));
        const { toast } = await import(name);
        toast(`mails.${'very-long-name.'.repeat(12)} was purged`, 'bad', {
          title: 'View them in the lost letters of the virtual host',
          run: () => {},
        });
      });
      const message = c.page.locator('.toast');
      await message.waitFor();
      const out = await message.evaluate((e) => {
        const frame = e.getBoundingClientRect();
        return [...e.querySelectorAll('*')]
          .map((x) => [x.tagName, x.getBoundingClientRect()])
          .filter(([, r]) => r.left < frame.left || r.right > frame.right || r.bottom > frame.bottom)
          .map(([name]) => name);
      });
      assert.deepEqual(out, [], 'what is outside of its box');
      const { left, right } = await box(message);
      assert.ok(left >= 0 && right <= c.page.viewportSize().width, `from ${left} to ${right}`);
    },
  );

world.test('the button that copies is beside the code', async (c) => {
  await c.open('/monitoring');
  await c.settled();
  const gaps = await c.page.locator('.code').evaluateAll((all) =>
    all.map((e) => {
      const [pre, button] = ['pre', 'button'].map((x) => e.querySelector(x).getBoundingClientRect());
      return Math.round(button.left - pre.right);
    }),
  );
  assert.ok(gaps.length >= 2 && gaps.every((gap) => gap >= 0), `gaps of ${gaps} px`);
});

world.test('the menu of columns has its title inside, and no tip over it', async (c) => {
  await c.open('/queues');
  const summary = c.page.locator(`summary[title="${c.say('table.columns')}"]`);
  await summary.waitFor();
  await c.page.getByRole('checkbox', { name: c.say('table.regex'), exact: true }).focus();
  await c.page.keyboard.press('Tab');
  await c.page.locator('.tip').waitFor();
  await c.page.keyboard.press('Enter');
  const frame = c.page.locator('details[open] fieldset');
  const [outer, inner] = [await box(frame), await box(frame.locator('legend'))];
  assert.ok(inner.top >= outer.top + 2, `the title begins ${inner.top - outer.top} px below the border`);
  await c.page.locator('.tip').waitFor({ state: 'hidden' });
});

world.test('the icon of a result stands beside its text', async (c) => {
  await c.open('/definitions');
  await c.field('definitions.file').setInputFiles({
    name: 'one.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify({ queues: [] })),
  });
  await c.button('definitions.do').click();
  await c.text('definitions.done', { name: 'one.json' }).waitFor();
  const result = c.page.locator('.banner.good');
  const [icon, text] = [await box(result.locator('.icon')), await box(result.locator('.said'))];
  assert.ok(icon.right <= text.left && icon.bottom > text.top && icon.top < text.bottom, 'the icon is above the text');
});

world.test('who has delayed retry is not offered it', async (c) => {
  await c.open('/queues/%2F/paced?tab=waiting');
  await c.text('waiting.none_now').waitFor();
  assert.equal(await c.page.getByRole('link', { name: c.say('waiting.make_policy') }).count(), 0);
  await c.open('/queues/%2F/plain?tab=waiting');
  await c.text('waiting.none_text').waitFor();
  await c.page.getByRole('link', { name: c.say('waiting.make_policy') }).waitFor();
});

for (const language of ['en', 'zh-CN'])
  world.test(`a job that watches says what that is (${language})`, { language }, async (c) => {
    const job = await c.broker.post('x/redrives/%2F', {
      source: { queue: 'mails.dead' },
      max: 1,
      options: { canary: 1, watch_ms: 30_000 },
    });
    await until('it to watch', async () => (await c.broker.get(`x/redrives/%2F/${job.id}`)).state === 'watching');
    const hint = c.say('jobs.watches', { time: language === 'en' ? '30\u00a0s' : '30\u00a0秒' });
    await c.open('/jobs');
    const state = c.page.locator(`.tag[title="${hint}"]`).first();
    await state.waitFor();
    await c.page.locator('tr').filter({ has: state }).first().focus();
    await c.page.keyboard.press('Tab');
    await c.page.locator('.tip').getByText(hint, { exact: true }).waitFor();
    await c.accessible();
    await c.open(`/jobs/%2F/${job.id}`);
    await c.page.getByText(hint, { exact: true }).waitFor();
    await c.accessible();
    await c.broker.post(`x/redrives/%2F/${job.id}/cancel`, {});
  });

world.test('a policy is deleted from the head of its page', async (c) => {
  await c.open('/policies');
  await c.page.getByRole('link', { name: 'short', exact: true }).click();
  await c.page.waitForURL(/policies\/edit/);
  await c.button('queues.delete').waitFor();
  await until('the page to have the focus', () => c.page.evaluate(() => document.activeElement?.id === 'main'));
  await c.page.keyboard.press('Tab');
  await c.page.keyboard.press('Tab');
  const focused = await c.page.evaluate(() => document.activeElement.textContent.trim());
  assert.equal(focused, c.say('queues.delete'), 'after two stops');
  await c.page.keyboard.press('Enter');
  await c.button('queues.delete', {}, c.dialog).click();
  await c.text('policies.deleted', { name: 'short' }).waitFor();
  await c.heading('policies.title').waitFor();
});

world.test('several errors are errors', async (c) => {
  await c.open('/lint');
  const tile = c.page.getByRole('main').locator('a.stat.bad');
  await tile.waitFor();
  assert.match(await tile.innerText(), /^2\s*errors$/i);
  await tile.click();
  await c.page.getByText(c.say('lint.only', { what: 'errors' })).waitFor();
});

for (const language of ['en', 'zh-CN'])
  world.test(
    `on a phone the choice of all virtual hosts is whole (${language})`,
    { language, viewport: phone },
    async (c) => {
      await c.open('/queues');
      const [text, space] = await c.page.locator('.vhost select').evaluate((e) => {
        const probe = document.createElement('span');
        const style = getComputedStyle(e);
        probe.style.cssText = `position:absolute;white-space:nowrap;font:${style.font}`;
        probe.textContent = e.selectedOptions[0].textContent;
        document.body.append(probe);
        const arrow = 20;
        const inner = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - arrow;
        const { width } = probe.getBoundingClientRect();
        probe.remove();
        return [width, inner];
      });
      assert.ok(text <= space, `${text} px of text in ${space} px`);
    },
  );

world.test('on a phone a list in its own order says so, and is sorted', { viewport: phone }, async (c) => {
  await c.open('/audit');
  const sort = c.field('table.sort');
  assert.equal(await sort.locator('option:checked').innerText(), '–');
  await sort.selectOption({ label: c.say('users.user') });
  await c.page.waitForURL(/sort=/);
  assert.equal(await sort.locator('option:checked').innerText(), c.say('users.user'));
});

for (const [list, label] of [
  ['users', 'users.create'],
  ['vhosts', 'vhosts.create'],
]) {
  world.test(`creating what exists is refused in the form, and changes nothing (${list})`, async (c) => {
    await c.broker.put(`${list}/taken`, list === 'users' ? { password: 'old', tags: 'management' } : { tags: 'old' });
    const before = await c.broker.get(`${list}/taken`);
    await c.open(`/${list}`);
    await c.button(label).first().click();
    await c.field('queues.name', {}, c.dialog).fill('taken');
    await c.text(`${list}.exists`, { name: 'taken' }).waitFor();
    await c.broker.put(`${list}/later`, list === 'users' ? { password: 'old', tags: '' } : {}); // after the list was read
    await c.field('queues.name', {}, c.dialog).fill('later');
    if (list === 'users') await c.dialog.locator('input[type=password]').fill('new');
    await c.button('create.do', {}, c.dialog).click();
    await c.text(`${list}.exists`, { name: 'later' }).waitFor();
    await c.field('queues.name', {}, c.dialog).fill('taken');
    await c.button('create.do', {}, c.dialog).click();
    await c.text(`${list}.exists`, { name: 'taken' }).waitFor();
    const now = await c.broker.get(`${list}/taken`);
    assert.deepEqual([now.tags, now.password_hash], [before.tags, before.password_hash]);
  });
}

world.test('a list that did not come says no number of queues', async (c) => {
  c.expect(/50\d/);
  await c.page.route(/\/api\/queues\?/, (route) => route.fulfill({ status: 500, json: { error: 'e', reason: 'r' } }));
  await c.open('/queues');
  await c.page.getByRole('alert').first().waitFor();
  assert.equal(await c.text('queues.legend', { n: 0 }).count(), 0);
});

world.test('how a duration is understood is announced when the typing pauses', async (c) => {
  await c.open('/queues/%2F/plain');
  await c.button('publish.do').click();
  const field = c.field('publish.deliver_after', {}, c.dialog);
  const heard = () =>
    c.page.evaluate(() => {
      const live = [...document.querySelectorAll('[aria-live], [role=status]')];
      return live.map((e) => e.textContent.replace(/\s+/g, ' ')).filter((text) => text.startsWith('='));
    });
  await field.press('1');
  await c.dialog.getByText('= 1', { exact: false }).first().waitFor();
  assert.deepEqual(await heard(), [], 'it was not finished');
  await field.press('h');
  const time = c.say('duration.is', { time: '1 hour' });
  await until('it to be heard', async () => (await heard()).includes(time));
});

for (const language of ['en', 'zh-CN'])
  world.test(
    `what keys change is announced, and a missing exchange is named (${language})`,
    { language },
    async (c) => {
      const heard = (text) =>
        until(`"${text}" to be heard`, () =>
          c.page.evaluate(
            (said) => [...document.querySelectorAll('[aria-live], [role=status]')].some((e) => e.textContent === said),
            text,
          ),
        );
      await c.open('/schedule');
      await c.settled();
      await c.page.keyboard.press('p');
      await heard(c.say('frame.live_off'));
      await c.page.keyboard.press('p');
      await heard(c.say('frame.live_on'));
      await c.page.keyboard.press('t');
      await heard(c.say('frame.theme', { name: c.say('theme.light') }));
      c.expect(/404/);
      await c.choose('palette.schedule');
      const exchange = c.field('publish.exchange', {}, c.dialog);
      await exchange.fill('laterlater');
      await c.button('publish.do', {}, c.dialog).click();
      await c.dialog
        .getByRole('alert')
        .filter({ hasText: c.say('publish.no_exchange', { name: 'laterlater', vhost: '/' }) })
        .waitFor();
      await until('the exchange to be marked', async () => (await exchange.getAttribute('aria-invalid')) === 'true');
    },
  );
