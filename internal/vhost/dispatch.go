package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// dispatch pairs ready messages with consumers that have credit, until one side runs out. Where
// very many have expired at the head, ticks go on.
func (s *step) dispatch(q *queueState, depth int) {
	for q.messages.Ready() > 0 {
		x := q.consumers.Next()
		if x == nil {
			return
		}
		seq, e, ok := q.messages.Head()
		if !ok || s.offFull(q) {
			return
		}
		if due(e, s.Now) && !slices.Contains(q.zero, seq) {
			if s.work >= s.drainMax {
				s.lookLater(q)
				return
			}
			s.deadLetter(q, seq, fact.Expired, depth)
			continue
		}
		s.handTo(q, seq, e, x)
	}
}

func due(e *queue.Entry, now deadline.Instant) bool { return e.ExpireAt != 0 && e.ExpireAt <= now }

// handTo gives the message at the head to a consumer.
func (s *step) handTo(q *queueState, seq queue.Seq, e *queue.Entry, x *queue.Consumer) {
	ch := s.last
	if ch == nil || ch.id != ChannelID(x.Channel) {
		ch = s.channels[ChannelID(x.Channel)]
	}
	ch.served, ch.conn.served = q.id, ch.id
	x.Window.Used += WindowCost(e.Size)
	tag := ch.unacked.tag()
	s.effect(Effect{
		Kind: Deliver, Channel: ch.id, ConsumerTag: x.Tag, Tag: tag, Redelivered: e.Flags&queue.Redelivered != 0,
		After: s.safeAfter(q, e), Message: s.delivered(q, seq, e),
	})
	q.flow.delivered(e, x.NoAck)
	if x.NoAck {
		s.end(q, seq, fact.Acked)
		return
	}
	x.Own.Used++
	x.Shared.Used++
	s.hand(q, seq, e)
	ch.unacked.add(tag, delivery{queue: q, consumer: x, seq: seq, due: s.settleBy(ch, q, x)})
}

// safeAfter is the batch that must be safe before e may be seen: the one that enqueued it, or that an answer tells of.
// A transient copy of a message that was in the log has one, too, that which ended the copy there: else it would come
// again after a crash.
func (v *VHost) safeAfter(q *queueState, e *queue.Entry) storage.Index {
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
		d.Stays = len(d.Record) >= volatileChunkBytes/4
	}
	if e.Flags&queue.HasHistory == 0 && !q.settings.Counts {
		return d
	}
	side := q.messages.Side(seq)
	d.HistoryRef = side.History
	if !d.HistoryRef.IsZero() && d.HistoryRef.Log == storage.Volatile {
		d.History = v.volatile.read(d.HistoryRef)
	}
	if q.settings.Counts {
		d.Acquired, d.Count = side.Acquired, q.count(side)
	}
	return d
}

// get decides basic.get. Source: AMQP basic.get.
func (s *step) get(ch *channel, c *Command) *amqp.Error {
	q, err := s.lookUp(ch, c.Definition.Name)
	if err != nil {
		return err
	}
	if q.quorum && q.settings.SingleActive {
		return amqp.ResourceLocked("cannot obtain access to locked queue '%s' in vhost '%s'. basic.get operations are not supported by quorum queues with single active consumer", q.object.Name, s.name)
	}
	s.used(q)
	how := c.Definition
	if s.getHead(ch, q, how) {
		s.leaveRest(ongoing{conn: ch.conn, portion: func(s *step) bool {
			return s.channels[ch.id] != nil && s.getHead(ch, q, how)
		}})
	}
	return nil
}

// getHead answers a get, and reports whether it cannot yet: very many messages have expired at the head.
func (s *step) getHead(ch *channel, q *queueState, how *Definition) (more bool) {
	s.markDirty(q, 0)
	for {
		seq, e, ok := q.messages.Head()
		if !ok || q.deleted || s.offFull(q) {
			q.flow.GotNone++
			s.effect(Effect{Kind: DeliverNone, Command: Get, Channel: ch.id, After: s.newest()})
			return false
		}
		if due(e, s.Now) {
			if s.full() {
				return true
			}
			s.deadLetter(q, seq, fact.Expired, 0)
			continue
		}
		if how.IfFits {
			if !ch.conn.window.Fits(q.getCost(seq, e)) {
				s.effect(Effect{Kind: DeliverNone, Command: Get, Channel: ch.id, After: s.newest()})
				return false
			}
			ch.conn.window.Used += q.getCost(seq, e) - WindowCost(e.Size)
		}
		ch.conn.window.Used += WindowCost(e.Size)
		tag := ch.unacked.tag()
		s.effect(Effect{
			Kind: DeliverGot, Command: Get, Channel: ch.id, Tag: tag, Redelivered: e.Flags&queue.Redelivered != 0,
			Count: uint64(q.messages.Ready() - 1), After: max(s.newest(), s.safeAfter(q, e)), Message: s.delivered(q, seq, e),
		})
		q.flow.fetched(e, how.NoAck)
		if how.NoAck {
			s.end(q, seq, fact.Acked)
			return false
		}
		s.hand(q, seq, e)
		ch.unacked.add(tag, delivery{queue: q, seq: seq, due: s.settleBy(ch, q, nil)})
		return false
	}
}

