package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// off checks how a message of a schedule ends.
func (w *world) off(st *step, e *ledger.Entry) {
	k := st.command.Kind
	switch e.Cause {
	case fact.Fired, fact.LostExchange, fact.LostRoute, fact.LostCycle, fact.LostRefused:
		w.fired(st, e)
	case fact.Unscheduled:
		replaced := (k == vhost.Publish || k == vhost.CommitTx) && e.Keyed && w.replaces(e) != nil
		if !replaced && !st.names(vhost.Unschedule, e) {
			w.violate(Schedule, "message %d of %q was cancelled by command %d", e.Message, e.Line.Name, k)
		}
		if replaced {
			w.result.Scheduled["replaced"]++
		}
	case fact.GonePurged:
		if k != vhost.PurgeSchedule || st.command.Definition.Name != e.Line.Name {
			w.violate(Schedule, "message %d of %q was purged by command %d", e.Message, e.Line.Name, k)
		}
		w.result.Scheduled["purged"]++
	default:
		w.violate(Schedule, "message %d of %q ended as %q", e.Message, e.Line.Name, e.Cause)
	}
}

// replaces finds the later message that waits under the key of a copy.
func (w *world) replaces(e *ledger.Entry) *ledger.Entry {
	for _, o := range e.Line.Copies {
		if o.Seq > e.Seq && o.Keyed && w.Messages[o.Message].Key == w.Messages[e.Message].Key {
			return o
		}
	}
	return nil
}

// flight is what became of a message that fired.
type flight struct {
	from     *ledger.Entry
	came     []*ledger.Entry // into queues
	lost     []lostSlot      // and into the lost store
	astray   int             // by way of queues that kept it out
	hops     bool            // some of these went too far
	arrived  bool            // a queue has it
	passedOn bool            // a queue kept it out that passes it on
}

// fired checks that a message was due, or that somebody had it fired; that it has come to each queue to which its
// exchange leads by then, once; and that whatever found no place is in the lost store.
func (w *world) fired(st *step, e *ledger.Entry) {
	if due := st.ticks() && e.Until <= st.stamp.Now; !due && !st.names(vhost.FireNow, e) {
		w.violate(Schedule, "message %d of %q fired at %d by command %d, it is due at %d", e.Message, e.Line.Name, st.stamp.Now, st.command.Kind, e.Until)
	}
	w.result.Scheduled["fired"]++
	if e.Resent.Job != 0 { // a queue may refuse it and pass it on, again and again: no copy tells of that
		w.jobRecoveries[e.Resent.Job], w.backs[e.Resent.Job] = -1, math.MaxUint32
	}
	f := w.takeOff(st, e)
	if st.structural || e.Way.Keys == nil {
		return // where it went is not known any more
	}
	var want []lostSlot
	ids, _, there := w.route(ledger.Way{Exchange: e.Line.Name, Keys: e.Way.Keys}, e)
	switch {
	case !there:
		want = []lostSlot{{fact.LostExchange, ""}}
	case len(ids) == 0:
		want = []lostSlot{{fact.LostRoute, ""}}
	}
	for _, l := range f.came {
		if !slices.Contains(ids, l.Line.ID) {
			w.violate(Schedule, "message %d fired in %q and came to %q, where it does not lead", e.Message, e.Line.Name, l.Line.Name)
		}
	}
	for _, id := range ids {
		if lost := w.landed(st, f, w.live.Lines[id]); lost.cause != 0 {
			want = append(want, lost)
		}
	}
	w.checkLanded(f, want)
}

// takeOff finds what a message has become that fired: it came before the fact that tells so.
func (w *world) takeOff(st *step, e *ledger.Entry) *flight {
	f := &flight{from: e}
	to := e.Way // a dead letter is on its way from the exchange that it died to
	if !e.HasHistory {
		to.Exchange = e.Line.Name
	}
	rest := st.deadLetters[:0]
	for _, l := range st.deadLetters {
		switch {
		case l.Message != e.Message || !w.live.Passes(l.Deaths, e.Deaths):
			rest = append(rest, l)
			continue
		case !slices.Equal(l.Deaths, e.Deaths):
			f.astray++
			f.hops = f.hops || l.Lost == fact.LostHops
			continue
		case l.Line == w.live.LostStore: // it goes on from where it waited: the other ways that it had were gone
			f.lost = append(f.lost, lostSlot{l.Lost, l.Way.Target})
			w.went(l, ledger.Way{Exchange: e.Line.Name, Keys: to.Keys})
		default:
			f.came = append(f.came, l)
			w.went(l, to)
		}
	}
	st.deadLetters = rest
	for _, l := range st.arrivals {
		if l.Message != e.Message {
			w.violate(Schedule, "message %d arrived in %q when message %d fired", l.Message, l.Line.Name, e.Message)
		}
	}
	f.came = append(f.came, st.arrivals...)
	st.arrivals = nil
	return f
}

