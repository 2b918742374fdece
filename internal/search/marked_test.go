package search

import (
	"context"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// mark marks a queue as a dead-letter queue, or with Void no longer.
func (w *world) mark(queue string, v amqp.Value) {
	w.t.Helper()
	w.do(vhost.Command{Kind: vhost.SetOptions, Definition: &vhost.Definition{
		Arguments: amqp.Table{field("dead-letter-queues", amqp.TableValue(amqp.Table{field(queue, v)}))},
	}})
}

func TestMarkedQueuesAreIndexed(t *testing.T) {
	// If this fails, messages in a queue that is marked as a dead-letter queue are not found, or are found when it no
	// longer is; or the index says that it is complete while it has not read them.
	t.Parallel()
	w := newWorld(t)
	w.declare("errors")
	w.declare("work")
	for range 100 { // more than the tail has
		w.publish("errors", &amqp.Properties{}, "no price")
		w.publish("work", &amqp.Properties{}, "order")
	}
	by, _ := filter.GroupBy("queue")
	check := func(when string, want int64) {
		t.Helper()
		for _, f := range []string{"", "reason:republished", "queue:errors", "no price"} {
			w.same(f, Newest)
			if refs, _ := w.all(Query{VHost: "/", Filter: w.filter(f)}); int64(len(refs)) != want {
				t.Errorf("%s, %q finds %d of %d", when, f, len(refs), want)
			}
		}
		g, err := w.x.Groups(context.Background(), GroupQuery{VHost: "/", By: by})
		if err != nil || g.Index == nil || g.Total != want {
			t.Errorf("%s, groups: %+v, %v", when, g, err)
		}
	}
	w.crawl()
	check("before", 0)
	w.mark("errors", amqp.Bool(true))
	if err := w.c.places(w.x.all()["/"]); err != nil {
		t.Fatal(err)
	}
	if w.x.knownOf("/") != nil {
		t.Error("the index is asked before it has read the queue")
	}
	w.crawl()
	check("when it is marked", 100)
	w.publish("errors", &amqp.Properties{}, "no price")
	w.crawl()
	check("with a message more", 101)
	w.shut()
	w.stop()
	w.start()
	w.open()
	w.crawl()
	check("after a restart", 101)
	w.mark("errors", amqp.Void())
	w.crawl()
	check("when it is no longer marked", 0)
	if n := w.x.Stats().Messages; n != 0 {
		t.Errorf("%d messages are left in the index", n)
	}
}
