package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Near counts the messages that are due so soon, at many instants, that each has a deadline of its own.
func (v *VHost) Near() int { return v.near }

// Front is the earliest deadline, ok false if there is none.
func (v *VHost) Front() (d deadline.Entry, ok bool) {
	d, ok = v.deadlines.Min()
	if c, some := v.chunks.Min(); some && (!ok || c.Compare(d) < 0) {
		return c, true
	}
	return d, ok
}

// NextChange is Due without the repeated attempts to deliver held dead letters: as long as nothing else
// happens, they find what the attempt before found. One attempt after all of that does as much as all of
// them.
func (v *VHost) NextChange() (at deadline.Instant, ok bool) {
	chunk, ok := v.chunks.Min()
	at = chunk.At
	v.deadlines.Ascend(deadline.Entry{}, func(d deadline.Entry) bool {
		if d.Owner == ownSweep {
			return true // there is one at the most
		}
		if !ok || d.At < at {
			at, ok = d.At, true
		}
		return false
	})
	return at, ok
}

// Foresee tells fn where the records lie that near messages will be read from, in the order in which they are due,
// those alone of which the entries are in memory. It looks at most deadlines from one on, and returns where to go on;
// more is false at the end, or where a chunk comes whose messages are not near yet and belong between those that
// follow. Nothing is changed: what is foreseen may still be cancelled, moved, or settled.
func (v *VHost) Foresee(from deadline.Entry, most int, fn func(storage.Ref)) (next deadline.Entry, more bool) {
	chunk, some := v.chunks.Min()
	v.deadlines.Ascend(from, func(d deadline.Entry) bool {
		if most == 0 || some && d.At >= chunk.At {
			next, more = d, most == 0
			return false
		}
		most--
		next = deadline.Entry{At: d.At, Owner: d.Owner, Item: d.Item + 1}
		if d.Owner&(1<<ownBits-1) != ownOne {
			return true
		}
		if q := v.queueOf(fact.QueueID(d.Owner >> ownBits)); q != nil {
			if e := q.messages.Peek(queue.Seq(d.Item)); e != nil && e.Flags&queue.Volatile == 0 && v.willRead(q, e) {
				fn(e.Ref(v.log))
			}
		}
		return true
	})
	if next == (deadline.Entry{}) {
		next = from
	}
	return next, more
}
