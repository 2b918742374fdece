// What clients write, in five languages. Pure.

const quote = (s) => JSON.stringify(s);
const single = (s) => `'${quote(s).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
const join = (all, write) => all.map((v) => write(v)).join(', ');
const pairs = (o, write) => join(Object.entries(o), ([k, v]) => write(k, v));
const isList = Array.isArray;
const isLong = (v) => Number.isInteger(v) && Math.abs(v) > 2147483647;

// literal writes a value in a language: of says how it writes strings, whole numbers, lists and objects, and words.
/**
 * @param {{string?: (v: string) => string, whole?: (v: number) => string, list: (v: any[]) => string,
 *   object: (v: object) => string, words?: Object<string, string>}} of
 * @returns {(v: any) => string}
 */
const literal =
  ({ string = quote, whole = String, list, object, words = {} }) =>
  (v) => {
    if (typeof v === 'string') return string(v);
    if (typeof v === 'number') return Number.isInteger(v) ? whole(v) : String(v);
    if (isList(v)) return list(v);
    return v !== null && typeof v === 'object' ? object(v) : (words[String(v)] ?? String(v));
  };

const java = literal({
  whole: (v) => (isLong(v) ? `${v}L` : String(v)),
  list: (v) => `List.of(${join(v, java)})`,
  object: (v) => `Map.of(${pairs(v, (k, x) => `${quote(k)}, ${java(x)}`)})`,
});
const python = literal({
  list: (v) => `[${join(v, python)}]`,
  object: (v) => `{${pairs(v, (k, x) => `${quote(k)}: ${python(x)}`)}}`,
  words: { true: 'True', false: 'False', null: 'None' },
});
const node = literal({
  string: single,
  list: (v) => `[${join(v, node)}]`,
  object: (v) => `{ ${pairs(v, (k, x) => `${single(k)}: ${node(x)}`)} }`,
});
const go = literal({
  whole: (v) => `int64(${v})`,
  list: (v) => `[]any{${join(v, go)}}`,
  object: (v) => `amqp.Table{${pairs(v, (k, x) => `${quote(k)}: ${go(x)}`)}}`,
  words: { null: 'nil' },
});
const dotnet = literal({
  whole: (v) => (isLong(v) ? `${v}L` : String(v)),
  list: (v) => `new List<object?> { ${join(v, dotnet)} }`,
  object: (v) => `new Dictionary<string, object?> { ${pairs(v, (k, x) => `[${quote(k)}] = ${dotnet(x)}`)} }`,
});

// connectCode connects to a virtual host of the broker at {host, user, port, tls}, and opens a channel.
export function connectCode(at, vhost) {
  const host = at.host.includes(':') && !at.host.startsWith('[') ? `[${at.host}]` : at.host;
  const user = at.user === 'guest' ? 'guest:guest' : `${encodeURIComponent(at.user)}:PASSWORD`;
  const uri = `${at.tls ? 'amqps' : 'amqp'}://${user}@${host}:${at.port ?? 5672}/${encodeURIComponent(vhost)}`;
  return {
    java: `ConnectionFactory factory = new ConnectionFactory();
factory.setUri(${quote(uri)});
Connection connection = factory.newConnection("my service");
Channel channel = connection.createChannel();`,
    python: `import pika
connection = pika.BlockingConnection(pika.URLParameters(${quote(uri)}))
channel = connection.channel()`,
    node: `import amqp from 'amqplib';
const connection = await amqp.connect(${single(uri)});
const channel = await connection.createConfirmChannel();`,
    go: `connection, err := amqp.Dial(${quote(uri)})
channel, err := connection.Channel()`,
    dotnet: `var factory = new ConnectionFactory { Uri = new Uri(${quote(uri)}) };
await using var connection = await factory.CreateConnectionAsync("my service");
await using var channel = await connection.CreateChannelAsync();`,
  };
}

// declareCode declares a queue {name, durable, auto_delete, arguments}.
export function declareCode({ name, durable, auto_delete: goes, arguments: given }) {
  const args = Object.entries(given || {});
  const lines = (write) => args.map(([k, v]) => `${write(k, v)}\n`).join('');
  const [q, open] = [quote(name), args.length ? '\n' : ''];
  return {
    java: `Map<String, Object> arguments = new HashMap<>();
${lines((k, v) => `arguments.put(${quote(k)}, ${java(v)});`)}channel.queueDeclare(${q}, ${durable}, false, ${goes}, arguments);`,
    python: `channel.queue_declare(${q}, durable=${python(durable)}, auto_delete=${python(goes)}, arguments={${open}${lines((k, v) => `    ${quote(k)}: ${python(v)},`)}})`,
    node: `await channel.assertQueue(${single(name)}, {
  durable: ${durable},
  autoDelete: ${goes},
  arguments: {${open}${lines((k, v) => `    ${single(k)}: ${node(v)},`)}${args.length ? '  ' : ''}},
});`,
    go: `_, err = channel.QueueDeclare(${q}, ${durable}, ${goes}, false, false, amqp.Table{${open}${lines((k, v) => `\t${quote(k)}: ${go(v)},`)}})`,
    dotnet: `await channel.QueueDeclareAsync(${q}, durable: ${durable}, exclusive: false, autoDelete: ${goes},
    arguments: new Dictionary<string, object?> {${open}${lines((k, v) => `        [${quote(k)}] = ${dotnet(v)},`)}${args.length ? '    ' : ''}});`,
  };
}

