package conformance

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// queue declares a transient, shared queue for the case, deletes it with the case, and returns its name.
func (ch *channel) queue(role string, args ...amqp.Table) string {
	ch.t.Helper()
	return ch.declare(role, false, args...)
}

// durable declares a durable queue for the case, deletes it with the case, and returns its name.
func (ch *channel) durable(role string, args ...amqp.Table) string {
	ch.t.Helper()
	return ch.declare(role, true, args...)
}

func (ch *channel) declare(role string, durable bool, args ...amqp.Table) string {
	ch.t.Helper()
	name := ch.t.name(role)
	_, err := ch.QueueDeclare(name, durable, false, false, false, merge(args))
	ch.t.must(err)
	ch.t.forget(name, "")
	return name
}

// exchange declares a transient exchange for the case, deletes it with the case, and returns its name.
func (ch *channel) exchange(role, kind string, args ...amqp.Table) string {
	ch.t.Helper()
	name := ch.t.name(role)
	ch.t.must(ch.ExchangeDeclare(name, kind, false, false, false, false, merge(args)))
	ch.t.forget("", name)
	return name
}

func merge(tables []amqp.Table) amqp.Table {
	all := amqp.Table{}
	for _, t := range tables {
		for k, v := range t {
			all[k] = v
		}
	}
	return all
}

// bound declares a queue and binds it to an exchange.
func (ch *channel) bound(role, exchange, key string, args ...amqp.Table) string {
	ch.t.Helper()
	q := ch.queue(role, args...)
	ch.bind(q, exchange, key)
	return q
}

func (ch *channel) bind(queue, exchange, key string, args ...amqp.Table) {
	ch.t.Helper()
	ch.t.must(ch.QueueBind(queue, key, exchange, false, merge(args)))
}

// to is the arguments that dead-letter into a queue through the default exchange.
func to(queue string) amqp.Table {
	return amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}
}

// dlx is the arguments that dead-letter into an exchange with the message's own keys.
func dlx(exchange string) amqp.Table { return amqp.Table{"x-dead-letter-exchange": exchange} }

// forget deletes a queue or exchange with the case, whatever state its own channels are in by then.
func (t *T) forget(queue, exchange string) {
	vhost := t.vhost
	t.Cleanup(func() {
		c, err := t.dial(t.broker.uri.Username, t.broker.uri.Password, vhost)
		if err != nil {
			return // the vhost is gone, and the object with it
		}
		defer c.CloseDeadline(time.Now().Add(patience))
		ch, err := c.Connection.Channel()
		if err != nil {
			t.Errorf("cannot clean up: %v", err)
			return
		}
		if queue != "" {
			_, _ = ch.QueueDelete(queue, false, false, false) // an exclusive one goes with its connection
		}
		if exchange != "" {
			_ = ch.ExchangeDelete(exchange, false, false)
		}
	})
}

// get takes a message that must be there, unacked.
func (ch *channel) get(queue string) amqp.Delivery {
	ch.t.Helper()
	d, ok, err := ch.Get(queue, false)
	ch.t.must(err)
	if !ok {
		ch.t.Fatalf("queue %s is empty", queue)
	}
	return d
}

// fetch takes n messages that must be there, unacked.
func (ch *channel) fetch(queue string, n int) []amqp.Delivery {
	ch.t.Helper()
	var all []amqp.Delivery
	for range n {
		all = append(all, ch.get(queue))
	}
	return all
}

// drain takes every message that is ready, in order behind what this channel published.
func (ch *channel) drain(queue string) []string {
	ch.t.Helper()
	var all []string
	for {
		d, ok, err := ch.Get(queue, true)
		ch.t.must(err)
		if !ok {
			return all
		}
		all = append(all, string(d.Body))
	}
}

// depth is how many messages are ready. RabbitMQ may not count yet what was published without put.
func (ch *channel) depth(queue string) int {
	ch.t.Helper()
	q, err := ch.QueueDeclarePassive(queue, false, false, false, false, nil)
	ch.t.must(err)
	return q.Messages
}

// awaitDepth waits until n messages are ready: the protocol has no event for that.
func (ch *channel) awaitDepth(queue string, n int) {
	ch.t.Helper()
	ch.t.eventually(fmt.Sprintf("%d ready in %s", n, queue), func() bool { return ch.depth(queue) == n })
}

// empty fails the case if a message is ready.
func (ch *channel) empty(queue string) {
	ch.t.Helper()
	if d, ok, err := ch.Get(queue, true); err != nil || ok {
		ch.t.Fatalf("queue %s is not empty: %q %v", queue, d.Body, err)
	}
}

