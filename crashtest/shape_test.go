//go:build linux

package crashtest

import (
	"fmt"
	"maps"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	prefetch    = 2000
	hoardMax    = 1500 // deliveries that a hoarder holds
	expireAfter = 20   // ms
	lengthMax   = 10   // of the queues that overflow; a policy makes it twice that now and then
	fullAt      = 200  // of the queue that refuses what is published
	closedAt    = 20   // of the queues that refuse dead letters, or twice that
)

// A style is how the consumer of a source settles.
type style int

const (
	none     style = iota // there is no consumer
	acks                  // most, one by one
	bulk                  // all at once, now and then
	requeues              // gives back nearly as many as it acks
	hoards                // holds many and acks any one of them, so that gaps are all over the log
	rejects               // most
	retries               // rejects; the dead letters come back from a queue with a TTL, until there were enough
)

// A fate is where dead letters are found.
type fate int

const (
	inQueue     fate = iota // in a queue beside the source
	inEither                // in one of two, as a policy says at the moment
	inLostStore             // among the lost letters: there is no dead-letter exchange until the audit makes it
	refused                 // their queue refuses some, which go to the lost store
	held                    // their queue refuses some, which stay held in the source until it does not; another has had them at once
)

// A shape is a queue, where its dead letters go, and who reads.
type shape struct {
	name            string
	volatile        bool       // the source is not durable
	quorum          bool       // it is of the type quorum: every message is persistent, what is returned has no place of its own
	priorities      bool       // it has priorities, as every quorum queue
	args            amqp.Table // of the source
	style           style
	reason          string // of its dead letters; "" if there are none
	fate            fate
	deadLettersRead bool   // the dead letters have a consumer, which acks
	delayed         bool   // its messages come by a delayed exchange
	via             string // the publisher that it shares with others; "": it has its own
	burst           int    // how many messages its publisher may send at full speed; zero: burstUsual
}

