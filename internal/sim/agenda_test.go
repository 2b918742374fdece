package sim

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// agenda is a life in which everything is for later, step by step. After a crash it goes on with the next step, as far
// as there is something to take it with. House is kept with other clients' work beside it.
type agenda struct{ *world }

var agendaSteps = []func(*agenda){
	func(a *agenda) {
		a.ask(vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: "q0", Durable: true}})
		a.ask(vhost.Command{Kind: vhost.DeclareExchange, Definition: &vhost.Definition{Name: "x0", Type: topology.DelayedType, Durable: true, Arguments: amqp.Table{
			{Name: topology.DelayedBy, Value: amqp.String("fanout")},
		}}})
		a.ask(vhost.Command{Kind: vhost.BindQueue, Definition: &vhost.Definition{Source: "x0", Name: "q0"}})
		a.ask(vhost.Command{Kind: vhost.SelectConfirms})
	},
	func(a *agenda) { a.send(100, 100, 100, 200, 200, 3000, 3000, 3000) },
	(*agenda).maintain,
	func(a *agenda) { a.about(vhost.Reschedule, 0, 5) },
	func(a *agenda) { a.about(vhost.Unschedule, 1, 6) },
	(*agenda).maintain,
	func(a *agenda) { a.about(vhost.FireNow, 0) },
	func(a *agenda) { a.wait(120) },
	(*agenda).stop,
	func(a *agenda) { a.about(vhost.Unschedule, 0); a.send(50, 50) },
	func(a *agenda) { a.wait(60) },
	(*agenda).maintain,
	func(a *agenda) { // what is due leads nowhere
		a.ask(vhost.Command{Kind: vhost.UnbindQueue, Definition: &vhost.Definition{Source: "x0", Name: "q0"}})
		a.wait(100)
	},
	func(a *agenda) {
		a.ask(vhost.Command{Kind: vhost.DeleteExchange, Definition: &vhost.Definition{Name: "x0"}})
		a.about(vhost.Reschedule, 0)
	},
	(*agenda).maintain,
	(*agenda).stop,
	func(a *agenda) { a.wait(10_000) },
}

// keep takes the steps.
func (a *agenda) keep() error {
	for i, step := range agendaSteps {
		if a.step = i + 1; a.violation == nil {
			step(a)
		}
		if a.violation == nil {
			a.settle()
		}
	}
	if a.violation == nil {
		a.end()
	}
	if a.violation != nil {
		return a.violation
	}
	return nil
}

// ask has a command decided on a channel, a new one if there is none.
func (a *agenda) ask(c vhost.Command) {
	if len(a.Connections) == 0 && a.violation == nil {
		a.decide(a.Connect())
	}
	if len(a.Connections) > 0 && len(a.Connections[0].Channels) == 0 && a.violation == nil {
		a.decide(a.OpenChannel(a.Connections[0]))
	}
	if a.violation != nil || len(a.Connections) == 0 || len(a.Connections[0].Channels) == 0 {
		return // the disk has failed meanwhile
	}
	c.Conn, c.Channel = a.Connections[0].ID, a.Connections[0].Channels[0].ID
	a.decide(c)
}

// send publishes messages that are due after so many ms; every second one is transient.
func (a *agenda) send(delays ...int64) {
	if a.vhost.Topology().Exchange("x0") == nil {
		return
	}
	for i, delay := range delays {
		m := &clients.Message{TTL: -1, Persistent: i%2 == 0, Exchange: "x0", Keys: []string{""}, Delay: delay}
		m.Headers = amqp.Table{{Name: "x-delay", Value: amqp.Int64(delay)}}
		c := a.Compose(m, nil, "", 50)
		c.Exchange = []byte("x0")
		a.ask(c)
	}
}

// about asks for something with some of what waits, counted from the oldest.
func (a *agenda) about(k vhost.CommandKind, which ...int) {
	s := &vhost.Selection{At: a.stamp().Wall + deadline.Instant(150)}
	if q := a.live.ScheduleOf("x0"); q != nil {
		for _, n := range which {
			if there := q.Seqs(); n < len(there) {
				s.Scheduled = append(s.Scheduled, vhost.ScheduledID{Schedule: q.ID, Number: uint64(there[n])})
			}
		}
	}
	a.ask(vhost.Command{Kind: k, Selection: s})
}

// wait lets so many ms pass.
func (a *agenda) wait(milliseconds int64) {
	a.clock += milliseconds * 1_000_000
	a.tick()
}

// maintain takes a checkpoint, with all that is in memory in pages.
func (a *agenda) maintain() {
	a.settle()
	a.keepAllHouse(func() bool { return a.violation == nil })
}

// stop ends and begins anew.
func (a *agenda) stop() { a.restart() }

// eventful finds a life in which the steps lead to all that may happen to what is scheduled: in some, little is left
// when what is due leads nowhere.
func eventful(t *testing.T) (seed uint64, plain *agenda) {
	t.Helper()
	missing := ""
	for seed = range 20 {
		plain, missing = &agenda{newWorld(Options{Seed: seed})}, ""
		if err := plain.keep(); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"postponed", "fired", "lost", "answer rescheduled", "answer cancelled", "answer fired"} {
			if plain.result.Scheduled[what] == 0 {
				missing = what
			}
		}
		if missing == "" {
			return seed, plain
		}
	}
	t.Fatalf("nothing was %q in 20 lives", missing)
	return 0, nil
}

func TestScheduledAtEveryCall(t *testing.T) {
	t.Parallel()
	// Some call of the disk, in scheduling, moving, cancelling, firing, in pages or in a checkpoint of these, must not
	// fail, or not be the last before the power goes.
	seed, plain := eventful(t)
	calls := plain.faulty.Calls()
	t.Logf("seed %d: %d calls of the disk, %d pages", seed, calls, plain.result.Paged)
	for _, f := range []Fault{FaultPower, FaultOnce, FaultAlways} {
		for at := 1; at <= calls; at++ {
			a := &agenda{newWorld(Options{Seed: seed, Fault: f, At: at})}
			if err := a.keep(); err != nil {
				t.Fatalf("fault %d at call %d: %v", f, at, err)
			}
		}
	}
}
