package search

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func TestListHasAllThatAScanFindsAtAPlace(t *testing.T) {
	// If this fails, a dry run misses messages that a job would send back, or counts those of other places.
	t.Parallel()
	w := filled(t, 300)
	w.crawl()
	for _, at := range []vhost.Where{{Queue: "orders.dlq"}, {Queue: "bills.dlq"}, {Lost: true}} {
		all := map[uint64]bool{}
		for _, text := range filters {
			q := Query{VHost: "/", Filter: w.filter(text), Limit: LimitMax}
			want := map[uint64]bool{}
			if _, err := w.x.scanMessages(context.Background(), &q, func(x *vhost.Seen, _ *filter.Message) {
				if x.Where() == at {
					want[x.ID] = true
				}
			}); err != nil {
				t.Fatal(err)
			}
			if text == "" {
				all = want
			}
			l, err := w.x.List(context.Background(), "/", at, q.Filter, 1000)
			if err != nil || l == nil {
				t.Fatalf("%q: %v %v", text, l, err)
			}
			if l.Known != int64(len(all)) || l.Partial || l.Matches != int64(len(l.IDs)) || !slices.IsSorted(l.IDs) {
				t.Errorf("%q at %v: %+v, and %d are there", text, at, l, len(all))
			}
			for id := range want {
				if !slices.Contains(l.IDs, id) {
					t.Errorf("%q at %v: %d is missing", text, at, id)
				}
			}
			if l.Sure && len(l.IDs) != len(want) {
				t.Errorf("%q at %v: sure of %d messages, and %d pass", text, at, len(l.IDs), len(want))
			}
		}
	}
	few, err := w.x.List(context.Background(), "/", vhost.Where{Queue: "orders.dlq"}, nil, 3)
	if err != nil || len(few.IDs) != 3 || few.Matches != few.Known || !few.Sure {
		t.Errorf("three of them: %+v %v", few, err)
	}
	none, err := w.x.List(context.Background(), "/", vhost.Where{Queue: "nobody's"}, nil, 3)
	if err != nil || fmt.Sprint(none.Known, none.Matches, none.IDs) != "0 0 []" {
		t.Errorf("where nothing is: %+v %v", none, err)
	}
}
