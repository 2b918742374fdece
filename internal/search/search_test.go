package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// filled is a world with dead letters in two queues and in the lost store.
func filled(t testing.TB, n int) *world {
	w := newWorld(t)
	w.declare("orders.dlq")
	w.declare("bills.dlq", field("x-max-priority", amqp.Int32(3)))
	w.full("orders", "orders.dlq")
	w.full("bills", "bills.dlq")
	w.full("nowhere", "missing")
	w.declare("plain")
	const seed = 11
	w.publishDeadLetters(rand.New(rand.NewPCG(seed, seed)), n)
	w.publish("plain", &amqp.Properties{}, "not dead")
	return w
}

var filters = []string{
	"", "reason:maxlen", "-reason:maxlen", "source:orders", "source:ord*", "queue:bills.dlq", "-queue:*.dlq", "exchange:*", "key:orders|bills",
	"state:lost", "state:ready", "cause:no_route", "-cause:no_route", "age:<100s", "age:>100s", "count:>0", "count:2", "size:<50", "size:>=60",
	"message-id:m-7", "id:3", "type:order.paid", "type:order.*", "header.tenant:t3", "-header.tenant:t3", "header.attempt:>2", "header.attempt:3",
	"header.none:x", "-header.none:*", "header.trace:*", "header.trace:\"at com\"*", "timeout", "timed", "soCKet*", "\"read timed out\"", "card", "body:card", "headers:card",
	"-card", "café", "\"café card\"", "*ecline*", "declin*", "body.$.order.id:17", "body.$.order.id:5", "body.$.amount:<10", "body.$.order.note:*card*",
	"exception:*Timeout*", "exception:boom", "-exception:boom", "boom|card", "header.tenant:t1|t2 reason:maxlen -card age:<1h",
	"body.$.order:*", "redrives:0", "came-back:0", "-came-back:0", "user:nobody", "content-type:x", "last-queue:bills", "first-reason:maxlen", "m-3", "17",
}

func TestIndexFindsWhatAScanFinds(t *testing.T) {
	// If this fails, the index hides dead letters that pass a filter, shows others, or loses its place
	// between portions.
	t.Parallel()
	w := filled(t, 300)
	w.crawl()
	if n := w.x.Stats().Messages; n != 300 {
		t.Fatalf("the index has %d dead letters of 300", n)
	}
	if k := w.x.knownOf("/"); len(k.segments) < 3 || k.tail.n == 0 {
		t.Fatalf("%d segments and a tail of %d: the test is about both", len(k.segments), k.tail.n)
	}
	for _, f := range filters {
		w.same(f, Newest)
		w.same(f, Oldest)
	}
}

func TestDeadLettersThatClientsPublish(t *testing.T) {
	// If this fails, what Spring and others publish where failures go is not among the dead letters, or the
	// index tells other things of it.
	t.Parallel()
	w := filled(t, 100)
	for i := range 60 {
		p := &amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{
			field("x-exception-message", amqp.String("price missing")), field("x-original-exchange", amqp.String("shop")),
			field("x-original-routingKey", amqp.String("order.new")),
		}}
		if i%3 == 0 { // of the others it is not known when it was
			p.Has, p.Timestamp = p.Has|amqp.FlagTimestamp, uint64(1_700_000_000+i)
		}
		w.publish("plain", p, "a body")
	}
	w.has(160)
	for _, f := range []string{"", "reason:republished", "-reason:republished", "first-reason:republished", "exchange:shop", "key:order.new", "exception:price*",
		"queue:plain", "age:>1h", "age:<1h", "time:2023-11-14", "count:0", "redrives:0", "source:*", "reason:republished|maxlen body"} {
		w.same(f, Newest)
		w.same(f, Oldest)
	}
	by, _ := filter.GroupBy("reason")
	g, err := w.x.Groups(context.Background(), GroupQuery{VHost: "/", By: by})
	if err != nil || len(g.Groups) != 2 || g.Groups[1].Value != "republished" || g.Groups[1].Count != 60 {
		t.Errorf("groups by reason: %+v, %v", g.Groups, err)
	}
	if refs, _ := w.all(Query{VHost: "/", Filter: w.filter("exception:\"price missing\" key:order.new")}); len(refs) != 60 {
		t.Errorf("%d dead letters of 60 are found by their exception", len(refs))
	}
}

