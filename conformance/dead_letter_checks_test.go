package conformance

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var deadLetterCheckCases = []Case{
	{
		Topic: dead, Section: 2, Name: "limit-before-delay",
		Rule: "A message returned beyond its delivery limit is dead-lettered, even if its queue delays returned " +
			"messages.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, to(dlq), amqp.Table{"x-delivery-limit": int32(0),
				"x-delayed-retry-type": "all", "x-delayed-retry-min": int32(60000)})
			ch.publish("", q, "m")
			t.must(await(t, "a delivery", ch.consume(q)).Reject(true))
			t.equal("deaths", t.deaths(ch.take(dlq, 1)[0]), []death{{Queue: q, Reason: "delivery_limit", Count: 1, Keys: []string{q}}})
			t.equal("left", ch.depth(q), 0)
		},
	},
	{
		Topic: dead, Section: 2, Name: "four-cut-to-two",
		Rule: "A policy of max-length 2 set on a queue of four dead-letters the two oldest in order, with reason " +
			"maxlen.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			for _, m := range []string{"m1", "m2", "m3", "m4"} {
				ch.put("", q, m)
			}
			t.policy("p", "^"+q+"$", 0, object{"max-length": 2})
			all := ch.take(dlq, 2)
			t.equal("dropped", bodies(all), []string{"m1", "m2"})
			t.equal("reasons", []string{t.deaths(all[0])[0].Reason, t.deaths(all[1])[0].Reason}, []string{"maxlen", "maxlen"})
			t.equal("kept", bodies(ch.fetch(q, 2)), []string{"m3", "m4"})
		},
	},
	{
		Topic: dead, Section: 3, Name: "headers-dlx-of-expired",
		Rule: "A headers exchange with a binding for expiry in one queue routes the dead letters of that queue and " +
			"not those of another.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "headers")
			q1, q2, dlq := ch.queue("q1", dlx(x)), ch.queue("q2", dlx(x)), ch.queue("dlq")
			ch.bind(dlq, x, "", amqp.Table{"x-match": "all-with-x", "x-first-death-reason": "expired", "x-first-death-queue": q1})
			ch.put("", q2, "other", expiration("10"))
			ch.awaitDepth(q2, 0)
			ch.publish("", q1, "m", expiration("10"))
			t.equal("routed", ch.taken(dlq, 1), []string{"m"})
			ch.empty(dlq)
		},
	},
	{
		Topic: dead, Section: 5, Name: "first-time-stays",
		Rule: "The time of a repeated death stays that of the first.",
		Run: func(t *T) {
			ch, q := t.channel(), t.name("q")
			ch.queue("q", to(q))
			in := ch.consume(q)
			ch.publish("", q, "m")
			t.must(await(t, "the message", in).Reject(false))
			d := await(t, "the message again", in)
			first := deathTime(d)
			t.pass(1100 * time.Millisecond) // the time has whole seconds
			t.must(d.Reject(false))
			t.equal("time", deathTime(await(t, "the message a third time", in)), first)
		},
	},
	{
		Topic: dead, Section: 6, Name: "first-death-headers-undisturbed",
		Rule: "A header of the first death that a publisher sends reaches the consumer unchanged if the message has " +
			"not died.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m", headers(amqp.Table{"x-first-death-queue": "spoof"}))
			t.equal("header", text(ch.get(q), "x-first-death-queue"), "spoof")
		},
	},
	{
		Topic: dead, Section: 7, Name: "cluster-id-survives",
		Rule: "All fourteen properties except the expiration survive a death, including the reserved cluster-id.",
		Run: func(t *T) {
			ch, s := t.channel(), t.session(login{})
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			// Without headers and expiration, so that what comes after the header table can be compared as it is.
			rest := encode(byte(2), byte(5), "correlation", "reply", "message", uint64(1700000000), "type", t.broker.uri.Username, "app", "cluster")
			properties := encode(uint16(0xDEFC), "text/plain", "gzip", rest)
			s.send(methodOf(1, basicPublish, uint16(0), "", q, byte(0)))
			s.send(frameOf(frameHeader, 1, append(encode(uint16(60), uint16(0), uint64(0)), properties...)))
			t.must(await(t, "a delivery", ch.consume(q)).Reject(false))
			ch.awaitDepth(dlq, 1)
			s.sendMethod(1, basicGet, uint16(0), dlq, byte(1))
			s.want(basicGetOk)
			got := s.next().payload[12:]
			t.equal("flags", got[:2], encode(uint16(0xFEFC)))
			t.equal("after the headers", string(got[len(got)-len(rest):]), string(rest))
		},
	},
	{
		Topic: dead, Section: 7, Name: "user-id-of-a-deleted-user",
		Rule: "A message whose user-id names a deleted user is dead-lettered as well, and keeps the user-id.",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			user := t.name("user")
			t.manage("PUT", object{"password": "secret", "tags": ""}, "users", user)
			t.manage("PUT", object{"configure": "^$", "write": ".*", "read": "^$"}, "permissions", t.vhost, user)
			theirs, err := t.dial(user, "secret", t.vhost)
			t.must(err)
			theirs.channel().put("", q, "m", func(m *amqp.Publishing) { m.UserId = user })
			t.must(theirs.Close())
			t.manage("DELETE", nil, "users", user)
			t.must(ch.get(q).Reject(false))
			t.equal("user-id", ch.take(dlq, 1)[0].UserId, user)
		},
	},
	{
		Topic: dead, Section: 8, Name: "history-of-a-client-in-a-cycle",
		Rule:  "An x-death header of a publisher with deaths in this queue is ignored at the first real death.",
		Since: "4.0", Before: "it is used as the history, to which the death is added",
		Run: func(t *T) {
			ch, q := t.channel(), t.name("q")
			ch.queue("q", to(q))
			history := []any{amqp.Table{"queue": q, "reason": "expired", "count": int64(9), "time": time.Now(),
				"exchange": "", "routing-keys": []any{q}}}
			ch.publish("", q, "m", headers(amqp.Table{"x-death": history}))
			t.must(ch.get(q).Reject(false))
			ch.awaitDepth(q, 1)
			want := []death{{Queue: q, Reason: "rejected", Count: 1, Keys: []string{q}}}
			if !t.since() {
				want = append(want, death{Queue: q, Reason: "expired", Count: 9, Keys: []string{q}})
			}
			t.equal("deaths", t.deaths(ch.get(q)), want)
		},
	},
	{
		Topic: dead, Section: 11, Name: "quorum-target-takes-more",
		Rule: "A quorum queue that is full and set to reject-publish accepts a dead letter nevertheless.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.durable("dlq", quorum, atMost(1, "reject-publish"))
			q := ch.queue("q", to(dlq))
			ch.put("", dlq, "first")
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			t.equal("taken", ch.taken(dlq, 2), []string{"first", "m"})
		},
	},
	{
		Topic: dead, Section: 16, Name: "dead-letter-headers-of-a-client",
		Rule: "Headers of a message that name a dead-letter exchange and key have no effect, and are kept.",
		Run: func(t *T) {
			ch := t.channel()
			x, other := ch.exchange("x", "fanout"), ch.exchange("other", "fanout")
			dlq, wrong := ch.bound("dlq", x, ""), ch.bound("wrong", other, "")
			q := ch.queue("q", dlx(x))
			ch.publish("", q, "m", headers(amqp.Table{"x-dead-letter-exchange": other, "x-dead-letter-routing-key": wrong}))
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("headers", []string{text(d, "x-dead-letter-exchange"), text(d, "x-dead-letter-routing-key")}, []string{other, wrong})
			ch.empty(wrong)
		},
	},
}

// deathTime is the time of the first entry of x-death.
func deathTime(d amqp.Delivery) any {
	list, _ := d.Headers["x-death"].([]any)
	if len(list) == 0 {
		return nil
	}
	entry, _ := list[0].(amqp.Table)
	return entry["time"]
}
