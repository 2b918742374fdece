// How many messages there are, and how many go: pages agree about it, and follow what happens.
import assert from 'node:assert/strict';
import { World } from '../lib/console.js';
import { pair } from '../lib/seed.js';

const world = World.of('figures');

for (const language of ['en', 'zh-CN'])
  world.test(`the button that discards says how many go, as its dialog does (${language})`, { language }, async (c) => {
    const name = `extent.${language}`;
    await pair(await c.broker.channel(), name, 5);
    await c.open(`/letters?view=list&filter=queue:${name}.dead`);
    await c.button('redrive.discard_all', { n: 5 }).click();
    await c.dialog.getByRole('heading', { name: c.say('redrive.discard_title', { n: 5 }) }).waitFor();
    await c.dialog.getByText(c.say('redrive.would_discard', { n: 5 })).waitFor();
    await c.page.keyboard.press('Escape');
    await c.dialog.waitFor({ state: 'detached' });
    const rows = c.page.locator('tbody tr[data-index]');
    for (const i of [0, 2, 3]) await rows.nth(i).getByRole('checkbox').click();
    await c.button('redrive.discard_n', { n: 3 }).click();
    await c.dialog.getByText(c.say('redrive.would_discard', { n: 3 })).waitFor();
    await c.page.keyboard.press('Escape');
    await c.dialog.waitFor({ state: 'detached' });

    await c.open(`/letters?view=groups&by=source&filter=queue:${name}.dead`);
    const group = c.button('letters.discard_group', { group: name });
    await group.waitFor();
    assert.equal(await group.getAttribute('title'), c.say('redrive.discard_all', { n: 5 }));

    await c.open(`/queues/%2F/${name}.dead?tab=messages`);
    await c.button('redrive.discard_all', { n: 5 }).waitFor();
    await c.open(`/queues/%2F/${name}.dead?tab=messages&filter=id:1`);
    await c.button('redrive.discard_matching').waitFor();
    await c.accessible();
  });

world.test('a list has what the index gets late, and what is read stays where it is', async (c) => {
  await pair(await c.broker.channel(), 'late', 60);
  let until = Infinity; // the index is made to look slow until then
  await c.page.route(/api\/x\/letters\/%2F\?/, async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    until = Math.min(until, Date.now() + 6000);
    if (Date.now() >= until) return route.fulfill({ response: answer });
    const index = { ...body.index, behind: 5 };
    return route.fulfill({ response: answer, json: { ...body, items: body.items.slice(5), index } });
  });
  await c.open('/letters?view=list&filter=queue:late.dead');
  const count = (n) => c.page.locator('.count').getByText(c.say('table.rows', { n }), { exact: true });
  await count(55).waitFor();
  const row = c.page.getByRole('row').filter({ hasText: 'late-30' });
  await row.evaluate((e) => e.scrollIntoView({ block: 'center' }));
  const before = await row.boundingBox();
  await count(60).waitFor();
  assert.ok(Math.abs((await row.boundingBox()).y - before.y) < 40, 'what was read has moved');
  await c.page.unrouteAll({ behavior: 'ignoreErrors' });
});

for (const language of ['en', 'zh-CN'])
  world.test(`the overview follows a redrive, and says that it runs (${language})`, { language }, async (c) => {
    const name = `followed.${language}`;
    await pair(await c.broker.channel(), name, 150);
    await c.broker.depth(`${name}.dead`, 150);
    await c.open('/');
    const tile = c.page.locator('.figure.first b');
    const waiting = c.page.getByRole('list', { name: c.say('overview.dlqs') }).getByRole('listitem');
    await waiting.filter({ hasText: name }).getByText('150', { exact: true }).waitFor();
    const before = Number(await tile.textContent().then((x) => x.replace(/\D/g, '')));
    const body = { source: { queue: `${name}.dead` }, action: 'redrive', max: 90, options: { rate: 20 } };
    await c.broker.post('x/redrives/%2F', body);
    await c.page.getByText(c.say('overview.moving', { n: 1 })).waitFor();
    await waiting.filter({ hasText: name }).getByText('60', { exact: true }).waitFor({ timeout: 12_000 });
    assert.equal(Number((await tile.textContent()).replace(/\D/g, '')), before - 90);
  });

world.test('queues are sorted by the course of the last minute, and jobs by how far they are', async (c) => {
  const asked = c.page.waitForRequest(/\/api\/queues[^/]*sort=messages_details\.rate/);
  await c.open('/queues');
  const course = c.page.getByRole('columnheader', { name: c.say('queues.spark') });
  await course.getByRole('button').click();
  await asked;
  await c.page.locator('th[aria-sort=ascending]', { hasText: c.say('queues.spark') }).waitFor();
  await c.open('/queues?show=growing');
  await c.page.locator('th[aria-sort=descending]', { hasText: c.say('queues.spark') }).waitFor();

  await pair(await c.broker.channel(), 'far', 4);
  await c.broker.post('x/redrives/%2F', { source: { queue: 'far.dead' }, options: { watch_ms: 300_000 } });
  await c.open('/jobs');
  const progress = c.page.getByRole('columnheader', { name: c.say('jobs.progress') });
  await progress.getByRole('button').click();
  await c.page.locator('th[aria-sort]', { hasText: c.say('jobs.progress') }).waitFor();
});
