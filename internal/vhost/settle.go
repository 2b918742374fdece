package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// tags finds which deliveries a settlement names: from first to last. Source: reference amqp-surface 12.
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
// Source: AMQP basic.ack, basic.reject; RabbitMQ nack; reference dead-lettering 10.
func (v *VHost) settleAll(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	first, last, err := ch.tags(c)
	if err != nil {
		return err
	}
	if v.settleSome(s, ch, &first, last, c, out) {
		v.settleRest(s, ch, first, last, &Command{Kind: c.Kind, Requeue: c.Requeue})
	}
	return nil
}

// settleSome settles a portion of the deliveries from first to last, and reports whether there are more: from first on.
func (v *VHost) settleSome(s *Stamp, ch *channel, first *uint64, last uint64, c *Command, out *Outcome) (more bool) {
	for d := ch.unacked.from(*first); d != nil && d.tag <= last; d = ch.unacked.from(*first) {
		if v.full() {
			return true
		}
		*first = d.tag + 1
		v.settle(s, ch, d.tag, c, out)
	}
	return false
}

// settleRest leaves what settleSome has left to ticks.
func (v *VHost) settleRest(s *Stamp, ch *channel, first, last uint64, c *Command) {
	v.leaveRest(s, ongoing{conn: ch.conn, portion: func(s Stamp, out *Outcome) bool {
		return v.settleSome(&s, ch, &first, last, c, out)
	}})
}

// reasonOf is what a message dies of that a consumer does not want.
func (v *VHost) reasonOf(c *Command) Reason {
	if c.Kind == Nack && v.options.Dialect&DialectReasons != 0 {
		return Nacked
	}
	return Rejected
}

// settle ends one delivery, if it is outstanding: it is acked, returns, or dies.
func (v *VHost) settle(s *Stamp, ch *channel, tag uint64, c *Command, out *Outcome) {
	x := ch.unacked.at(tag)
	if x == nil {
		return
	}
	d := *x
	switch {
	case c.Kind != Ack && c.Requeue:
		v.giveBack(s, ch, tag, d, c.Kind == Reject, out)
		return
	case d.queue.deleted:
	case c.Kind == Ack:
		v.acked(d.queue, d.seq)
		v.end(s, d.queue, d.seq, Acked, out)
	default:
		v.die(s, d.queue, d.seq, v.reasonOf(c), 0, out)
	}
	v.settled(ch, tag, d)
}

// recover decides basic.recover. What the channel has settled in its open transaction is not outstanding any more, and stays
// for the commit. Source: AMQP basic.recover; RabbitMQ specification notes; rabbitmq-server 3.10.
func (v *VHost) recover(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	if !c.Requeue {
		return amqp.NotImplemented("requeue=false")
	}
	answer, last := Command{Kind: Recover, NoWait: c.NoWait}, ch.unacked.last // what is handed over in between is no part of it
	v.inPortions(s, ongoing{conn: ch.conn, portion: func(s Stamp, out *Outcome) bool {
		if v.giveBackSome(&s, ch, last, false, out) {
			return true
		}
		v.done(ch, &answer, out, Effect{})
		return false
	}}, out)
	return nil
}

// settled takes a delivery off its channel, and gives its credit back.
func (v *VHost) settled(ch *channel, tag uint64, d delivery) {
	ch.unacked.remove(tag)
	if d.consumer == nil {
		v.touch(d.queue, 0)
		return
	}
	d.consumer.Own.Used--
	blocked := !ch.shared.Open()
	ch.shared.Used--
	if v.mutant != MutantForgetWake {
		d.queue.consumers.Wake()
	}
	if blocked && ch.shared.Open() {
		v.wake(ch) // before this queue is looked at: it may be the turn of another
	}
	v.touch(d.queue, 0)
}

// giveBack returns a message unsettled to its queue. failed says that this counts as a failed delivery.
// Source: reference expiry-and-limits 8, quorum-and-retry 2.
func (v *VHost) giveBack(s *Stamp, ch *channel, tag uint64, d delivery, failed bool, out *Outcome) {
	v.settled(ch, tag, d)
	if !d.queue.deleted {
		v.returnOne(s, d.queue, d.seq, failed, out)
	}
}

// giveBackSome returns a portion of what is unacked on a channel up to a tag, but what its open transaction settles, and reports
// whether there is more.
func (v *VHost) giveBackSome(s *Stamp, ch *channel, last uint64, failed bool, out *Outcome) (more bool) {
	next := uint64(0)
	for d := ch.unacked.from(next); d != nil && d.tag <= last; d = ch.unacked.from(next) {
		next = d.tag + 1
		if ch.tx.settles(d.tag) && v.mutant != MutantRecoverSettled {
			continue
		}
		if v.full() {
			return true
		}
		v.giveBack(s, ch, d.tag, *d, failed && (d.due == 0 || d.due > ch.timedOut), out)
	}
	return false
}

// returnOne puts a message back where it was: it is ready again, or waits if its retry is delayed; or it dies, if it
// has come back too often or too late. Source: reference dead-lettering 2, quorum-and-retry 1 and 6.
func (v *VHost) returnOne(s *Stamp, q *queueState, seq queue.Seq, failed bool, out *Outcome) {
	e, set := q.messages.Entry(seq), q.settings
	side := q.messages.Side(seq)
	side.Return(failed)
	count := q.count(side)
	over := set.DeliveryLimit >= 0 && int64(count) > set.DeliveryLimit || set.exhausted(count)
	if v.mutant == MutantShortWait {
		count = 1
	}
	at := set.retryAt(s.From, failed, count, s.Entropy^uint64(seq))
	late := due(e, s.Now) && (!set.ExpiryHead || at != 0) // what waits does not come to the head
	if over && v.putsOff(q, DeliveryLimit) || late && v.putsOff(q, Expired) {
		v.suspend(s, q, seq, task{requeue: true, failed: failed}, out)
		return
	}
	f := Fact{Kind: Returned, Queue: q.id, Seq: seq, Failed: failed, Durable: e.Flags&queue.Persistent != 0}
	switch {
	case over && set.RetryType != RetryDisabled:
		q.counters().Exhausted++
	case !over && !late:
		if f.At = at; at != 0 {
			q.counters().Waits++
		}
	}
	v.emit(s, &f, out)
	switch {
	case over:
		v.die(s, q, seq, DeliveryLimit, 0, out)
	case late:
		v.die(s, q, seq, Expired, 0, out)
	}
}

// count is how often a message came back, as the queue counts. Source: reference quorum-and-retry 2.
func (q *queueState) count(side queue.Side) uint32 {
	if q.settings.CountFailed {
		return side.Failed
	}
	return side.Acquired
}
