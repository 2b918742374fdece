package conformance

import amqp "github.com/rabbitmq/amqp091-go"

// year10 is the longest TTL there is, in milliseconds.
const year10 = int64(315360000000)

var queueArgumentCases = []Case{
	invalidArgument("max-length-negative", "x-max-length", int32(-1), "{value_negative,-1}"),
	invalidArgument("max-length-bytes-negative", "x-max-length-bytes", int64(-5), "{value_negative,-5}"),
	invalidArgument("message-ttl-negative", "x-message-ttl", int32(-1), "{value_negative,-1}"),
	invalidArgument("message-ttl-too-large", "x-message-ttl", year10+1, "{value_too_large,315360000001}"),
	invalidArgument("message-ttl-string", "x-message-ttl", "1000", `"expected integer, got longstr"`),
	invalidArgument("expires-zero", "x-expires", int32(0), "{value_zero,0}"),
	invalidArgument("expires-negative", "x-expires", int32(-1), "{value_negative,-1}"),
	invalidArgument("expires-too-large", "x-expires", year10+1, "{value_too_large,315360000001}"),
	invalidArgument("overflow-unknown", "x-overflow", "drop-tail", "invalid_overflow"),
	invalidArgument("dead-letter-routing-key-alone", "x-dead-letter-routing-key", "k", "routing_key_but_no_dlx_defined"),
	invalidArgument("queue-type-unknown", "x-queue-type", "nonsense", `"unsupported queue type 'nonsense'"`),
	quorumOnly("x-delivery-limit", int32(3)),
	quorumOnly("x-dead-letter-strategy", "at-least-once"),
	{
		Topic: surface, Section: 9, Name: "stream-queue",
		Rule:   "A durable queue of the type stream can be declared.",
		Choice: noStreams, Differs: "it is refused with 540 (on purpose: streams are not supported)",
		Run: func(t *T) {
			ch, q := t.channel(), t.name("q")
			_, err := ch.QueueDeclare(q, true, false, false, false, amqp.Table{"x-queue-type": "stream"})
			if t.differs() {
				t.refusalLike(err, 540, "NOT_IMPLEMENTED - ")
				return
			}
			t.forget(q, "")
			t.must(err)
		},
	},
	{
		Topic: dead, Section: 13, Name: "dead-letter-routing-key-type",
		Rule: "A dead-letter routing key that is not a string is refused with 406.",
		Run: func(t *T) {
			q := t.name("q")
			_, err := t.channel().QueueDeclare(q, false, false, true, false,
				amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": int32(1)})
			t.refusal(err, 406, t.invalid("x-dead-letter-routing-key", q)+": {unacceptable_type,signedint}")
		},
	},
	{
		Topic: dead, Section: 13, Name: "dead-letter-exchange-type",
		Rule: "A dead-letter exchange that is not a string is refused with 406.",
		Run: func(t *T) {
			q := t.name("q")
			_, err := t.channel().QueueDeclare(q, false, false, true, false, amqp.Table{"x-dead-letter-exchange": int32(1)})
			t.refusal(err, 406, "PRECONDITION_FAILED - invalid type 'signedint' for arg 'x-dead-letter-exchange' in queue '"+q+"' in vhost '"+t.vhost+"'")
		},
	},
	{
		Topic: expiry, Section: 1, Name: "message-ttl-longest",
		Rule: "The longest message TTL and queue expiry are ten years.",
		Run: func(t *T) {
			t.channel().queue("q", amqp.Table{"x-message-ttl": year10, "x-expires": year10})
		},
	},
	{
		Topic: surface, Section: 9, Name: "unknown-arguments",
		Rule: "Arguments that no queue type knows are accepted and not compared.",
		Run: func(t *T) {
			ch := t.channel()
			ch.queue("q", amqp.Table{"x-foo": "one"})
			ch.queue("q", amqp.Table{"x-foo": int32(2), "x-bar": true})
		},
	},
	{
		Topic: surface, Section: 9, Name: "dead-letter-queue-argument",
		Rule:   "x-dead-letter-queue is an unknown argument: it is accepted with any value, and not compared.",
		Choice: marks, Differs: "it marks a queue as a dead-letter queue: it must be a boolean, and is compared " +
			"(on purpose: clients mark the queues that they publish failed messages to)",
		Run: func(t *T) {
			const arg = "x-dead-letter-queue"
			ch, q := t.channel(), t.name("q")
			declare := func(ch *channel, q string, value any) error {
				_, err := ch.QueueDeclare(q, true, false, false, false, amqp.Table{arg: value})
				return err
			}
			p := t.name("p")
			t.forget(q, "")
			t.forget(p, "")
			t.must(declare(ch, q, true))
			t.must(declare(ch, q, true))
			other, text := declare(t.channel(), q, false), declare(t.channel(), p, "yes")
			if t.differs() {
				t.refusal(other, 406, t.inequivalent(arg, q)+"received 'false' but current is 'true'")
				t.refusal(text, 406, t.invalid(arg, p)+": {unacceptable_type,longstr}")
				return
			}
			t.must(other)
			t.must(text)
		},
	},
	{
		Topic: surface, Section: 9, Name: "classic-is-the-default-type",
		Rule: "A queue declared without x-queue-type is equivalent to one declared with classic.",
		Run: func(t *T) {
			ch := t.channel()
			ch.queue("q")
			ch.queue("q", amqp.Table{"x-queue-type": "classic"})
		},
	},
	{
		Topic: surface, Section: 6, Name: "argument-inequivalent",
		Rule: "Declaring a queue again with another value of a known argument is refused with 406, which gives both " +
			"values.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", amqp.Table{"x-max-length": int32(10)})
			_, err := ch.QueueDeclare(q, false, false, false, false, amqp.Table{"x-max-length": int32(11)})
			t.refusal(err, 406, t.inequivalent("x-max-length", q)+"received '11' but current is '10'")
		},
	},
	{
		Topic: surface, Section: 6, Name: "argument-missing-now",
		Rule: "Declaring a queue again without an argument it has is refused with 406, which gives value and type.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", amqp.Table{"x-message-ttl": int32(60000)})
			_, err := ch.QueueDeclare(q, false, false, false, false, nil)
			t.refusal(err, 406, t.inequivalent("x-message-ttl", q)+"received none but current is the value '60000' of type 'signedint'")
		},
	},
	{
		Topic: surface, Section: 6, Name: "argument-missing-before",
		Rule: "Declaring a queue again with an argument it does not have is refused with 406, which gives value and " +
			"type.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			_, err := ch.QueueDeclare(q, false, false, false, false, amqp.Table{"x-overflow": "reject-publish"})
			t.refusal(err, 406, t.inequivalent("x-overflow", q)+"received the value 'reject-publish' of type 'longstr' but current is none")
		},
	},
	{
		Topic: dead, Section: 13, Name: "dead-letter-exchange-inequivalent",
		Rule: "The dead-letter exchange of a queue cannot be changed by declaring the queue again: 406.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", dlx("dlx_foo"))
			_, err := ch.QueueDeclare(q, false, false, false, false, dlx("dlx_bar"))
			t.refusal(err, 406, t.inequivalent("x-dead-letter-exchange", q)+"received 'dlx_bar' but current is 'dlx_foo'")
		},
	},
	{
		Topic: dead, Section: 13, Name: "dead-letter-exchange-missing-now",
		Rule: "Declaring a queue again without its dead-letter exchange is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", dlx("dlx_foo"))
			_, err := ch.QueueDeclare(q, false, false, false, false, nil)
			t.refusal(err, 406, t.inequivalent("x-dead-letter-exchange", q)+"received none but current is the value 'dlx_foo' of type 'longstr'")
		},
	},
	{
		Topic: surface, Section: 9, Name: "integer-width-is-equivalent",
		Rule: "Integer arguments of different widths are equivalent.",
		Run: func(t *T) {
			ch := t.channel()
			for _, v := range []any{int8(100), uint8(100), int16(100), uint16(100), int32(100), uint32(100), int64(100)} {
				ch.queue("q", amqp.Table{"x-max-length": v})
			}
		},
	},
	{
		Topic: surface, Section: 9, Name: "transient-shared-queue",
		Rule: "A queue that is neither durable nor exclusive is accepted.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			ch.get(q)
		},
	},
}

