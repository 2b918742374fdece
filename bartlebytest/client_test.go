package bartlebytest_test

import (
	"testing"

	"github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby/bartlebytest"
)

// client is a real client with one channel. All it does has happened in the broker on return.
type client struct {
	t  testing.TB
	ch *amqp091.Channel
}

func connect(t testing.TB, b *bartlebytest.Broker) client {
	t.Helper()
	conn, err := amqp091.Dial(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	return client{t, ch}
}

// queue declares a durable queue.
func (c client) queue(name string, args amqp091.Table) {
	c.t.Helper()
	if _, err := c.ch.QueueDeclare(name, true, false, false, false, args); err != nil {
		c.t.Fatal(err)
	}
}

// deadLettersTo are the arguments of a queue whose dead letters go to another one, after a TTL in ms if that
// is not 0.
func deadLettersTo(to string, ttl int64) amqp091.Table {
	args := amqp091.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": to}
	if ttl > 0 {
		args["x-message-ttl"] = ttl
	}
	return args
}

// publish waits for the confirm.
func (c client) publish(exchange, key, body string, headers amqp091.Table) {
	c.t.Helper()
	confirm, err := c.ch.PublishWithDeferredConfirm(exchange, key, false, false, amqp091.Publishing{
		Body: []byte(body), Headers: headers, DeliveryMode: amqp091.Persistent,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if !confirm.Wait() {
		c.t.Fatalf("%s was not confirmed", body)
	}
}

// get takes a message out of a queue, unacked.
func (c client) get(queue, body string) amqp091.Delivery {
	c.t.Helper()
	m, ok, err := c.ch.Get(queue, false)
	if err != nil {
		c.t.Fatal(err)
	}
	if !ok || string(m.Body) != body {
		c.t.Fatalf("from %s: %q, found: %v; want %q", queue, m.Body, ok, body)
	}
	return m
}

// ack settles a message.
func (c client) ack(m amqp091.Delivery) {
	c.t.Helper()
	if err := m.Ack(false); err != nil {
		c.t.Fatal(err)
	}
	c.heard()
}

// nack returns a message to its queue.
func (c client) nack(m amqp091.Delivery) {
	c.t.Helper()
	if err := m.Nack(false, true); err != nil {
		c.t.Fatal(err)
	}
	c.heard()
}

// heard waits until the broker has done what the channel asked for.
func (c client) heard() {
	c.t.Helper()
	if err := c.ch.ExchangeDeclarePassive("amq.direct", "direct", true, false, false, false, nil); err != nil {
		c.t.Fatal(err)
	}
}

// count is how many messages are ready in a queue.
func (c client) count(queue string) int {
	c.t.Helper()
	q, err := c.ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return q.Messages
}
