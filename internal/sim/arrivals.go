package sim

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// arrived notes when a client published a copy as a dead letter. One that was moved may have
// arrived later than now: the wall clock can be set back.
func (w *world) arrived(st *step, e *ledger.Entry, at deadline.Instant) {
	if at == 0 || e.Arrived != 0 || len(e.Deaths) > 0 {
		w.violate(Arrivals, "message %d in %q, which died of %v, arrived at %d, after %d; it is %d",
			e.Message, e.Line.Name, e.Deaths, at, e.Arrived, st.stamp.Wall)
	}
	e.Arrived = at
}

// checkArrivals makes sure that what was published to a marked queue arrived now.
func (w *world) checkArrivals(st *step) {
	if !st.publishes() || st.portions > 1 {
		return
	}
	for i := range st.facts {
		f := &st.facts[i]
		if f.Kind != fact.Enqueued || f.Queue == ledger.LostStoreID {
			continue
		}
		e := w.live.Find(f.Queue, f.Seq)
		if e == nil || e.Line.Kept != nil || len(e.Deaths) > 0 {
			continue
		}
		view, want := w.view(st, e.Line), deadline.Instant(0)
		if view != nil && view.Settings.DLQ == vhost.Marked {
			want = st.stamp.Wall
		}
		if e.Arrived != want {
			w.violate(Arrivals, "message %d came to %q at %d, which says %d", e.Message, e.Line.Name, want, e.Arrived)
		}
	}
}

// checkArrival makes sure that a dead letter keeps its arrival when a job moves it; l is what it
// has become.
func (w *world) checkArrival(e, l *ledger.Entry) {
	stays := l.Line == w.live.LostStore || l.DeadLetter()
	if e.Arrived == 0 || len(l.Deaths) > 0 || l.Line.Kept != nil || l.Arrived == e.Arrived || l.Arrived == 0 && !stays {
		return
	}
	w.violate(Arrivals, "message %d, which came to %q at %d, was moved to %q, which says %d",
		e.Message, e.Line.Name, e.Arrived, l.Line.Name, l.Arrived)
}
