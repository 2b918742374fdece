package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// LossCauses are why a dead letter finds no place, in the order in which lists show them.
func LossCauses() []Cause {
	return []Cause{LostExchange, LostRoute, LostCycle, LostRefused, LostHops, GoneLimit, Discarded}
}

// Word is the reason as x-death tells it in a dialect.
func (r Reason) Word(d Dialect) string { return r.in(d) }

// NewestLostLetter is the greatest ID that a letter on the shelf ever had, 0 if there was none.
func (v *VHost) NewestLostLetter() uint64 { return uint64(v.shelf.messages.Next(0)) }

// LostIDs lists the letters on the shelf with IDs greater than after and at most last, oldest first: those of one
// cause or, if it is 0, all; at most most of them, found among the first scan. Next is what to go on after, 0 at the
// end. It reads no record.
func (v *VHost) LostIDs(after, last uint64, cause Cause, most, scan int) (ids []uint64, next uint64) {
	v.shelf.messages.Each(queue.Seq(after), func(seq queue.Seq, e *queue.Entry) bool {
		id := uint64(seq) + 1
		switch {
		case id > last:
			return false
		case len(ids) >= most || scan <= 0:
			next = id - 1
			return false
		}
		scan--
		if cause == 0 || Cause(e.Priority) == cause {
			ids = append(ids, id)
		}
		return true
	})
	return ids, next
}

// Delays tells when the first and the last message that waits in a queue will be ready again. It looks through the
// first scan messages: ok is false if they were not all that wait, or none waits.
func (v *VHost) Delays(name string, scan int) (next, last deadline.Instant, ok bool) {
	q := v.queueNamed(name)
	if q == nil {
		return 0, 0, false
	}
	waiting := q.messages.Count(queue.Waiting)
	if waiting == 0 {
		return 0, 0, false
	}
	q.messages.Each(0, func(seq queue.Seq, e *queue.Entry) bool {
		if scan--; scan < 0 {
			return false
		}
		if e.State != queue.Waiting {
			return true
		}
		waiting--
		until := q.messages.Side(seq).Until
		if next == 0 || until < next {
			next = until
		}
		last = max(last, until)
		return waiting > 0
	})
	return next, last, waiting == 0
}

// LostKeys tells with which keys a letter on the shelf goes on, nil if there is none.
func (v *VHost) LostKeys(id uint64) []string {
	seq, ok := v.onShelf(id)
	if !ok {
		return nil
	}
	return v.lostLetter(seq).History.Keys
}
