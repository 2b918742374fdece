package conformance

import amqp "github.com/rabbitmq/amqp091-go"

// recentCases are about exchanges that give new bindings what they have seen.
var recentCases = []Case{
	{
		Topic: surface, Section: 10, Name: "recent-history",
		Rule: "An x-recent-history exchange gives a new queue its newest messages, oldest first, and then works like " +
			"fanout.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-recent-history", amqp.Table{"x-recent-history-length": int32(2)})
			early, late := ch.queue("early"), ch.queue("late")
			ch.bind(early, x, "")
			for _, body := range []string{"1", "2", "3"} {
				ch.put(x, "any", body)
			}
			ch.bind(late, x, "")
			t.equal("given at the binding", ch.taken(late, 2), []string{"2", "3"})
			ch.put(x, "other", "4")
			t.equal("after it", ch.taken(late, 1), []string{"4"})
			t.equal("the first queue", ch.taken(early, 4), []string{"1", "2", "3", "4"})
		},
	},
	{
		Topic: surface, Section: 10, Name: "recent-history-no-store",
		Rule: "A message with the header x-recent-history-no-store is routed, but not sent to queues that are bound " +
			"later.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "x-recent-history")
			early, late := ch.queue("early"), ch.queue("late")
			ch.bind(early, x, "")
			ch.put(x, "", "kept")
			ch.put(x, "", "unsaid", headers(amqp.Table{"x-recent-history-no-store": true}))
			t.equal("routed", ch.taken(early, 2), []string{"kept", "unsaid"})
			ch.bind(late, x, "")
			ch.put("", late, "end")
			t.equal("given", ch.taken(late, 2), []string{"kept", "end"})
		},
	},
	{
		Topic: surface, Section: 10, Name: "recent-history-length-invalid",
		Rule: "A length of recent history that is not a positive integer is refused with 406.",
		Run: func(t *T) {
			ch := t.channel()
			err := ch.ExchangeDeclare(t.name("x"), "x-recent-history", false, true, false, false, amqp.Table{"x-recent-history-length": "many"})
			t.refusalLike(err, 406, "'x-recent-history-length' must be a positive integer")
		},
	},
}