func TestScheduleKeysOfDeadLetters(t *testing.T) {
	// If this fails, the index does not find what died after its delay by its schedule key, or finds what had none.
	t.Parallel()
	w := filled(t, 30)
	for i := range 140 {
		key := amqp.String(fmt.Sprintf("order-%d", i))
		if i%7 == 0 {
			key = amqp.Int32(int32(i))
		}
		var headers amqp.Table
		for k := range headersKept * (i / 70) { // their segments have no column for the key: its words are asked
			headers = append(headers, field(fmt.Sprintf("other-%d", k), amqp.Void()))
		}
		headers = append(headers, field(vhost.KeyHeader, key))
		w.publish("bills", &amqp.Properties{Has: amqp.FlagHeaders, Headers: headers}, "a body")
	}
	w.has(170)
	for f, want := range map[string]int{
		"schedule-key:order-5": 1, "schedule-key:order-75|order-6": 2, "schedule-key:order-139": 1,
		"schedule-key:order-*": 120, "schedule-key:*": 120, "-schedule-key:*": 50, `schedule-key:""`: 50, "-schedule-key:order-75": 169,
		"schedule-key:7": 0, "schedule-key:77": 0, "schedule-key:order": 0, "schedule-key:*rder-13?": 9,
		"header.x-schedule-key:77": 1,
	} {
		w.same(f, Newest)
		if got, _ := w.all(Query{VHost: "/", Filter: w.filter(f)}); len(got) != want {
			t.Errorf("%q finds %d, want %d", f, len(got), want)
		}
	}
}

func TestGroupsAreThoseOfAScan(t *testing.T) {
	// If this fails, groups count dead letters wrongly, or their filters find others.
	t.Parallel()
	w := filled(t, 300)
	w.crawl()
	for _, by := range []string{"reason", "source", "queue", "exchange", "key", "cause", "state", "exception", "fingerprint", "type", "header:tenant", "header:attempt", "header:trace", "header:none"} {
		for _, text := range []string{"", "-header.tenant:t3", "\"card declined\" age:<100s"} {
			g, err := filter.GroupBy(by)
			if err != nil {
				t.Fatal(err)
			}
			q := GroupQuery{VHost: "/", By: g, Filter: w.filter(text)}
			got, err := w.x.Groups(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			q.Most = 1000
			want, err := w.x.scanGroups(context.Background(), &q)
			if err != nil {
				t.Fatal(err)
			}
			if got.Index == nil || got.Partial || want.Partial {
				t.Errorf("by %s of %q: partial, or by a scan", by, text)
			}
			if got.Total != want.Total || len(got.Groups) != len(want.Groups) {
				t.Errorf("by %s of %q: %d dead letters in %d groups, a scan has %d in %d", by, text, got.Total, len(got.Groups), want.Total, len(want.Groups))
				continue
			}
			everyone, _ := w.all(Query{VHost: "/", Filter: q.Filter})
			if got.Without != want.Without || got.Total+got.Without != int64(len(everyone)) {
				t.Errorf("by %s of %q: %d dead letters are in groups and %d in none, of %d; a scan has %d", by, text, got.Total, got.Without, len(everyone), want.Without)
			}
			if none, _ := w.all(Query{VHost: "/", Filter: w.filter(g.Without() + " " + text)}); got.Without > 0 && got.Without != int64(len(none)) {
				t.Errorf("by %s of %q: %s finds %d dead letters of %d", by, text, g.Without(), len(none), got.Without)
			}
			for i := range got.Groups {
				a, b := got.Groups[i], want.Groups[i]
				a.Sample, b.Sample = Ref{}, Ref{}
				sum := int64(0)
				for _, n := range a.Spark {
					sum += n
				}
				if sum != a.Count {
					t.Errorf("by %s: the stretches of %q have %d dead letters of %d", by, a.Value, sum, a.Count)
				}
				a.Spark, b.Spark = [SparkParts]int64{}, [SparkParts]int64{}
				if a != b {
					t.Errorf("by %s of %q: %+v, a scan has %+v", by, text, a, b)
				}
				refs, _ := w.all(Query{VHost: "/", Filter: w.filter(a.Filter + " " + text)})
				if int64(len(refs)) != a.Count {
					t.Errorf("by %s: %s finds %d dead letters of %d", by, a.Filter, len(refs), a.Count)
				}
			}
		}
	}
}

func TestRights(t *testing.T) {
	// If this fails, dead letters are shown or counted of queues that the caller may not read.
	t.Parallel()
	w := filled(t, 100)
	w.crawl()
	may := func(at vhost.Where, lastQueue string) bool {
		return at.Queue == "orders.dlq" || at.Lost && lastQueue == "other"
	}
	refs, _ := w.all(Query{VHost: "/", May: may})
	for _, r := range refs {
		if !slices.Contains([]string{"orders.dlq"}, r[:10]) {
			t.Fatalf("shown: %s", r)
		}
	}
	by, _ := filter.GroupBy("queue")
	g, err := w.x.Groups(context.Background(), GroupQuery{VHost: "/", By: by, May: may})
	if err != nil || len(g.Groups) != 1 || g.Groups[0].Count != int64(len(refs)) {
		t.Fatalf("%+v, %v: want one group of %d", g.Groups, err, len(refs))
	}
}
