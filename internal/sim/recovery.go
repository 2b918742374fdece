package sim

import (
	"bytes"
	"errors"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// lookEvery says after how many batches the whole durable state is compared: to compare it after each would be most of
// what a life takes, and what differs once differs for good. It is compared before each recovery, too.
const lookEvery = 48

// applyToTwin lets the machine that only applies batches follow.
func (w *world) applyToTwin(index storage.Index) {
	if err := w.twin.ApplyBatch(index, w.sealed[index].data); err != nil {
		w.violate(Replay, "batch %d cannot be applied: %v", index, err)
	}
}

// checkTwin compares the live machine, between two batches, with the one that only applies batches: nothing durable has
// changed beside the log.
func (w *world) checkTwin() {
	if w.twinAhead {
		return
	}
	w.look(func() {
		if !bytes.Equal(w.twin.Projection(), w.vhost.Projection()) {
			w.violate(Replay, "after batch %d the live machine and the replay of its log differ", w.next-1)
		}
	})
}

// leave looks at the machine for the last time: it is dropped, for whatever reason.
func (w *world) leave() {
	// in a batch, it is ahead of its twin
	if w.vhost != nil && !w.left && !w.torn && len(w.out.Facts)+len(w.out.Batch) == 0 {
		w.checkTwin()
		w.checkSums()
	}
	w.left = true
}

// compare looks at the machine that was just loaded from a log that ends at batch end: is it the one that was
// there after that batch, does every record tell what was published, is what was confirmed still there?
// On return the ledgers, and what else the checkers know, are as of that batch.
func (w *world) compare(end storage.Index) error {
	excused := end < w.safe && w.excused(end, w.recorded)
	if excused {
		w.result.CutAway++
	}
	for n := range w.Published + 1 {
		m := w.Messages[n]
		switch {
		case m == nil || !m.Confirmed || m.DurableAt <= end:
		case excused:
			m.Confirmed = false
		default:
			w.violate(Confirmed, "message %d was confirmed, depends on batch %d, and the log ends at %d", n, m.DurableAt, end)
		}
	}
	switch {
	case end < w.safe && !excused:
		w.violate(Safe, "batch %d was safe, the log ends at %d", w.safe, end)
	case end > w.tried:
		w.violate(Sound, "batch %d was written last, the log ends at %d", w.tried, end)
	}
	if w.violation != nil {
		return nil
	}
	w.advanceBase(end)
	if w.violation != nil {
		return nil
	}
	w.checkOptions(w.base)
	if err := w.compareCopies(); err != nil || w.violation != nil {
		return err
	}
	if excused {
		clear(w.told)
	}
	w.checkRecalled()
	w.look(func() {
		if !bytes.Equal(w.vhost.Projection(), w.past.Projection()) { // what the checks above do not know of
			w.violate(Replay, "the machine is not the one that was there after batch %d", end)
		}
	})
	if w.violation != nil {
		return nil
	}
	maps.DeleteFunc(w.sealed, func(i storage.Index, _ sealed) bool { return i > end })
	w.live = w.base.Clone()
	w.twin = vhost.New(vhostName, logID, w, &spare{})
	w.look(func() {
		if err := w.twin.ApplyCheckpoint(w.vhost.Contents()); err != nil {
			w.violate(Replay, "what the machine holds cannot be applied: %v", err)
		}
	})
	w.twinAhead = w.vhost.Ruling()
	unknown := func(r storage.Ref) bool { return r.Log == storage.Volatile || r.Index > end }
	maps.DeleteFunc(w.contents, func(r storage.Ref, _ content) bool { return unknown(r) })
	maps.DeleteFunc(w.ways, func(r storage.Ref, _ ledger.Way) bool { return unknown(r) })
	return w.checkConfirmed()
}

// compareCopies finds each copy of the machine in the base, and the other way round, and reads its record.
func (w *world) compareCopies() error {
	var contents []byte
	w.look(func() { contents = w.vhost.Contents() })
	if w.violation != nil {
		return nil
	}
	facts, err := fact.All(logID, 0, contents)
	if err != nil {
		w.violate(Replay, "a snapshot does not decode: %v", err)
		return nil
	}
	found := map[*ledger.Entry]*copied{}
	for i := range facts {
		f := &facts[i]
		e := w.base.Find(f.Queue, f.Seq)
		c := found[e]
		switch f.Kind {
		case fact.Enqueued:
			c = &copied{fact: f}
		case fact.Tallied:
			c.failed = f.N
			continue
		case fact.Held:
			c.held = f
			continue
		case fact.Arrived:
			c.arrived = f.At
			continue
		default:
			continue
		}
		if e == nil || found[e] != nil || e.Ref != f.Entry.Ref(logID) {
			w.violate(Replay, "copy %d of queue %d is not in the log", f.Seq, f.Queue)
			return nil
		}
		found[e] = c
	}
	for q := range w.base.All() {
		for _, s := range q.Seqs() {
			e := q.Copies[s]
			if found[e] == nil {
				continue
			}
			w.compareCopy(e, found[e])
			if w.violation != nil {
				return nil
			}
			if err := w.compareRecord(e); err != nil {
				return err
			}
		}
	}
	if n := w.base.Durables(); n != uint64(len(found)) {
		w.violate(Replay, "the log knows %d copies, the machine %d", n, len(found))
	}
	return nil
}

// copied is what a snapshot says of a copy.
type copied struct {
	fact    *fact.Fact // Enqueued
	failed  uint64
	held    *fact.Fact
	arrived deadline.Instant
}

// compareCopy compares what a snapshot says of a copy with the log.
func (w *world) compareCopy(e *ledger.Entry, c *copied) {
	name := e.Line.Name
	redelivered, handed := c.fact.Entry.Flags&queue.Redelivered != 0, c.fact.Entry.Flags&queue.Handed != 0
	switch {
	case e.Redelivered && !redelivered:
		w.violate(Replay, "message %d in %q was handed out, says the log, and is not flagged", e.Message, name)
	case e.Handed && !handed:
		w.violate(Counts, "message %d in %q was with a consumer, says the log, and that is forgotten", e.Message, name)
	case e.Line.ID == ledger.LostStoreID && uint64(e.Origin) != c.fact.N:
		w.violate(LostStore, "dead letter %d of message %d is one of %x, says the log, and one of %x after it", e.Seq+1, e.Message, e.Origin, c.fact.N)
	case e.Line.ID != ledger.LostStoreID && uint64(e.Acquired) != c.fact.N || uint64(e.Failed) != c.failed:
		w.violate(Counts, "message %d in %q came back %d times, %d failed; expected %d, %d", e.Message, name, c.fact.N, c.failed, e.Acquired, e.Failed)
	case e.Until != c.fact.At && e.Line.Kept != nil:
		w.violate(Schedule, "message %d in %q is due at %d, expected %d", e.Message, name, c.fact.At, e.Until)
	case e.Until != c.fact.At:
		w.violate(Waiting, "message %d in %q waits until %d, expected %d", e.Message, name, c.fact.At, e.Until)
	case e.Arrived != c.arrived:
		w.violate(Arrivals, "message %d in %q arrived at %d, expected %d", e.Message, name, c.arrived, e.Arrived)
	case (e.State == queue.Held) != (c.held != nil):
		w.violate(Held, "message %d in %q is held: %t, expected %t", e.Message, name, c.held != nil, e.State == queue.Held)
	case e.History != c.fact.History || e.ExpireAt != c.fact.Entry.ExpireAt:
		w.violate(Replay, "message %d in %q expires at %d, expected %d, or has another history", e.Message, name, c.fact.Entry.ExpireAt, e.ExpireAt)
	case c.held != nil && (c.held.Cause != e.Lost || !slices.Equal(c.held.Took, e.Took)):
		w.violate(Held, "message %d in %q is held for %q and queues %v have it, expected %q, %v", e.Message, name, c.held.Cause, c.held.Took, e.Lost, e.Took)
	case e.Line == w.base.LostStore && fact.Cause(c.fact.Entry.Priority) != e.Lost:
		w.violate(LostStore, "message %d is in the lost store as %q, expected %q", e.Message, fact.Cause(c.fact.Entry.Priority), e.Lost)
	}
	e.Redelivered, e.Handed = redelivered, handed
	if e.State == queue.Waiting || e.State == queue.Held {
		w.result.Survived++
	}
}

// compareRecord reads what a copy refers to: it is what was stored.
func (w *world) compareRecord(e *ledger.Entry) error {
	for _, ref := range [2]storage.Ref{e.Ref, e.History} {
		if ref.IsZero() {
			continue
		}
		w.scratch = slices.Grow(w.scratch[:0], int(ref.Size))[:ref.Size]
		if _, err := w.journal.ReadAt(w.scratch, ref); err != nil {
			if w.planned(err) || w.spoilt(err) {
				return err
			}
			w.violate(Readable, "message %d in %q: %v", e.Message, e.Line.Name, err)
			return nil
		}
		if maphash.Bytes(sumSeed, w.scratch) != w.contents[ref].sum {
			w.violate(w.unlike(), "message %d in %q: other bytes at %+v than stored", e.Message, e.Line.Name, ref)
		}
	}
	return nil
}

// checkConfirmed finds every confirmed message in a queue, or among those of which a copy has ended.
func (w *world) checkConfirmed() error {
	held := map[uint64]bool{}
	for q := range w.base.All() {
		for _, e := range q.Copies {
			held[e.Message] = true
		}
	}
	for n := range w.Published + 1 {
		if m := w.Messages[n]; m != nil && m.Confirmed && m.DurableAt > 0 && !held[n] && !w.base.Gone[n] {
			w.violate(Confirmed, "message %d was confirmed, and is nowhere", n)
		}
	}
	return nil
}

// planned reports whether an error is one of those that the simulation has made.
func (w *world) planned(err error) bool {
	return errors.Is(err, errBroken) || errors.Is(err, vfs.ErrCrashed)
}