func shapes() []*shape {
	expire := amqp.Table{"x-message-ttl": expireAfter}
	return []*shape{
		{name: "work", style: acks},
		{name: "bulk", style: bulk},
		{name: "requeue", style: requeues},
		{name: "hoard", style: hoards, burst: 6000},
		{name: "still", burst: 12_000},
		{name: "quorum", style: acks, quorum: true, priorities: true, args: amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": -1}},
		{name: "priority", style: requeues, priorities: true, args: amqp.Table{"x-max-priority": 4}},
		{name: "priority.still", priorities: true, args: amqp.Table{"x-max-priority": 4}},
		{name: "later", style: acks, delayed: true},
		{name: "refuse", style: acks, args: amqp.Table{"x-max-length": fullAt, "x-overflow": "reject-publish"}},
		{name: "reject", style: rejects, deadLettersRead: true, reason: "rejected"},
		{name: "reject.either", style: rejects, reason: "rejected", fate: inEither},
		{name: "reject.held", style: rejects, reason: "rejected", fate: held,
			args: amqp.Table{"x-dead-letter-strategy": "at-least-once"}},
		{name: "reject.sure", style: rejects, reason: "rejected", args: amqp.Table{"x-dead-letter-strategy": "at-least-once"}},
		{name: "reject.refused", style: rejects, deadLettersRead: true, reason: "rejected", fate: refused},
		{name: "retry", style: retries},
		{name: "expire", args: expire, reason: "expired"},
		{name: "expire.lost", args: expire, reason: "expired", fate: inLostStore},
		{name: "overflow", reason: "maxlen"},
		{name: "volatile.reject", volatile: true, style: rejects, reason: "rejected"},
		{name: "volatile.expire", volatile: true, args: expire, deadLettersRead: true, reason: "expired"},
		{name: "topic.a", style: acks, via: "topic"},
		{name: "topic.b", style: hoards, via: "topic"},
		{name: "fan.reject", style: rejects, reason: "rejected", via: "fan"},
		{name: "fan.volatile", volatile: true, style: acks, via: "fan"},
		{name: "fan.expire", args: expire, reason: "expired", via: "fan"},
	}
}

// deadLetters are the queues in which dead letters are found.
func (s *shape) deadLetters() []string {
	switch {
	case s.reason == "":
		return nil
	case s.fate == inEither:
		return []string{s.name + ".dead", s.name + ".dead2"}
	}
	return []string{s.name + ".dead"}
}

// copies is a queue that has each dead letter, too; "": there is none. Nobody reads it.
func (s *shape) copies() string {
	if s.fate == held {
		return s.name + ".copies"
	}
	return ""
}

// waiting is the queue in which messages wait for their next try; "": they do not.
func (s *shape) waiting() string {
	if s.style == retries {
		return s.name + ".wait"
	}
	return ""
}

// survives tells whether a message in the source outlives the process.
func (s *shape) survives(i id) bool { return !s.volatile && (s.quorum || !i.transient()) }

// deadLettersInOrder tells whether the dead letters are in their queues as they died: what was lost or held
// for a while is not.
func (s *shape) deadLettersInOrder() bool { return s.fate == inQueue || s.fate == inEither }

const (
	topicExchange = "crashtest.topic"
	fanExchange   = "crashtest.fan"
	innerExchange = "crashtest.inner" // bound to fanExchange
	bothExchange  = "crashtest.both"  // of dead letters that go to two queues
	lostExchange  = "crashtest.lost"  // not there when dead letters die
	laterExchange = "crashtest.later" // delays
)

// A route is where messages of a publisher go, and to which queues that leads.
type route struct {
	exchange, key string
	to            []*shape
}

// routes returns the ways that publishers take, by the publisher's name; each message takes one of them.
func routes(all []*shape) map[string][]route {
	ways := map[string][]route{}
	shared := map[string]*shape{}
	for _, s := range all {
		if s.via == "" && !s.delayed {
			ways[s.name] = []route{{key: s.name, to: []*shape{s}}}
		}
		shared[s.name] = s
	}
	a, b := shared["topic.a"], shared["topic.b"]
	ways["topic"] = []route{
		{topicExchange, "a.x", []*shape{a}}, {topicExchange, "b.x.y", []*shape{b}}, {topicExchange, "ab.x", []*shape{a, b}},
	}
	ways["fan"] = []route{{fanExchange, "any", []*shape{shared["fan.reject"], shared["fan.volatile"], shared["fan.expire"]}}}
	return ways
}

// declare declares the queues of a shape. What survived a crash must have kept its arguments, else this is refused.
func (s *shape) declare(t testing.TB, ch *amqp.Channel) {
	t.Helper()
	args := maps.Clone(s.args)
	if args == nil {
		args = amqp.Table{}
	}
	for _, deadLetters := range s.deadLetters() {
		declare(t, ch, deadLetters, true, nil)
	}
	switch {
	case s.style == retries:
		declare(t, ch, s.waiting(), true, amqp.Table{
			"x-message-ttl": expireAfter, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": s.name})
		args["x-dead-letter-exchange"] = ""
		args["x-dead-letter-routing-key"] = s.waiting()
	case s.reason == "" || s.fate == inEither:
	case s.fate == held:
		declare(t, ch, s.copies(), true, nil)
		args["x-dead-letter-exchange"] = bothExchange
	case s.fate == inLostStore:
		args["x-dead-letter-exchange"] = lostExchange
	default:
		args["x-dead-letter-exchange"] = ""
		args["x-dead-letter-routing-key"] = s.name + ".dead"
	}
	declare(t, ch, s.name, !s.volatile, args)
}

// connect makes the exchanges and bindings. Durable ones are made once: what a crash took would be missed.
func connect(t testing.TB, ch *amqp.Channel, first bool) {
	t.Helper()
	exchanges := map[string]string{topicExchange: "topic", fanExchange: "fanout", innerExchange: "headers", bothExchange: "fanout", churnExchange: "direct"}
	for name, kind := range exchanges {
		if first {
			must(t, ch.ExchangeDeclare(name, kind, true, false, false, false, nil))
		} else {
			must(t, ch.ExchangeDeclarePassive(name, kind, true, false, false, false, nil))
		}
	}
	must(t, ch.QueueBind("fan.volatile", "", fanExchange, false, nil))
	if !first {
		must(t, ch.ExchangeDeclarePassive(laterExchange, delayedKind, true, false, false, false, nil))
		return
	}
	must(t, ch.ExchangeDeclare(laterExchange, delayedKind, true, false, false, false, amqp.Table{"x-delayed-type": "direct"}))
	must(t, ch.QueueBind("later", "later", laterExchange, false, nil))
	must(t, ch.QueueBind("topic.a", "a.#", topicExchange, false, nil))
	must(t, ch.QueueBind("topic.b", "b.#", topicExchange, false, nil))
	for _, q := range []string{"topic.a", "topic.b"} {
		must(t, ch.QueueBind(q, "ab.*", topicExchange, false, nil))
	}
	must(t, ch.QueueBind("fan.reject", "", fanExchange, false, nil))
	must(t, ch.QueueBind("reject.held.dead", "", bothExchange, false, nil))
	must(t, ch.QueueBind("reject.held.copies", "", bothExchange, false, nil))
	must(t, ch.ExchangeBind(innerExchange, "", fanExchange, false, nil))
	must(t, ch.QueueBind("fan.expire", "", innerExchange, false, amqp.Table{"x-match": "all"}))
}

// A rule is what a policy may say of a queue; the harness goes from one to the next while messages flow.
type rule struct {
	name     string
	pattern  string
	variants []map[string]any
	priority int
	gate     bool // in force during a load only
}

func rules() []rule {
	dead := func(queue string) map[string]any {
		return map[string]any{"dead-letter-exchange": "", "dead-letter-routing-key": queue}
	}
	closed := func(n int) map[string]any {
		return map[string]any{"max-length": n, "overflow": "reject-publish"}
	}
	return []rule{
		{name: "either", priority: 1, pattern: `^reject\.either$`, variants: []map[string]any{dead("reject.either.dead"), dead("reject.either.dead2")}},
		{name: "overflow", priority: 1, pattern: `^overflow$`, variants: []map[string]any{
			{"max-length": lengthMax, "dead-letter-exchange": "", "dead-letter-routing-key": "overflow.dead"},
			{"max-length": 2 * lengthMax, "dead-letter-exchange": "", "dead-letter-routing-key": "overflow.dead"},
		}},
		{name: "harmless", pattern: "", variants: []map[string]any{
			{"max-length": 100_000_000}, {"message-ttl": 3_600_000}, {"max-length-bytes": 1_000_000_000_000},
		}},
		{name: "gate", priority: 1, pattern: `^reject\.(held|refused)\.dead$`, variants: []map[string]any{closed(closedAt), closed(2 * closedAt)}, gate: true},
	}
}

func (r *rule) path() string { return fmt.Sprintf("/api/policies/%%2F/%s", r.name) }

// body is what the management API is sent for a variant.
func (r *rule) body(variant int) map[string]any {
	return map[string]any{"pattern": r.pattern, "definition": r.variants[variant], "priority": r.priority, "apply-to": "queues"}
}
