package conformance

import (
	"fmt"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// ladder is the arguments of a queue whose returned messages wait, with more of its keys, each without
// x-delayed-retry-.
func ladder(more amqp.Table) amqp.Table {
	args := amqp.Table{"x-delayed-retry-type": "all"}
	for k, v := range more {
		args["x-delayed-retry-"+k] = v
	}
	return args
}

// climbs is a case of a queue with these keys of delayed retry, as arguments and by a policy: a message that is given
// back again and again waits this long each time, in milliseconds.
func climbs(name, rule string, keys amqp.Table, waits ...int) Case {
	return alone(6, name, rule, func(t *T) {
		t.ownVhost()
		definition := object{}
		for k, v := range ladder(keys) {
			definition[k[len("x-"):]] = v
		}
		t.policy("p", "policy$", 0, definition)
		ch := t.channel()
		for role, args := range map[string]amqp.Table{"policy": nil, "argument": ladder(keys), "quorum-policy": quorum} {
			q := ch.durable(role, args)
			ch.put("", q, "m")
			in := ch.consume(q)
			d := await(t, "a delivery", in)
			for i, wait := range waits {
				begun := time.Now()
				back := []giveBack{nacked, rejected}[i%2]
				t.must(back(d))
				d = await(t, "the message again", in)
				t.inTime(fmt.Sprintf("return %d to %s", i+1, role), begun, time.Duration(wait)*time.Millisecond)
			}
			t.must(d.Ack(false))
		}
	})
}

// ladderCases are about retries that wait otherwise than RabbitMQ 4.3 lets them, without extra queues.
var ladderCases = []Case{
	climbs("ladder-fixed", "With the backoff fixed a returned message waits the minimum delay each time.",
		amqp.Table{"backoff": "fixed", "min": int32(150), "max": int32(1000)}, 150, 150, 150),
	climbs("ladder-exponential", "With the backoff exponential a returned message waits twice as long each time, up to the maximum.",
		amqp.Table{"backoff": "exponential", "min": int32(100), "max": int32(300)}, 100, 200, 300, 300),
	climbs("ladder-exponential-without-maximum", "The backoff exponential needs no maximum.",
		amqp.Table{"backoff": "exponential", "min": int32(100)}, 100, 200, 400),
	climbs("ladder-linear", "The backoff linear is that of RabbitMQ: the minimum times the returns, up to the maximum.",
		amqp.Table{"backoff": "linear", "min": int32(100), "max": int32(250)}, 100, 200, 250),
	climbs("ladder-steps", "With a list of steps a returned message waits the first step, then the second; after the last step it waits this step each time.",
		amqp.Table{"steps": "100ms, 300ms,1s"}, 100, 300, 1000, 1000),
	alone(6, "ladder-type-failed", "A list of steps applies to the returns of the configured type: with failed, a nacked message is ready immediately.", func(t *T) {
		ch := t.channel()
		q := ch.queue("q", amqp.Table{"x-delayed-retry-type": "failed", "x-delayed-retry-steps": "400ms"})
		ch.put("", q, "m")
		in := ch.consume(q)
		d := await(t, "a delivery", in)
		begun := time.Now()
		t.must(d.Nack(false, true))
		d = await(t, "the message again", in)
		if took := time.Since(begun); took > 350*time.Millisecond {
			t.Fatalf("the nacked message came again after %v, want it at once", took)
		}
		begun = time.Now()
		t.must(d.Reject(true))
		await(t, "the message again", in)
		t.inTime("the rejected message", begun, 400*time.Millisecond)
	}),
	alone(6, "ladder-jitter", "With jitter a wait is randomly longer, by up to this percentage, and never shorter.", func(t *T) {
		ch := t.channel()
		q := ch.queue("q", ladder(amqp.Table{"backoff": "fixed", "min": int32(400), "jitter": int32(100)}))
		const n = 12
		for i := range n {
			ch.put("", q, fmt.Sprint(i))
		}
		in := ch.consume(q)
		all := ch.collect(n, in)
		begun := time.Now()
		t.must(all[n-1].Nack(true, true))
		var waits []time.Duration
		for range n {
			await(t, "a message again", in)
			waits = append(waits, time.Since(begun))
		}
		if first, last := waits[0], waits[n-1]; first < 400*time.Millisecond || last > 800*time.Millisecond+slack {
			t.Fatalf("the waits were from %v to %v, want 400 to 800 ms", first, last)
		}
		if spread := slices.Max(waits) - slices.Min(waits); spread < 50*time.Millisecond {
			t.Fatalf("twelve messages came within %v of each other", spread)
		}
	}),
	alone(6, "ladder-ends", "A message that has waited delayed-retry-attempts times is dead-lettered at its next return, reason delivery_limit.", func(t *T) {
		ch := t.channel()
		dlq := ch.queue("dlq")
		q := ch.queue("q", to(dlq), ladder(amqp.Table{"steps": "50ms,100ms", "attempts": int32(2)}))
		ch.put("", q, "m")
		in := ch.consume(q)
		for range 3 {
			t.must(await(t, "a delivery", in).Reject(true))
		}
		t.equal("deaths", t.deaths(ch.take(dlq, 1)[0]), []death{{Queue: q, Reason: "delivery_limit", Count: 1, Keys: []string{q}}})
		ch.empty(q)
	}),
	alone(6, "ladder-arguments-invalid", "Invalid arguments of a retry ladder are refused with 406.", func(t *T) {
		for i, keys := range []amqp.Table{
			{"min": int32(1), "backoff": "quadratic"}, {"min": int32(1), "backoff": int32(1)},
			{"steps": ""}, {"steps": "soon"}, {"steps": "10m,,1h"}, {"steps": "-1s"}, {"steps": "0s"}, {"steps": "10y"}, {"steps": int32(10)}, {"steps": "9999999999d"},
			{"min": int32(1), "jitter": int32(101)}, {"min": int32(1), "jitter": int32(-1)}, {"min": int32(1), "jitter": "50%"},
			{"min": int32(1), "attempts": int32(0)}, {"min": int32(1), "attempts": "3"},
		} {
			q := t.name(fmt.Sprint("q", i))
			t.forget(q, "")
			_, err := t.channel().QueueDeclare(q, false, false, false, false, ladder(keys))
			t.refusalLike(err, 406, "PRECONDITION_FAILED - invalid arg 'x-delayed-retry-")
		}
	}),
	alone(6, "ladder-policy-invalid", "Invalid policy keys of a retry ladder are refused.", func(t *T) {
		t.ownVhost()
		for _, definition := range []object{
			{"delayed-retry-min": 1, "delayed-retry-backoff": "quadratic"}, {"delayed-retry-steps": "soon"}, {"delayed-retry-steps": 10},
			{"delayed-retry-min": 1, "delayed-retry-jitter": 101}, {"delayed-retry-min": 1, "delayed-retry-attempts": 0},
		} {
			definition["delayed-retry-type"] = "all"
			t.refusedRequest(t.ask("PUT", object{"pattern": ".*", "definition": definition}, "policies", t.vhost, "p"), "elayed")
		}
	}),
}
