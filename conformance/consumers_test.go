package conformance

import (
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

var consumerCases = []Case{
	{
		Topic: surface, Section: 13, Name: "server-made-consumer-tag",
		Rule: "For an empty consumer tag the broker generates one that begins with amq.ctag-.",
		Run: func(t *T) {
			s := t.session(login{})
			q := s.exclusive("q")
			s.sendMethod(1, basicConsume, uint16(0), q, "", byte(0), emptyTable)
			if tag := s.want(basicConsumeOk).short(); !strings.HasPrefix(tag, "amq.ctag-") {
				t.Fatalf("the tag is %q", tag)
			}
		},
	},
	{
		Topic: surface, Section: 13, Name: "consume-ok-before-deliver",
		Rule: "basic.consume-ok comes before the first delivery, also from a queue that is not empty.",
		Run: func(t *T) {
			s := t.session(login{})
			q := s.exclusive("q")
			s.send(publishOf(1, q, "m"))
			s.sendMethod(1, basicConsume, uint16(0), q, "tag", byte(0), emptyTable)
			t.equal("tag", s.want(basicConsumeOk).short(), "tag")
			a := s.want(basicDeliver)
			t.equal("delivery", []any{a.short(), a.uint64(), a.octet(), a.short(), a.short()}, []any{"tag", uint64(1), byte(0), "", q})
			t.equal("body", string(s.content()), "m")
		},
	},
	exclusiveConsumer("exclusive-beside-a-consumer", "An exclusive consumer is refused with 403 while the queue has another.", false, true),
	exclusiveConsumer("consumer-beside-an-exclusive", "A consumer is refused with 403 while the queue has an exclusive one.", true, false),
	{
		Topic: surface, Section: 13, Name: "exclusive-consumer-leaves",
		Rule: "After an exclusive consumer is cancelled, another one can start.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			_, err := ch.Consume(q, "one", false, true, false, false, nil)
			t.must(err)
			t.must(ch.Cancel("one", false))
			_, err = ch.Consume(q, "two", false, true, false, false, nil)
			t.must(err)
		},
	},
	{
		Topic: surface, Section: 13, Name: "consumer-priority-type",
		Rule: "An x-priority of a consumer that is not an integer is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			_, err := ch.Consume(q, "", false, false, false, false, amqp.Table{"x-priority": "high"})
			t.refusal(err, 406, t.invalid("x-priority", q)+`: "expected integer, got longstr"`)
		},
	},
	{
		Topic: surface, Section: 13, Name: "cancel-ends-deliveries",
		Rule: "After cancel-ok nothing is delivered to that consumer, and the messages stay in the queue.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			in, err := ch.Consume(q, "tag", false, false, false, false, nil)
			t.must(err)
			t.must(ch.Cancel("tag", false))
			ch.publish("", q, "m")
			ch.get(q)
			if _, open := <-in; open {
				t.Fatal("a delivery came after cancel-ok")
			}
		},
	},
	{
		Topic: surface, Section: 13, Name: "cancel-notification",
		Rule: "When its queue is deleted, a consumer whose client announced consumer_cancel_notify gets " +
			"basic.cancel, and the channel stays open.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			_, err := ch.Consume(q, "tag", false, false, false, false, nil)
			t.must(err)
			_, err = other.QueueDelete(q, false, false, false)
			t.must(err)
			t.equal("cancelled", await(t, "basic.cancel", ch.cancels), "tag")
			ch.settled()
		},
	},
	{
		Topic: surface, Section: 13, Name: "cancel-after-delete-ok",
		Rule: "A channel that deletes the queue of its own consumer gets delete-ok first, then basic.cancel.",
		Run: func(t *T) {
			capabilities := table(field("consumer_cancel_notify", 't', byte(1)))
			s := t.session(login{properties: table(field("capabilities", 'F', capabilities))})
			q := s.exclusive("q")
			s.sendMethod(1, basicConsume, uint16(0), q, "tag", byte(0), emptyTable)
			s.want(basicConsumeOk)
			s.sendMethod(1, queueDelete, uint16(0), q, byte(0))
			s.want(queueDeleteOk)
			t.equal("cancelled", s.want(basicCancel).short(), "tag")
		},
	},
	{
		Topic: surface, Section: 13, Name: "cancel-not-announced",
		Rule: "A client that did not announce consumer_cancel_notify is not notified when the queue of its consumer " +
			"is deleted.",
		Run: func(t *T) {
			s := t.session(login{})
			other := t.channel()
			q := other.queue("q")
			s.sendMethod(1, basicConsume, uint16(0), q, "tag", byte(0), emptyTable)
			s.want(basicConsumeOk)
			_, err := other.QueueDelete(q, false, false, false)
			t.must(err)
			s.sendMethod(1, basicQos, uint32(0), uint16(1), byte(0))
			s.want(basicQosOk)
		},
	},
	{
		Topic: surface, Section: 13, Name: "round-robin",
		Rule: "Consumers below their prefetch limit get the messages of a queue in turn.",
		Run: func(t *T) {
			conn := t.connect()
			ch := conn.channel()
			q := ch.queue("q")
			var in []<-chan amqp.Delivery
			for range 3 {
				in = append(in, conn.channel().consume(q))
			}
			for i := range 9 {
				ch.publish("", q, fmt.Sprint(i))
			}
			seen := map[string]bool{}
			for _, c := range in {
				for _, d := range ch.collect(3, c) {
					seen[string(d.Body)] = true
				}
			}
			t.equal("different messages", len(seen), 9)
		},
	},
	{
		Topic: surface, Section: 13, Name: "full-consumer-is-passed-over",
		Rule: "A consumer at its prefetch limit does not block the others.",
		Run: func(t *T) {
			conn := t.connect()
			ch, slow, quick := conn.channel(), conn.channel(), conn.channel()
			q := ch.queue("q")
			t.must(slow.Qos(1, 0, false))
			blocked := slow.consume(q)
			in := quick.consume(q)
			for i := range 10 {
				ch.publish("", q, fmt.Sprint(i))
			}
			await(t, "the one delivery to the slow consumer", blocked)
			ch.collect(9, in)
		},
	},
	{
		Topic: surface, Section: 13, Name: "consumer-priority",
		Rule: "A consumer of a higher x-priority gets every message until it reaches its prefetch limit; then the " +
			"next one does.",
		Run: func(t *T) {
			conn := t.connect()
			ch, low, high := conn.channel(), conn.channel(), conn.channel()
			q := ch.queue("q")
			t.must(high.Qos(2, 0, false))
			rest := low.consume(q)
			first, err := high.Consume(q, "", false, false, false, false, amqp.Table{"x-priority": int32(10)})
			t.must(err)
			for i := range 4 {
				ch.publish("", q, fmt.Sprint(i))
			}
			t.equal("high", bodies(ch.collect(2, first)), []string{"0", "1"})
			t.equal("low", bodies(ch.collect(2, rest)), []string{"2", "3"})
		},
	},
	{
		Topic: surface, Section: 13, Name: "cancelled-consumer-leaves-its-unacked",
		Rule: "A cancelled consumer's unacked messages are returned only when its channel closes.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			d := await(t, "a delivery", ch.consume(q))
			t.must(ch.Cancel(d.ConsumerTag, false))
			other.empty(q)
			t.must(ch.Close())
			t.equal("redelivered", other.take(q, 1)[0].Redelivered, true)
		},
	},
}

