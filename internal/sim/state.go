package sim

import "github.com/bartleby-mq/bartleby/internal/queue"

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
	if books.Made != w.live.made || books.Total() != w.live.ended || w.live.made != w.live.ended+w.live.durables() {
		w.violate(Books, "durable copies: made %d, ended %d; expected %d, %d, and %d held",
			books.Made, books.Total(), w.live.made, w.live.ended, w.live.durables())
	}
	due, ok := w.vhost.Due()
	excess := w.cramped || ok && due <= w.stamp().Now // the rest leaves with the ticks to come
	queues := w.vhost.Reader().Queues()
	if n := w.live.queues(); len(queues) != n {
		w.violate(Replay, "%d queues, expected %d", len(queues), n)
	}
	w.checkSchedules()
	for i := range queues {
		q := &queues[i]
		at := w.live.lines[q.ID]
		if at == nil || q.Ready != at.ready() || q.Unacked != at.counts[queue.Unacked] || q.Waiting != at.counts[queue.Waiting] ||
			q.Held != at.counts[queue.Held] || q.Ready+q.Unacked+q.Waiting+q.Held != len(at.copies) {
			w.violate(Books, "queue %q: ready %d, unacked %d, waiting %d, held %d, differ from the ledger", q.Name, q.Ready, q.Unacked, q.Waiting, q.Held)
			return
		}
		n, bytes := at.queued(false)
		if set := &q.Settings; !excess && dropsHead(set.Overflow) && q.Ready > 0 &&
			(set.MaxLength >= 0 && int64(n) > set.MaxLength || set.MaxLengthBytes >= 0 && bytes > set.MaxLengthBytes) {
			w.violate(Limits, "queue %q holds %d of %d, %d bytes of %d, %d ready", q.Name, n, set.MaxLength, bytes, set.MaxLengthBytes, q.Ready)
		}
	}
	w.checkShelf(excess)
	if at, due := w.vhost.Due(); w.o.Portions == 0 || !due || at > w.stamp().Now { // else a tick goes on
		w.checkServed()
	}
}

// checkPunctual makes sure, after time has passed, that nothing is left that is due.
func (w *world) checkPunctual() {
	now := w.stamp().Now
	if !w.cramped {
		w.checkJobsServed()
	}
	for q := range w.live.all() {
		view, ok := w.vhost.Reader().Queue(q.name)
		headOnly := ok && view.Settings.ExpiryHead
		for _, e := range q.copies {
			due := e.state != queue.Unacked && e.expireAt != 0 && e.expireAt <= now
			switch {
			case w.cramped && q != w.live.shelf && (q.kept != nil || due || e.state == queue.Waiting): // it waits for room
			case q.kept != nil && e.until <= now:
				w.violate(Schedule, "message %d was due in %q at %d, it is %d", e.message, q.name, e.until, now)
			case e.state == queue.Waiting && e.until <= now:
				w.violate(Waiting, "message %d in %q waits until %d, it is %d", e.message, q.name, e.until, now)
			case due && q == w.live.shelf:
				w.violate(Shelf, "letter %d may be on the shelf until %d, it is %d", e.seq+1, e.expireAt, now)
			case due && !(headOnly && e.state == queue.Ready && q.head() != e):
				w.violate(Expiry, "a message in %q was due at %d, it is %d", q.name, e.expireAt, now)
			}
		}
	}
	for _, ch := range w.channels {
		for tag, d := range ch.held {
			if !ch.dead && d.overdue(now) {
				w.violate(Timeout, "delivery %d on channel %d had to be settled until %d, it is %d", tag, ch.id, d.due, now)
			}
		}
	}
	w.checkRetried(now)
}
