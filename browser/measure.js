// Measures how fast the console is: what a browser itself says of its first paint, what it fetched until then and in all, and how
// long the lists take. bench/console.sh calls it.
//
//   measure.js BINARY...    one broker each, which are measured by turns
//
// RUNS (7) is how often each is measured, QUEUES (10000) and LETTERS (300000) how many of them there are; 0 leaves that part out.
// WATERFALL=1 shows when each file of a first view was asked for, and was there.
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { basename, resolve } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { Broker } from './lib/broker.js';
import { desk, launching } from './lib/console.js';
import { until } from './lib/wait.js';

const runs = Number(process.env.RUNS || 7);
const queues = Number(process.env.QUEUES || 10_000);
const deadLetters = Number(process.env.LETTERS || 300_000);
const binaries = process.argv.slice(2).map((b) => resolve(b));

// Notes in the page when what a selector names is there and painted.
const watch = (shown) => {
  globalThis.seen = {};
  const look = () => {
    for (const [name, selector] of Object.entries(shown)) {
      if (name in globalThis.seen || !document.querySelector(selector)) continue;
      globalThis.seen[name] = null;
      requestAnimationFrame(() =>
        setTimeout(() => {
          globalThis.seen[name] = performance.now();
        }),
      );
    }
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
};

/** @typedef {{user?: boolean, context?: import('playwright-core').BrowserContext, after?: (page: import('playwright-core').Page) => Promise<any>}} Options */

/** Opens a path in a browser without a cache, or with what an earlier view left, and says when what was there. */
async function view(broker, browser, path, shown, /** @type {Options} */ { user = true, context: kept, after } = {}) {
  const context = kept || (await browser.newContext({ viewport: desk, locale: 'en' }));
  if (user && !kept)
    await context.request.post(`${broker.http}/api/x/session`, { form: { username: 'guest', password: 'guest' } });
  const page = await context.newPage();
  const spent = processorTime();
  await page.addInitScript(watch, shown);
  const bytes = [];
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  session.on('Network.loadingFinished', (e) => bytes.push(e.encodedDataLength));
  await page.goto(broker.http + path, { waitUntil: 'commit' });
  await page.waitForFunction(
    (names) =>
      names.every((n) => globalThis.seen?.[n] > 0) && performance.getEntriesByName('first-contentful-paint').length > 0,
    Object.keys(shown),
    { timeout: 60_000 },
  );
  const processor = processorTime() - spent;
  const got = await page.evaluate(() => {
    const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime;
    const entries = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType('resource'));
    const [page] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType('navigation'));
    const files = entries.map((r) => ({
      name: r.name.replace(/^.*\/assets\/[0-9a-f]+/, '').replace(/^https?:\/\/[^/]+/, ''),
      from: r.startTime,
      asked: r.requestStart,
      to: r.responseEnd,
    }));
    return { paint, files, seen: globalThis.seen, scripts: page.responseEnd };
  });
  got.kilobytes = bytes.reduce((a, b) => a + b, 0) / 1000;
  got.requests = bytes.length;
  got.processor = processor;
  got.before = 1 + got.files.filter((f) => f.to <= got.paint).length;
  if (after) got.after = await after(page);
  await page.close();
  if (!kept) await context.close();
  return got;
}

/** The processor time that the browser's processes have had, in ms: on a machine that does other things, too, it is the steadier figure. */
function processorTime() {
  let ticks = 0;
  for (const pid of readdirSync('/proc').filter((f) => /^\d+$/.test(f))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' '); // from the state on
      if (Number(fields[2]) === browserGroup) ticks += fields.slice(11, 15).reduce((a, b) => a + Number(b), 0);
    } catch {
      // it has ended
    }
  }
  return ticks * 10;
}

const middle = (values) => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
const range = (values, unit = ' ms') =>
  `${Math.round(middle(values))}${unit} (${Math.round(Math.min(...values))} to ${Math.round(Math.max(...values))})`;

/** Each broker is viewed in turn, so that what else the machine does is spread over all; the table has a row for each. */
async function table(title, columns, brokers, once) {
  const got = new Map(brokers.map((b) => [b, []]));
  for (let i = 0; i < runs; i++) for (const b of brokers) got.get(b).push(await once(b));
  console.log(`\n${title}, median of ${runs} (least to most); load ${loadavg()[0].toFixed(1)}\n`);
  console.log(`| | ${Object.keys(columns).join(' | ')} |\n|--|${'--|'.repeat(Object.keys(columns).length)}`);
  for (const [b, all] of got)
    console.log(
      `| ${b.name} | ${Object.values(columns)
        .map((c) => c(all))
        .join(' | ')} |`,
    );
}

const ms = (pick) => (all) => range(all.map(pick));
const figure = (pick, unit) => (all) => range(all.map(pick), unit);

