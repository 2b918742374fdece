package conformance

import (
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

var declarationCases = []Case{
	refusedQuorum("non-durable", false, false, false),
	refusedQuorum("auto-delete", true, true, false),
	refusedQuorum("exclusive-owner", true, false, true),
	{
		Topic: surface, Section: 6, Name: "quorum-queue-without-a-name",
		Rule: "The broker does not generate names for quorum queues: 406.",
		Run: func(t *T) {
			_, err := t.channel().QueueDeclare("", true, false, false, false, quorum)
			t.refusal(err, 406, "PRECONDITION_FAILED - Cannot declare a server-named queue for type rabbit_quorum_queue")
		},
	},
	{
		Topic: surface, Section: 6, Name: "long-text-is-cut",
		Rule: "A reply text of more than 255 octets is truncated to 252 octets and three dots.",
		Run: func(t *T) {
			q := t.name(strings.Repeat("q", 230))
			_, err := t.channel().QueueDeclarePassive(q, false, false, false, false, nil)
			whole := t.noQueue(q)
			t.refusal(err, 404, whole[:252]+"...")
		},
	},
	{
		Topic: surface, Section: 1, Name: "queue-name-is-text",
		Rule: "A queue name that is not UTF-8 ends the connection.",
		Run: func(t *T) {
			s := t.session(login{})
			s.sendMethod(1, queueDeclare, uint16(0), "q\xFF", byte(4), emptyTable)
			s.closing()
		},
	},
	{
		Topic: surface, Section: 1, Name: "method-on-channel-zero",
		Rule: "A method of another class than connection on channel 0 ends the connection.",
		Run: func(t *T) {
			s := t.session(login{})
			s.sendMethod(0, queueDeclare, uint16(0), t.name("q"), byte(4), emptyTable)
			s.closing()
		},
	},
	{
		Topic: surface, Section: 8, Name: "unbind-ok-of-exchanges",
		Rule: "exchange.bind is answered by method 31 and exchange.unbind by method 51.",
		Run: func(t *T) {
			s, ch := t.session(login{}), t.channel()
			x, y := ch.exchange("x", "direct"), ch.exchange("y", "direct")
			s.sendMethod(1, methodID{40, 30}, uint16(0), y, x, "k", byte(0), emptyTable)
			s.want(methodID{40, 31})
			s.sendMethod(1, methodID{40, 40}, uint16(0), y, x, "k", byte(0), emptyTable)
			s.want(methodID{40, 51})
		},
	},
	{
		Topic: surface, Section: 9, Name: "no-wait-is-not-answered",
		Rule: "Declare, bind, consume, purge, cancel and delete with no-wait are not answered, and work.",
		Run: func(t *T) {
			s, q, x := t.session(login{}), t.name("q"), t.name("x")
			s.sendMethod(1, queueDeclare, uint16(0), q, byte(0b10100), emptyTable)
			s.sendMethod(1, methodID{40, 10}, uint16(0), x, "fanout", byte(0b10100), emptyTable) // auto-delete
			s.sendMethod(1, queueBind, uint16(0), q, x, "", byte(1), emptyTable)
			s.send(join(methodOf(1, basicPublish, uint16(0), x, "", byte(0)), headerOf(1, 1), bodyOf(1, "m")))
			s.sendMethod(1, methodID{50, 30}, uint16(0), q, byte(1)) // purge
			s.sendMethod(1, basicConsume, uint16(0), q, "tag", byte(0b1010), emptyTable)
			s.send(publishOf(1, q, "n"))
			s.want(basicDeliver)
			t.equal("body", string(s.content()), "n")
			s.sendMethod(1, methodID{60, 30}, "tag", byte(1)) // cancel
			s.sendMethod(1, methodID{50, 40}, uint16(0), q, byte(0b100))
			s.sendMethod(1, methodID{40, 20}, uint16(0), x, byte(0b10))
			s.sendMethod(1, basicQos, uint32(0), uint16(1), byte(0))
			s.want(basicQosOk)
			t.gone(q)
		},
	},
	{
		Topic: surface, Section: 9, Name: "passive-declare-is-last-declared",
		Rule: "A queue declared passively becomes the channel's last declared one.",
		Run: func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			q := other.queue("q")
			ch.depth(q)
			ch.publish("", q, "m")
			ch.get("")
		},
	},
	{
		Topic: surface, Section: 9, Name: "redeclare-without-comparing-passively",
		Rule: "A passive queue.declare compares neither flags nor arguments.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", ms(60000))
			_, err := ch.QueueDeclarePassive(q, true, true, false, false, amqp.Table{"x-max-length": int32(1)})
			t.must(err)
		},
	},
	{
		Topic: surface, Section: 8, Name: "durable-exchange-transient-queue",
		Rule: "A durable exchange may be bound to a transient queue; the binding is deleted with the queue.",
		Run: func(t *T) {
			ch := t.channel()
			x := t.name("x")
			t.must(ch.ExchangeDeclare(x, "fanout", true, false, false, false, nil))
			t.forget("", x)
			q := ch.bound("q", x, "")
			ch.publish(x, "", "m")
			ch.get(q)
			_, err := ch.QueueDelete(q, false, false, false)
			t.must(err)
			t.must(ch.ExchangeDelete(x, true, false))
		},
	},
	{
		Topic: surface, Section: 8, Name: "exchange-auto-delete-cascade",
		Rule: "An auto-delete exchange is deleted when the destination exchange of its last binding is deleted.",
		Run: func(t *T) {
			ch := t.channel()
			x, y := t.name("x"), ch.exchange("y", "fanout")
			t.must(ch.ExchangeDeclare(x, "fanout", false, true, false, false, nil))
			t.must(ch.ExchangeBind(y, "", x, false, nil))
			t.must(ch.ExchangeDelete(y, false, false))
			t.refusal(ch.ExchangeDeclarePassive(x, "fanout", false, true, false, false, nil), 404,
				"NOT_FOUND - no exchange '"+x+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 8, Name: "internal-exchange-as-alternate-and-dlx",
		Rule: "An internal exchange may be an alternate exchange and a dead-letter exchange.",
		Run: func(t *T) {
			ch := t.channel()
			inner := t.name("inner")
			t.must(ch.ExchangeDeclare(inner, "fanout", false, false, true, false, nil))
			t.forget("", inner)
			dlq := ch.bound("dlq", inner, "")
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": inner})
			ch.publish(x, "nowhere", "by alternate")
			t.equal("by alternate", ch.taken(dlq, 1), []string{"by alternate"})
			q := ch.queue("q", dlx(inner))
			ch.publish("", q, "by death")
			t.must(ch.get(q).Reject(false))
			t.equal("by death", ch.taken(dlq, 1), []string{"by death"})
		},
	},
	{
		Topic: surface, Section: 8, Name: "trace-exchange",
		Rule: "A virtual host has the topic exchange amq.rabbitmq.trace from the start, durable and internal.",
		Run: func(t *T) {
			ch := t.channel()
			t.must(ch.ExchangeDeclare("amq.rabbitmq.trace", "topic", true, false, true, false, nil))
			ch.publish("amq.rabbitmq.trace", "k", "m")
			ch.refused(403, "ACCESS_REFUSED - cannot publish to internal exchange 'amq.rabbitmq.trace' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: surface, Section: 9, Name: "default-queue-type",
		Rule:  "A queue declared without a type gets its virtual host's default type, if its flags allow that.",
		Since: "3.13", Before: "there is no such setting: the type is classic",
		Run: func(t *T) {
			t.ownVhost()
			t.manage("PUT", object{"default_queue_type": "quorum"}, "vhosts", t.vhost)
			ch := t.connect().channel() // the default is what it was when the connection was opened
			q := ch.durable("q")
			_, err := ch.QueueDeclare(q, true, false, false, false, quorum)
			if t.since() {
				t.must(err)
			} else {
				t.refusalLike(err, 406, "inequivalent arg 'x-queue-type' for queue '"+q+"'")
			}
			_, err = t.channel().QueueDeclare("", false, false, true, false, nil)
			t.must(err) // no quorum queue can be exclusive or without a name: this one is classic
		},
	},
}

// refusedQuorum is a case of a quorum queue with a flag that the type does not allow.
func refusedQuorum(property string, durable, autoDelete, exclusive bool) Case {
	return Case{
		Topic: surface, Section: 6, Name: "quorum-queue-" + property,
		Rule: "A quorum queue is durable, shared and not auto-delete: 406 otherwise (" + property + ").",
		Run: func(t *T) {
			q := t.name("q")
			_, err := t.channel().QueueDeclare(q, durable, autoDelete, exclusive, false, quorum)
			t.refusal(err, 406, "PRECONDITION_FAILED - invalid property '"+property+"' for queue '"+q+"' in vhost '"+t.vhost+"'")
		},
	}
}
