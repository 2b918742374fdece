package vhost

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// DataLossKind says what is lost.
type DataLossKind string

// The kinds.
const (
	// LossOfFacts: what a batch says, Index, or from a place in it on; those up to Last. Index 0 is the checkpoint.
	LossOfFacts DataLossKind = "facts"
	// LossOfContext: a fact that makes no sense without one that is lost, and was left out.
	LossOfContext DataLossKind = "sense"
	// LossOfMessages: messages that came to a queue by facts that are lost. Some may have been transient.
	LossOfMessages DataLossKind = "messages"
	// LossOfQueue: the declaration of a queue, which has a name of ours now.
	LossOfQueue DataLossKind = "queue"
	// LossOfPage: messages of a queue that were in one page; Found of them were found again in the log.
	LossOfPage DataLossKind = "page"
	// LossOfRecord: a message, of which no more is known than is said here.
	LossOfRecord DataLossKind = "message"
	// LossOfHistory: how a dead letter died; the message stays, as if it had not.
	LossOfHistory DataLossKind = "history"
	// LossOfRecent: a message that an exchange with a recent history kept for bindings to come.
	LossOfRecent DataLossKind = "note"
	// LossOfEnded: a page of messages that have ended.
	LossOfEnded DataLossKind = "grave"
	// LossOfAccount: the account of what the log is needed for does not agree with the messages.
	LossOfAccount DataLossKind = "account"
)

// DataLoss is something of a virtual host that is lost.
type DataLoss struct {
	Kind        DataLossKind
	Index, Last storage.Index // batches
	Queue       string        // or exchange
	Lost        bool          // about a lost letter: Queue is empty
	Priority    uint8
	Number      uint64 // of the first message in its queue and priority, from 0
	Count       uint64 // messages
	Found       uint64
	Position    uint64 // of a message in its queue, from 1, counted before anything is left out; 0: unknown
	Ref         storage.Ref
	BodyBytes   uint32
	Exchange    string // to which it was published, if that is known
	RoutingKey  string
	DiedIn      string // queue, of a dead letter, if that is known
	Why         string
}

// before keeps the account of copies that were made by facts that are lost.
func (s *Salvage) before(f *fact.Fact) {
	if !s.hurt {
		return
	}
	n := queue.Seq(min(max(f.N, 1), 1<<40))
	switch f.Kind {
	case fact.Enqueued:
		if s.v.queueOf(f.Queue) == nil {
			s.makeUp(f.Queue)
		}
		s.passOver(f, f.Seq)
	case fact.Ended:
		s.unmiss(f.Queue, f.Seq, f.Seq+n)
		s.passOver(f, f.Seq)
		if q := s.v.queueOf(f.Queue); q != nil && q.messages.Fits(f.Seq+n) {
			q.messages.Skip(f.Seq + n)
		}
	case fact.Handed:
		s.passOver(f, f.Seq+n)
	case fact.Returned, fact.Resumed, fact.Deferred, fact.Held, fact.Kept:
		s.passOver(f, f.Seq+1)
	case fact.QueueDeleted:
		delete(s.missing, f.Queue)
	}
}

// makeUp declares a queue whose declaration is lost, so that its messages have a place.
func (s *Salvage) makeUp(id fact.QueueID) {
	name := fmt.Sprintf("recovered-%d", id)
	for s.v.queueNamed(name) != nil {
		name += "-"
	}
	const lanes = 255 // nobody knows which priorities it had
	o := fact.Object{Name: name, Type: "classic", Durable: true, Arguments: amqp.Table{{Name: "x-max-priority", Value: amqp.Int32(lanes)}}}
	s.take(&fact.Fact{Kind: fact.QueueDeclared, Durable: true, Queue: id, Object: &o})
	s.noteLoss(DataLoss{Kind: LossOfQueue, Queue: name, Why: "its name, arguments and bindings are lost"})
}

// passOver notes, for the first fact that tells of it since facts were missed, that numbers of a lane before end were
// used.
func (s *Salvage) passOver(f *fact.Fact, end queue.Seq) {
	q := s.v.queueOf(f.Queue)
	lane := laneOf{f.Queue, f.Seq.Lane()}
	if q == nil || s.since[lane] || lane.lane > q.messages.PriorityMax() {
		return
	}
	next := q.messages.Next(lane.lane)
	if f.Kind == fact.Enqueued || end > next {
		s.since[lane] = f.Kind == fact.Enqueued
	}
	if end > next {
		s.miss(f.Queue, next, end)
		q.messages.Skip(end)
	}
}

func (s *Salvage) miss(id fact.QueueID, first, end queue.Seq) {
	runs := s.missing[id]
	if n := len(runs); n > 0 && runs[n-1].end == first {
		runs[n-1].end = end
		return
	}
	s.missing[id] = append(runs, seqRun{first, end})
}

func (s *Salvage) unmiss(id fact.QueueID, first, end queue.Seq) {
	var left []seqRun
	for _, r := range s.missing[id] {
		for _, part := range [2]seqRun{{r.first, min(r.end, first)}, {max(r.first, end), r.end}} {
			if part.first < part.end {
				left = append(left, part)
			}
		}
	}
	if len(left) == 0 {
		delete(s.missing, id)
		return
	}
	s.missing[id] = left
}

// tellMissing notes the copies that nobody knows.
func (s *Salvage) tellMissing() {
	ids := make([]fact.QueueID, 0, len(s.missing))
	for id := range s.missing {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		runs := s.missing[id]
		slices.SortFunc(runs, func(a, b seqRun) int { return cmp.Compare(a.first, b.first) })
		const why = "the lost part of the log added them; a message that moved from another queue is still there"
		for _, r := range runs {
			s.noteLoss(DataLoss{
				Kind: LossOfMessages, Queue: s.names[id], Lost: id == lostID, Priority: r.first.Lane(), Number: r.first.Number(), Count: uint64(r.end - r.first), Why: why,
			})
		}
	}
}