async function firstViews(brokers, browser) {
  const overview = {
    frame: '#nav a',
    data: '.card.dead .figure b',
    page: '.card[aria-labelledby=top] :is(li, p)',
  };
  const columns = {
    'first paint': ms((v) => v.paint),
    'the frame with its words': ms((v) => v.seen.frame),
    'the dead-letter panel with its figures': ms((v) => v.seen.data),
    'fetched until the first paint': figure((v) => v.before, ''),
    'transferred in all': figure((v) => v.kilobytes, ' kB'),
    requests: figure((v) => v.requests, ''),
    "the browser's processor time": ms((v) => v.processor),
  };
  // Without a queue, the overview shows the first steps instead.
  for (const b of brokers) await b.put('queues/%2F/orders', { durable: true });
  for (const b of brokers) await view(b, browser, '/', overview); // the first has the browser read its own files
  await table('First view of the overview, nothing in the cache', columns, brokers, (b) =>
    view(b, browser, '/', overview),
  );
  if (process.env.WATERFALL) {
    for (const b of brokers) {
      const v = await view(b, browser, '/', overview);
      console.log(
        `\n${b.name}: first paint ${Math.round(v.paint)}, frame ${Math.round(v.seen.frame)}, figures ${Math.round(v.seen.data)}`,
      );
      for (const f of v.files)
        console.log(
          `${String(Math.round(f.from)).padStart(6)} ${String(Math.round(f.asked)).padStart(6)} ${String(Math.round(f.to)).padStart(6)} ${f.name}`,
        );
    }
  }
  await table('The same again, files in the cache', columns, brokers, async (b) => {
    const context = await browser.newContext({ viewport: desk, locale: 'en' });
    await context.request.post(`${b.http}/api/x/session`, { form: { username: 'guest', password: 'guest' } });
    await view(b, browser, '/', overview, { context });
    const second = await view(b, browser, '/', overview, { context });
    await context.close();
    return second;
  });
  const login = { form: 'form input' };
  await table(
    'The login page',
    {
      'first paint': ms((v) => v.paint),
      'the form': ms((v) => v.seen.form),
      'transferred in all': figure((v) => v.kilobytes, ' kB'),
    },
    brokers,
    (b) => view(b, browser, '/', login, { user: false }),
  );
}

async function manyQueues(brokers, browser) {
  for (const b of brokers) {
    await b.post('definitions', {
      queues: Array.from({ length: queues }, (_, i) => ({
        name: `tenant.${String(i).padStart(5, '0')}`,
        vhost: '/',
        durable: true,
        auto_delete: false,
        arguments: i % 2 ? { 'x-message-ttl': 60_000 } : {},
      })),
    });
  }
  const last = `tenant.${String(queues - 1).padStart(5, '0')}`;
  const filter = async (page) => {
    const begun = Date.now();
    await page.locator('.table-tools input[type=search]').fill(last);
    await page.locator('tbody tr', { hasText: last }).waitFor();
    return Date.now() - begun;
  };
  await table(
    `The list of ${queues} queues`,
    { 'first rows': ms((v) => v.seen.row), "a filter's answer": ms((v) => v.after) },
    brokers,
    (b) => view(b, browser, '/queues', { row: 'tbody tr[data-index]' }, { after: filter }),
  );
}

async function manyDeadLetters(brokers, browser) {
  for (const b of brokers) {
    await b.put('queues/%2F/letters', { durable: true });
    await b.put('policies/%2F/die', {
      pattern: '^perf',
      definition: { 'max-length': 0, 'dead-letter-exchange': '', 'dead-letter-routing-key': 'letters' },
      'apply-to': 'queues',
    });
    await promisify(execFile)(
      b.binary,
      [
        'perf',
        'backlog',
        '-count',
        String(deadLetters),
        '-size',
        '512',
        '-persistent',
        '-confirms',
        '1000',
        '-drain',
        '1s',
        '-url',
        b.amqp,
      ],
      { timeout: 300_000 },
    ).catch(() => {}); // nothing is drained
    await until(
      'the index to have all',
      async () => {
        const index = await b.get('x/index');
        return (index.behind === 0 && index.letters > 0) || index;
      },
      300_000,
    );
  }
  const row = { row: 'tbody tr[data-index]' };
  const columns = { 'first rows': ms((v) => v.seen.row) };
  await table(`A list of ${deadLetters} dead letters`, columns, brokers, (b) =>
    view(b, browser, '/letters?view=list', row),
  );
  await table('Those of one queue', columns, brokers, (b) =>
    view(b, browser, '/letters?view=list&filter=queue:letters', row),
  );
  await table('Groups of them by source', columns, brokers, (b) =>
    view(b, browser, '/letters?view=groups&by=source', { row: 'tbody tr' }),
  );
}

const server = await chromium.launchServer(launching);
const browserGroup = server.process().pid;
const browser = await chromium.connect(server.wsEndpoint());
const brokers = [];
try {
  for (const binary of binaries) {
    process.env.BARTLEBY = binary;
    const broker = await Broker.start(`measure-${brokers.length}`);
    broker.name = basename(binary);
    broker.binary = binary;
    brokers.push(broker);
  }
  await firstViews(brokers, browser);
  if (queues) await manyQueues(brokers, browser);
  if (deadLetters) await manyDeadLetters(brokers, browser);
} finally {
  await server.close();
  for (const b of brokers) await b.stop();
}
