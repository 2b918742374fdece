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
	for d := ch.unacked.from(first); d != nil && d.tag <= last; d = ch.unacked.from(first) {
		first = d.tag + 1
		v.settle(s, ch, d.tag, c, out)
	}
	return nil
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
		v.giveBack(s, ch, tag, d, out)
		return
	case d.queue.deleted:
	case c.Kind == Ack:
		v.end(s, d.queue, d.seq, Acked, out)
		d.queue.stats.Acked++
	default:
		v.die(s, d.queue, d.seq, Rejected, 0, out)
	}
	v.settled(ch, tag, d)
}

// recover decides basic.recover. Source: AMQP basic.recover; RabbitMQ specification notes.
func (v *VHost) recover(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	if !c.Requeue {
		return amqp.NotImplemented("requeue=false")
	}
	for d := ch.unacked.from(0); d != nil; d = ch.unacked.from(0) {
		v.giveBack(s, ch, d.tag, *d, out)
	}
	v.done(ch, c, out, Effect{})
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
	v.touch(d.queue, 0)
	if blocked {
		v.wake(ch)
	}
}

// giveBack returns a message unsettled to its place in the queue; or it dies, if it has come back too often.
// Source: reference expiry-and-limits 8, quorum-and-retry 1.
func (v *VHost) giveBack(s *Stamp, ch *channel, tag uint64, d delivery, out *Outcome) {
	v.settled(ch, tag, d)
	q := d.queue
	if q.deleted {
		return
	}
	v.returnOne(s, q, d.seq, out)
}

// returnOne makes a message ready again, or lets it die if it has come back too often, or too late.
func (v *VHost) returnOne(s *Stamp, q *queueState, seq queue.Seq, out *Outcome) {
	durable := q.messages.Entry(seq).Flags&queue.Persistent != 0
	v.emit(s, &Fact{Kind: Returned, Queue: q.id, Seq: seq, Durable: durable}, out)
	if limit := q.settings.DeliveryLimit; limit >= 0 && int64(q.messages.Side(seq).Acquired) > limit {
		v.die(s, q, seq, DeliveryLimit, 0, out)
		return
	}
	if due(q.messages.Entry(seq), s.Now) {
		v.die(s, q, seq, Expired, 0, out)
	}
}