// exclusiveConsumer is a case of two consumers of which one is exclusive.
func exclusiveConsumer(name, rule string, first, second bool) Case {
	return Case{
		Topic: surface, Section: 6, Name: name, Rule: rule,
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			_, err := ch.Consume(q, "one", false, first, false, false, nil)
			t.must(err)
			_, err = ch.Consume(q, "two", false, second, false, false, nil)
			t.refusal(err, 403, "ACCESS_REFUSED - queue '"+q+"' in vhost '"+t.vhost+"' in exclusive use")
		},
	}
}

var confirmCases = []Case{
	{
		Topic: surface, Section: 14, Name: "confirms-count",
		Rule: "Confirms number the publishes of a channel from 1, from the first after confirm.select; each is " +
			"confirmed once.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q")
			ch.publish("", q, "before")
			ch.confirm()
			ch.confirm()
			seen := map[uint64]bool{}
			for range 100 {
				ch.publish("", q, "m", persistent)
			}
			for range 100 {
				c := await(t, "confirm", ch.confirms)
				t.equal("ack", c.Ack, true)
				seen[c.DeliveryTag] = true
			}
			t.equal("different numbers", len(seen), 100)
			t.equal("the last number", seen[100], true)
		},
	},
	{
		Topic: surface, Section: 14, Name: "unroutable-is-acked",
		Rule: "An unroutable message is confirmed with an ack.",
		Run: func(t *T) {
			ch := t.channel()
			ch.confirm()
			ch.publish("", t.name("no-q"), "m")
			ch.confirmed(true)
			silent(t, "basic.return", ch.returns)
		},
	},
	{
		Topic: surface, Section: 14, Name: "confirm-of-empty-route",
		Rule: "Each message, routable or not, is confirmed, in any order.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q")
			ch.confirm()
			for i := range 20 {
				key := q
				if i%2 == 1 {
					key = t.name("no-q")
				}
				ch.publish("", key, "m", persistent)
			}
			for range 20 {
				ch.confirmed(true)
			}
			t.equal("depth", ch.depth(q), 10)
		},
	},
	{
		Topic: surface, Section: 6, Name: "confirm-after-tx",
		Rule: "A transactional channel cannot be put into confirm mode: 406.",
		Run: func(t *T) {
			ch := t.channel()
			t.must(ch.Tx())
			t.refusal(ch.Confirm(false), 406, "PRECONDITION_FAILED - cannot switch from tx to confirm mode")
		},
	},
	{
		Topic: surface, Section: 6, Name: "tx-after-confirm",
		Rule: "A channel in confirm mode cannot be made transactional: 406.",
		Run: func(t *T) {
			ch := t.channel()
			ch.confirm()
			t.refusal(ch.Tx(), 406, "PRECONDITION_FAILED - cannot switch from confirm to tx mode")
		},
	},
	{
		Topic: surface, Section: 6, Name: "commit-and-rollback-without-tx",
		Rule: "Commit and rollback on a channel that is not transactional are refused with 406.",
		Run: func(t *T) {
			conn := t.connect()
			t.refusal(conn.channel().TxCommit(), 406, "PRECONDITION_FAILED - channel is not transactional")
			t.refusal(conn.channel().TxRollback(), 406, "PRECONDITION_FAILED - channel is not transactional")
		},
	},
	{
		Topic: surface, Section: 14, Name: "tx-publish",
		Rule: "A publish in a transaction reaches its queue at commit and never after a rollback.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			t.must(ch.Tx())
			ch.publish("", q, "undone")
			t.must(ch.TxRollback())
			ch.publish("", q, "done")
			ch.settled()
			other.empty(q)
			t.must(ch.TxCommit())
			t.equal("committed", other.drain(q), []string{"done"})
		},
	},
	{
		Topic: surface, Section: 14, Name: "tx-return",
		Rule: "In a transaction an unroutable mandatory message is returned at commit, before commit-ok.",
		Run: func(t *T) {
			ch := t.channel()
			t.must(ch.Tx())
			ch.publishMandatory("", t.name("no-q"), "m")
			ch.settled()
			silent(t, "basic.return before commit", ch.returns)
			t.must(ch.TxCommit())
			t.equal("text", await(t, "basic.return", ch.returns).ReplyText, "NO_ROUTE")
		},
	},
	{
		Topic: surface, Section: 16, Name: "error-keeps-other-confirms",
		Rule: "A channel error does not affect the confirms of another channel.",
		Run: func(t *T) {
			conn := t.connect()
			good, bad := conn.channel(), conn.channel()
			q := good.durable("q")
			good.confirm()
			for range 50 {
				good.publish("", q, "m", persistent)
			}
			t.must(bad.Ack(9, false))
			bad.refused(406, "PRECONDITION_FAILED - unknown delivery tag 9")
			for range 50 {
				good.confirmed(true)
			}
		},
	},
}
