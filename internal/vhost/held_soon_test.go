package vhost

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// TestManyHeldDeadLettersLeaveSoon says that very many held dead letters wait long for what they lacked after
// it has come: the pause between sweeps is longer than what sweeps take.
func TestManyHeldDeadLettersLeaveSoon(t *testing.T) {
	t.Parallel()
	const n, soon = 20_000, 150 // ms; 300,000 dead letters begin to leave within about two seconds
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, declareWith("q", argumentOf("x-message-ttl", 0), textOf("x-dead-letter-strategy", "at-least-once"),
		textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", "late"), textOf("x-overflow", "reject-publish")))
	for range n {
		must(t, w, publishTo("q", amqp.Persistent, "m"))
	}
	until := func(at int64) {
		for due, ok := w.v.Due(); ok && int64(due) <= at; due, ok = w.v.Due() {
			w.now = max(w.now, due)
			must(t, w, Command{Kind: Tick})
		}
	}
	until(10_000) // sweeps, all in vain
	q := w.v.queueNamed("q")
	if len(q.held) != n {
		t.Fatalf("%d of %d dead letters are held", len(q.held), n)
	}
	until(int64(w.v.holding.at)) // and one that has just ended
	began := int64(w.now)
	must(t, w, declareWith("late"))
	until(began + soon)
	if late := w.v.queueNamed("late"); late.messages.Ready() == 0 {
		t.Errorf("%d ms later none of %d has left; sweeps wait until %d", soon, n, int64(w.v.holding.notBefore)-began)
	}
}

// If this fails, other clients of a virtual host with many held dead letters wait for seconds each time that
// its topology changes.
func TestHeldDeadLettersAreTriedInPortions(t *testing.T) {
	t.Parallel()
	const n = 5 * sweepMax
	w := newWorld()
	w.out.Trace = false
	must(t, w, open("a")...)
	must(t, w, declareWith("q", argumentOf("x-message-ttl", 0), textOf("x-dead-letter-strategy", "at-least-once"),
		textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", "late"), textOf("x-overflow", "reject-publish")))
	for range n {
		must(t, w, publishTo("q", amqp.Persistent, "m"))
	}
	begun, ended, portions := false, false, 0
	for due, ok := w.v.Due(); ok && !ended; due, ok = w.v.Due() {
		w.now = max(w.now, due)
		begins := w.v.holding.next
		must(t, w, Command{Kind: Tick})
		tried := w.v.holding.next - begins
		if begun = begun || w.v.holding.next > 0 || w.now > 120_000; !begun {
			continue
		}
		portions++
		if ended = w.v.holding.next == 0; ended {
			tried = n - begins
		}
		if tried > sweepMax {
			t.Fatalf("one step tried %d of %d held dead letters", tried, n)
		}
	}
	if held := len(w.v.queueNamed("q").held); held != n || portions != n/sweepMax {
		t.Errorf("%d of %d dead letters are held, tried in %d portions", held, n, portions)
	}
}
