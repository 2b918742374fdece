// The console in a chromium: pages that are watched for errors, found by role and name.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { chromium } from 'playwright-core';
import { Broker } from './broker.js';
import { build, patience, screenshots, until } from './wait.js';
import { words } from './words.js';
import { findings } from './axe.js';

/** How the browser is started: Debian's chromium without its user interface, unless CHROMIUM names another. */
export const launching = {
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
};
export const desk = { width: 1280, height: 800 };
export const phone = { width: 390, height: 844 };

/** @typedef {{language?: string, scheme?: any, viewport?: any, user?: string, timeout?: number}} Own */
/** @typedef {Own & import('playwright-core').BrowserContextOptions} Options */
/** @typedef {Pick<import('playwright-core').Page, 'getByRole' | 'getByLabel' | 'getByText' | 'locator'>} Within */

/** A page of the console, and what went wrong in it. */
export class Console {
  wrong = [];
  /** @type {Broker} */
  broker;
  /** @type {import('playwright-core').BrowserContext} */
  context;
  /** @type {import('playwright-core').Page} */
  page;
  language = 'en';
  /** @type {(key: string, params?: object) => string} */
  say;
  #expected = [];
  #asked = new Set(); // requests without an answer yet

  constructor(world, context, page, language) {
    Object.assign(this, { broker: world.broker, context, page, language, say: words(language) });
    page.setDefaultTimeout(patience);
    page.on('console', (m) => m.type() === 'error' && this.#note(`console: ${m.text()} ${m.location().url}`));
    page.on('pageerror', (e) => this.#note(`exception: ${e.stack || e}`));
    page.on('requestfinished', (r) => this.#asked.delete(r));
    page.on('requestfailed', (r) => this.#asked.delete(r));
    let leaves = false; // another page has been answered, and takes the place of this one
    page.on('response', (r) => {
      leaves ||= r.request().isNavigationRequest() && r.frame() === page.mainFrame();
    });
    page.on('framenavigated', (frame) => {
      // The browser does not tell of each request that it gave up, not even of those that the page began meanwhile.
      if (leaves && frame === page.mainFrame()) {
        leaves = false;
        this.#asked.clear();
      }
    });
    page.on('request', (r) => {
      // The stream does not end, nor does the last request of a page that is left, which asks whether the broker is there.
      if (!/\/api\/x\/(events|session)/.test(r.url())) this.#asked.add(r);
      if (!r.url().startsWith(world.broker.http) && !/^(data|blob|about):/.test(r.url()))
        this.#note(`asked another host: ${r.url()}`);
    });
  }

  #note(what) {
    if (!this.#expected.some((x) => x.test(what))) this.wrong.push(what);
  }

  /** What the browser complains of by itself when the broker refuses, such as /401/, is as it shall be. */
  expect(pattern) {
    this.#expected.push(pattern);
    this.wrong = this.wrong.filter((w) => !pattern.test(w));
  }

  /** Shows a path of the console, such as /queues, in this console's language. */
  async open(path) {
    const url = new URL(this.broker.http + path);
    url.searchParams.set('lang', this.language);
    await this.page.goto(url.href);
    await this.page.locator('h1').first().waitFor();
  }

  /** A session without the login page. */
  async logIn(user = 'guest', password = 'guest') {
    const answer = await this.context.request.post(`${this.broker.http}/api/x/session`, {
      form: { username: user, password },
    });
    assert.equal(answer.status(), 200, await answer.text());
  }

  button(key, params, /** @type {Within} */ within = this.page) {
    return within.getByRole('button', { name: this.say(key, params), exact: true });
  }

  field(key, params, /** @type {Within} */ within = this.page) {
    return within.getByLabel(this.say(key, params), { exact: true });
  }

  heading(key, params) {
    return this.page.getByRole('heading', { name: this.say(key, params), exact: true });
  }

  text(key, params, /** @type {Within} */ within = this.page) {
    return within.getByText(this.say(key, params), { exact: true });
  }

  /** Chooses a row of the palette, by the key of its title. */
  async choose(key) {
    await this.page.keyboard.press('Control+k');
    await this.dialog.getByRole('combobox').fill(this.say(key));
    await this.dialog
      .getByRole('option', { name: this.say(key) })
      .first()
      .waitFor();
    await this.page.keyboard.press('Enter');
  }

  get dialog() {
    return this.page.getByRole('dialog');
  }

  /** Resolves when the page has what it shows: nothing is asked for but the stream of events, and no part is still empty. */
  async settled() {
    let quiet = 0;
    await until('the page to be there', async () => {
      const loading = await this.page.locator('.skeleton').count();
      quiet = loading === 0 && this.#asked.size === 0 ? quiet + 1 : 0;
      return quiet > 2 || { loading, asked: [...this.#asked].map((r) => r.url()) };
    });
    await this.page.evaluate(() =>
      document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))),
    );
  }

  async picture(name, options = {}) {
    await mkdir(screenshots, { recursive: true });
    await this.page.screenshot({ path: join(screenshots, `${name}.png`), animations: 'disabled', ...options });
  }

  /** Fails if axe has findings about what is shown; with rule, by this one alone. */
  async accessible(rule) {
    const found = await findings(this.page, rule);
    assert.deepEqual(found, [], `axe about ${this.page.url()}`);
  }

  /** Fails if the page complained of anything, its content security policy included. */
  clean() {
    assert.deepEqual(this.wrong, [], 'the page complained');
  }
}

/** A broker and a chromium, for the tests of a file. */
export class World {
  name = '';
  /** @type {Broker} */
  broker;
  /** @type {import('playwright-core').Browser} */
  browser;
  #kept = new Map();

  /** Both are there while the tests of the file that calls it run; prepare(broker) gives the broker what they need. */
  static of(name, prepare = async (/** @type {Broker} */ _) => {}) {
    const world = new World();
    world.name = name;
    before(async () => {
      const [broker, browser] = await Promise.all([Broker.start(name), chromium.launch(launching)]);
      Object.assign(world, { broker, browser });
      await prepare(broker);
    });
    after(async () => {
      await world.browser?.close();
      await world.broker?.stop();
    });
    return world;
  }

  /** @param {Options} [options] */
  async #context({ language = 'en', scheme = 'light', viewport = desk, user: _, timeout: __, ...rest } = {}) {
    const context = await this.browser.newContext({
      viewport,
      colorScheme: scheme,
      locale: language,
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
      ...rest,
    });
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (e) =>
        console.error(`the content security policy forbids ${e.violatedDirective} ${e.blockedURI}`),
      );
    });
    return context;
  }

  /**
   * A page that nobody has used. Its browser context may be one that was used before: what a page can store is removed,
   * and what the browser caches is kept.
   * @param {Options} [options]
   */
  async console(options = {}, context = undefined) {
    const { language = 'en', user = 'guest:guest' } = options;
    const used = context;
    context ||= await this.#context(options);
    const page = await context.newPage();
    if (used) {
      const session = await context.newCDPSession(page);
      await session.send('Storage.clearDataForOrigin', { origin: this.broker.http, storageTypes: 'local_storage' });
      await session.detach();
      await context.clearCookies();
    }
    const shown = new Console(this, context, page, language);
    const [name, password] = (user || '').split(':');
    if (user) await shown.logIn(name, password);
    return shown;
  }

  /**
   * A test with a page of its own: words says what is broken if it fails; play gets the console, which has to be clean
   * afterwards. Tests with the same options share a browser context, because loading the console into a new one takes a
   * second; a context is used again only after a test that passed.
   */
  test(words, options, play = options) {
    test(`${this.name}: ${words}`, { timeout: options.timeout || 90_000 }, async (t) => {
      const how = options === play ? {} : options;
      const key = JSON.stringify(how);
      const kept = this.#kept.get(key);
      this.#kept.delete(key);
      const shown = await this.console(how, kept);
      try {
        await play(shown, t);
        shown.clean();
        await shown.page.close();
        this.#kept.set(key, shown.context);
      } catch (error) {
        const path = join(build, `failed-${this.name}-${words.replace(/[^a-z0-9]+/gi, '-').slice(0, 60)}.png`);
        await shown.page.screenshot({ path }).catch(() => {}); // the page may have gone
        if (shown.wrong.length) error.message += `\nthe page complained: ${shown.wrong.join('\n')}`;
        error.message += `\nat ${shown.page.url()}; its picture is ${path.slice(path.indexOf('build/'))}`;
        await shown.context.close();
        throw error;
      }
    });
  }
}
