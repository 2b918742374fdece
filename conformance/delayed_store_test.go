package conformance

import (
	"encoding/json"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// delayedStoreCases are about where kept messages are, and what they have to do with dead letters, policies and queues.
var delayedStoreCases = []Case{
	delays(5, "delayed-counted", "The management API counts the scheduled messages of an exchange.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			for range 3 {
				ch.put(x, "k", "m", delay(int32(3000)))
			}
			t.awaitScheduled(x, 3)
			ch.empty(q)
			ch.take(q, 3)
			t.awaitScheduled(x, 0)
		}),
	delays(5, "delayed-in-no-queue", "A scheduled message is in no queue: its target is empty, purging the target removes nothing, and the limit of the target counts it on arrival.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k", atMost(1, "reject-publish"))
			ch.put(x, "k", "m", delay(int32(500)))
			n, err := ch.QueuePurge(q, false)
			t.must(err)
			t.equal("purged", n, 0)
			ch.put(x, "k", "first")
			t.equal("arrived", string(ch.get(q).Body), "first")
			t.equal("then", ch.taken(q, 1), []string{"m"})
		}),
	delays(6, "delayed-dead-letters", "A delayed exchange delays a dead letter with x-delay, and does not delay it when it dies again.",
		func(t *T) {
			ch := t.channel()
			d := ch.delayed("d", "direct")
			last := ch.bound("last", d, "last")
			dlq := ch.bound("dlq", d, "k", dlx(d), amqp.Table{"x-dead-letter-routing-key": "last"})
			q := ch.queue("q", dlx(d), amqp.Table{"x-dead-letter-routing-key": "k"})
			ch.put("", q, "m", delay(int32(1000)))
			in, again := ch.consume(dlq), ch.consume(last)
			begun := time.Now()
			t.must(ch.get(q).Reject(false))
			arrived := await(t, "the dead letter", in)
			t.inTime("the dead letter", begun, time.Second)
			t.equal("x-delay and exchange", []any{arrived.Headers["x-delay"], arrived.Exchange}, []any{int64(-1000), d})
			first := death{Queue: q, Reason: "rejected", Count: 1, Keys: []string{q}}
			t.equal("deaths", t.deaths(arrived), []death{first})

			begun = time.Now()
			t.must(arrived.Reject(false))
			arrived = await(t, "the second dead letter", again)
			if took := time.Since(begun); took > 900*time.Millisecond {
				t.Fatalf("the second dead letter came after %v, want it at once", took)
			}
			t.equal("x-delay", arrived.Headers["x-delay"], int64(-1000))
			t.equal("deaths", t.deaths(arrived), []death{{Queue: dlq, Reason: "rejected", Exchange: d, Count: 1, Keys: []string{"k"}}, first})
		}),
	delays(6, "delayed-republished", "A message that a consumer publishes again, with a positive x-delay instead of the negative one, is delayed again.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			in := ch.consume(ch.bound("q", x, "k"))
			ch.publish(x, "k", "m", delay(int32(100)))
			d := await(t, "the message", in)
			d.Headers["x-delay"] = int32(2000)
			begun := time.Now()
			ch.publish(x, "k", "m", headers(d.Headers))
			t.must(d.Ack(false))
			d = await(t, "the copy", in)
			t.inTime("the copy", begun, 2*time.Second)
			t.equal("x-delay", d.Headers["x-delay"], int64(-2000))
		}),
	delays(6, "delayed-circle", "A dead letter that would complete a cycle through a delayed exchange is detected at its due time.",
		func(t *T) {
			t.ownVhost()
			ch := t.channel()
			d, found := ch.delayed("d", "fanout"), ch.queue("found")
			q := ch.bound("q", d, "", dlx(d), ms(50))
			ch.put("", q, "m", delay(int32(200)))
			t.awaitLost("cycle")
			ch.empty(q)
			t.sendOn(found)
			t.equal("deaths", t.deaths(ch.take(found, 1)[0]), []death{{Queue: q, Reason: "expired", Count: 1, Keys: []string{q}}})
		}),
	delays(7, "delayed-held", "With at-least-once a delayed exchange counts as a target that has accepted the dead letter: it leaves its queue immediately, and arrives once.",
		func(t *T) {
			ch := t.channel()
			d := ch.delayed("d", "fanout")
			dlq := ch.bound("dlq", d, "")
			q := ch.durable("q", sure, dlx(d))
			ch.put("", q, "m", delay(int32(1000)))
			in := ch.consume(dlq)
			begun := time.Now()
			t.must(ch.get(q).Reject(false))
			ch.awaitKept(q, kept{})
			await(t, "the dead letter", in)
			t.inTime("the dead letter", begun, time.Second)
			ch.put("", dlq, "fence")
			t.equal("next", string(await(t, "the fence", in).Body), "fence")
			t.awaitScheduled(d, 0)
		}),
	delays(8, "delayed-alternate-by-policy", "The alternate exchange of a policy that is set while a message waits gets the message; the plugin loses it.",
		func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x, ae := ch.delayed("x", "direct"), ch.exchange("ae", "fanout")
			in := ch.consume(ch.bound("q", ae, ""))
			begun := time.Now()
			ch.put(x, "k", "m", delay(int32(1500)))
			t.applyPolicy("policies", "p", "^"+x+"$", "exchanges", 0, object{"alternate-exchange": ae})
			await(t, "the message", in)
			t.inTime("the message", begun, 1500*time.Millisecond)
		}),
	delays(9, "delayed-no-queue-to-reach", "Clients cannot see the store of scheduled messages as a queue, consume from it or publish to it.",
		func(t *T) {
			t.ownVhost()
			conn := t.connect()
			ch := conn.channel()
			x := ch.delayed("x", "direct")
			ch.put(x, "k", "m", delay(int32(60000)))
			var all []struct {
				Name string `json:"name"`
			}
			t.must(json.Unmarshal(t.ask("GET", nil, "queues", t.vhost).body, &all))
			t.equal("queues", len(all), 0)
			for _, name := range []string{"amq.delayed-" + x, "amq.delayed." + x, x} {
				_, err := conn.channel().Consume(name, "", true, false, false, false, nil)
				t.refusal(err, 404, t.noQueue(name))
				ch.publishMandatory("", name, name)
				t.equal("returned", string(await(t, "basic.return", ch.returns).Body), name)
			}
			t.awaitScheduled(x, 1)
		}),
}

// delayedExampleCases take half a minute: they begin before all others.
var delayedExampleCases = []Case{
	delays(10, "delayed-example", "A message of one second behind one of thirty in a durable delayed exchange arrives after one second, the other after thirty.",
		func(t *T) {
			ch := t.channel()
			x := t.name("delayed.exchange")
			t.must(ch.ExchangeDeclare(x, delayedKind, true, false, false, false, amqp.Table{"x-delayed-type": "direct"}))
			t.forget("", x)
			q := ch.durable("target.queue")
			ch.bind(q, x, "delayed.key")
			in := ch.consume(q)
			begun := time.Now()
			for _, ms := range []int32{30000, 1000} {
				ch.publish(x, "delayed.key", fmt.Sprint(ms), delay(ms), persistent)
			}
			t.equal("first", string(await(t, "the first", in).Body), "1000")
			t.inTime("the first", begun, time.Second)
			t.pass(time.Until(begun.Add(29500 * time.Millisecond)))
			silent(t, "early delivery", in)
			t.equal("second", string(await(t, "the second", in).Body), "30000")
			t.inTime("the second", begun, 30*time.Second)
		}),
}