// landed looks at one queue to which a message leads that fired, and tells how it is lost there; the zero slot if it is
// not.
func (w *world) landed(st *step, f *flight, q *ledger.Line) lostSlot {
	if q == nil {
		return lostSlot{}
	}
	e, view := f.from, w.view(st, q)
	came := 0
	for _, l := range f.came {
		if l.Line == q {
			came++
		}
	}
	circles := e.HasHistory && ledger.Cycles(e.Deaths, q.Name)
	switch {
	case came > 1:
		w.violate(Schedule, "message %d fired in %q and came %d times to %q", e.Message, e.Line.Name, came, q.Name)
	case came == 1 && circles:
		w.violate(Schedule, "message %d, which died of %v, fired in %q and came to %q again", e.Message, e.Deaths, e.Line.Name, q.Name)
	case circles:
		return lostSlot{fact.LostCycle, q.Name}
	case came == 1:
		f.arrived = true
	case view == nil:
	case !full(view, q, e.Bytes, e.HasHistory):
		w.violate(Schedule, "message %d fired in %q and did not come to %q", e.Message, e.Line.Name, q.Name)
	default:
		if _, passesOn := view.Settings.DLX(); view.Settings.Overflow == vhost.RejectPublishDLX && passesOn {
			f.passedOn = true
			return lostSlot{}
		}
		return lostSlot{fact.LostRefused, q.Name}
	}
	return lostSlot{}
}

// checkLanded makes sure that what found no place is in the lost store, if there is one, and that the message ended
// accordingly.
func (w *world) checkLanded(f *flight, lost []lostSlot) {
	e, there := f.from, w.live.Number("lost-letters-max-bytes") > 0
	order := func(a, b lostSlot) int { return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.cause, b.cause)) }
	want := slices.Clone(lost)
	if !there {
		want = nil
	}
	slices.SortFunc(f.lost, order)
	slices.SortFunc(want, order)
	if !slices.Equal(f.lost, want) {
		w.violate(Schedule, "message %d fired in %q, and the lost store has %v, expected %v", e.Message, e.Line.Name, f.lost, want)
	}
	if len(lost) > 0 {
		w.result.Scheduled["lost"]++
	}
	as := func(x lostSlot) bool { return x.cause == e.Cause }
	switch placed := f.arrived || len(want) > 0; {
	case !placed && f.passedOn: // what it has become beyond that queue may be lost, or not
	case placed != (e.Cause == fact.Fired), !placed && !slices.ContainsFunc(lost, as):
		w.violate(Schedule, "message %d fired in %q and ended as %q; a queue has it: %t, it is lost: %v", e.Message, e.Line.Name, e.Cause, f.arrived, lost)
	}
}

// expectDelayed works out what becomes of a dead letter at the delayed exchanges that it comes by.
func (w *world) expectDelayed(d *departure, p *hop, holds bool) {
	e, full := d.from, false
	for _, name := range d.keepers {
		q := w.live.ScheduleOf(name)
		came := q != nil && slices.ContainsFunc(d.deadLetters, func(l *ledger.Entry) bool { return l.Line == q })
		x := w.vhost.Topology().Exchange(name)
		switch {
		case q != nil && slices.Contains(e.Took, q.ID):
		case w.Messages[e.Message].Nonsense:
			p.lost = append(p.lost, lostSlot{fact.LostRefused, ""})
			if holds && q != nil {
				p.took = append(p.took, q.ID)
			}
		case came:
			p.arrived = true
			p.took = append(p.took, q.ID)
			w.result.Scheduled["letters"]++
		case w.keeps(x, ""):
			w.violate(Schedule, "message %d died of %v in %q and does not wait in %q", e.Message, d.deaths, e.Line.Name, name)
		default:
			full = true
		}
	}
	switch {
	case full && holds:
		p.held = fact.LostRefused
	case full:
		p.lost = append(p.lost, lostSlot{fact.LostRefused, ""})
	}
}
