package conformance

import amqp "github.com/rabbitmq/amqp091-go"

// failedMode makes a queue count failures for its limit and its consumers, as quorum queues do from RabbitMQ 4.3.
var failedMode = amqp.Table{"x-delivery-count-mode": "failed"}

var countCases = []Case{
	{
		Topic: retry, Section: 2, Name: "counts-of-nacks",
		Rule:  "A nack with requeue raises only x-acquired-count.",
		Since: "4.3", Before: "it raises x-delivery-count, the only count there is",
		Choice: everyReturn, Differs: "it raises both (on purpose: every return counts, so that a poison message leaves the queue)",
		Run: func(t *T) {
			acquired, failed := int64(-1), int64(3)
			if t.since() {
				acquired, failed = 3, -1
			}
			if t.differs() {
				acquired, failed = 3, 3
			}
			t.wantCounts(t.channel().returned(3, nacked, quorum), acquired, failed)
		},
	},
	{
		Topic: retry, Section: 2, Name: "counts-of-rejects",
		Rule:  "A reject with requeue raises x-acquired-count and x-delivery-count.",
		Since: "4.3", Before: "x-delivery-count is the only count there is",
		Newer: true,
		Run: func(t *T) {
			acquired := int64(-1)
			if t.since() {
				acquired = 2
			}
			t.wantCounts(t.channel().returned(2, rejected, quorum), acquired, 2)
		},
	},
	{
		Topic: retry, Section: 2, Name: "counts-of-nack-and-close",
		Rule:  "A nack and a close of the channel make an x-acquired-count of 2 and an x-delivery-count of 1.",
		Since: "4.3", Before: "x-delivery-count, the only count, is 2",
		Choice: everyReturn, Differs: "both are 2 (on purpose: every return counts)",
		Run: func(t *T) {
			acquired, failed := int64(-1), int64(2)
			if t.since() {
				acquired, failed = 2, 1
			}
			if t.differs() {
				acquired, failed = 2, 2
			}
			t.wantCounts(t.nackedAndClosed(quorum), acquired, failed)
		},
	},
	alone(2, "failed-mode-nacks", "In a queue that counts failures a nack with requeue raises x-acquired-count alone, on any type.", func(t *T) {
		for _, kind := range []amqp.Table{quorum, {}} {
			t.wantCounts(t.channel().returned(3, nacked, kind, failedMode), 3, -1)
		}
	}),
	alone(2, "failed-mode-nack-and-close", "In a queue that counts failures a nack and a close of the channel make counts of 2 and 1.", func(t *T) {
		t.wantCounts(t.nackedAndClosed(quorum, failedMode), 2, 1)
	}),
	alone(1, "failed-mode-limit", "In a queue that counts failures nacks with requeue never reach the delivery limit, rejects do.", func(t *T) {
		ch := t.channel()
		dlq := ch.queue("dlq")
		q := ch.durable("q", quorum, deliveryLimit(2), failedMode, to(dlq))
		ch.put("", q, "m")
		ch.rounds(q, 10, nacked)
		ch.rounds(q, 3, rejected)
		ch.take(dlq, 1)
	}),
	alone(1, "count-mode-by-policy", "What counts may be set by policy, for the limit too.", func(t *T) {
		t.ownVhost()
		ch := t.channel()
		q := ch.durable("q", quorum, deliveryLimit(1))
		t.policy("p", ".*", 0, object{"delivery-count-mode": "failed"})
		ch.put("", q, "m")
		ch.rounds(q, 5, nacked)
		ch.next(q)
	}),
	alone(1, "count-mode-unknown", "A way to count that is not known is refused with 406.", func(t *T) {
		_, err := t.channel().QueueDeclare(t.name("q"), false, false, true, false, amqp.Table{"x-delivery-count-mode": "none"})
		t.refusalLike(err, 406, t.invalid("x-delivery-count-mode", t.name("q")))
	}),
	{
		Topic: retry, Section: 2, Name: "counts-by-multiple",
		Rule: "A nack with multiple counts for each message, and they are returned in the order of their tags.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum, deliveryLimit(5))
			for _, m := range []string{"a", "b", "c"} {
				ch.put("", q, m)
			}
			ch.next(q)
			ch.next(q)
			t.must(ch.next(q).Nack(true, true))
			for _, m := range []string{"a", "b", "c"} {
				d := ch.next(q)
				_, n := t.counted(d)
				t.equal("body and x-delivery-count", []any{string(d.Body), n}, []any{m, int64(1)})
			}
		},
	},
	{
		Topic: retry, Section: 3, Name: "counts-begin-absent",
		Rule:  "A first delivery has no count; after one reject with requeue x-acquired-count and x-delivery-count are 1.",
		Since: "4.3", Before: "x-delivery-count is the only count there is (up to 3.12 it starts as 0)",
		Newer: true,
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum)
			ch.put("", q, "m")
			d := ch.next(q)
			t.wantFresh(d)
			t.must(d.Reject(true))
			acquired := int64(-1)
			if t.since() {
				acquired = 1
			}
			t.wantCounts(ch.next(q), acquired, 1)
		},
	},
	{
		Topic: retry, Section: 3, Name: "counts-of-a-client",
		Rule:  "An x-delivery-count of a publisher is passed on: the first delivery has it, and the broker's own count replaces it at the next.",
		Since: "3.13", Before: "the broker's own count, 0, replaces it immediately",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum)
			ch.put("", q, "m", headers(amqp.Table{"x-delivery-count": int64(99)}))
			d := ch.next(q)
			first := int64(0)
			if t.since() {
				first = 99
			}
			t.equal("first", d.Headers["x-delivery-count"], any(first))
			t.must(d.Reject(true))
			t.equal("second", ch.next(q).Headers["x-delivery-count"], any(int64(1)))
		},
	},
	{
		Topic: retry, Section: 4, Name: "counts-in-the-next-queue",
		Rule:  "A message dead-lettered from one quorum queue to another keeps its counts, and arrives redelivered.",
		Since: "4.1", Before: "the counts restart",
		Choice: everyReturn, Differs: "the counts restart (on purpose: a count belongs to a message in a queue, and a limit must not apply twice)",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.durable("dlq", quorum)
			q := ch.durable("q", quorum, deliveryLimit(1), to(dlq))
			ch.put("", q, "m")
			ch.rounds(q, 2, rejected)
			d := ch.next(dlq)
			if t.since() && !t.differs() {
				_, failed := t.counted(d)
				t.equal("redelivered and count", []any{d.Redelivered, failed}, []any{true, int64(2)})
				return
			}
			t.wantFresh(d)
			t.must(d.Reject(true))
			ch.rounds(dlq, 2, rejected)
			_, failed := t.counted(ch.next(dlq))
			t.equal("after three rejects", failed, int64(3))
		},
	},
	{
		Topic: retry, Section: 5, Name: "return-to-the-head",
		Rule: "A returned message precedes those that were behind it, in a classic queue and in a quorum queue with " +
			"a limit.",
		Run: func(t *T) {
			ch := t.channel()
			for i, kind := range []amqp.Table{{}, merge([]amqp.Table{quorum, deliveryLimit(5)})} {
				q := ch.durable([]string{"classic", "quorum"}[i], kind)
				t.must(ch.three(q)[0].Nack(false, true))
				t.equal("next", []string{string(ch.next(q).Body), string(ch.next(q).Body)}, []string{"m1", "m3"})
			}
		},
	},
	{
		Topic: retry, Section: 5, Name: "returns-in-their-order",
		Rule:   "Messages returned to a quorum queue are delivered again in the order of their return.",
		Choice: everyQueue, Differs: "in the order in which they were published, as in a classic queue",
		Run: func(t *T) {
			ch := t.channel()
			for i, kind := range []amqp.Table{{}, merge([]amqp.Table{quorum, deliveryLimit(5)})} {
				q := ch.durable([]string{"classic", "quorum"}[i], kind)
				two := ch.three(q)
				t.must(two[1].Nack(false, true))
				t.must(two[0].Nack(false, true))
				want := []string{"m1", "m2", "m3"}
				if i == 1 && !t.differs() {
					want = []string{"m2", "m1", "m3"}
				}
				t.equal("order", []string{string(ch.next(q).Body), string(ch.next(q).Body), string(ch.next(q).Body)}, want)
			}
		},
	},
}

