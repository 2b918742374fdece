package conformance

import (
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

var transactionCases = []Case{
	{
		Topic: surface, Section: 14, Name: "confirm-select-without-answer",
		Rule: "confirm.select with no-wait is not answered, and works.",
		Run: func(t *T) {
			s := t.session(login{})
			s.sendMethod(1, confirmSelect, byte(1))
			s.send(publishOf(1, t.name("no-q"), "m"))
			t.equal("number", s.want(basicAck).uint64(), uint64(1))
		},
	},
	{
		Topic: surface, Section: 14, Name: "confirm-persistent-quorum",
		Rule: "A quorum queue confirms with an ack.",
		Run: func(t *T) {
			ch := t.channel()
			ch.put("", ch.durable("q", quorum), "m", persistent)
		},
	},
	{
		Topic: surface, Section: 14, Name: "tx-select-twice",
		Rule: "tx.select on a transactional channel succeeds and keeps the pending operations.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			t.must(ch.Tx())
			ch.publish("", q, "m")
			t.must(ch.Tx())
			t.must(ch.TxCommit())
			t.equal("committed", other.drain(q), []string{"m"})
		},
	},
	{
		Topic: surface, Section: 14, Name: "tx-ack",
		Rule: "An ack in a transaction takes effect at commit; after a rollback the delivery is unacked and can be " +
			"settled again.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			other.put("", q, "a")
			other.put("", q, "b")
			t.must(ch.Tx())
			both := ch.fetch(q, 2)
			t.must(both[0].Ack(false))
			t.must(both[1].Ack(false))
			t.must(ch.TxRollback())
			t.must(both[0].Ack(false))
			t.must(ch.TxCommit())
			t.must(ch.Close())
			t.equal("returned", other.taken(q, 1), []string{"b"})
		},
	},
	recovered("ack", func(d amqp.Delivery) error { return d.Ack(false) }, nil, nil),
	recovered("ack-multiple", func(d amqp.Delivery) error { return d.Ack(true) }, nil, nil),
	recovered("reject", func(d amqp.Delivery) error { return d.Reject(false) }, nil, []string{"settled"}),
	recovered("nack-multiple", func(d amqp.Delivery) error { return d.Nack(true, false) }, nil, []string{"settled"}),
	recovered("requeue", func(d amqp.Delivery) error { return d.Nack(false, true) }, []string{"settled"}, nil),
	{
		Topic: surface, Section: 14, Name: "tx-recover-and-rollback",
		Rule: "After a rollback the deliveries settled before basic.recover are unacked again, and are returned when " +
			"the channel closes.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			other.put("", q, "m")
			t.must(ch.Tx())
			t.must(ch.get(q).Ack(false))
			ch.requeueUnacked()
			t.must(ch.TxRollback())
			other.empty(q)
			ch.requeueUnacked()
			t.equal("returned", other.taken(q, 1), []string{"m"})
		},
	},
	{
		Topic: surface, Section: 14, Name: "tx-settled-twice",
		Rule: "In a transaction a delivery is settled once: settling it again, also with the multiple flag, is " +
			"refused with 406.",
		Run: func(t *T) {
			conn := t.connect()
			for _, multiple := range []bool{false, true} {
				ch := conn.channel()
				q := ch.queue(fmt.Sprint("q", multiple))
				ch.publish("", q, "m")
				ch.publish("", q, "m")
				t.must(ch.Tx())
				two := ch.fetch(q, 2)
				t.must(two[1].Ack(false))
				t.must(two[1].Nack(multiple, false))
				ch.refused(406, "PRECONDITION_FAILED - unknown delivery tag 2")
			}
		},
	},
	{
		Topic: surface, Section: 14, Name: "tx-several-commits",
		Rule: "A transactional channel can be used after a commit: each commit has the operations since the last one.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			t.must(ch.Tx())
			for _, m := range []string{"a", "b"} {
				ch.publish("", q, m)
				t.must(ch.TxCommit())
			}
			ch.publish("", q, "c")
			t.must(ch.TxCommit())
			t.must(ch.TxCommit())
			t.equal("committed", other.taken(q, 3), []string{"a", "b", "c"})
		},
	},
	{
		Topic: surface, Section: 14, Name: "tx-error-at-publish",
		Rule: "In a transaction a publish to a missing exchange is refused immediately, not at commit.",
		Run: func(t *T) {
			ch, x := t.channel(), t.name("no-x")
			t.must(ch.Tx())
			ch.publish(x, "k", "m")
			ch.refused(404, "NOT_FOUND - no exchange '"+x+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 7, Name: "channel-close-drops-transaction",
		Rule: "Closing a channel drops its open transaction: publishes are lost, settlements are undone.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			other.put("", q, "settled")
			t.must(ch.Tx())
			t.must(ch.get(q).Ack(false))
			ch.publish("", q, "published")
			t.must(ch.Close())
			d := other.take(q, 1)[0]
			t.equal("returned", []any{string(d.Body), d.Redelivered}, []any{"settled", true})
			other.empty(q)
		},
	},
	{
		Topic: surface, Section: 14, Name: "tx-reject-publish",
		Rule: "If a full queue refuses a publish of a transaction, the commit is refused with 406; its other " +
			"operations take effect.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q, free := ch.queue("q", atMost(1, "reject-publish")), ch.queue("free")
			other.put("", q, "first")
			t.must(ch.Tx())
			ch.publish("", q, "second")
			ch.publish("", free, "third")
			t.refusal(ch.TxCommit(), 406, "PRECONDITION_FAILED - partial tx completion")
			t.equal("kept", other.drain(q), []string{"first"})
			t.equal("taken", other.taken(free, 1), []string{"third"})
		},
	},
}

// recovered is the case of a settlement in a transaction, basic.recover and commit: what is in the queue, and in its
// dead-letter queue, beside what was not settled.
func recovered(name string, settle func(amqp.Delivery) error, back, dead []string) Case {
	return Case{
		Topic: surface, Section: 14, Name: "tx-recover-" + name,
		Rule: "In a transaction basic.recover returns the deliveries that are not settled; the settled ones wait for the commit (" + name + ").",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			other.put("", q, "settled")
			other.put("", q, "open")
			t.must(ch.Tx())
			d := ch.fetch(q, 2)
			t.must(settle(d[0]))
			ch.requeueUnacked()
			t.equal("returned", other.taken(q, 1), []string{"open"})
			other.empty(q)
			t.must(ch.TxCommit())
			t.must(ch.Close())
			t.equal("returned at commit", other.taken(q, len(back)), back)
			t.equal("dead letters", other.taken(dlq, len(dead)), dead)
			other.empty(q)
		},
	}
}
