package conformance

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// ms is the argument for a queue's TTL in milliseconds.
func ms(n int32) amqp.Table { return amqp.Table{"x-message-ttl": n} }

var ttlCases = []Case{
	{
		Topic: expiry, Section: 1, Name: "smaller-ttl-is-the-message's",
		Rule: "The smaller of the queue's TTL and the message's expiration applies: the message's.",
		Run:  func(t *T) { t.expires(ms(30000), "100", 100*time.Millisecond) },
	},
	{
		Topic: expiry, Section: 1, Name: "smaller-ttl-is-the-queue's",
		Rule: "The smaller of the queue's TTL and the message's expiration applies: the queue's.",
		Run:  func(t *T) { t.expires(ms(100), "30000", 100*time.Millisecond) },
	},
	{
		Topic: expiry, Section: 1, Name: "never-early",
		Rule: "A message never expires before its time.",
		Run:  func(t *T) { t.expires(ms(700), "", 700*time.Millisecond) },
	},
	{
		Topic: expiry, Section: 1, Name: "expiration-stays-visible",
		Rule: "A consumer sees the expiration that the publisher set.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m", expiration("60000"))
			t.equal("expiration", ch.get(q).Expiration, "60000")
		},
	},
	{
		Topic: expiry, Section: 2, Name: "requeue-keeps-the-deadline",
		Rule: "A requeued message keeps its deadline.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), ms(1500))
			begun := time.Now()
			ch.publish("", q, "m")
			d := ch.get(q)
			t.pass(time.Second)
			t.must(d.Nack(false, true))
			ch.take(dlq, 1)
			if after := time.Since(begun); after < 1500*time.Millisecond || after > 2400*time.Millisecond {
				t.Errorf("expired after %v", after)
			}
		},
	},
	{
		Topic: expiry, Section: 2, Name: "two-queues-two-deadlines",
		Rule: "Copies of a message in two queues expire each by the TTL of their own queue.",
		Run: func(t *T) {
			ch := t.channel()
			x, dlq := ch.exchange("x", "fanout"), ch.queue("dlq")
			slow, quick := ch.bound("slow", x, "", to(dlq), ms(800)), ch.bound("quick", x, "", to(dlq), ms(50))
			ch.publish(x, "", "m")
			all := ch.take(dlq, 2)
			t.equal("order", []string{t.deaths(all[0])[0].Queue, t.deaths(all[1])[0].Queue}, []string{quick, slow})
		},
	},
	{
		Topic: expiry, Section: 2, Name: "transaction-starts-the-clock-at-commit",
		Rule: "The TTL of a message published in a transaction starts at commit.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", ms(1000))
			t.must(ch.Tx())
			ch.publish("", q, "m")
			t.pass(1100 * time.Millisecond)
			t.must(ch.TxCommit())
			ch.get(q)
		},
	},
	{
		Topic: expiry, Section: 3, Name: "expired-behind-another",
		Rule:   "An expired message behind one that does not expire stays in the queue, and is not delivered.",
		Choice: ownInstant, Differs: "it leaves the queue on time (on purpose: expiry at any position)",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "a")
			ch.publish("", q, "b", expiration("50"))
			if t.differs() {
				t.equal("dead letters", ch.taken(dlq, 1), []string{"b"})
			} else {
				t.pass(150 * time.Millisecond)
				t.equal("ready", ch.depth(q), 2)
			}
			t.equal("first", string(ch.get(q).Body), "a")
			ch.empty(q)
		},
	},
	{
		Topic: expiry, Section: 3, Name: "fresh-after-expired",
		Rule: "Expired messages are skipped: the next unexpired one is delivered, in order.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", ms(1500))
			ch.publish("", q, "m1")
			t.pass(time.Second)
			ch.publish("", q, "m2")
			ch.publish("", q, "m3")
			t.pass(700 * time.Millisecond)
			t.equal("fresh", bodies(ch.fetch(q, 2)), []string{"m2", "m3"})
			ch.empty(q)
		},
	},
	{
		Topic: expiry, Section: 3, Name: "consumer-gets-only-fresh",
		Rule: "A consumer that starts after a message expired behind an unexpired one gets only the unexpired one.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m1", expiration("30000"))
			ch.publish("", q, "m2", expiration("50"))
			t.pass(100 * time.Millisecond)
			in := ch.consume(q)
			t.equal("first", string(await(t, "a delivery", in).Body), "m1")
			ch.publish("", q, "m3")
			t.equal("next", string(await(t, "a delivery", in).Body), "m3")
		},
	},
	{
		Topic: expiry, Section: 4, Name: "ttl-zero-delivered",
		Rule: "A message with TTL 0 is delivered to a consumer that can take it immediately; if returned, it expires.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), ms(0))
			in := ch.consume(q)
			ch.publish("", q, "m")
			t.must(await(t, "a delivery", in).Nack(false, true))
			t.equal("reason", t.deaths(ch.take(dlq, 1)[0])[0].Reason, "expired")
			silent(t, "second delivery", in)
		},
	},
	{
		Topic: expiry, Section: 4, Name: "ttl-zero-unwanted",
		Rule: "A message with TTL 0 that no consumer can take immediately is never ready: it is confirmed, and not " +
			"returned even if mandatory.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", ms(0))
			ch.confirm()
			ch.publishMandatory("", q, "m")
			ch.confirmed(true)
			silent(t, "basic.return", ch.returns)
			ch.empty(q)
		},
	},
	{
		Topic: expiry, Section: 4, Name: "expiration-zero-dead-lettered",
		Rule: "A message with expiration 0 that no consumer can take immediately is dead-lettered as expired.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m", expiration("0"))
			t.equal("deaths", t.deaths(ch.take(dlq, 1)[0]), []death{{Queue: q, Reason: "expired", Count: 1, Keys: []string{q}, Expiration: "0"}})
		},
	},
	{
		Topic: expiry, Section: 4, Name: "expiration-zero-delivered",
		Rule: "A message with expiration 0 is delivered to a consumer that can take it immediately.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			in := ch.consume(q)
			ch.publish("", q, "m", expiration("0"))
			await(t, "a delivery", in)
		},
	},
	{
		Topic: expiry, Section: 10, Name: "unacked-do-not-expire",
		Rule: "Unacked messages do not expire; when their channel closes, those past their TTL are dead-lettered in " +
			"order.",
		Run: func(t *T) {
			conn := t.connect()
			ch, own := conn.channel(), conn.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), ms(1000))
			for _, m := range []string{"a", "b", "c"} {
				ch.publish("", q, m)
			}
			ch.settled()
			own.fetch(q, 3)
			t.pass(1200 * time.Millisecond)
			ch.empty(dlq)
			t.must(own.Close())
			t.equal("dead letters", ch.taken(dlq, 3), []string{"a", "b", "c"})
		},
	},
	{
		Topic: expiry, Section: 11, Name: "delay-queue-overflows",
		Rule: "A full delay queue dead-letters its oldest message immediately, before its delay ends, with reason " +
			"maxlen.",
		Run: func(t *T) {
			ch := t.channel()
			work := ch.queue("work")
			q := ch.queue("q", to(work), amqp.Table{"x-max-length": int32(2)})
			for _, m := range []string{"a", "b", "c"} {
				ch.publish("", q, m, expiration("60000"))
			}
			d := ch.take(work, 1)[0]
			t.equal("dead letter", []string{string(d.Body), t.deaths(d)[0].Reason}, []string{"a", "maxlen"})
			t.equal("waiting", ch.depth(q), 2)
		},
	},
}

