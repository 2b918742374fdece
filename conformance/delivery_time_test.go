package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// deliveryTime is the header that says when a message may be delivered at the earliest.
func deliveryTime(v any) edit { return headers(amqp.Table{"x-opt-delivery-time": v}) }

// inAWhile is an instant that is so far ahead, in milliseconds since the Unix epoch, cut to whole ones.
func inAWhile(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }

// notBefore fails the case if it is earlier than an instant in milliseconds since the Unix epoch, or much later.
func (t *T) notBefore(what string, ms int64) {
	t.Helper()
	if late := time.Since(time.UnixMilli(ms)); late < 0 || late > slack {
		t.Fatalf("%s came %v after its time", what, late)
	}
}

// deliveryTimeCases are about x-opt-delivery-time, which RabbitMQ knows from 4.4 on, in quorum queues.
var deliveryTimeCases = []Case{
	delays(11, "delivery-time", "A message with x-opt-delivery-time, in milliseconds since the Unix epoch, waits in its queue until this time; the header stays.",
		func(t *T) {
			ch := t.channel()
			for _, args := range []amqp.Table{nil, quorum} {
				q := ch.durable(fmt.Sprint("q", len(args)), args)
				for _, text := range []bool{false, true} {
					due := inAWhile(500 * time.Millisecond)
					var value any = due
					if text {
						value = strconv.FormatInt(due, 10)
					}
					ch.put("", q, "m", deliveryTime(value))
					ch.empty(q)
					d := ch.take(q, 1)[0]
					t.notBefore("the message", due)
					t.equal("header", d.Headers, amqp.Table{"x-opt-delivery-time": value})
					t.equal("redelivered", d.Redelivered, false)
				}
			}
		}),
	delays(11, "delivery-time-in-seconds", "An x-opt-delivery-time of type timestamp is in seconds.",
		func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			due := time.Now().Add(1500 * time.Millisecond).Truncate(time.Second)
			ch.put("", q, "m", deliveryTime(due))
			ch.take(q, 1)
			t.notBefore("the message", due.UnixMilli())
		}),
	delays(11, "delivery-time-passed", "A message whose x-opt-delivery-time has passed is ready immediately.",
		func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			for _, v := range []any{int64(0), int64(-1), int64(math.MinInt64), int32(1), "1700000000000", inAWhile(-time.Second), time.Unix(1_700_000_000, 0)} {
				ch.put("", q, fmt.Sprint(v), deliveryTime(v))
				t.equal("body", string(ch.get(q).Body), fmt.Sprint(v))
			}
		}),
	delays(11, "delivery-time-nonsense", "An x-opt-delivery-time that is not an integer, or more than ten years ahead, is refused with 406.",
		func(t *T) {
			conn := t.connect()
			q := conn.channel().queue("q")
			for _, v := range []any{"abc", "", "1.5", "tomorrow", 1.5, true, []any{}, amqp.Table{}, amqp.Decimal{Scale: 1, Value: 5},
				inAWhile(tenYears*time.Millisecond + time.Minute), int64(math.MaxInt64), "99999999999999999999", time.Unix(1<<40, 0)} {
				ch := conn.channel()
				ch.publish("", q, "m", deliveryTime(v))
				t.refusalLike(await(t, fmt.Sprintf("channel.close for %v", v), ch.closed), 406, "PRECONDITION_FAILED - invalid x-opt-delivery-time '")
			}
			conn.channel().empty(q)
		}),
	delays(11, "delivery-time-and-ttl", "The TTL of a message that waits for its x-opt-delivery-time counts from this time.",
		func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			in := ch.consume(dlq)
			for name, how := range map[string]struct {
				args   amqp.Table
				expire edit
			}{
				"of the queue":   {ms(300), func(*amqp.Publishing) {}},
				"of the message": {nil, expiration("300")},
			} {
				q := ch.queue(strings.ReplaceAll(name, " ", "-"), to(dlq), how.args)
				due := inAWhile(500 * time.Millisecond)
				ch.publish("", q, name, deliveryTime(due), how.expire)
				d := await(t, "the dead letter", in)
				t.notBefore("the dead letter "+name, due+300)
				t.equal("reason", t.deaths(d)[0].Reason, "expired")
			}
		}),
	delays(11, "delivery-time-of-each-copy", "Every copy of a message waits for its x-opt-delivery-time in its own queue: other messages overtake it, and counts show it as delayed.",
		func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "fanout")
			a, b := ch.bound("a", x, ""), ch.bound("b", x, "")
			due := inAWhile(2 * time.Second)
			ch.put(x, "", "later", deliveryTime(due))
			ch.put(x, "", "now")
			for _, q := range []string{a, b} {
				t.equal("first", ch.drain(q), []string{"now"})
				var got struct {
					Messages int `json:"messages"`
					Delayed  int `json:"messages_delayed"`
				}
				t.within(countsLimit, "one waiting message", func() bool {
					t.must(json.Unmarshal(t.ask("GET", nil, "queues", t.vhost, q).body, &got))
					return got.Messages == 1 && got.Delayed == 1
				})
			}
			for _, q := range []string{a, b} {
				t.equal("then", ch.taken(q, 1), []string{"later"})
				t.notBefore("the message", due)
			}
		}),
	delays(11, "delivery-time-in-order", "Messages that wait for the same x-opt-delivery-time leave in the order of publishing.",
		func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			due := inAWhile(500 * time.Millisecond)
			var want []string
			for i := range 200 {
				want = append(want, fmt.Sprint(i))
				ch.publish("", q, want[i], deliveryTime(due))
			}
			t.equal("order", bodies(ch.collect(len(want), ch.consume(q))), want)
			t.notBefore("the last", due)
		}),
	delays(11, "delivery-time-mandatory", "A message with x-opt-delivery-time is routed when it is published: if it is mandatory and has no binding, it is returned.",
		func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "direct")
			ch.confirm()
			ch.publishMandatory(x, "nowhere", "m", deliveryTime(inAWhile(time.Minute)))
			ch.confirmed(true)
			t.equal("returned", string(await(t, "basic.return", ch.returns).Body), "m")
		}),
	delays(11, "delivery-time-and-delay", "A message that arrives from a delayed exchange waits in its queue for an x-opt-delivery-time that is later.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			in := ch.consume(ch.bound("q", x, "k"))
			due := inAWhile(900 * time.Millisecond)
			ch.publish(x, "k", "m", headers(amqp.Table{"x-delay": int32(200), "x-opt-delivery-time": due}))
			await(t, "the message", in)
			t.notBefore("the message", due)
		}),
}

