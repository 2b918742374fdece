package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// resume makes a message that has waited ready again.
func (s *step) resume(q *queueState, seq queue.Seq) {
	durable := q.messages.Entry(seq).Flags&queue.Persistent != 0
	s.emit(&fact.Fact{Kind: fact.Resumed, Queue: q.id, Seq: seq, Durable: durable})
	s.markDirty(q, 0)
}

// expireHeads lets the messages of q go, head by head, where only the head may expire, and tells how many; most at the
// most, and none once the portion is full.
func (s *step) expireHeads(q *queueState, most int) (n int) {
	for ; n < most && !s.full() && !s.putsOff(q, fact.Expired); n++ {
		seq, e, ok := q.messages.Head()
		if !ok || !due(e, s.Now) || !q.settings.ExpiryHead {
			break
		}
		if slices.Contains(q.zero, seq) {
			return n
		}
		s.deadLetter(q, seq, fact.Expired, 0)
	}
	s.arm(q)
	return n
}

// arm puts the deadline of q's head into the set, where only the head may expire.
func (v *VHost) arm(q *queueState) {
	v.disarmHead(q)
	if !q.settings.ExpiryHead || q.deleted || v.putsOff(q, fact.Expired) {
		return
	}
	if _, e, ok := q.messages.Head(); ok && e.ExpireAt != 0 {
		q.armed = e.ExpireAt
		v.deadlines.Add(deadline.Entry{At: q.armed, Owner: owner(q, ownHead)})
	}
}

// armExpiry starts the life of an unused queue anew. Source: RabbitMQ ttl#queue-ttl.
func (s *step) armExpiry(q *queueState) {
	s.disarmExpiry(q)
	if q.settings.Expires > 0 && q.consumers.Len() == 0 {
		q.expires = s.From + deadline.Instant(q.settings.Expires)
		s.deadlines.Add(deadline.Entry{At: q.expires, Owner: owner(q, ownQueue)})
	}
}

func (v *VHost) disarmExpiry(q *queueState) {
	if q.expires != 0 {
		v.deadlines.Remove(deadline.Entry{At: q.expires, Owner: owner(q, ownQueue)})
		q.expires = 0
	}
}

// used notes a use of q that renews its life: a get, a declare.
func (s *step) used(q *queueState) {
	if q.expires != 0 {
		s.armExpiry(q)
	}
}

// disarm takes everything of q out of the set, when it is deleted.
func (v *VHost) disarm(q *queueState) {
	v.disarmExpiry(q)
	v.disarmHead(q)
	if q.again != 0 {
		v.deadlines.Remove(deadline.Entry{At: q.again, Owner: owner(q, ownSpace)})
		q.again = 0
	}
	if q.excess != 0 {
		v.deadlines.Remove(deadline.Entry{At: q.excess, Owner: owner(q, ownExcess)})
		q.excess = 0
	}
}

func (v *VHost) disarmHead(q *queueState) {
	if q.armed != 0 {
		v.deadlines.Remove(deadline.Entry{At: q.armed, Owner: owner(q, ownHead)})
		q.armed = 0
	}
}

// schedule sees to it that what e is due for is in the set: its chunk stands there with the earliest of its messages.
func (v *VHost) schedule(q *queueState, s queue.Seq, e *queue.Entry) {
	var side queue.Side
	if e.State == queue.Waiting {
		side = q.messages.Side(s)
	}
	if at := v.dueAt(q, e, &side); at != 0 {
		if chunk, was, earlier := q.messages.Arm(s, at); earlier {
			v.armed(q, chunk, was, at)
		}
	}
}

// armed puts a chunk into the set for another instant than it was there for, 0 for none.
func (v *VHost) armed(q *queueState, chunk queue.Seq, was, at deadline.Instant) {
	if was != 0 {
		v.chunks.Remove(deadline.Entry{At: was, Owner: owner(q, ownMessages), Item: uint64(chunk)})
	}
	v.chunks.Add(deadline.Entry{At: at, Owner: owner(q, ownMessages), Item: uint64(chunk)})
}

// dueAt is when something happens to e by itself, 0 for never: it expires, or it has waited long enough.
func (v *VHost) dueAt(q *queueState, e *queue.Entry, side *queue.Side) deadline.Instant {
	switch e.State {
	case queue.Ready:
		if !q.settings.ExpiryHead {
			return e.ExpireAt
		}
	case queue.Waiting:
		if e.ExpireAt != 0 && e.ExpireAt < side.Until {
			return e.ExpireAt
		}
		return side.Until
	}
	return 0
}

// disarmed hears of a chunk with a deadline that is no more.
func (v *VHost) disarmed(m *queue.Messages, chunk queue.Seq, at deadline.Instant) {
	v.chunks.Remove(deadline.Entry{At: at, Owner: ownerOf(fact.QueueID(m.ID()), ownMessages), Item: uint64(chunk)})
}

// deadlineOf is the instant at which m expires in q: the lesser of both TTLs counts, from now or from when it may be
// delivered. What was a dead letter too often has none, and none at all where queues' TTLs are not for dead letters.
// Source: RabbitMQ ttl; docs/compat/dead-lettering.md#15.
func (s *step) deadlineOf(q *queueState, m *message) deadline.Instant {
	if h := m.history; h != nil && (!s.options.TTLInDLQ || s.options.HopsMax > 0 && h.Total() >= s.options.HopsMax) {
		return 0
	}
	ttl := q.settings.TTL
	if m.ttl >= 0 && (ttl < 0 || m.ttl < ttl) {
		ttl = m.ttl
	}
	if ttl < 0 {
		return 0
	}
	return max(s.From, m.until) + deadline.Instant(ttl)
}
