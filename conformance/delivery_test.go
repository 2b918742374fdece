package conformance

import (
	"fmt"
)

var deliveryCases = []Case{
	{
		Topic: surface, Section: 12, Name: "delivery-tags-count",
		Rule: "Delivery tags count from 1 per channel, over deliveries and gets together, whether acks are wanted or " +
			"not.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for range 4 {
				ch.publish("", q, "m")
			}
			t.equal("first", ch.get(q).DeliveryTag, uint64(1))
			d, _, err := ch.Get(q, true)
			t.must(err)
			t.equal("second, without ack", d.DeliveryTag, uint64(2))
			all := ch.collect(2, ch.consume(q))
			t.equal("delivered", []uint64{all[0].DeliveryTag, all[1].DeliveryTag}, []uint64{3, 4})
		},
	},
	{
		Topic: surface, Section: 12, Name: "get-counts-the-rest",
		Rule: "basic.get-ok has the number of remaining ready messages, and an empty queue returns get-empty.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for range 3 {
				ch.publish("", q, "m")
			}
			for left := range 3 {
				t.equal("left", ch.get(q).MessageCount, uint32(2-left))
			}
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 12, Name: "get-ignores-prefetch",
		Rule: "basic.get is not limited by the prefetch count.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			t.must(ch.Qos(1, 0, true))
			for range 3 {
				ch.publish("", q, "m")
			}
			ch.fetch(q, 3)
		},
	},
	{
		Topic: surface, Section: 13, Name: "prefetch-per-consumer",
		Rule: "The prefetch count applies to each consumer started later on the channel, separately, and not to " +
			"existing consumers.",
		Run: func(t *T) {
			ch := t.channel()
			early, late, other := ch.queue("early"), ch.queue("late"), ch.queue("other")
			for range 5 {
				for _, q := range []string{early, late, other} {
					ch.publish("", q, "m")
				}
			}
			first := ch.consume(early)
			t.must(ch.Qos(2, 0, false))
			second, third := ch.consume(late), ch.consume(other)
			ch.collect(5, first)
			ch.collect(2, second)
			got := ch.collect(2, third)
			t.equal("left", []int{ch.depth(late), ch.depth(other)}, []int{3, 3})
			t.must(got[0].Ack(false))
			ch.collect(1, third)
			t.equal("left", []int{ch.depth(late), ch.depth(other)}, []int{3, 2})
		},
	},
	{
		Topic: surface, Section: 13, Name: "prefetch-per-channel",
		Rule: "A global prefetch count is one limit for all consumers of the channel.",
		Run: func(t *T) {
			ch := t.channel()
			one, two := ch.queue("one"), ch.queue("two")
			for range 3 {
				ch.publish("", one, "m")
				ch.publish("", two, "m")
			}
			t.must(ch.Qos(4, 0, true))
			first, second := ch.consume(one), ch.consume(two)
			got := ch.collect(3, first)
			ch.collect(1, second)
			t.equal("left", []int{ch.depth(one), ch.depth(two)}, []int{0, 2})
			t.must(got[2].Ack(true))
			ch.collect(2, second)
		},
	},
	{
		Topic: surface, Section: 13, Name: "prefetch-zero",
		Rule: "A prefetch count of 0 means no limit.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			t.must(ch.Qos(1, 0, false))
			t.must(ch.Qos(0, 0, false))
			for range 50 {
				ch.publish("", q, "m")
			}
			ch.collect(50, ch.consume(q))
		},
	},
	{
		Topic: surface, Section: 13, Name: "prefetch-without-ack",
		Rule: "A consumer without acks is not limited by the prefetch count.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			t.must(ch.Qos(1, 0, false))
			for range 20 {
				ch.publish("", q, "m")
			}
			in, err := ch.Consume(q, "", true, false, false, false, nil)
			t.must(err)
			ch.collect(20, in)
		},
	},
	{
		Topic: surface, Section: 12, Name: "delivery-names-its-origin",
		Rule: "A delivery has the consumer tag, exchange, routing key, and the redelivered flag false.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "topic")
			q := ch.bound("q", x, "#")
			in, err := ch.Consume(q, "tag", false, false, false, false, nil)
			t.must(err)
			ch.publish(x, "a.b", "m")
			d := await(t, "a delivery", in)
			t.equal("delivery", []any{d.ConsumerTag, d.Exchange, d.RoutingKey, d.Redelivered}, []any{"tag", x, "a.b", false})
		},
	},
}

