package conformance

import (
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// atMost is the arguments of a queue that holds n messages, with an overflow behaviour or the default one.
func atMost(n int32, overflow string) amqp.Table {
	args := amqp.Table{"x-max-length": n}
	if overflow != "" {
		args["x-overflow"] = overflow
	}
	return args
}

var limitCases = []Case{
	{
		Topic: expiry, Section: 6, Name: "drop-head-acks",
		Rule: "With drop-head every publish is acked, also if the message is dropped later.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", atMost(2, "drop-head"))
			ch.confirm()
			for i := range 5 {
				ch.publish("", q, fmt.Sprint(i))
				ch.confirmed(true)
			}
			t.equal("kept", bodies(ch.fetch(q, 2)), []string{"3", "4"})
		},
	},
	{
		Topic: expiry, Section: 6, Name: "unacked-are-not-counted",
		Rule: "Unacked messages do not count against the length limit.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", atMost(2, ""))
			for _, m := range []string{"a", "b", "c", "d"} {
				ch.publish("", q, m)
				if m == "b" {
					ch.fetch(q, 2)
				}
			}
			t.equal("ready", ch.drain(q), []string{"c", "d"})
		},
	},
	{
		Topic: expiry, Section: 6, Name: "returned-over-the-limit",
		Rule: "Messages returned to a full queue are dropped first, because they return to its head.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", atMost(3, ""), to(dlq))
			for i := range 6 {
				ch.publish("", q, fmt.Sprint(i))
				if i == 2 {
					ch.fetch(q, 3)
				}
			}
			t.must(ch.Nack(3, true, true))
			t.equal("dropped", ch.taken(dlq, 3), []string{"0", "1", "2"})
			t.equal("kept", bodies(ch.fetch(q, 3)), []string{"3", "4", "5"})
		},
	},
	{
		Topic: expiry, Section: 8, Name: "returned-to-a-queue-of-one",
		Rule: "A message returned to a queue with max-length 1 that contains another message is dropped with reason " +
			"maxlen.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", atMost(1, ""), to(dlq))
			ch.publish("", q, "m1")
			d := ch.get(q)
			ch.publish("", q, "m2")
			t.must(d.Nack(false, true))
			got := ch.take(dlq, 1)[0]
			t.equal("dropped", []string{string(got.Body), t.deaths(got)[0].Reason}, []string{"m1", "maxlen"})
			t.equal("kept", string(ch.get(q).Body), "m2")
		},
	},
	{
		Topic: expiry, Section: 6, Name: "bytes",
		Rule: "x-max-length-bytes counts the bodies of ready messages; the oldest are dropped until the rest fits.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", amqp.Table{"x-max-length-bytes": int32(100)})
			for _, m := range []string{"a", "b", "c"} {
				ch.publish("", q, strings.Repeat(m, 40), headers(amqp.Table{"long": strings.Repeat("h", 200)}))
			}
			t.equal("kept", bodies(ch.fetch(q, 2)), []string{strings.Repeat("b", 40), strings.Repeat("c", 40)})
			ch.empty(q)
		},
	},
	{
		Topic: expiry, Section: 6, Name: "bytes-exactly",
		Rule: "A queue whose ready bodies are exactly as long as the limit drops nothing.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", amqp.Table{"x-max-length-bytes": int32(100)})
			ch.publish("", q, strings.Repeat("a", 60))
			ch.publish("", q, strings.Repeat("b", 40))
			t.equal("kept", len(ch.drain(q)), 2)
		},
	},
	{
		Topic: expiry, Section: 6, Name: "single-message-over-bytes",
		Rule: "A single message longer than x-max-length-bytes empties the queue, itself included.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", amqp.Table{"x-max-length-bytes": int32(10)}, to(dlq))
			ch.publish("", q, "small")
			ch.publish("", q, "much too large")
			t.equal("dropped", ch.taken(dlq, 2), []string{"small", "much too large"})
			t.equal("depth", ch.depth(q), 0)
		},
	},
	{
		Topic: expiry, Section: 6, Name: "either-limit",
		Rule: "With both limits set, each of them applies.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", amqp.Table{"x-max-length": int32(3), "x-max-length-bytes": int32(10)})
			for range 5 {
				ch.put("", q, "m")
			}
			t.equal("by number", ch.depth(q), 3)
			ch.put("", q, "123456789")
			t.equal("by bytes", ch.depth(q), 2)
		},
	},
	{
		Topic: expiry, Section: 6, Name: "length-zero",
		Rule: "A queue with max-length 0 delivers a message to a waiting consumer and otherwise drops it.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", atMost(0, ""))
			ch.confirm()
			ch.publish("", q, "dropped")
			ch.confirmed(true)
			in := ch.consume(q)
			ch.publish("", q, "m")
			t.equal("delivered", string(await(t, "a delivery", in).Body), "m")
		},
	},
	{
		Topic: expiry, Section: 6, Name: "reject-publish",
		Rule: "With reject-publish a full queue refuses messages: the publish is nacked, and the message is not " +
			"dead-lettered.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", atMost(1, "reject-publish"), to(dlq))
			ch.confirm()
			ch.publish("", q, "m1")
			ch.confirmed(true)
			ch.publish("", q, "m2")
			ch.confirmed(false)
			t.must(ch.get(q).Reject(false))
			t.equal("dead letters", ch.taken(dlq, 1), []string{"m1"})
			ch.empty(dlq)
			ch.publish("", q, "m3")
			ch.confirmed(true)
		},
	},
	{
		Topic: expiry, Section: 6, Name: "reject-publish-silently",
		Rule: "Without confirms a refused message is dropped silently.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", atMost(1, "reject-publish"))
			for _, m := range []string{"m1", "m2"} {
				ch.publishMandatory("", q, m)
			}
			t.equal("kept", bodies(ch.fetch(q, 1)), []string{"m1"})
			ch.empty(q)
			silent(t, "basic.return", ch.returns)
		},
	},
	{
		Topic: expiry, Section: 6, Name: "reject-publish-bytes",
		Rule: "With reject-publish a message that would exceed x-max-length-bytes is nacked, and a shorter one is " +
			"accepted.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", amqp.Table{"x-max-length-bytes": int32(10), "x-overflow": "reject-publish"})
			ch.confirm()
			ch.publish("", q, "12345")
			ch.confirmed(true)
			ch.publish("", q, "123456")
			ch.confirmed(false)
			ch.publish("", q, "12345")
			ch.confirmed(true)
		},
	},
	{
		Topic: expiry, Section: 6, Name: "reject-publish-dlx",
		Rule: "With reject-publish-dlx a refused message is nacked and dead-lettered with reason maxlen.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", atMost(1, "reject-publish-dlx"), to(dlq))
			ch.confirm()
			ch.publish("", q, "m1")
			ch.confirmed(true)
			ch.publish("", q, "m2")
			ch.confirmed(false)
			d := ch.take(dlq, 1)[0]
			t.equal("body", string(d.Body), "m2")
			t.equal("deaths", t.deaths(d), []death{{Queue: q, Reason: "maxlen", Count: 1, Keys: []string{q}}})
			t.equal("kept", string(ch.get(q).Body), "m1")
		},
	},
	{
		Topic: expiry, Section: 6, Name: "length-zero-refuses-all",
		Rule: "A queue with max-length 0 and reject-publish refuses every message, even if a consumer waits.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", atMost(0, "reject-publish"))
			in := ch.consume(q)
			ch.confirm()
			ch.publish("", q, "m")
			ch.confirmed(false)
			silent(t, "delivery", in)
		},
	},
	{
		Topic: expiry, Section: 6, Name: "requeue-is-never-refused",
		Rule: "A full queue with reject-publish accepts returned messages beyond its limit.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", atMost(1, "reject-publish"))
			ch.publish("", q, "m1")
			d := ch.get(q)
			ch.publish("", q, "m2")
			t.must(d.Nack(false, true))
			t.equal("both", bodies(ch.fetch(q, 2)), []string{"m1", "m2"})
		},
	},
	{
		Topic: expiry, Section: 7, Name: "one-nack-of-two-routes",
		Rule: "When one of several queues refuses a message, the publish gets one nack; the others keep their copies.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "fanout")
			free, full := ch.bound("free", x, ""), ch.bound("full", x, "", atMost(1, "reject-publish"))
			ch.publish("", full, "first")
			ch.confirm()
			ch.publish(x, "", "m")
			ch.confirmed(false)
			t.equal("free", string(ch.get(free).Body), "m")
			t.equal("full", string(ch.get(full).Body), "first")
			ch.publish(x, "", "n")
			ch.confirmed(true) // numbered 2: the first was answered once
		},
	},
	{
		Topic: expiry, Section: 6, Name: "excess-of-a-batch",
		Rule: "With reject-publish, a queue accepts messages again when a consumer takes some.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", atMost(2, "reject-publish"))
			ch.confirm()
			for _, ack := range []bool{true, true, false} {
				ch.publish("", q, "m")
				ch.confirmed(ack)
			}
			ch.get(q)
			ch.publish("", q, "m")
			ch.confirmed(true)
			ch.publish("", q, "m")
			ch.confirmed(false)
		},
	},
}
