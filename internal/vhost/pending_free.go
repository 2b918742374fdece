package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A chunk pending free is one of messages that ended without a look at them: the books know, and what their records
// count for in the log is given back by ticks. The messages of a deleted queue are kept likewise: the queue as it was,
// which nobody can name. Source: ours, decision 11.

// ended ends the copies of q from a number on.
func (v *VHost) ended(q *queueState, first queue.Seq, n uint64, cause fact.Cause) {
	if n == 1 {
		if q.messages.Entry(first) != nil {
			v.endOne(q, first, cause)
		}
		return
	}
	if q == v.lost { // what is there is counted by its cause
		q.messages.Each(first, func(s queue.Seq, _ *queue.Entry) bool {
			within := uint64(s-first) < n
			if within {
				v.endOne(q, s, cause)
			}
			return within
		})
		return
	}
	q.messages.Clear(first, n, func(_ queue.Seq, _ uint64, g queue.PendingFree) { v.endPending(g, cause) },
		func(s queue.Seq, _ *queue.Entry) { v.endOne(q, s, cause) })
}

// endWhole emits Ended for a chunk that was taken off.
func (s *step) endWhole(q *queueState, first queue.Seq, span uint64, g queue.PendingFree, cause fact.Cause) {
	s.work += workOfEnd
	durable := g.Persistent > 0
	if durable {
		s.begin()
		if !s.out.ended.extendBy(q.id, first, span, cause) {
			s.out.flush()
			s.out.ended = run{q.id, cause, first, span}
		}
		s.batch = s.out.Batch
	}
	if s.out.Trace {
		s.out.Facts = append(s.out.Facts, fact.Fact{Kind: fact.Ended, Queue: q.id, Seq: first, N: span, Cause: cause, Durable: durable})
	}
	s.endPending(g, cause)
}

// endPending counts the end of what is in a chunk pending free.
func (v *VHost) endPending(g queue.PendingFree, cause fact.Cause) {
	v.books.Ended[cause] += uint64(g.Live)
	v.durable.Ended[cause] += uint64(g.Persistent)
	v.freeLater(g)
}

func (v *VHost) freeLater(g queue.PendingFree) {
	v.pendingFree = append(v.pendingFree, g)
	v.freeSoon()
}

// endDeleted ends all messages of a queue that is deleted. The books know at once; ticks go through what is left of it.
func (v *VHost) endDeleted(q *queueState) {
	m := q.messages
	m.Touch()
	if c := v.saving; c != nil && len(q.held) > 0 {
		c.deleted[q.id] = q
	}
	n := 0
	for _, s := range [...]queue.State{queue.Ready, queue.Unacked, queue.Waiting, queue.Held} {
		n += m.Count(s)
	}
	v.books.Ended[fact.GoneDeleted] += uint64(n)
	v.durable.Ended[fact.GoneDeleted] += uint64(m.Persistent())
	v.deletedMessages = append(v.deletedMessages, m)
	v.freeSoon()
}

// freeSoon arms the next look at what is pending free: it is always due.
func (v *VHost) freeSoon() {
	if !v.freeing && len(v.pendingFree)+len(v.deletedMessages) > 0 {
		v.freeing = true
		v.deadlines.Add(deadline.Entry{At: 1, Owner: ownPendingFree})
	}
}

// freeSome gives back what some chunks pending free hold, or some chunks of queues that are deleted.
func (v *VHost) freeSome() {
	v.freeing = false
	n := min(freedPerTick, len(v.pendingFree))
	for range n {
		g := v.pendingFree[len(v.pendingFree)-1]
		v.pendingFree = v.pendingFree[:len(v.pendingFree)-1]
		v.freeChunk(g)
	}
	if len(v.pendingFree) == 0 {
		v.pendingFree = nil
	}
	v.freeDeleted(freedPerTick - n)
	v.freeSoon()
}

// freeDeleted goes through some chunks of queues that are deleted, and reports whether there are more.
func (v *VHost) freeDeleted(n int) (more bool) {
	for ; n > 0 && len(v.deletedMessages) > 0; n-- { // an empty queue is work, too
		before := v.deletedMessages[0].Chunks()
		if !v.deletedMessages[0].Dig(n, v.releaseAll) {
			v.deletedMessages[0] = nil
			v.deletedMessages = v.deletedMessages[1:]
		}
		n -= before
	}
	if len(v.deletedMessages) == 0 {
		v.deletedMessages = nil
	}
	return len(v.deletedMessages) > 0
}

// releaseAll gives back what a copy refers to that has ended.
func (v *VHost) releaseAll(e *queue.Entry, side queue.Side) { v.releaseCopy(e, side.History) }

// freeChunk gives back what one such chunk holds.
func (v *VHost) freeChunk(g queue.PendingFree) {
	v.pool.Exhume(g, v.releaseAll)
}

// applyPendingFree applies a chunk pending free of a checkpoint.
func (v *VHost) applyPendingFree(f *fact.Fact) {
	g, err := v.pool.Rebury(f.Bytes)
	if err != nil {
		panic(storage.Fault{Err: err})
	}
	v.freeLater(g)
}

// paged applies a chunk of a checkpoint.
func (v *VHost) paged(f *fact.Fact) {
	q := v.queueOf(f.Queue)
	if q == nil {
		return
	}
	due, err := q.messages.Restore(f.Seq, f.Bytes)
	if err != nil {
		panic(storage.Fault{Err: err})
	}
	if due != 0 {
		v.chunks.Add(deadline.Entry{At: due, Owner: owner(q, ownMessages), Item: uint64(f.Seq)})
	}
	if q == v.lost {
		q.messages.Look(f.Seq, func(seq queue.Seq, e *queue.Entry, side *queue.Side) {
			v.lostBy[fact.Cause(e.Priority)]++
			v.shares.add(side.Acquired, seq, e.BodyBytes)
		})
	}
}