// lostFrom fails the case if a message is ready, or comes back before one that is published now.
func (ch *channel) lostFrom(queue string) {
	ch.t.Helper()
	ch.publish("", queue, "fence")
	ch.t.equal("left", bodies(ch.fetch(queue, 1)), []string{"fence"})
	ch.empty(queue)
}

// eventually waits until something holds that no event tells of.
func (t *T) eventually(what string, holds func() bool) {
	t.Helper()
	t.within(patience, what, holds)
}

// within is eventually for what RabbitMQ takes its time for.
func (t *T) within(limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(limit)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("waiting for %s: not in %v", what, limit)
		}
	}
}

// pass lets time go by, for rules about what a TTL does and does not do meanwhile.
func (t *T) pass(d time.Duration) { <-time.After(d) }

// take waits for the next n messages of a queue and acks them. It takes no more than n.
func (ch *channel) take(queue string, n int) []amqp.Delivery {
	ch.t.Helper()
	own := ch.conn.channel()
	ch.t.must(own.Qos(1, 0, false))
	in, err := own.Consume(queue, "", false, false, false, false, nil)
	ch.t.must(err)
	var all []amqp.Delivery
	for range n {
		d := await(ch.t, "a message in "+queue, in)
		all = append(all, d)
		if len(all) == n {
			// Cancelled before the last ack, so that no further message is fetched and comes back as redelivered.
			ch.t.must(own.Cancel(d.ConsumerTag, false))
		}
		ch.t.must(d.Ack(false))
	}
	ch.t.must(own.Close())
	return all
}

// taken is take, for the bodies.
func (ch *channel) taken(queue string, n int) []string {
	ch.t.Helper()
	return bodies(ch.take(queue, n))
}

func bodies(all []amqp.Delivery) []string {
	var texts []string
	for _, d := range all {
		texts = append(texts, string(d.Body))
	}
	return texts
}

// consume starts a consumer that acks by hand.
func (ch *channel) consume(queue string) <-chan amqp.Delivery {
	ch.t.Helper()
	in, err := ch.Consume(queue, "", false, false, false, false, nil)
	ch.t.must(err)
	return in
}

// collect waits for n deliveries.
func (ch *channel) collect(n int, in <-chan amqp.Delivery) []amqp.Delivery {
	ch.t.Helper()
	var all []amqp.Delivery
	for range n {
		all = append(all, await(ch.t, "a delivery", in))
	}
	return all
}

// settled waits until the broker has handled everything this channel sent before, by asking it something.
func (ch *channel) settled() {
	ch.t.Helper()
	ch.t.must(ch.Qos(0, 0, false))
}

// A death is one entry of x-death.
type death struct {
	Queue, Reason, Exchange string
	Count                   int64
	Keys                    []string
	Expiration              string // original-expiration, empty if absent
}

// deaths reads the x-death header, and fails the case if a field is missing, unknown or of the wrong wire type.
func (t *T) deaths(d amqp.Delivery) []death {
	t.Helper()
	list, ok := d.Headers["x-death"].([]any)
	if !ok {
		t.Fatalf("x-death is %#v, not an array", d.Headers["x-death"])
	}
	var all []death
	for _, e := range list {
		all = append(all, t.death(e))
	}
	return all
}

func (t *T) death(entry any) death {
	t.Helper()
	var x death
	table, ok := entry.(amqp.Table)
	if !ok {
		t.Fatalf("an entry of x-death is %#v, not a table", entry)
	}
	for field, value := range table {
		switch field {
		case "queue":
			x.Queue, ok = value.(string)
		case "reason":
			x.Reason, ok = value.(string)
		case "exchange":
			x.Exchange, ok = value.(string)
		case "original-expiration":
			x.Expiration, ok = value.(string)
		case "count":
			x.Count, ok = value.(int64)
		case "time":
			var at time.Time
			at, ok = value.(time.Time)
			if ago := time.Since(at); ago < -5*time.Second || ago > time.Minute {
				t.Fatalf("x-death: the time is %v", at)
			}
		case "routing-keys":
			keys, array := value.([]any)
			for _, k := range keys {
				s, text := k.(string)
				array = array && text
				x.Keys = append(x.Keys, s)
			}
			ok = array
		default:
			t.Fatalf("x-death has an unknown field %q", field)
		}
		if !ok {
			t.Fatalf("x-death: %s is %#v, of the wrong type", field, value)
		}
	}
	if len(table) < 6 {
		t.Fatalf("x-death: a field is missing in %v", table)
	}
	return x
}
