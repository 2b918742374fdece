package sim

import (
	"errors"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// space is the first use for which the disk has space, as the engine knows it.
func (w *world) spaceFor() journal.Use {
	if !w.full {
		return journal.Growing
	}
	return max(w.journal.SpaceFor(), journal.Moving)
}

// makeReserve completes the reserve when a broker starts, before anything is decided. The error is the end of the
// broker.
func (w *world) makeReserve() error {
	for w.journal.LacksReserve() {
		if _, err := w.journal.Prepare(true); errors.Is(err, vfs.ErrCrashed) {
			return err
		} else if err != nil {
			w.full = true
			return nil
		}
	}
	return nil
}

// keepReserve completes the reserve before a group is written, and reports whether it may be: else maintenance has to
// run first. If the reserve cannot be completed, what grows has to wait.
func (w *world) keepReserve() bool {
	j := w.journal
	switch {
	case w.full || !j.LacksReserve():
		return true
	case w.interleaving:
		return false
	}
	err := j.Reserve(1, journal.Growing)
	if err == nil {
		return true
	}
	w.full = true
	return errors.Is(err, journal.ErrNoSpace) || w.survive(err) || w.journal == j && !errors.Is(err, journal.ErrFailed)
}

// updateSpace tells the machine whether dead letters may move, and reports whether anything may be decided.
// In some lives dead letters may not move for a while although there is space.
func (w *world) updateSpace() bool {
	if w.violation != nil || w.vhost == nil || w.torn {
		return false
	}
	use := w.spaceFor()
	if n := w.journal.Stats().Spares; use == journal.Moving && n < 2 && w.full {
		w.violate(Drains, "dead letters may move on a full disk, and there are %d segments for what drains it", n)
	}
	switch {
	case w.forced && (w.Chance(30) || w.o.Fault != FaultNone):
		w.forced = false
	case !w.forced && w.o.Fault == FaultNone && w.step > 0 && w.Chance(300):
		w.forced = true
	}
	low := w.lowMemory
	switch {
	case low && (w.ending || w.Chance(60)):
		low = false
	case !low && !w.ending && w.step > 0 && w.Chance(200):
		low = true
	}
	if cramped := use > journal.Moving || w.forced; cramped != w.cramped || low != w.lowMemory {
		w.cramped, w.lowMemory = cramped, low
		recoveries := w.result.Recoveries
		w.decide(vhost.Command{Kind: vhost.SetSpace, Space: !cramped, Memory: !low})
		if w.violation != nil || w.result.Recoveries != recoveries {
			return false
		}
	}
	return use < journal.Committed
}

// putOffMax is how many copies a queue puts off before it hands over nothing, while memory is short.
const putOffMax = 3

// pauses reports whether no message of a queue may go elsewhere: there is no space, or it holds dead letters and memory
// is short.
func (w *world) pauses(q *ledger.Line, view *vhost.QueueView) bool {
	return w.cramped || w.lowMemory && view != nil && view.Settings.AtLeastOnce && q.Counts[queue.Held] > 0
}

// offFull reports whether a queue hands over nothing because of what it has put off.
func (w *world) offFull(q *ledger.Line) bool {
	if !w.lowMemory || w.cramped {
		return false
	}
	n := 0
	for _, e := range q.Copies {
		if e.Off {
			n++
		}
	}
	view, ok := w.vhost.Reader().Queue(q.Name)
	full := n >= putOffMax && ok && w.pauses(q, &view)
	if full {
		w.result.Paused++
	}
	return full
}

// goesOnLow counts a copy that was put off and goes on.
func (w *world) goesOnLow() {
	if w.lowMemory {
		w.result.Unpaused++
	}
}

// putOff notes a copy that was to die, and stays with nobody until there is space.
func (w *world) putOff(st *step, e *ledger.Entry, f *fact.Fact) {
	view := w.view(st, e.Line)
	switch {
	case view != nil && !w.pauses(e.Line, view):
		w.violate(Moves, "message %d stays in %q for want of space, and there is space", e.Message, e.Line.Name)
	case view == nil:
	case e.State != queue.Unacked && e.State != queue.Ready:
		w.violate(Moves, "message %d in %q was put off in state %d", e.Message, e.Line.Name, e.State)
	}
	w.result.PutOff++
	if !w.cramped {
		w.result.PutOffHeld++
	}
	if e.Holder != nil {
		holderOf(e).LetGo()
		e.Holder = nil
	}
	e.Become(queue.Unacked)
	k := st.command.Kind
	e.OffRejected = e.OffRejected || k == vhost.Reject || k == vhost.Nack || k == vhost.CommitTx
	e.Off, e.OffFailed = true, f.Failed
}

// checkCramped makes sure that nothing moves while there is no space for that. What is published may be passed on by a
// queue that has no space for it.
func (w *world) checkCramped(st *step) {
	if w.cramped && st.moved && !st.publishes() && !w.continues(st) {
		w.violate(Drains, "command %d let dead letters move, and there is space for use %d",
			st.command.Kind, w.spaceFor())
	}
}
