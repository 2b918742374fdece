package conformance

import (
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

var deathCases = []Case{
	{
		Topic: dead, Section: 5, Name: "x-death-of-one-death",
		Rule: "x-death has one entry after one death, and the message's own headers stay beside it.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m", headers(amqp.Table{"foo": int32(1)}))
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("deaths", t.deaths(d), []death{{Queue: q, Reason: "rejected", Count: 1, Keys: []string{q}}})
			t.equal("foo", d.Headers["foo"], int32(1))
		},
	},
	{
		Topic: dead, Section: 5, Name: "original-expiration-of-any-death",
		Rule: "original-expiration is recorded for a message with an expiration, for every reason of death, and the " +
			"expiration is removed.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m", expiration("5000"))
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("original-expiration", t.deaths(d)[0].Expiration, "5000")
			t.equal("expiration", d.Expiration, "")
		},
	},
	{
		Topic: dead, Section: 5, Name: "repeated-death-counts",
		Rule: "A further death in the same queue for the same reason increments the count of its entry and moves the " +
			"entry to the front; the other fields stay.",
		Run: func(t *T) {
			ch := t.channel()
			q1, q2 := t.name("q1"), t.name("q2")
			ch.queue("q1", to(q2))
			ch.queue("q2", to(q1))
			in := ch.exchange("in", "fanout")
			ch.bind(q1, in, "")
			ch.publish(in, "k", "m")
			for _, q := range []string{q1, q2, q1} {
				ch.awaitDepth(q, 1)
				t.must(ch.get(q).Reject(false))
			}
			t.equal("deaths", t.deaths(ch.take(q2, 1)[0]), []death{
				{Queue: q1, Reason: "rejected", Exchange: in, Count: 2, Keys: []string{"k"}},
				{Queue: q2, Reason: "rejected", Count: 1, Keys: []string{q2}}})
		},
	},
	{
		Topic: dead, Section: 5, Name: "two-reasons-are-two-entries",
		Rule:  "Deaths in the same queue for two reasons are two entries, and entries are ordered newest first.",
		Since: "3.13", Before: "each death reverses the order of the older entries",
		Run: func(t *T) {
			ch := t.channel()
			q, wait := t.name("q"), t.name("wait")
			ch.queue("q", to(wait), amqp.Table{"x-message-ttl": int32(30000)})
			ch.queue("wait", to(q))
			ch.publish("", q, "m", expiration("20"))
			ch.awaitDepth(wait, 1)
			t.must(ch.get(wait).Reject(false))
			ch.awaitDepth(q, 1)
			t.must(ch.get(q).Reject(false))
			got := t.deaths(ch.take(wait, 1)[0])
			var order []string
			for _, x := range got {
				order = append(order, fmt.Sprint(x.Queue == q, " ", x.Reason, " ", x.Count))
			}
			want := []string{"true rejected 1", "false rejected 1", "true expired 1"}
			if !t.since() {
				want[1], want[2] = want[2], want[1]
			}
			t.equal("entries", order, want)
		},
	},
	{
		Topic: dead, Section: 6, Name: "first-death-headers",
		Rule: "x-first-death-reason, -queue and -exchange describe the first death and never change.",
		Run: func(t *T) {
			d, q1, in := t.twoDeaths(nil)
			t.equal("first death", t.triple(d, "x-first-death-"), []string{"rejected", q1, in})
		},
	},
	{
		Topic: dead, Section: 6, Name: "last-death-headers",
		Rule:  "x-last-death-reason, -queue and -exchange describe the latest death.",
		Since: "3.13", Before: "there are no such headers",
		Run: func(t *T) {
			d, _, _ := t.twoDeaths(nil)
			want := []string{"", "", ""}
			if t.since() {
				want = []string{"expired", t.name("q2"), t.name("x")}
			}
			t.equal("last death", t.triple(d, "x-last-death-"), want)
		},
	},
	{
		Topic: dead, Section: 6, Name: "last-is-first-after-one-death",
		Rule:  "After one death the headers of the first and of the last death agree.",
		Since: "3.13", Before: "there are none of the last death",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			t.equal("first death", t.triple(d, "x-first-death-"), []string{"rejected", q, ""})
			if t.since() {
				t.equal("last death", t.triple(d, "x-last-death-"), []string{"rejected", q, ""})
			}
		},
	},
	{
		Topic: dead, Section: 6, Name: "first-death-headers-of-a-client",
		Rule: "Headers of the first death that a publisher sends are replaced at the first death.",
		Run: func(t *T) {
			d, q1, _ := t.twoDeaths(amqp.Table{"x-first-death-queue": "spoof", "x-first-death-reason": "spoof"})
			t.equal("queue", text(d, "x-first-death-queue"), q1)
			t.equal("reason", text(d, "x-first-death-reason"), "rejected")
		},
	},
	{
		Topic: dead, Section: 6, Name: "first-death-headers-beside-x-death-of-a-client",
		Rule:  "Headers of the first death that a publisher sends are replaced even if x-death comes with them.",
		Since: "4.0", Before: "they are not set if x-death exists already",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			history := []any{amqp.Table{"queue": "other", "reason": "rejected", "count": int64(3)}}
			ch.publish("", q, "m", headers(amqp.Table{"x-first-death-queue": "spoof", "x-death": history}))
			t.must(ch.get(q).Reject(false))
			want := "spoof"
			if t.since() {
				want = q
			}
			t.equal("first death's queue", text(ch.take(dlq, 1)[0], "x-first-death-queue"), want)
		},
	},
	{
		Topic: dead, Section: 8, Name: "x-death-of-a-client-undisturbed",
		Rule: "An x-death header that a publisher sends reaches the consumer unchanged if the message has not died.",
		Run: func(t *T) {
			ch := t.channel()
			q := ch.queue("q")
			ch.publish("", q, "m", headers(amqp.Table{"x-death": "text"}))
			t.equal("x-death", ch.get(q).Headers["x-death"], "text")
		},
	},
	{
		Topic: dead, Section: 8, Name: "x-death-of-another-type",
		Rule: "An x-death header of a publisher that is not an array is replaced at the first death.",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m", headers(amqp.Table{"x-death": "text"}))
			t.must(ch.get(q).Reject(false))
			t.equal("deaths", t.deaths(ch.take(dlq, 1)[0]), []death{{Queue: q, Reason: "rejected", Count: 1, Keys: []string{q}}})
		},
	},
	{
		Topic: dead, Section: 8, Name: "republished-history",
		Rule:  "A message that a client republishes with its x-death header starts a new history at its next death.",
		Since: "4.0", Before: "the history continues: the new death is added to the published array",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			first := ch.take(dlq, 1)[0]
			ch.publish("", q, "m", headers(first.Headers), expiration("20"))
			got := t.deaths(ch.take(dlq, 1)[0])
			want := []death{{Queue: q, Reason: "expired", Count: 1, Keys: []string{q}, Expiration: "20"}}
			if !t.since() {
				want = append(want, death{Queue: q, Reason: "rejected", Count: 1, Keys: []string{q}})
			}
			t.equal("deaths", got, want)
		},
	},
	{
		Topic: dead, Section: 8, Name: "count-of-a-client",
		Rule:  "The count in an x-death header of a publisher is not continued.",
		Since: "4.0", Before: "it is continued",
		Run: func(t *T) {
			ch := t.channel()
			dlq := ch.queue("dlq")
			q := ch.queue("q", to(dlq))
			ch.publish("", q, "m")
			t.must(ch.get(q).Reject(false))
			d := ch.take(dlq, 1)[0]
			ch.publish("", q, "m", headers(d.Headers))
			t.must(ch.get(q).Reject(false))
			want := int64(1)
			if !t.since() {
				want = 2
			}
			t.equal("count", t.deaths(ch.take(dlq, 1)[0])[0].Count, want)
		},
	},
}

// twoDeaths publishes to exchange in, rejects in q1, lets the dead letter expire in q2, and returns it with
// q1 and in.
func (t *T) twoDeaths(h amqp.Table) (d amqp.Delivery, q1, in string) {
	t.Helper()
	ch := t.channel()
	in = ch.exchange("in", "fanout")
	x, y := ch.exchange("x", "fanout"), ch.exchange("y", "fanout")
	q1 = ch.bound("q1", in, "", dlx(x))
	ch.bound("q2", x, "", dlx(y), amqp.Table{"x-message-ttl": int32(20)})
	end := ch.bound("end", y, "")
	ch.publish(in, "k", "m", headers(h))
	t.must(ch.get(q1).Reject(false))
	return ch.take(end, 1)[0], q1, in
}

// triple is reason, queue and exchange of the headers with a prefix.
func (t *T) triple(d amqp.Delivery, prefix string) []string {
	return []string{text(d, prefix+"reason"), text(d, prefix+"queue"), text(d, prefix+"exchange")}
}
