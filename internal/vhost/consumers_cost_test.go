package vhost

import (
	"fmt"
	"testing"
)

// TestFullConsumersCostNothing says that an ack, or a connection that reads, makes the machine look at all consumers of
// a queue that have no space, or that such work counts for nothing.
func TestFullConsumersCostNothing(t *testing.T) {
	t.Parallel()
	const n = 2000
	w := newWorld()
	w.hot, w.out.Trace = true, false
	w.v = w.fresh()
	must(t, w, open("a")...)
	must(t, w, declareWith("q"), Command{Kind: Qos, Channel: 1, Definition: &Definition{Prefetch: 1}})
	for i := range n {
		must(t, w, Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", ConsumerTag: fmt.Sprint("c", i)}})
	}
	for range n + 200 {
		must(t, w, publishTo("q", 1, "m"))
	}
	most := 0
	step := func(c Command) {
		t.Helper()
		must(t, w, c)
		most = max(most, w.v.Work())
	}
	for i := range 100 {
		step(Command{Kind: Ack, Channel: 1, Tag: uint64(i + 1)})
		step(Command{Kind: Grant, Conn: 1, Window: 1})
	}
	q, _ := w.v.Reader().Queue("q")
	if q.Unacked != n || q.Ready != 100 {
		t.Fatalf("%d are unacked, %d ready", q.Unacked, q.Ready)
	}
	if most > 4*workOfFact {
		t.Errorf("an ack counts for %d bytes", most)
	}
	most = 0
	for i := range 100 {
		step(Command{Kind: Cancel, Channel: 1, Definition: &Definition{ConsumerTag: fmt.Sprint("c", n-1-i)}})
	}
	if most > 4*workOfFact {
		t.Errorf("a consumer that leaves counts for %d bytes", most)
	}
	for i := range 2 { // a shared limit that changes is a look at all
		step(Command{Kind: Qos, Channel: 1, Definition: &Definition{Prefetch: 60_000 + uint16(i), Global: true}})
		if w.v.Work() < n*workOfWake/2 {
			t.Errorf("a limit for all counts for %d bytes", w.v.Work())
		}
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}
