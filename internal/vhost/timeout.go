package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// settleBy is the instant at which a delivery of q that is handed over now is taken back, 0 if never. x is nil for a
// get. Source: RabbitMQ consumers#acknowledgement-timeout; docs/compat/quorum-and-retry.md#7.
func (s *step) settleBy(ch *channel, q *queueState, x *queue.Consumer) deadline.Instant {
	timeout := timeoutOf(q, x)
	if timeout == 0 {
		return 0
	}
	at := s.From + deadline.Instant(min(timeout, settings.WaitMax))
	if ch.timeoutAt == 0 || at < ch.timeoutAt {
		s.armTimeout(ch, at)
	}
	return at
}

// timeoutOf is what a consumer says, else its queue, ms.
func timeoutOf(q *queueState, x *queue.Consumer) int64 {
	if x != nil && x.Timeout >= 0 {
		return x.Timeout
	}
	return q.settings.ConsumerTimeout
}

func (v *VHost) armTimeout(ch *channel, at deadline.Instant) {
	v.forgetTimeout(ch)
	ch.timeoutAt = at
	v.deadlines.Add(deadline.Entry{At: at, Owner: uint64(ch.id)<<ownBits | ownChannel})
}

func (v *VHost) forgetTimeout(ch *channel) {
	if ch.timeoutAt != 0 {
		v.deadlines.Remove(deadline.Entry{At: ch.timeoutAt, Owner: uint64(ch.id)<<ownBits | ownChannel})
		ch.timeoutAt = 0
	}
}

// timeOut takes back what was not settled in time. The consumer that held it is cancelled; a client that does not
// know of such a thing, or took the message by a get, loses its channel.
func (s *step) timeOut(ch *channel) {
	if ch == nil {
		return
	}
	ch.timeoutAt = 0
	var late []delivery
	var next deadline.Instant
	more := false
	for i := ch.unacked.head; i < len(ch.unacked.list) && !more; i++ {
		switch d := &ch.unacked.list[i]; {
		case d.queue == nil || d.due == 0 || d.queue.deleted:
		case d.due <= s.Now && len(late) == s.itemsPerStep():
			more, next = true, s.Now // the rest goes with the next tick
		case d.due <= s.Now:
			late = append(late, *d)
		case next == 0 || d.due < next:
			next = d.due
		}
	}
	if i := slices.IndexFunc(late, func(d delivery) bool { return d.consumer == nil || !ch.conn.cancelNotify }); i >= 0 {
		for _, d := range late { // a timeout is no failure, the end of the channel is one for the others
			s.giveBack(ch, d.tag, d, false)
		}
		ch.timedOut = s.Now // where there are more, the end of the channel takes them back
		err := amqp.PreconditionFailed("delivery acknowledgement on channel %d timed out. Timeout value used: %d ms. This timeout value can be configured, see consumers doc guide to learn more",
			ch.number, timeoutOf(late[i].queue, late[i].consumer))
		s.effect(Effect{Kind: Closed, Channel: ch.id, Err: err, After: s.newest()})
		s.closeChannel(ch)
		return
	}
	if next != 0 {
		s.armTimeout(ch, next)
	}
	for _, d := range late {
		s.expel(ch, d.consumer)
		s.giveBack(ch, d.tag, d, false)
		ch.late = append(ch.late, d.tag)
	}
	slices.Sort(ch.late)
	ch.late = slices.Delete(ch.late, 0, max(0, len(ch.late)-lateMax))
}

// expel cancels a consumer that takes too long, once.
func (s *step) expel(ch *channel, x *queue.Consumer) {
	if !ch.detach(x) {
		return
	}
	s.unsubscribes(ch.conn, x)
	s.effect(Effect{Kind: Cancelled, Channel: ch.id, ConsumerTag: x.Tag, After: s.newest()})
	if q := s.queues[fact.QueueID(x.Queue)]; q != nil && q.consumers.Remove(x) {
		s.fatesOf(q).TimedOut++
		s.markDirty(q, 0)
		s.consumerLeft(q)
	}
}

// isLate reports whether a tag was taken back before it was settled.
func (ch *channel) isLate(tag uint64) bool {
	_, ok := slices.BinarySearch(ch.late, tag)
	return ok
}
