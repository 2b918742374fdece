package conformance

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// aloneCases is what only Bartleby offers.
var aloneCases = []Case{
	{
		Topic: dead, Section: 15, Name: "apsaramq-limit",
		Rule:  "In the dialect of ApsaraMQ every queue has a delivery limit of 16: the 17th return dead-letters a message.",
		Alone: true,
		Run: func(t *T) {
			t.apsaramq(nil)
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.put("", q, "m")
			in := ch.consume(q)
			for range 16 {
				t.must(await(t, "a delivery", in).Reject(true))
			}
			d := await(t, "the seventeenth delivery", in)
			ch.empty(dlq)
			t.must(d.Reject(true))
			got := ch.take(dlq, 1)[0]
			t.equal("deaths", t.deaths(got), []death{{Queue: q, Reason: "Consumption limit exceeded", Count: 1, Keys: []string{q}}})
			t.equal("x-death-total", got.Headers["x-death-total"], int64(1))
		},
	},
	{
		Topic: dead, Section: 15, Name: "apsaramq-cycle",
		Rule:  "In the dialect of ApsaraMQ a message that expires in a cycle of queues stays in one of them, and x-death-total is the number of its deaths.",
		Alone: true,
		Run: func(t *T) {
			t.apsaramq(object{"ttl-in-dlq": true}) // else it would stay where it dies first
			ch := t.channel()
			q1, q2 := t.name("q1"), t.name("q2")
			ch.queue("q1", to(q2), ms(10))
			ch.queue("q2", to(q1), ms(10))
			ch.put("", q1, "m")
			t.pass(time.Second)
			var all []amqp.Delivery
			for _, q := range []string{q1, q2} {
				d, ok, err := ch.Get(q, true)
				t.must(err)
				if ok {
					all = append(all, d)
				}
			}
			t.equal("found", bodies(all), []string{"m"})
			sum := int64(0)
			for _, d := range t.deaths(all[0]) {
				sum += d.Count
			}
			t.equal("x-death-total", all[0].Headers["x-death-total"], sum)
		},
	},
	{
		Topic: dead, Section: 15, Name: "apsaramq-dead-letters-do-not-expire",
		Rule:  "In the dialect of ApsaraMQ a queue's TTL does not apply to dead letters in it, but to messages that are published to it.",
		Alone: true,
		Run: func(t *T) {
			t.apsaramq(nil)
			ch := t.channel()
			dlq := ch.queue("dlq", ms(100))
			q := ch.queue("q", to(dlq))
			ch.put("", q, "m")
			t.must(ch.get(q).Reject(false))
			ch.awaitDepth(dlq, 1)
			ch.put("", dlq, "direct")
			t.pass(time.Second)
			t.equal("left", ch.drain(dlq), []string{"m"})
		},
	},
	{
		Topic: dead, Section: 15, Name: "apsaramq-reasons",
		Rule:  "In the dialect of ApsaraMQ x-death distinguishes a nack from a reject.",
		Alone: true,
		Run: func(t *T) {
			t.apsaramq(nil)
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.put("", q, "a")
			ch.put("", q, "b")
			t.must(ch.get(q).Nack(false, false))
			t.must(ch.get(q).Reject(false))
			all := ch.take(dlq, 2)
			t.equal("reasons", []string{t.deaths(all[0])[0].Reason, t.deaths(all[1])[0].Reason}, []string{"nack", "reject"})
			t.equal("first death", []string{text(all[0], "x-first-death-reason"), text(all[1], "x-first-death-reason")}, []string{"nack", "reject"})
		},
	},
	{
		Topic: expiry, Section: 3, Name: "expiry-of-the-head-only",
		Rule:  "With the policy expiry head a message expires only at the head of its queue.",
		Alone: true,
		Run: func(t *T) {
			t.ownVhost()
			t.policy("p", ".*", 0, object{"expiry": "head"})
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.put("", q, "a", expiration("400"))
			ch.put("", q, "b", expiration("50"))
			t.pass(200 * time.Millisecond)
			t.equal("ready", ch.depth(q), 2)
			t.equal("dead letters", ch.taken(dlq, 2), []string{"a", "b"})
		},
	},
	{
		Topic: expiry, Section: 9, Name: "lowest-priority-dropped-first",
		Rule:  "With the overflow drop-lowest a full queue drops the oldest message of the lowest priority.",
		Alone: true,
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", levels(10), atMost(2, "drop-lowest"), to(dlq))
			for i, p := range []uint8{1, 9, 1} {
				ch.publish("", q, string("abc"[i]), priority(p))
			}
			t.equal("dropped", ch.taken(dlq, 1), []string{"a"})
			t.equal("kept", bodies(ch.fetch(q, 2)), []string{"b", "c"})
		},
	},
}

// apsaramq gives the case a vhost that speaks the dialect of ApsaraMQ, with these options otherwise.
func (t *T) apsaramq(options object) {
	t.Helper()
	t.ownVhost()
	all := object{"dialect": "apsaramq"}
	for k, v := range options {
		all[k] = v
	}
	t.manage("PUT", all, "x", "options", t.vhost)
}
