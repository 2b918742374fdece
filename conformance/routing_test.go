package conformance

import (
	"sort"

	amqp "github.com/rabbitmq/amqp091-go"
)

var routingCases = []Case{
	{
		Topic: surface, Section: 10, Name: "default-exchange-routes-by-name",
		Rule: "The default exchange routes to the queue whose name is the routing key, without any binding.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m")
			d := ch.get(q)
			t.equal("exchange and key", []string{d.Exchange, d.RoutingKey}, []string{"", q})
		},
	},
	{
		Topic: surface, Section: 10, Name: "direct",
		Rule: "A direct exchange routes to the bindings whose key equals the routing key, octet by octet.",
		Run: func(t *T) {
			t.routes("direct", []string{"a", "A", "a.b", ""}, map[string]string{
				"a": "a", "A": "A", "a.b": "a.b", "": "", "a.*": "(none)", "b": "(none)"})
		},
	},
	{
		Topic: surface, Section: 10, Name: "fanout",
		Rule: "A fanout exchange routes to all bindings, with any keys.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "fanout")
			one, two := ch.bound("one", x, "a"), ch.bound("two", x, "b")
			ch.publish(x, "c", "m")
			ch.get(one)
			ch.get(two)
		},
	},
	topic("a-star", "In a topic binding a star stands for exactly one word.",
		"a.*", []string{"a.b", "a.", "a.*"}, []string{"a", "a.b.c", "b.a"}),
	topic("a-hash", "In a topic binding a hash stands for any number of words, none included.",
		"a.#", []string{"a", "a.b", "a.b.c", "a."}, []string{"b", "ab", "b.a"}),
	topic("hash-in-the-middle", "A hash between words of a topic binding stands for any number of words between them.",
		"a.#.z", []string{"a.z", "a.b.z", "a.b.c.z"}, []string{"a", "a.b", "z"}),
	topic("hash-alone", "A hash alone matches every routing key, the empty one included.",
		"#", []string{"", "a", "a.b", "."}, nil),
	topic("star-alone", "A star alone matches one word, which the empty routing key does not have.",
		"*", []string{"a"}, []string{"", "a.b"}),
	topic("empty-binding-key", "The empty topic binding key matches the empty routing key only.",
		"", []string{""}, []string{"a", "."}),
	topic("empty-words", "Two dots in a row enclose an empty word, which a star matches.",
		"a.*.b", []string{"a..b", "a.x.b"}, []string{"a.b"}),
	topic("star-inside-a-word", "A star or hash inside a longer word of a topic binding stands for itself.",
		"a*.b#", []string{"a*.b#"}, []string{"ax.b", "ax.bx"}),
	{
		Topic: surface, Section: 10, Name: "one-copy-per-queue",
		Rule: "A queue gets a message once, however many bindings match.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "topic")
			q := ch.bound("q", x, "#")
			ch.bind(q, x, "a.*")
			ch.bind(q, x, "a.b")
			ch.publish(x, "a.b", "m")
			ch.get(q)
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 10, Name: "unbind-leaves-the-others",
		Rule: "Removing one binding of a queue leaves its other bindings.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "topic")
			q := ch.bound("q", x, "a.#")
			ch.bind(q, x, "a.*")
			t.must(ch.QueueUnbind(q, "a.#", x, nil))
			ch.publish(x, "a", "gone")
			ch.publish(x, "a.b", "m")
			t.equal("got", bodies(ch.fetch(q, 1)), []string{"m"})
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 10, Name: "exchange-to-exchange",
		Rule: "A binding between exchanges passes messages on, and a message keeps the exchange it was published to.",
		Run: func(t *T) {
			ch := t.channel()
			x, y := ch.exchange("x", "topic"), ch.exchange("y", "fanout")
			q := ch.bound("q", y, "")
			t.must(ch.ExchangeBind(y, "a.#", x, false, nil))
			ch.publish(x, "a.b", "m")
			ch.publish(x, "b", "n")
			d := ch.get(q)
			t.equal("exchange and key", []string{d.Exchange, d.RoutingKey}, []string{x, "a.b"})
			ch.empty(q)
			t.must(ch.ExchangeUnbind(y, "a.#", x, false, nil))
			ch.publish(x, "a.b", "m")
			ch.empty(q)
		},
	},
	{
		Topic: surface, Section: 10, Name: "exchange-cycle",
		Rule: "Exchanges bound in a cycle route a message through each of them once.",
		Run: func(t *T) {
			ch := t.channel()
			x, y := ch.exchange("x", "fanout"), ch.exchange("y", "fanout")
			one, two := ch.bound("one", x, ""), ch.bound("two", y, "")
			t.must(ch.ExchangeBind(y, "", x, false, nil))
			t.must(ch.ExchangeBind(x, "", y, false, nil))
			ch.publish(x, "", "m")
			for _, q := range []string{one, two} {
				ch.get(q)
				ch.empty(q)
			}
		},
	},
	{
		Topic: surface, Section: 10, Name: "alternate-exchange",
		Rule: "A message that an exchange routes to no queue goes to its alternate exchange, and keeps the first " +
			"exchange's name.",
		Run: func(t *T) {
			ch := t.channel()
			ae := ch.exchange("ae", "fanout")
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": ae})
			q, rest := ch.bound("q", x, "k"), ch.bound("rest", ae, "")
			ch.publishMandatory(x, "k", "routed")
			ch.publishMandatory(x, "other", "unrouted")
			t.equal("routed", string(ch.get(q).Body), "routed")
			d := ch.get(rest)
			t.equal("unrouted", []string{string(d.Body), d.Exchange, d.RoutingKey}, []string{"unrouted", x, "other"})
			ch.empty(rest)
			silent(t, "basic.return", ch.returns)
		},
	},
	{
		Topic: surface, Section: 10, Name: "alternate-exchange-chain",
		Rule: "An alternate exchange that routes to no queue passes the message to its own alternate exchange.",
		Run: func(t *T) {
			ch := t.channel()
			last := ch.exchange("last", "fanout")
			middle := ch.exchange("middle", "direct", amqp.Table{"alternate-exchange": last})
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": middle})
			q := ch.bound("q", last, "")
			ch.publish(x, "k", "m")
			t.equal("exchange", ch.get(q).Exchange, x)
		},
	},
	{
		Topic: policies, Section: 12, Name: "alternate-exchange-cycle",
		Rule: "Exchanges that are each other's alternate exchange and have no bindings route to no queue: one return.",
		Run: func(t *T) {
			ch := t.channel()
			x, y := t.name("x"), t.name("y")
			ch.exchange("x", "direct", amqp.Table{"alternate-exchange": y})
			ch.exchange("y", "direct", amqp.Table{"alternate-exchange": x})
			ch.publishMandatory(x, "k", "m")
			r := await(t, "basic.return", ch.returns)
			t.equal("return", []any{r.ReplyCode, r.ReplyText, r.Exchange}, []any{uint16(312), "NO_ROUTE", x})
			ch.settled()
			silent(t, "second return", ch.returns)
		},
	},
	{
		Topic: surface, Section: 10, Name: "alternate-exchange-missing",
		Rule: "If the alternate exchange does not exist, the message is unroutable.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": t.name("no")})
			ch.publishMandatory(x, "k", "m")
			await(t, "basic.return", ch.returns)
		},
	},
	{
		Topic: surface, Section: 10, Name: "binding-dies-with-the-queue",
		Rule: "A queue's bindings are deleted with the queue: declared again it gets nothing through them.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "fanout")
			q := ch.bound("q", x, "")
			_, err := ch.QueueDelete(q, false, false, false)
			t.must(err)
			ch.queue("q")
			ch.publish(x, "", "m")
			ch.empty(q)
		},
	},
}

// routes binds a queue for each key to one exchange and checks, for each routing key, which queue gets the message.
func (t *T) routes(kind string, bindings []string, want map[string]string) {
	t.Helper()
	ch := t.channel()
	x := ch.exchange("x", kind)
	queues := map[string]string{}
	for i, key := range bindings {
		queues[key] = ch.bound(string(rune('a'+i)), x, key)
	}
	for key, expected := range want {
		ch.publish(x, key, "m")
		got := "(none)"
		for binding, q := range queues {
			if _, ok, err := ch.Get(q, true); err != nil || ok {
				t.must(err)
				got = binding
			}
		}
		t.equal("binding that took "+key, got, expected)
	}
}

// topic is a case of one binding key of a topic exchange.
func topic(name, rule, binding string, match, differ []string) Case {
	return Case{
		Topic: surface, Section: 10, Name: "topic-" + name, Rule: rule,
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "topic")
			q := ch.bound("q", x, binding)
			for _, key := range append(append([]string{}, differ...), match...) {
				ch.publish(x, key, key)
			}
			got := ch.drain(q)
			want := append([]string{}, match...)
			sort.Strings(got)
			sort.Strings(want)
			t.equal("keys taken by "+binding, got, want)
		},
	}
}
