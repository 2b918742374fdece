package vhost

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// orphanCase makes many orphans with one command.
type orphanCase struct {
	name    string
	prepare func(declare func(name string, autoDelete bool), bind func(destination, source string))
	command Command
}

func orphanCases(n int) []orphanCase {
	queueDelete := Command{Kind: DeleteQueue, Channel: 1, Definition: &Definition{Name: "q"}}
	exchangeDelete := Command{Kind: DeleteExchange, Channel: 1, Definition: &Definition{Name: "x"}}
	unbind := Command{Kind: UnbindQueue, Channel: 1, Definition: &Definition{Name: "q", Source: "o0"}}
	chain := func(declare func(string, bool), bind func(string, string)) {
		for i := range n {
			declare(fmt.Sprint("o", i), true)
			if i > 0 {
				bind(fmt.Sprint("o", i-1), fmt.Sprint("o", i))
			}
		}
		bind("", "o0")
	}
	return []orphanCase{
		{"a queue at the end of a chain", chain, queueDelete},
		{"a binding at the end of a chain", chain, unbind},
		{"an exchange that all are bound to", func(declare func(string, bool), bind func(string, string)) {
			declare("x", false)
			for i := range n {
				declare(fmt.Sprint("o", i), true)
				bind("x", fmt.Sprint("o", i))
			}
		}, exchangeDelete},
	}
}

// prepareOrphans declares exchanges and binds them: an empty destination is the queue.
func prepareOrphans(t testing.TB, w *world, c orphanCase) {
	must(t, w, open("a")...)
	must(t, w, declareWith("q"))
	c.prepare(func(name string, autoDelete bool) {
		must(t, w, Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: name, Type: "direct", Durable: true, AutoDelete: autoDelete}})
	}, func(destination, source string) {
		b := Command{Kind: BindExchange, Channel: 1, Definition: &Definition{Name: destination, Source: source}}
		if destination == "" {
			b.Kind, b.Definition.Name = BindQueue, "q"
		}
		must(t, w, b)
	})
}

// orphansLeft lists the exchanges that orphanCases make.
func (v *VHost) orphansLeft() (names []string) {
	for x := range v.topo.Exchanges() {
		if len(x.Name) > 0 && x.Name[0] == 'o' {
			names = append(names, x.Name)
		}
	}
	return names
}

// TestOrphansAreDeletedInPortions says that a step deletes any number of auto-delete exchanges, that the answer comes
// before all are gone, that a restart or a checkpoint in between leaves some for ever, or that it deletes one that it
// must not.
func TestOrphansAreDeletedInPortions(t *testing.T) {
	t.Parallel()
	const n, most = 30, 4
	for _, c := range orphanCases(n) {
		w := newWorld()
		prepareOrphans(t, w, c)
		never := Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: "never bound", Type: "fanout", Durable: true, AutoDelete: true}}
		must(t, w, never, declareWith("other"))
		w.stepMax = most * workOfFact
		w.v.BoundSteps(w.stepMax)
		refused, err := w.step(c.command)
		portions, answered := 1, false
		for ; ; portions++ {
			if refused != nil || err != nil {
				t.Fatalf("%s: %v, %v", c.name, refused, err)
			}
			deleted := 0
			for i := range w.out.Facts {
				if w.out.Facts[i].Kind == fact.ExchangeDeleted {
					deleted++
				}
			}
			if deleted > most {
				t.Fatalf("%s: a step deletes %d exchanges", c.name, deleted)
			}
			answered = slices.ContainsFunc(w.out.Effects, func(e Effect) bool { return e.Kind == Done })
			if left := w.v.orphansLeft(); answered != (len(left) == 0) || answered == w.v.Busy(1) {
				t.Fatalf("%s: answered %t, busy %t, %d are left", c.name, answered, w.v.Busy(1), len(left))
			}
			w.seal()
			w.begin()
			if err := w.audit(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			for _, snapshot := range [][]byte{nil, w.v.snapshot()} {
				x := newWorld()
				x.log.batches, x.stepMax, x.now = slices.Clone(w.log.batches), w.stepMax, w.now
				if err := x.restart(snapshot); err != nil {
					t.Fatal(err)
				}
				x.seal()
				x.begin()
				if err := x.ticks(); err != nil {
					t.Fatal(err)
				}
				if left := x.v.orphansLeft(); len(left) > 0 || x.v.topo.Exchange("never bound") == nil {
					t.Fatalf("%s: after %d portions and a restart %d are left", c.name, portions, len(left))
				}
				if err := x.audit(); snapshot == nil && err != nil {
					t.Fatal(err)
				}
			}
			if answered {
				break
			}
			refused, err = w.step(Command{Kind: Tick})
		}
		if portions < n/most {
			t.Errorf("%s: %d portions", c.name, portions)
		}
	}
}

// TestOrphansThatAreBoundAgainStay says that a step deletes an exchange that has a binding again, or one that has only
// its name.
func TestOrphansThatAreBoundAgainStay(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := orphanCases(9)[2]
	prepareOrphans(t, w, c)
	must(t, w, declareWith("other"), Command{Kind: Connect, Conn: 2, Window: 1 << 40, Definition: &Definition{}}, Command{Kind: OpenChannel, Conn: 2, Channel: 2})
	w.stepMax = 2 * workOfFact
	w.v.BoundSteps(w.stepMax)
	must(t, w, c.command)
	must(t, w, Command{Kind: BindQueue, Channel: 2, Definition: &Definition{Name: "other", Source: "o7"}},
		Command{Kind: DeleteExchange, Channel: 2, Definition: &Definition{Name: "o8"}})
	for len(w.v.ongoing) > 0 && w.v.topo.Exchange("o8") != nil {
		must(t, w, Command{Kind: Tick})
	}
	must(t, w, Command{Kind: DeclareExchange, Channel: 2, Definition: &Definition{Name: "o8", Type: "direct", Durable: true, AutoDelete: true}})
	if err := w.ticks(); err != nil {
		t.Fatal(err)
	}
	if left := w.v.orphansLeft(); !slices.Equal(left, []string{"o7", "o8"}) {
		t.Errorf("%q are left", left)
	}
	if err := w.restart(nil); err != nil {
		t.Fatal(err)
	}
	if left := w.v.orphansLeft(); !slices.Equal(left, []string{"o7", "o8"}) {
		t.Errorf("after a restart %q are left", left)
	}
}
