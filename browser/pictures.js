// Takes the pictures of docs/console.md from the running product.
//
//   pictures.js [BINARY [DIRECTORY]]    BINARY is build/bartleby, DIRECTORY docs/images unless named
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { Broker } from './lib/broker.js';
import { World, launching } from './lib/console.js';
import { field, order, publish, reject } from './lib/seed.js';
import { until } from './lib/wait.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const [binary = join(root, 'build/bartleby'), directory = join(root, 'docs/images')] = process.argv.slice(2);
process.env.BARTLEBY = resolve(binary);
mkdirSync(directory, { recursive: true });

const world = new World();
world.broker = await Broker.start('pictures');
world.browser = await chromium.launch(launching);
const { broker } = world;
const usual = { width: 1200, height: 750 };

/**
 * Opens a path, does what makes the picture, and takes it.
 * @param {string} name
 * @param {string} path
 * @param {{does?: (c: import('./lib/console.js').Console) => any, viewport?: object, scheme?: string, language?: string}} [options]
 */
async function picture(name, path, { does = async () => {}, ...options } = {}) {
  const c = await world.console({ viewport: usual, ...options });
  await c.open(path);
  await c.settled();
  await does(c);
  await c.settled();
  await c.page.screenshot({ path: join(directory, `${name}.png`), animations: 'disabled' });
  await c.context.close();
  console.log(`${name}.png`);
}

try {
  await field(broker);
  // A dead letter that went round: rejected, waited, rejected again.
  const channel = await broker.channel('retrier');
  await broker.put('queues/%2F/invoice.render', {
    durable: true,
    arguments: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'invoice.retry' },
  });
  await broker.put('queues/%2F/invoice.retry', {
    durable: true,
    arguments: {
      'x-message-ttl': 700,
      'x-max-length': 1,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': 'invoice.dead',
    },
  });
  await broker.put('queues/%2F/invoice.dead', { durable: true });
  await publish(channel, '', 'invoice.render', [{ ...order(2), messageId: 'invoice-2047', type: 'InvoiceRequested' }]);
  await reject(channel, 'invoice.render', 1);
  await broker.depth('invoice.dead', 1);
  const [message] = (await broker.get('x/queues/%2F/invoice.dead/messages')).items;
  // Figures of a while, for the charts.
  const ticking = setInterval(
    () =>
      publish(
        channel,
        '',
        'mail.welcome',
        Array.from({ length: 20 + Math.floor(30 * Math.random()) }, () => ({ body: { to: 'new@example.com' } })),
      ).catch(() => {}),
    250,
  );
  const begun = Date.now();
  await until('some figures', async () => Date.now() - begun > 25_000, 60_000);
  clearInterval(ticking);
  await until(
    'the index to have all',
    async () => (await broker.get('x/letters/%2F/groups?by=exception')).groups.length >= 3,
  );

  await picture('console-overview', '/?range=1m');
  await picture('console-groups', '/letters?view=groups&by=exception', { viewport: { width: 1250, height: 720 } });
  await picture('console-letter', `/letters/%2F/queue/invoice.dead/${message.id}`);
  await picture('console-redrive', '/letters?view=list&filter=queue:orders.dead', {
    does: async (c) => {
      await c.button('redrive.found').click();
      await c.button('redrive.try', {}, c.dialog).click();
      await c.dialog.getByText(c.say('redrive.would_move', { n: 120 })).waitFor();
    },
  });
  await picture('console-topology', '/topology', { scheme: 'dark', viewport: { width: 1200, height: 900 } });
  await picture('console-queue', '/queues/%2F/orders.created', {
    viewport: { width: 1200, height: 640 },
    does: (c) => c.heading('paths.title').evaluate((heading) => heading.closest('section').scrollIntoView()),
  });
  await picture('console-schedule', '/schedule');
  await picture('console-chinese', '/letters?view=groups&by=source', { language: 'zh-CN' });
  await picture('console-policy', '/policies/edit', {
    does: async (c) => {
      await c.field('queues.name').fill('dead-letters');
      await c.field('policies.pattern').fill('^(mail|thumbnails)');
      await c.field('setting.dead-letter-exchange').fill('orders.dlx');
      await c.page
        .getByRole('region', { name: c.say('trial.title'), exact: true })
        .getByRole('row')
        .filter({ hasText: 'mail.welcome' })
        .waitFor();
    },
  });
} finally {
  await world.browser.close();
  await broker.stop();
}
