package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// With at-least-once, a dead letter that not all its targets can take stays in its queue, held: it died, its death is
// in its history, and it is neither ready nor unacked. Two things try it again. Space: a full target that has space
// takes the dead letters that wait for it, in order. A sweep: all held dead letters of the vhost in turn,
// when the topology or a policy has changed, after a restart, and now and then. What is held survives; who
// waits for whom is connected state, which the first sweep finds.
// Source: ours, decision 8; docs/compat/dead-lettering.md#12.

// heldInfo is what is known of a held dead letter beside its history.
type heldInfo struct {
	took    []fact.QueueID   // the targets that have it
	since   deadline.Instant // or since the vhost was opened
	tried   uint32           // the way of its queue when it was tried last
	cause   fact.Cause
	durable bool
}

// deadLetterRoute is where all dead letters of a queue lead, as far as that can be known without looking at
// them: by the queue's dead-letter routing key, or because its exchange leads nowhere.
type deadLetterRoute struct {
	number    uint32 // another one each time that it may have changed
	version   uint64 // of the topology
	dlx, dlrk string
	has       bool // there is a dead-letter exchange: dlx may be the default exchange, without a name
	ids       []fact.QueueID
	known     bool
}

// deadLetterAt is the place of a held dead letter.
type deadLetterAt struct {
	queue fact.QueueID
	seq   queue.Seq
}

// holding is the vhost's account of held dead letters.
type holding struct {
	deadLetters []deadLetterAt                  // in the order in which they were held; some may be gone
	blocked     map[fact.QueueID][]deadLetterAt // by the full target that they wait for; likewise

	swept     uint64           // version of the topology at the last sweep
	next      int              // of dead letters, in a sweep under way; 0: none is
	reads     int              // batches that the sweep may have had to read
	kept      int              // dead letters before next that are still held
	again     bool             // something changed since the sweep began
	at        deadline.Instant // of the next sweep, 0: none is due
	notBefore deadline.Instant // sweeps take no more than a small share of the time
	pause     int64            // ms until the next sweep, if nothing changes
}

// all lists the dead letters, in the order in which they were held; the result is the caller's.
func (h *holding) all() []deadLetterAt {
	if h.next == 0 {
		return slices.Clone(h.deadLetters)
	}
	return append(slices.Clone(h.deadLetters[:h.kept]), h.deadLetters[h.next:]...) // between them are old places
}

// holdDeadLetter makes a dead message a held dead letter, or notes what has changed about one.
func (s *step) holdDeadLetter(q *queueState, seq queue.Seq, m *message, p passage) {
	e := q.messages.Entry(seq)
	f := fact.Fact{
		Kind: fact.Held, Queue: q.id, Seq: seq, Durable: e.Flags&queue.Persistent != 0, Cause: p.missing, Took: p.took,
	}
	if e.State == queue.Held {
		f.History = q.messages.Side(seq).History
	} else {
		f.History = s.historyOf(m, f.Durable)
		s.fatesOf(q).Held++
	}
	s.emit(&f)
	s.markDirty(q, 0)
	if p.missing == fact.Moved {
		s.goesOnTo(q, seq)
		return
	}
	s.await(q, seq, p.full)
	if s.holding.at == 0 && s.holding.next == 0 {
		s.armSweep(s.From + sweepFirst)
	}
}

// await notes which full queues a dead letter waits for.
func (v *VHost) await(q *queueState, seq queue.Seq, full []fact.QueueID) {
	for _, t := range full {
		v.holding.blocked[t] = append(v.holding.blocked[t], deadLetterAt{q.id, seq})
	}
}

// applyHeld applies Held.
func (v *VHost) applyHeld(q *queueState, s queue.Seq, e *queue.Entry, f *fact.Fact) {
	q.messages.Touch()
	side := q.messages.Side(s)
	durable := e.Flags&queue.Persistent != 0
	v.numbers(f.Took, durable) // a new queue with such a number would never get the dead letter
	v.retain(f.History, durable)
	if e.Flags&queue.HasHistory != 0 {
		v.release(side.History, durable)
	}
	known := e.State == queue.Held
	if known {
		q.heldBy[q.held[s].cause]--
	} else {
		q.messages.Hold(s)
	}
	side.History = f.History
	q.messages.SetSide(s, side)
	if known {
		v.heldChanges(q, s)
		q.held[s] = heldInfo{cause: f.Cause, took: f.Took, since: q.held[s].since, durable: q.held[s].durable}
		q.heldBy[f.Cause]++
		return
	}
	v.noteHeld(q, s, f.Cause, f.Took, durable)
}

