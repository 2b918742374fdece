package vhost

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// TestRingOfQueuesEnds says that a message in a ring of ten thousand queues goes round for ever, or that its way takes
// long: by time, by space, or with its history growing at each step.
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
					t.Fatalf("no end: books %+v", w.v.Reader().Books())
				}
			}
			held := 0
			for _, q := range w.v.queues {
				held += int(q.heldBy[fact.LostHops])
			}
			if lost := w.v.Reader().LostStore().ByCause[fact.LostHops]; lost+uint64(held) != 1 || (held == 1) != (name == "held") {
				t.Errorf("of one dead letter %d are held for their hops, %d lost by them: books %+v", held, lost,
					w.v.Reader().Books())
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

// TestHeldTooFarGoesOn says that a dead letter of a long chain, held because it went through too many queues
// at one moment, stays where it is though nothing else keeps it.
func TestHeldTooFarGoesOn(t *testing.T) {
	t.Parallel()
	const n = hopsMax + 20
	w := newWorld()
	must(t, w, open("a")...)
	for i := range n {
		must(t, w, declareWith(fmt.Sprint("q", i), argumentOf("x-message-ttl", 0), textOf("x-dead-letter-strategy", "at-least-once"),
			textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", fmt.Sprint("q", i+1))))
	}
	must(t, w, declareWith(fmt.Sprint("q", n)))
	must(t, w, publishTo("q0", amqp.Persistent, "m"))
	at := w.v.queueNamed(fmt.Sprint("q", hopsMax))
	if at.heldBy[fact.LostHops] != 1 {
		t.Fatalf("after %d hops at one moment %v are held, books %+v", hopsMax, at.heldBy, w.v.Reader().Books())
	}
	w.now += sweepFirst
	must(t, w, Command{Kind: Tick})
	if last := w.v.queueNamed(fmt.Sprint("q", n)); last.messages.Ready() != 1 {
		t.Errorf("the dead letter did not go on: books %+v", w.v.Reader().Books())
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}
