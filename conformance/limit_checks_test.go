package conformance

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var limitCheckCases = []Case{
	{
		Topic: expiry, Section: 2, Name: "transaction-expires-after-commit",
		Rule: "A message published in a transaction expires when its TTL has passed since commit.",
		Run: func(t *T) {
			ch, own := t.channel(), t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), ms(100))
			t.must(own.Tx())
			own.publish("", q, "m")
			own.settled()
			ch.empty(dlq)
			t.must(own.TxCommit())
			t.equal("dead letter", ch.taken(dlq, 1), []string{"m"})
			ch.empty(q)
		},
	},
	{
		Topic: expiry, Section: 6, Name: "quorum-reject-publish",
		Rule:   "A quorum queue with max-length 1 and reject-publish accepts two messages and refuses the third; when it is empty, it accepts messages again.",
		Choice: strictLimit, Differs: "it accepts one and refuses the second (on purpose: reject-publish is strict on every type of queue)",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum, atMost(1, "reject-publish"))
			ch.confirm()
			room := 2
			if t.differs() {
				room = 1
			}
			for i := range room + 1 {
				ch.publish("", q, "m")
				ch.confirmed(i < room)
			}
			for range room {
				t.must(ch.get(q).Ack(false))
			}
			ch.awaitDepth(q, 0)
			t.eventually("room for a message", func() bool {
				ch.publish("", q, "m")
				return await(t, "confirm", ch.confirms).Ack
			})
		},
	},
	{
		Topic: expiry, Section: 6, Name: "quorum-overflow-of-a-policy",
		Rule:   "In a quorum queue the overflow behaviour of a policy overrides that of an argument.",
		Choice: everyQueue, Differs: "the argument has precedence (on purpose: the same precedence for every queue type; an operator policy overrides both)",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			t.policy("p", ".*", 0, object{"overflow": "reject-publish"})
			q := ch.durable("q", quorum, atMost(1, "drop-head"))
			ch.confirm()
			refused := 0
			for range 5 {
				ch.publish("", q, "m")
				if !await(t, "confirm", ch.confirms).Ack {
					refused++
				}
			}
			t.equal("refused at all", refused > 0, !t.differs())
		},
	},
	{
		Topic: expiry, Section: 6, Name: "one-body-of-101",
		Rule: "With a limit of 100 octets, the newest two of three bodies of 40 octets stay; a body of 101 octets " +
			"empties the queue.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", amqp.Table{"x-max-length-bytes": int32(100)})
			for range 3 {
				ch.put("", q, string(make([]byte, 40)))
			}
			t.equal("ready", ch.depth(q), 2)
			ch.put("", q, string(make([]byte, 101)))
			t.equal("ready", ch.depth(q), 0)
		},
	},
	{
		Topic: expiry, Section: 10, Name: "unacked-are-counted-apart",
		Rule: "Messages past their TTL that are unacked are still counted as unacked; when their channel closes, all " +
			"are dead-lettered in order.",
		Run: func(t *T) {
			conn := t.connect()
			ch, own := conn.channel(), conn.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), ms(500))
			in := own.consume(q)
			want := []string{"a", "b", "c", "d", "e"}
			for _, m := range want {
				ch.publish("", q, m)
			}
			own.collect(5, in)
			t.within(countsLimit, "five unacked", func() bool { return t.kept(q).Unacked == 5 })
			t.pass(600 * time.Millisecond)
			ch.empty(dlq)
			t.must(own.Close())
			t.equal("dead letters", ch.taken(dlq, 5), want)
		},
	},
}
