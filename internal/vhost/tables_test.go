package vhost

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

func TestLargeTablesAreBoundedTogether(t *testing.T) {
	// If this fails, somebody who may declare fills the memory with arguments, or what is deleted
	// takes its space along.
	t.Parallel()
	large := amqp.Table{textOf("note", strings.Repeat("x", 127<<10))}
	w := newWorld()
	must(t, w, open("a")...)
	must(t, w, Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: "x", Type: "fanout", Durable: true}})
	must(t, w, declareWith("plain"))
	kinds := []struct {
		what     string
		add, end Command
	}{
		{"queue", declareWith("q", large...), Command{Kind: DeleteQueue, Channel: 1, Definition: &Definition{Name: "q"}}},
		{"exchange", Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: "y", Type: "fanout", Durable: true, Arguments: large}},
			Command{Kind: DeleteExchange, Channel: 1, Definition: &Definition{Name: "y"}}},
		{"binding", Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Source: "x", Name: "plain", Arguments: large}},
			Command{Kind: UnbindQueue, Channel: 1, Definition: &Definition{Source: "x", Name: "plain", Arguments: large}}},
		{"consumer", Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "plain", ConsumerTag: "c", Arguments: large}},
			Command{Kind: Cancel, Channel: 1, Definition: &Definition{ConsumerTag: "c"}}},
	}
	checked := func(what string, taken bool) {
		t.Helper()
		if bytes, _ := w.v.Reader().LargeTables(); (bytes > 0) != taken {
			t.Errorf("%s: %d bytes are counted", what, bytes)
		}
		if err := w.v.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, k := range kinds {
		must(t, w, k.add)
		checked(k.what, true)
		if k.what != "consumer" { // tags are not given twice
			must(t, w, k.add)
			checked(k.what, true)
		}
		must(t, w, k.end)
		checked(k.what+" ended", false)
	}
	must(t, w, kinds[2].add, kinds[3].add, Command{Kind: DeleteQueue, Channel: 1, Definition: &Definition{Name: "plain"}})
	checked("queue with a binding and a consumer deleted", false)
	must(t, w, declareWith("plain"), kinds[3].add, Command{Kind: CloseChannel, Channel: 1})
	checked("channel closed", false)
	reopen := Command{Kind: OpenChannel, Conn: 1, Channel: 1, Number: 1}
	must(t, w, reopen)

	n := 0
	for ; n < 1000; n++ {
		refused, err := w.step(declareWith(fmt.Sprint("full", n), large...))
		if err != nil {
			t.Fatal(err)
		}
		if refused != nil {
			break
		}
	}
	if bytes, most := w.v.Reader().LargeTables(); bytes > most || most-bytes > 128<<10 || n > 530 {
		t.Errorf("%d queues take %d bytes of %d", n, bytes, most)
	}
	for _, k := range kinds {
		must(t, w, reopen) // a refusal has closed it
		if refused, err := w.step(k.add); err != nil || refused == nil || refused.Code != amqp.CodePreconditionFailed ||
			!strings.Contains(refused.Text, "large arguments use") {
			t.Errorf("%s: %v, %v", k.what, refused, err)
		}
	}
	must(t, w, reopen, declareWith("full0", large...), declareWith("small", argumentOf("x-max-length", 5)))
	must(t, w, Command{Kind: DeleteQueue, Channel: 1, Definition: &Definition{Name: "full0"}}, declareWith("full-again", large...))
	before := w.v.extra
	again := w.fresh()
	if err := w.replayAll(again); err != nil || again.extra != before {
		t.Errorf("after a restart %d bytes are counted, not %d: %v", again.extra, before, err)
	}
}

func TestDeletedObjectsLeaveTheirTables(t *testing.T) {
	// If this fails, somebody who declares and deletes queues or exchanges beside many others fills the memory with
	// arguments that count for nothing.
	t.Parallel()
	large := amqp.Table{textOf("note", strings.Repeat("x", 127<<10))}
	w := newWorld()
	must(t, w, open("a")...)
	const others, times = 200, 100
	declareExchange := func(name string, arguments amqp.Table) Command {
		d := &Definition{Name: name, Type: "fanout", Arguments: arguments}
		return Command{Kind: DeclareExchange, Channel: 1, Definition: d}
	}
	gone := &Definition{Name: "large"}
	for n := range others {
		must(t, w, declareWith(fmt.Sprint("q", n)), declareExchange(fmt.Sprint("x", n), nil))
	}
	for range times {
		must(t, w, declareWith("large", large...), Command{Kind: DeleteQueue, Channel: 1, Definition: gone})
		must(t, w, declareExchange("large", large), Command{Kind: DeleteExchange, Channel: 1, Definition: gone})
	}
	kept := 0
	for _, q := range w.v.ordered {
		if q.deleted && (q.object.Arguments != nil || q.messages != nil || q.settings != nil) {
			kept++
		}
	}
	for _, x := range w.v.exchanges {
		if !w.v.isThere(x) && x.Arguments != nil {
			kept++
		}
	}
	if kept > 0 {
		t.Errorf("%d of %d deleted objects have arguments", kept, 2*times)
	}
}

func TestDeletedQueuesKeepNoPlaces(t *testing.T) {
	// Broken if a virtual host whose queues were all deleted keeps something of each until another one is declared.
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	const n = 1000
	for i := range n {
		must(t, w, declareWith(fmt.Sprint("q", i)))
	}
	for i := range n {
		must(t, w, Command{Kind: DeleteQueue, Conn: 1, Channel: 1, Definition: &Definition{Name: fmt.Sprint("q", i)}})
		if left := n - 1 - i; len(w.v.ordered) > max(64, 2*left) {
			t.Fatalf("%d queues are left in %d places", left, len(w.v.ordered))
		}
	}
}

func TestCheckpointsAreMadeInPieces(t *testing.T) {
	// If this fails, a checkpoint of a virtual host with much in it takes several times its size in memory while it is
	// made.
	t.Parallel()
	large := amqp.Table{textOf("note", strings.Repeat("x", 100<<10))}
	w := newWorld()
	must(t, w, open("a")...)
	const queues, bindings = 40, 2000
	for n := range queues {
		must(t, w, declareWith(fmt.Sprint("q", n), large...))
	}
	for n := range bindings {
		d := &Definition{Source: "amq.topic", Name: fmt.Sprint("q", n%queues), RoutingKey: fmt.Sprint("key.", n)}
		must(t, w, Command{Kind: BindQueue, Channel: 1, Definition: d})
	}
	w.v.BeginCheckpoint(w.next() - 1)
	for w.v.SaveCheckpoint(7) {
	}
	pieces := w.v.EndCheckpoint()
	w.v.CheckpointStored(true)
	for i, p := range pieces {
		if len(p) > pieceBytes+128<<10 || cap(p) > 3*pieceBytes || i < len(pieces)-2 && len(p) < pieceBytes/2 {
			t.Errorf("piece %d of %d has %d bytes of %d", i, len(pieces), len(p), cap(p))
		}
	}
	restored := w.fresh()
	if err := restored.ApplyCheckpoint(slices.Concat(pieces...)); err != nil {
		t.Fatal(err)
	}
	if got, want := restored.Projection(), w.v.Projection(); !bytes.Equal(got, want) {
		t.Errorf("they lead to another state: %s", difference(got, want))
	}
}
