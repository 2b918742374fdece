package vhost

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Projection is the durable state for comparison: the shortest list of facts that leads to it, without what only lazy
// facts tell.
func (v *VHost) Projection() []byte { return v.contents(false) }

// Contents is the durable state with what only lazy facts tell, for those who look at it from outside.
func (v *VHost) Contents() []byte { return v.contents(true) }

func (v *VHost) contents(lazy bool) []byte {
	b := append([]byte(nil), fact.FormatVersion)
	b = v.appendJobs(binary.AppendUvarint(b, uint64(v.logged)))
	defined := pieces{last: b}
	v.newDefinitions().append(&defined, math.MaxInt)
	b = slices.Concat(defined.all()...)
	for _, q := range append(v.sortedQueues(), v.lost) {
		if q.object.Durable {
			b = v.appendMessages(b, q, lazy)
		}
	}
	b = v.appendTxs(b)
	return fact.Append(b, &fact.Fact{Kind: fact.Counted, Books: &v.durable}, 0)
}

func (v *VHost) appendMessages(b []byte, q *queueState, lazy bool) []byte {
	q.messages.Each(0, func(s queue.Seq, e *queue.Entry) bool {
		if e.Flags&queue.Persistent == 0 {
			return true
		}
		side := q.messages.Side(s)
		f := fact.Fact{Kind: fact.Enqueued, Queue: q.id, Seq: s, Entry: *e, History: side.History, N: uint64(side.Acquired)}
		if e.State == queue.Unacked {
			f.Entry.Flags |= queue.Redelivered | queue.Handed
		}
		if !lazy {
			f.Entry.Flags &^= queue.Redelivered | queue.Handed
		}
		if e.State == queue.Waiting {
			f.At = side.Until
		}
		b = fact.Append(b, &f, 0)
		if side.Arrived != 0 {
			b = fact.Append(b, &fact.Fact{Kind: fact.Arrived, Queue: q.id, Seq: s, At: side.Arrived}, 0)
		}
		if side.Failed > 0 {
			b = fact.Append(b, &fact.Fact{Kind: fact.Tallied, Queue: q.id, Seq: s, N: uint64(side.Failed)}, 0)
		}
		if e.State == queue.Held {
			x := q.held[s]
			b = fact.Append(b, &fact.Fact{Kind: fact.Held, Queue: q.id, Seq: s, Cause: x.cause, History: side.History, Took: x.took}, 0)
		}
		return true
	})
	q.messages.Skipped(func(next queue.Seq) {
		b = fact.Append(b, &fact.Fact{Kind: fact.Skipped, Queue: q.id, Seq: next}, 0)
	})
	return b
}

// durableBinding reports whether both ends of a binding survive a restart. Source: docs/compat/amqp-surface.md#8.
func (v *VHost) durableBinding(o *fact.Object) bool {
	if x := v.topo.Exchange(o.Source); x == nil || !x.Durable {
		return false
	}
	if o.ToExchange {
		x := v.topo.Exchange(o.Name)
		return x != nil && x.Durable
	}
	q := v.queueNamed(o.Name)
	return q != nil && q.object.Durable
}

func isPredeclared(name string) bool { return strings.HasPrefix(name, "amq.") }
