package conformance

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var cycleCases = []Case{
	{
		Topic: dead, Section: 9, Name: "expiry-into-itself",
		Rule: "A queue that dead-letters into itself loses a message at its first expiry.",
		Run: func(t *T) {
			ch, q := t.channel(), t.name("q")
			ch.queue("q", to(q))
			ch.put("", q, "m", expiration("10"))
			ch.awaitDepth(q, 0)
			ch.lostFrom(q)
		},
	},
	{
		Topic: dead, Section: 9, Name: "overflow-into-itself",
		Rule: "A full queue that dead-letters into itself loses the message it drops.",
		Run: func(t *T) {
			ch, q := t.channel(), t.name("q")
			ch.queue("q", to(q), amqp.Table{"x-max-length": int32(1)})
			ch.publish("", q, "a")
			ch.publish("", q, "b")
			t.equal("left", bodies(ch.fetch(q, 1)), []string{"b"})
			ch.empty(q)
		},
	},
	{
		Topic: dead, Section: 9, Name: "reject-into-itself",
		Rule: "A message that a client rejects may stay in a cycle forever; the count in x-death rises.",
		Run: func(t *T) {
			ch, q := t.channel(), t.name("q")
			ch.queue("q", to(q))
			in := ch.consume(q)
			ch.publish("", q, "m")
			for range 10 {
				t.must(await(t, "the message again", in).Reject(false))
			}
			d := await(t, "the message again", in)
			t.equal("deaths", t.deaths(d), []death{{Queue: q, Reason: "rejected", Count: 10, Keys: []string{q}}})
		},
	},
	{
		Topic: dead, Section: 9, Name: "cycle-with-a-rejection",
		Rule: "In a cycle of queues with a rejection, the message returns every time.",
		Run: func(t *T) {
			ch := t.channel()
			q1, q2 := t.name("q1"), t.name("q2")
			ch.queue("q1", to(q2))
			ch.queue("q2", to(q1), ms(5))
			in := ch.consume(q1)
			ch.publish("", q1, "m")
			for range 4 {
				t.must(await(t, "the message again", in).Reject(false))
			}
			t.equal("deaths", t.deaths(await(t, "the message again", in)), []death{
				{Queue: q2, Reason: "expired", Count: 4, Keys: []string{q2}},
				{Queue: q1, Reason: "rejected", Count: 4, Keys: []string{q1}}})
		},
	},
	{
		Topic: dead, Section: 9, Name: "long-cycle-with-a-rejection",
		Rule:  "In a cycle of three queues with a rejection, the message returns every time.",
		Since: "3.13", Before: "each death reverses the older entries of x-death, so that the second round appears to have no rejection and the message is lost",
		Run: func(t *T) {
			ch := t.channel()
			q1, q2, q3 := t.name("q1"), t.name("q2"), t.name("q3")
			ch.queue("q1", to(q2))
			ch.queue("q2", to(q3), amqp.Table{"x-message-ttl": int32(5)})
			ch.queue("q3", to(q1), amqp.Table{"x-message-ttl": int32(5)})
			in := ch.consume(q1)
			ch.publish("", q1, "m")
			t.must(await(t, "the message", in).Reject(false))
			t.must(await(t, "the message again", in).Reject(false))
			if !t.since() {
				t.pass(300 * time.Millisecond)
				silent(t, "third delivery", in)
				return
			}
			t.must(await(t, "the message a third time", in).Reject(false))
			var counts []string
			for _, x := range t.deaths(await(t, "the message again", in)) {
				counts = append(counts, fmt.Sprint(x.Queue, x.Reason, x.Count))
			}
			t.equal("deaths", counts, []string{q3 + "expired3", q2 + "expired3", q1 + "rejected3"})
		},
	},
	{
		Topic: dead, Section: 9, Name: "cycle-without-a-rejection",
		Rule: "In a cycle of queues without a rejection, the message is lost when it would return to the first queue.",
		Run: func(t *T) {
			ch := t.channel()
			q1, q2 := t.name("q1"), t.name("q2")
			x := ch.exchange("x", "fanout")
			ch.queue("q1", to(q2))
			ch.queue("q2", dlx(x), amqp.Table{"x-message-ttl": int32(10)})
			ch.bind(q1, x, "")
			audit := ch.bound("audit", x, "")
			ch.publish("", q1, "m", expiration("10"))
			// The copy for another queue shows that the message has been round.
			t.equal("audit", len(t.deaths(ch.take(audit, 1)[0])), 2)
			ch.lostFrom(q1)
		},
	},
	{
		Topic: dead, Section: 9, Name: "only-the-cyclic-target-is-skipped",
		Rule: "If one of several targets of a dead letter would complete a cycle, only this target is skipped.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "fanout")
			q, audit := ch.bound("q", x, "", dlx(x)), ch.bound("audit", x, "")
			ch.publish("", q, "m", expiration("10"))
			ch.take(audit, 1)
			ch.empty(audit)
			ch.lostFrom(q)
		},
	},
	{
		Topic: dead, Section: 9, Name: "old-rejection-does-not-help",
		Rule: "A rejection before the last death in a queue does not allow a later cycle through that queue.",
		Run: func(t *T) {
			ch := t.channel()
			first, q := t.name("first"), t.name("q")
			ch.queue("first", to(q))
			x := ch.exchange("x", "fanout")
			ch.bound("q", x, "", dlx(x), amqp.Table{"x-message-ttl": int32(10)})
			audit := ch.bound("audit", x, "")
			ch.publish("", first, "m")
			t.must(ch.get(first).Reject(false))
			t.equal("audit", len(t.deaths(ch.take(audit, 1)[0])), 2)
			ch.awaitDepth(q, 0)
			ch.empty(audit)
		},
	},
}

