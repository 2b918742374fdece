package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// dispatch pairs ready messages with consumers that have room, until one side runs out. Where very many have expired at the
// head, ticks go on.
func (v *VHost) dispatch(s *Stamp, q *queueState, depth int, out *Outcome) {
	for q.messages.Ready() > 0 {
		x := q.consumers.Next()
		if x == nil {
			return
		}
		seq, e, ok := q.messages.Head()
		if !ok {
			return
		}
		if due(e, s.Now) && !slices.Contains(q.zero, seq) {
			if v.work >= v.calmMax {
				v.lookLater(s, q)
				return
			}
			v.die(s, q, seq, Expired, depth, out)
			continue
		}
		v.handTo(s, q, seq, e, x, out)
	}
}

func due(e *queue.Entry, now deadline.Instant) bool { return e.ExpireAt != 0 && e.ExpireAt <= now }

// handTo gives the message at the head to a consumer.
func (v *VHost) handTo(s *Stamp, q *queueState, seq queue.Seq, e *queue.Entry, x *queue.Consumer, out *Outcome) {
	ch := v.last
	if ch == nil || ch.id != ChannelID(x.Channel) {
		ch = v.channels[ChannelID(x.Channel)]
	}
	ch.served, ch.conn.served = q.id, ch.id
	x.Window.Used += WindowCost(e.Size)
	tag := ch.unacked.tag()
	out.effect(Effect{
		Kind: Deliver, Channel: ch.id, ConsumerTag: x.Tag, Tag: tag, Redelivered: e.Flags&queue.Redelivered != 0,
		After: v.safeAfter(q, e), Message: v.delivered(q, seq, e),
	}, s.Index)
	q.counters().delivered(e, x.NoAck)
	if x.NoAck {
		v.end(s, q, seq, Acked, out)
		return
	}
	if v.mutant != MutantIgnorePrefetch {
		x.Own.Used++
		x.Shared.Used++
	}
	v.hand(s, q, seq, e, out)
	ch.unacked.add(tag, delivery{queue: q, consumer: x, seq: seq, due: v.settleBy(s, ch, q, x)})
}

// safeAfter is the batch that must be safe before e may be seen: the one that enqueued it, or that an answer tells of.
// A transient copy of a message that was in the log has one, too, that which ended the copy there: else it would come
// again after a crash.
func (v *VHost) safeAfter(q *queueState, e *queue.Entry) place.Index {
	switch {
	case e.Flags&queue.Moved != 0:
		return max(e.Index, q.lastMoved, q.answered)
	case e.Flags&queue.Persistent == 0:
		return q.answered
	}
	return e.Index
}

// delivered names e's record and history, and holds them if they are in memory anyway.
func (v *VHost) delivered(q *queueState, seq queue.Seq, e *queue.Entry) Delivered {
	d := Delivered{Ref: e.Ref(v.log), Dialect: v.options.Dialect}
	if e.Flags&queue.Volatile != 0 {
		d.Record = v.volatile.read(d.Ref)
	}
	if e.Flags&queue.Letter == 0 && !q.settings.Counts {
		return d
	}
	side := q.messages.Side(seq)
	d.HistoryRef = side.History
	if !d.HistoryRef.IsZero() && d.HistoryRef.Log == place.Volatile {
		d.History = v.volatile.read(d.HistoryRef)
	}
	if q.settings.Counts {
		d.Acquired, d.Count = side.Acquired, q.count(side)
	}
	return d
}

// get decides basic.get. Source: AMQP basic.get.
func (v *VHost) get(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	q, err := v.lookUp(ch, c.Definition.Name)
	if err != nil {
		return err
	}
	if q.quorum && q.settings.SingleActive {
		return amqp.ResourceLocked("cannot obtain access to locked queue '%s' in vhost '%s'. basic.get operations are not supported by quorum queues with single active consumer", q.object.Name, v.name)
	}
	v.used(s, q)
	noAck := c.Definition.NoAck
	if v.getHead(s, ch, q, noAck, out) {
		v.leaveRest(s, ongoing{conn: ch.conn, portion: func(s Stamp, out *Outcome) bool {
			return v.channels[ch.id] != nil && v.getHead(&s, ch, q, noAck, out)
		}})
	}
	return nil
}

