package conformance

import amqp "github.com/rabbitmq/amqp091-go"

// orderCases are declarations that break more than one rule: what is looked at first shows in the answer.
var orderCases = []Case{
	{
		Topic: surface, Section: 8, Name: "exchange-type-before-permission",
		Rule:  "An unknown exchange type is refused with 406 even for users who may not declare the exchange.",
		Since: "3.13", Before: "503 COMMAND_INVALID",
		Run: func(t *T) {
			ch, _ := t.as(grant{"^$", ".*", ".*"})
			err := ch.ExchangeDeclare(t.name("x"), "no-such-type", false, false, false, false, nil)
			if t.since() {
				t.refusalLike(err, 406, "unknown exchange type")
			} else {
				t.refusalLike(err, 503, "unknown exchange type")
			}
		},
	},
	{
		Topic: surface, Section: 8, Name: "permission-before-equivalence",
		Rule: "A declaration without the configure permission is refused with 403, even if it is invalid in other " +
			"ways.",
		Run: func(t *T) {
			owner := t.channel()
			q, x := owner.queue("q"), owner.exchange("x", "direct")
			ch, user := t.as(grant{"^$", ".*", ".*"})
			t.refusalLike(ch.ExchangeDeclare(x, "fanout", false, false, false, false, nil), 403, "refused for user '"+user+"'")
			_, err := ch.conn.channel().QueueDeclare(q, true, false, false, false, amqp.Table{"x-max-length": int32(-1)})
			t.refusalLike(err, 403, "refused for user '"+user+"'")
		},
	},
	{
		Topic: surface, Section: 9, Name: "flags-before-arguments",
		Rule: "If a flag and an argument are both inequivalent, the error names the flag.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", ms(60000))
			_, err := ch.QueueDeclare(q, true, false, false, false, ms(1))
			t.refusalLike(err, 406, "inequivalent arg 'durable' for queue '"+q+"'")
		},
	},
}
