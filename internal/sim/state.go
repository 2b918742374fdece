package sim

import "github.com/bartleby-mq/bartleby/internal/vhost"

// checkState compares sums: cheap ones after every command, the others now and then.
func (w *world) checkState() {
	w.audits++
	if w.violation != nil || w.rarely && w.audits%256 > 0 {
		return
	}
	if err := w.vhost.Check(); err != nil {
		w.violate(Books, "%v", err)
		return
	}
	books := w.vhost.DurableBooks()
	if books.Made != w.live.made || books.Total() != w.live.ended || w.live.made != w.live.ended+w.live.durables() {
		w.violate(Books, "durable copies: made %d, ended %d; expected %d, %d, and %d held",
			books.Made, books.Total(), w.live.made, w.live.ended, w.live.durables())
	}
	due, ok := w.vhost.Due()
	excess := ok && due <= w.stamp().Now // the rest leaves with the ticks to come
	queues := w.vhost.Queues()
	if len(queues) != len(w.live.lines) {
		w.violate(Replay, "%d queues, expected %d", len(queues), len(w.live.lines))
	}
	for i := range queues {
		q := &queues[i]
		at := w.live.lines[q.ID]
		if at == nil || q.Ready != at.ready() || q.Ready+q.Unacked != len(at.copies) {
			w.violate(Books, "queue %q: ready %d, unacked %d, differ from the ledger", q.Name, q.Ready, q.Unacked)
			return
		}
		if set := &q.Settings; !excess && set.Overflow == vhost.DropHead &&
			(set.MaxLength >= 0 && int64(q.Ready) > set.MaxLength || set.MaxLengthBytes >= 0 && q.ReadyBytes > set.MaxLengthBytes) {
			w.violate(Limits, "queue %q holds %d ready of %d, %d bytes of %d", q.Name, q.Ready, set.MaxLength, q.ReadyBytes, set.MaxLengthBytes)
		}
	}
	w.checkServed()
}

// checkPunctual makes sure, after time has passed, that nothing is left that is due.
func (w *world) checkPunctual() {
	now := w.stamp().Now
	for _, q := range w.live.lines {
		for _, e := range q.copies {
			if !e.unacked && e.expireAt != 0 && e.expireAt <= now {
				w.violate(Expiry, "a message in %q was due at %d, it is %d", q.name, e.expireAt, now)
			}
		}
	}
}