// getCost is what a get that has to fit takes from the window: all that is read for it, also the history of a
// dead letter.
func (q *queueState) getCost(seq queue.Seq, e *queue.Entry) int64 {
	cost := WindowCost(e.Size)
	if e.Flags&queue.HasHistory != 0 {
		cost += int64(q.messages.Side(seq).History.Size)
	}
	return cost
}

// consume decides basic.consume. Source: AMQP basic.consume; docs/compat/amqp-surface.md#13.
func (s *step) consume(ch *channel, c *Command) *amqp.Error {
	d := c.Definition
	name, err := ch.queueName(d.Name)
	if err != nil {
		return err
	}
	if name == DirectReply {
		return s.consumeReplies(ch, c)
	}
	q, err := s.lookUp(ch, name)
	if err != nil {
		return err
	}
	tag, err := consumerTag(&s.Stamp, ch, d.ConsumerTag)
	if err != nil {
		return err
	}
	if q.consumers.Exclusive() || d.Exclusive && (q.consumers.Len() > 0 || q.settings.SingleActive) {
		return amqp.AccessRefused("queue '%s' in vhost '%s' in exclusive use", q.object.Name, s.name)
	}
	if q.quorum && ch.shared.Max > 0 {
		return amqp.NotImplemented("queue '%s' in vhost '%s' does not support global qos", q.object.Name, s.name)
	}
	priority, timeout := int64(0), int64(-1)
	if a, ok := d.Arguments.Get("x-priority"); ok {
		if priority, ok = a.Integer(); !ok {
			return settings.InvalidArgument("x-priority", q.object.Name, s.name, settings.ExpectedInteger(a))
		}
	}
	if a, ok := d.Arguments.Get("x-consumer-timeout"); ok {
		if detail := settings.NotNegative(a); detail != "" {
			return settings.InvalidArgument("x-consumer-timeout", q.object.Name, s.name, detail)
		}
		timeout = settings.Whole(a)
	}
	x := &queue.Consumer{
		Tag: tag, Channel: uint64(ch.id), Queue: uint32(q.id), Priority: priority, NoAck: d.NoAck, Exclusive: d.Exclusive,
		Shared: &ch.shared, Window: &ch.conn.window, Arguments: d.Arguments, Timeout: timeout,
	}
	x.Own.Max = ch.prefetch
	ch.attach(x)
	s.subscribes(ch.conn, x)
	q.consumers.Add(x)
	q.consumed = true
	s.disarmExpiry(q)
	s.done(ch, c, Effect{Name: tag})
	s.markDirty(q, 0)
	return nil
}

// cancel decides basic.cancel: what the consumer holds stays with its channel. Source: AMQP basic.cancel.
func (s *step) cancel(ch *channel, c *Command) *amqp.Error {
	s.done(ch, c, Effect{Name: c.Definition.ConsumerTag})
	s.cancelReplies(ch, c.Definition.ConsumerTag)
	x := ch.byTag[c.Definition.ConsumerTag]
	if x == nil {
		return nil
	}
	ch.detach(x)
	s.unsubscribes(ch.conn, x)
	if q := s.queues[fact.QueueID(x.Queue)]; q != nil && q.consumers.Remove(x) {
		s.markDirty(q, 0)
		s.consumerLeft(q)
	}
	return nil
}

// consumerLeft lets auto-delete strike, or the queue's own expiry begin. Source: AMQP queue.declare auto-delete.
func (s *step) consumerLeft(q *queueState) {
	if q.deleted || q.consumers.Len() > 0 {
		return
	}
	if q.object.AutoDelete && q.consumed {
		s.deleteQueue(q)
		return
	}
	s.armExpiry(q)
}
