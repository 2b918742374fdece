'use strict';
// Runs the tutorials and examples that amqplib's package brings, as their users do: each is a process of its own, and what
// they print is what they have received. Writes TAP.
//
//	node amqplib.js DIRECTORY     where amqplib lies, with its dependencies and uuid

const { spawn } = require('node:child_process');
const path = require('node:path');
const readline = require('node:readline');

const directory = process.argv[2];
const patience = 20000; // milliseconds for one line, or for one end

// A Program is an example that runs.
class Program {
  constructor(file, args) {
    this.name = [file, ...args].join(' ');
    this.lines = [];
    this.watchers = new Set();
    this.child = spawn(process.execPath, [path.join(directory, 'examples', file), ...args]);
    for (const stream of [this.child.stdout, this.child.stderr]) {
      readline.createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        this.changed();
      });
    }
    this.ended = false;
    this.child.on('close', (code) => {
      this.ended = true;
      this.code = code;
      this.changed();
    });
  }

  changed() {
    for (const watcher of this.watchers) watcher();
  }

  // until returns when the condition holds; it fails after a while.
  until(what, condition) {
    return new Promise((resolve, reject) => {
      const end = (error) => {
        clearTimeout(timer);
        this.watchers.delete(watcher);
        if (error) reject(error);
        else resolve();
      };
      const watcher = () => {
        if (condition()) end();
      };
      const timer = setTimeout(() => end(new Error(`${this.name}: no ${what} in ${JSON.stringify(this.lines)}`)), patience);
      this.watchers.add(watcher);
      watcher();
    });
  }

  prints(text, times = 1) {
    return this.until(`line with ${text}`, () => this.lines.filter((line) => line.includes(text)).length >= times);
  }

  // ends returns when the program has ended by itself, well.
  async ends() {
    await this.until('end', () => this.ended);
    if (this.code !== 0) throw new Error(`${this.name} ended with ${this.code}: ${this.lines.join('\n')}`);
  }
}

const running = [];

function start(file, ...args) {
  const program = new Program(file, args);
  running.push(program);
  return program;
}

async function run(file, ...args) {
  const program = start(file, ...args);
  await program.ends();
  return program;
}

function equal(seen, expected) {
  if (JSON.stringify(seen) !== JSON.stringify(expected)) {
    throw new Error(`${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`);
  }
}

// deleteQueue spares the next test what this one leaves.
async function deleteQueue(name) {
  const answer = await fetch(`${process.env.MANAGEMENT_URL}/api/queues/%2F/${name}`, {
    method: 'DELETE',
    headers: { authorization: `Basic ${Buffer.from('guest:guest').toString('base64')}` },
  });
  if (!answer.ok) throw new Error(`the queue ${name} cannot be deleted: ${answer.status}`);
}

const received = (program) => program.lines.filter((line) => /^ \[x\] /.test(line) && !line.includes('Done'));

const tests = [];
for (const api of ['tutorials', 'tutorials/callback_api']) {
  const test = (name, body) => tests.push([`${api}: ${name}`, body]);

  test('hello world', async () => {
    await run(`${api}/send.js`);
    const receive = start(`${api}/receive.js`);
    await receive.prints("Received 'Hello World!'");
  });
  test('work queues: the task of a killed worker goes to the next one, and prefetch 1 holds the others back', async () => {
    const slow = start(`${api}/worker.js`);
    await slow.prints('Waiting for messages');
    await run(`${api}/new_task.js`, 'long task'.padEnd(60, '.')); // fifty seconds
    await slow.prints("Received 'long task");
    for (const text of ['one', 'two', 'three']) await run(`${api}/new_task.js`, text);
    slow.child.kill('SIGKILL');
    await slow.until('end', () => slow.ended);
    const worker = start(`${api}/worker.js`);
    await worker.prints("Received 'long task"); // the first again; prefetch 1 keeps the others back
    equal(received(worker).length, 1);
    await deleteQueue('task_queue');
  });
  test('publish and subscribe: each receiver has each message', async () => {
    const two = [start(`${api}/receive_logs.js`), start(`${api}/receive_logs.js`)];
    for (const one of two) await one.prints('Waiting for logs');
    await run(`${api}/emit_log.js`, 'to all');
    for (const one of two) await one.prints('to all');
  });
  test('routing by severity', async () => {
    const errors = start(`${api}/receive_logs_direct.js`, 'error');
    const more = start(`${api}/receive_logs_direct.js`, 'info', 'error');
    for (const one of [errors, more]) await one.prints('Waiting for logs');
    await run(`${api}/emit_log_direct.js`, 'info', 'first');
    await run(`${api}/emit_log_direct.js`, 'error', 'last');
    for (const one of [errors, more]) await one.prints('last');
    equal([received(errors).length, received(more).length], [1, 2]);
  });
  test('topics', async () => {
    const kernel = start(`${api}/receive_logs_topic.js`, 'kern.*');
    const critical = start(`${api}/receive_logs_topic.js`, '*.critical', 'kern.#');
    for (const one of [kernel, critical]) await one.prints('Waiting for logs');
    await run(`${api}/emit_log_topic.js`, 'cron.critical', 'of cron');
    await run(`${api}/emit_log_topic.js`, 'kern.critical', 'of the kernel');
    for (const one of [kernel, critical]) await one.prints('of the kernel');
    equal([received(kernel).length, received(critical).length], [1, 2]);
  });
  test('remote procedure call', async () => {
    const server = start(`${api}/rpc_server.js`);
    await server.prints('Awaiting RPC requests');
    const client = await run(`${api}/rpc_client.js`, '10');
    await client.prints('Got 55');
  });
}
tests.push(
  ['waitForConfirms', async () => (await run('waitForConfirms.js')).prints('All messages done')],
  ['headers exchange', async () => {
    const headers = start('headers.js');
    await headers.prints('hello', 2);
    equal(headers.lines.includes('lost'), false);
  }],
  ['direct reply-to', async () => {
    const server = start('direct_reply_to_server.js');
    await server.prints('To exit');
    const client = await run('direct_reply_to_client.js');
    await client.prints('[.] pong');
    await server.prints('[X] ping');
  }],
  ['generators', async () => {
    await deleteQueue('hello'); // the tutorials' is not durable
    const receive = start('receive_generator.js');
    await receive.prints('consuming message "Hello World!" in generator');
    await run('send_generators.js');
    await receive.prints('consuming message "Hello World!" in generator', 2);
  }],
);

(async () => {
  console.log(`1..${tests.length}`);
  for (const [i, [name, body]] of tests.entries()) {
    try {
      await body();
      console.log(`ok ${i + 1} - ${name}`);
    } catch (error) {
      console.log(`not ok ${i + 1} - ${name}`);
      console.error(`${name}: ${error.stack}`);
    }
    for (const program of running.splice(0)) program.child.kill('SIGKILL');
  }
})();
