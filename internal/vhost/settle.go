package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// rejects reports whether a settlement lets messages die: neither an ack, nor a return to the queue.
func rejects(kind CommandKind, requeue bool) bool { return kind != Ack && !requeue }

// tags finds which deliveries a settlement names: from first to last. Source: docs/compat/amqp-surface.md#12.
func (ch *channel) tags(c *Command) (first, last uint64, err *amqp.Error) {
	u := &ch.unacked
	switch {
	case c.Multiple && c.Tag == 0:
		return 0, u.last, nil
	case u.at(c.Tag) == nil && ch.isLate(c.Tag):
		if !c.Multiple {
			return 1, 0, nil
		}
		return 0, c.Tag, nil
	case u.at(c.Tag) == nil:
		return 0, 0, amqp.PreconditionFailed("unknown delivery tag %d", c.Tag)
	case c.Multiple:
		return 0, c.Tag, nil
	}
	return c.Tag, c.Tag, nil
}

// settleAll decides basic.ack, basic.nack and basic.reject, in the order of delivery.
// Source: AMQP basic.ack, basic.reject; RabbitMQ nack; docs/compat/dead-lettering.md#10.
func (s *step) settleAll(ch *channel, c *Command) *amqp.Error {
	first, last, err := ch.tags(c)
	if err != nil {
		return err
	}
	if s.settleSome(ch, &first, last, c) {
		s.settleRest(ch, first, last, &Command{Kind: c.Kind, Requeue: c.Requeue})
	}
	return nil
}

// settleSome settles a portion of the deliveries from first to last, and reports whether there are more: from first on.
func (s *step) settleSome(ch *channel, first *uint64, last uint64, c *Command) (more bool) {
	for d := ch.unacked.from(*first); d != nil && d.tag <= last; d = ch.unacked.from(*first) {
		if s.full() {
			return true
		}
		*first = d.tag + 1
		s.settle(ch, d.tag, c)
	}
	return false
}

// settleRest leaves what settleSome has left to ticks.
func (s *step) settleRest(ch *channel, first, last uint64, c *Command) {
	s.leaveRest(ongoing{conn: ch.conn, portion: func(s *step) bool {
		return s.settleSome(ch, &first, last, c)
	}})
}

// reasonOf is what a message dies of that a consumer does not want.
func (v *VHost) reasonOf(c *Command) fact.Reason {
	if c.Kind == Nack && v.options.Dialect&DialectReasons != 0 {
		return fact.Nacked
	}
	return fact.Rejected
}

// settle ends one delivery, if it is outstanding: it is acked, returns, or dies.
func (s *step) settle(ch *channel, tag uint64, c *Command) {
	x := ch.unacked.at(tag)
	if x == nil {
		return
	}
	d := *x
	switch {
	case c.Kind != Ack && c.Requeue:
		s.giveBack(ch, tag, d, c.Kind == Reject)
		return
	case d.queue.deleted:
	case c.Kind == Ack:
		s.acked(d.queue, d.seq)
		s.end(d.queue, d.seq, fact.Acked)
	default:
		s.deadLetter(d.queue, d.seq, s.reasonOf(c), 0)
	}
	s.settled(ch, tag, d)
}

// recover decides basic.recover. What the channel has settled in its open transaction is not outstanding any more, and
// stays for the commit. Source: AMQP basic.recover; RabbitMQ specification notes; rabbitmq-server 3.10.
func (s *step) recover(ch *channel, c *Command) *amqp.Error {
	if !c.Requeue {
		return amqp.NotImplemented("requeue=false")
	}
	// what is handed over in between is no part of it
	answer, last := Command{Kind: Recover, NoWait: c.NoWait}, ch.unacked.last
	s.inPortions(ongoing{conn: ch.conn, portion: func(s *step) bool {
		if s.giveBackSome(ch, last, false) {
			return true
		}
		s.done(ch, &answer, Effect{})
		return false
	}})
	return nil
}

// settled takes a delivery off its channel, and gives its credit back.
func (v *VHost) settled(ch *channel, tag uint64, d delivery) {
	ch.unacked.remove(tag)
	if d.consumer == nil {
		v.markDirty(d.queue, 0)
		return
	}
	d.consumer.Own.Used--
	blocked := !ch.shared.Open()
	ch.shared.Used--
	d.queue.consumers.Settled(d.consumer)
	if blocked && ch.shared.Open() {
		v.wake(ch) // before this queue is looked at: it may be the turn of another
	}
	v.markDirty(d.queue, 0)
}

// giveBack returns a message unsettled to its queue. failed says that this counts as a failed delivery.
// Source: docs/compat/expiry-and-limits.md#8, docs/compat/quorum-and-retry.md#2.
func (s *step) giveBack(ch *channel, tag uint64, d delivery, failed bool) {
	s.settled(ch, tag, d)
	if !d.queue.deleted {
		s.returnOne(d.queue, d.seq, failed)
	}
}

// giveBackSome returns a portion of what is unacked on a channel up to a tag, but what its open transaction settles,
// and reports whether there is more.
func (s *step) giveBackSome(ch *channel, last uint64, failed bool) (more bool) {
	next := uint64(0)
	for d := ch.unacked.from(next); d != nil && d.tag <= last; d = ch.unacked.from(next) {
		next = d.tag + 1
		if ch.tx.settles(d.tag) {
			continue
		}
		if s.full() {
			return true
		}
		s.giveBack(ch, d.tag, *d, failed && (d.due == 0 || d.due > ch.timedOut))
	}
	return false
}

// returnOne puts a message back where it was: it is ready again, or waits if its retry is delayed; or it dies, if it
// has come back too often or too late. Source: docs/compat/dead-lettering.md#2, docs/compat/quorum-and-retry.md#1 and
// #6.
func (s *step) returnOne(q *queueState, seq queue.Seq, failed bool) {
	e, set := q.messages.Entry(seq), q.settings
	side := q.messages.Side(seq)
	side.Return(failed)
	count := q.count(side)
	over := set.DeliveryLimit >= 0 && int64(count) > set.DeliveryLimit || set.Exhausted(count)
	at := set.RetryAt(s.From, failed, count, s.Entropy^uint64(seq))
	late := due(e, s.Now) && (!set.ExpiryHead || at != 0) // what waits does not come to the head
	if over && s.putsOff(q, fact.DeliveryLimit) || late && s.putsOff(q, fact.Expired) {
		s.suspend(q, seq, task{requeue: true, failed: failed})
		return
	}
	f := fact.Fact{Kind: fact.Returned, Queue: q.id, Seq: seq, Failed: failed, Durable: e.Flags&queue.Persistent != 0}
	switch {
	case over && set.RetryType != RetryDisabled:
		s.fatesOf(q).Exhausted++
	case !over && !late:
		if f.At = at; at != 0 {
			s.fatesOf(q).Waits++
		}
	}
	s.emit(&f)
	switch {
	case over:
		s.deadLetter(q, seq, fact.DeliveryLimit, 0)
	case late:
		s.deadLetter(q, seq, fact.Expired, 0)
	}
}

// count is how often a message came back, as the queue counts. Source: docs/compat/quorum-and-retry.md#2.
func (q *queueState) count(side queue.Side) uint32 {
	if q.settings.CountFailed {
		return side.Failed
	}
	return side.Acquired
}