// bindCode binds a queue to an exchange.
export function bindCode({ queue, exchange, key }) {
  const [q, e, k] = [quote(queue), quote(exchange), quote(key)];
  return {
    java: `channel.queueBind(${q}, ${e}, ${k});`,
    python: `channel.queue_bind(${q}, ${e}, ${k})`,
    node: `await channel.bindQueue(${single(queue)}, ${single(exchange)}, ${single(key)});`,
    go: `err = channel.QueueBind(${q}, ${k}, ${e}, false, nil)`,
    dotnet: `await channel.QueueBindAsync(${q}, ${e}, ${k});`,
  };
}

// consumeCode consumes from a queue, with manual acks.
export function consumeCode(queue) {
  const q = quote(queue);
  return {
    java: `channel.basicQos(20);
channel.basicConsume(${q}, false, deliver, cancel);`,
    python: `channel.basic_qos(prefetch_count=20)
channel.basic_consume(${q}, on_message)
channel.start_consuming()`,
    node: `await channel.prefetch(20);
await channel.consume(${single(queue)}, onMessage);`,
    go: `err = channel.Qos(20, 0, false)
deliveries, err := channel.Consume(${q}, "", false, false, false, false, nil)`,
    dotnet: `await channel.BasicQosAsync(0, 20, false);
await channel.BasicConsumeAsync(${q}, autoAck: false, consumer);`,
  };
}

// deadLetterCode gives a queue a dead-letter exchange, and this one a queue.
export const deadLetterCode = {
  java: `channel.exchangeDeclare("dlx", "direct", true);
channel.queueDeclare("orders.dlq", true, false, false, null);
channel.queueBind("orders.dlq", "dlx", "orders");
channel.queueDeclare("orders", true, false, false, Map.of("x-dead-letter-exchange", "dlx"));`,
  python: `channel.exchange_declare("dlx", "direct", durable=True)
channel.queue_declare("orders.dlq", durable=True)
channel.queue_bind("orders.dlq", "dlx", "orders")
channel.queue_declare("orders", durable=True, arguments={"x-dead-letter-exchange": "dlx"})`,
  node: `await channel.assertExchange('dlx', 'direct', { durable: true });
await channel.assertQueue('orders.dlq', { durable: true });
await channel.bindQueue('orders.dlq', 'dlx', 'orders');
await channel.assertQueue('orders', { durable: true, deadLetterExchange: 'dlx' });`,
  go: `err = channel.ExchangeDeclare("dlx", "direct", true, false, false, false, nil)
_, err = channel.QueueDeclare("orders.dlq", true, false, false, false, nil)
err = channel.QueueBind("orders.dlq", "orders", "dlx", false, nil)
_, err = channel.QueueDeclare("orders", true, false, false, false, amqp.Table{"x-dead-letter-exchange": "dlx"})`,
  dotnet: `await channel.ExchangeDeclareAsync("dlx", "direct", durable: true);
await channel.QueueDeclareAsync("orders.dlq", true, false, false);
await channel.QueueBindAsync("orders.dlq", "dlx", "orders");
await channel.QueueDeclareAsync("orders", true, false, false,
    new Dictionary<string, object?> { ["x-dead-letter-exchange"] = "dlx" });`,
};

// delayedCode sends a message later, through a delayed exchange.
export const delayedCode = {
  java: `channel.exchangeDeclare("later", "x-delayed-message", true, false, Map.of("x-delayed-type", "direct"));
channel.basicPublish("later", "remind",
    new AMQP.BasicProperties.Builder().headers(Map.of("x-delay", 60000)).build(), body);`,
  python: `channel.exchange_declare("later", "x-delayed-message", durable=True, arguments={"x-delayed-type": "direct"})
channel.basic_publish("later", "remind", body,
    pika.BasicProperties(headers={"x-delay": 60000}))`,
  node: `await channel.assertExchange('later', 'x-delayed-message', { durable: true, arguments: { 'x-delayed-type': 'direct' } });
channel.publish('later', 'remind', body, { headers: { 'x-delay': 60000 } });`,
  go: `err = channel.ExchangeDeclare("later", "x-delayed-message", true, false, false, false, amqp.Table{"x-delayed-type": "direct"})
err = channel.PublishWithContext(ctx, "later", "remind", false, false,
	amqp.Publishing{Headers: amqp.Table{"x-delay": 60000}, Body: body})`,
  dotnet: `await channel.ExchangeDeclareAsync("later", "x-delayed-message", durable: true,
    arguments: new Dictionary<string, object?> { ["x-delayed-type"] = "direct" });
var p = new BasicProperties { Headers = new Dictionary<string, object?> { ["x-delay"] = 60000 } };
await channel.BasicPublishAsync("later", "remind", false, p, body);`,
};
