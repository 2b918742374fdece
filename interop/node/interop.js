// amqplib against a running broker: dead letters, confirms, returns, prefetch, cancellation, delayed messages.
//
// The broker is the one AMQP_URL names. Ends with a line "N passed, N failed" and a status other than 0 if one failed.
'use strict';

const assert = require('node:assert/strict');
const amqp = require('amqplib');

const url = process.env.AMQP_URL || 'amqp://guest:guest@127.0.0.1:5672/';
const bartleby = process.env.PRODUCT === 'bartleby';
const waitMillis = 10_000;
// Generous to a busy machine; never being early is held exactly.
const lateMillis = 1500;

/** Fails with the words given unless the promise settles in time. */
async function within(words, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${words} within ${waitMillis} ms`)), waitMillis);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Things that arrive, and one reader that waits for them. */
class Arrivals {
  #things = [];
  #waiting = [];

  add(thing) {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(thing);
    else this.#things.push(thing);
  }

  take(words) {
    if (this.#things.length > 0) return Promise.resolve(this.#things.shift());
    return within(words, new Promise((resolve) => this.#waiting.push(resolve)));
  }

  get length() {
    return this.#things.length;
  }
}

/** One connection with a channel in confirm mode; what was declared through it is deleted at the end. */
class Session {
  static async open(name) {
    const session = new Session();
    session.prefix = `interop.node.${name}.`;
    session.queues = [];
    session.exchanges = [];
    session.connection = await amqp.connect(url);
    session.channel = await session.connection.createConfirmChannel();
    return session;
  }

  async close() {
    const cleaning = await this.connection.createChannel();
    for (const queue of this.queues) await cleaning.deleteQueue(queue);
    for (const exchange of this.exchanges) await cleaning.deleteExchange(exchange);
    await this.connection.close();
  }

  async queue(name, args = {}) {
    const queue = this.prefix + name;
    await this.channel.deleteQueue(queue);
    this.queues.push(queue);
    await this.channel.assertQueue(queue, { durable: false, arguments: args });
    return queue;
  }

  async exchange(name, type, args = {}) {
    const exchange = this.prefix + name;
    await this.channel.deleteExchange(exchange);
    this.exchanges.push(exchange);
    await this.channel.assertExchange(exchange, type, { durable: false, arguments: args });
    return exchange;
  }

  /** A delayed exchange that routes as a direct one does, and what came through it with the key "task". */
  async delayedExchange() {
    const exchange = await this.exchange('delayed', 'x-delayed-message', { 'x-delayed-type': 'direct' });
    const work = await this.queue('work');
    await this.channel.bindQueue(work, exchange, 'task');
    return { exchange, arrivals: await this.consume(work) };
  }

  /** A topic exchange with a queue behind it that takes every key. */
  async deadLetterQueue() {
    const dlx = await this.exchange('dlx', 'topic');
    const dead = await this.queue('dead');
    await this.channel.bindQueue(dead, dlx, '#');
    return { dlx, dead };
  }

  /** Resolves with the moments before sending and at the confirm; rejects at a nack. */
  publish(exchange, key, body, options) {
    const begun = performance.now();
    return within('confirm', new Promise((resolve, reject) => {
      this.channel.publish(exchange, key, Buffer.from(body), options,
        (err) => (err ? reject(err) : resolve({ begun, confirmed: performance.now() })));
    }));
  }

  async consume(queue, options = { noAck: true }) {
    const arrivals = new Arrivals();
    const { consumerTag } = await this.channel.consume(queue, (message) => {
      arrivals.add({ message, at: performance.now() });
    }, options);
    arrivals.consumerTag = consumerTag;
    return arrivals;
  }

  async ready(queue) {
    return (await this.channel.checkQueue(queue)).messageCount;
  }
}

function assertCame({ message }, exchange, routingKey, body) {
  assert.equal(message.content.toString(), body);
  assert.equal(message.fields.exchange, exchange);
  assert.equal(message.fields.routingKey, routingKey);
  assert.equal(message.fields.redelivered, false);
}

/** Checks all that the broker wrote into a message that died once. */
function assertDied({ message }, since, expected) {
  const { headers, expiration } = message.properties;
  assert.equal(headers['x-death'].length, 1);
  const { time, ...death } = headers['x-death'][0];
  assert.deepEqual(death, { count: 1, ...expected });
  assert.equal(time['!'], 'timestamp', 'time is a timestamp');
  assert.ok(time.value >= Math.floor(since / 1000) && time.value <= Date.now() / 1000, `died at ${time.value}`);
  for (const which of bartleby ? ['first', 'last'] : ['first']) {
    for (const field of ['reason', 'queue', 'exchange']) {
      assert.equal(headers[`x-${which}-death-${field}`], expected[field]);
    }
  }
  assert.equal(expiration, undefined);
}

const tests = {
  // Broken if a rejected message did not arrive in the dead-letter queue with its history.
  async 'reject reaches dead-letter queue'(session) {
    const { dlx, dead } = await session.deadLetterQueue();
    const normal = await session.exchange('exchange', 'topic');
    const work = await session.queue('work', { 'x-dead-letter-exchange': dlx, 'x-dead-letter-routing-key': 'dl.key' });
    await session.channel.bindQueue(work, normal, '*.normal.key');
    const rejecting = await session.consume(work, { noAck: false });
    const deadLetters = await session.consume(dead);

    const since = Date.now();
    await session.publish(normal, 'a.normal.key', 'unwanted',
      { contentType: 'text/plain', persistent: true, messageId: 'm-1', headers: { tenant: 'blue' } });
    session.channel.reject((await rejecting.take('message')).message, false);

    const arrival = await deadLetters.take('dead letter');
    assertCame(arrival, dlx, 'dl.key', 'unwanted');
    assertDied(arrival, since,
      { reason: 'rejected', queue: work, exchange: normal, 'routing-keys': ['a.normal.key'] });
    const { contentType, deliveryMode, messageId, headers } = arrival.message.properties;
    assert.deepEqual([contentType, deliveryMode, messageId, headers.tenant], ['text/plain', 2, 'm-1', 'blue']);
    assert.equal(await session.ready(work), 0);
  },

  // Broken if a message that is requeued died, or came back without the redelivered flag.
  async 'requeue is no death'(session) {
    const { dlx, dead } = await session.deadLetterQueue();
    const work = await session.queue('work', { 'x-dead-letter-exchange': dlx });
    const arrivals = await session.consume(work, { noAck: false });
    await session.publish('', work, 'again');
    session.channel.nack((await arrivals.take('message')).message, false, true);
    const { message } = await arrivals.take('message again');
    assert.equal(message.fields.redelivered, true);
    assert.equal(message.properties.headers?.['x-death'], undefined);
    session.channel.ack(message);
    assert.deepEqual([await session.ready(work), await session.ready(dead)], [0, 0]);
  },

  // Broken if a message expired early or late, by its own expiration or its queue's TTL.
  async 'expiry'(session) {
    const { dlx, dead } = await session.deadLetterQueue();
    const deadLetters = await session.consume(dead);
    const millis = 500;
    const cases = [
      { name: 'own', args: {}, options: { expiration: String(millis) }, extra: { 'original-expiration': '500' } },
      { name: 'ttl', args: { 'x-message-ttl': millis }, options: {}, extra: {} },
    ];
    for (const { name, args, options, extra } of cases) {
      const work = await session.queue(name, { 'x-dead-letter-exchange': dlx, ...args });
      const since = Date.now();
      const { begun, confirmed } = await session.publish('', work, 'too late', options);
      const arrival = await deadLetters.take('dead letter');
      assertCame(arrival, dlx, work, 'too late');
      assertDied(arrival, since, { reason: 'expired', queue: work, exchange: '', 'routing-keys': [work], ...extra });
      assert.ok(arrival.at - begun >= millis, `early: ${arrival.at - begun} ms`);
      assert.ok(arrival.at - confirmed < millis + lateMillis, `late: ${arrival.at - confirmed} ms`);
    }
  },

  // Broken if a full queue let another message die than its oldest.
  async 'maxlen drops the oldest'(session) {
    const { dlx, dead } = await session.deadLetterQueue();
    const deadLetters = await session.consume(dead);
    const work = await session.queue('work', { 'x-dead-letter-exchange': dlx, 'x-max-length': 2 });
    const since = Date.now();
    for (const body of ['1', '2', '3']) await session.publish('', work, body);
    const arrival = await deadLetters.take('dead letter');
    assertCame(arrival, dlx, work, '1');
    assertDied(arrival, since, { reason: 'maxlen', queue: work, exchange: '', 'routing-keys': [work] });
    assert.equal(await session.ready(work), 2);
  },

  // Broken if a message that is stored were not confirmed, or one that is refused were.
  async 'confirms'(session) {
    const work = await session.queue('work', { 'x-max-length': 1, 'x-overflow': 'reject-publish' });
    await session.publish('', work, 'stored');
    await assert.rejects(session.publish('', work, 'refused'), /nacked/);
    assert.equal(await session.ready(work), 1);
  },

  // Broken if a message without a queue did not come back, before its confirm, to a publisher who asked for it.
  async 'mandatory returns'(session) {
    const exchange = await session.exchange('exchange', 'direct');
    const returned = new Arrivals();
    session.channel.on('return', (message) => returned.add(message));
    await session.publish(exchange, 'nowhere', 'back', { mandatory: true });
    assert.equal(returned.length, 1, 'the return comes before the confirm');
    const message = await returned.take('return');
    assert.deepEqual([message.fields.replyCode, message.fields.replyText, message.fields.exchange,
      message.fields.routingKey, message.content.toString()], [312, 'NO_ROUTE', exchange, 'nowhere', 'back']);
  },

  // Broken if a consumer held more messages than its prefetch, or got none after it settled one.
  async 'prefetch'(session) {
    const work = await session.queue('work');
    for (let n = 0; n < 5; n++) await session.publish('', work, String(n));
    await session.channel.prefetch(3);
    const arrivals = await session.consume(work, { noAck: false });
    const held = [];
    for (let n = 0; n < 3; n++) held.push((await arrivals.take('message')).message);
    assert.equal(await session.ready(work), 2);
    assert.equal(arrivals.length, 0);
    session.channel.ack(held[0]);
    assert.equal((await arrivals.take('fourth message')).message.content.toString(), '3');
    assert.equal(await session.ready(work), 1);
  },

  // Broken if a consumer were not told that its queue has gone: amqplib calls it with null.
  async 'queue delete cancels consumer'(session) {
    const work = await session.queue('work');
    const arrivals = await session.consume(work);
    const other = await session.connection.createChannel();
    await other.deleteQueue(work);
    assert.equal((await arrivals.take('cancellation')).message, null);
  },
};

/** What only Bartleby promises: elsewhere delayed messages need a plugin. */
const ours = {
  // Broken if a message were not kept for its delay, a number (100 is sent in 8 bits, which the plugin of RabbitMQ ignores)
  // or text, or waited for one with a longer delay, or came back.
  async 'delayed messages'(session) {
    const { exchange, arrivals } = await session.delayedExchange();
    const returned = new Arrivals();
    session.channel.on('return', (message) => returned.add(message));
    const sent = {};
    for (const delay of [1500, 500, '1000', 100]) {
      sent[delay] = await session.publish(exchange, 'task', String(delay),
        { persistent: true, mandatory: true, headers: { 'x-delay': delay } });
    }
    for (const delay of [100, 500, 1000, 1500]) {
      const arrival = await arrivals.take('delayed message');
      assertCame(arrival, exchange, 'task', String(delay));
      assert.deepEqual({ ...arrival.message.properties.headers }, { 'x-delay': -delay });
      const { begun, confirmed } = sent[delay];
      assert.ok(arrival.at - begun >= delay, `early: ${arrival.at - begun} ms, not ${delay}`);
      assert.ok(arrival.at - confirmed < delay + lateMillis, `late: ${arrival.at - confirmed} ms, not ${delay}`);
    }
    assert.deepEqual([arrivals.length, returned.length], [0, 0]);
  },

  // Broken if a delay that means nothing were taken for no delay.
  async 'delay nonsense'(session) {
    const { exchange, arrivals } = await session.delayedExchange();
    const other = await session.connection.createChannel();
    const refused = new Promise((resolve) => other.on('error', resolve));
    other.publish(exchange, 'task', Buffer.from('m'), { headers: { 'x-delay': 'soon' } });
    const err = await within('refusal', refused);
    assert.equal(err.code, 406);
    assert.match(err.message, /PRECONDITION_FAILED - invalid x-delay 'soon'/);
    assert.equal(arrivals.length, 0);
  },

  // Broken if a message that names the instant of its delivery did not wait in its queue until then.
  async 'delivery time'(session) {
    const work = await session.queue('work');
    const arrivals = await session.consume(work);
    const due = Date.now() + 1000;
    await session.publish('', work, 'later', { headers: { 'x-opt-delivery-time': due } });
    await session.publish('', work, 'now');
    assertCame(await arrivals.take('message'), '', work, 'now');
    assertCame(await arrivals.take('later message'), '', work, 'later');
    const late = Date.now() - due;
    assert.ok(late >= 0 && late < lateMillis, `${late} ms after its instant`);
  },
};

async function main() {
  let failed = 0;
  if (bartleby) Object.assign(tests, ours);
  else for (const name of Object.keys(ours)) console.log(`left out: ${name}, which only Bartleby promises`);
  for (const [name, test] of Object.entries(tests)) {
    const begun = performance.now();
    const session = await Session.open(name.replaceAll(' ', '-'));
    try {
      await test(session);
      console.log(`ok      ${name} (${((performance.now() - begun) / 1000).toFixed(2)} s)`);
    } catch (err) {
      failed++;
      console.log(`FAILED  ${name}\n${err.stack}`);
    } finally {
      await session.close().catch((err) => console.log(`        closing: ${err.message}`));
    }
  }
  console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

main().catch((err) => {
  console.log(err.stack);
  console.log('0 passed, 1 failed');
  process.exit(1);
});
