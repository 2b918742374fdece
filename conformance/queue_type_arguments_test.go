package conformance

import amqp "github.com/rabbitmq/amqp091-go"

var foreignArgumentCases = []Case{
	foreignArgument("classic", "x-max-age", "1h"),
	foreignArgument("classic", "x-stream-max-segment-size-bytes", int32(1000000)),
	foreignArgument("classic", "x-quorum-initial-group-size", int32(3)),
	foreignArgument("quorum", "x-max-age", "1h"),
	foreignArgument("quorum", "x-queue-mode", "lazy"),
	{
		Topic: retry, Section: 10, Name: "quorum-queue-max-priority",
		Rule:  "A quorum queue may have x-max-priority.",
		Since: "4.3", Before: "the argument belongs to another type, 406", Newer: true,
		Run: func(t *T) {
			q := t.name("q")
			ch := t.channel()
			_, err := ch.QueueDeclare(q, true, false, false, false, amqp.Table{"x-queue-type": "quorum", "x-max-priority": int32(5)})
			if !t.since() {
				t.refusal(err, 406, t.invalid("x-max-priority", q)+" of queue type rabbit_quorum_queue")
				return
			}
			t.must(err)
			t.forget(q, "")
		},
	},
	{
		Topic: retry, Section: 7, Name: "disconnected-timeout-is-accepted",
		Rule: "A quorum queue may have a timeout for disconnected consumers.",
		Run: func(t *T) {
			t.channel().durable("q", quorum, amqp.Table{"x-consumer-disconnected-timeout": int32(60000)})
		},
	},
}

// foreignArgument is a case of an argument that only another type of queue knows.
func foreignArgument(kind, arg string, value any) Case {
	return Case{
		Topic: surface, Section: 6, Name: kind + "-queue-with-" + arg[2:],
		Rule: "A " + kind + " queue with " + arg + " is refused with 406: the argument belongs to another type.",
		Run: func(t *T) {
			q := t.name("q")
			_, err := t.channel().QueueDeclare(q, true, false, false, false, amqp.Table{"x-queue-type": kind, arg: value})
			if err == nil {
				t.forget(q, "")
			}
			t.refusal(err, 406, t.invalid(arg, q)+" of queue type rabbit_"+kind+"_queue")
		},
	}
}
