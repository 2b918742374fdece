package conformance

import (
	"fmt"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// exchangeTypeCases are the types beyond those of AMQP. On RabbitMQ most are plugins, which must be on.
var exchangeTypeCases = []Case{
	{
		Topic: surface, Section: 10, Name: "consistent-hash-shares",
		Rule: "A consistent hash exchange sends each message to one queue, in proportion to the numbers in the " +
			"binding keys.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-consistent-hash")
			one, three := ch.bound("one", x, "1"), ch.bound("three", x, "3")
			t.shares(ch.spread(x, keyed, one, three), 1, 3)
		},
	},
	{
		Topic: surface, Section: 10, Name: "consistent-hash-stable",
		Rule: "A consistent hash exchange sends all messages of a routing key to the same queue.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-consistent-hash")
			t.stable(ch, x, ch.bound("a", x, "10"), ch.bound("b", x, "10"), ch.bound("c", x, "10"))
		},
	},
	{
		Topic: surface, Section: 10, Name: "consistent-hash-second-binding",
		Rule: "A second binding of a consistent hash exchange to the same queue has no effect.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-consistent-hash")
			a, b := ch.bound("a", x, "1"), ch.bound("b", x, "1")
			ch.bind(a, x, "100")
			t.shares(ch.spread(x, keyed, a, b), 1, 1)
		},
	},
	{
		Topic: surface, Section: 10, Name: "consistent-hash-header",
		Rule: "With hash-header a consistent hash exchange uses the value of that header instead of the routing key.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-consistent-hash", amqp.Table{"hash-header": "customer"})
			a, b := ch.bound("a", x, "1"), ch.bound("b", x, "1")
			t.shares(ch.spread(x, func(i int) (string, edit) { return "k", headers(amqp.Table{"customer": fmt.Sprint(i)}) }, a, b), 1, 1)
			t.together(ch.spread(x, func(i int) (string, edit) { return fmt.Sprint(i), headers(amqp.Table{"customer": "c"}) }, a, b))
		},
	},
	byProperty("message_id", func(i int) edit { return func(m *amqp.Publishing) { m.MessageId = fmt.Sprint(i) } }),
	byProperty("correlation_id", func(i int) edit { return func(m *amqp.Publishing) { m.CorrelationId = fmt.Sprint(i) } }),
	byProperty("timestamp", func(i int) edit { return func(m *amqp.Publishing) { m.Timestamp = time.Unix(int64(1e9+i), 0) } }),
	{
		Topic: surface, Section: 10, Name: "consistent-hash-no-binding",
		Rule: "A hash or random exchange without bindings routes to no queue: a mandatory message is returned.",
		Run: func(t *T) {
			ch := t.channel()
			for _, kind := range []string{"x-consistent-hash", "x-modulus-hash", "x-random"} {
				ch.publishMandatory(ch.exchange(kind, kind), "k", kind)
				t.equal("returned", string(await(t, "basic.return", ch.returns).Body), kind)
			}
		},
	},
	refusedPoints("word", "abc", `The binding key must be an integer: <<"abc">>`),
	refusedPoints("nothing", "", "The binding key must be an integer: <<>>"),
	refusedPoints("zero", "0", "The binding key must be greater than 0"),
	refusedPoints("negative", "-1", "The binding key must be greater than 0"),
	refusedHash("two-inputs", amqp.Table{"hash-header": "h", "hash-property": "message_id"}, "hash-header and hash-property are mutually exclusive"),
	refusedHash("unknown-property", amqp.Table{"hash-property": "app_id"}, "Unsupported property: app_id"),
	{
		Topic: surface, Section: 8, Name: "consistent-hash-redeclare",
		Rule: "Declaring a consistent hash exchange again with another hash-header succeeds, and changes nothing.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-consistent-hash")
			ch.exchange("x", "x-consistent-hash", amqp.Table{"hash-header": "h"})
			t.shares(ch.spread(x, keyed, ch.bound("a", x, "1"), ch.bound("b", x, "1")), 1, 1)
		},
	},
	{
		Topic: surface, Section: 10, Name: "consistent-hash-dead-letters",
		Rule: "A consistent hash exchange as a dead-letter exchange sends each dead letter to one queue.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-consistent-hash")
			a, b := ch.bound("a", x, "1"), ch.bound("b", x, "1")
			q := ch.queue("q", dlx(x), amqp.Table{"x-message-ttl": int32(0)})
			for i := range 40 {
				ch.publish("", q, fmt.Sprint(i))
			}
			t.eventually("forty dead letters", func() bool { return ch.depth(a)+ch.depth(b) == 40 })
			t.together([][]string{ch.drain(a), ch.drain(b)}) // all have the key of q
		},
	},
	{
		Topic: surface, Section: 10, Name: "modulus-hash",
		Rule: "A modulus hash exchange sends each message to one queue that depends only on its routing key, and " +
			"distributes keys evenly.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-modulus-hash")
			a, b, c := ch.bound("a", x, "any"), ch.bound("b", x, ""), ch.bound("c", x, "7")
			t.shares(ch.spread(x, keyed, a, b, c), 1, 1, 1)
			t.stable(ch, x, a, b, c)
		},
	},
	{
		Topic: surface, Section: 10, Name: "random",
		Rule: "A random exchange sends each message to one random queue, with any keys.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-random")
			a, b := ch.bound("a", x, "any"), ch.bound("b", x, "")
			t.shares(ch.spread(x, alike, a, b), 1, 1)
		},
	},
	local("local-random", "A local random exchange sends each message to one random queue.", func(t *T, ch *channel, x string) {
		a, b := ch.bound("a", x, ""), ch.bound("b", x, "")
		t.shares(ch.spread(x, alike, a, b), 1, 1)
	}),
	local("local-random-binding-key", "A local random exchange refuses a binding key with 406.", func(t *T, ch *channel, x string) {
		t.refusal(ch.QueueBind(ch.queue("q"), "k", x, false, nil), 406, "PRECONDITION_FAILED - Non empty binding 'k' key not permitted")
	}),
	local("local-random-quorum-queue", "A local random exchange refuses queues that are not classic with 406.", func(t *T, ch *channel, x string) {
		q := ch.durable("q", amqp.Table{"x-queue-type": "quorum"})
		t.refusal(ch.QueueBind(q, "", x, false, nil), 406, "PRECONDITION_FAILED - Queue type rabbit_quorum_queue not valid for this exchange type")
	}),
	local("local-random-exchange", "A local random exchange refuses a binding to an exchange with 406.", func(t *T, ch *channel, x string) {
		t.refusal(ch.ExchangeBind(ch.exchange("y", "fanout"), "", x, false, nil), 406, "PRECONDITION_FAILED - Destination not found")
	}),
}

