package conformance

import (
	"fmt"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// levels is the argument of a queue with priorities from 0 to n.
func levels(n int32) amqp.Table { return amqp.Table{"x-max-priority": n} }

func priority(n uint8) edit { return func(m *amqp.Publishing) { m.Priority = n } }

var priorityCases = []Case{
	{
		Topic: expiry, Section: 9, Name: "priority-order",
		Rule: "A queue with priorities delivers the highest priority first and keeps the order within a priority; no " +
			"priority is 0, and a priority above the maximum is the maximum.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", levels(10))
			ch.publish("", q, "p0", priority(0))
			ch.publish("", q, "p5", priority(5))
			ch.publish("", q, "p20", priority(20))
			ch.publish("", q, "p10", priority(10))
			ch.publish("", q, "none")
			t.equal("order", bodies(ch.fetch(q, 5)), []string{"p20", "p10", "p5", "p0", "none"})
		},
	},
	{
		Topic: expiry, Section: 9, Name: "priority-dropped-first",
		Rule: "A full queue with priorities drops its head, which is the message of the highest priority.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", levels(10), atMost(2, ""), to(dlq))
			ch.publish("", q, "a", priority(1))
			ch.publish("", q, "b", priority(9))
			ch.publish("", q, "c", priority(1))
			d := ch.take(dlq, 1)[0]
			t.equal("dropped", []any{string(d.Body), d.Priority, t.deaths(d)[0].Reason}, []any{"b", uint8(9), "maxlen"})
			t.equal("kept", bodies(ch.fetch(q, 2)), []string{"a", "c"})
		},
	},
	{
		Topic: expiry, Section: 9, Name: "quorum-priority",
		Rule:  "A quorum queue delivers messages of high priority before those without one, and these before a low one only if they are older.",
		Since: "4.0", Before: "priorities have no effect",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum)
			ch.put("", q, "none")
			ch.put("", q, "p5", priority(5))
			ch.put("", q, "p3", priority(3))
			want := []string{"p5", "none", "p3"}
			if !t.since() {
				want = []string{"none", "p5", "p3"}
			}
			t.equal("order", bodies(ch.fetch(q, 3)), want)
		},
	},
	{
		Topic: expiry, Section: 9, Name: "quorum-32-priorities",
		Rule:  "A quorum queue has the priorities 0 to 31, strictly in order; a message without one has 4.",
		Since: "4.3", Before: "there are two classes, or none", Newer: true,
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum)
			for _, p := range []uint8{5, 9, 31, 200, 3} {
				ch.put("", q, fmt.Sprint(p), priority(p))
			}
			ch.put("", q, "none")
			strictly := []string{"31", "200", "9", "5", "none", "3"}
			t.equal("strictly in order", slices.Equal(bodies(ch.fetch(q, 6)), strictly), t.since())
		},
	},
	{
		Topic: expiry, Section: 9, Name: "expired-behind-a-higher-priority",
		Rule:   "An expired message of a lower priority stays in the queue until those of higher priorities have left the queue, and is not delivered.",
		Choice: ownInstant, Differs: "it leaves the queue on time (on purpose: expiry at any position)",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", levels(10), to(dlq))
			ch.put("", q, "a", priority(9))
			ch.put("", q, "b", priority(1), expiration("100"))
			if t.differs() {
				t.equal("dead letter", ch.taken(dlq, 1), []string{"b"})
				t.equal("first", string(ch.get(q).Body), "a")
				return
			}
			t.pass(300 * time.Millisecond)
			t.equal("ready", ch.depth(q), 2)
			t.equal("first", string(ch.get(q).Body), "a")
			t.equal("dead letter", ch.taken(dlq, 1), []string{"b"})
		},
	},
	{
		Topic: expiry, Section: 3, Name: "quorum-expired-behind-a-lower-priority",
		Rule:  "In a quorum queue a message of high priority expires on time, even behind an older message of low priority.",
		Since: "4.0", Before: "it waits until it is at the head",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, to(dlq))
			ch.put("", q, "a", priority(0))
			ch.put("", q, "b", priority(9), expiration("100"))
			if t.since() {
				t.equal("dead letter", ch.taken(dlq, 1), []string{"b"})
				t.equal("first", string(ch.get(q).Body), "a")
				return
			}
			t.pass(300 * time.Millisecond)
			ch.empty(dlq)
			t.equal("first", string(ch.get(q).Body), "a")
			t.equal("dead letter", ch.taken(dlq, 1), []string{"b"})
		},
	},
}
