package conformance

import (
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// consumerTimeout is the argument, of a queue or of a consumer, of how long a delivery may be unacked, in milliseconds.
func consumerTimeout(ms int32) amqp.Table { return amqp.Table{"x-consumer-timeout": ms} }

// noTimeout is what series do whose consumers have no timeout of their own: half an hour holds for all.
const noTimeout = "the argument of a consumer is ignored"

// consumeFor starts a consumer with a timeout.
func (ch *channel) consumeFor(queue, tag string, args amqp.Table) <-chan amqp.Delivery {
	ch.t.Helper()
	in, err := ch.Consume(queue, tag, false, false, false, false, args)
	ch.t.must(err)
	return in
}

// timedOut is the text for a delivery that a client without notifications of cancels has kept too long.
const timedOut = "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: "

var timeoutCases = []Case{
	{
		Topic: retry, Section: 7, Name: "timeout-cancels",
		Rule: "A delivery that is unacked for longer than its consumer's timeout is returned as acquired and not as failed; " +
			"the consumer gets basic.cancel, the channel stays open, and a late ack is ignored.",
		Since: "4.3", Before: noTimeout, Newer: true,
		Choice: everyReturn, Differs: "it counts like every return",
		Run: func(t *T) {
			ch, other := t.channel(), t.channel()
			q := other.durable("q", quorum)
			other.put("", q, "m")
			begun := time.Now()
			d := await(t, "a delivery", ch.consumeFor(q, "tag", consumerTimeout(1000)))
			if !t.since() {
				t.pass(1500 * time.Millisecond)
				silent(t, "basic.cancel", ch.cancels)
				t.must(d.Ack(false))
				ch.settled()
				return
			}
			t.equal("cancelled", await(t, "basic.cancel", ch.cancels), "tag")
			if took := time.Since(begun); took < 900*time.Millisecond || took > 3*time.Second {
				t.Fatalf("cancelled after %v", took)
			}
			again := other.next(q)
			acquired, failed := int64(1), int64(-1)
			if t.differs() {
				failed = 1
			}
			t.wantCounts(again, acquired, failed)
			t.must(d.Ack(false))
			ch.settled()
			t.must(again.Ack(false))
		},
	},
	{
		Topic: retry, Section: 7, Name: "timeout-closes",
		Rule:  "A client that did not announce consumer_cancel_notify and does not ack a delivery in time: its channel is closed with 406.",
		Since: "4.3", Before: noTimeout, Newer: true,
		Run: func(t *T) {
			other := t.channel()
			q := other.durable("q", quorum)
			other.put("", q, "m")
			s := t.session(login{})
			s.sendMethod(1, basicConsume, uint16(0), q, "tag", byte(0), table(field("x-consumer-timeout", 'I', uint32(1000))))
			s.want(basicConsumeOk)
			s.want(basicDeliver)
			s.content()
			if !t.since() {
				s.sendMethod(1, basicAck, uint64(1), byte(0))
				s.sendMethod(1, basicQos, uint32(0), uint16(1), byte(0))
				s.want(basicQosOk)
				return
			}
			a := s.want(channelClose)
			code, text := a.uint16(), a.short()
			// RabbitMQ 4.3 says that the timeout is -1.
			if code != 406 || !strings.HasPrefix(text, timedOut) || t.broker.bartleby && !strings.Contains(text, " used: 1000 ms. ") {
				t.Fatalf("got %d %s", code, text)
			}
			t.equal("again", other.next(q).Redelivered, true)
		},
	},
	{
		Topic: retry, Section: 7, Name: "timeout-of-a-get",
		Rule:  "If a message that was fetched by basic.get is not acked in time, its channel is closed.",
		Since: "4.3", Before: noTimeout, Newer: true,
		Run: func(t *T) {
			ch, other := t.channel(), t.channel()
			q := other.durable("q", quorum, consumerTimeout(1000))
			other.put("", q, "m")
			d := ch.next(q)
			if !t.since() {
				t.must(d.Ack(false))
				ch.settled()
				return
			}
			t.refusalLike(await(t, "channel.close", ch.closed), 406, timedOut)
			other.next(q)
		},
	},
	{
		Topic: retry, Section: 7, Name: "timeout-of-queue-and-policy",
		Rule:  "The smaller consumer timeout of queue argument and policy applies; a consumer's own timeout overrides both.",
		Since: "4.3", Before: noTimeout, Newer: true,
		Run: func(t *T) {
			t.ownVhost()
			ch, own, other := t.channel(), t.channel(), t.channel()
			if !t.since() {
				q := other.durable("q", quorum, consumerTimeout(60000))
				other.put("", q, "m")
				await(t, "a delivery", own.consumeFor(q, "own", consumerTimeout(500)))
				t.pass(time.Second)
				silent(t, "basic.cancel", own.cancels)
				return
			}
			t.policy("p", ".*", 0, object{"consumer-timeout": 1000})
			one, two := other.durable("one", quorum, consumerTimeout(60000)), other.durable("two", quorum, consumerTimeout(60000))
			other.put("", one, "m")
			other.put("", two, "m")
			begun := time.Now()
			await(t, "a delivery", ch.consumeFor(one, "queue's", nil))
			await(t, "a delivery", own.consumeFor(two, "own", consumerTimeout(4000)))
			await(t, "basic.cancel", ch.cancels)
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("the policy's timeout came after %v", took)
			}
			await(t, "basic.cancel", own.cancels)
			if took := time.Since(begun); took < 3900*time.Millisecond {
				t.Errorf("the consumer's timeout came after %v", took)
			}
		},
	},
	invalidTimeout("text", "5", `"expected integer, got longstr"`),
	invalidTimeout("negative", int32(-1), "{value_negative,-1}"),
	alone(7, "timeout-of-a-classic-queue", "A consumer of a classic queue has a timeout too.", func(t *T) {
		ch, other := t.channel(), t.channel()
		q := other.queue("q")
		other.put("", q, "m")
		await(t, "a delivery", ch.consumeFor(q, "tag", consumerTimeout(1000)))
		t.equal("cancelled", await(t, "basic.cancel", ch.cancels), "tag")
		t.equal("redelivered", other.next(q).Redelivered, true)
	}),
	alone(7, "failed-mode-timeout-closes", "A message that comes back because its time is over is acquired and not failed, even where the channel is closed for it.", func(t *T) {
		ch, other := t.channel(), t.channel()
		q := other.durable("q", quorum, failedMode, consumerTimeout(1000))
		other.put("", q, "m")
		ch.next(q)
		await(t, "channel.close", ch.closed)
		t.wantCounts(other.next(q), 1, -1)
	}),
	alone(7, "timeout-and-retry", "A message that comes back because its time is over waits as one that was returned.", func(t *T) {
		ch, other := t.channel(), t.channel()
		q := other.queue("q", consumerTimeout(1000), delayedRetry("returned", 2000, 0))
		other.put("", q, "m")
		in := ch.consume(q)
		await(t, "a delivery", in)
		await(t, "basic.cancel", ch.cancels)
		other.empty(q)
		t.equal("redelivered", other.take(q, 1)[0].Redelivered, true)
	}),
}

// invalidTimeout is a case of a consumer whose timeout is none.
func invalidTimeout(name string, value any, detail string) Case {
	return Case{
		Topic: retry, Section: 7, Name: "consumer-timeout-" + name,
		Rule:  "A consumer with an invalid x-consumer-timeout is refused with 406, which gives the reason " + detail + ".",
		Since: "4.3", Before: noTimeout, Newer: true,
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", quorum)
			_, err := ch.Consume(q, "", false, false, false, false, amqp.Table{"x-consumer-timeout": value})
			if !t.since() {
				t.must(err)
				return
			}
			t.refusal(err, 406, t.invalid("x-consumer-timeout", q)+": "+detail)
		},
	}
}