var targetCases = []Case{
	{
		Topic: dead, Section: 10, Name: "order-of-rejected",
		Rule: "Messages rejected together are dead-lettered in the order of their delivery tags.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			var want []string
			for i := range 300 {
				want = append(want, fmt.Sprint(i))
				ch.publish("", q, want[i])
			}
			all := ch.collect(300, ch.consume(q))
			t.must(all[299].Nack(true, false))
			t.equal("order", bodies(ch.collect(300, ch.consume(dlq))), want)
		},
	},
	{
		Topic: dead, Section: 10, Name: "order-by-tag-after-requeue",
		Rule: "A message delivered again has a higher tag and is dead-lettered after those that kept theirs.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			for _, m := range []string{"m1", "m2", "m3"} {
				ch.publish("", q, m)
			}
			all := ch.fetch(q, 3)
			t.must(all[1].Nack(true, true))
			again := ch.fetch(q, 2)
			t.must(again[1].Nack(true, false))
			t.equal("order", ch.taken(dlq, 3), []string{"m3", "m1", "m2"})
		},
	},
	{
		Topic: dead, Section: 10, Name: "order-of-expired",
		Rule: "Messages that expire by their queue's TTL are dead-lettered in order.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), amqp.Table{"x-message-ttl": int32(50)})
			var want []string
			for i := range 20 {
				want = append(want, fmt.Sprint(i))
				ch.publish("", q, want[i])
			}
			t.equal("order", ch.taken(dlq, 20), want)
		},
	},
	{
		Topic: dead, Section: 11, Name: "target-refuses",
		Rule: "A target that is full and set to reject-publish does not take a dead letter, and keeps what it has.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq", amqp.Table{"x-max-length": int32(1), "x-overflow": "reject-publish"})
			q := ch.queue("q", to(dlq))
			ch.publish("", dlq, "first")
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			t.equal("depth", ch.depth(q), 0)
			t.equal("left", ch.taken(dlq, 1), []string{"first"})
			ch.empty(dlq)
		},
	},
	{
		Topic: dead, Section: 11, Name: "target-refuses-to-its-own-dlx",
		Rule: "A target that is full and set to reject-publish-dlx passes a dead letter on to its own dead-letter " +
			"exchange, reason maxlen.",
		Run: func(t *T) {
			ch := t.channel()
			end := ch.queue("end")
			dlq := ch.queue("dlq", to(end), amqp.Table{"x-max-length": int32(1), "x-overflow": "reject-publish-dlx"})
			q := ch.queue("q", to(dlq))
			ch.publish("", dlq, "first")
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			d := ch.take(end, 1)[0]
			t.equal("deaths", t.deaths(d), []death{
				{Queue: dlq, Reason: "maxlen", Count: 1, Keys: []string{dlq}},
				{Queue: q, Reason: "rejected", Count: 1, Keys: []string{q}}})
			t.equal("left", ch.taken(dlq, 1), []string{"first"})
		},
	},
	{
		Topic: dead, Section: 11, Name: "target-drops-its-head",
		Rule: "A full target takes a dead letter, drops its own head and dead-letters that in turn.",
		Run: func(t *T) {
			ch := t.channel()
			end := ch.queue("end")
			dlq := ch.queue("dlq", to(end), amqp.Table{"x-max-length": int32(1)})
			q := ch.queue("q", to(dlq))
			ch.publish("", dlq, "first")
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			t.equal("passed on", ch.taken(end, 1), []string{"first"})
			t.equal("left", ch.taken(dlq, 1), []string{"m"})
		},
	},
	{
		Topic: dead, Section: 11, Name: "many-at-once",
		Rule: "A thousand messages rejected at once all arrive, each once and in order.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.durable("dlq")
			q := ch.durable("q", to(dlq))
			var want []string
			for i := range 1000 {
				want = append(want, fmt.Sprint(i))
				ch.publish("", q, want[i], persistent)
			}
			all := ch.collect(1000, ch.consume(q))
			t.must(all[999].Nack(true, false))
			t.equal("arrived", bodies(ch.collect(1000, ch.consume(dlq))), want)
			t.equal("left", ch.depth(q), 0)
		},
	},
}
