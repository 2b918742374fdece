package vhost

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// TestRingOfQueuesEnds says that a message in a ring of ten thousand queues goes round for ever, or that its way takes
// long: by time, by room, or with its history growing at each step.
func TestRingOfQueuesEnds(t *testing.T) {
	t.Parallel()
	const n = 10_000
	for name, arguments := range map[string][]amqp.Field{
		"expired at once":  {argumentOf("x-message-ttl", 0)},
		"expired in a ms":  {argumentOf("x-message-ttl", 1)},
		"no room":          {argumentOf("x-max-length", 0)},
		"refused":          {argumentOf("x-max-length", 0), textOf("x-overflow", "reject-publish-dlx")},
		"held":             {argumentOf("x-message-ttl", 1), textOf("x-dead-letter-strategy", "at-least-once")},
		"kept in a circle": {argumentOf("x-message-ttl", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.out.Trace = false
			must(t, w, open("a")...)
			if name == "kept in a circle" {
				must(t, w, Command{Kind: SetPolicy, Policy: &Policy{
					Name: "p", Pattern: ".", Definition: amqp.Table{{Name: "cycle", Value: amqp.String("keep")}},
				}})
			}
			for i := range n {
				must(t, w, declareWith(fmt.Sprint("q", i), append(arguments[:len(arguments):len(arguments)],
					textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", fmt.Sprint("q", (i+1)%n)))...))
			}
			must(t, w, publishTo("q0", amqp.Persistent, "m"))
			steps := 0
			for {
				at, ok := w.v.Due()
				if !ok || at > w.now+1000 {
					break
				}
				w.now = max(w.now, at)
				must(t, w, Command{Kind: Tick})
				if steps++; steps > 3*n {
					t.Fatalf("no end: books %+v", w.v.Books())
				}
			}
			if w.v.Shelf().ByCause[LostHops] != 1 {
				t.Errorf("the letter is not lost by its hops: %+v, books %+v", w.v.Shelf(), w.v.Books())
			}
			written := 0
			for _, b := range w.log.batches {
				written += len(b)
			}
			if written > 64<<20 {
				t.Errorf("one message has left %d MiB in the log", written>>20)
			}
		})
	}
}
