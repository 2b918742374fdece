package conformance

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var topologyCases = []Case{
	{
		Topic: dead, Section: 17, Name: "topology-reject",
		Rule: "A rejected message goes from its queue through a topic exchange with a dead-letter key to the queue " +
			"bound for it.",
		Run: func(t *T) {
			ch := t.channel()
			normal, dl := ch.exchange("normal.exchange", "topic"), ch.exchange("dl.exchange", "topic")
			q := ch.bound("normal.queue", normal, "*.normal.routing.key", dlx(dl), amqp.Table{"x-dead-letter-routing-key": "dl.routing.key"})
			dlq := ch.bound("dl.queue", dl, "#.dl.routing.key")
			ch.publish(normal, "prefix.normal.routing.key", "m")
			t.must(await(t, "a delivery", ch.consume(q)).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("exchange and key", []string{d.Exchange, d.RoutingKey}, []string{dl, "dl.routing.key"})
			t.equal("deaths", t.deaths(d), []death{
				{Queue: q, Reason: "rejected", Exchange: normal, Count: 1, Keys: []string{"prefix.normal.routing.key"}}})
		},
	},
	{
		Topic: dead, Section: 17, Name: "topology-ttl",
		Rule: "A message that no consumer takes goes to the dead-letter queue when its queue's TTL has passed, and " +
			"not before.",
		Run: func(t *T) {
			ch := t.channel()
			x, dl := ch.exchange("x", "topic"), ch.exchange("dl", "topic")
			q := ch.bound("q", x, "#.msg.ttl.routing.key", dlx(dl), amqp.Table{"x-message-ttl": int32(1000),
				"x-dead-letter-routing-key": "msg.ttl.dl.routing.key"})
			dlq := ch.bound("dlq", dl, "#.msg.ttl.dl.routing.key")
			begun := time.Now()
			ch.publish(x, "msg.ttl.routing.key", "m")
			d := ch.take(dlq, 1)[0]
			if after := time.Since(begun); after < time.Second || after > 3*time.Second {
				t.Errorf("expired after %v", after)
			}
			t.equal("deaths", t.deaths(d), []death{
				{Queue: q, Reason: "expired", Exchange: x, Count: 1, Keys: []string{"msg.ttl.routing.key"}}})
		},
	},
	{
		Topic: dead, Section: 17, Name: "topology-length",
		Rule: "A queue with max-length 5 keeps the newest five of seven messages; the two oldest are dead-lettered.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), amqp.Table{"x-max-length": int32(5)})
			ch.confirm()
			for i := range 7 {
				ch.publish("", q, fmt.Sprint(i+1))
			}
			for range 7 {
				ch.confirmed(true)
			}
			t.equal("dead", ch.taken(dlq, 2), []string{"1", "2"})
			t.equal("kept", bodies(ch.fetch(q, 5)), []string{"3", "4", "5", "6", "7"})
		},
	},
	{
		Topic: dead, Section: 17, Name: "topology-delay",
		Rule: "A message with an expiration in a queue without consumers reaches the work queue through its " +
			"dead-letter exchange after that time.",
		Run: func(t *T) {
			ch := t.channel()
			normal, dl := ch.exchange("normal", "direct"), ch.exchange("dlx", "direct")
			delay := ch.bound("delay.queue", normal, "delay.key", dlx(dl), amqp.Table{"x-dead-letter-routing-key": "dlx.key"})
			work := ch.bound("dlx.queue", dl, "dlx.key")
			begun := time.Now()
			ch.publish(normal, "delay.key", "m", expiration("500"), persistent)
			d := ch.take(work, 1)[0]
			if after := time.Since(begun); after < 500*time.Millisecond || after > 2500*time.Millisecond {
				t.Errorf("arrived after %v", after)
			}
			t.equal("deaths", t.deaths(d), []death{
				{Queue: delay, Reason: "expired", Exchange: normal, Count: 1, Keys: []string{"delay.key"}, Expiration: "500"}})
		},
	},
	{
		Topic: dead, Section: 17, Name: "topology-delay-mixed",
		Rule:   "A message with a short expiration waits behind one with a long expiration.",
		Choice: ownInstant, Differs: "it leaves the queue on time (on purpose: a delay must not depend on other messages)",
		Run: func(t *T) {
			ch := t.channel()
			work := ch.queue("work")
			delay := ch.queue("delay", to(work))
			ch.publish("", delay, "long", expiration("800"))
			ch.publish("", delay, "short", expiration("50"))
			want := []string{"long", "short"}
			if t.differs() {
				want = []string{"short", "long"}
			}
			t.equal("order", ch.taken(work, 2), want)
		},
	},
	{
		Topic: dead, Section: 17, Name: "topology-self-cycle",
		Rule: "A queue with the default exchange as dead-letter exchange and no dead-letter key loses its expired " +
			"messages.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("myqueue", dlx(""))
			ch.put("", q, "m", expiration("10"))
			ch.awaitDepth(q, 0)
			ch.lostFrom(q)
		},
	},
	{
		Topic: dead, Section: 17, Name: "topology-some-exchange",
		Rule: "A transient queue with a direct dead-letter exchange and a dead-letter key sends its dead letters " +
			"with that key.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("some.exchange.name", "direct")
			q := ch.queue("myqueue", dlx(x), amqp.Table{"x-dead-letter-routing-key": "some-routing-key"})
			dlq := ch.bound("dlq", x, "some-routing-key")
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			t.equal("key", ch.take(dlq, 1)[0].RoutingKey, "some-routing-key")
		},
	},
	{
		Topic: dead, Section: 17, Name: "topology-foo-bar",
		Rule: "A message published with key foo dies with key foo, or with bar if that is the queue's dead-letter key.",
		Run: func(t *T) {
			ch := t.channel()
			in, x := ch.exchange("in", "fanout"), ch.exchange("x", "direct")
			foo, bar := ch.bound("foo", x, "foo"), ch.bound("bar", x, "bar")
			plain := ch.bound("plain", in, "", dlx(x))
			keyed := ch.bound("keyed", in, "", dlx(x), amqp.Table{"x-dead-letter-routing-key": "bar"})
			ch.publish(in, "foo", "m")
			t.must(ch.get(plain).Reject(false))
			t.must(ch.get(keyed).Reject(false))
			t.equal("queues", []string{t.deaths(ch.take(foo, 1)[0])[0].Queue, t.deaths(ch.take(bar, 1)[0])[0].Queue}, []string{plain, keyed})
			ch.empty(foo)
			ch.empty(bar)
		},
	},
}
