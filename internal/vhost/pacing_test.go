package vhost

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

func TestDrainOfAQueue(t *testing.T) {
	// Broken if a queue that nobody consumes from, or that is short, holds its publishers back; or if it is said to be
	// long, or its connection to consume, when that is over.
	w := newWorld()
	w.v.BoundOvergrown(8)
	must(t, w, open("a")...)
	must(t, w, declareWith("q"))
	publish := func(n int) {
		for range n {
			must(t, w, publishTo("q", amqp.Persistent, "m"))
		}
	}
	id := w.v.queueNamed("q").id
	expect := func(when string, want Drain, consumes bool) {
		t.Helper()
		if got := w.v.Reader().Drain(id); got != want || w.v.Consumes(1) != consumes {
			t.Errorf("%s: %+v, expected %+v; consumes: %t", when, got, want, w.v.Consumes(1))
		}
		if long := w.v.Overgrown() == id; long != (want.Overgrown && want.Ready > 8) {
			t.Errorf("%s: overgrown: %t", when, long)
		}
	}
	publish(9)
	expect("without consumers", Drain{0, 9, false}, false)
	must(t, w, Command{Kind: Qos, Channel: 1, Definition: &Definition{Prefetch: 1}},
		Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", ConsumerTag: "c"}})
	publish(1)
	expect("with a consumer", Drain{1, 9, true}, true)
	must(t, w, Command{Kind: Ack, Channel: 1, Multiple: true})
	expect("still long", Drain{2, 8, true}, true)
	must(t, w, Command{Kind: Ack, Channel: 1, Multiple: true}, Command{Kind: Ack, Channel: 1, Multiple: true})
	expect("short", Drain{4, 6, false}, true)
	publish(3)
	must(t, w, Command{Kind: Cancel, Channel: 1, Definition: &Definition{ConsumerTag: "c"}})
	w.v.Overgrown()
	expect("without a consumer again", Drain{4, 9, false}, false)
	must(t, w, Command{Kind: DeleteQueue, Channel: 1, Definition: &Definition{Name: "q"}})
	expect("deleted", Drain{}, false)
}
