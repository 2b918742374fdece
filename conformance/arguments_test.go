package conformance

import (
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

var argumentCases = []Case{
	invalidArgument("single-active-consumer-number", "x-single-active-consumer", int32(1), "{unacceptable_type,signedint}"),
	invalidArgument("max-priority-text", "x-max-priority", "high", `"expected integer, got longstr"`),
	invalidArgument("overflow-number", "x-overflow", int32(1), "{unacceptable_type,signedint}"),
	invalidArgument("queue-type-number", "x-queue-type", int32(1), "{unacceptable_type,signedint}"),
	invalidArgument("max-length-decimal", "x-max-length", amqp.Decimal{Scale: 1, Value: 30}, `"expected integer, got decimal"`),
	invalidArgument("max-length-short-is-signed", "x-max-length", int16(-2), "{value_negative,-2}"),
	comparedArgument("x-expires", int32(60000), int32(60001)),
	comparedArgument("x-message-ttl", int32(60000), int32(60001)),
	comparedArgument("x-max-length", int32(5), int32(6)),
	comparedArgument("x-max-length-bytes", int32(5), int32(6)),
	comparedArgument("x-overflow", "drop-head", "reject-publish"),
	comparedArgument("x-max-priority", int32(5), int32(6)),
	comparedArgument("x-single-active-consumer", true, false),
	comparedArgument("x-dead-letter-routing-key", "one", "two", amqp.Table{"x-dead-letter-exchange": ""}),
	comparedArgument("x-queue-type", "classic", "quorum"),
	{
		Topic: surface, Section: 5, Name: "duplicate-argument-first-counts",
		Rule: "If a table has two fields of one name, the first one applies.",
		Run: func(t *T) {
			s, q := t.session(login{}), t.name("q")
			args := table(field("x-max-length", 'I', uint32(1)), field("x-max-length", 'I', uint32(5)))
			s.sendMethod(1, queueDeclare, uint16(0), q, byte(4), args)
			s.want(queueDeclareOk)
			s.send(publishOf(1, q, "a"))
			s.send(publishOf(1, q, "b"))
			s.sendMethod(1, basicGet, uint16(0), q, byte(1))
			s.want(basicGetOk)
			t.equal("kept", string(s.content()), "b")
		},
	},
	{
		Topic: surface, Section: 5, Name: "any-octet-but-zero-is-true",
		Rule: "A boolean field is true for every octet except 0.",
		Run: func(t *T) {
			s, q := t.session(login{}), t.name("q")
			s.sendMethod(1, queueDeclare, uint16(0), q, byte(4), table(field("x-single-active-consumer", 't', byte(2))))
			s.want(queueDeclareOk)
			s.sendMethod(1, queueDeclare, uint16(0), q, byte(4), table(field("x-single-active-consumer", 't', byte(1))))
			s.want(queueDeclareOk)
		},
	},
	{
		Topic: surface, Section: 5, Name: "field-types-survive-a-death",
		Rule: "When the broker encodes a header table again, as for a dead letter, the fields keep their types; L " +
			"becomes l.",
		Run: func(t *T) {
			s := t.session(login{})
			q, dlq := t.name("q"), s.exclusive("dlq")
			s.sendMethod(1, queueDeclare, uint16(0), q, byte(4),
				table(field("x-dead-letter-exchange", 'S', longstr("")), field("x-dead-letter-routing-key", 'S', longstr(dlq))))
			s.want(queueDeclareOk)
			tags := "tbBsuIilLfdSxTV"
			values := map[rune][]byte{'t': {1}, 'b': {0xFF}, 'B': {7}, 's': {0xFF, 0xFE}, 'u': {0, 9}, 'I': {0xFF, 0xFF, 0xFF, 0xFF},
				'i': {0, 0, 0, 9}, 'l': {0, 0, 1, 0, 0, 0, 0, 0}, 'L': {0, 0, 2, 0, 0, 0, 0, 0}, 'f': {0x3F, 0xC0, 0, 0},
				'd': {0x3F, 0xF8, 0, 0, 0, 0, 0, 0}, 'S': {0, 0, 0, 1, 'v'}, 'x': {0, 0, 0, 1, 0}, 'T': {0, 0, 0, 0, 1, 2, 3, 4}, 'V': nil}
			var fields [][]byte
			for i, tag := range tags {
				fields = append(fields, field(fmt.Sprintf("f%d", i), byte(tag), values[tag]))
			}
			s.send(methodOf(1, basicPublish, uint16(0), "", q, byte(0)))
			s.send(frameOf(frameHeader, 1, encode(uint16(60), uint16(0), uint64(0), uint16(1<<13), table(fields...))))
			s.sendMethod(1, basicGet, uint16(0), q, byte(0))
			s.want(basicGetOk)
			s.content()
			s.sendMethod(1, methodID{60, 90}, uint64(1), byte(0)) // reject
			s.sendMethod(1, basicConsume, uint16(0), dlq, "tag", byte(2), emptyTable)
			s.want(basicConsumeOk)
			s.want(basicDeliver)
			got := string(s.next().payload)
			for i, tag := range tags {
				written := byte(tag)
				if tag == 'L' {
					written = 'l'
				}
				if want := string(field(fmt.Sprintf("f%d", i), written, values[tag])); !strings.Contains(got, want) {
					t.Errorf("the field of type %c is not %q in %q", tag, want, got)
				}
			}
		},
	},
	{
		Topic: surface, Section: 9, Name: "integer-is-not-a-float",
		Rule: "An integer argument declared again as a float is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", amqp.Table{"x-max-length": int32(100)})
			_, err := ch.QueueDeclare(q, false, false, false, false, amqp.Table{"x-max-length": 100.0})
			t.refusalLike(err, 406, "PRECONDITION_FAILED - in")
		},
	},
}

// comparedArgument is a case of an argument that a queue declared again must have with the same value.
func comparedArgument(arg string, now, then any, beside ...amqp.Table) Case {
	return Case{
		Topic: surface, Section: 9, Name: "inequivalent-" + arg[2:],
		Rule: "A queue declared again with another " + arg + " is refused with 406, which gives both values.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", append(beside, amqp.Table{arg: now})...)
			_, err := ch.QueueDeclare(q, true, false, false, false, merge(append(beside, amqp.Table{arg: then})))
			t.refusal(err, 406, t.inequivalent(arg, q)+fmt.Sprintf("received '%v' but current is '%v'", then, now))
		},
	}
}
