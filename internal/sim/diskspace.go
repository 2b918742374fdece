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
	if cramped := use > journal.Moving || w.forced; cramped != w.cramped {
		w.cramped = cramped
		recoveries := w.result.Recoveries
		w.decide(vhost.Command{Kind: vhost.SetSpace, Space: !cramped})
		if w.violation != nil || w.result.Recoveries != recoveries {
			return false
		}
	}
	return use < journal.Committed
}

// putOff notes a copy that was to die, and stays with nobody until there is space.
func (w *world) putOff(st *step, e *ledger.Entry, f *fact.Fact) {
	view := w.view(st, e.Line)
	switch {
	case !w.cramped:
		w.violate(Moves, "message %d stays in %q for want of space, and there is space", e.Message, e.Line.Name)
	case view == nil:
	case e.State != queue.Unacked && e.State != queue.Ready:
		w.violate(Moves, "message %d in %q was put off in state %d", e.Message, e.Line.Name, e.State)
	}
	w.result.PutOff++
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
