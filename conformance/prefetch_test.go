package conformance

import (
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

var prefetchCases = []Case{
	{
		Topic: surface, Section: 13, Name: "prefetch-per-channel-at-once",
		Rule: "Raising or lifting a global prefetch count takes effect immediately, for existing consumers.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			t.must(ch.Qos(1, 0, true))
			in := ch.consume(q)
			for i := range 5 {
				ch.publish("", q, fmt.Sprint(i))
			}
			ch.collect(1, in)
			t.must(ch.Qos(3, 0, true))
			ch.collect(2, in)
			t.must(ch.Qos(0, 0, true))
			ch.collect(2, in)
		},
	},
	{
		Topic: surface, Section: 13, Name: "prefetch-both",
		Rule: "A prefetch count for each consumer and one for the channel apply together.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			one, two := other.queue("one"), other.queue("two")
			for range 5 {
				other.put("", one, "m")
				other.put("", two, "m")
			}
			t.must(ch.Qos(2, 0, false))
			t.must(ch.Qos(3, 0, true))
			ch.collect(2, ch.consume(one))
			ch.collect(1, ch.consume(two))
			t.equal("left", []int{other.depth(one), other.depth(two)}, []int{3, 4})
		},
	},
	{
		Topic: surface, Section: 13, Name: "prefetch-per-consumer-lifts-that-of-the-channel",
		Rule: "Setting a prefetch count for later consumers removes a global one, immediately.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			t.must(ch.Qos(1, 0, true))
			in := ch.consume(q)
			for i := range 5 {
				ch.publish("", q, fmt.Sprint(i))
			}
			ch.collect(1, in)
			t.must(ch.Qos(2, 0, false))
			ch.collect(4, in)
		},
	},
	{
		Topic: surface, Section: 13, Name: "prefetch-per-channel-is-shared",
		Rule: "The consumers of a channel on several queues share a global prefetch count: each of them gets messages.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			queues := []string{ch.queue("one"), ch.queue("two"), ch.queue("three")}
			for _, q := range queues {
				for range 99 {
					other.publish("", q, "m")
				}
				other.put("", q, "m")
			}
			t.must(ch.Qos(1, 0, true))
			all := make(chan amqp.Delivery)
			for _, q := range queues {
				in, err := ch.Consume(q, q, false, false, false, false, nil)
				t.must(err)
				go func() {
					for d := range in {
						all <- d
					}
				}()
			}
			got := map[string]int{}
			for range 99 {
				d := await(t, "a delivery", all)
				got[d.ConsumerTag]++
				t.must(d.Ack(false))
			}
			await(t, "the last delivery", all)
			for _, q := range queues { // a third each; 3.10.8 gave from 26 to 40
				if got[q] < 11 {
					t.Fatalf("of 99 messages %s has given %d: %v", q, got[q], got)
				}
			}
		},
	},
	{
		Topic: surface, Section: 13, Name: "prefetch-per-channel-without-ack",
		Rule: "When the global prefetch limit is reached, the channel's consumers without acks get nothing either; " +
			"their deliveries do not count for it.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			one, two := other.queue("one"), other.queue("two")
			t.must(ch.Qos(1, 0, true))
			in, err := ch.Consume(two, "", true, false, false, false, nil)
			t.must(err)
			for range 3 {
				other.put("", two, "m")
			}
			ch.collect(3, in)
			held := ch.consume(one)
			other.put("", one, "m")
			d := ch.collect(1, held)[0]
			for range 3 {
				other.put("", two, "m")
			}
			t.must(ch.Qos(1, 0, true)) // when it is answered, a delivery would be here
			silent(t, "a delivery without ack", in)
			t.equal("left", other.depth(two), 3)
			t.must(d.Ack(false))
			ch.collect(3, in)
		},
	},
	{
		Topic: surface, Section: 13, Name: "no-local-is-ignored",
		Rule: "The no-local flag of basic.consume is ignored: a consumer gets what its own connection publishes.",
		Run: func(t *T) {
			s := t.session(login{})
			q := s.exclusive("q")
			s.sendMethod(1, basicConsume, uint16(0), q, "tag", byte(0b11), emptyTable)
			s.want(basicConsumeOk)
			s.send(publishOf(1, q, "m"))
			s.want(basicDeliver)
		},
	},
	{
		Topic: surface, Section: 13, Name: "cancel-on-ha-failover-is-ignored",
		Rule: "The consumer argument x-cancel-on-ha-failover is accepted.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			in, err := ch.Consume(q, "", false, false, false, false, amqp.Table{"x-cancel-on-ha-failover": true})
			t.must(err)
			ch.publish("", q, "m")
			ch.collect(1, in)
		},
	},
	{
		Topic: surface, Section: 13, Name: "consumer-priority-negative",
		Rule: "A consumer's x-priority may be negative: it then comes after consumers without a priority.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := ch.queue("q")
			in, err := ch.Consume(q, "late", false, false, false, false, amqp.Table{"x-priority": int32(-5)})
			t.must(err)
			first := other.consume(q)
			for range 3 {
				ch.publish("", q, "m")
			}
			other.collect(3, first)
			silent(t, "a delivery to the one behind", in)
		},
	},
	{
		Topic: surface, Section: 9, Name: "auto-delete-by-connection",
		Rule: "An auto-delete queue is also deleted when the connection of its last consumer ends.",
		Run: func(t *T) {
			conn, q := t.connect(), t.name("q")
			ch := conn.channel()
			_, err := ch.QueueDeclare(q, false, true, false, false, nil)
			t.must(err)
			ch.consume(q)
			t.must(conn.Close())
			t.gone(q)
		},
	},
	{
		Topic: surface, Section: 10, Name: "topic-many-hashes",
		Rule:  "A topic binding key with more than two hashes is refused with 406.",
		Since: "4.3", Before: "it is accepted",
		Run: func(t *T) {
			ch := t.channel()
			x, q := ch.exchange("x", "topic"), ch.queue("q")
			err := ch.QueueBind(q, "#.a.#.b.#", x, false, nil)
			if t.since() {
				t.refusal(err, 406, "PRECONDITION_FAILED - Topic binding key '#.a.#.b.#' uses 3 '#' wildcards, at most 2 are allowed")
				return
			}
			t.must(err)
			ch.publish(x, "a.z.b", "m")
			ch.get(q)
		},
	},
	{
		Topic: surface, Section: 10, Name: "headers-integer-is-no-float",
		Rule:  "In a headers binding an integer never equals a float.",
		Since: "4.0", Before: "it equals a float of the same value",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "headers")
			q := ch.queue("q")
			ch.bind(q, x, "", amqp.Table{"n": int32(2)})
			ch.publish(x, "", "float", headers(amqp.Table{"n": 2.0}))
			ch.publish(x, "", "integer", headers(amqp.Table{"n": int64(2)}))
			if !t.since() {
				t.equal("got", ch.taken(q, 1), []string{"float"})
			}
			t.equal("got", ch.taken(q, 1), []string{"integer"})
			ch.empty(q)
		},
	},
}