// noteHeld notes a dead letter that is held from now on.
func (v *VHost) noteHeld(q *queueState, s queue.Seq, cause fact.Cause, took []fact.QueueID, durable bool) {
	if q.held == nil {
		q.held = map[queue.Seq]heldInfo{}
	}
	v.heldChanges(q, s)
	v.holding.deadLetters = append(v.holding.deadLetters, deadLetterAt{q.id, s})
	q.held[s] = heldInfo{cause: cause, took: took, since: v.logged, durable: durable}
	q.heldBy[cause]++
}

// retry tries a held dead letter again: with only, just for that target.
func (s *step) retry(q *queueState, seq queue.Seq, only fact.QueueID, depth int) {
	was := q.held[seq]
	if only != 0 && was.cause == fact.Moved {
		return // it comes there by itself
	}
	m := s.loadMessage(q, seq)
	p := s.routeDeadLetter(q, &m, attempt{
		depth: depth, holds: was.cause != fact.Moved || q.settings.AtLeastOnce, parts: true, turn: s.firstOfWide(q, seq),
		again: true, had: was.took, only: only,
	})
	if p.missing != 0 && p.missing != fact.Moved {
		s.fatesOf(q).Retried[p.missing-HeldCauses[0]]++
	}
	switch {
	case p.missing == 0:
		s.leaves(q, &p, int64(s.Now-was.since))
		s.end(q, seq, p.end())
		s.markDirty(q, depth)
		s.holding.pause = sweepEvery
	case p.missing != was.cause || len(p.took) != len(was.took):
		s.holdDeadLetter(q, seq, &m, p)
	default:
		s.await(q, seq, p.full)
	}
	if x, held := q.held[seq]; held && only == 0 {
		x.tried = s.deadLetterRouteOf(q).number
		q.held[seq] = x
	}
}

// deadLetterRouteOf returns where q's dead letters lead.
func (v *VHost) deadLetterRouteOf(q *queueState) *deadLetterRoute {
	if q.deadLetterRoute == nil {
		q.deadLetterRoute = &deadLetterRoute{}
	}
	w, set := q.deadLetterRoute, q.settings
	if w.number > 0 && w.version == v.topo.Version() && w.has == set.HasDLX &&
		w.dlx == set.DeadLetterExchange && w.dlrk == set.DeadLetterRoutingKey {
		return w
	}
	*w = deadLetterRoute{
		number: w.number + 1, version: v.topo.Version(),
		has: set.HasDLX, dlx: set.DeadLetterExchange, dlrk: set.DeadLetterRoutingKey,
	}
	x := v.topo.Exchange(w.dlx)
	switch {
	case x == nil:
	case set.HasDLRK:
		r := v.routeOf(x, &topology.Message{Key: []byte(w.dlrk)}, nil)
		w.ids, w.known = r.Queues, r.ByKeys
	case w.dlx != "" && x.Alternate == "" && !x.Delayed:
		w.known = !v.topo.HasBindingsFrom(w.dlx)
	}
	return w
}

// stuck reports whether a dead letter need not be read to be known to stay held, and notes why. A target
// that has no space is believed only if the dead letter was tried since its way was made: it may be one
// to which it would come in a cycle.
func (s *step) stuck(q *queueState, seq queue.Seq, e *queue.Entry) bool {
	x, w := q.held[seq], s.deadLetterRouteOf(q)
	p := passage{took: x.took, missing: fact.LostExchange}
	switch {
	case x.cause == fact.Moved: // it goes on by itself
		return true
	case (x.cause == fact.LostCycle || x.cause == fact.LostHops) && x.tried == w.number: // its history says so, and does not change
		return true
	case !q.settings.HasDLX || s.topo.Exchange(w.dlx) == nil:
	case !w.known:
		return false
	case len(w.ids) == 0:
		if p.missing = fact.LostRoute; len(x.took) > 0 {
			return false
		}
	default:
		p.missing = fact.LostRefused
		for _, id := range w.ids {
			if slices.Contains(x.took, id) {
				continue
			}
			t := s.queues[id]
			if !t.refusesBytes(e.BodyBytes, true) || t.settings.PassesOn() {
				return false
			}
			p.full = append(p.full, id)
		}
		if p.full == nil || x.tried != w.number {
			return false
		}
	}
	if p.missing == x.cause {
		s.await(q, seq, p.full)
		return true
	}
	s.holdDeadLetter(q, seq, nil, p)
	return true
}

