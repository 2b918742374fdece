// What a newcomer does, by the keyboard alone: each action is reached with Tab, and the focus is always somewhere that can be seen.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { publish, queues, reject } from '../lib/seed.js';
import { until } from '../lib/wait.js';

const world = World.of('stories', async (broker) => {
  const channel = await broker.channel();
  await queues(channel, {
    orders: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'orders.dead' },
    'orders.dead': {},
  });
  await channel.assertExchange('later', 'x-delayed-message', { arguments: { 'x-delayed-type': 'fanout' } });
  await publish(channel, 'later', '', [{ body: { n: 1 }, headers: { 'x-delay': 3_600_000 } }]);
  const bodies = Array.from({ length: 5 }, (_, n) => ({ body: { n } }));
  await publish(channel, '', 'orders', bodies);
  await reject(channel, 'orders', bodies.length);
  await broker.depth('orders.dead', bodies.length);
});

/** Presses keys; where they lead is looked at after each. */
class Hands {
  constructor(c) {
    this.c = c;
    this.keyboard = c.page.keyboard;
  }

  /** What has the focus: its name, and what is wrong with it for those who see it. */
  focused() {
    return this.c.page.evaluate(() => {
      const e = /** @type {HTMLInputElement} */ (document.activeElement);
      if (!e || e === document.body) return { name: '', wrong: 'nothing has the focus' };
      const label = e.getAttribute('aria-label') || [...(e.labels || [])].map((l) => l.textContent).join(' ');
      const name = (label || e.textContent || '').replace(/\s+/g, ' ').trim();
      const { x, y, width, height, top, bottom } = e.getBoundingClientRect();
      const style = getComputedStyle(e);
      let wrong = '';
      if (width < 2 || height < 2 || style.visibility !== 'visible') wrong = 'hidden';
      else if (bottom < 0 || top > innerHeight) wrong = `outside of the window, at ${top}`;
      else {
        const at = document.elementFromPoint(
          Math.min(Math.max(x + Math.min(width / 2, 60), 1), innerWidth - 2),
          Math.min(Math.max(y + Math.min(height / 2, 12), 1), innerHeight - 2),
        );
        const own = [e, e.labels?.[0], e.closest('tr, .check, .field, label')].filter(Boolean);
        if (at && !own.some((o) => o.contains(at) || at.contains(o)))
          wrong = `covered by ${at.tagName} ${at.className}`;
      }
      return { name: name.slice(0, 80), tag: e.tagName, row: e.matches('tr'), id: e.id, wrong };
    });
  }

  /** What has the focus, when it can be seen. */
  async look() {
    /** @type {Awaited<ReturnType<Hands['focused']>>} */
    let f = { name: '', wrong: 'not asked yet' };
    await until('what has the focus to be seen', async () => {
      f = await this.focused();
      return f.wrong === '' || f;
    });
    return f;
  }

  /** Presses Tab until what has the focus fits. */
  async to(what, fits, key = 'Tab') {
    const passed = [];
    for (let i = 0; i < 90; i++) {
      const f = await this.focused();
      if (fits(f)) return this.look();
      assert.notEqual(f.tag, 'UL', `a list of suggestions has the focus: ${f.name}`);
      passed.push(`${f.tag || ''} ${f.name.slice(0, 30)}${f.wrong ? ` (${f.wrong})` : ''}`);
      await this.keyboard.press(key);
    }
    throw new Error(`Tab does not reach ${what}; it passes ${passed.join(' | ')}`);
  }

  /** Waits until what has this name is given the focus, which takes it from where Tab has come to. */
  async given(name) {
    await until(`${name} to have the focus`, async () => (await this.focused()).name === name);
  }

  async press(name, key = 'Enter') {
    await this.to(name, (f) => f.name === name && f.tag !== 'H1');
    await this.keyboard.press(key);
  }

  /** Runs a command of the palette; of two with that text, that of a kind. */
  async run(text, kind = '') {
    await this.keyboard.press('Control+k');
    await this.c.dialog.waitFor();
    await this.keyboard.type(text);
    const options = this.c.dialog.getByRole('option').filter({ hasText: text });
    await options.filter({ hasText: kind }).first().waitFor();
    await this.keyboard.press('Enter');
    await this.c.dialog.waitFor({ state: 'detached' });
  }
}

