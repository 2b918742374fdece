package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// sure is the arguments of a quorum queue whose dead letters are kept until every target has confirmed them.
var sure = amqp.Table{"x-queue-type": "quorum", "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}

var holdCases = []Case{
	{
		Topic: dead, Section: 12, Name: "held-without-exchange",
		Rule: "With at-least-once a dead letter whose exchange is missing stays in its queue, neither ready nor " +
			"unacked, and arrives when the exchange exists, with one death.",
		Run: func(t *T) {
			ch := t.channel()
			x, dlq := t.name("x"), ch.queue("dlq")
			q := ch.durable("q", sure, dlx(x))
			ch.put("", q, "m")
			t.must(ch.get(q).Reject(false))
			ch.awaitKept(q, kept{Messages: 1, Held: 1})
			ch.exchange("x", "fanout")
			ch.bind(dlq, x, "")
			t.equal("deaths", t.deaths(ch.take(dlq, 1)[0]), []death{{Queue: q, Reason: "rejected", Count: 1, Keys: []string{q}}})
			ch.awaitKept(q, kept{})
			ch.empty(dlq)
		},
	},
	{
		Topic: dead, Section: 12, Name: "held-needs-reject-publish",
		Rule:   "At-least-once without reject-publish is at-most-once: a dead letter whose exchange is missing is lost.",
		Choice: holds, Differs: "the dead letter is held (on purpose: the strategy works with every overflow behaviour)",
		Run: func(t *T) {
			ch := t.channel()
			x, dlq := t.name("x"), ch.queue("dlq")
			q := ch.durable("q", sure, dlx(x), amqp.Table{"x-overflow": "drop-head"})
			ch.put("", q, "m")
			t.must(ch.get(q).Reject(false))
			if t.differs() {
				ch.awaitHeld(q, 1)
			} else {
				t.pass(500 * time.Millisecond) // nothing tells when it has found that its exchange is missing
			}
			ch.exchange("x", "fanout")
			ch.bind(dlq, x, "")
			if t.differs() {
				t.equal("dead letter", ch.taken(dlq, 1), []string{"m"})
			}
			ch.put("", q, "fence")
			t.must(ch.get(q).Reject(false))
			t.equal("dead letter", ch.taken(dlq, 1), []string{"fence"})
			ch.empty(dlq)
		},
	},
	{
		Topic: dead, Section: 12, Name: "held-for-a-cycle",
		Rule: "With at-least-once a dead letter that would complete a cycle stays in its queue, and arrives when its " +
			"exchange routes it to another queue.",
		Run: func(t *T) {
			ch := t.channel()
			x, dlq := ch.exchange("x", "fanout"), ch.queue("dlq")
			q := ch.durable("q", sure, dlx(x), amqp.Table{"x-message-ttl": int32(20)})
			ch.bind(q, x, "")
			ch.put("", q, "m")
			ch.awaitKept(q, kept{Messages: 1, Held: 1})
			t.must(ch.QueueUnbind(q, "", x, nil))
			ch.bind(dlq, x, "")
			t.equal("deaths", t.deaths(ch.take(dlq, 1)[0]), []death{{Queue: q, Reason: "expired", Count: 1, Keys: []string{q}}})
			ch.awaitKept(q, kept{})
		},
	},
	{
		Topic: dead, Section: 12, Name: "held-for-one-target",
		Rule: "With at-least-once a dead letter that one of two targets refuses reaches the other target once, stays " +
			"in its queue, and reaches the first target when this has space.",
		Run: func(t *T) {
			ch := t.channel()
			x := ch.exchange("x", "fanout")
			free, full := ch.bound("free", x, ""), ch.bound("full", x, "", atMost(1, "reject-publish"))
			q := ch.durable("q", sure, dlx(x))
			ch.put("", full, "first")
			ch.put("", q, "m")
			t.must(ch.get(q).Reject(false))
			ch.awaitHeld(q, 1)
			t.equal("free", ch.taken(free, 1), []string{"m"})
			t.pass(2500 * time.Millisecond) // for a retry or two
			ch.empty(free)
			ch.awaitHeld(q, 1)
			t.equal("full", ch.taken(full, 2), []string{"first", "m"})
			ch.awaitHeld(q, 0)
			ch.empty(free)
		},
	},
	{
		Topic: dead, Section: 12, Name: "held-counts-in-the-limit",
		Rule:   "Dead letters held by at-least-once count for the length limit: when it is reached, the next publish, or the one after it, is refused.",
		Choice: strictLimit, Differs: "the first publish is refused (on purpose: reject-publish is strict on every type of queue)",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.durable("q", sure, dlx(t.name("x")), atMost(3, "reject-publish"))
			for _, m := range []string{"a", "b", "c"} {
				ch.put("", q, m)
				t.must(ch.get(q).Reject(false))
			}
			ch.awaitHeld(q, 3)
			taken := 0
			for ch.publish("", q, "more"); await(t, "confirm", ch.confirms).Ack; ch.publish("", q, "more") {
				taken++
			}
			if t.differs() && taken > 0 || taken > 1 {
				t.Errorf("%d more were taken", taken)
			}
		},
	},
	{
		Topic: dead, Section: 12, Name: "purge-takes-held",
		Rule:  "A purge also removes the dead letters held by at-least-once, and counts them.",
		Since: "4.3", Before: "they stay", Newer: true,
		Run: func(t *T) {
			ch := t.channel()
			x, dlq := t.name("x"), ch.queue("dlq")
			q := ch.durable("q", sure, dlx(x))
			for _, m := range []string{"a", "b", "ready"} {
				ch.put("", q, m)
			}
			for _, d := range ch.fetch(q, 2) {
				t.must(d.Reject(false))
			}
			ch.awaitHeld(q, 2)
			purged, err := ch.QueuePurge(q, false)
			t.must(err)
			want := []string{"fence"}
			if t.since() {
				t.equal("purged", purged, 3)
			} else {
				t.equal("purged", purged, 1)
				want = []string{"a", "b", "fence"}
			}
			ch.put("", q, "fence")
			ch.exchange("x", "fanout")
			ch.bind(dlq, x, "")
			t.must(ch.get(q).Reject(false))
			t.equal("dead letters", slices.Sorted(slices.Values(ch.taken(dlq, len(want)))), want)
			ch.empty(dlq)
		},
	},
	{
		Topic: dead, Section: 12, Name: "held-when-the-strategy-ends",
		Rule:   "When a policy turns at-least-once off, the dead letters that it held are deleted.",
		Choice: holds, Differs: "they stay until they are delivered or purged (on purpose: changing a setting must not lose messages)",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			x, dlq := t.name("x"), ch.queue("dlq")
			q := ch.durable("q", quorum, dlx(x), amqp.Table{"x-overflow": "reject-publish"})
			t.policy("p", "^"+q+"$", 0, object{"dead-letter-strategy": "at-least-once"})
			ch.put("", q, "m")
			t.must(ch.get(q).Reject(false))
			ch.awaitHeld(q, 1)
			t.policy("p", "^"+q+"$", 0, object{"dead-letter-strategy": "at-most-once"})
			want := []string{"fence"}
			if t.differs() {
				want = []string{"fence", "m"}
				ch.awaitHeld(q, 1)
			} else {
				t.pass(500 * time.Millisecond) // the counts would tell, but five seconds later or ten
			}
			ch.exchange("x", "fanout")
			ch.bind(dlq, x, "")
			ch.put("", q, "fence")
			t.must(ch.get(q).Reject(false))
			t.equal("dead letters", slices.Sorted(slices.Values(ch.taken(dlq, len(want)))), want)
			ch.empty(dlq)
		},
	},
}

