// A broker of its own for a file of specs: the real binary, on free ports, with a data directory that goes with it.
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import amqp from 'amqplib';
import { build, until, within } from './wait.js';

const startMillis = 60_000;
const stopMillis = 20_000;

/** n ports of the loopback that nobody listens on, all different. */
async function freePorts(n) {
  const servers = await Promise.all(
    Array.from(
      { length: n },
      () =>
        new Promise((resolve, reject) => {
          const server = createServer();
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((s) => s.address().port);
  await Promise.all(servers.map((s) => new Promise((resolve) => s.close(resolve))));
  return ports;
}

export class Broker {
  #process = null;
  #connections = [];
  name = '';
  directory = '';
  amqp = '';
  http = '';
  binary = '';
  /** @type {string[]} */
  arguments = [];
  /** @type {import('node:fs').WriteStream} */
  log;

  /** Starts one; name is that of its log. */
  static async start(name) {
    const broker = new Broker();
    broker.name = name;
    broker.directory = await mkdtemp(join(tmpdir(), 'bartleby-browser-'));
    const [amqpPort, http, prometheus] = await freePorts(3);
    broker.amqp = `amqp://guest:guest@127.0.0.1:${amqpPort}`;
    broker.http = `http://127.0.0.1:${http}`;
    broker.arguments = [
      'serve',
      '--data',
      join(broker.directory, 'data'),
      '--listen',
      `127.0.0.1:${amqpPort}`,
      '--management',
      `127.0.0.1:${http}`,
      '--prometheus',
      `127.0.0.1:${prometheus}`,
    ];
    await mkdir(build, { recursive: true });
    broker.log = createWriteStream(join(build, `${name}.broker.log`));
    await broker.run();
    return broker;
  }

  /** Runs the binary; resolves when it serves. */
  async run() {
    const child = spawn(process.env.BARTLEBY, this.arguments, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    this.ended = new Promise((resolve) => child.once('close', resolve));
    let said = '';
    const serves = new Promise((resolve, reject) => {
      const read = (data) => {
        this.log.write(data);
        if (said === null) return;
        said += data;
        if (!said.includes('Server startup complete')) return;
        said = null;
        resolve();
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('error', reject);
      child.once('close', (status) => reject(new Error(`the broker ended with status ${status}: ${said}`)));
    });
    await within(startMillis, 'the broker to start', serves);
  }

  /** Asks the broker to end, and insists after a while; fails unless it ended well by itself. */
  async halt() {
    const child = this.#process;
    child.kill('SIGTERM');
    const insisting = setTimeout(() => child.kill('SIGKILL'), stopMillis);
    const status = await this.ended;
    clearTimeout(insisting);
    if (status !== 0)
      throw new Error(`the broker ended with status ${status}; see build/browser/${this.name}.broker.log`);
  }

  async stop() {
    for (const c of this.#connections) await c.close().catch(() => {}); // it may have gone
    try {
      await this.halt();
    } finally {
      this.log.end();
      await rm(this.directory, { recursive: true, force: true });
    }
  }

  /** A request of the HTTP API as a user; the answer's JSON. Fails with the broker's reason. */
  async api(method, path, body, user = 'guest:guest') {
    const answer = await fetch(`${this.http}/api/${path}`, {
      method,
      headers: { authorization: `Basic ${btoa(user)}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} /api/${path}: ${answer.status} ${text}`);
    return text && JSON.parse(text);
  }

  get(path) {
    return this.api('GET', path);
  }

  put(path, body = {}) {
    return this.api('PUT', path, body);
  }

  post(path, body = {}) {
    return this.api('POST', path, body);
  }

  /** A channel in confirm mode, on a connection of its own that says name of itself. */
  async channel(name = 'console test') {
    const connection = await amqp.connect(this.amqp, { clientProperties: { connection_name: name } });
    connection.on('error', () => {}); // a broker that is restarted ends it
    this.#connections.push(connection);
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => {});
    return channel;
  }

  /** Waits until a queue has this many messages, as the broker says itself. */
  depth(queue, n, vhost = '%2F') {
    return until(`${queue} to have ${n} messages`, async () => {
      const got = await this.get(`queues/${vhost}/${encodeURIComponent(queue)}`);
      return got.messages === n || { messages: got.messages };
    });
  }
}
