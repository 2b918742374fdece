package conformance

import (
	"encoding/json"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// delayedRetry is the arguments of a queue whose returned messages wait, in milliseconds; most 0 leaves it out.
func delayedRetry(kind string, least, most int32) amqp.Table {
	args := amqp.Table{"x-delayed-retry-type": kind, "x-delayed-retry-min": least}
	if most != 0 {
		args["x-delayed-retry-max"] = most
	}
	return args
}

// readyAtOnce is what series without delayed retry do.
const readyAtOnce = "a returned message is ready immediately"

// slack is how much later than due an event may be seen on a busy machine, and early how much too soon by rounding.
const (
	slack = 1500 * time.Millisecond
	early = 20 * time.Millisecond
)

// again gives back a delivery and fails the case unless the message comes again after so many milliseconds. In a series
// without delayed retry it comes at once.
func (t *T) again(in <-chan amqp.Delivery, d amqp.Delivery, back giveBack, milliseconds int) amqp.Delivery {
	t.Helper()
	begun := time.Now()
	t.must(back(d))
	next := await(t, "the message again", in)
	due := time.Duration(milliseconds) * time.Millisecond
	if !t.since() {
		due = 0
	}
	if took := time.Since(begun); took < due-early || took > due+slack {
		t.Fatalf("it came again after %v, want %v", took, due)
	}
	return next
}

var retryCases = []Case{
	retries("retry-of-rejects", "A message that is rejected with requeue waits the minimum delay times its failures, and never longer than the maximum.",
		func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum, delayedRetry("all", 200, 500))
			ch.put("", q, "m")
			in := ch.consume(q)
			d := await(t, "a delivery", in)
			for _, wait := range []int{200, 400, 500, 500} {
				d = t.again(in, d, rejected, wait)
			}
		}),
	{
		Topic: retry, Section: 6, Name: "retry-of-nacks",
		Rule:  "A message that is nacked with requeue waits the minimum delay each time.",
		Since: "4.3", Before: readyAtOnce, Newer: true,
		Choice: everyReturn, Differs: "it waits longer each time, as after a reject (on purpose: every return counts)",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum, delayedRetry("all", 200, 500))
			ch.put("", q, "m")
			in := ch.consume(q)
			d := await(t, "a delivery", in)
			waits := []int{200, 200, 200}
			if t.differs() {
				waits = []int{200, 400, 500}
			}
			for _, wait := range waits {
				d = t.again(in, d, nacked, wait)
			}
		},
	},
	alone(6, "failed-mode-retry-of-nacks", "In a queue that counts failures a message that is nacked with requeue waits the minimum each time.", func(t *T) {
		ch := t.channel()
		q := ch.durable("q", failedMode, delayedRetry("all", 200, 900))
		ch.put("", q, "m")
		in := ch.consume(q)
		d := await(t, "a delivery", in)
		for range 3 {
			begun := time.Now()
			t.must(d.Nack(false, true))
			d = await(t, "the message again", in)
			if took := time.Since(begun); took < 180*time.Millisecond || took > 900*time.Millisecond {
				t.Fatalf("it came again after %v, want 200 ms", took)
			}
		}
	}),
	retries("retry-of-type-failed", "With the type failed a rejected message waits, and a nacked one is ready at once.", func(t *T) {
		ch := t.channel()
		q := ch.durable("q", quorum, delayedRetry("failed", 2000, 0))
		ch.put("", q, "m")
		in := ch.consume(q)
		d := t.again(in, await(t, "a delivery", in), nacked, 0)
		t.again(in, d, rejected, 2000)
	}),
	retries("retry-of-type-returned", "With the type returned a nacked message waits, and a rejected one is ready at once.", func(t *T) {
		ch := t.channel()
		q := ch.durable("q", quorum, delayedRetry("returned", 2000, 0))
		ch.put("", q, "m")
		in := ch.consume(q)
		d := t.again(in, await(t, "a delivery", in), rejected, 0)
		t.again(in, d, nacked, 2000)
	}),
	retries("retry-hides-the-waiting", "A waiting message is neither ready nor got, and holds up nobody: one that is published meanwhile is delivered at once.",
		func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum, delayedRetry("all", 60000, 0))
			ch.put("", q, "waiting")
			ch.rounds(q, 1, rejected)
			if !t.since() {
				t.equal("next", string(ch.next(q).Body), "waiting")
				return
			}
			t.equal("ready", ch.depth(q), 0)
			ch.empty(q)
			ch.put("", q, "new")
			t.equal("next", string(ch.next(q).Body), "new")
		}),
	{
		Topic: retry, Section: 6, Name: "retry-shown",
		Rule:  "The management API counts a waiting message only in messages and messages_delayed, and shows its due time.",
		Since: "4.3", Before: readyAtOnce, Newer: true,
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum, delayedRetry("all", 60000, 90000))
			ch.put("", q, "m")
			ch.rounds(q, 1, rejected)
			want := "1 0 0 1 all (min: 60000ms, max: 90000ms)"
			if !t.since() {
				want = "1 1 0 0 "
			}
			var got struct {
				Messages int    `json:"messages"`
				Ready    int    `json:"messages_ready"`
				Unacked  int    `json:"messages_unacknowledged"`
				Delayed  int    `json:"messages_delayed"`
				Due      int64  `json:"next_delayed_at"`
				Retry    string `json:"delayed_retry"`
			}
			t.within(countsLimit, "the counts "+want, func() bool {
				t.must(json.Unmarshal(t.ask("GET", nil, "queues", t.vhost, q).body, &got))
				return fmt.Sprintf("%d %d %d %d %s", got.Messages, got.Ready, got.Unacked, got.Delayed, got.Retry) == want
			})
			if in := time.Until(time.UnixMilli(got.Due)); t.since() && (in < 30*time.Second || in > 61*time.Second) {
				t.Fatalf("it is due in %v", in)
			}
		},
	},
	{
		Topic: retry, Section: 6, Name: "retry-counts-in-the-length",
		Rule:  "A waiting message counts in the length limit: with drop-head a new one, the only one that is ready, is dropped.",
		Since: "4.3", Before: readyAtOnce, Newer: true,
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, atMost(1, "drop-head"), to(dlq), delayedRetry("all", 60000, 0))
			ch.put("", q, "waiting")
			ch.rounds(q, 1, rejected)
			ch.put("", q, "new")
			d := ch.take(dlq, 1)[0]
			t.equal("reason", t.deaths(d)[0].Reason, "maxlen")
			if t.since() {
				t.equal("dropped", string(d.Body), "new")
			}
		},
	},
	{
		Topic: retry, Section: 6, Name: "retry-and-ttl",
		Rule:  "A waiting message whose TTL passes is dead-lettered as expired when its wait is over.",
		Since: "4.3", Before: readyAtOnce, Newer: true,
		Choice: ownInstant, Differs: "it is dead-lettered when the TTL has passed (on purpose: messages expire on time)",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, ms(500), to(dlq), delayedRetry("all", 4000, 0))
			begun := time.Now()
			ch.put("", q, "m")
			ch.rounds(q, 1, rejected)
			d := ch.take(dlq, 1)[0]
			took := time.Since(begun)
			t.equal("reason", t.deaths(d)[0].Reason, "expired")
			if late := t.since() && !t.differs(); late != (took > 3*time.Second) {
				t.Fatalf("it expired after %v", took)
			}
		},
	},
	{
		Topic: retry, Section: 6, Name: "retry-after-the-limit",
		Rule: "A message over its delivery limit dies immediately, with and without delayed retry.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.durable("q", quorum, deliveryLimit(0), to(dlq), delayedRetry("all", 60000, 0))
			ch.put("", q, "m")
			ch.rounds(q, 1, rejected)
			t.equal("reason", t.deaths(ch.take(dlq, 1)[0])[0].Reason, "delivery_limit")
		},
	},
	{
		Topic: retry, Section: 6, Name: "retry-off-by-policy",
		Rule:  "For the type of delayed retry the policy overrides the argument.",
		Since: "4.3", Before: "there is no such policy key", Newer: true,
		Run: func(t *T) {
			t.ownVhost()
			if !t.since() {
				r := t.ask("PUT", object{"pattern": ".*", "definition": object{"delayed-retry-type": "disabled"}}, "policies", t.vhost, "p")
				t.refusedRequest(r, "are not recognised policy settings")
				return
			}
			t.policy("p", ".*", 0, object{"delayed-retry-type": "disabled"})
			ch := t.channel()
			q := ch.durable("q", quorum, delayedRetry("all", 60000, 0))
			ch.put("", q, "m")
			ch.rounds(q, 1, rejected)
			ch.next(q)
		},
	},
	{
		Topic: retry, Section: 6, Name: "retry-purged",
		Rule: "Purging a queue also removes its waiting messages.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum, delayedRetry("all", 500, 0))
			ch.put("", q, "m")
			ch.rounds(q, 1, rejected)
			_, err := ch.QueuePurge(q, false)
			t.must(err)
			t.pass(800 * time.Millisecond)
			ch.empty(q)
		},
	},
	alone(6, "retry-of-a-classic-queue", "A classic queue has delayed retry as a quorum queue has, by argument or by policy.", func(t *T) {
		t.ownVhost()
		ch := t.channel()
		one, two := ch.queue("one", delayedRetry("all", 60000, 0)), ch.queue("two")
		t.policy("p", "two$", 0, object{"delayed-retry-type": "all", "delayed-retry-min": 60000})
		for _, q := range []string{one, two} {
			ch.put("", q, "m")
			ch.rounds(q, 1, nacked)
			ch.empty(q)
		}
	}),
	{
		Topic: retry, Section: 6, Name: "retry-arguments-invalid",
		Rule:   "Invalid arguments of delayed retry are accepted and have no effect.",
		Choice: sense, Differs: "they are refused with 406, as in a policy (on purpose)",
		Run: func(t *T) {
			for i, args := range []amqp.Table{delayedRetry("sometimes", 100, 0), delayedRetry("all", 0, 0), delayedRetry("all", 200, 100)} {
				ch, q := t.channel(), t.name(fmt.Sprint("q", i))
				_, err := ch.QueueDeclare(q, true, false, false, false, merge([]amqp.Table{quorum, args}))
				if t.differs() {
					t.refusalLike(err, 406, "PRECONDITION_FAILED - invalid arg 'x-delayed-retry-")
					continue
				}
				t.must(err)
				t.forget(q, "")
			}
		},
	},
}

// retries is a case of delayed retry that Bartleby has as RabbitMQ 4.3 has it.
func retries(name, rule string, run func(t *T)) Case {
	return Case{
		Topic: retry, Section: 6, Name: name, Rule: rule, Since: "4.3", Before: readyAtOnce, Newer: true, Run: run,
	}
}
