package conformance

import (
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

var publishCases = []Case{
	{
		Topic: surface, Section: 11, Name: "publish-to-missing-exchange",
		Rule: "Publishing to a missing exchange closes the channel with 404.",
		Run: func(t *T) {
			ch, x := t.channel(), t.name("no-x")
			ch.publish(x, "k", "m")
			ch.refused(404, "NOT_FOUND - no exchange '"+x+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 11, Name: "mandatory-returned",
		Rule: "A mandatory message that no queue takes is returned completely, with 312, exchange and key.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			ch.publishMandatory(x, "k", "m", headers(amqp.Table{"h": "v"}), func(m *amqp.Publishing) { m.MessageId = "id" })
			r := await(t, "basic.return", ch.returns)
			t.equal("return", []any{r.ReplyCode, r.ReplyText, r.Exchange, r.RoutingKey, string(r.Body), r.MessageId, r.Headers["h"]},
				[]any{uint16(312), "NO_ROUTE", x, "k", "m", "id", "v"})
		},
	},
	{
		Topic: surface, Section: 11, Name: "unroutable-dropped",
		Rule: "A message without the mandatory flag that no queue takes is dropped silently.",
		Run: func(t *T) {
			ch := t.channel()
			ch.publish(ch.exchange("x", "direct"), "k", "m")
			ch.settled()
			silent(t, "basic.return", ch.returns)
		},
	},
	{
		Topic: surface, Section: 11, Name: "return-before-confirm",
		Rule: "The return of an unroutable message precedes its confirm, which is an ack.",
		Run: func(t *T) {
			s := t.session(login{})
			s.sendMethod(1, confirmSelect, byte(0))
			s.want(confirmSelectOk)
			s.send(join(methodOf(1, basicPublish, uint16(0), "", t.name("no-q"), byte(1)), headerOf(1, 1), bodyOf(1, "m")))
			a := s.want(basicReturn)
			t.equal("code", a.uint16(), uint16(312))
			t.equal("body", string(s.content()), "m")
			t.equal("confirmed", s.want(basicAck).uint64(), uint64(1))
		},
	},
	invalidExpiration("word", "foobar", "no_integer"),
	invalidExpiration("space", " 1", "no_integer"),
	invalidExpiration("trailing", "10000foobar", `{leftover_string,"foobar"}`),
	invalidExpiration("fraction", "1.5", `{leftover_string,".5"}`),
	invalidExpiration("negative", "-10", "{value_negative,-10}"),
	invalidExpiration("too-large", "315360000001", "{value_too_large,315360000001}"),
	{
		Topic: expiry, Section: 1, Name: "expiration-valid",
		Rule: "An expiration can be up to ten years.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m", expiration("315360000000"))
			t.equal("expiration", ch.get(q).Expiration, "315360000000")
		},
	},
	{
		Topic: expiry, Section: 1, Name: "expiration-with-sign-or-zeros",
		Rule: "An expiration may have a plus sign or leading zeros, and arrives without them.", Since: "3.13", Before: "it arrives unchanged",
		Choice: asSaid, Differs: "it arrives unchanged (on purpose: values of publishers are passed on)",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for _, e := range []string{"+60000", "0060000"} {
				ch.publish("", q, e, expiration(e))
				want := e
				if t.since() && !t.differs() {
					want = "60000"
				}
				t.equal("expiration", ch.get(q).Expiration, want)
			}
		},
	},
	{
		Topic: surface, Section: 15, Name: "cc-and-bcc-route",
		Rule: "Each entry of the CC and BCC headers is a further routing key; BCC is removed, CC stays, and the " +
			"routing key stays that of the publish.",
		Run: func(t *T) {
			ch := t.channel()
			q, cc, bcc := ch.queue("q"), ch.queue("cc"), ch.queue("bcc")
			ch.publish("", q, "m", headers(amqp.Table{"CC": []any{cc}, "BCC": []any{bcc}}))
			for _, name := range []string{q, cc, bcc} {
				d := ch.get(name)
				t.equal("key", d.RoutingKey, q)
				t.equal("headers", d.Headers, amqp.Table{"CC": []any{cc}})
				ch.empty(name)
			}
		},
	},
	{
		Topic: surface, Section: 15, Name: "cc-matches-twice",
		Rule: "A queue that matches several keys of a message gets one copy.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m", headers(amqp.Table{"CC": []any{q, q}, "BCC": []any{q}}))
			ch.get(q)
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 16, Name: "return-without-bcc",
		Rule: "A returned message has lost its BCC header and kept CC.",
		Run: func(t *T) {
			ch := t.channel()
			no := t.name("no-q")
			ch.publishMandatory("", no, "m", headers(amqp.Table{"CC": []any{no}, "BCC": []any{no}}))
			t.equal("headers", await(t, "basic.return", ch.returns).Headers, amqp.Table{"CC": []any{no}})
		},
	},
	invalidCC("CC", int32(1), "signedint"),
	invalidCC("BCC", "text", "longstr"),
	{
		Topic: surface, Section: 6, Name: "user-id-of-another",
		Rule: "A user-id property that differs from the login closes the channel with 406.",
		Run: func(t *T) {
			ch, user := t.channel(), t.broker.uri.Username
			q := ch.queue("q")
			ch.publish("", q, "m", func(m *amqp.Publishing) { m.UserId = user })
			t.equal("user-id", ch.get(q).UserId, user)
			ch.publish("", q, "m", func(m *amqp.Publishing) { m.UserId = "other" })
			ch.refused(406, "PRECONDITION_FAILED - user_id property set to 'other' but authenticated user was '"+user+"'")
		},
	},
	{
		Topic: surface, Section: 11, Name: "large-body",
		Rule: "A body of several frames arrives completely.",
		Run: func(t *T) {
			ch := t.channel()
			q, body := ch.queue("q"), strings.Repeat("0123456789abcdef", 1<<16)
			ch.publish("", q, body)
			if got := string(ch.get(q).Body); got != body {
				t.Fatalf("%d octets of %d arrived, or other ones", len(got), len(body))
			}
		},
	},
	{
		Topic: surface, Section: 11, Name: "body-over-the-maximum",
		Rule:  "A message of more than 16 MiB is refused with 406, and the channel closes.",
		Since: "4.0", Before: "the maximum is 128 MiB",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, strings.Repeat("x", 16<<20+1))
			if t.since() {
				ch.refused(406, "PRECONDITION_FAILED - message size 16777217 is larger than configured max size 16777216")
				return
			}
			t.equal("size", len(ch.get(q).Body), 16<<20+1)
		},
	},
	{
		Topic: surface, Section: 11, Name: "order-on-a-channel",
		Rule: "Messages published on one channel to one queue are delivered in the order of publishing.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			var want []string
			for i := range 500 {
				want = append(want, string(rune('A'+i%26)))
				ch.publish("", q, want[i])
			}
			t.equal("order", bodies(ch.collect(500, ch.consume(q))), want)
		},
	},
}

// invalidExpiration is a case of an expiration that is refused, even if the message is routed nowhere.
func invalidExpiration(name, value, detail string) Case {
	return Case{
		Topic: expiry, Section: 1, Name: "expiration-" + name,
		Rule: "The expiration " + value + " is refused with 406 for any destination.",
		Run: func(t *T) {
			ch := t.channel()
			ch.publish(ch.exchange("x", "fanout"), "", "m", expiration(value))
			ch.refused(406, "PRECONDITION_FAILED - invalid expiration '"+value+"': "+detail)
		},
	}
}

// invalidCC is a case of a CC or BCC header that is no array.
func invalidCC(header string, value any, kind string) Case {
	return Case{
		Topic: dead, Section: 4, Name: strings.ToLower(header) + "-is-no-array",
		Rule: "A " + header + " header that is not an array is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m", headers(amqp.Table{header: value}))
			ch.refused(406, `PRECONDITION_FAILED - invalid message: {unacceptable_type_in_header,"`+header+`",`+kind+`}`)
		},
	}
}
