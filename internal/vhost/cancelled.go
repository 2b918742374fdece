package vhost

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// What becomes of a scheduled message that a command names. Each is the whole truth: where nobody knows any more, it is
// unknown.
const (
	outcomeCancelled   = "cancelled"       // now, or before
	outcomeRescheduled = "rescheduled"     // its instant is another
	outcomeFired       = "fired"           // now, by the command
	outcomeAlready     = "already_fired"   // before, by itself or by a command
	outcomeRetry       = "waits_for_retry" // it was delivered before, and is not cancelled
	outcomeUnknown     = "unknown"         // there is none, or it is too long ago
)

// recallMax is how many cancellations a schedule remembers, and how many keys; doubtsMax of how many chunks of 256
// messages it remembers that one in them was cancelled, when it has forgotten which.
const (
	recallMax = 16384
	doubtsMax = 65536
)

// schedule is what a queue has that is one: what it remembers of messages that did not fire. It changes only by facts.
type schedule struct {
	cancelled map[queue.Seq]bool
	order     []queue.Seq     // of them, oldest cancellation first
	below     queue.Seq       // of those below it nobody knows how they went,
	doubts    map[uint64]bool // and of those in these chunks
	keys      keys
}

// outcome tells how a message went that is not there.
func (x *schedule) outcome(q *queueState, seq queue.Seq) string {
	switch {
	case x.cancelled[seq]:
		return outcomeCancelled
	case seq < x.below || seq >= q.messages.Next(0) || x.doubts[uint64(seq)/queue.ChunkLen]:
		return outcomeUnknown
	}
	return outcomeAlready
}

func (x *schedule) note(seq queue.Seq) {
	if x.cancelled == nil {
		x.cancelled = map[queue.Seq]bool{}
	}
	x.cancelled[seq] = true
	if x.order = append(x.order, seq); len(x.order) > recallMax {
		delete(x.cancelled, x.order[0])
		x.doubt(uint64(x.order[0]) / queue.ChunkLen)
		x.order = x.order[1:]
	}
}

// doubt notes that nobody knows any more which messages of a chunk were cancelled.
func (x *schedule) doubt(chunk uint64) {
	if x.doubts == nil {
		x.doubts = map[uint64]bool{}
	}
	if x.doubts[chunk] = true; len(x.doubts) > doubtsMax {
		for k := range x.doubts {
			x.below = max(x.below, queue.Seq(k+1)*queue.ChunkLen)
		}
		clear(x.doubts)
	}
}

// noteOutcome tells a schedule how a message ended. Nothing is remembered of one that fired, or was lost when it was
// due.
func (v *VHost) noteOutcome(q *queueState, seq queue.Seq, cause fact.Cause) {
	x := q.schedule
	gone := cause == fact.GonePurged || cause == fact.GoneDeleted || cause == fact.Damaged
	if !gone && cause != fact.Unscheduled && !x.keys.has(seq) {
		return
	}
	if v.saving != nil {
		v.beforeChange(fact.Cancellations)
	}
	x.keys.drop(seq)
	switch {
	case gone:
		x.below = max(x.below, seq+1)
	case cause == fact.Unscheduled:
		x.note(seq)
	}
}

// save encodes what a schedule remembers; below is in the fact's Seq.
func (x *schedule) save() []byte {
	b := binary.AppendUvarint(nil, uint64(len(x.order)))
	for _, seq := range x.order {
		b = binary.AppendUvarint(b, uint64(seq))
	}
	b = binary.AppendUvarint(b, uint64(len(x.doubts)))
	for _, chunk := range slices.Sorted(maps.Keys(x.doubts)) {
		b = binary.AppendUvarint(b, chunk)
	}
	b = binary.AppendUvarint(b, uint64(len(x.keys.order)))
	for _, hash := range x.keys.order {
		b = binary.BigEndian.AppendUint64(b, hash)
		b = binary.AppendUvarint(b, uint64(x.keys.past[hash]))
	}
	return b
}

// remembers reports whether there is anything to save.
func (x *schedule) remembers() bool {
	return x.below > 0 || len(x.order)+len(x.doubts)+len(x.keys.order) > 0
}

// applyCancellations applies the bytes that save has made.
func (v *VHost) applyCancellations(f *fact.Fact) {
	q := v.queues[f.Queue]
	if q == nil || q.schedule == nil {
		return
	}
	r := fact.Decoder{Rest: f.Bytes}
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		q.schedule.note(queue.Seq(r.Uint()))
	}
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		q.schedule.doubt(r.Uint())
	}
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		hash := r.Fixed()
		q.schedule.keys.note(hash, queue.Seq(r.Uint()))
	}
	q.schedule.below = f.Seq
}

// expiryMoved is when a copy expires that waits so much longer. The TTL of what was never delivered counts from when it
// is due; what waits for a retry keeps the end of its life.
func expiryMoved(e *queue.Entry, by deadline.Instant) deadline.Instant {
	if e.ExpireAt == 0 || e.Flags&queue.Redelivered != 0 {
		return e.ExpireAt
	}
	return e.ExpireAt + by
}

// deferred applies a new instant for what waits.
func (v *VHost) deferred(q *queueState, s queue.Seq, at deadline.Instant) {
	if e := q.messages.Entry(s); e.State == queue.Waiting {
		side := q.messages.Side(s)
		if expiry := expiryMoved(e, at-side.Until); expiry != e.ExpireAt {
			q.messages.Change(s).ExpireAt = expiry
		}
		side.Until = at
		q.messages.SetSide(s, side)
		v.schedule(q, s, q.messages.Entry(s))
	}
}
