// The way in.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';

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
