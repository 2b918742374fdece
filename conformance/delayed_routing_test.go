package conformance

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var delayedRoutingCases = []Case{
	delays(3, "delayed-bound-later", "A scheduled message is routed with the bindings at its due time, including those to queues bound meanwhile.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.queue("q")
			begun := time.Now()
			ch.put(x, "k", "m", delay(int32(500)))
			t.pass(200 * time.Millisecond)
			ch.bind(q, x, "k")
			t.equal("arrived", string(await(t, "the message", ch.consume(q)).Body), "m")
			t.inTime("the message", begun, 500*time.Millisecond)
		}),
	delays(3, "delayed-unbound", "A scheduled message that matches no binding at its due time becomes a lost letter, cause no_route; the plugin drops it.",
		func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q, found := ch.bound("q", x, "k"), ch.queue("found")
			ch.bind(q, x, "fence")
			ch.put(x, "k", "m", delay(int32(300)))
			ch.put(x, "fence", "fence", delay(int32(400)))
			t.must(ch.QueueUnbind(q, "k", x, nil))
			t.equal("arrived", ch.taken(q, 1), []string{"fence"})
			ch.empty(q)
			t.awaitLost("no_route")
			t.sendOn(found)
			t.equal("found", ch.taken(found, 1), []string{"m"})
		}),
	delays(3, "delayed-order", "Scheduled messages arrive in the order of their due times, and not early.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "fanout")
			in := ch.consume(ch.bound("q", x, ""))
			// Far enough apart that the time between two publishes changes no order, but for the two of 200.
			sent := map[string]time.Time{}
			for i, ms := range []int32{1000, 200, 600, 400, 200, 800} {
				body := fmt.Sprintf("%d of %d", ms, i)
				sent[body] = time.Now()
				ch.publish(x, "", body, delay(ms))
			}
			for _, want := range []string{"200 of 1", "200 of 4", "400 of 3", "600 of 2", "800 of 5", "1000 of 0"} {
				d := await(t, want, in)
				t.equal("next", string(d.Body), want)
				t.inTime(want, sent[want], time.Duration(-d.Headers["x-delay"].(int64))*time.Millisecond)
			}
		}),
	delays(3, "delayed-order-of-equals", "Messages with the same due time arrive in the order of publishing, also many in a millisecond.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "fanout")
			q := ch.bound("q", x, "")
			var want []string
			for i := range 300 {
				want = append(want, fmt.Sprint(i))
				ch.publish(x, "", want[i], delay(int32(300)))
			}
			t.equal("order", bodies(ch.collect(len(want), ch.consume(q))), want)
		}),
	delays(3, "delayed-ttl", "The expiration of a message counts from its arrival in the queue, not while it waits in a delayed exchange.",
		func(t *T) {
			ch := t.channel()
			x, dlq := ch.delayed("x", "direct"), ch.queue("dlq")
			q := ch.bound("q", x, "k", to(dlq))
			in := ch.consume(dlq)
			begun := time.Now()
			ch.publish(x, "k", "m", delay(int32(500)), expiration("300"))
			d := await(t, "the dead letter", in)
			t.inTime("the dead letter", begun, 800*time.Millisecond)
			t.equal("deaths", t.deaths(d), []death{
				{Queue: q, Reason: "expired", Exchange: x, Count: 1, Keys: []string{"k"}, Expiration: "300"}})
		}),
	delays(3, "delayed-behind-an-exchange", "A message that reaches a delayed exchange through another exchange waits there; the other routes of the first exchange get it immediately, with the header unchanged.",
		func(t *T) {
			ch := t.channel()
			a, x := ch.exchange("a", "direct"), ch.delayed("x", "direct")
			t.must(ch.ExchangeBind(x, "k", a, false, nil))
			later, now := ch.bound("later", x, "k"), ch.bound("now", a, "k")
			begun := time.Now()
			ch.put(a, "k", "m", delay(int32(300)))
			t.equal("header at once", ch.get(now).Headers["x-delay"], int32(300))
			d := await(t, "the kept copy", ch.consume(later))
			t.inTime("the kept copy", begun, 300*time.Millisecond)
			t.equal("header", d.Headers["x-delay"], int64(-300))
			t.equal("exchange and key", []string{d.Exchange, d.RoutingKey}, []string{a, "k"})
			ch.empty(now)
		}),
	delays(3, "delayed-before-an-exchange", "A message of a delayed exchange passes through the exchanges bound to it, with the name of the delayed exchange and its own key.",
		func(t *T) {
			ch := t.channel()
			x, next := ch.delayed("x", "topic"), ch.exchange("next", "direct")
			t.must(ch.ExchangeBind(next, "a.#", x, false, nil))
			in := ch.consume(ch.bound("q", next, "a.b"))
			begun := time.Now()
			ch.publish(x, "a.b", "m", delay(int32(200)))
			d := await(t, "the message", in)
			t.inTime("the message", begun, 200*time.Millisecond)
			t.equal("exchange and key", []string{d.Exchange, d.RoutingKey}, []string{x, "a.b"})
		}),
	delays(3, "delayed-cc-and-bcc", "The keys in CC and BCC of a scheduled message are used at its due time; BCC is removed.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			var in []<-chan amqp.Delivery
			for _, key := range []string{"k", "cc", "bcc"} {
				in = append(in, ch.consume(ch.bound(key, x, key)))
			}
			ch.publish(x, "k", "m", headers(amqp.Table{"x-delay": int32(100), "CC": []any{"cc"}, "BCC": []any{"bcc"}}))
			for _, events := range in {
				d := await(t, "a copy", events)
				t.equal("headers", d.Headers, amqp.Table{"x-delay": int64(-100), "CC": []any{"cc"}})
				t.equal("key", d.RoutingKey, "k")
			}
		}),
	delays(3, "delayed-headers", "A delayed exchange of type headers compares the headers of the message, except those that begin with x-.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "headers")
			yes, no := ch.queue("yes"), ch.queue("no")
			ch.bind(yes, x, "", amqp.Table{"x-match": "all", "colour": "red", "x-delay": int64(12345)})
			ch.bind(no, x, "", amqp.Table{"x-match": "all", "colour": "blue"})
			in := ch.consume(yes)
			ch.publish(x, "", "m", headers(amqp.Table{"x-delay": int32(100), "colour": "red"}))
			await(t, "the message", in)
			ch.empty(no)
		}),
	delays(3, "delayed-properties", "A scheduled message arrives with every property and header that it was published with.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "fanout")
			in := ch.consume(ch.bound("q", x, "", levels(5)))
			at := time.Unix(1_700_000_000, 0)
			ch.publish(x, "some key", "body", func(m *amqp.Publishing) {
				*m = amqp.Publishing{
					ContentType: "text/plain", ContentEncoding: "identity", DeliveryMode: amqp.Persistent, Priority: 3,
					CorrelationId: "c", ReplyTo: "r", Expiration: "60000", MessageId: "id", Timestamp: at, Type: "t", AppId: "app",
					Headers: amqp.Table{"before": "b", "x-delay": int32(100), "xylophone": int64(7)}, Body: m.Body,
				}
			})
			d := await(t, "the message", in)
			t.equal("properties", []any{d.ContentType, d.ContentEncoding, d.DeliveryMode, d.Priority, d.CorrelationId, d.ReplyTo,
				d.Expiration, d.MessageId, d.Timestamp, d.Type, d.AppId, string(d.Body), d.RoutingKey, d.Redelivered},
				[]any{"text/plain", "identity", uint8(2), uint8(3), "c", "r", "60000", "id", at, "t", "app", "body", "some key", false})
			t.equal("headers", d.Headers, amqp.Table{"before": "b", "x-delay": int64(-100), "xylophone": int64(7)})
		}),
	delays(3, "delayed-alternate-when-due", "A scheduled message that matches no binding at its due time goes to the alternate exchange.",
		func(t *T) {
			ch := t.channel()
			ae := ch.exchange("ae", "fanout")
			x := ch.delayed("x", "direct", amqp.Table{"alternate-exchange": ae})
			in := ch.consume(ch.bound("q", ae, ""))
			begun := time.Now()
			ch.publish(x, "k", "m", delay(int32(300)))
			d := await(t, "the message", in)
			t.inTime("the message", begun, 300*time.Millisecond)
			t.equal("exchange and header", []any{d.Exchange, d.Headers["x-delay"]}, []any{x, int64(-300)})
		}),
	delays(3, "delayed-alternate", "A delayed exchange that is the alternate exchange of another delays messages for which that has no binding, mandatory or not.",
		func(t *T) {
			ch := t.channel()
			d := ch.delayed("d", "fanout")
			x := ch.exchange("x", "direct", amqp.Table{"alternate-exchange": d})
			in := ch.consume(ch.bound("q", d, ""))
			ch.confirm()
			begun := time.Now()
			ch.publishMandatory(x, "nowhere", "m", delay(int32(300)))
			ch.confirmed(true)
			got := await(t, "the message", in)
			t.inTime("the message", begun, 300*time.Millisecond)
			t.equal("exchange and header", []any{got.Exchange, got.Headers["x-delay"]}, []any{x, int64(-300)})
			silent(t, "basic.return", ch.returns)
		}),
	delays(3, "delayed-exchange-deleted", "A scheduled message whose exchange does not exist at its due time becomes a lost letter, cause no_exchange.",
		func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x, found := ch.delayed("x", "direct"), ch.queue("found")
			ch.put(x, "k", "m", delay(int32(200)))
			t.must(ch.ExchangeDelete(x, false, false))
			t.awaitLost("no_exchange")
			t.sendOn(found)
			t.equal("found", ch.taken(found, 1), []string{"m"})
		}),
	delays(3, "delayed-exchange-declared-anew", "A scheduled message belongs to the name of its exchange: if the exchange is deleted, then declared and bound again before the due time, it delivers the message.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			begun := time.Now()
			ch.put(x, "k", "m", delay(int32(800)))
			t.must(ch.ExchangeDelete(x, false, false))
			ch.delayed("x", "topic")
			ch.bind(q, x, "#")
			t.awaitScheduled(x, 1)
			await(t, "the message", ch.consume(q))
			t.inTime("the message", begun, 800*time.Millisecond)
		}),
	delays(3, "delayed-exchange-declared-otherwise", "An exchange of another type with the name of a deleted delayed exchange delivers the scheduled messages of that exchange at their due time.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			q := ch.bound("q", x, "k")
			begun := time.Now()
			ch.put(x, "k", "m", delay(int32(500)))
			t.must(ch.ExchangeDelete(x, false, false))
			ch.exchange("x", "fanout")
			ch.bind(q, x, "")
			await(t, "the message", ch.consume(q))
			t.inTime("the message", begun, 500*time.Millisecond)
		}),
	delays(3, "delayed-permission-taken-away", "The write permission is checked when a message is published, not when it is due.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			in := ch.consume(ch.bound("q", x, "k"))
			other, user := t.as(everything)
			other.put(x, "k", "m", delay(int32(500)))
			t.manage("PUT", object{"configure": "^$", "write": "^$", "read": "^$"}, "permissions", t.vhost, user)
			await(t, "the message", in)
		}),
	delays(3, "delayed-topic-permission", "Topic permissions do not apply to a delayed exchange that routes like a topic exchange.",
		func(t *T) {
			owner := t.channel()
			x := owner.delayed("x", "topic")
			in := owner.consume(owner.bound("q", x, "#"))
			ch, user := t.as(everything)
			t.manage("PUT", object{"exchange": x, "write": "^$", "read": "^$"}, "topic-permissions", t.vhost, user)
			ch.put(x, "a.b", "m", delay(int32(100)))
			await(t, "the message", in)
		}),
}

