package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// With at-least-once, a dead letter that not all its targets can take stays in its queue, held: it died, its death is
// in its history, and it is neither ready nor unacked. Two things try it again. Room: a full target that has room
// takes the letters that wait for it, in order. A sweep: all held letters of the vhost in turn, when the topology or
// a policy has changed, after a restart, and now and then. What is held survives; who waits for whom is connected
// state, which the first sweep finds.
// Source: ours, design §5; reference dead-lettering 12.

// heldLetter is what is known of a held letter beside its history.
type heldLetter struct {
	cause Cause
	took  []QueueID // the targets that have it
	tried uint32    // the way of its queue when it was tried last

	since deadline.Instant // or since the vhost was opened

	durable bool
}

// wayOut is where all letters of a queue lead, as far as that can be known without looking at them: by the queue's
// dead-letter routing key, or because its exchange leads nowhere.
type wayOut struct {
	number    uint32 // another one each time that it may have changed
	version   uint64 // of the topology
	dlx, dlrk string
	ids       []QueueID
	known     bool
}

// letterAt is the place of a held letter.
type letterAt struct {
	queue QueueID
	seq   queue.Seq
}

// holding is the vhost's account of held letters.
type holding struct {
	letters []letterAt             // in the order in which they were held; some may be gone
	blocked map[QueueID][]letterAt // by the full target that they wait for; likewise

	swept     uint64           // version of the topology at the last sweep
	next      int              // of letters, in a sweep under way; 0: none is
	reads     int              // batches that the sweep may have had to read
	kept      int              // letters before next that are still held
	again     bool             // something changed since the sweep began
	at        deadline.Instant // of the next sweep, 0: none is due
	notBefore deadline.Instant // sweeps take no more than a small share of the time
	pause     int64            // ms until the next sweep, if nothing changes
}

// all lists the letters, in the order in which they were held; the result is the caller's.
func (h *holding) all() []letterAt {
	if h.next == 0 {
		return slices.Clone(h.letters)
	}
	return append(slices.Clone(h.letters[:h.kept]), h.letters[h.next:]...) // between them are old places
}

// withhold makes a dead message a held letter, or notes what has changed about one.
func (v *VHost) withhold(s *Stamp, q *queueState, seq queue.Seq, m *message, p passage, out *Outcome) {
	e := q.messages.Entry(seq)
	f := Fact{
		Kind: Held, Queue: q.id, Seq: seq, Durable: e.Flags&queue.Persistent != 0, Cause: p.missing, Took: p.took,
	}
	if e.State == queue.Held {
		f.History = q.messages.Side(seq).History
	} else {
		f.History = v.historyOf(s, m, f.Durable, out)
		q.counters().Held++
	}
	v.emit(s, &f, out)
	v.touch(q, 0)
	if p.missing == Moved {
		v.goesOnTo(s, q, seq)
		return
	}
	v.await(q, seq, p.full)
	if v.holding.at == 0 && v.holding.next == 0 {
		v.armSweep(s, s.From+sweepFirst)
	}
}

// await notes which full queues a letter waits for.
func (v *VHost) await(q *queueState, seq queue.Seq, full []QueueID) {
	for _, t := range full {
		v.holding.blocked[t] = append(v.holding.blocked[t], letterAt{q.id, seq})
	}
}

// withheld folds Held.
func (v *VHost) withheld(q *queueState, s queue.Seq, e *queue.Entry, f *Fact) {
	q.messages.Touch()
	side := q.messages.Side(s)
	durable := e.Flags&queue.Persistent != 0
	v.numbers(f.Took, durable) // a new queue with such a number would never get the letter
	v.retain(f.History, durable)
	if e.Flags&queue.Letter != 0 {
		v.release(side.History, durable)
	}
	known := e.State == queue.Held
	if known {
		q.heldBy[q.held[s].cause]--
	} else {
		q.messages.Hold(s)
	}
	e = q.messages.Change(s)
	e.Flags = e.Flags&^queue.Handed | queue.Letter
	side.History = f.History
	q.messages.SetSide(s, side)
	if known {
		v.heldChanges(q, s)
		q.held[s] = heldLetter{cause: f.Cause, took: f.Took, since: q.held[s].since, durable: q.held[s].durable}
		q.heldBy[f.Cause]++
		return
	}
	v.noteHeld(q, s, f.Cause, f.Took, durable)
}

// noteHeld notes a letter that is held from now on.
func (v *VHost) noteHeld(q *queueState, s queue.Seq, cause Cause, took []QueueID, durable bool) {
	if q.held == nil {
		q.held = map[queue.Seq]heldLetter{}
	}
	v.heldChanges(q, s)
	v.holding.letters = append(v.holding.letters, letterAt{q.id, s})
	q.held[s] = heldLetter{cause: cause, took: took, since: v.logged, durable: durable}
	q.heldBy[cause]++
}

