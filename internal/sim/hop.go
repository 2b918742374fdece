package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// hop is what has to happen to a dead letter that leaves its queue.
type hop struct {
	took     []fact.QueueID // targets that have it, if its queue holds it for the others
	lost     []lostSlot     // dead letters that go in the lost store, if there is one
	held     fact.Cause     // why it is held, 0 if it is not
	kept     bool
	arrived  bool // somewhere
	passedOn bool // or it was refused by a queue that passes it on
}

// lostSlot is where in the lost store a dead letter belongs.
type lostSlot struct {
	cause  fact.Cause
	target string
}

// checkHop makes sure that a dead letter is with each target exactly once, held for it, or in the lost store
// for it. The outcome is Moved, the cause of a loss, or 0 if the copy is still in its queue.
func (w *world) checkHop(st *step, d *departure, outcome fact.Cause) *hop {
	e := d.from
	for i, l := range d.deadLetters {
		switch {
		case l.Line == w.live.LostStore:
		case slices.Contains(e.Took, l.Line.ID):
			w.violate(Held, "message %d, held in %q, came to %q a second time", e.Message, e.Line.Name, l.Line.Name)
		case slices.ContainsFunc(d.deadLetters[:i], func(o *ledger.Entry) bool { return o.Line == l.Line }):
			w.violate(Moves, "message %d came twice from %q into %q", e.Message, e.Line.Name, l.Line.Name)
		case d.set != nil && !slices.Contains(d.targets, l.Line) && (l.Line.Kept == nil || !slices.Contains(d.keepers, l.Line.Name)):
			w.violate(Moves, "message %d came from %q into %q, which is no target: %+v", e.Message, e.Line.Name, l.Line.Name, d.way)
		}
	}
	lost := func(l *ledger.Entry) bool { return l.Lost == fact.LostHops }
	if d.set == nil || outcome == fact.LostHops || slices.ContainsFunc(d.deadLetters, lost) {
		return nil
	}
	p := w.expectHop(st, d, outcome)
	if st.portions <= 1 { // else a target may have got space since it refused the dead letter
		w.checkAllStored(d, p)
	}
	kept := w.live.Number("lost-letters-max-bytes") > 0 && len(p.lost) > 0
	gone := !p.kept && p.held == 0
	// Of a dead letter on its way to very many, some targets had refused it before.
	p.arrived = p.arrived || d.again && !d.waited && outcome == fact.Moved && len(e.Took) > 0
	switch {
	case gone == (outcome == 0):
		w.violate(Held, "message %d died of %v in %q: kept %t, held for %q, and ended as %q", e.Message, d.deaths, e.Line.Name, p.kept, p.held, outcome)
	case gone && p.passedOn && !p.arrived && !kept: // what it has become beyond that queue may be lost, or not
	case gone && (p.arrived || kept || len(p.lost) == 0) != (outcome == fact.Moved):
		w.violate(Moves, "message %d died of %v in %q and ended as %q; some target has it: %t, it is lost: %v",
			e.Message, d.deaths, e.Line.Name, outcome, p.arrived, p.lost)
	case gone && outcome != fact.Moved && !slices.ContainsFunc(p.lost, func(x lostSlot) bool { return x.cause == outcome }):
		w.violate(LostStore, "message %d died of %v in %q and is lost as %q, expected %v", e.Message, d.deaths, e.Line.Name, outcome, p.lost)
	}
	return p
}

// expectHop works out what must become of a dead letter, target by target.
func (w *world) expectHop(st *step, d *departure, outcome fact.Cause) *hop {
	e := d.from
	holds := d.waited || d.set.AtLeastOnce
	p := &hop{took: slices.Clone(e.Took)}
	switch {
	case d.nowhere == 0:
	case len(e.Took) > 0 && d.nowhere == fact.LostRoute: // the targets that lack it are no targets any more
		p.lost, p.arrived = nil, true
	case holds && d.nowhere != fact.GoneLimit:
		p.held = d.nowhere
	default:
		p.lost = []lostSlot{{d.nowhere, ""}}
		if d.nowhere == fact.GoneLimit { // it can go back
			p.lost[0].target = e.Line.Name
		}
	}
	w.expectDelayed(d, p, holds)
	var circling []*ledger.Line
	for _, q := range d.targets {
		came := d.came(q)
		view := w.view(st, q)
		switch {
		case slices.Contains(e.Took, q.ID):
		case came && d.cycles(q):
			w.violate(Moves, "message %d died of %v and came to %q again", e.Message, d.deaths, q.Name)
		case d.cycles(q):
			circling = append(circling, q)
		case !came && d.waited && outcome == 0 && !slices.Contains(d.noted, q.ID): // it was tried for another one
			p.held = fact.LostRefused
		case came:
			p.arrived = true
			p.took = append(p.took, q.ID)
			if view != nil && d.astray == 0 && st.portions <= 1 {
				w.checkHasSpace(st, d, q, &view.Settings)
			}
		default:
			w.checkMissed(d, p, q, view)
		}
	}
	p.kept = len(circling) > 0 && d.set.CycleKeep && d.reason() == "expired" && !d.again && p.held == 0 && !p.arrived && !p.passedOn && len(p.lost) == 0
	if p.kept {
		return p
	}
	for _, q := range circling {
		switch {
		case !holds:
			p.lost = append(p.lost, lostSlot{fact.LostCycle, q.Name})
		case p.held == 0:
			p.held = fact.LostCycle
		}
	}
	return p
}

// checkHasSpace makes sure that a target had space for a dead letter that came to it.
func (w *world) checkHasSpace(st *step, d *departure, q *ledger.Line, set *vhost.Settings) {
	n, bytes := q.Queued(true)
	away, bytesAway := w.away(st, q)
	if !q.Quorum && !dropsHead(set.Overflow) &&
		(set.MaxLength >= 0 && int64(n-away) > set.MaxLength || set.MaxLengthBytes >= 0 && bytes-bytesAway > set.MaxLengthBytes) {
		w.violate(Limits, "message %d came from %q into %q, which was full", d.from.Message, d.from.Line.Name, q.Name)
	}
}

// checkMissed looks at a target that a dead letter did not come to: it must be full.
func (w *world) checkMissed(d *departure, p *hop, q *ledger.Line, view *vhost.QueueView) {
	e := d.from
	_, passesOn := view.Settings.DLX()
	switch {
	case !full(view, q, e.Bytes, true):
		w.violate(Moves, "message %d left %q and did not arrive in %q: %+v, headers %v", e.Message, e.Line.Name, q.Name, d.way, w.Messages[e.Message].Headers)
	case view.Settings.Overflow == vhost.RejectPublishDLX && passesOn:
		p.passedOn = true
		p.took = append(p.took, q.ID)
	case d.waited || d.set.AtLeastOnce:
		p.held = fact.LostRefused
	default:
		p.lost = append(p.lost, lostSlot{fact.LostRefused, q.Name})
	}
}

// came reports whether a queue has got the dead letter.
func (d *departure) came(q *ledger.Line) bool {
	return slices.ContainsFunc(d.deadLetters, func(l *ledger.Entry) bool { return l.Line == q })
}

// cycles reports whether the dead letter must not come to a queue again.
func (d *departure) cycles(q *ledger.Line) bool {
	return ledger.Cycles(d.deaths, q.Name)
}
