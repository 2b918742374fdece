package conformance

import (
	"sort"

	amqp "github.com/rabbitmq/amqp091-go"
)

// headersMessages are the messages that the cases of headers exchanges publish, by their bodies.
var headersMessages = map[string]amqp.Table{
	"none":    nil,
	"a1":      {"a": int32(1)},
	"a1-long": {"a": int64(1)},
	"a1-text": {"a": "1"},
	"a2":      {"a": int32(2)},
	"a1-b2":   {"a": int32(1), "b": int32(2)},
	"b2":      {"b": int32(2)},
	"x":       {"x-a": int32(1)},
	"x-a1":    {"x-a": int32(1), "a": int32(1)},
}

var headersCases = []Case{
	matching("all", "A headers binding with x-match all asks for every argument, numbers compared by value whatever their type.",
		amqp.Table{"x-match": "all", "a": int32(1), "b": int32(2)}, "a1-b2"),
	matching("default", "Without x-match a headers binding is of the kind all.",
		amqp.Table{"a": int32(1)}, "a1", "a1-b2", "a1-long", "x-a1"),
	matching("any", "A headers binding with x-match any asks for one argument.",
		amqp.Table{"x-match": "any", "a": int32(1), "b": int32(2)}, "a1", "a1-b2", "a1-long", "b2", "x-a1"),
	matching("all-ignores-x", "With x-match all, arguments whose names begin with x- are not compared.",
		amqp.Table{"x-match": "all", "a": int32(1), "x-a": int32(9)}, "a1", "a1-b2", "a1-long", "x-a1"),
	matching("any-ignores-x", "With x-match any, arguments whose names begin with x- are not compared.",
		amqp.Table{"x-match": "any", "b": int32(2), "x-a": int32(1)}, "a1-b2", "b2"),
	matching("all-with-x", "With x-match all-with-x, arguments whose names begin with x- are compared too.",
		amqp.Table{"x-match": "all-with-x", "a": int32(1), "x-a": int32(1)}, "x-a1"),
	matching("any-with-x", "With x-match any-with-x, arguments whose names begin with x- are compared too.",
		amqp.Table{"x-match": "any-with-x", "b": int32(2), "x-a": int32(1)}, "a1-b2", "b2", "x", "x-a1"),
	matching("all-of-nothing", "A headers binding of the kind all without arguments matches every message.",
		amqp.Table{"x-match": "all"}, "a1", "a1-b2", "a1-long", "a1-text", "a2", "b2", "none", "x", "x-a1"),
	matching("any-of-nothing", "A headers binding of the kind any without arguments matches no message.",
		amqp.Table{"x-match": "any"}),
	matching("presence", "A void argument of a headers binding asks only that the header is there.",
		amqp.Table{"x-match": "all", "a": nil}, "a1", "a1-b2", "a1-long", "a1-text", "a2", "x-a1"),
	matching("text-is-no-number", "In a headers binding a string never equals a number.",
		amqp.Table{"a": "1"}, "a1-text"),
	{
		Topic: surface, Section: 6, Name: "headers-x-match-unknown",
		Rule: "An unknown value of x-match is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			err := ch.QueueBind(ch.queue("q"), "", "amq.headers", false, amqp.Table{"x-match": "some"})
			t.refusal(err, 406, `PRECONDITION_FAILED - Invalid x-match field value <<"some">>; expected all, any, all-with-x, or any-with-x`)
		},
	},
	{
		Topic: surface, Section: 6, Name: "headers-x-match-type",
		Rule: "An x-match that is not a string is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			err := ch.QueueBind(ch.queue("q"), "", "amq.headers", false, amqp.Table{"x-match": int32(1)})
			t.refusal(err, 406, "PRECONDITION_FAILED - Invalid x-match field type signedint (value 1); expected longstr")
		},
	},
	{
		Topic: surface, Section: 10, Name: "headers-bindings-differ-by-arguments",
		Rule: "Two headers bindings of a queue that differ in their arguments are two, and unbind removes the one it " +
			"names.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "headers")
			q := ch.bound("q", x, "", amqp.Table{})
			t.must(ch.QueueUnbind(q, "", x, nil))
			ch.bind(q, x, "", amqp.Table{"a": int32(1)})
			ch.bind(q, x, "", amqp.Table{"b": int32(2)})
			t.must(ch.QueueUnbind(q, "", x, amqp.Table{"a": int32(1)}))
			ch.publish(x, "", "a1", headers(headersMessages["a1"]))
			ch.publish(x, "", "b2", headers(headersMessages["b2"]))
			t.equal("got", bodies(ch.fetch(q, 1)), []string{"b2"})
			ch.empty(q)
		},
	},
}

// matching is a case of one binding of a headers exchange: of all messages it takes those named.
func matching(name, rule string, binding amqp.Table, want ...string) Case {
	return Case{
		Topic: surface, Section: 10, Name: "headers-" + name, Rule: rule,
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "headers")
			q := ch.queue("q")
			ch.bind(q, x, "", binding)
			for body, h := range headersMessages {
				ch.publish(x, "", body, headers(h))
			}
			got := ch.drain(q)
			sort.Strings(got)
			t.equal("taken", got, want)
		},
	}
}
