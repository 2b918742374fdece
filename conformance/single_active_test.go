package conformance

import (
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

// single is the argument of a queue with a single active consumer.
var single = amqp.Table{"x-single-active-consumer": true}

// withPriority is the argument of a consumer's priority.
func withPriority(n int32) amqp.Table { return amqp.Table{"x-priority": n} }

var singleActiveCases = []Case{
	{
		Topic: retry, Section: 8, Name: "cancel-keeps-the-unacked",
		Rule: "Two deliveries of a consumer that is cancelled stay unacked; one can be acked, the other is returned " +
			"when the channel closes.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := other.queue("q")
			other.put("", q, "a")
			other.put("", q, "b")
			both := ch.collect(2, ch.consumeFor(q, "tag", nil))
			t.must(ch.Cancel("tag", false))
			t.equal("ready", other.depth(q), 0)
			t.must(both[0].Ack(false))
			ch.settled()
			t.must(ch.Close())
			t.equal("returned", other.taken(q, 1), []string{"b"})
			other.empty(q)
		},
	},
	{
		Topic: retry, Section: 9, Name: "single-active",
		Rule: "With a single active consumer the first consumer gets all messages, and when it is cancelled the next " +
			"one does.",
		Run: func(t *T) {
			conn := t.connect()
			ch, first, second := conn.channel(), conn.channel(), conn.channel()
			q := ch.queue("q", single)
			in, waiting := first.consumeFor(q, "first", nil), second.consumeFor(q, "second", nil)
			for i := range 4 {
				ch.publish("", q, fmt.Sprint(i))
			}
			t.must(first.collect(4, in)[3].Ack(true))
			silent(t, "a delivery to the second", waiting)
			t.must(first.Cancel("first", false))
			ch.publish("", q, "m")
			t.equal("next", string(await(t, "a delivery to the second", waiting).Body), "m")
		},
	},
	{
		Topic: retry, Section: 9, Name: "single-active-by-close",
		Rule: "When the channel of a single active consumer closes, the next one gets its unacked messages, and the " +
			"following ones.",
		Run: func(t *T) {
			conn := t.connect()
			ch, first, second := conn.channel(), conn.channel(), conn.channel()
			q := ch.queue("q", single)
			in, waiting := first.consume(q), second.consume(q)
			ch.publish("", q, "a")
			first.collect(1, in)
			t.must(first.Close())
			ch.publish("", q, "b")
			t.equal("to the second", bodies(second.collect(2, waiting)), []string{"a", "b"})
		},
	},
	{
		Topic: retry, Section: 9, Name: "single-active-replaced-by-priority",
		Rule:  "On a quorum queue a consumer of a higher priority becomes the active one as soon as the previous one has no unacked messages.",
		Since: "4.0", Before: "the first stays active",
		Run: func(t *T) {
			conn := t.connect()
			ch, first, second := conn.channel(), conn.channel(), conn.channel()
			q := ch.durable("q", quorum, single)
			ch.put("", q, "held")
			in := first.consumeFor(q, "first", withPriority(0))
			held := await(t, "a delivery to the first", in)
			over := second.consumeFor(q, "second", withPriority(5))
			ch.put("", q, "m")
			if !t.since() {
				t.equal("next", string(await(t, "a delivery to the first", in).Body), "m")
				return
			}
			ch.settled()
			silent(t, "a delivery to the first", in)
			silent(t, "a delivery to the second", over)
			t.must(held.Ack(false))
			t.equal("next", string(await(t, "a delivery to the second", over).Body), "m")
		},
	},
	{
		Topic: retry, Section: 9, Name: "single-active-exclusive",
		Rule: "An exclusive consumer of a queue with a single active consumer is refused with 403.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", single)
			_, err := ch.Consume(q, "", false, true, false, false, nil)
			t.refusal(err, 403, "ACCESS_REFUSED - queue '"+q+"' in vhost '"+t.vhost+"' in exclusive use")
		},
	},
	{
		Topic: retry, Section: 9, Name: "single-active-get",
		Rule: "basic.get is refused with 405 on a quorum queue with a single active consumer, and allowed on a " +
			"classic one.",
		Run: func(t *T) {
			conn := t.connect()
			conn.channel().empty(conn.channel().queue("classic", single))
			ch := conn.channel()
			q := ch.durable("q", quorum, single)
			_, _, err := ch.Get(q, false)
			t.refusal(err, 405, "RESOURCE_LOCKED - cannot obtain access to locked queue '"+q+"' in vhost '"+t.vhost+
				"'. basic.get operations are not supported by quorum queues with single active consumer")
		},
	},
	{
		Topic: retry, Section: 10, Name: "consumer-priority-with-room",
		Rule: "The consumer of the higher priority, with a prefetch limit of one, gets the first of two messages, " +
			"and the other consumer gets the second.",
		Run: func(t *T) {
			conn := t.connect()
			ch, low, high := conn.channel(), conn.channel(), conn.channel()
			q := ch.queue("q")
			second := low.consumeFor(q, "low", withPriority(0))
			t.must(high.Qos(1, 0, false))
			first := high.consumeFor(q, "high", withPriority(10))
			ch.publish("", q, "m1")
			ch.publish("", q, "m2")
			t.equal("m1 and m2", []string{string(await(t, "m1", first).Body), string(await(t, "m2", second).Body)}, []string{"m1", "m2"})
		},
	},
	{
		Topic: retry, Section: 10, Name: "quorum-queue-global-prefetch",
		Rule: "A channel with a global prefetch count cannot consume from a quorum queue: 540.",
		Run: func(t *T) {
			ch, other := t.channel(), t.channel()
			q := other.durable("q", quorum)
			t.must(ch.Qos(1, 0, true))
			_, err := ch.Consume(q, "", false, false, false, false, nil)
			t.refusal(err, 540, "NOT_IMPLEMENTED - queue '"+q+"' in vhost '"+t.vhost+"' does not support global qos")
		},
	},
	quorumDeletedIf("unused", true, false),
	quorumDeletedIf("empty", false, true),
}

// quorumDeletedIf is a case of a condition that quorum queues do not know.
func quorumDeletedIf(flag string, unused, empty bool) Case {
	return Case{
		Topic: retry, Section: 10, Name: "quorum-queue-delete-if-" + flag,
		Rule: "A quorum queue cannot be deleted if " + flag + ": 540.",
		Run: func(t *T) {
			ch, other := t.channel(), t.channel()
			q := other.durable("q", quorum)
			_, err := ch.QueueDelete(q, unused, empty, false)
			t.refusal(err, 540, "NOT_IMPLEMENTED - cannot delete queue '"+q+"' in vhost '"+t.vhost+
				"'. queue.delete operations with if-"+flag+" flag set are not supported by quorum queues")
		},
	}
}
