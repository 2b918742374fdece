package management

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vfs"
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
	d.passOn("work", "work.dead", "work")
	arrived := d.engine.Now() // x-death tells when it first died as it did last

	found := read[api.MessagePage](d, "/api/x/letters/%2F?filter=reason:republished").Items
	if len(found) != 1 || found[0].Queue != "work.dead" ||
		found[0].Republished == nil || found[0].Republished.Queue != "work" {
		t.Fatalf("found %+v", found)
	}
	if at, err := time.Parse(time.RFC3339, *found[0].At); err != nil || !at.Equal(arrived) {
		t.Errorf("arrived at %v, want %v", at, arrived)
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

func TestRepublishedDeadLettersHaveATime(t *testing.T) {
	// If this fails, nobody sees when a client published a failed message: it is missing in the
	// last hour, in the chart and as the oldest, or its time is another one after a restart.
	t.Parallel()
	fs := vfs.NewMem(1)
	d, stop := startOn(t, fs, true)
	d.queueWith("errors", `"x-dead-letter-queue":true`)
	d.queueWith("orders.failed", "")
	d.server.sampler.Read(time.Now())
	publish := func(queue, headers string) string {
		d.t.Helper()
		d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish", `{"routing_key":"`+queue+`","payload":"failed",
			"payload_encoding":"string","properties":{"delivery_mode":2,"timestamp":1600000000,"headers":{`+headers+`}}}`)
		return d.engine.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	}
	want := map[string]string{"errors": publish("errors", "")}
	d.later(40 * time.Minute)
	want["orders.failed"] = publish("orders.failed", `"x-exception-message":"no price"`)
	d.later(30 * time.Minute)
	check := func(when string) {
		t.Helper()
		for _, m := range read[api.MessagePage](d, "/api/x/letters/%2F").Items {
			if m.At == nil || m.ArrivedAt == nil || *m.At != want[m.Queue] || *m.ArrivedAt != *m.At {
				t.Errorf("%s: %+v of %s, want %s", when, m.At, m.Queue, want[m.Queue])
			}
		}
		hour := read[api.MessagePage](d, "/api/x/letters/%2F?filter=age:%3C1h").Items
		if len(hour) != 1 || hour[0].Queue != "orders.failed" {
			t.Errorf("%s, in the last hour: %+v", when, hour)
		}
		g := read[api.Groups](d, "/api/x/letters/%2F/groups?by=reason").Groups
		if len(g) != 1 || g[0].Count != 2 || g[0].First != want["errors"] ||
			g[0].Last != want["orders.failed"] {
			t.Errorf("%s, groups: %+v", when, g)
		}
		s := read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary")
		if r := s.Recent; r.Died["republished"] != 2 || len(r.Sources) != 2 || r.Others != 0 ||
			sum(r.ByStep["republished"]) != 2 {
			t.Errorf("%s, recent: %+v", when, r)
		}
		if s.OldestSec == nil || *s.OldestSec < 70*60 || *s.OldestSec > 71*60 {
			t.Errorf("%s, the oldest: %+v", when, s.Queues)
		}
		q := read[api.Deaths](d, "/api/x/queues/%2F/errors/deaths")
		if q.Died["republished"] != 1 || q.Arrived != 1 {
			t.Errorf("%s, of the queue: %+v", when, q)
		}
	}
	check("at first")
	stop()
	d, stop = startOn(t, fs, true)
	d.later(30 * time.Minute) // the clock goes on from the newest message
	check("after a restart")
	got := d.take("errors", `{"count":1,"ackmode":"ack_requeue_false","encoding":"auto"}`)
	if headers, _ := amqp.Table(got[0].Properties).Get("headers"); len(headers.Table) != 0 {
		t.Errorf("a consumer gets %+v", got)
	}
	stop()
}

func sum(all []uint64) (n uint64) {
	for _, x := range all {
		n += x
	}
	return n
}
