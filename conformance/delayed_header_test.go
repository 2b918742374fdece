package conformance

import (
	"fmt"
	"math"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// tenYears is the longest delay, in milliseconds.
const tenYears = 315_360_000_000

// keptFor publishes a message with this x-delay and fails the case unless it comes after so many milliseconds, with the
// negated header.
func keptFor(name, rule string, value any, ms int64) Case {
	return delays(2, name, rule, func(t *T) {
		ch := t.channel()
		x := ch.delayed("x", "direct")
		in := ch.consume(ch.bound("q", x, "k"))
		begun := time.Now()
		ch.publish(x, "k", "m", delay(value))
		d := await(t, "the message", in)
		t.inTime("the message", begun, time.Duration(ms)*time.Millisecond)
		t.equal("x-delay", d.Headers["x-delay"], -ms)
	})
}

// notKept publishes messages with these values of x-delay, and fails the case unless all are there at once, unchanged.
func notKept(name, rule string, values ...any) Case {
	return delays(2, name, rule, func(t *T) {
		ch := t.channel()
		x := ch.delayed("x", "direct")
		q := ch.bound("q", x, "k")
		for _, v := range values {
			ch.put(x, "k", "m", delay(v))
			t.equal(fmt.Sprintf("x-delay %v", v), ch.get(q).Headers["x-delay"], v)
		}
	})
}

// refusedDelays publishes messages with these values of x-delay, each on a channel of its own, and fails the case
// unless the broker refuses each with 406 and keeps none.
func refusedDelays(name, rule string, values ...any) Case {
	return delays(2, name, rule, func(t *T) {
		conn := t.connect()
		owner := conn.channel()
		x := owner.delayed("x", "direct")
		q := owner.bound("q", x, "k")
		for _, v := range values {
			ch := conn.channel()
			ch.publish(x, "k", "m", delay(v))
			text := "PRECONDITION_FAILED - invalid x-delay '"
			if s, ok := v.(string); ok {
				text += s + "'"
			}
			t.refusalLike(await(t, fmt.Sprintf("channel.close for x-delay %v", v), ch.closed), 406, text)
		}
		t.awaitScheduled(x, 0)
		owner.empty(q)
	})
}

var delayHeaderCases = []Case{
	keptFor("delay-integer", "A message with x-delay is delayed by this number of milliseconds, and arrives with the negated number as a 64-bit integer.", int32(500), 500),
	keptFor("delay-text", "An x-delay that is the text of an integer is used as this integer.", "500", 500),
	keptFor("delay-bytes", "An x-delay that is a byte array with the text of an integer is used as this integer.", []byte("200"), 200),
	keptFor("delay-float", "An x-delay with a fraction is truncated to whole milliseconds.", 100.7, 100),
	keptFor("delay-short-float", "An x-delay that is a 32-bit float is truncated to whole milliseconds.", float32(100.7), 100),
	delays(2, "delay-integer-of-any-type", "An x-delay may be an integer of any width, signed or unsigned, including 8 bits, which the plugin ignores.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "fanout")
			in := ch.consume(ch.bound("q", x, ""))
			for _, v := range []any{int8(100), byte(100), int16(100), uint16(100), int32(100), uint32(100), int64(100)} {
				begun := time.Now()
				ch.publish(x, "", "m", delay(v))
				d := await(t, fmt.Sprintf("the message with a %T", v), in)
				t.inTime(fmt.Sprintf("the message with a %T", v), begun, 100*time.Millisecond)
				t.equal("x-delay", d.Headers["x-delay"], int64(-100))
			}
			begun := time.Now()
			t.publishHeader(x, "", field("x-delay", 'L', uint64(100)))
			d := await(t, "the message with an unsigned long", in)
			t.inTime("the message with an unsigned long", begun, 100*time.Millisecond)
			t.equal("x-delay", d.Headers["x-delay"], int64(-100))
		}),
	notKept("delay-not-positive", "A message whose x-delay is zero or negative is routed immediately, with the header unchanged.",
		int32(0), int32(-5), int64(-4294967296), int8(-1), "0", "-5", 0.9, -0.5),
	notKept("delay-of-another-kind", "An x-delay that is neither a number nor text is ignored: the message is routed immediately, with the header unchanged.",
		true, false, time.Unix(2_000_000_000, 0), amqp.Decimal{Scale: 0, Value: 60000}, []any{int32(60000)}, amqp.Table{"ms": int32(60000)}, nil),
	delays(2, "delay-absent", "A message without x-delay is routed immediately.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			ch.put(x, "k", "m")
			t.equal("headers", len(ch.get(q).Headers), 0)
		}),
	refusedDelays("delay-nonsense", "An x-delay whose text is not an integer is refused with 406; the plugin fails.",
		"abc", "1.5", "", "500ms", "1e3", "0x10", "5 "),
	refusedDelays("delay-beyond-ten-years", "An x-delay of more than ten years is refused with 406; the plugin delivers immediately.",
		int64(tenYears+1), int64(math.MaxInt64), strconv.Itoa(tenYears+1), "99999999999999999999", 1e300, math.Inf(1)),
	refusedDelays("delay-not-a-number", "An x-delay that is NaN is refused with 406.", math.NaN()),
	delays(2, "delay-beyond-the-plugin", "An x-delay of more than 49 days, the maximum of the plugin, is possible up to ten years.",
		func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			for _, v := range []any{int64(1 << 32), strconv.Itoa(1 << 32), 4294967296.5, int64(tenYears), strconv.Itoa(tenYears)} {
				ch.put(x, "k", "later", delay(v))
			}
			ch.put(x, "k", "now")
			t.equal("arrived", ch.drain(q), []string{"now"})
			t.awaitScheduled(x, 5)
		}),
	delays(2, "delay-elsewhere", "An exchange of another type ignores x-delay, even if it is invalid.",
		func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			q := ch.bound("q", x, "k")
			for _, v := range []any{int32(60000), "abc"} {
				ch.put(x, "k", "m", delay(v))
				t.equal("x-delay", ch.get(q).Headers["x-delay"], v)
			}
		}),
	delays(2, "delay-nonsense-behind-an-exchange", "An invalid x-delay is also refused if a delayed exchange is bound to the one published to; no other route gets the message.",
		func(t *T) {
			conn := t.connect()
			owner := conn.channel()
			d := owner.delayed("d", "fanout")
			a, b := owner.exchange("a", "fanout"), owner.exchange("b", "direct", amqp.Table{"alternate-exchange": d})
			t.must(owner.ExchangeBind(d, "", a, false, nil))
			q := owner.bound("q", a, "")
			for _, x := range []string{a, b} {
				ch := conn.channel()
				ch.publish(x, "nowhere", "m", delay("abc"))
				ch.refused(406, "PRECONDITION_FAILED - invalid x-delay 'abc'")
			}
			owner.empty(q)
			t.awaitScheduled(d, 0)
		}),
	delays(2, "delay-nonsense-in-a-transaction", "In a transaction an invalid x-delay is refused with 406, at the latest at commit, and the message is not scheduled.",
		func(t *T) {
			conn := t.connect()
			owner, ch := conn.channel(), conn.channel()
			x := owner.delayed("x", "direct")
			t.must(ch.Tx())
			ch.publish(x, "k", "m", delay("abc"))
			t.refusalLike(ch.TxCommit(), 406, "invalid x-delay 'abc'")
			t.awaitScheduled(x, 0)
		}),
	delays(2, "delay-nonsense-over-http", "The management API refuses an invalid x-delay as AMQP does.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			r := t.ask("POST", object{"properties": object{"headers": object{"x-delay": "abc"}}, "routing_key": "k", "payload": "m", "payload_encoding": "string"},
				"exchanges", t.vhost, x, "publish")
			t.refusedRequest(r, "invalid x-delay 'abc'")
			ch.empty(q)
		}),
	delays(2, "delay-once", "A message that one delayed exchange has delayed is not delayed by the next: its header is negative.",
		func(t *T) {
			ch := t.channel()
			x, next := ch.delayed("x", "fanout"), ch.delayed("next", "fanout")
			t.must(ch.ExchangeBind(next, "", x, false, nil))
			in := ch.consume(ch.bound("q", next, ""))
			begun := time.Now()
			ch.publish(x, "", "m", delay(int32(1700)))
			d := await(t, "the message", in)
			t.inTime("the message", begun, 1700*time.Millisecond) // twice would be too late
			t.equal("x-delay", d.Headers["x-delay"], int64(-1700))
		}),
}