var delayedPublishCases = []Case{
	delays(4, "delayed-mandatory", "A mandatory scheduled message is confirmed and not returned, with or without a binding; the plugin returns it and also delivers it.",
		func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x := ch.delayed("x", "direct")
			in := ch.consume(ch.bound("q", x, "bound"))
			ch.confirm()
			ch.publishMandatory(x, "nowhere", "lost", delay(int32(300)))
			ch.publishMandatory(x, "bound", "m", delay(int32(500)))
			ch.confirmed(true)
			ch.confirmed(true)
			t.equal("arrived", string(await(t, "the message", in).Body), "m")
			t.awaitLost("no_route")
			ch.settled()
			silent(t, "basic.return", ch.returns)
		}),
	delays(4, "delayed-mandatory-at-once", "A mandatory message without x-delay that matches no binding is returned by a delayed exchange, before its confirm.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			ch.confirm()
			ch.publishMandatory(x, "nowhere", "m")
			ch.confirmed(true)
			r := await(t, "basic.return", ch.returns)
			t.equal("returned", []any{r.ReplyCode, r.ReplyText, string(r.Body)}, []any{uint16(312), "NO_ROUTE", "m"})
		}),
	delays(4, "delayed-alternate-not-at-once", "The alternate exchange gets no copy of a scheduled message, unlike with the plugin.",
		func(t *T) {
			ch := t.channel()
			ae := ch.exchange("ae", "fanout")
			x := ch.delayed("x", "direct", amqp.Table{"alternate-exchange": ae})
			other, q := ch.bound("other", ae, ""), ch.bound("q", x, "k")
			ch.put(x, "k", "m", delay(int32(400)))
			ch.empty(other)
			t.equal("arrived", ch.taken(q, 1), []string{"m"})
			ch.empty(other)
		}),
	delays(4, "delayed-confirm", "A scheduled message is confirmed when it is stored, long before its due time, with any delivery mode.",
		func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x := ch.delayed("x", "direct")
			ch.put(x, "k", "transient", delay(int32(60000)))
			ch.put(x, "k", "persistent", delay(int32(60000)), persistent)
			t.awaitScheduled(x, 2)
		}),
	delays(4, "delayed-channel-closed", "A scheduled message arrives even if its publisher has disconnected and did not use confirms.",
		func(t *T) {
			ch, gone := t.channel(), t.connect()
			x := ch.delayed("x", "direct")
			in := ch.consume(ch.bound("q", x, "k"))
			gone.channel().publish(x, "k", "m", delay(int32(300)))
			t.must(gone.Close())
			t.equal("arrived", string(await(t, "the message", in).Body), "m")
		}),
	delays(4, "delayed-transaction", "In a transaction the delay starts at commit, and after a rollback nothing is scheduled.",
		func(t *T) {
			conn := t.connect()
			ch, other := conn.channel(), conn.channel()
			x := ch.delayed("x", "direct")
			in := other.consume(other.bound("q", x, "k"))
			t.must(ch.Tx())
			ch.publish(x, "k", "rolled back", delay(int32(50)))
			t.must(ch.TxRollback())
			ch.publish(x, "k", "m", delay(int32(500)))
			t.pass(600 * time.Millisecond)
			silent(t, "delivery", in)
			begun := time.Now()
			t.must(ch.TxCommit())
			t.equal("arrived", string(await(t, "the message", in).Body), "m")
			t.inTime("the message", begun, 500*time.Millisecond)
		}),
	delays(4, "delayed-checked-at-once", "An invalid message is refused when it is published, delayed or not.",
		func(t *T) {
			conn := t.connect()
			x := conn.channel().delayed("x", "direct")
			for part, wrong := range map[string]edit{
				"expiration": expiration("soon"),
				"user_id":    userID("another"),
			} {
				ch := conn.channel()
				ch.publish(x, "k", "m", delay(int32(60000)), wrong)
				t.refusalLike(await(t, "channel.close", ch.closed), 406, part)
			}
			t.awaitScheduled(x, 0)
		}),
}
