package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// passage is what must become of a departure.
type passage struct {
	took    []vhost.QueueID // targets that have it, if its queue holds it for the others
	shelf   []slot          // letters that go on the shelf, if there is one
	held    vhost.Cause     // why it is held, 0 if it is not
	kept    bool
	arrived bool // somewhere
	door    bool // or it was refused by a queue that passes it on
}

// slot is where on the shelf a letter belongs.
type slot struct {
	cause  vhost.Cause
	target string
}

// checkPassage makes sure that a letter is with each target exactly once, held for it, or on the shelf for it.
// The outcome is Moved, the cause of a loss, or 0 if the copy is still in its queue.
func (w *world) checkPassage(st *step, d *departure, outcome vhost.Cause) *passage {
	e := d.from
	for i, l := range d.letters {
		switch {
		case l.line == w.live.shelf:
		case slices.Contains(e.took, l.line.id):
			w.violate(Held, "message %d, held in %q, came to %q a second time", e.message, e.line.name, l.line.name)
		case slices.ContainsFunc(d.letters[:i], func(o *entry) bool { return o.line == l.line }):
			w.violate(Moves, "message %d came twice from %q into %q", e.message, e.line.name, l.line.name)
		case d.set != nil && !slices.Contains(d.targets, l.line) && (l.line.kept == nil || !slices.Contains(d.keepers, l.line.name)):
			w.violate(Moves, "message %d came from %q into %q, which is no target: %+v", e.message, e.line.name, l.line.name, d.way)
		}
	}
	lost := func(l *entry) bool { return l.lost == vhost.LostHops }
	if d.set == nil || outcome == vhost.LostHops || slices.ContainsFunc(d.letters, lost) {
		return nil
	}
	p := w.foretell(st, d, outcome)
	if st.portions <= 1 { // else a target may have got room since it refused the letter
		w.checkShelved(d, p)
	}
	kept := w.live.number("lost-letters-max-bytes") > 0 && len(p.shelf) > 0
	gone := !p.kept && p.held == 0
	// Of a letter on its way to very many, some targets had refused it before.
	p.arrived = p.arrived || d.again && !d.waited && outcome == vhost.Moved && len(e.took) > 0
	switch {
	case gone == (outcome == 0):
		w.violate(Held, "message %d died of %v in %q: kept %t, held for %q, and ended as %q", e.message, d.deaths, e.line.name, p.kept, p.held, outcome)
	case gone && p.door && !p.arrived && !kept: // what it has become beyond that door may be lost, or not
	case gone && (p.arrived || kept || len(p.shelf) == 0) != (outcome == vhost.Moved):
		w.violate(Moves, "message %d died of %v in %q and ended as %q; some target has it: %t, it is lost: %v",
			e.message, d.deaths, e.line.name, outcome, p.arrived, p.shelf)
	case gone && outcome != vhost.Moved && !slices.ContainsFunc(p.shelf, func(x slot) bool { return x.cause == outcome }):
		w.violate(Shelf, "message %d died of %v in %q and is lost as %q, expected %v", e.message, d.deaths, e.line.name, outcome, p.shelf)
	}
	return p
}

// foretell works out what must become of a letter, target by target.
func (w *world) foretell(st *step, d *departure, outcome vhost.Cause) *passage {
	e := d.from
	holds := d.waited || d.set.AtLeastOnce
	p := &passage{took: slices.Clone(e.took)}
	switch {
	case d.nowhere == 0:
	case len(e.took) > 0 && d.nowhere == vhost.LostRoute: // the targets that lack it are no targets any more
		p.shelf, p.arrived = nil, true
	case holds && d.nowhere != vhost.GoneLimit:
		p.held = d.nowhere
	default:
		p.shelf = []slot{{d.nowhere, ""}}
		if d.nowhere == vhost.GoneLimit { // it can go back
			p.shelf[0].target = e.line.name
		}
	}
	w.foretellKept(d, p, holds)
	var circling []*line
	for _, q := range d.targets {
		came := slices.ContainsFunc(d.letters, func(l *entry) bool { return l.line == q })
		view := w.view(st, q)
		switch {
		case view == nil || slices.Contains(e.took, q.id):
		case came && d.cycles(q):
			w.violate(Moves, "message %d died of %v and came to %q again", e.message, d.deaths, q.name)
		case d.cycles(q):
			circling = append(circling, q)
		case !came && d.waited && outcome == 0 && !slices.Contains(d.noted, q.id): // it was tried for another one
			p.held = vhost.LostRefused
		case came:
			p.arrived = true
			p.took = append(p.took, q.id)
			if n, bytes := q.queued(true); d.astray == 0 && st.portions <= 1 && !q.quorum && !dropsHead(view.Settings.Overflow) &&
				(view.Settings.MaxLength >= 0 && int64(n) > view.Settings.MaxLength || view.Settings.MaxLengthBytes >= 0 && bytes > view.Settings.MaxLengthBytes) {
				w.violate(Limits, "message %d came from %q into %q, which was full", e.message, e.line.name, q.name)
			}
		default:
			w.lacks(d, p, q, view)
		}
	}
	p.kept = len(circling) > 0 && d.set.CycleKeep && d.reason() == "expired" && !d.again && p.held == 0 && !p.arrived && !p.door && len(p.shelf) == 0
	if p.kept {
		return p
	}
	for _, q := range circling {
		switch {
		case !holds:
			p.shelf = append(p.shelf, slot{vhost.LostCycle, q.name})
		case p.held == 0:
			p.held = vhost.LostCycle
		}
	}
	return p
}

// lacks looks at a target that a letter did not come to: it must be full.
func (w *world) lacks(d *departure, p *passage, q *line, view *vhost.QueueView) {
	e := d.from
	_, passesOn := view.Settings.DLX()
	switch {
	case !full(view, q, e.bytes, true):
		w.violate(Moves, "message %d left %q and did not arrive in %q: %+v, headers %v", e.message, e.line.name, q.name, d.way, w.messages[e.message].headers)
	case view.Settings.Overflow == vhost.RejectPublishDLX && passesOn:
		p.door = true
		p.took = append(p.took, q.id)
	case d.waited || d.set.AtLeastOnce:
		p.held = vhost.LostRefused
	default:
		p.shelf = append(p.shelf, slot{vhost.LostRefused, q.name})
	}
}

// cycles reports whether the letter must not come to a queue again.
func (d *departure) cycles(q *line) bool {
	return cycles(d.deaths, q.name)
}
