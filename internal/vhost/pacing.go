package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A queue is overgrown when it has consumers and more ready messages, or octets of them, than this: its head has left
// the memory that is fast, so that each message more costs its consumers twice, when it is written aside and when it is
// read back. It stays so until a quarter of that is gone. Source: ours, decision 27.
const (
	overgrownMessages = 100_000
	overgrownBytes    = 16 << 20
)

// BoundOvergrown sets how many ready messages a queue may have before it is overgrown. Tests set it low.
func (v *VHost) BoundOvergrown(n int) { v.grownMax = n }

// isOvergrown reports whether publishers should wait for the consumers of q. One that was overgrown is no more when a
// quarter of the limit is free.
func (v *VHost) isOvergrown(q *queueState, was bool) bool {
	messages, octets := v.grownMax, int64(overgrownBytes)
	if was {
		messages, octets = messages-messages/4, octets-octets/4
	}
	return (q.messages.Ready() > messages || q.messages.Bytes(queue.Ready) > octets) && q.consumers.Len() > 0
}

// Overgrown is a queue that was overgrown when a client's message came to it since the last call, 0 if there is none.
func (v *VHost) Overgrown() (id fact.QueueID) {
	id, v.overgrown = v.overgrown, 0
	return id
}

// Drain says how the consumers of a queue come on.
type Drain struct {
	Taken     uint64 // messages that they have taken since the vhost was opened
	Ready     int    // messages that wait for them
	Overgrown bool   // still
}

// Drain says how the consumers of a queue come on; of one that is not there, it is zero.
func (v *VHost) Drain(id fact.QueueID) Drain {
	q := v.queues[id]
	if q == nil {
		return Drain{}
	}
	return Drain{q.flow.Delivered + q.flow.Got, q.messages.Ready(), v.isOvergrown(q, true)}
}

// Drain is that of the vhost.
func (r Reader) Drain(id fact.QueueID) Drain { return r.v.Drain(id) }

// Consumes reports whether a connection has consumers.
func (v *VHost) Consumes(c fact.ConnID) bool {
	n := v.conns[c]
	if n == nil {
		return false
	}
	for _, ch := range n.channels {
		if len(ch.consumers) > 0 {
			return true
		}
	}
	return false
}
