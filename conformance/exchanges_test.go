package conformance

import amqp "github.com/rabbitmq/amqp091-go"

var exchangeCases = []Case{
	{
		Topic: surface, Section: 8, Name: "exchange-redeclare",
		Rule: "Declaring an exchange again with the same type and flags succeeds.",
		Run: func(t *T) {
			ch := t.channel()
			ch.exchange("x", "topic")
			ch.exchange("x", "topic")
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-type-inequivalent",
		Rule: "Declaring an exchange again with another type is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "topic")
			t.refusal(ch.ExchangeDeclare(x, "direct", false, false, false, false, nil), 406,
				"PRECONDITION_FAILED - inequivalent arg 'type' for exchange '"+x+"' in vhost '"+t.vhost+"': received 'direct' but current is 'topic'")
		},
	},
	inequivalentExchange("durable", true, false, false),
	inequivalentExchange("auto_delete", false, true, false),
	inequivalentExchange("internal", false, false, true),
	{
		Topic: surface, Section: 8, Name: "exchange-other-arguments",
		Rule: "Arguments that an exchange type does not know are not compared.",
		Run: func(t *T) {
			ch := t.channel()
			ch.exchange("x", "direct", amqp.Table{"x-note": "one"})
			ch.exchange("x", "direct", amqp.Table{"x-note": "two"})
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-alternate-inequivalent",
		Rule: "Declaring an exchange again with another alternate-exchange is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": "one"})
			err := ch.ExchangeDeclare(x, "direct", false, false, false, false, amqp.Table{"alternate-exchange": "two"})
			t.refusal(err, 406, "PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for exchange '"+x+"' in vhost '"+t.vhost+
				"': received 'two' but current is 'one'")
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-alternate-not-a-name",
		Rule: "An alternate-exchange that is not a string is refused with 406.",
		Run: func(t *T) {
			x := t.name("x")
			err := t.channel().ExchangeDeclare(x, "direct", false, false, false, false, amqp.Table{"alternate-exchange": int32(1)})
			t.refusal(err, 406, "PRECONDITION_FAILED - invalid type 'signedint' for arg 'alternate-exchange' in exchange '"+x+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 6, Name: "exchange-type-unknown",
		Rule:  "An unknown exchange type is refused with 406 on the channel.",
		Since: "3.13", Before: "503 COMMAND_INVALID, which ends the connection",
		Run: func(t *T) {
			ch := t.channel()
			err := ch.ExchangeDeclare(t.name("x"), "no-such-type", false, false, false, false, nil)
			if t.since() {
				t.refusal(err, 406, "PRECONDITION_FAILED - unknown exchange type 'no-such-type'")
			} else {
				t.refusal(err, 503, "COMMAND_INVALID - unknown exchange type 'no-such-type'")
			}
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-passive",
		Rule: "A passive exchange.declare compares neither type nor flags.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "topic")
			t.must(ch.ExchangeDeclarePassive(x, "fanout", true, true, true, false, nil))
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-passive-missing",
		Rule: "A passive exchange.declare of a missing exchange is refused with 404.",
		Run: func(t *T) {
			x := t.name("x")
			err := t.channel().ExchangeDeclarePassive(x, "direct", false, false, false, false, nil)
			t.refusal(err, 404, "NOT_FOUND - no exchange '"+x+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-predeclared",
		Rule: "A virtual host has amq.direct, amq.fanout, amq.topic, amq.headers and amq.match from the start, " +
			"durable.",
		Run: func(t *T) {
			ch := t.channel()
			for name, kind := range map[string]string{"amq.direct": "direct", "amq.fanout": "fanout", "amq.topic": "topic",
				"amq.headers": "headers", "amq.match": "headers"} {
				t.must(ch.ExchangeDeclare(name, kind, true, false, false, false, nil))
			}
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-reserved-prefix",
		Rule: "A new exchange whose name begins with amq. is refused with 403.",
		Run: func(t *T) {
			x := "amq." + t.name("x")
			err := t.channel().ExchangeDeclare(x, "direct", false, false, false, false, nil)
			t.refusal(err, 403, "ACCESS_REFUSED - exchange name '"+x+"' contains reserved prefix 'amq.*'")
		},
	},
	onDefaultExchange("declare", func(ch *channel) error {
		return ch.ExchangeDeclare("", "direct", true, false, false, false, nil)
	}),
	onDefaultExchange("passive-declare", func(ch *channel) error {
		return ch.ExchangeDeclarePassive("", "direct", true, false, false, false, nil)
	}),
	onDefaultExchange("delete", func(ch *channel) error { return ch.ExchangeDelete("", false, false) }),
	onDefaultExchange("queue-bind", func(ch *channel) error { return ch.QueueBind(ch.queue("q"), "k", "", false, nil) }),
	onDefaultExchange("queue-unbind", func(ch *channel) error { return ch.QueueUnbind(ch.queue("q"), "k", "", nil) }),
	onDefaultExchange("exchange-bind-source", func(ch *channel) error { return ch.ExchangeBind("amq.fanout", "k", "", false, nil) }),
	onDefaultExchange("exchange-bind-destination", func(ch *channel) error { return ch.ExchangeBind("", "k", "amq.fanout", false, nil) }),
	{
		Topic: surface, Section: 8, Name: "exchange-delete-system",
		Rule: "A predeclared exchange cannot be deleted: 403.",
		Run: func(t *T) {
			t.refusal(t.channel().ExchangeDelete("amq.topic", false, false), 403,
				"ACCESS_REFUSED - deletion of system exchange 'amq.topic' in vhost '"+t.vhost+"' not allowed")
		},
	},
	{
		Topic: surface, Section: 16, Name: "deleting-the-missing-succeeds",
		Rule: "Deleting a missing exchange or queue, unbinding a missing binding and cancelling an unknown consumer " +
			"succeed.",
		Run: func(t *T) {
			ch := t.channel()
			t.must(ch.ExchangeDelete(t.name("no-x"), false, false))
			n, err := ch.QueueDelete(t.name("no-q"), false, false, false)
			t.must(err)
			t.equal("messages", n, 0)
			x, y, q := ch.exchange("x", "direct"), ch.exchange("y", "direct"), ch.queue("q")
			t.must(ch.QueueUnbind(q, "never", x, nil))
			t.must(ch.ExchangeUnbind(y, "never", x, false, nil))
			t.must(ch.Cancel("never", false))
		},
	},
	{
		Topic: surface, Section: 16, Name: "unbinding-the-missing-succeeds",
		Rule: "Unbinding from a missing exchange, or a missing queue or exchange, succeeds.",
		Run: func(t *T) {
			ch := t.channel()
			x, q, none := ch.exchange("x", "direct"), ch.queue("q"), t.name("none")
			t.must(ch.QueueUnbind(none, "k", x, nil))
			t.must(ch.QueueUnbind(q, "k", none, nil))
			t.must(ch.QueueUnbind(none, "k", none, nil))
			t.must(ch.ExchangeUnbind(none, "k", x, false, nil))
			t.must(ch.ExchangeUnbind(x, "k", none, false, nil))
			t.must(ch.ExchangeUnbind(none, "k", none, false, nil))
		},
	},
	{
		Topic: surface, Section: 16, Name: "unbinding-the-last-declared",
		Rule: "An empty queue name in unbind means the last declared queue, even if it was deleted; without one: 404.",
		Run: func(t *T) {
			conn := t.connect()
			ch := conn.channel()
			x, q := ch.exchange("x", "direct"), ch.queue("q")
			_, err := ch.QueueDelete(q, false, false, false)
			t.must(err)
			t.must(ch.QueueUnbind("", "k", x, nil))
			t.refusal(conn.channel().QueueUnbind("", "k", x, nil), 404, "NOT_FOUND - no previously declared queue")
			t.refusal(conn.channel().QueueUnbind("", "k", t.name("none"), nil), 404, "NOT_FOUND - no previously declared queue")
		},
	},
	{
		Topic: surface, Section: 9, Name: "unbind-of-another's-exclusive-queue",
		Rule: "Unbinding another connection's exclusive queue is refused with 405; if the binding does not exist, it " +
			"succeeds.",
		Run: func(t *T) {
			owner, ch := t.channel(), t.channel()
			x, q := ch.exchange("x", "direct"), t.name("q")
			_, err := owner.QueueDeclare(q, false, false, true, false, nil)
			t.must(err)
			owner.bind(q, x, "k")
			t.must(ch.QueueUnbind(q, "other", x, nil))
			t.refusalLike(ch.QueueUnbind(q, "k", x, nil), 405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '"+q+"'")
		},
	},
	{
		Topic: surface, Section: 9, Name: "bind-of-nothing-to-nothing",
		Rule: "Binding a missing queue to a missing exchange is refused for the exchange.",
		Run: func(t *T) {
			none := t.name("no-x")
			t.refusal(t.channel().QueueBind(t.name("no-q"), "k", none, false, nil), 404,
				"NOT_FOUND - no exchange '"+none+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-delete-if-unused",
		Rule: "Deleting an exchange if unused is refused with 406 while it has a binding as a source.",
		Run: func(t *T) {
			conn := t.connect()
			ch := conn.channel()
			x := ch.exchange("x", "direct")
			q := ch.bound("q", x, "k")
			t.refusal(ch.ExchangeDelete(x, true, false), 406, "PRECONDITION_FAILED - exchange '"+x+"' in vhost '"+t.vhost+"' in use")
			ch = conn.channel()
			t.must(ch.QueueUnbind(q, "k", x, nil))
			t.must(ch.ExchangeDelete(x, true, false))
			t.refusal(ch.ExchangeDeclarePassive(x, "direct", false, false, false, false, nil), 404,
				"NOT_FOUND - no exchange '"+x+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-auto-delete",
		Rule: "An auto-delete exchange is deleted with its last binding as a source, also if the queue is deleted, " +
			"and not before it had a binding.",
		Run: func(t *T) {
			ch := t.channel()
			x := t.name("x")
			t.must(ch.ExchangeDeclare(x, "direct", false, true, false, false, nil))
			one, two := ch.bound("one", x, "k"), ch.bound("two", x, "k")
			t.must(ch.QueueUnbind(one, "k", x, nil))
			t.must(ch.ExchangeDeclarePassive(x, "direct", false, true, false, false, nil))
			_, err := ch.QueueDelete(two, false, false, false)
			t.must(err)
			t.refusal(ch.ExchangeDeclarePassive(x, "direct", false, true, false, false, nil), 404,
				"NOT_FOUND - no exchange '"+x+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-delete-takes-bindings",
		Rule: "Deleting an exchange removes its bindings: declared again it routes to no queue, and queues that were " +
			"bound to it get nothing.",
		Run: func(t *T) {
			ch := t.channel()
			x, y := ch.exchange("x", "fanout"), ch.exchange("y", "fanout")
			q := ch.bound("q", y, "")
			t.must(ch.ExchangeBind(y, "", x, false, nil))
			t.must(ch.ExchangeDelete(y, false, false))
			ch.exchange("y", "fanout")
			ch.bind(q, y, "")
			ch.publish(x, "", "lost")
			ch.publish(y, "", "m")
			t.equal("got", bodies(ch.fetch(q, 1)), []string{"m"})
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 8, Name: "internal-exchange",
		Rule: "Publishing to an internal exchange is refused with 403, but messages reach it through bindings.",
		Run: func(t *T) {
			conn := t.connect()
			ch := conn.channel()
			x, inner := ch.exchange("x", "fanout"), t.name("inner")
			t.must(ch.ExchangeDeclare(inner, "fanout", false, false, true, false, nil))
			t.forget("", inner)
			q := ch.bound("q", inner, "")
			t.must(ch.ExchangeBind(inner, "", x, false, nil))
			ch.publish(x, "", "m")
			t.equal("body", string(ch.get(q).Body), "m")
			ch.publish(inner, "", "m")
			ch.refused(403, "ACCESS_REFUSED - cannot publish to internal exchange '"+inner+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-bind-missing",
		Rule: "Binding exchanges of which one is missing is refused with 404, which names the missing one.",
		Run: func(t *T) {
			conn := t.connect()
			ch, no := conn.channel(), t.name("no")
			x := ch.exchange("x", "fanout")
			t.refusal(ch.ExchangeBind(no, "", x, false, nil), 404, "NOT_FOUND - no exchange '"+no+"' in vhost '"+t.vhost+"'")
			t.refusal(conn.channel().ExchangeBind(x, "", no, false, nil), 404, "NOT_FOUND - no exchange '"+no+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 16, Name: "names-lose-line-breaks",
		Rule: "CR and LF are removed from queue and exchange names at declaration and deletion.",
		Run: func(t *T) {
			ch := t.channel()
			q, x := ch.queue("q"), ch.exchange("x", "fanout")
			got, err := ch.QueueDeclarePassive(q+"\r\n", false, false, false, false, nil)
			t.must(err)
			t.equal("name", got.Name, q)
			t.must(ch.ExchangeDeclarePassive(x[:3]+"\n"+x[3:], "fanout", false, false, false, false, nil))
			_, err = ch.QueueDelete("\n"+q, false, false, false)
			t.must(err)
			_, err = ch.QueueDeclarePassive(q, false, false, false, false, nil)
			t.refusal(err, 404, "NOT_FOUND - no queue '"+q+"' in vhost '"+t.vhost+"'")
		},
	},
}

// inequivalentExchange is a case of an exchange declared again with one flag turned on.
func inequivalentExchange(flag string, durable, autoDelete, internal bool) Case {
	return Case{
		Topic: surface, Section: 8, Name: "exchange-" + dashed(flag) + "-inequivalent",
		Rule: "Declaring an exchange again with another " + flag + " flag is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			t.refusal(ch.ExchangeDeclare(x, "direct", durable, autoDelete, internal, false, nil), 406,
				"PRECONDITION_FAILED - inequivalent arg '"+flag+"' for exchange '"+x+"' in vhost '"+t.vhost+"': received 'true' but current is 'false'")
		},
	}
}

// onDefaultExchange is a case of what is not permitted on the default exchange.
func onDefaultExchange(name string, do func(ch *channel) error) Case {
	return Case{
		Topic: surface, Section: 6, Name: "default-exchange-" + name,
		Rule: "The default exchange can be neither declared, deleted, bound nor unbound: 403 (" + name + ").",
		Run: func(t *T) {
			t.refusal(do(t.channel()), 403, "ACCESS_REFUSED - operation not permitted on the default exchange")
		},
	}
}
