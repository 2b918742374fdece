package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A grave is a chunk of messages that ended without a look at them: the books know, and what their records count for in
// the log is given back by ticks. The messages of a deleted queue are remains: the queue as it was, which nobody can
// name.
// Source: ours, decision 11.

// ended ends the copies of q from a number on.
func (v *VHost) ended(q *queueState, first queue.Seq, n uint64, cause Cause) {
	if n == 1 {
		if q.messages.Entry(first) != nil {
			v.endOne(q, first, cause)
		}
		return
	}
	if q == v.shelf { // what is there is counted by its cause
		q.messages.Each(first, func(s queue.Seq, _ *queue.Entry) bool {
			within := uint64(s-first) < n
			if within {
				v.endOne(q, s, cause)
			}
			return within
		})
		return
	}
	q.messages.Clear(first, n, func(_ queue.Seq, _ uint64, g queue.Grave) { v.inter(g, cause) },
		func(s queue.Seq, _ *queue.Entry) { v.endOne(q, s, cause) })
}

// endWhole emits Ended for a chunk that was taken off.
func (s *step) endWhole(q *queueState, first queue.Seq, span uint64, g queue.Grave, cause Cause) {
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
		s.out.Facts = append(s.out.Facts, Fact{Kind: Ended, Queue: q.id, Seq: first, N: span, Cause: cause, Durable: durable})
	}
	s.inter(g, cause)
}

// inter counts the end of what is in a grave.
func (v *VHost) inter(g queue.Grave, cause Cause) {
	v.books.Ended[cause] += uint64(g.Live)
	v.durable.Ended[cause] += uint64(g.Persistent)
	v.toGrave(g)
}

func (v *VHost) toGrave(g queue.Grave) {
	v.graves = append(v.graves, g)
	v.digSoon()
}

// abandon ends all messages of a queue that is deleted. The books know at once; ticks go through what is left of it.
func (v *VHost) abandon(q *queueState) {
	m := q.messages
	m.Touch()
	if c := v.saving; c != nil && len(q.held) > 0 {
		c.deleted[q.id] = q
	}
	n := 0
	for _, s := range [...]queue.State{queue.Ready, queue.Unacked, queue.Waiting, queue.Held} {
		n += m.Count(s)
	}
	v.books.Ended[GoneDeleted] += uint64(n)
	v.durable.Ended[GoneDeleted] += uint64(m.Persistent())
	v.remains = append(v.remains, m)
	v.digSoon()
}

// digSoon arms the next look at graves and remains: it is always due.
func (v *VHost) digSoon() {
	if !v.burying && len(v.graves)+len(v.remains) > 0 {
		v.burying = true
		v.deadlines.Add(deadline.Entry{At: 1, Owner: ownGraves})
	}
}

// exhume gives back what some graves hold, or some chunks of queues that are deleted.
func (v *VHost) exhume() {
	v.burying = false
	n := min(gravesPerTick, len(v.graves))
	for range n {
		g := v.graves[len(v.graves)-1]
		v.graves = v.graves[:len(v.graves)-1]
		v.unearth(g)
	}
	if len(v.graves) == 0 {
		v.graves = nil
	}
	v.digRemains(gravesPerTick - n)
	v.digSoon()
}

// digRemains goes through some chunks of queues that are deleted, and reports whether there are more.
func (v *VHost) digRemains(n int) (more bool) {
	for ; n > 0 && len(v.remains) > 0; n-- { // an empty queue is work, too
		before := v.remains[0].Chunks()
		if !v.remains[0].Dig(n, v.giveUp) {
			v.remains[0] = nil
			v.remains = v.remains[1:]
		}
		n -= before
	}
	if len(v.remains) == 0 {
		v.remains = nil
	}
	return len(v.remains) > 0
}

// giveUp gives back what a copy refers to that has ended.
func (v *VHost) giveUp(e *queue.Entry, side queue.Side) { v.releaseCopy(e, side.History) }

// unearth gives back what one grave holds.
func (v *VHost) unearth(g queue.Grave) {
	v.pool.Exhume(g, v.giveUp)
}

// buried folds a grave of a checkpoint.
func (v *VHost) buried(f *Fact) {
	g, err := v.pool.Rebury(f.Bytes)
	if err != nil {
		panic(storage.Fault{Err: err})
	}
	v.toGrave(g)
}

// paged folds a chunk of a checkpoint.
func (v *VHost) paged(f *Fact) {
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
	if q == v.shelf {
		q.messages.Look(f.Seq, func(seq queue.Seq, e *queue.Entry, side *queue.Side) {
			v.shelved[Cause(e.Priority)]++
			v.shares.add(side.Acquired, seq, e.BodyBytes)
		})
	}
}
