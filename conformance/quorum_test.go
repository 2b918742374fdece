package conformance

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// quorum is the argument of a quorum queue.
var quorum = amqp.Table{"x-queue-type": "quorum"}

// deliveryLimit is the argument of a limit of deliveries.
func deliveryLimit(n int32) amqp.Table { return amqp.Table{"x-delivery-limit": n} }

// A giveBack returns a delivery to its queue.
type giveBack func(d amqp.Delivery) error

func nacked(d amqp.Delivery) error   { return d.Nack(false, true) }
func rejected(d amqp.Delivery) error { return d.Reject(true) }

// next waits for the message that is ready next, and takes it unacked: a quorum queue may be slow to have it.
func (ch *channel) next(queue string) (d amqp.Delivery) {
	ch.t.Helper()
	ch.t.eventually("a message in "+queue, func() bool {
		var ok bool
		var err error
		d, ok, err = ch.Get(queue, false)
		ch.t.must(err)
		return ok
	})
	return d
}

// rounds takes the only message of a queue and gives it back, n times.
func (ch *channel) rounds(queue string, n int, back giveBack) {
	ch.t.Helper()
	for range n {
		ch.t.must(back(ch.next(queue)))
	}
}

// counted is how often a message came back and how often its delivery failed, as its headers say; -1 is absent.
func (t *T) counted(d amqp.Delivery) (acquired, failed int64) {
	t.Helper()
	return t.count(d, "x-acquired-count"), t.count(d, "x-delivery-count")
}

func (t *T) count(d amqp.Delivery, header string) int64 {
	t.Helper()
	switch v := d.Headers[header].(type) {
	case nil:
		return -1
	case int64:
		return v
	default:
		t.Fatalf("%s is %#v, no 64-bit integer", header, v)
		return 0
	}
}

// wantCounts fails the case unless a delivery has these counts and is redelivered.
func (t *T) wantCounts(d amqp.Delivery, acquired, failed int64) {
	t.Helper()
	a, f := t.counted(d)
	t.equal("x-acquired-count, x-delivery-count, redelivered", []any{a, f, d.Redelivered}, []any{acquired, failed, true})
}

// wantFresh fails the case unless a delivery is its message's first from the queue. Up to 3.12 a count of 0 is shown.
func (t *T) wantFresh(d amqp.Delivery) {
	t.Helper()
	acquired, failed := t.counted(d)
	if failed == 0 && t.broker.series.less(version{3, 13}) {
		failed = -1
	}
	t.equal("x-acquired-count, x-delivery-count, redelivered", []any{acquired, failed, d.Redelivered}, []any{int64(-1), int64(-1), false})
}

