// How a queue gets a dead-letter exchange, as clients write it.
export const deadLetterSamples = {
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
  go: `ch.ExchangeDeclare("dlx", "direct", true, false, false, false, nil)
ch.QueueDeclare("orders.dlq", true, false, false, false, nil)
ch.QueueBind("orders.dlq", "orders", "dlx", false, nil)
ch.QueueDeclare("orders", true, false, false, false, amqp.Table{"x-dead-letter-exchange": "dlx"})`,
  dotnet: `await channel.ExchangeDeclareAsync("dlx", "direct", durable: true);
await channel.QueueDeclareAsync("orders.dlq", true, false, false);
await channel.QueueBindAsync("orders.dlq", "dlx", "orders");
await channel.QueueDeclareAsync("orders", true, false, false,
    new Dictionary<string, object?> { ["x-dead-letter-exchange"] = "dlx" });`,
};

// How a message is sent later, through a delayed exchange.
export const delayedSamples = {
  java: `channel.exchangeDeclare("later", "x-delayed-message", true, false, Map.of("x-delayed-type", "direct"));
channel.basicPublish("later", "remind",
    new AMQP.BasicProperties.Builder().headers(Map.of("x-delay", 60000)).build(), body);`,
  python: `channel.exchange_declare("later", "x-delayed-message", durable=True, arguments={"x-delayed-type": "direct"})
channel.basic_publish("later", "remind", body,
    pika.BasicProperties(headers={"x-delay": 60000}))`,
  node: `await channel.assertExchange('later', 'x-delayed-message', { durable: true, arguments: { 'x-delayed-type': 'direct' } });
channel.publish('later', 'remind', body, { headers: { 'x-delay': 60000 } });`,
  go: `ch.ExchangeDeclare("later", "x-delayed-message", true, false, false, false, amqp.Table{"x-delayed-type": "direct"})
ch.PublishWithContext(ctx, "later", "remind", false, false,
	amqp.Publishing{Headers: amqp.Table{"x-delay": 60000}, Body: body})`,
  dotnet: `await channel.ExchangeDeclareAsync("later", "x-delayed-message", durable: true,
    arguments: new Dictionary<string, object?> { ["x-delayed-type"] = "direct" });
var p = new BasicProperties { Headers = new Dictionary<string, object?> { ["x-delay"] = 60000 } };
await channel.BasicPublishAsync("later", "remind", false, p, body);`,
};