// retry tries a held letter again: with only, just for that target.
func (v *VHost) retry(s *Stamp, q *queueState, seq queue.Seq, only QueueID, depth int, out *Outcome) {
	was := q.held[seq]
	if only != 0 && was.cause == Moved {
		return // it comes there by itself
	}
	m := v.recall(q, seq)
	p := v.hop(s, q, &m, attempt{
		depth: depth, holds: was.cause != Moved || q.settings.AtLeastOnce, parts: true, turn: v.firstOfWide(q, seq),
		again: true, had: was.took, only: only,
	}, out)
	if p.missing != 0 && p.missing != Moved {
		q.counters().Retried[waitKind(p.missing)]++
	}
	switch {
	case p.missing == 0:
		v.leaves(q, &p, int64(s.Now-was.since))
		v.end(s, q, seq, p.end(), out)
		v.touch(q, depth)
		v.holding.pause = sweepEvery
	case p.missing != was.cause || len(p.took) != len(was.took):
		v.withhold(s, q, seq, &m, p, out)
	default:
		v.await(q, seq, p.full)
	}
	if x, held := q.held[seq]; held && only == 0 {
		x.tried = v.wayOf(q).number
		q.held[seq] = x
	}
}

// wayOf returns where q's letters lead.
func (v *VHost) wayOf(q *queueState) *wayOut {
	w, set := &q.way, q.settings
	if w.number > 0 && w.version == v.topo.Version() && w.dlx == set.DeadLetterExchange && w.dlrk == set.DeadLetterRoutingKey {
		return w
	}
	*w = wayOut{number: w.number + 1, version: v.topo.Version(), dlx: set.DeadLetterExchange, dlrk: set.DeadLetterRoutingKey}
	x := v.topo.Exchange(w.dlx)
	switch {
	case x == nil:
	case set.hasDLRK:
		w.ids, w.known = v.topo.Route(x, &topology.Message{Key: []byte(w.dlrk)}, nil)
	case w.dlx != "" && x.Alternate == "" && !x.Delayed:
		w.known = !v.topo.HasBindingsFrom(w.dlx)
	}
	return w
}

// stuck reports whether a letter need not be read to be known to stay held, and notes why. A target that has no room is
// believed only if the letter was tried since its way was made: it may be one to which it would come in a cycle.
func (v *VHost) stuck(s *Stamp, q *queueState, seq queue.Seq, e *queue.Entry, out *Outcome) bool {
	x, w := q.held[seq], v.wayOf(q)
	p := passage{took: x.took, missing: LostExchange}
	switch {
	case x.cause == Moved: // it goes on by itself
		return true
	case (x.cause == LostCycle || x.cause == LostHops) && x.tried == w.number: // its history says so, and does not change
		return true
	case !q.settings.hasDLX || v.topo.Exchange(w.dlx) == nil:
	case !w.known:
		return false
	case len(w.ids) == 0:
		if p.missing = LostRoute; len(x.took) > 0 {
			return false
		}
	default:
		p.missing = LostRefused
		for _, id := range w.ids {
			if slices.Contains(x.took, id) {
				continue
			}
			t := v.queues[id]
			if !t.refusesBytes(e.BodyBytes, true) || t.settings.passesOn() {
				return false
			}
			p.full = append(p.full, id)
		}
		if p.full == nil || x.tried != w.number {
			return false
		}
	}
	if p.missing == x.cause {
		v.await(q, seq, p.full)
		return true
	}
	v.withhold(s, q, seq, nil, p, out)
	return true
}

// admit lets letters into t that waited for room in it, in order, a portion at a time. One that is too large for the
// room that there is lets smaller ones pass.
func (v *VHost) admit(s *Stamp, t *queueState, depth int, out *Outcome) {
	all := v.holding.blocked[t.id]
	delete(v.holding.blocked, t.id)
	n := 0
	var large []letterAt
	for ; n < len(all) && n < admitMax && v.moves < movesMax && !t.refusesBytes(0, true); n++ {
		q, e := v.heldAt(all[n])
		switch {
		case e == nil:
		case t.refusesBytes(e.BodyBytes, true):
			large = append(large, all[n])
		default:
			v.retry(s, q, all[n].seq, t.id, depth, out)
		}
	}
	more := n < len(all) && (len(large) < n || v.moves >= movesMax) // and it is worth while
	first := n - len(large)
	copy(all[first:], large) // back to the front, where letters have gone: the others are too many to be moved
	if all = append(all[first:], v.holding.blocked[t.id]...); len(all) == 0 {
		return
	}
	v.holding.blocked[t.id] = all
	if more && !t.refusesBytes(0, true) {
		v.lookLater(s, t)
	}
}

