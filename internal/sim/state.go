package sim

import (
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// checkState compares sums after some of the commands: what is wrong once stays wrong for a while.
func (w *world) checkState() {
	every := 32
	if w.rarely {
		every = 256
	}
	if w.audits++; w.audits%every == 0 {
		w.checkSums()
	}
}

// checkSums compares what the machine counts with the ledger.
func (w *world) checkSums() {
	if w.violation != nil {
		return
	}
	w.look(func() {
		if err := w.vhost.Check(); err != nil {
			w.violate(Books, "%v", err)
		}
	})
	if w.violation != nil {
		return
	}
	w.checkJobs()
	books := w.vhost.Reader().DurableBooks()
	if books.Made != w.live.Made || books.Total() != w.live.Ended || w.live.Made != w.live.Ended+w.live.Durables() {
		w.violate(Books, "durable copies: made %d, ended %d; expected %d, %d, and %d held",
			books.Made, books.Total(), w.live.Made, w.live.Ended, w.live.Durables())
	}
	due, ok := w.vhost.Due()
	excess := w.cramped || ok && due <= w.stamp().Now // the rest leaves with the ticks to come
	queues := w.vhost.Reader().Queues()
	if n := w.live.Queues(); len(queues) != n {
		w.violate(Replay, "%d queues, expected %d", len(queues), n)
	}
	w.checkSchedules()
	for i := range queues {
		q := &queues[i]
		at := w.live.Lines[q.ID]
		if at == nil || q.Ready != at.Ready() || q.Unacked != at.Counts[queue.Unacked] || q.Waiting != at.Counts[queue.Waiting] ||
			q.Held != at.Counts[queue.Held] || q.Ready+q.Unacked+q.Waiting+q.Held != len(at.Copies) {
			w.violate(Books, "queue %q: ready %d, unacked %d, waiting %d, held %d, differ from the ledger", q.Name, q.Ready, q.Unacked, q.Waiting, q.Held)
			return
		}
		if !w.checkDeadLetters(q, at) {
			return
		}
		n, bytes := at.Queued(false)
		if set := &q.Settings; !excess && !w.pauses(at, q) && dropsHead(set.Overflow) && q.Ready > 0 &&
			(set.MaxLength >= 0 && int64(n) > set.MaxLength || set.MaxLengthBytes >= 0 && bytes > set.MaxLengthBytes) {
			w.violate(Limits, "queue %q holds %d of %d, %d bytes of %d, %d ready", q.Name, n, set.MaxLength, bytes, set.MaxLengthBytes, q.Ready)
		}
	}
	w.checkLostStore(excess)
	if at, due := w.vhost.Due(); w.o.Portions == 0 || !due || at > w.stamp().Now { // else a tick goes on
		w.checkServed()
	}
}

// checkDeadLetters makes sure that a queue counts its dead letters: all its messages, if it is marked. The option
// overrides arguments and policies.
func (w *world) checkDeadLetters(q *vhost.QueueView, at *ledger.Line) bool {
	want := at.DeadLetters
	if q.Settings.DLQ == vhost.Marked {
		want = len(at.Copies)
	}
	if q.DeadLetters != want {
		w.violate(Books, "queue %q counts %d dead letters, the ledger %d", q.Name, q.DeadLetters, want)
		return false
	}
	mark := vhost.MarkedNot
	is, named := w.live.Mark(q.Name)
	if is {
		mark = vhost.Marked
	}
	if named && q.Settings.DLQ != mark && !w.vhost.Ruling() {
		w.violate(Configured, "queue %q has the mark %d, which the option sets to %d", q.Name, q.Settings.DLQ, mark)
		return false
	}
	return true
}

// checkPunctual makes sure, after time has passed, that nothing is left that is due.
func (w *world) checkPunctual() {
	now := w.stamp().Now
	if !w.cramped {
		w.checkJobsServed()
	}
	for q := range w.live.All() {
		view, ok := w.vhost.Reader().Queue(q.Name)
		headOnly := ok && view.Settings.ExpiryHead
		for _, e := range q.Copies {
			due := e.State != queue.Unacked && e.ExpireAt != 0 && e.ExpireAt <= now
			switch {
			// it waits for space
			case w.cramped && q != w.live.LostStore && (q.Kept != nil || due || e.State == queue.Waiting):
			case ok && (due || e.State == queue.Waiting) && w.pauses(q, &view):
			case ok && e.Off && !w.pauses(q, &view):
				w.violate(Moves, "message %d stays in %q unacked and with nobody, and it may go", e.Message, q.Name)
			case q.Kept != nil && e.Until <= now:
				w.violate(Schedule, "message %d was due in %q at %d, it is %d", e.Message, q.Name, e.Until, now)
			case e.State == queue.Waiting && e.Until <= now:
				w.violate(Waiting, "message %d in %q waits until %d, it is %d", e.Message, q.Name, e.Until, now)
			case due && q == w.live.LostStore:
				w.violate(LostStore, "dead letter %d may be in the lost store until %d, it is %d", e.Seq+1, e.ExpireAt, now)
			case due && !(headOnly && e.State == queue.Ready && q.Head() != e):
				w.violate(Expiry, "a message in %q was due at %d, it is %d", q.Name, e.ExpireAt, now)
			}
		}
	}
	for _, ch := range w.Channels {
		for tag, d := range ch.Held {
			if !ch.Dead && d.Overdue(now) {
				w.violate(Timeout, "delivery %d on channel %d had to be settled until %d, it is %d", tag, ch.ID, d.Due, now)
			}
		}
	}
	w.checkRetried(now)
}
