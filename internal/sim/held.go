package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// withheld checks that a dead letter is held for those that lack it, and notes who has it by what was seen to
// arrive.
func (w *world) withheld(st *step, e *ledger.Entry, f *fact.Fact) {
	w.remember(st, f.History)
	deaths := w.contents[f.History].deaths
	ways := func(r string) bool { return slices.Equal(deaths, w.live.Died(e.Deaths, e.Line.Name, r)) }
	switch again := e.State == queue.Held; {
	case again && !slices.Equal(deaths, e.Deaths):
		w.violate(Deaths, "message %d, held in %q with %v, is held with %v", e.Message, e.Line.Name, e.Deaths, deaths)
	case !again && !slices.ContainsFunc(ledger.Reasons[:], ways):
		w.violate(Deaths, "message %d in %q had %v and is held with %v", e.Message, e.Line.Name, e.Deaths, deaths)
	case !again && w.lowMemory && !st.publishes() && !w.continues(st) && w.pauses(e.Line, w.view(st, e.Line)):
		w.violate(Held, "message %d is held in %q, which holds others, and memory is short", e.Message, e.Line.Name)
	case !again:
		w.ways[f.History] = e.Way
		w.cameBack(e)
	}
	before := e.Took
	d := w.depart(st, e, deaths)
	d.noted = f.Took
	if len(f.Took) > 0 {
		w.result.Partly++
	}
	if f.Cause == fact.Moved {
		w.onItsWay(st, d)
		w.holds(e, f, deaths)
		return
	}
	tooFar := fact.Cause(0)
	if f.Cause == fact.LostHops {
		tooFar = fact.LostHops
	}
	if p := w.checkHop(st, d, tooFar); p != nil {
		if p.held != f.Cause {
			w.violate(Held, "message %d is held in %q for %q, expected %q", e.Message, e.Line.Name, f.Cause, p.held)
		}
		got, want := slices.Sorted(slices.Values(f.Took)), slices.Sorted(slices.Values(p.took))
		if !slices.Equal(got, want) {
			w.violate(Held, "message %d is held in %q, and queues %v have it, expected %v", e.Message, e.Line.Name, got, want)
		}
	}
	for _, id := range before {
		if !slices.Contains(f.Took, id) {
			w.violate(Held, "message %d is held in %q, and that queue %d has it is forgotten", e.Message, e.Line.Name, id)
		}
	}
	w.holds(e, f, deaths)
}

// holds notes that a dead letter is held.
func (w *world) holds(e *ledger.Entry, f *fact.Fact, deaths []ledger.Death) {
	w.result.Held[f.Cause]++
	if e.Off {
		w.goesOnLow()
	}
	w.lately.now++
	if e.Holder != nil {
		holderOf(e).LetGo()
		e.Holder = nil
	}
	e.Hold(f, deaths)
}

// onItsWay checks a portion of a dead letter for very many queues: what it has come to is noted, and nothing
// else new.
func (w *world) onItsWay(st *step, d *departure) {
	e := d.from
	for _, id := range e.Took {
		if !slices.Contains(d.noted, id) {
			w.violate(Held, "message %d is held in %q, and that queue %d has it is forgotten", e.Message, e.Line.Name, id)
		}
	}
	for _, l := range d.deadLetters {
		if slices.Contains(e.Took, l.Line.ID) || !slices.Contains(d.noted, l.Line.ID) && l.Line.Kept == nil && l.Line != w.live.LostStore {
			w.violate(Held, "message %d came from %q to %q, queues %v had it, and %v are noted", e.Message, e.Line.Name, l.Line.Name, e.Took, d.noted)
		}
	}
	for _, id := range d.noted {
		came := slices.ContainsFunc(d.deadLetters, func(l *ledger.Entry) bool { return l.Line.ID == id })
		if came || slices.Contains(e.Took, id) {
			continue
		}
		q := w.live.Line(id)
		if q == nil || q.Kept != nil {
			continue
		}
		if view := w.view(st, q); view != nil && !full(view, q, e.Bytes, true) && d.astray == 0 {
			w.violate(Held, "message %d is on its way from %q, queue %d has space, is noted and did not get it",
				e.Message, e.Line.Name, id)
		}
	}
}

// stays checks that a copy is kept in its queue because it would only come round in a cycle.
func (w *world) stays(st *step, e *ledger.Entry) {
	d := w.depart(st, e, w.live.Died(e.Deaths, e.Line.Name, "expired"))
	p := w.checkHop(st, d, 0)
	switch {
	case len(d.deadLetters)+d.astray > 0:
		w.violate(Kept, "message %d stays in %q, and dead letters of it have left", e.Message, e.Line.Name)
	case p != nil && !p.kept:
		w.violate(Kept, "message %d stays in %q, and there is no cycle: %+v", e.Message, e.Line.Name, p)
	}
	e.Keep()
}

// retriesMax is how long a held dead letter that nothing blocks may stay, ms. Topology, policies and space
// call for it at once, but where there are very many, or were in the last manyFor ms: then for perMessage ms
// more for each, since a sweep that has to read every one of them is followed by a pause as long.
const (
	retriesMax = 1000
	perMessage = 5
	manyFor    = 60_000
)

// heldLately counts the dead letters that were held: since an instant, and in the time before.
type heldLately struct {
	since       deadline.Instant
	now, before int
}

// checkRetried makes sure, after time has passed, that held dead letters leave when nothing keeps them any
// more.
func (w *world) checkRetried(now deadline.Instant) {
	h := &w.lately
	if now > h.since+manyFor {
		h.before, h.now, h.since = h.now, 0, now
	}
	patience := deadline.Instant(retriesMax + perMessage*(h.before+h.now))
	if w.o.Portions > 0 {
		patience *= 10 // each portion of a sweep reads a dead letter anew
	}
	for _, q := range w.live.Lines {
		if q.Counts[queue.Held] == 0 {
			continue
		}
		view, ok := w.vhost.Reader().Queue(q.Name)
		if !ok {
			continue
		}
		for _, e := range q.Copies {
			if e.Open = e.OpenUnless(w.cramped); e.State == queue.Held && !w.cramped {
				w.checkBlocked(e, &view, now, patience)
			}
		}
	}
}

// checkBlocked looks at one held dead letter, target by target: none may have space for it longer than
// patience, ms.
func (w *world) checkBlocked(e *ledger.Entry, from *vhost.QueueView, now, patience deadline.Instant) {
	to := e.Way
	if k, has := from.Settings.DLRK(); has {
		to.Keys = []string{k}
	}
	name, has := from.Settings.DLX()
	if !has || to.Keys == nil {
		e.Open = nil
		return
	}
	to.Exchange = name
	ids, _, _ := w.route(to, e)
	was := e.Open
	e.Open = map[fact.QueueID]deadline.Instant{}
	for _, id := range ids {
		target, ok := w.live.Lines[id]
		if !ok || slices.Contains(e.Took, id) {
			continue
		}
		view, ok := w.vhost.Reader().Queue(target.Name)
		if !ok || e.Lost == fact.LostHops || ledger.Cycles(e.Deaths, target.Name) ||
			full(&view, target, e.Bytes, true) {
			continue
		}
		since, known := was[id]
		if !known {
			since = now
		}
		e.Open[id] = since
		if now > since+patience {
			w.violate(Held, "message %d is held in %q, and %q could have it since %d, it is %d", e.Message, e.Line.Name, target.Name, since, now)
		}
	}
}
