package management

import (
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

func TestSamples(t *testing.T) {
	// If this fails, the charts of a console are empty, or a query that asks for too much is not told so.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	start := time.Now().Add(time.Hour)
	d.roster.mu.conns = []stats.Connection{{Name: "a", User: "guest", VHost: "/", State: "running", Received: 100, Sent: 10, Reads: 4, Writes: 2}}
	d.server.sampler.Read(start)
	for i := range 4 {
		d.publish("amq.default", "q", "x")
		d.roster.mu.conns[0].Received += 50
		d.server.sampler.Read(start.Add(time.Duration(i+1) * 5 * time.Second))
	}
	d.want(201, "PUT", "/api/queues/%2F/later", "")
	later := read[api.Queue](d, "/api/queues/%2F/later?lengths_age=20&lengths_incr=5").MessagesDetails
	if len(later.Samples) != 5 || *later.Avg != 0 {
		t.Errorf("of a queue that is new %+v", later)
	}
	in := read[api.Page[api.Queue]](d, "/api/queues?name=later&page=1&lengths_age=20&lengths_incr=5&columns=messages_details")
	if len(in.Items) != 1 || len(in.Items[0].MessagesDetails.Samples) != 5 {
		t.Errorf("of one in a list %+v", in)
	}
	d.want(204, "DELETE", "/api/queues/%2F/later", "")
	const query = "?lengths_age=20&lengths_incr=5&msg_rates_age=20&msg_rates_incr=10&data_rates_age=10&data_rates_incr=5"
	check := func(what string, r api.Rate, rate float64, samples ...int64) {
		t.Helper()
		var got []int64
		for _, s := range r.Samples {
			got = append(got, s.Sample)
		}
		if r.Rate != rate || len(got) != len(samples) {
			t.Fatalf("%s: %+v", what, r)
		}
		for i := range got {
			if got[i] != samples[i] {
				t.Fatalf("%s: %v, want %v", what, got, samples)
			}
		}
	}
	q := read[api.Queue](d, "/api/queues/%2F/q"+query)
	check("of a queue", q.MessagesReadyDetails, 0.2, 4, 3, 2, 1, 0)
	check("of all its messages", q.MessagesDetails, 0.2, 4, 3, 2, 1, 0)
	check("of what is published", q.MessageStats.Publish.Rate, 0.2, 4, 2, 0)
	check("in a list", read[[]api.Queue](d, "/api/queues"+query)[0].MessagesReadyDetails, 0.2, 4, 3, 2, 1, 0)
	check("of a vhost", read[api.VHost](d, "/api/vhosts/%2F"+query).MessagesReadyDetails, 0.2, 4, 3, 2, 1, 0)
	d.want(201, "PUT", "/api/vhosts/other", "")
	d.server.sampler.Read(start.Add(20 * time.Second))
	o := read[api.Overview](d, "/api/overview"+query)
	if len(o.QueueTotals.MessagesReadyDetails.Samples) != 5 || o.QueueTotals.MessagesReadyDetails.Samples[0].Sample != 4 {
		t.Errorf("overview %+v", o.QueueTotals)
	}
	h := read[api.VHost](d, "/api/vhosts/%2F"+query)
	if h.RecvOct != 300 || h.SendOct != 10 || len(h.RecvOctDetails.Samples) != 3 {
		t.Errorf("bytes of a vhost %+v", h)
	}
	c := read[api.Connection](d, "/api/connections/a"+query)
	if c.RecvCnt != 4 || c.SendCnt != 2 {
		t.Errorf("packets of a connection: %+v", c)
	}
	check("of a connection", c.RecvOctDetails, 0, 300, 250, 200)
	d.roster.mu.conns = nil
	d.server.sampler.Read(start.Add(25 * time.Second))
	if h := read[api.VHost](d, "/api/vhosts/%2F"); h.RecvOct != 300 {
		t.Errorf("bytes after the end of a connection %+v", h)
	}
	d.want(204, "DELETE", "/api/reset", "")
	d.server.sampler.Read(start.Add(30 * time.Second))
	q = read[api.Queue](d, "/api/queues/%2F/q"+query)
	if all := q.MessagesReadyDetails.Samples; len(all) != 1 || all[0].Sample != 4 || q.MessagesReady != 4 {
		t.Errorf("after a reset %+v", q.MessagesReadyDetails)
	}
	for query, reason := range map[string]string{
		"lengths_age=60": "give both", "lengths_age=x&lengths_incr=5": "integer", "msg_rates_age=0&msg_rates_incr=5": "integer",
		"data_rates_age=6000&data_rates_incr=1": "more than 500",
	} {
		for _, path := range []string{"queues", "queues/%2F/q", "overview", "vhosts", "connections"} {
			d.refused(400, "bad_request", reason, "GET", "/api/"+path+"?"+query, "")
		}
	}
	d.server.sampler.Read(start.Add(35 * time.Second))
	idle := read[api.Queue](d, "/api/queues/%2F/q").IdleSince
	if want := start.Add(30*time.Second).UTC().Format("2006-01-02T15:04:05.000") + "+00:00"; idle == nil || *idle != want {
		t.Errorf("idle since %v, want %s", idle, want)
	}
	d.publish("amq.default", "q", "x")
	d.server.sampler.Read(start.Add(40 * time.Second))
	if q := read[[]api.Queue](d, "/api/queues")[0]; q.IdleSince != nil {
		t.Errorf("idle since %v while it moves", *q.IdleSince)
	}
	if got := d.want(200, "GET", "/api/queues/%2F/q", "").Body.String(); strings.Contains(got, "samples") {
		t.Errorf("samples that nobody asked for: %s", got)
	}
}