// scheduled is the headers of a message that takes the place of the one with the same key.
func scheduled(ms int32, key any) edit {
	return headers(amqp.Table{"x-delay": ms, "x-schedule-key": key})
}

var scheduleKeyCases = []Case{
	delays(12, "schedule-key", "A scheduled message with an x-schedule-key replaces the one with the same key in the same exchange, with an earlier or a later due time.",
		func(t *T) {
			ch := t.channel()
			x, other := ch.delayed("x", "fanout"), ch.delayed("other", "fanout")
			in := ch.consume(ch.bound("q", x, ""))
			elsewhere := ch.consume(ch.bound("elsewhere", other, ""))
			ch.put(x, "", "replaced by a sooner one", scheduled(60000, "order 1"))
			ch.put(x, "", "order 1", scheduled(400, "order 1"))
			ch.put(x, "", "replaced by a later one", scheduled(300, "order 2"))
			ch.put(x, "", "order 2", scheduled(800, "order 2"))
			ch.put(x, "", "no key", delay(int32(1200)))
			ch.put(other, "", "elsewhere", scheduled(100, "order 1"))
			t.equal("in another exchange", string(await(t, "a delivery", elsewhere).Body), "elsewhere")
			t.equal("arrived", bodies(ch.collect(3, in)), []string{"order 1", "order 2", "no key"})
			t.awaitScheduled(x, 0)
		}),
	delays(12, "schedule-key-of-what-came", "An x-schedule-key of a message that has fired replaces nothing.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "fanout")
			in := ch.consume(ch.bound("q", x, ""))
			for _, body := range []string{"first", "second"} {
				ch.put(x, "", body, scheduled(100, "key"))
				t.equal("arrived", string(await(t, "a delivery", in).Body), body)
			}
		}),
	delays(12, "schedule-key-nonsense", "An x-schedule-key that is not a text of 1 to 255 bytes is refused with 406.",
		func(t *T) {
			conn := t.connect()
			x := conn.channel().delayed("x", "fanout")
			for _, key := range []any{"", strings.Repeat("k", 256), int32(1), true, []any{"k"}, amqp.Table{}} {
				ch := conn.channel()
				ch.publish(x, "", "m", scheduled(60000, key))
				t.refusalLike(await(t, fmt.Sprintf("channel.close for %v", key), ch.closed), 406, "x-schedule-key")
			}
			t.awaitScheduled(x, 0)
		}),
}