// kept is what the management API tells of the messages in a queue.
type kept struct {
	Messages int `json:"messages"`
	Ready    int `json:"messages_ready"`
	Unacked  int `json:"messages_unacknowledged"`
	Held     int `json:"messages_dlx"`
}

func (t *T) kept(queue string) kept {
	t.Helper()
	var k kept
	r := t.ask("GET", nil, "queues", t.vhost, queue)
	if r.status != 200 {
		t.Fatalf("queue %s: %d %s", queue, r.status, r.body)
	}
	t.must(json.Unmarshal(r.body, &k))
	return k
}

// countsLimit is how long a count of RabbitMQ may take to show: queues report it every five seconds, and so does what
// collects the reports.
const countsLimit = 2 * patience

// awaitKept waits until the counts of a queue are these.
func (ch *channel) awaitKept(queue string, k kept) {
	ch.t.Helper()
	ch.t.within(countsLimit, fmt.Sprintf("%+v in %s", k, queue), func() bool { return ch.t.kept(queue) == k })
}

// awaitHeld waits until a queue keeps n dead letters.
func (ch *channel) awaitHeld(queue string, n int) {
	ch.t.Helper()
	ch.t.within(countsLimit, fmt.Sprintf("%d dead letters kept by %s", n, queue),
		func() bool { return ch.t.kept(queue).Held == n })
}
