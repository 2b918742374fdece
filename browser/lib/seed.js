// A broker as one finds it in the field: orders, payments, retries, reminders; some of it goes wrong.
import { until } from './wait.js';

const topic = { durable: true };

/** Declares queues of the form {name: arguments}, all durable. */
export async function queues(channel, of) {
  for (const [name, args] of Object.entries(of)) await channel.assertQueue(name, { durable: true, arguments: args });
}

/** Publishes and waits for the confirms; each message is {body, ...properties}. Resolves when the broker has all. */
export async function publish(channel, exchange, key, messages) {
  for (const { body, ...properties } of messages) {
    channel.publish(exchange, key, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), {
      persistent: true,
      contentType: 'application/json',
      ...properties,
    });
  }
  await channel.waitForConfirms();
}

/** Rejects the next n messages of a queue, as a consumer that cannot work does. */
export async function reject(channel, queue, n) {
  await channel.prefetch(Math.min(n, 1000));
  let rejected = 0;
  const { consumerTag } = await channel.consume(queue, (m) => {
    if (m === null || rejected >= n) return;
    rejected++;
    channel.nack(m, false, false);
  });
  await until(`${n} messages of ${queue} to be rejected`, () => rejected >= n || { rejected });
  await channel.cancel(consumerTag);
}

const customers = ['acme', 'globex', 'initech', 'umbrella', 'hooli'];
/** @type {[string, (i: number) => string][]} */
const errors = [
  ['com.example.PaymentDeclined', (i) => `Card of order ${4711 + i} was declined`],
  ['com.example.PaymentDeclined', (i) => `Card of order ${4711 + i} was declined`],
  ['java.net.SocketTimeoutException', (i) => `connect to 10.0.3.${i % 250}:8443 timed out after ${2000 + i} ms`],
  ['java.lang.NullPointerException', () => 'Cannot invoke "Address.zip()" because "order.shipTo" is null'],
];

/** The i-th order, and what a framework noted about its failure. */
export function order(i) {
  const [type, text] = errors[i % errors.length];
  const customer = customers[i % customers.length];
  return {
    body: {
      order: { id: 4711 + i, total: ((i * 37) % 400) + 0.95, currency: 'EUR' },
      customer,
      items: [{ sku: `B-${100 + (i % 9)}`, n: 1 + (i % 3) }],
      shipTo: i % 4 === 3 ? null : { zip: `10${i % 100}`, city: 'Berlin' },
    },
    messageId: `order-${4711 + i}`,
    correlationId: `cart-${Math.floor(i / 3)}`,
    appId: 'shop',
    type: 'OrderCreated',
    timestamp: 1_790_000_000 + i * 7,
    headers: { tenant: customer, 'error-message': text(i), 'exception-fqcn': type },
  };
}