// retryBlocked lets dead letters into t that waited for space in it, in order, a portion at a time. One
// that is too large for the space that there is lets smaller ones pass.
func (s *step) retryBlocked(t *queueState, depth int) {
	all := s.holding.blocked[t.id]
	delete(s.holding.blocked, t.id)
	n := 0
	var large []deadLetterAt
	for ; n < len(all) && n < retryBlockedMax && s.moves < movesMax && s.work < s.drainMax && !t.refusesBytes(0, true); n++ {
		q, e := s.heldAt(all[n])
		switch {
		case e == nil:
		case t.refusesBytes(e.BodyBytes, true):
			large = append(large, all[n])
		default:
			s.retry(q, all[n].seq, t.id, depth)
		}
	}
	more := n < len(all) && (len(large) < n || s.moves >= movesMax || s.work >= s.drainMax) // and it is worth while
	first := n - len(large)
	copy(all[first:], large) // back to the front, where dead letters have gone: the others are too many to be moved
	if all = append(all[first:], s.holding.blocked[t.id]...); len(all) == 0 {
		return
	}
	s.holding.blocked[t.id] = all
	if more && !t.refusesBytes(0, true) {
		s.lookLater(t)
	}
}

// lookLater has the next tick look at a queue.
func (s *step) lookLater(q *queueState) {
	if q.again == 0 {
		q.again = s.Now
		s.deadlines.Add(deadline.Entry{At: q.again, Owner: owner(q, ownSpace)})
	}
}

// heldAt finds a held dead letter; nil if it is held no more.
func (v *VHost) heldAt(at deadLetterAt) (*queueState, *queue.Entry) {
	q := v.queues[at.queue]
	if q == nil {
		return nil, nil
	}
	if e := q.messages.Entry(at.seq); e != nil && e.State == queue.Held {
		return q, e
	}
	return nil, nil
}

// rerouted is told, at the end of each step, to have dead letters tried again if the topology has changed.
func (s *step) rerouted() {
	if len(s.holding.deadLetters) > 0 && s.holding.swept != s.topo.Version() {
		s.holding.swept = s.topo.Version()
		s.sweepSoon()
	}
}

// sweepSoon has all dead letters tried again, as soon as sweeps may.
func (s *step) sweepSoon() {
	h := &s.holding
	switch {
	case len(h.deadLetters) == 0:
	case h.next > 0:
		h.again = true
	default:
		s.armSweep(max(s.Now, h.notBefore))
	}
}

func (s *step) armSweep(at deadline.Instant) {
	h := &s.holding
	if h.at != 0 && h.at <= at {
		return
	}
	if h.at != 0 {
		s.deadlines.Remove(deadline.Entry{At: h.at, Owner: ownSweep})
	}
	h.at = at
	s.deadlines.Add(deadline.Entry{At: at, Owner: ownSweep})
}

// sweep tries a portion of the held dead letters, and arms the next.
func (s *step) sweep() {
	h := &s.holding
	h.at = 0
	if s.cramped {
		s.armSweep(s.Now + sweepEvery)
		return
	}
	if h.next == 0 {
		clear(h.blocked)
		h.kept, h.again, h.reads = 0, false, 0
		h.swept = s.topo.Version()
	}
	reads, batch := 0, storage.Index(0)
	for n := 0; n < sweepMax && reads < readsMax && h.next < len(h.deadLetters) && !s.full(); n++ {
		at := h.deadLetters[h.next]
		h.next++
		if q, e := s.heldAt(at); e != nil && !s.stuck(q, at.seq, e) {
			if e.Flags&queue.Volatile == 0 && e.Index != batch {
				reads, batch = reads+1, e.Index
			}
			s.retry(q, at.seq, 0, 0)
		}
		if _, e := s.heldAt(at); e != nil {
			h.deadLetters[h.kept] = at
			h.kept++
		}
	}
	h.reads += reads
	if h.next < len(h.deadLetters) {
		s.armSweep(s.Now)
		return
	}
	h.deadLetters = slices.Delete(h.deadLetters, h.kept, len(h.deadLetters))
	h.next = 0
	h.notBefore = s.From + deadline.Instant(min(int64(len(h.deadLetters))/sweepsPerMilli+1000*int64(h.reads)/readsPerPause, sweepRarest))
	switch {
	case len(h.deadLetters) == 0:
		h.pause = sweepEvery
	case h.again:
		s.armSweep(h.notBefore)
	default:
		h.pause = min(max(2*h.pause, sweepEvery), sweepRarest)
		s.armSweep(max(h.notBefore, s.From+deadline.Instant(h.pause)))
	}
}

// heldFrom lists the first held dead letters from seq on, in order, most at the most: sorting all of a
// million would take too long to be looked at.
func (q *queueState) heldFrom(seq queue.Seq, most int) []queue.Seq {
	var least []queue.Seq
	trim := func() {
		slices.Sort(least)
		least = least[:min(most, len(least))]
	}
	for s := range q.held {
		if s < seq {
			continue
		}
		if least = append(least, s); len(least) >= 2*most+64 {
			trim()
		}
	}
	trim()
	return least
}
