package management

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestHistory(t *testing.T) {
	// If this fails, charts show what never was, or memory grows with the age of the broker.
	t.Parallel()
	var h history
	const second = 1000
	minute := kept([2]time.Duration{time.Minute, 5 * time.Second})
	for i := range int64(100) {
		figures := []uint64{uint64(min(i, 50)) * 10, uint64(100 - i)}
		h.note((1000+5*i)*second, figures, minute)
	}
	if n := readings(&h); n > 14+24 {
		t.Errorf("%d readings of a minute", n)
	}
	end := int64(1000+5*99) * second
	tr := h.trend(2, func(f int) span { return []span{{}, {20 * second, 10 * second}}[f] })
	if r := tr.of(0); r.Rate != 0 || r.Samples != nil || r.Avg != nil {
		t.Errorf("what is at rest %+v", r)
	}
	got, err := json.Marshal(tr.of(1))
	want := `{"rate":-0.2,"samples":[{"sample":1,"timestamp":1495000},{"sample":3,"timestamp":1485000},{"sample":5,"timestamp":1475000}],"avg":3,"avg_rate":-0.2}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	both := tr.of(1, 1)
	if both.Samples[2].Sample != 10 || *both.Avg != 6 || both.Rate != -0.4 || tr.of(1).Samples[2].Sample != 5 {
		t.Errorf("added up %+v", both)
	}
	if got := h.at([]int64{end - 30*second}); got.of(1, 0) != 7 {
		t.Errorf("between: %+v", got)
	}
	// At rest nothing is kept but the last.
	for i := range int64(60) {
		h.note(end+5*i*second, []uint64{1, 1}, minute)
	}
	if got := h.at([]int64{end + 295*second}); readings(&h) != 1 || len(h.steps) != 0 || got.of(0, 0) != 1 {
		t.Errorf("at rest %d readings, %+v", readings(&h), got)
	}
	var none history
	if r := none.trend(1, func(int) span { return span{second, second} }); r.of(0).Samples != nil {
		t.Errorf("of nothing %+v", r)
	}
}

func readings(h *history) (n int) {
	for range h.back() {
		n++
	}
	return n
}

func TestHistoryOfDays(t *testing.T) {
	// If this fails, the charts of hours show what never was, or take ever more memory.
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	type reading struct {
		at      int64
		figures [queueFigures]uint64
	}
	var all []reading
	var h history
	now := int64(1_795_000_000_000)
	var f [queueFigures]uint64
	for range 30 * 720 {
		now += 5000 + random.Int64N(7) - 3
		for i := range f {
			switch {
			case i < 5:
				f[i] += random.Uint64N(1000)
			case i == int(atReady):
				f[i] = random.Uint64N(1 << 40)
			case random.IntN(1000) == 0:
				f[i] += random.Uint64N(1 << uint(random.IntN(64)))
			}
		}
		h.note(now, f[:], wholeKept)
		all = append(all, reading{now, f})
	}
	if n := readings(&h); n > 300 || cap(h.steps) > 12_000 {
		t.Errorf("%d readings in %d bytes", n, cap(h.steps))
	}
	for _, x := range []struct{ age, incr time.Duration }{
		{time.Minute, 5 * time.Second}, {10 * time.Minute, 10 * time.Second}, {time.Hour, time.Minute}, {8 * time.Hour, 10 * time.Minute}, {24 * time.Hour, 30 * time.Minute},
	} {
		table := h.at(span{x.age.Milliseconds(), x.incr.Milliseconds()}.instants(now))
		if table.known != len(table.at) || len(table.at) < int(x.age/x.incr) {
			t.Fatalf("of %v %d of %d instants are known", x.age, table.known, len(table.at))
		}
		for i, when := range table.at {
			j, there := slices.BinarySearchFunc(all, when, func(r reading, at int64) int { return cmp.Compare(r.at, at) })
			if !there {
				j--
			}
			for f := range queueFigures {
				if got := table.of(f, i); got != all[j].figures[f] {
					t.Fatalf("of %v, %d ms ago, figure %d: %d, want %d", x.age, now-when, f, got, all[j].figures[f])
				}
			}
		}
	}
}

func TestSamples(t *testing.T) {
	// If this fails, the charts of a console are empty, or a query that asks for too much is not told so.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	start := time.Now().Add(time.Hour)
	d.roster.mu.conns = []Connection{{Name: "a", User: "guest", VHost: "/", State: "running", Received: 100, Sent: 10, Reads: 4, Writes: 2}}
	d.server.sampler.read(start)
	for i := range 4 {
		d.publish("amq.default", "q", "x")
		d.roster.mu.conns[0].Received += 50
		d.server.sampler.read(start.Add(time.Duration(i+1) * 5 * time.Second))
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
	d.server.sampler.read(start.Add(20 * time.Second))
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
	d.server.sampler.read(start.Add(25 * time.Second))
	if h := read[api.VHost](d, "/api/vhosts/%2F"); h.RecvOct != 300 {
		t.Errorf("bytes after the end of a connection %+v", h)
	}
	d.want(204, "DELETE", "/api/reset", "")
	d.server.sampler.read(start.Add(30 * time.Second))
	if q := read[api.Queue](d, "/api/queues/%2F/q"+query); q.MessagesReadyDetails.Samples[4].Sample != 0 || q.MessagesReady != 4 {
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
	d.server.sampler.read(start.Add(35 * time.Second))
	idle := read[api.Queue](d, "/api/queues/%2F/q").IdleSince
	if want := start.Add(30*time.Second).UTC().Format("2006-01-02T15:04:05.000") + "+00:00"; idle == nil || *idle != want {
		t.Errorf("idle since %v, want %s", idle, want)
	}
	d.publish("amq.default", "q", "x")
	d.server.sampler.read(start.Add(40 * time.Second))
	if q := read[[]api.Queue](d, "/api/queues")[0]; q.IdleSince != nil {
		t.Errorf("idle since %v while it moves", *q.IdleSince)
	}
	if got := d.want(200, "GET", "/api/queues/%2F/q", "").Body.String(); strings.Contains(got, "samples") {
		t.Errorf("samples that nobody asked for: %s", got)
	}
}
