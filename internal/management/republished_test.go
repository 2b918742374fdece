package management

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// passOn takes a message of a queue, as a consumer does, and publishes it to others with the headers that it has got.
func (d *door) passOn(from string, to ...string) {
	d.t.Helper()
	got := d.take(from, `{"count":1,"ackmode":"ack_requeue_false","encoding":"auto"}`)
	if len(got) != 1 {
		d.t.Fatalf("%d messages in %s", len(got), from)
	}
	for _, queue := range to {
		body, err := json.Marshal(map[string]any{
			"routing_key": queue, "payload": got[0].Payload, "payload_encoding": "string", "properties": got[0].Properties,
		})
		if err != nil {
			d.t.Fatal(err)
		}
		d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", string(body))
	}
}

func TestCopiedDeathsAreFound(t *testing.T) {
	// If this fails, a message is not found that a consumer has given up: published to a queue for such messages, with
	// the headers of its delivery, x-death among them. Or one is found that a consumer has published again where it
	// died, to try once more.
	t.Parallel()
	d := open(t)
	d.queueWith("work", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"work.retry"`)
	d.queueWith("work.retry", `"x-message-ttl":2000,"x-dead-letter-exchange":"","x-dead-letter-routing-key":"work"`)
	d.queueWith("work.dead", "")
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
		`{"routing_key":"work","payload":"copy this","payload_encoding":"string","properties":{"delivery_mode":2}}`)
	for range 2 {
		d.take("work", `{"count":1,"ackmode":"reject_requeue_false","encoding":"auto"}`)
		d.later(2 * time.Second)
	}
	died := d.engine.Now().Add(-2 * time.Second) // the first time of its newest kind, as x-death tells
	d.passOn("work", "work.dead", "work")

	found := read[api.MessagePage](d, "/api/x/letters/%2F?filter=reason:republished").Items
	if len(found) != 1 || found[0].Queue != "work.dead" ||
		found[0].Republished == nil || found[0].Republished.Queue != "work" {
		t.Fatalf("found %+v", found)
	}
	if at, err := time.Parse(time.RFC3339, *found[0].At); err != nil || !at.Equal(died.Truncate(time.Second)) {
		t.Errorf("died at %v, want %v", at, died)
	}
	for filter, n := range map[string]int{
		"source:work": 1, "first-reason:rejected": 1, "last-queue:work.retry": 1, "count:4": 1, "count:5": 0, "age:%3C1h": 1,
	} {
		if got := read[api.MessagePage](d, "/api/x/letters/%2F?filter="+filter).Items; len(got) != n {
			t.Errorf("%s: %+v", filter, got)
		}
	}
	for by, want := range map[string]string{"reason": "republished", "source": "work", "queue": "work.dead"} {
		if g := read[api.Groups](d, "/api/x/letters/%2F/groups?by="+by); len(g.Groups) != 1 || g.Groups[0].Value != want {
			t.Errorf("by %s: %+v", by, g)
		}
	}
	d.redrive(`{"source":{"queue":"work.dead"},"options":{"stop_percent":50,"canary":1,"watch_ms":1000}}`)
	d.later(10 * time.Millisecond)
	if dead, work := d.messages("work.dead"), d.messages("work"); dead != 0 || work != 2 {
		t.Errorf("%d messages in work.dead, %d in work", dead, work)
	}
	d.passOn("work", "work.dead")
	d.passOn("work", "work.dead")
	d.later(2 * time.Second)
	if j := d.job(1); j.State != "stopped" || j.CameBack != 1 {
		t.Errorf("given up once more: %+v", j)
	}
}