// lookLater has the next tick look at a queue.
func (v *VHost) lookLater(s *Stamp, q *queueState) {
	if q.again == 0 {
		q.again = s.Now
		v.deadlines.Add(deadline.Entry{At: q.again, Owner: owner(q, ownRoom)})
	}
}

// heldAt finds a held letter; nil if it is held no more.
func (v *VHost) heldAt(at letterAt) (*queueState, *queue.Entry) {
	q := v.queues[at.queue]
	if q == nil {
		return nil, nil
	}
	if e := q.messages.Entry(at.seq); e != nil && e.State == queue.Held {
		return q, e
	}
	return nil, nil
}

// rerouted is told, at the end of each step, to have letters tried again if the topology has changed.
func (v *VHost) rerouted(s *Stamp) {
	if len(v.holding.letters) > 0 && v.holding.swept != v.topo.Version() && v.mutant != MutantForgetRetry {
		v.holding.swept = v.topo.Version()
		v.sweepSoon(s)
	}
}

// sweepSoon has all letters tried again, as soon as sweeps may.
func (v *VHost) sweepSoon(s *Stamp) {
	h := &v.holding
	switch {
	case len(h.letters) == 0:
	case h.next > 0:
		h.again = true
	default:
		v.armSweep(s, max(s.Now, h.notBefore))
	}
}

func (v *VHost) armSweep(s *Stamp, at deadline.Instant) {
	h := &v.holding
	if h.at != 0 && h.at <= at {
		return
	}
	if h.at != 0 {
		v.deadlines.Remove(deadline.Entry{At: h.at, Owner: ownSweep})
	}
	h.at = at
	v.deadlines.Add(deadline.Entry{At: at, Owner: ownSweep})
}

// sweep tries a portion of the held letters, and arms the next.
func (v *VHost) sweep(s *Stamp, out *Outcome) {
	h := &v.holding
	h.at = 0
	if v.cramped {
		v.armSweep(s, s.Now+sweepEvery)
		return
	}
	if h.next == 0 {
		clear(h.blocked)
		h.kept, h.again, h.reads = 0, false, 0
		h.swept = v.topo.Version()
	}
	reads, batch := 0, place.Index(0)
	for n := 0; n < sweepMax && reads < readsMax && h.next < len(h.letters) && !v.full(); n++ {
		at := h.letters[h.next]
		h.next++
		if q, e := v.heldAt(at); e != nil && !v.stuck(s, q, at.seq, e, out) {
			if e.Flags&queue.Volatile == 0 && e.Index != batch {
				reads, batch = reads+1, e.Index
			}
			v.retry(s, q, at.seq, 0, 0, out)
		}
		if _, e := v.heldAt(at); e != nil {
			h.letters[h.kept] = at
			h.kept++
		}
	}
	h.reads += reads
	if h.next < len(h.letters) {
		v.armSweep(s, s.Now)
		return
	}
	h.letters = slices.Delete(h.letters, h.kept, len(h.letters))
	h.next = 0
	h.notBefore = s.From + deadline.Instant(min(int64(len(h.letters))/sweepsPerMilli+1000*int64(h.reads)/readsPerPause, sweepRarest))
	switch {
	case len(h.letters) == 0:
		h.pause = sweepEvery
	case h.again:
		v.armSweep(s, h.notBefore)
	default:
		h.pause = min(max(2*h.pause, sweepEvery), sweepRarest)
		v.armSweep(s, max(h.notBefore, s.From+deadline.Instant(h.pause)))
	}
}

// HeldLetter is a held letter as lists show it.
type HeldLetter struct {
	ID      uint64 // of the message in its queue
	Cause   Cause
	History History // the newest death is why it is a letter
	Took    []string
	Size    uint32
	Ref     place.Ref
}

// HeldLetters lists the held letters of a queue with an ID greater than after, in queue order, most at the most. Each
// costs a read of its history; beside that the held letters of the queue are looked through once.
func (v *VHost) HeldLetters(name string, after uint64, most int) []HeldLetter {
	q := v.queueNamed(name)
	if q == nil {
		return nil
	}
	var all []HeldLetter
	for _, seq := range q.heldFrom(queue.Seq(after), most) {
		e := q.messages.Entry(seq)
		h := v.historyAt(q.messages.Side(seq).History)
		x := HeldLetter{ID: uint64(seq) + 1, Cause: q.held[seq].cause, History: h, Size: e.Size, Ref: e.Ref(v.log)}
		for _, id := range q.held[seq].took {
			if t := v.queues[id]; t != nil {
				x.Took = append(x.Took, t.object.Name)
			}
		}
		all = append(all, x)
	}
	return all
}

// heldFrom lists the first held letters from seq on, in order, most at the most: sorting all of a million would take
// too long to be looked at.
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