world.test('a newcomer logs in, finds a dead letter, and redrives it', { user: '' }, async (c) => {
  c.expect(/401/);
  const h = new Hands(c);
  await c.page.goto(c.broker.http);
  await until('the field for the name to have the focus', async () => (await h.focused()).name === c.say('login.name'));
  await h.keyboard.type('guest');
  await h.keyboard.press('Tab');
  await h.keyboard.type('guest');
  await h.keyboard.press('Enter');
  await c.heading('overview.title').waitFor();
  await h.run('orders.dead', c.say('palette.queue'));
  await c.page.getByRole('heading', { level: 1, name: 'orders.dead' }).waitFor();
  await h.look();
  await h.to('the messages', (f) => f.name.startsWith(c.say('queue.messages')) && f.tag === 'A');
  await h.keyboard.press('Enter');
  await c.page.locator('tr[data-index]').first().waitFor();
  await h.look();
  await h.to('the first message', (f) => f.row);
  await h.keyboard.press('Enter');
  await c.page.waitForURL(/letters\//);
  await c.button('redrive.one').waitFor();
  await h.look();
  await h.press(c.say('redrive.one'));
  await c.dialog.waitFor();
  await h.look();
  await h.to('the pace', (f) => f.name === c.say('redrive.careful'));
  await h.keyboard.press('ArrowDown'); // the queue has no consumer, which a careful redrive waits for
  await h.press(c.say('redrive.try'));
  await c.dialog.getByText(c.say('redrive.would_move', { n: 1 })).waitFor();
  await h.look();
  await h.press(c.say('redrive.begin'));
  await c.broker.depth('orders', 1);
  await h.look();
  await h.given(c.say('redrive.progress'));
  await h.press(c.say('redrive.close'));
  await c.dialog.waitFor({ state: 'detached' });
  await h.look();
});

world.test('a newcomer cancels a scheduled message', async (c) => {
  const h = new Hands(c);
  await c.open('/');
  await h.press(c.say('schedule.title'));
  await c.page.locator('tr[data-index]').first().waitFor();
  await h.look();
  await h.press(c.say('schedule.cancel'));
  await c.dialog.waitFor();
  await h.look();
  await h.press(c.say('schedule.cancel'));
  await c.text('schedule.cancel_done', { n: 1 }).waitFor();
  await h.look();
});

world.test('a newcomer creates a queue with a dead-letter queue, and a policy', async (c) => {
  c.expect(/400 .*dry-run/); // a policy that is not complete yet
  const h = new Hands(c);
  await c.open('/');
  await h.run(c.say('queues.create'));
  await c.heading('create.title').waitFor();
  await until('the name to have the focus', async () => (await h.focused()).name === c.say('queues.name'));
  await h.keyboard.type('invoices');
  await h.press(c.say('create.do'));
  await c.page.getByRole('heading', { level: 1, name: 'invoices' }).waitFor();
  await h.look();
  await c.broker.depth('invoices.dlq', 0);
  await h.run(c.say('policies.create'));
  await until('the name to have the focus', async () => (await h.focused()).name === c.say('queues.name'));
  await h.keyboard.type('again');
  await h.to('the pattern', (f) => f.name === c.say('policies.pattern'));
  await h.keyboard.type('^invoices$');
  await h.to('the kind of retry', (f) => f.name === c.say('setting.delayed-retry-type'));
  await h.keyboard.press('ArrowDown');
  await h.keyboard.press('ArrowDown');
  await h.to('the steps', (f) => f.name === c.say('setting.delayed-retry-steps'));
  await h.keyboard.type('1s, 5s, 30');
  await h.press(c.say('policies.save'));
  await c.text('duration.no_unit', { text: '30', s: '30s', ms: '30ms' }).first().waitFor();
  assert.equal((await h.look()).name, c.say('setting.delayed-retry-steps'), 'the field that is wrong has the focus');
  await h.keyboard.press('End');
  await h.keyboard.type('s');
  await h.press(c.say('policies.save'));
  await c.page.getByRole('link', { name: 'again', exact: true }).waitFor();
  await h.look();
  assert.equal((await c.broker.get('policies/%2F/again')).definition['delayed-retry-steps'], '1s, 5s, 30s');
});

world.test('a newcomer discards dead letters, undoes it, and looks at the jobs', async (c) => {
  const h = new Hands(c);
  await c.open('/queues/%2F/orders.dead?tab=messages');
  await c.page.locator('tr[data-index]').first().waitFor();
  await h.to('the first message', (f) => f.row);
  await h.keyboard.press('Space');
  await c.text('table.selected', { n: 1 }).waitFor();
  await h.to('the action that discards', (f) => f.name.startsWith(c.say('redrive.discard')));
  await h.keyboard.press('Enter');
  await c.dialog.waitFor();
  await h.to('the button that discards', (f) => f.name.startsWith(c.say('redrive.discard')));
  await h.keyboard.press('Enter');
  await h.given(c.say('redrive.progress'));
  await h.press(c.say('redrive.close'));
  await c.dialog.waitFor({ state: 'detached' });
  await h.look();
  await h.press(c.say('lost.title'));
  await c.page.locator('tr[data-index]').first().waitFor();
  await h.look();
  await h.to('the lost letter', (f) => f.row);
  await h.keyboard.press('Space');
  await h.press(c.say('redrive.n', { n: 1 }));
  await c.dialog.waitFor();
  await h.look();
  await h.press(c.say('redrive.try'));
  await c.dialog.getByText(c.say('redrive.would_move', { n: 1 })).waitFor();
  await h.press(c.say('redrive.begin'));
  await h.given(c.say('redrive.progress'));
  await h.press(c.say('redrive.close'));
  await c.dialog.waitFor({ state: 'detached' });
  await h.to('the jobs', (f) => f.tag === 'A' && f.name.startsWith(c.say('jobs.title')));
  await h.keyboard.press('Enter');
  await c.page.locator('tr[data-index]').first().waitFor();
  await h.to('the first job', (f) => f.row);
  await h.keyboard.press('Enter');
  await c.page.waitForURL(/jobs\//);
  await h.look();
});
