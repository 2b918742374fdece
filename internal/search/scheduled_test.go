package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// schedule publishes n messages to a delayed exchange.
func (w *world) schedule(exchange string, n int) {
	w.t.Helper()
	w.do(vhost.Command{Kind: vhost.DeclareExchange, Definition: &vhost.Definition{
		Name: exchange, Type: "x-delayed-message", Durable: true, Arguments: amqp.Table{field("x-delayed-type", amqp.String("fanout"))},
	}})
	for i := range n {
		p := &amqp.Properties{
			Has: amqp.FlagHeaders | amqp.FlagMessageID | amqp.FlagDeliveryMode, DeliveryMode: amqp.Persistent, MessageID: fmt.Sprintf("%s-%d", exchange, i),
			Headers: amqp.Table{field("x-delay", amqp.Int32(int32(3_600_000-i)))},
		}
		w.do(vhost.Command{Kind: vhost.Publish, Exchange: []byte(exchange), Key: []byte("k"), Properties: amqp.AppendProperties(nil, p), Body: []byte("remind")})
	}
}

func TestScheduledAreFoundIfAskedFor(t *testing.T) {
	// If this fails, what waits in delayed exchanges is found among dead letters, or is not found where
	// it is asked for, or twice between portions.
	t.Parallel()
	w := filled(t, 60)
	w.schedule("bills", 7)
	w.schedule("later", 30)
	w.crawl()
	for filter, want := range map[string]int{
		"": 60, "state:scheduled": 37, "-state:scheduled": 60, "state:scheduled|lost queue:bills": 7, "message-id:later-3": 0, "state:s* message-id:later-3": 1,
		"remind": 0, "state:scheduled remind": 37, "reason:maxlen": 60, "exchange:later": 0, "state:scheduled exchange:later": 30, "source:*": 60,
	} {
		for _, order := range []Order{Newest, Oldest} {
			q := Query{VHost: "/", Filter: w.filter(filter), Order: order, Limit: 5}
			got, a := w.all(q)
			if len(got) != want || a.Partial || a.Index == nil {
				t.Errorf("%q: %d of %d, partial %v, index %v", filter, len(got), want, a.Partial, a.Index)
			}
			byScan := w.scanned(q)
			slices.Sort(got)
			slices.Sort(byScan)
			if !slices.Equal(got, byScan) {
				t.Errorf("%q: %v, a scan has %v", filter, got, byScan)
			}
		}
	}
	got, _ := w.all(Query{VHost: "/", Filter: w.filter("state:scheduled"), Order: Oldest, Limit: 4})
	if !strings.HasPrefix(got[0], "bills/1@") || !strings.HasPrefix(got[7], "later/1@") {
		t.Errorf("not exchange by exchange: %v", got)
	}
	by, _ := filter.GroupBy("state")
	for filter, want := range map[string]int64{"": 60, "state:scheduled|ready|lost": 97} {
		g, err := w.x.Groups(context.Background(), GroupQuery{VHost: "/", By: by, Filter: w.filter(filter)})
		if err != nil || g.Total != want || g.Partial || g.Index == nil {
			t.Fatalf("groups of %q: %+v, %v", filter, g, err)
		}
		scheduled := int64(0)
		for _, group := range g.Groups {
			if group.Value == "scheduled" {
				scheduled = group.Count
			}
		}
		if scheduled != want-60 {
			t.Errorf("groups of %q: %+v", filter, g.Groups)
		}
	}
	for _, wrong := range []string{"scan:1:schedule:", "scan:x:schedule:later", "scan:1:shelf"} {
		if _, err := w.x.Search(context.Background(), Query{VHost: "/", After: wrong}, nil); err != ErrCursor {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestCountsTellNothingOfWhatMayNotBeSeen(t *testing.T) {
	// If this fails, who may read nothing spells out headers and bodies by how many messages a search says it
	// has looked at.
	t.Parallel()
	w := filled(t, 100)
	w.schedule("later", 10)
	w.crawl()
	none := func(vhost.Where, string) bool { return false }
	by, _ := filter.GroupBy("reason")
	for _, filter := range []string{"", "header.tenant:t*", "card", "state:scheduled", "state:lost", "message-id:m-3"} {
		q := Query{VHost: "/", Filter: w.filter(filter), May: none, Limit: 10}
		a, err := w.x.Search(context.Background(), q, nil)
		if err != nil || a.Scanned != 0 || a.Next != "" || a.Partial {
			t.Errorf("%q: %+v, %v", filter, a, err)
		}
		if a, err = w.x.scanMessages(context.Background(), &q, nil); err != nil || a.Scanned != 0 {
			t.Errorf("%q by a scan: %+v, %v", filter, a, err)
		}
		if g, err := w.x.Groups(context.Background(), GroupQuery{VHost: "/", By: by, Filter: q.Filter, May: none}); err != nil || g.Scanned != 0 || g.Total+g.Without != 0 {
			t.Errorf("groups of %q: %+v, %v", filter, g, err)
		}
	}
}