// invalid is the beginning of the text for an argument whose value is not valid.
func (t *T) invalid(arg, q string) string {
	return "PRECONDITION_FAILED - invalid arg '" + arg + "' for queue '" + q + "' in vhost '" + t.vhost + "'"
}

// inequivalent is the beginning of the text for an argument that differs from the queue's.
func (t *T) inequivalent(arg, q string) string {
	return "PRECONDITION_FAILED - inequivalent arg '" + arg + "' for queue '" + q + "' in vhost '" + t.vhost + "': "
}

// quorumOnly is a case of an argument that only a quorum queue has in RabbitMQ.
func quorumOnly(arg string, value any) Case {
	return Case{
		Topic: dead, Section: 13, Name: "classic-queue-with-" + arg[2:],
		Rule:   "A classic queue with " + arg + " is refused with 406: the argument belongs to another type.",
		Choice: everyQueue, Differs: "it is accepted (on purpose: it works for every queue)",
		Run: func(t *T) {
			ch, q := t.channel(), t.name("q")
			_, err := ch.QueueDeclare(q, true, false, false, false, amqp.Table{arg: value, "x-dead-letter-exchange": ""})
			if t.differs() {
				t.forget(q, "")
				t.must(err)
				return
			}
			t.refusal(err, 406, t.invalid(arg, q)+" of queue type rabbit_classic_queue")
		},
	}
}

// invalidArgument is a case of an argument that a new queue is refused for.
func invalidArgument(name, arg string, value any, detail string) Case {
	return Case{
		Topic: surface, Section: 6, Name: name,
		Rule: "A queue with an invalid " + arg + " is refused with 406, which gives the reason " + detail + ".",
		Run: func(t *T) {
			q := t.name("q")
			_, err := t.channel().QueueDeclare(q, false, false, true, false, amqp.Table{arg: value})
			t.refusal(err, 406, t.invalid(arg, q)+": "+detail)
		},
	}
}
