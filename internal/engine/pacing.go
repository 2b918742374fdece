package engine

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// The publishers of a queue that is overgrown wait for its consumers: what they have sent is decided at once, but their
// batches are given back later, so that a connection reads no more than a few batches ahead. They wait until the queue
// is shorter, or as long as all that comes to the queue would take at the least rate: paceCommand for each command and
// pacePerByte for each octet of a body, but not longer than paceMax for a batch. They do not wait if the consumers
// would need more than emptiesWithin for what is there, as fast as they were in the last drainWindow: then it is not
// the publishers who hold them back. A connection that consumes does not wait, for what it acknowledges helps.
// Source: ours, decision 27.
const (
	paceCommand   = 2500 // ns
	pacePerByte   = 20   // ns
	paceMax       = 1000 // ms
	drainWindow   = 50   // ms
	emptiesWithin = 5000 // ms
	// pacedQueuesKept is how many queues are known before those are forgotten that were not overgrown lately.
	pacedQueuesKept = 256
)

// Pacing is what publishers have waited for consumers, of all vhosts.
type Pacing struct {
	Batches uint64 // that were given back late, ever
	Now     int64  // of these, those that are not given back yet
}

// pacing has the batches of a vhost that are given back late.
type pacing struct {
	queues  map[fact.QueueID]*pacedQueue // that they wait for, or did lately
	batches int
}

type pacedQueue struct {
	batches []pacedBatch     // in order of until
	next    int64            // ns, until when what has come may take at the least rate
	taken   uint64           // messages that had been taken from the queue
	takenAt deadline.Instant // then
	window  uint64           // messages that were taken in emptiesWithin, as in the window before
}

type pacedBatch struct {
	batch   *Batch
	session *Session
	until   deadline.Instant
}

// paced counts for all vhosts.
type paced struct {
	batches atomic.Uint64
	now     atomic.Int64
}

// Pacing tells how publishers have waited for consumers.
func (e *Engine) Pacing() Pacing {
	return Pacing{Batches: e.paced.batches.Load(), Now: e.paced.now.Load()}
}

// pace keeps a batch that is decided if its publisher has to wait for the consumers of a queue, and reports whether it
// does.
func (r *runner) pace(p *request) bool {
	id := r.vhost.Overgrown()
	if id == 0 || p.batch.Free == nil || p.session.closed || !r.engine.clock.Running() ||
		r.vhost.Consumes(p.session.conn) {
		return false
	}
	now, _, _ := r.time.read()
	drain := r.vhost.Drain(id)
	q := r.pacedQueue(id, drain.Taken, now)
	if !q.emptiesSoon(&drain, now) {
		return false
	}
	until := q.admit(p.batch, int64(now))
	if until <= now {
		return false
	}
	q.batches = append(q.batches, pacedBatch{p.batch, p.session, until})
	r.pacing.batches++
	r.engine.paced.batches.Add(1)
	r.engine.paced.now.Add(1)
	p.session.paced.Add(1)
	return true
}

// pacedQueue is what is known of an overgrown queue.
func (r *runner) pacedQueue(id fact.QueueID, taken uint64, now deadline.Instant) *pacedQueue {
	all := r.pacing.queues
	if q := all[id]; q != nil {
		return q
	}
	if len(all) >= pacedQueuesKept {
		maps.DeleteFunc(all, func(_ fact.QueueID, q *pacedQueue) bool {
			return len(q.batches) == 0 && now-q.takenAt > emptiesWithin
		})
	}
	if all == nil {
		all = map[fact.QueueID]*pacedQueue{}
		r.pacing.queues = all
	}
	q := &pacedQueue{taken: taken, takenAt: now}
	all[id] = q
	return q
}

// emptiesSoon reports whether the consumers would soon have taken what is in the queue.
func (q *pacedQueue) emptiesSoon(d *vhost.Drain, now deadline.Instant) bool {
	if passed := now - q.takenAt; passed >= drainWindow {
		q.window = (d.Taken - q.taken) * emptiesWithin / uint64(passed)
		q.taken, q.takenAt = d.Taken, now
	}
	return uint64(d.Ready) <= q.window
}

// admit reckons until when a batch has to wait that comes now.
func (q *pacedQueue) admit(b *Batch, now int64) (until deadline.Instant) {
	const ms = 1_000_000
	takes := int64(0)
	for i := range b.Commands {
		if c := &b.Commands[i]; c.Kind == vhost.Publish {
			takes += paceCommand + pacePerByte*int64(len(c.Body))
		}
	}
	q.next = min(max(q.next, now*ms)+takes, (now+paceMax)*ms)
	return deadline.Instant(q.next / ms)
}

// nextPaced is when a batch has waited as long as it may; ok is false if none waits.
func (r *runner) nextPaced() (at deadline.Instant, ok bool) {
	if r.pacing.batches == 0 { // asked in each round: nearly always
		return 0, false
	}
	for _, q := range r.pacing.queues {
		if len(q.batches) > 0 && (!ok || q.batches[0].until < at) {
			at, ok = q.batches[0].until, true
		}
	}
	return at, ok
}

// unpace gives batches back that need not wait any longer.
func (r *runner) unpace() {
	if r.pacing.batches == 0 {
		return
	}
	now, _, _ := r.time.read()
	for id, q := range r.pacing.queues {
		overgrown := r.vhost.Drain(id).Overgrown
		if !overgrown {
			q.next = 0
		}
		n := 0
		for n < len(q.batches) && (!overgrown || q.batches[n].until <= now) {
			r.freePaced(&q.batches[n])
			n++
		}
		q.batches = slices.Delete(q.batches, 0, n)
	}
}

// unpaceSession gives back the batches of a session that ends.
func (r *runner) unpaceSession(s *Session) {
	if !s.Paced() {
		return
	}
	for _, q := range r.pacing.queues {
		q.batches = slices.DeleteFunc(q.batches, func(b pacedBatch) bool {
			if b.session != s {
				return false
			}
			r.freePaced(&b)
			return true
		})
	}
}

func (r *runner) freePaced(b *pacedBatch) {
	r.pacing.batches--
	r.engine.paced.now.Add(-1)
	b.session.paced.Add(-1)
	b.batch.free()
}
