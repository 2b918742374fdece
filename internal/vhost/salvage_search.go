package vhost

import (
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// lostChunk is a page of a queue that cannot be read: its messages can be found again where they were made, if that is
// still in the log.
type lostChunk struct {
	queue fact.QueueID
	first queue.Seq
	saved queue.SavedChunk
	why   string
	found map[queue.Seq]*foundCopy
	ended map[queue.Seq]bool // since the checkpoint
}

// foundCopy is a copy as the log made it, and what became of it since.
type foundCopy struct {
	made   fact.Fact // Enqueued
	failed uint64
	held   *fact.Fact

	arrived deadline.Instant
}

// Wants reports whether Search may find something.
func (s *Salvage) Wants() bool { return len(s.wanted) > 0 }

// Search looks in a batch, each that there is in the order of the log, for the messages of pages that cannot be read.
func (s *Salvage) Search(index storage.Index, data []byte, lost [][2]int) error {
	losses, hurt := s.losses, s.hurt // what is lost was told when it was applied
	err := s.eachFact(index, data, lost, func(f *fact.Fact) {
		for _, c := range s.wanted {
			if c.queue == f.Queue {
				c.look(f, index > s.at)
			}
		}
	})
	s.losses, s.hurt = losses, hurt
	return err
}

// look takes from a fact what it says of copies of the chunk; later facts are not in the checkpoint.
func (c *lostChunk) look(f *fact.Fact, later bool) {
	switch f.Kind {
	case fact.Enqueued:
		if c.holds(f.Seq) && !c.saved.Gone(int(f.Seq-c.first)) {
			c.found[f.Seq] = &foundCopy{made: *f}
		}
		return
	case fact.QueueDeleted:
		clear(c.found)
		return
	case fact.Handed, fact.Returned, fact.Resumed, fact.Deferred, fact.Held, fact.Kept, fact.Ended, fact.Arrived:
	default:
		return
	}
	for i := range max(f.N, 1) {
		seq := f.Seq + queue.Seq(i)
		if seq >= c.first+queue.ChunkLen {
			return
		}
		if later && f.Kind == fact.Ended && seq >= c.first && !c.saved.Gone(int(seq-c.first)) {
			c.ended[seq] = true
		}
		if x := c.found[seq]; x != nil && x.tell(f) {
			delete(c.found, seq)
		}
	}
}

func (c *lostChunk) holds(s queue.Seq) bool { return s >= c.first && s-c.first < queue.ChunkLen }

// tell applies a fact about the copy, and reports whether that was its end.
func (x *foundCopy) tell(f *fact.Fact) (ended bool) {
	e := &x.made.Entry
	switch f.Kind {
	case fact.Ended:
		return true
	case fact.Handed:
		e.Flags |= queue.Redelivered | queue.Handed
	case fact.Returned:
		e.Flags = e.Flags&^queue.Handed | queue.Redelivered
		x.made.N++
		x.made.At = f.At
		if f.Failed {
			x.failed++
		}
	case fact.Resumed:
		x.made.At = 0
	case fact.Deferred:
		e.ExpireAt = expiryMoved(e, f.At-x.made.At)
		x.made.At = f.At
	case fact.Arrived:
		x.arrived = f.At
	case fact.Kept:
		e.ExpireAt = 0
	case fact.Held:
		x.made.History, e.ExpireAt, x.made.At = f.History, 0, 0
		e.Flags = e.Flags&^queue.Handed | queue.HasHistory
		held := *f
		x.held = &held
	}
	return false
}

// tellWanted notes what became of the pages.
func (s *Salvage) tellWanted() {
	for _, c := range s.wanted {
		q := s.v.queueOf(c.queue)
		if q == nil { // deleted since
			clear(c.found)
			s.noteLoss(DataLoss{Kind: LossOfEnded, Ref: c.saved.Page, Why: c.why})
			continue
		}
		for seq := range c.found {
			if q.messages.Entry(seq) != nil {
				delete(c.found, seq) // made since
			}
		}
		l := DataLoss{
			Kind: LossOfPage, Queue: s.names[c.queue], Lost: c.queue == lostID, Priority: c.first.Lane(), Number: c.first.Number(),
			Ref: c.saved.Page, Found: uint64(len(c.found)), Why: c.why,
		}
		if gone := len(c.found) + len(c.ended); c.saved.Live > gone {
			l.Count = uint64(c.saved.Live - gone)
		}
		s.noteLoss(l)
	}
}

// foundIn lists what was found again of a queue, in its order.
func (s *Salvage) foundIn(id fact.QueueID) []*foundCopy {
	var all []*foundCopy
	for _, c := range s.wanted {
		if c.queue != id {
			continue
		}
		for _, seq := range slices.Sorted(maps.Keys(c.found)) {
			if !s.drop[copyAt{id, seq}] {
				all = append(all, c.found[seq])
			}
		}
	}
	slices.SortFunc(all, func(a, b *foundCopy) int {
		if a.made.Seq < b.made.Seq {
			return -1
		}
		return 1
	})
	return all
}