// spreadMessages is enough to tell shares from each other, and little enough to be quick.
const spreadMessages = 400

// nth is the routing key of message i, and what else it has.
type nth func(i int) (key string, change edit)

// keyed gives each message a routing key of its own.
func keyed(i int) (string, edit) { return fmt.Sprint("order-", i), func(*amqp.Publishing) {} }

// alike gives all messages one routing key.
func alike(int) (string, edit) { return "k", func(*amqp.Publishing) {} }

// spread publishes messages and takes them from the queues: each has gone to one of them.
func (ch *channel) spread(x string, message nth, queues ...string) (bodies [][]string) {
	ch.t.Helper()
	for i := range spreadMessages {
		key, change := message(i)
		ch.publish(x, key, fmt.Sprint(i), change)
	}
	var all []string
	for _, q := range queues {
		got := ch.drain(q)
		bodies, all = append(bodies, got), append(all, got...)
	}
	slices.Sort(all)
	ch.t.equal("messages taken, and different ones", []int{len(all), len(slices.Compact(all))}, []int{spreadMessages, spreadMessages})
	return bodies
}

// shares checks that the queues got messages in proportion, as far as chance allows.
func (t *T) shares(bodies [][]string, want ...int) {
	t.Helper()
	whole, total := 0, 0
	for i, n := range want {
		whole += n
		total += len(bodies[i])
	}
	for i, n := range want {
		fair := total * n / whole
		if got := len(bodies[i]); got < fair*6/10 || got > fair*14/10 {
			t.Fatalf("queue %d got %d of %d messages, its share is %d", i, got, total, fair)
		}
	}
}

// together checks that one queue got all.
func (t *T) together(bodies [][]string) {
	t.Helper()
	used := 0
	for _, b := range bodies {
		if len(b) > 0 {
			used++
		}
	}
	t.equal("queues that got messages", used, 1)
}

// stable checks that messages with the same key go to the same queue.
func (t *T) stable(ch *channel, x string, queues ...string) {
	t.Helper()
	first, second := ch.spread(x, keyed, queues...), ch.spread(x, keyed, queues...)
	t.equal("the second round", second, first)
}

// byProperty is a case of a consistent hash exchange that looks at a property.
func byProperty(property string, with func(i int) edit) Case {
	return Case{
		Topic: surface, Section: 10, Name: "consistent-hash-" + dashed(property),
		Rule: "With hash-property a consistent hash exchange uses that property instead of the routing key (" + property + ").",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-consistent-hash", amqp.Table{"hash-property": property})
			a, b := ch.bound("a", x, "1"), ch.bound("b", x, "1")
			t.shares(ch.spread(x, func(i int) (string, edit) { return "k", with(i) }, a, b), 1, 1)
			t.together(ch.spread(x, func(i int) (string, edit) { return fmt.Sprint(i), with(0) }, a, b))
		},
	}
}

// refusedPoints is a case of a binding key that is no number of points.
func refusedPoints(name, key, text string) Case {
	return Case{
		Topic: surface, Section: 10, Name: "consistent-hash-binding-key-" + name,
		Rule: "A consistent hash exchange refuses a binding key that is not a whole number above zero with 406 (" + name + ").",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-consistent-hash")
			t.refusal(ch.QueueBind(ch.queue("q"), key, x, false, nil), 406, "PRECONDITION_FAILED - "+text)
		},
	}
}

// refusedHash is a case of arguments that do not name one thing to hash.
func refusedHash(name string, args amqp.Table, text string) Case {
	return Case{
		Topic: surface, Section: 10, Name: "consistent-hash-" + name,
		Rule: "A consistent hash exchange whose arguments do not name one known input is refused with 406 (" + name + ").",
		Run: func(t *T) {
			err := t.channel().ExchangeDeclare(t.name("x"), "x-consistent-hash", false, false, false, false, args)
			t.refusal(err, 406, "PRECONDITION_FAILED - "+text)
		},
	}
}

// local is a case of a local random exchange.
func local(name, rule string, run func(t *T, ch *channel, x string)) Case {
	return Case{
		Topic: surface, Section: 10, Name: name, Rule: rule, Since: "4.0", Before: "there is no such type",
		Run: func(t *T) {
			ch := t.channel()
			if t.since() {
				run(t, ch, ch.exchange("x", "x-local-random"))
				return
			}
			err := ch.ExchangeDeclare(t.name("x"), "x-local-random", false, false, false, false, nil)
			t.refusalLike(err, 503, "unknown exchange type 'x-local-random'")
		},
	}
}