var settleCases = []Case{
	unknownTag("ack", func(ch *channel) error { return ch.Ack(5, false) }),
	unknownTag("ack-multiple", func(ch *channel) error { return ch.Ack(5, true) }),
	unknownTag("nack", func(ch *channel) error { return ch.Nack(5, false, true) }),
	unknownTag("reject", func(ch *channel) error { return ch.Reject(5, false) }),
	{
		Topic: surface, Section: 12, Name: "ack-twice",
		Rule: "Settling a delivery a second time closes the channel with 406.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			d := ch.get(q)
			t.must(d.Ack(false))
			t.must(d.Ack(false))
			ch.refused(406, "PRECONDITION_FAILED - unknown delivery tag 1")
		},
	},
	{
		Topic: surface, Section: 12, Name: "ack-of-unacked-less",
		Rule: "The tag of a delivery without ack is unknown: settling it closes the channel with 406.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			d, _, err := ch.Get(q, true)
			t.must(err)
			t.must(ch.Ack(d.DeliveryTag, false))
			ch.refused(406, "PRECONDITION_FAILED - unknown delivery tag 1")
		},
	},
	{
		Topic: surface, Section: 12, Name: "ack-multiple",
		Rule: "An ack with multiple settles every delivery up to its tag, and tag 0 settles all, even if there are " +
			"none.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			t.must(ch.Ack(0, true))
			for i := range 5 {
				ch.publish("", q, fmt.Sprint(i))
			}
			all := ch.fetch(q, 5)
			t.must(all[1].Ack(true))
			ch.requeueUnacked()
			again := ch.fetch(q, 3)
			t.equal("left", bodies(again), []string{"2", "3", "4"})
			t.must(ch.Ack(0, true))
			ch.requeueUnacked()
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 12, Name: "nack-multiple",
		Rule: "A nack with multiple and requeue returns every delivery up to its tag, flagged as redelivered.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for i := range 4 {
				ch.publish("", q, fmt.Sprint(i))
			}
			all := ch.fetch(q, 4)
			t.must(all[2].Nack(true, true))
			again := ch.fetch(q, 3)
			t.equal("returned", bodies(again), []string{"0", "1", "2"})
			t.equal("redelivered", again[0].Redelivered && again[1].Redelivered && again[2].Redelivered, true)
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 12, Name: "requeue-to-original-place",
		Rule: "A requeued message returns to its original position in the queue.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for _, m := range []string{"a", "b", "c", "d"} {
				ch.publish("", q, m)
			}
			all := ch.fetch(q, 3)
			t.must(all[2].Nack(false, true))
			t.must(all[0].Nack(false, true))
			ch.publish("", q, "e")
			t.must(all[1].Nack(false, true))
			again := ch.fetch(q, 5)
			t.equal("order", bodies(again), []string{"a", "b", "c", "d", "e"})
			var flags []bool
			for _, d := range again {
				flags = append(flags, d.Redelivered)
			}
			t.equal("redelivered", flags, []bool{true, true, true, false, false})
		},
	},
	{
		Topic: surface, Section: 12, Name: "reject-requeue",
		Rule: "A reject with requeue returns the message, which is then delivered as redelivered.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(true))
			d := ch.get(q)
			t.equal("redelivered", d.Redelivered, true)
			t.must(d.Reject(false))
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 12, Name: "recover",
		Rule: "basic.recover returns all unacked messages of the channel and is answered by recover-ok.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "a")
			ch.publish("", q, "b")
			ch.fetch(q, 2)
			ch.requeueUnacked()
			again := ch.fetch(q, 2)
			t.equal("order", bodies(again), []string{"a", "b"})
			t.equal("redelivered", again[0].Redelivered, true)
		},
	},
	{
		Topic: surface, Section: 12, Name: "settle-after-cancel",
		Rule: "Cancelling a consumer returns no messages: its unacked messages can still be settled on the channel.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			d := await(t, "a delivery", ch.consume(q))
			t.must(ch.Cancel(d.ConsumerTag, false))
			t.equal("depth", ch.depth(q), 0)
			t.must(d.Ack(false))
			ch.requeueUnacked()
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 12, Name: "recover-async",
		Rule: "basic.recover-async returns all unacked messages of the channel and is not answered.",
		Run: func(t *T) {
			s := t.session(login{})
			q := s.exclusive("q")
			s.send(publishOf(1, q, "m"))
			s.sendMethod(1, basicGet, uint16(0), q, byte(0))
			s.want(basicGetOk)
			s.content()
			s.sendMethod(1, basicRecoverAsync, byte(1))
			s.sendMethod(1, basicGet, uint16(0), q, byte(0))
			a := s.want(basicGetOk)
			t.equal("tag and redelivered", []any{a.uint64(), a.octet()}, []any{uint64(2), byte(1)})
		},
	},
	{
		Topic: surface, Section: 12, Name: "settle-after-queue-deletion",
		Rule: "Settling a message whose queue has been deleted succeeds.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "a")
			ch.publish("", q, "b")
			all := ch.fetch(q, 2)
			_, err := ch.QueueDelete(q, false, false, false)
			t.must(err)
			t.must(all[0].Ack(false))
			t.must(all[1].Nack(false, true))
			ch.settled()
		},
	},
	{
		Topic: surface, Section: 12, Name: "get-without-ack-is-settled",
		Rule: "A message fetched without ack is removed immediately.",
		Run: func(t *T) {
			conn := t.connect()
			ch := conn.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			_, ok, err := ch.Get(q, true)
			t.must(err)
			t.equal("got", ok, true)
			t.must(ch.Close())
			conn.channel().empty(q)
		},
	},
	{
		Topic: surface, Section: 12, Name: "requeue-reaches-other-consumer",
		Rule: "A requeued message is offered to the consumers again, also to another one.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			t.must(other.Qos(1, 0, false))
			ch.publish("", q, "m")
			d := ch.get(q)
			in := other.consume(q)
			t.must(d.Nack(false, true))
			got := await(t, "a delivery", in)
			t.equal("delivery", []any{string(got.Body), got.Redelivered}, []any{"m", true})
		},
	},
}

// unknownTag is a case of settling what was never delivered.
func unknownTag(name string, settle func(ch *channel) error) Case {
	return Case{
		Topic: surface, Section: 6, Name: "unknown-delivery-tag-" + name,
		Rule: "Settling a delivery tag that is not outstanding closes the channel with 406 (" + name + ").",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			ch.get(q)
			t.must(settle(ch))
			ch.refused(406, "PRECONDITION_FAILED - unknown delivery tag 5")
		},
	}
}