// getHead answers a get, and reports whether it cannot yet: very many messages have expired at the head.
func (v *VHost) getHead(s *Stamp, ch *channel, q *queueState, noAck bool, out *Outcome) (more bool) {
	v.touch(q, 0)
	for {
		seq, e, ok := q.messages.Head()
		if !ok || q.deleted {
			q.counters().GotNone++
			out.effect(Effect{Kind: DeliverNone, Command: Get, Channel: ch.id, After: v.newest(out)}, s.Index)
			return false
		}
		if due(e, s.Now) {
			if v.full() {
				return true
			}
			v.die(s, q, seq, Expired, 0, out)
			continue
		}
		ch.conn.window.Used += WindowCost(e.Size)
		tag := ch.unacked.tag()
		out.effect(Effect{
			Kind: DeliverGot, Command: Get, Channel: ch.id, Tag: tag, Redelivered: e.Flags&queue.Redelivered != 0,
			Count: uint64(q.messages.Ready() - 1), After: max(v.newest(out), v.safeAfter(q, e)), Message: v.delivered(q, seq, e),
		}, s.Index)
		q.counters().fetched(e, noAck)
		if noAck {
			v.end(s, q, seq, Acked, out)
			return false
		}
		v.hand(s, q, seq, e, out)
		ch.unacked.add(tag, delivery{queue: q, seq: seq, due: v.settleBy(s, ch, q, nil)})
		return false
	}
}

// consume decides basic.consume. Source: AMQP basic.consume; reference amqp-surface 13.
func (v *VHost) consume(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	d := c.Definition
	name, err := ch.queueName(d.Name)
	if err != nil {
		return err
	}
	if name == DirectReply {
		return v.consumeReplies(s, ch, c, out)
	}
	q, err := v.lookUp(ch, name)
	if err != nil {
		return err
	}
	tag, err := consumerTag(s, ch, d.ConsumerTag)
	if err != nil {
		return err
	}
	if q.consumers.Exclusive() || d.Exclusive && (q.consumers.Len() > 0 || q.settings.SingleActive) {
		return amqp.AccessRefused("queue '%s' in vhost '%s' in exclusive use", q.object.Name, v.name)
	}
	if q.quorum && ch.shared.Max > 0 {
		return amqp.NotImplemented("queue '%s' in vhost '%s' does not support global qos", q.object.Name, v.name)
	}
	priority, timeout := int64(0), int64(-1)
	if a, ok := d.Arguments.Get("x-priority"); ok {
		if priority, ok = a.Integer(); !ok {
			return invalidArgument("x-priority", q.object.Name, v.name, expectedInteger(a))
		}
	}
	if a, ok := d.Arguments.Get("x-consumer-timeout"); ok {
		if detail := notNegative(a); detail != "" {
			return invalidArgument("x-consumer-timeout", q.object.Name, v.name, detail)
		}
		timeout = whole(a)
	}
	x := &queue.Consumer{
		Tag: tag, Channel: uint64(ch.id), Queue: uint32(q.id), Priority: priority, NoAck: d.NoAck, Exclusive: d.Exclusive,
		Shared: &ch.shared, Window: &ch.conn.window, Arguments: d.Arguments, Timeout: timeout,
	}
	x.Own.Max = ch.prefetch
	if d.NoAck && v.mutant == MutantFreeNoAck {
		x.Shared = &queue.Limit{}
	}
	ch.attach(x)
	v.extra += extraOf(x.Arguments)
	q.consumers.Add(x)
	q.consumed = true
	v.disarmExpiry(q)
	v.done(ch, c, out, Effect{Name: tag})
	v.touch(q, 0)
	return nil
}

// cancel decides basic.cancel: what the consumer holds stays with its channel. Source: AMQP basic.cancel.
func (v *VHost) cancel(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	v.done(ch, c, out, Effect{Name: c.Definition.ConsumerTag})
	v.cancelReplies(ch, c.Definition.ConsumerTag)
	x := ch.byTag[c.Definition.ConsumerTag]
	if x == nil {
		return nil
	}
	ch.detach(x)
	v.extra -= extraOf(x.Arguments)
	if q := v.queues[QueueID(x.Queue)]; q != nil && q.consumers.Remove(x) {
		v.touch(q, 0)
		v.consumerLeft(s, q, out)
	}
	return nil
}

// consumerLeft lets auto-delete strike, or the queue's own expiry begin. Source: AMQP queue.declare auto-delete.
func (v *VHost) consumerLeft(s *Stamp, q *queueState, out *Outcome) {
	if q.deleted || q.consumers.Len() > 0 {
		return
	}
	if q.object.AutoDelete && q.consumed {
		v.deleteQueue(s, q, out)
		return
	}
	v.armExpiry(s, q)
}