var deliveryLimitCases = []Case{
	{
		Topic: retry, Section: 1, Name: "limit-by-reject",
		Rule: "A message of a quorum queue that is rejected with requeue more often than the limit allows dies of " +
			"delivery_limit.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, deliveryLimit(2), to(dlq))
			ch.put("", q, "m")
			ch.rounds(q, 3, rejected)
			t.equal("deaths", t.deaths(ch.take(dlq, 1)[0]), []death{{Queue: q, Reason: "delivery_limit", Count: 1, Keys: []string{q}}})
			ch.empty(q)
		},
	},
	{
		Topic: retry, Section: 1, Name: "limit-by-nack",
		Rule:  "A nack with requeue does not count against the delivery limit.",
		Since: "4.3", Before: "it counts, as a reject does",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, deliveryLimit(2), to(dlq))
			ch.put("", q, "m")
			if t.since() {
				ch.rounds(q, 10, nacked)
				ch.next(q)
				return
			}
			ch.rounds(q, 3, nacked)
			t.equal("reason", t.deaths(ch.take(dlq, 1)[0])[0].Reason, "delivery_limit")
		},
	},
	{
		Topic: retry, Section: 1, Name: "limit-zero-by-close",
		Rule: "With a delivery limit of 0 an unacked message dies when its channel closes.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			dlq := other.queue("dlq")
			q := other.durable("q", quorum, deliveryLimit(0), to(dlq))
			other.put("", q, "m")
			ch.next(q)
			t.must(ch.Close())
			t.equal("reason", t.deaths(other.take(dlq, 1)[0])[0].Reason, "delivery_limit")
		},
	},
	{
		Topic: retry, Section: 1, Name: "limit-of-20",
		Rule:  "A quorum queue has a default delivery limit of 20: after 21 rejects with requeue a message is dropped.",
		Since: "4.0", Before: "it has none",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, to(dlq))
			ch.put("", q, "m")
			ch.rounds(q, 21, rejected)
			if t.since() {
				ch.take(dlq, 1)
			} else {
				ch.next(q)
			}
		},
	},
	{
		Topic: retry, Section: 1, Name: "limit-unlimited-argument",
		Rule:  "With a negative delivery limit (no limit) by argument and 3 by policy, 3 applies.",
		Since: "4.0", Before: "the smaller number applies, as if a negative number were a limit: the first return exceeds it",
		Run: func(t *T) {
			if t.since() {
				t.limitByBoth(-1, 3, 3)
			} else {
				t.limitByBoth(-1, 3, 0)
			}
		},
	},
	limitByBoth("argument-below-policy", 1, 3, 1),
	limitByBoth("policy-below-argument", 3, 1, 1),
	{
		Topic: retry, Section: 1, Name: "limit-lowered",
		Rule:  "If a policy lowers the delivery limit below a message's count, the message dies at its next return.",
		Since: "4.3", Before: "it may take effect later",
		Newer: true,
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, deliveryLimit(20), to(dlq))
			ch.put("", q, "m")
			ch.rounds(q, 5, rejected)
			ch.settled()
			t.policy("p", "^"+q+"$", 0, object{"delivery-limit": 1})
			in, died := ch.consume(q), t.channel().consume(dlq)
			for returns := 6; ; returns++ {
				select {
				case d := <-in:
					t.must(d.Reject(true))
					continue
				case <-died:
				case <-time.After(patience):
					t.Fatal("the message does not die")
				}
				if t.since() {
					t.equal("returns", returns-1, 6)
				}
				return
			}
		},
	},
	{
		Topic: retry, Section: 1, Name: "limit-of-text",
		Rule:   "A delivery limit that is not an integer is accepted and has no effect.",
		Choice: sense, Differs: "it is refused with 406 (on purpose: an invalid limit would not protect)",
		Run: func(t *T) {
			ch, q := t.channel(), t.name("q")
			_, err := ch.QueueDeclare(q, true, false, false, false, amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": "2"})
			if t.differs() {
				t.refusal(err, 406, t.invalid("x-delivery-limit", q)+`: "expected integer, got longstr"`)
				return
			}
			t.must(err)
			t.forget(q, "")
			ch.put("", q, "m")
			ch.rounds(q, 4, rejected)
			ch.next(q)
		},
	},
	{
		Topic: retry, Section: 1, Name: "limit-of-a-classic-queue",
		Rule: "A delivery limit also applies to a classic queue, by argument or by policy.", Alone: true,
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			dlq := ch.queue("dlq")
			one, two := ch.queue("one", deliveryLimit(1), to(dlq)), ch.queue("two", to(dlq))
			t.policy("p", "^"+two+"$", 0, object{"delivery-limit": 1})
			for _, q := range []string{one, two} {
				ch.put("", q, q)
				ch.rounds(q, 2, nacked)
				d := ch.take(dlq, 1)[0]
				t.equal("death", []string{string(d.Body), t.deaths(d)[0].Reason}, []string{q, "delivery_limit"})
			}
		},
	},
}

// limitByBoth is a case of a delivery limit by argument and one by policy.
func limitByBoth(name string, argument, policy int32, effective int) Case {
	return Case{
		Topic: retry, Section: 1, Name: "limit-" + name,
		Rule: fmt.Sprintf("With a delivery limit of %d by argument and one of %d by policy, %d counts.", argument, policy, effective),
		Run:  func(t *T) { t.limitByBoth(argument, policy, effective) },
	}
}

func (t *T) limitByBoth(argument, policy int32, effective int) {
	t.Helper()
	t.ownVhost()
	ch := t.channel()
	dlq := ch.queue("dlq")
	t.policy("p", ".q$", 0, object{"delivery-limit": policy})
	q := ch.durable("q", quorum, deliveryLimit(argument), to(dlq))
	ch.put("", q, "m")
	ch.rounds(q, effective, rejected)
	ch.rounds(q, 1, rejected) // this one is too many
	ch.take(dlq, 1)
}
