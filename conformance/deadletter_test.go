package conformance

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var triggerCases = []Case{
	{
		Topic: dead, Section: 1, Name: "rejected",
		Rule: "A message rejected without requeue is dead-lettered with reason rejected.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("body", string(d.Body), "m")
			t.equal("deaths", t.deaths(d), []death{{Queue: q, Reason: "rejected", Count: 1, Keys: []string{q}}})
			t.equal("depth", ch.depth(q), 0)
		},
	},
	{
		Topic: dead, Section: 1, Name: "nacked-multiple",
		Rule: "A nack with multiple and without requeue dead-letters every message up to its tag with reason rejected.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			for i := range 4 {
				ch.publish("", q, fmt.Sprint(i))
			}
			t.must(ch.fetch(q, 4)[2].Nack(true, false))
			all := ch.take(dlq, 3)
			t.equal("bodies", bodies(all), []string{"0", "1", "2"})
			for _, d := range all {
				t.equal("reason", t.deaths(d)[0].Reason, "rejected")
			}
			ch.empty(dlq)
		},
	},
	{
		Topic: dead, Section: 1, Name: "expired-by-queue",
		Rule: "A message that outlives its queue's TTL is dead-lettered with reason expired and without " +
			"original-expiration.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), amqp.Table{"x-message-ttl": int32(20)})
			ch.publish("", q, "m")
			t.equal("deaths", t.deaths(ch.take(dlq, 1)[0]), []death{{Queue: q, Reason: "expired", Count: 1, Keys: []string{q}}})
		},
	},
	{
		Topic: dead, Section: 1, Name: "expired-by-message",
		Rule: "A message that outlives its own expiration is dead-lettered with reason expired and its " +
			"original-expiration.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m", expiration("20"))
			d := ch.take(dlq, 1)[0]
			t.equal("deaths", t.deaths(d), []death{{Queue: q, Reason: "expired", Count: 1, Keys: []string{q}, Expiration: "20"}})
			t.equal("expiration", d.Expiration, "")
		},
	},
	{
		Topic: dead, Section: 1, Name: "maxlen",
		Rule: "A message dropped by the length limit is dead-lettered with reason maxlen, the oldest first.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), amqp.Table{"x-max-length": int32(2)})
			for i := range 4 {
				ch.publish("", q, fmt.Sprint(i))
			}
			all := ch.take(dlq, 2)
			t.equal("dropped", bodies(all), []string{"0", "1"})
			t.equal("deaths", t.deaths(all[0]), []death{{Queue: q, Reason: "maxlen", Count: 1, Keys: []string{q}}})
			t.equal("kept", bodies(ch.fetch(q, 2)), []string{"2", "3"})
		},
	},
	notDead("ack", "An acked message is not dead-lettered.", func(ch *channel, q string) {
		ch.t.must(ch.get(q).Ack(false))
	}),
	notDead("requeue", "A message returned to its queue is not dead-lettered.", func(ch *channel, q string) {
		ch.t.must(ch.get(q).Nack(false, true))
		ch.t.must(ch.get(q).Ack(false))
	}),
	notDead("recover", "Messages that basic.recover returns are not dead-lettered.", func(ch *channel, q string) {
		ch.get(q)
		ch.requeueUnacked()
		ch.t.must(ch.get(q).Ack(false))
	}),
	notDead("purge", "Purged messages are not dead-lettered.", func(ch *channel, q string) {
		_, err := ch.QueuePurge(q, false)
		ch.t.must(err)
	}),
	notDead("delete", "The messages of a deleted queue are not dead-lettered.", func(ch *channel, q string) {
		_, err := ch.QueueDelete(q, false, false, false)
		ch.t.must(err)
	}),
	notDead("channel-close", "The unacked messages of a closed channel are returned, not dead-lettered.", func(ch *channel, q string) {
		own := ch.conn.channel()
		ch.awaitDepth(q, 1)
		own.get(q)
		ch.t.must(own.Close())
		ch.take(q, 1)
	}),
	{
		Topic: dead, Section: 1, Name: "without-dlx",
		Rule: "Without a dead-letter exchange a rejected, expired or dropped message is discarded.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", amqp.Table{"x-max-length": int32(1)})
			ch.publish("", q, "dropped")
			ch.publish("", q, "rejected")
			t.must(ch.get(q).Reject(false))
			ch.put("", q, "expired", expiration("10"))
			ch.awaitDepth(q, 0)
		},
	},
	{
		Topic: dead, Section: 1, Name: "transaction",
		Rule: "In a transaction a reject takes effect at commit, and a rollback leaves the message unacked.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m")
			t.must(ch.Tx())
			d := ch.get(q)
			t.must(d.Nack(false, false))
			t.must(ch.TxRollback())
			t.equal("depths", []int{ch.depth(q), ch.depth(dlq)}, []int{0, 0})
			t.must(d.Nack(false, false))
			t.must(ch.TxCommit())
			t.equal("got", ch.taken(dlq, 1), []string{"m"})
		},
	},
	{
		Topic: dead, Section: 2, Name: "reject-beats-ttl",
		Rule: "An unacked message rejected after its TTL has passed dies as rejected.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), amqp.Table{"x-message-ttl": int32(50)})
			d := ch.held(q)
			t.pass(100 * time.Millisecond)
			t.must(d.Nack(false, false))
			t.equal("reason", t.deaths(ch.take(dlq, 1)[0])[0].Reason, "rejected")
		},
	},
	{
		Topic: dead, Section: 2, Name: "returned-after-ttl",
		Rule: "An unacked message returned after its TTL has passed dies as expired and is not delivered again.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), amqp.Table{"x-message-ttl": int32(50)})
			d := ch.held(q)
			t.pass(100 * time.Millisecond)
			t.must(d.Nack(false, true))
			t.equal("reason", t.deaths(ch.take(dlq, 1)[0])[0].Reason, "expired")
			ch.empty(q)
		},
	},
	{
		Topic: dead, Section: 2, Name: "returned-over-limit-after-ttl",
		Rule:   "A message returned over the length limit after its TTL has passed dies as maxlen, because the limit is checked first.",
		Choice: ownInstant, Differs: "dies as expired (on purpose: expiry is checked before length, so that an expired message has this reason)",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), amqp.Table{"x-max-length": int32(1)})
			ch.publish("", q, "m", expiration("500"))
			d := ch.get(q)
			ch.publish("", q, "later")
			t.pass(600 * time.Millisecond)
			t.must(d.Nack(false, true))
			want := "maxlen"
			if t.differs() {
				want = "expired"
			}
			got := ch.take(dlq, 1)[0]
			t.equal("death", []string{string(got.Body), t.deaths(got)[0].Reason}, []string{"m", want})
			t.equal("left", ch.depth(q), 1)
		},
	},
}

// held publishes a message and gets it, unacked, before its TTL: a queue with a waiting consumer hands it over at once.
func (ch *channel) held(q string) amqp.Delivery {
	ch.t.Helper()
	own := ch.conn.channel()
	in := own.consume(q)
	ch.publish("", q, "m")
	d := await(ch.t, "a delivery", in)
	ch.t.must(own.Cancel(d.ConsumerTag, false))
	return d
}

// notDead is a case of what ends a message in its queue, or not, without dead-lettering it.
func notDead(name, rule string, do func(ch *channel, q string)) Case {
	return Case{
		Topic: dead, Section: 1, Name: "not-dead-by-" + name, Rule: rule,
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m")
			do(ch, q)
			// What would have been dead-lettered would be in front of a dead letter that is sent now.
			ch.queue("q", to(dlq))
			ch.publish("", q, "fence")
			t.must(ch.get(q).Reject(false))
			t.equal("dead letters", ch.taken(dlq, 1), []string{"fence"})
			ch.empty(dlq)
		},
	}
}