/** A queue NAME whose rejected messages come to NAME.dead. */
export async function pair(channel, name, n = 0) {
  await queues(channel, {
    [name]: { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': `${name}.dead` },
    [`${name}.dead`]: {},
  });
  if (n === 0) return;
  await publish(
    channel,
    '',
    name,
    Array.from({ length: n }, (_, i) => ({ ...order(i), messageId: `${name}-${i}` })),
  );
  await reject(channel, name, n);
}

/** Fills a broker; the names are those that the specs and the pictures use. */
export async function field(broker) {
  const work = await broker.channel('order-service');
  await work.assertExchange('orders', 'topic', topic);
  await work.assertExchange('orders.dlx', 'topic', topic);
  await work.assertExchange('payments', 'direct', topic);
  await work.assertExchange('payments.dlx', 'direct', topic);
  await work.assertExchange('reminders', 'x-delayed-message', {
    durable: true,
    arguments: { 'x-delayed-type': 'direct' },
  });
  await queues(work, {
    'orders.created': { 'x-dead-letter-exchange': 'orders.dlx', 'x-dead-letter-routing-key': 'orders.dead' },
    'orders.dead': {},
    'payments.charge': { 'x-queue-type': 'quorum', 'x-dead-letter-exchange': 'payments.dlx', 'x-delivery-limit': 3 },
    'payments.dead': { 'x-queue-type': 'quorum' },
    thumbnails: { 'x-max-length': 200, 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'thumbnails.dead' },
    'thumbnails.dead': { 'x-message-ttl': 86_400_000 },
    'webhooks.send': { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'webhooks.retry' },
    'webhooks.retry': {
      'x-message-ttl': 3_600_000,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': 'webhooks.send',
    },
    'legacy.import': { 'x-dead-letter-exchange': 'import.failed' },
    'mail.welcome': { 'x-expires': 86_400_000, 'x-max-priority': 5 },
    'mail.reminder': {},
  });
  for (const [queue, exchange, key] of [
    ['orders.created', 'orders', 'order.created'],
    ['orders.dead', 'orders.dlx', '#'],
    ['payments.charge', 'payments', 'charge'],
    ['payments.dead', 'payments.dlx', 'charge'],
    ['mail.reminder', 'reminders', 'mail'],
  ])
    await work.bindQueue(queue, exchange, key);
  await broker.put('policies/%2F/thumbs', {
    pattern: '^thumbnails$',
    definition: { overflow: 'drop-head' },
    'apply-to': 'queues',
    priority: 1,
  });
  await broker.put('policies/%2F/mail', {
    pattern: '^mail\\.',
    definition: { 'message-ttl': 604_800_000 },
    'apply-to': 'queues',
    priority: 0,
  });
  await broker.put('operator-policies/%2F/cap', {
    pattern: '.*',
    definition: { 'max-length': 1_000_000 },
    'apply-to': 'queues',
    priority: 0,
  });

  await publish(
    work,
    'orders',
    'order.created',
    Array.from({ length: 120 }, (_, i) => order(i)),
  );
  await reject(await broker.channel('shipping-service'), 'orders.created', 120);
  await publish(
    work,
    'payments',
    'charge',
    Array.from({ length: 30 }, (_, i) => ({ body: { charge: i, amount: 100 + i }, messageId: `charge-${i}` })),
  );
  await reject(await broker.channel('payment-service'), 'payments.charge', 12);
  await publish(
    work,
    '',
    'thumbnails',
    Array.from({ length: 240 }, (_, i) => ({ body: { image: `img-${i}.jpg`, width: 320 } })),
  );
  await publish(
    work,
    '',
    'legacy.import',
    Array.from({ length: 8 }, (_, i) => ({ body: `row;${i};x`, contentType: 'text/csv', messageId: `row-${i}` })),
  );
  await reject(await broker.channel('importer'), 'legacy.import', 8);
  await publish(
    work,
    '',
    'webhooks.send',
    Array.from({ length: 5 }, (_, i) => ({
      body: { hook: `https://example.com/hooks/${i}`, attempt: 1 },
      messageId: `hook-${i}`,
    })),
  );
  await reject(await broker.channel('webhook-sender'), 'webhooks.send', 5);
  await publish(
    work,
    '',
    'mail.welcome',
    Array.from({ length: 40 }, (_, i) => ({ body: { to: `${customers[i % 5]}@example.com` }, priority: i % 5 })),
  );
  for (let i = 0; i < 60; i++) {
    await publish(work, 'reminders', 'mail', [
      {
        body: { remind: `cart-${i}` },
        messageId: `reminder-${i}`,
        headers: { 'x-delay': 3_600_000 + ((i * i * 7_919) % 400) * 3_600_000 },
      },
    ]);
  }
  for (const queue of ['orders.created', 'payments.charge', 'mail.reminder']) {
    const worker = await broker.channel(queue === 'payments.charge' ? 'payment-service' : 'order-service');
    await worker.prefetch(10);
    await worker.consume(queue, () => {}, { consumerTag: `worker-${queue}` });
  }
  await broker.put('users/erika', { password: 'erika', tags: 'management' });
  await broker.put('permissions/%2F/erika', { configure: '^$', write: '^$', read: '^payments\\.' });
  await broker.put('users/otto', { password: 'otto', tags: 'monitoring,policymaker' });
  await broker.put('permissions/%2F/otto', { configure: '.*', write: '.*', read: '.*' });
  await broker.put('vhosts/staging', { description: 'where it is tried first', tags: 'test' });
  await broker.put('vhost-limits/staging/max-queues', { value: 100 });
  await broker.depth('orders.dead', 120);
  await broker.depth('payments.dead', 12);
  await broker.depth('thumbnails.dead', 40);
}