// expires publishes a message to a queue and checks that it dies no earlier than after d and not much later.
func (t *T) expires(args amqp.Table, expires string, d time.Duration) {
	t.Helper()
	ch := t.channel()
	dlq := ch.queue("dlq")
	q := ch.queue("q", to(dlq), args)
	in := ch.consume(dlq)
	begun := time.Now()
	ch.publish("", q, "m", expiration(expires))
	await(t, "the dead letter", in)
	if after := time.Since(begun); after < d || after > d+2*time.Second {
		t.Errorf("expired after %v, want %v", after, d)
	}
}

var leaseCases = []Case{
	{
		Topic: expiry, Section: 5, Name: "idle-queue-expires",
		Rule: "A queue unused for the time of its x-expires is deleted with its messages, which are not dead-lettered.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq), lease(300))
			ch.publish("", q, "m")
			t.pass(900 * time.Millisecond)
			t.gone(q)
			ch.empty(dlq)
		},
	},
	{
		Topic: expiry, Section: 5, Name: "consumer-keeps-the-queue",
		Rule: "A queue with a consumer does not expire; its time starts when the last consumer ends.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", lease(400))
			_, err := ch.Consume(q, "tag", true, false, false, false, nil)
			t.must(err)
			t.pass(700 * time.Millisecond)
			t.must(ch.Cancel("tag", false))
			t.equal("depth", ch.depth(q), 0)
			t.pass(time.Second)
			t.gone(q)
		},
	},
	{
		Topic: expiry, Section: 5, Name: "declare-renews",
		Rule: "Declaring an expiring queue again, even passively, restarts its time.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", lease(1000))
			for range 4 {
				t.pass(400 * time.Millisecond)
				ch.depth(q)
			}
		},
	},
	{
		Topic: expiry, Section: 5, Name: "get-renews",
		Rule: "basic.get restarts the time of an expiring queue.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", lease(1000))
			for range 4 {
				t.pass(400 * time.Millisecond)
				ch.empty(q)
			}
		},
	},
	{
		Topic: expiry, Section: 5, Name: "publish-does-not-renew",
		Rule: "Publishing to an expiring queue does not restart its time.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", lease(500))
			for range 5 {
				t.pass(250 * time.Millisecond)
				ch.publish("", q, "m")
			}
			t.gone(q)
		},
	},
	{
		Topic: expiry, Section: 5, Name: "unacked-do-not-keep-the-queue",
		Rule: "An unacked message does not prevent a queue from expiring.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q", lease(300))
			ch.publish("", q, "m")
			ch.get(q)
			t.pass(900 * time.Millisecond)
			t.gone(q)
		},
	},
}

func lease(ms int32) amqp.Table { return amqp.Table{"x-expires": ms} }

// gone fails the case unless the queue does not exist.
func (t *T) gone(q string) {
	t.Helper()
	_, err := t.channel().QueueDeclarePassive(q, false, false, false, false, nil)
	t.refusal(err, 404, t.noQueue(q))
}
