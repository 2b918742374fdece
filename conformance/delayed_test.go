package conformance

import (
	"encoding/json"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// delays is a case of delayed messages. Bartleby alone runs it: no RabbitMQ that the suite meets has the plugin, which
// is not in Debian's packages.
func delays(section int, name, rule string, run func(t *T)) Case {
	return Case{Topic: delayed, Section: section, Name: name, Rule: rule, Alone: true, Run: run}
}

const delayedKind = "x-delayed-message"

// delayed declares a delayed exchange that routes by this type, deletes it and what it keeps with the case, and returns
// its name.
func (ch *channel) delayed(role, kind string, args ...amqp.Table) string {
	ch.t.Helper()
	t, vhost := ch.t, ch.t.vhost
	t.Cleanup(func() { t.ask("DELETE", nil, "x", "scheduled", vhost, t.name(role)) }) // once the exchange is gone
	return ch.exchange(role, delayedKind, append(slices.Clone(args), amqp.Table{"x-delayed-type": kind})...)
}

// delay is the header that tells a delayed exchange how long to keep a message.
func delay(ms any) edit { return headers(amqp.Table{"x-delay": ms}) }

// inTime fails the case if something that was to happen a while after begun happened before that, or much later.
func (t *T) inTime(what string, begun time.Time, after time.Duration) {
	t.Helper()
	if took := time.Since(begun); took < after || took > after+slack {
		t.Fatalf("%s came after %v, want %v", what, took, after)
	}
}

// awaitScheduled waits until an exchange keeps n messages that are not due.
func (t *T) awaitScheduled(exchange string, n int) {
	t.Helper()
	t.within(countsLimit, "the count of scheduled messages", func() bool {
		var x struct {
			Delayed int `json:"messages_delayed"`
		}
		t.must(json.Unmarshal(t.ask("GET", nil, "exchanges", t.vhost, exchange).body, &x))
		return x.Delayed == n
	})
}

// publishHeader publishes an empty message with one header, given as it is encoded: the client library knows fewer
// types.
func (t *T) publishHeader(exchange, key string, header []byte) {
	t.Helper()
	s := t.session(login{})
	s.send(methodOf(1, basicPublish, uint16(0), exchange, key, byte(0)))
	s.send(frameOf(frameHeader, 1, append(encode(uint16(60), uint16(0), uint64(0), uint16(1<<13)), table(header)...)))
}

// declareDelayed declares a delayed exchange with these arguments and returns the broker's answer.
func (t *T) declareDelayed(args amqp.Table) error {
	t.Helper()
	x := t.name("x")
	t.forget("", x)
	return t.channel().ExchangeDeclare(x, delayedKind, false, false, false, false, args)
}

var delayedDeclareCases = []Case{
	delays(1, "delayed-type-missing", "A delayed exchange without x-delayed-type, or with one that is not a string, is refused with 406.",
		func(t *T) {
			for _, args := range []amqp.Table{nil, {"x-delayed-type": int32(1)}, {"x-delayed-type": true}, {"x-delayed-type": []any{"direct"}}} {
				t.refusal(t.declareDelayed(args), 406, "PRECONDITION_FAILED - Invalid argument, 'x-delayed-type' must be an existing exchange type")
			}
		}),
	delays(1, "delayed-type-delayed", "A delayed exchange whose x-delayed-type is x-delayed-message is refused with 406.",
		func(t *T) {
			t.refusal(t.declareDelayed(amqp.Table{"x-delayed-type": delayedKind}), 406,
				"PRECONDITION_FAILED - Invalid argument, 'x-delayed-message' can't be used for 'x-delayed-type'")
		}),
	delays(1, "delayed-type-unknown", "A delayed exchange with an x-delayed-type that does not exist is refused with 406.",
		func(t *T) {
			t.refusalLike(t.declareDelayed(amqp.Table{"x-delayed-type": "nope"}), 406, "exchange type 'nope'")
		}),
	delays(1, "delayed-type-inequivalent", "Declaring a delayed exchange again with another x-delayed-type is refused with 406; the plugin accepts it.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			err := ch.ExchangeDeclare(x, delayedKind, false, false, false, false, amqp.Table{"x-delayed-type": "topic"})
			t.refusal(err, 406, "PRECONDITION_FAILED - inequivalent arg 'x-delayed-type' for exchange '"+x+"' in vhost '"+t.vhost+
				"': received 'topic' but current is 'direct'")
		}),
	delays(1, "delayed-inequivalent", "A delayed exchange and an exchange of its x-delayed-type are different types: declaring one as the other is refused with 406.",
		func(t *T) {
			direct := t.channel()
			x := direct.exchange("direct", "direct")
			t.refusal(direct.ExchangeDeclare(x, delayedKind, false, false, false, false, amqp.Table{"x-delayed-type": "direct"}), 406,
				"PRECONDITION_FAILED - inequivalent arg 'type' for exchange '"+x+"' in vhost '"+t.vhost+
					"': received 'x-delayed-message' but current is 'direct'")
			ch := t.channel()
			d := ch.delayed("delayed", "direct")
			t.refusal(ch.ExchangeDeclare(d, "direct", false, false, false, false, nil), 406,
				"PRECONDITION_FAILED - inequivalent arg 'type' for exchange '"+d+"' in vhost '"+t.vhost+
					"': received 'direct' but current is 'x-delayed-message'")
		}),
	delays(1, "delayed-redeclare", "Declaring a delayed exchange again succeeds, actively and passively; its flags and its alternate exchange are compared.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "direct")
			ch.delayed("x", "direct")
			t.must(ch.ExchangeDeclarePassive(x, delayedKind, false, false, false, false, nil))
			args := amqp.Table{"x-delayed-type": "direct"}
			t.refusalLike(ch.ExchangeDeclare(x, delayedKind, true, false, false, false, args), 406, "inequivalent arg 'durable'")
			args["alternate-exchange"] = "other"
			t.refusalLike(t.channel().ExchangeDeclare(x, delayedKind, false, false, false, false, args), 406, "inequivalent arg 'alternate-exchange'")
		}),
	delays(1, "delayed-shown", "The management API shows a delayed exchange with its type and the argument x-delayed-type.",
		func(t *T) {
			var x struct {
				Type      string            `json:"type"`
				Arguments map[string]string `json:"arguments"`
			}
			t.must(json.Unmarshal(t.ask("GET", nil, "exchanges", t.vhost, t.channel().delayed("x", "topic")).body, &x))
			t.equal("type", x.Type, delayedKind)
			t.equal("arguments", x.Arguments, map[string]string{"x-delayed-type": "topic"})
		}),
	delays(1, "delayed-topic", "A delayed exchange of type topic routes by the pattern of a binding.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "topic")
			q := ch.bound("q", x, "a.#")
			in := ch.consume(q)
			begun := time.Now()
			ch.publish(x, "b", "other", delay(int32(50)))
			ch.publish(x, "a.b", "m", delay(int32(100)))
			t.equal("arrived", string(await(t, "the message", in).Body), "m")
			t.inTime("the message", begun, 100*time.Millisecond)
		}),
	delays(1, "delayed-of-every-type", "A delayed exchange can route like every exchange type, including those that AMQP does not define.",
		func(t *T) {
			ch := t.channel()
			for _, kind := range []string{"direct", "topic", "fanout", "headers", "x-consistent-hash", "x-modulus-hash", "x-random", "x-local-random", "x-recent-history"} {
				x := ch.delayed(kind, kind)
				key := "1"
				if kind == "x-local-random" {
					key = "" // it takes no other
				}
				in := ch.consume(ch.bound(kind+".q", x, key))
				begun := time.Now()
				ch.publish(x, key, kind, delay(int32(50)))
				t.equal("arrived", string(await(t, "the message of "+kind, in).Body), kind)
				t.inTime(kind, begun, 50*time.Millisecond)
			}
		}),
	delays(1, "delayed-bindings-checked", "A delayed exchange refuses the bindings that its x-delayed-type refuses.",
		func(t *T) {
			ch := t.channel()
			x := ch.delayed("x", "x-consistent-hash")
			t.refusal(ch.QueueBind(ch.queue("q"), "abc", x, false, nil), 406, `PRECONDITION_FAILED - The binding key must be an integer: <<"abc">>`)
		}),
	delays(1, "delayed-declared-over-http", "The management API declares a delayed exchange, publishes to it, and refuses the same requests as AMQP.",
		func(t *T) {
			ch, x, wrong := t.channel(), t.name("x"), t.name("wrong")
			t.forget("", x)
			t.manage("PUT", object{"type": delayedKind, "arguments": object{"x-delayed-type": "direct"}}, "exchanges", t.vhost, x)
			ch.delayed("x", "direct")
			in := ch.consume(ch.bound("q", x, "k"))
			begun := time.Now()
			r := t.ask("POST", object{"properties": object{"headers": object{"x-delay": 300}}, "routing_key": "k", "payload": "m", "payload_encoding": "string"},
				"exchanges", t.vhost, x, "publish")
			var published struct {
				Routed    bool
				Scheduled []string
			}
			t.must(json.Unmarshal(r.body, &published))
			t.equal("routed, IDs", []any{published.Routed, len(published.Scheduled)}, []any{true, 1})
			d := await(t, "the message", in)
			t.inTime("the message", begun, 300*time.Millisecond)
			t.equal("x-delay", d.Headers["x-delay"], int64(-300))
			t.refusedRequest(t.ask("PUT", object{"type": delayedKind}, "exchanges", t.vhost, wrong), "must be an existing exchange type")
		}),
	delays(1, "delayed-exported", "A delayed exchange is exported and imported with its bindings; the overview lists the type.",
		func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x := ch.delayed("x", "topic", amqp.Table{"alternate-exchange": "amq.fanout"})
			q := ch.durable("q")
			ch.bind(q, x, "a.#")
			exported := t.ask("GET", nil, "definitions", t.vhost)
			t.must(ch.ExchangeDelete(x, false, false))
			t.manage("POST", json.RawMessage(exported.body), "definitions", t.vhost)
			ch.delayed("x", "topic", amqp.Table{"alternate-exchange": "amq.fanout"})
			in := ch.consume(q)
			ch.publish(x, "a.b", "m", delay(int32(100)))
			await(t, "the message", in)
			var overview struct {
				Types []struct {
					Name string `json:"name"`
				} `json:"exchange_types"`
			}
			t.must(json.Unmarshal(t.ask("GET", nil, "overview").body, &overview))
			var names []string
			for _, kind := range overview.Types {
				names = append(names, kind.Name)
			}
			if !slices.Contains(names, delayedKind) {
				t.Fatalf("the types of exchanges are %v", names)
			}
		}),
}