// alone is a case of what only Bartleby has.
func alone(section int, name, rule string, run func(t *T)) Case {
	return Case{Topic: retry, Section: section, Name: name, Rule: rule, Alone: true, Run: run}
}

// returned puts a message in a queue made for it, gives it back n times, and takes it once more.
func (ch *channel) returned(n int, back giveBack, args ...amqp.Table) amqp.Delivery {
	ch.t.Helper()
	q := ch.durable("q", args...)
	defer func() {
		_, err := ch.QueueDelete(q, false, false, false)
		ch.t.must(err)
	}()
	ch.put("", q, "m")
	ch.rounds(q, n, back)
	return ch.next(q)
}

// nackedAndClosed is a message that came back by a nack and by the end of a channel.
func (t *T) nackedAndClosed(args ...amqp.Table) amqp.Delivery {
	t.Helper()
	conn := t.connect()
	ch, other := conn.channel(), conn.channel()
	q := other.durable("q", args...)
	other.put("", q, "m")
	ch.rounds(q, 1, nacked)
	ch.next(q)
	t.must(ch.Close())
	return other.next(q)
}

// three puts m1, m2, m3 in a queue and takes the first two.
func (ch *channel) three(queue string) []amqp.Delivery {
	ch.t.Helper()
	for _, m := range []string{"m1", "m2", "m3"} {
		ch.put("", queue, m)
	}
	return []amqp.Delivery{ch.next(queue), ch.next(queue)}
}
