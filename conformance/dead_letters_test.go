package conformance

import (
	"sort"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var deadLetterCases = []Case{
	{
		Topic: dead, Section: 3, Name: "dlx-need-not-exist",
		Rule: "A dead-letter exchange is looked up at each death: while it does not exist, dead letters are lost; " +
			"when it exists, they arrive.",
		Run: func(t *T) {
			ch := t.channel()
			x := t.name("x")
			q, dlq := ch.queue("q", dlx(x)), ch.queue("dlq")
			ch.publish("", q, "lost")
			t.must(ch.get(q).Reject(false))
			t.equal("depth", ch.depth(q), 0)
			ch.exchange("x", "fanout")
			ch.bind(dlq, x, "")
			ch.publish("", q, "kept")
			t.must(ch.get(q).Reject(false))
			t.equal("dead letters", ch.taken(dlq, 1), []string{"kept"})
			ch.empty(dlq)
		},
	},
	{
		Topic: dead, Section: 3, Name: "dlx-without-route",
		Rule: "A dead letter that its exchange routes to no queue is lost, and nothing is returned to the publisher.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			q := ch.queue("q", dlx(x))
			ch.publishMandatory("", q, "m")
			t.must(ch.get(q).Reject(false))
			ch.settled()
			t.equal("depth", ch.depth(q), 0)
			silent(t, "basic.return", ch.returns)
		},
	},
	{
		Topic: dead, Section: 3, Name: "empty-dlx-is-default-exchange",
		Rule: "The empty dead-letter exchange is the default exchange: without a dead-letter key, a dead letter goes " +
			"to the queue named by its own key.",
		Run: func(t *T) {
			ch := t.channel()
			x, dlq := ch.exchange("x", "fanout"), ch.queue("dlq")
			q := ch.bound("q", x, "", dlx(""))
			ch.publish(x, dlq, "m")
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("exchange and key", []string{d.Exchange, d.RoutingKey}, []string{"", dlq})
		},
	},
	{
		Topic: dead, Section: 3, Name: "internal-dlx",
		Rule: "A dead-letter exchange may be internal.",
		Run: func(t *T) {
			ch := t.channel()
			x := t.name("x")
			t.must(ch.ExchangeDeclare(x, "fanout", false, false, true, false, nil))
			t.forget("", x)
			dlq, q := ch.bound("dlq", x, ""), ch.queue("q", dlx(x))
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			t.equal("exchange", ch.take(dlq, 1)[0].Exchange, x)
		},
	},
	{
		Topic: dead, Section: 3, Name: "headers-dlx",
		Rule: "A headers exchange as dead-letter exchange can match reason and queue of the first death with " +
			"all-with-x.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "headers")
			q1, q2 := ch.queue("q1", dlx(x)), ch.queue("q2", dlx(x))
			first, rest := ch.queue("first"), ch.queue("rest")
			ch.bind(first, x, "", amqp.Table{"x-match": "all-with-x", "x-first-death-reason": "rejected", "x-first-death-queue": q1})
			ch.bind(rest, x, "", amqp.Table{"x-match": "any-with-x", "x-first-death-queue": q2})
			for _, q := range []string{q1, q2} {
				ch.publish("", q, q)
				t.must(ch.get(q).Reject(false))
			}
			t.equal("first", ch.taken(first, 1), []string{q1})
			t.equal("rest", ch.taken(rest, 1), []string{q2})
			ch.empty(first)
		},
	},
	{
		Topic: dead, Section: 3, Name: "alternate-of-dlx",
		Rule: "A dead letter that its exchange routes to no queue goes to the alternate exchange, and keeps the name " +
			"of the former.",
		Run: func(t *T) {
			ch := t.channel()
			ae := ch.exchange("ae", "fanout")
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": ae})
			dlq, q := ch.bound("dlq", ae, ""), ch.queue("q", dlx(x))
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			t.equal("exchange", ch.take(dlq, 1)[0].Exchange, x)
		},
	},
	{
		Topic: dead, Section: 3, Name: "topic-dlx-to-several",
		Rule: "A dead letter goes to every queue that its exchange routes it to.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "topic")
			a, b, c := ch.bound("a", x, "*.dead"), ch.bound("b", x, "#"), ch.bound("c", x, "other")
			q := ch.queue("q", dlx(x), amqp.Table{"x-dead-letter-routing-key": "now.dead"})
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			ch.take(a, 1)
			ch.take(b, 1)
			ch.empty(c)
		},
	},
	{
		Topic: dead, Section: 3, Name: "delivery-of-a-dead-letter",
		Rule: "A dead letter is delivered with its dead-letter exchange and key, and with the redelivered flag false.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			dlq := ch.bound("dlq", x, "k")
			q := ch.queue("q", dlx(x), amqp.Table{"x-dead-letter-routing-key": "k"})
			ch.publish("", q, "m")
			t.must(ch.get(q).Nack(false, true))
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("delivery", []any{d.Exchange, d.RoutingKey, d.Redelivered}, []any{x, "k", false})
		},
	},
	{
		Topic: dead, Section: 4, Name: "own-key-without-dead-letter-key",
		Rule: "Without a dead-letter key a dead letter keeps the key it was published with.",
		Run: func(t *T) {
			ch := t.channel()
			in, x := ch.exchange("in", "fanout"), ch.exchange("x", "direct")
			q, dlq := ch.bound("q", in, "", dlx(x)), ch.bound("dlq", x, "foo")
			ch.publish(in, "foo", "m")
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("key", d.RoutingKey, "foo")
			t.equal("deaths", t.deaths(d), []death{{Queue: q, Reason: "rejected", Exchange: in, Count: 1, Keys: []string{"foo"}}})
		},
	},
	{
		Topic: dead, Section: 4, Name: "cc-and-bcc-route-dead-letters",
		Rule: "Without a dead-letter key a dead letter is also routed by its CC and BCC keys; its x-death has key " +
			"and CC, not BCC.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			in := ch.exchange("in", "direct")
			a, b, c := ch.bound("a", x, "k"), ch.bound("b", x, "cc1"), ch.bound("c", x, "bcc1")
			q := ch.bound("q", in, "k", dlx(x))
			ch.publish(in, "k", "m", headers(amqp.Table{"CC": []any{"cc1"}, "BCC": []any{"bcc1"}}))
			t.must(ch.get(q).Reject(false))
			for _, dlq := range []string{a, b, c} {
				d := ch.take(dlq, 1)[0]
				t.equal("key", d.RoutingKey, "k")
				t.equal("CC and BCC", []any{d.Headers["CC"], d.Headers["BCC"]}, []any{[]any{"cc1"}, nil})
				t.equal("keys of the death", t.deaths(d)[0].Keys, []string{"k", "cc1"})
				ch.empty(dlq)
			}
		},
	},
	{
		Topic: dead, Section: 4, Name: "dead-letter-key-replaces-all-keys",
		Rule:  "A dead-letter key replaces all keys of a dead letter; its CC header stays.",
		Since: "3.13", Before: "the CC header is removed",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			in := ch.exchange("in", "direct")
			other, dlq := ch.bound("other", x, "cc1"), ch.bound("dlq", x, "only")
			q := ch.bound("q", in, "k", dlx(x), amqp.Table{"x-dead-letter-routing-key": "only"})
			ch.publish(in, "k", "m", headers(amqp.Table{"CC": []any{"cc1"}, "BCC": []any{"only"}}))
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("keys of the death", t.deaths(d)[0].Keys, []string{"k", "cc1"})
			if t.since() {
				t.equal("CC", d.Headers["CC"], []any{"cc1"})
			} else {
				t.equal("CC", d.Headers["CC"], nil)
			}
			ch.empty(other)
			ch.empty(dlq)
		},
	},
	{
		Topic: dead, Section: 4, Name: "keys-of-two-cc-and-bcc",
		Rule: "The routing keys of a death are the publish key and every CC key, and no BCC key.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", dlx(""))
			ch.publish("", q, "m", headers(amqp.Table{"CC": []any{"cc 1", "cc 2"}, "BCC": []any{dlq, "bcc 2"}}))
			// The message is routed to dlq at once (BCC) and a second time when it dies.
			ch.take(dlq, 1)
			t.must(ch.get(q).Reject(false))
			keys := t.deaths(ch.take(dlq, 1)[0])[0].Keys
			sort.Strings(keys)
			want := []string{q, "cc 1", "cc 2"}
			sort.Strings(want)
			t.equal("keys", keys, want)
		},
	},
	{
		Topic: dead, Section: 4, Name: "keys-of-the-last-hop",
		Rule: "A message that died with a dead-letter key and dies again without one is routed by that key only.",
		Run: func(t *T) {
			ch := t.channel()
			x, y := ch.exchange("x", "direct"), ch.exchange("y", "direct")
			q2, end, first := ch.bound("q2", x, "k1", dlx(y)), ch.bound("end", y, "k1"), ch.bound("first", y, "k0")
			in := ch.exchange("in", "fanout")
			q1 := ch.bound("q1", in, "", dlx(x), amqp.Table{"x-dead-letter-routing-key": "k1"})
			ch.publish(in, "k0", "m", headers(amqp.Table{"CC": []any{"cc1"}}))
			t.must(ch.get(q1).Reject(false))
			ch.awaitDepth(q2, 1)
			t.must(ch.get(q2).Reject(false))
			d := ch.take(end, 1)[0]
			t.equal("key", d.RoutingKey, "k1")
			t.equal("keys of the last death", t.deaths(d)[0].Keys[0], "k1")
			ch.empty(first)
		},
	},
	{
		Topic: dead, Section: 7, Name: "properties-survive",
		Rule: "A dead letter keeps body, headers and all properties except the expiration.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			at := time.Unix(1700000000, 0)
			ch.publish("", q, "body", expiration("60000"), headers(amqp.Table{"foo": int32(1)}), func(m *amqp.Publishing) {
				m.ContentType, m.ContentEncoding, m.DeliveryMode, m.Priority = "text/plain", "gzip", amqp.Transient, 7
				m.CorrelationId, m.ReplyTo, m.MessageId, m.Timestamp = "c", "r", "id", at
				m.Type, m.UserId, m.AppId = "t", t.broker.uri.Username, "app"
			})
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("properties", []any{d.ContentType, d.ContentEncoding, d.DeliveryMode, d.Priority, d.CorrelationId, d.ReplyTo,
				d.MessageId, d.Timestamp.Unix(), d.Type, d.UserId, d.AppId, d.Expiration, string(d.Body), d.Headers["foo"]},
				[]any{"text/plain", "gzip", amqp.Transient, uint8(7), "c", "r", "id", at.Unix(), "t", t.broker.uri.Username, "app", "", "body", int32(1)})
			t.equal("original expiration", t.deaths(d)[0].Expiration, "60000")
		},
	},
	{
		Topic: dead, Section: 7, Name: "no-second-expiry",
		Rule: "A message that died because of its own expiration does not expire again in a queue without TTL.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m", expiration("20"))
			ch.awaitDepth(dlq, 1)
			t.pass(100 * time.Millisecond)
			t.equal("depth", ch.depth(dlq), 1)
		},
	},
	{
		Topic: dead, Section: 7, Name: "ttl-of-the-target",
		Rule: "A dead letter expires by the TTL of the queue in which it arrives, counted from its arrival.",
		Run: func(t *T) {
			ch := t.channel()
			end := ch.queue("end")
			dlq := ch.queue("dlq", to(end), amqp.Table{"x-message-ttl": int32(20)})
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			t.equal("deaths", t.deaths(ch.take(end, 1)[0]), []death{
				{Queue: dlq, Reason: "expired", Count: 1, Keys: []string{dlq}},
				{Queue: q, Reason: "rejected", Count: 1, Keys: []string{q}}})
		},
	},
}
