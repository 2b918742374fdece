package conformance

import (
	"encoding/json"
	"time"
)

var lostLetterCases = []Case{
	{
		Topic: dead, Section: 9, Name: "cyclic-dead-letter-becomes-lost-letter",
		Rule:   "A dead letter that would complete a cycle is lost.",
		Choice: noSilentLoss, Differs: "it becomes a lost letter, cause cycle, and can be redriven (on purpose: no silent loss)",
		Run: func(t *T) {
			t.ownVhost()
			ch, q := t.channel(), t.name("q")
			found := ch.queue("found")
			ch.queue("q", to(q))
			ch.put("", q, "m", expiration("10"))
			ch.awaitDepth(q, 0)
			if t.differs() {
				t.awaitLost("cycle")
				t.sendOn(found)
				t.equal("deaths", t.deaths(ch.take(found, 1)[0]), []death{
					{Queue: q, Reason: "expired", Count: 1, Keys: []string{q}, Expiration: "10"}})
			}
			ch.put("", q, "fence")
			t.equal("left", bodies(ch.fetch(q, 1)), []string{"fence"})
			ch.empty(found)
		},
	},
	{
		Topic: dead, Section: 11, Name: "refused-dead-letter-becomes-lost-letter",
		Rule:   "A dead letter that a full target with reject-publish refuses is lost.",
		Choice: noSilentLoss, Differs: "it becomes a lost letter, cause refused, and can be redriven (on purpose: no silent loss)",
		Run: func(t *T) {
			t.ownVhost()
			ch := t.channel()
			found := ch.queue("found")
			dlq := ch.queue("dlq", atMost(1, "reject-publish"))
			q := ch.queue("q", to(dlq))
			ch.put("", dlq, "first")
			ch.put("", q, "m")
			t.must(ch.get(q).Reject(false))
			ch.settled()
			if t.differs() {
				t.awaitLost("refused")
				t.sendOn(found)
				t.equal("found", ch.taken(found, 1), []string{"m"})
			}
			t.equal("left", ch.taken(dlq, 1), []string{"first"})
			ch.empty(dlq)
			ch.empty(found)
		},
	},
	{
		Topic: dead, Section: 9, Name: "cyclic-dead-letter-stays-in-its-queue",
		Rule:  "With the policy cycle keep a message that would complete a cycle stays in its queue, without TTL.",
		Alone: true,
		Run: func(t *T) {
			t.ownVhost()
			ch, q := t.channel(), t.name("q")
			t.policy("p", ".*", 0, object{"cycle": "keep"})
			ch.queue("q", to(q))
			ch.put("", q, "m", expiration("10"))
			t.pass(300 * time.Millisecond)
			t.equal("kept", ch.taken(q, 1), []string{"m"})
		},
	},
}

// awaitLost waits until one lost letter of the case's vhost is in the lost store, for that cause.
func (t *T) awaitLost(cause string) {
	t.Helper()
	var page struct {
		Items []struct {
			Cause string `json:"cause"`
		} `json:"items"`
	}
	t.eventually("one lost letter", func() bool {
		t.must(json.Unmarshal(t.ask("GET", nil, "x", "lost-letters", t.vhost).body, &page))
		return len(page.Items) == 1
	})
	t.equal("cause", page.Items[0].Cause, cause)
}

// sendOn sends what is in the lost store of the case's vhost to a queue.
func (t *T) sendOn(queue string) {
	t.Helper()
	t.manage("POST", object{"all": true, "exchange": "", "routing_key": queue}, "x", "lost-letters", t.vhost, "republish")
}
