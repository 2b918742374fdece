package vhost

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Marks returns what a sound vhost refers to in some spans of its log and of the log of its pages, in order.
func (s *Salvage) Marks(spans []storage.Span) []storage.Ref {
	s.v.Mark(spans)
	for s.v.MarkSome(1 << 16) {
	}
	return s.v.Marked()
}

// Rebuild returns a vhost with all that can be had, and with nothing else: its checkpoint at that batch, the last, is
// to take the place of the damaged log. What it does not have any more is counted as Damaged.
func (s *Salvage) Rebuild(at storage.Index, pages storage.Pages) (*VHost, error) {
	n := New(s.v.name, s.v.log, salvageRecords{s}, pages)
	var ranges []storage.UseRange
	for _, r := range s.v.use.Ranges() {
		ranges = append(ranges, storage.UseRange{First: r.First})
	}
	if len(ranges) > 0 {
		n.use.Restore(ranges, at)
	}
	defined := pieces{last: binary.AppendUvarint([]byte{fact.FormatVersion}, uint64(s.v.logged))}
	s.v.newDefinitions().append(&defined, math.MaxInt)
	if err := n.ApplyCheckpoint(slices.Concat(defined.all()...)); err != nil {
		return nil, err
	}
	for _, q := range append(s.v.sortedQueues(), s.v.lost) {
		if q == s.v.lost || q.object.Durable {
			s.moveInto(n, q)
		}
	}
	live := n.durable.Made
	n.durable = s.v.durable
	if lost := n.durable.Made - n.durable.Total() - live; int64(lost) > 0 {
		n.durable.Ended[fact.Damaged] += lost
	}
	n.durable.Made = n.durable.Total() + live
	n.books = n.durable
	if err := n.Check(); err != nil {
		return nil, fmt.Errorf("vhost %q, rebuilt: %w", n.name, err)
	}
	return n, nil
}

// moveInto makes the copies of a queue in n that are not lost.
func (s *Salvage) moveInto(n *VHost, q *queueState) {
	found := s.foundIn(q.id)
	before := func(seq queue.Seq) {
		for len(found) > 0 && found[0].made.Seq < seq {
			x := found[0]
			found = found[1:]
			s.make(n, x)
		}
	}
	done := 0
	q.messages.Each(0, func(seq queue.Seq, e *queue.Entry) bool {
		before(seq)
		if s.drop[copyAt{q.id, seq}] {
			return true
		}
		side := q.messages.Side(seq)
		f := fact.Fact{Kind: fact.Enqueued, Durable: true, Queue: q.id, Seq: seq, Entry: *e, History: side.History, N: uint64(side.Acquired)}
		if e.State == queue.Waiting {
			f.At = side.Until
		}
		copied := foundCopy{made: f, failed: uint64(side.Failed), arrived: side.Arrived}
		if x, known := q.held[seq]; e.State == queue.Held && known {
			copied.held = &fact.Fact{Kind: fact.Held, Durable: true, Queue: q.id, Seq: seq, Cause: x.cause, History: side.History, Took: x.took}
		}
		s.make(n, &copied)
		if done++; done%queue.ChunkLen == 0 {
			n.trim()
		}
		return true
	})
	before(^queue.Seq(0))
	to := n.queueOf(q.id).messages
	q.messages.Logged(func(next queue.Seq) {
		if to.Fits(next) {
			to.Skip(next)
		}
	})
	n.trim()
}

// make makes one copy in n.
func (s *Salvage) make(n *VHost, x *foundCopy) {
	f, held := x.made, x.held
	if s.plain[copyAt{f.Queue, f.Seq}] {
		f.Entry.Flags &^= queue.HasHistory
		f.History, held = storage.Ref{}, nil
	}
	f.Entry.State = queue.Ready
	n.apply(&f)
	if x.failed > 0 {
		n.apply(&fact.Fact{Kind: fact.Tallied, Queue: f.Queue, Seq: f.Seq, N: x.failed})
	}
	if x.arrived != 0 {
		n.apply(&fact.Fact{Kind: fact.Arrived, Queue: f.Queue, Seq: f.Seq, At: x.arrived})
	}
	if held != nil {
		n.apply(held)
	}
}
