package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A dead letter for more queues than a step reaches comes to them in portions. In between it is held in
// the queue that it died in, with the cause Moved: what it is held for is nothing but the next tick. The
// fact Held names the queues that have it, in one batch with their copies, so each has it once over any
// restart, and it leaves its queue in the batch in which the last of them has it. If that queue is purged
// or deleted meanwhile, the dead letter goes with it.
//
// One dead letter after the other goes on: one that comes meanwhile is held before its first portion. So dead
// letters come to each queue in the order in which they died, and only one list of queues is in memory.
// Source: ours, decisions 8 and 18.

// goesOnTo notes a dead letter that is on its way to very many queues.
func (s *step) goesOnTo(q *queueState, seq queue.Seq) {
	if !s.firstOfWide(q, seq) {
		s.wide = append(s.wide, deadLetterAt{q.id, seq})
	}
	s.armWide()
}

// firstOfWide reports whether it is the turn of a dead letter.
func (v *VHost) firstOfWide(q *queueState, seq queue.Seq) bool {
	return len(v.wide) > 0 && v.wide[0] == deadLetterAt{q.id, seq}
}

// armWide has the next tick go on, if there is space for dead letters to move.
func (s *step) armWide() {
	if s.wideAt == 0 && len(s.wide) > 0 && !s.cramped {
		s.wideAt = s.Now
		s.deadlines.Add(deadline.Entry{At: s.Now, Owner: ownWide})
	}
}

// continueWide puts the first dead letter into a portion of its queues, and those behind it while the step
// has space.
func (s *step) continueWide() {
	s.wideAt = 0
	for len(s.wide) > 0 && !s.cramped && !s.full() {
		at := s.wide[0]
		if q := s.onItsWay(at); q != nil {
			s.retry(q, at.seq, 0, 0)
			if s.onItsWay(at) != nil {
				continue
			}
		}
		s.wide[0] = deadLetterAt{}
		if s.wide = s.wide[1:]; len(s.wide) == 0 {
			s.wide = nil
		}
	}
	s.armWide()
}

// onItsWay finds the queue of a dead letter, if it still goes to others.
func (v *VHost) onItsWay(at deadLetterAt) *queueState {
	q, e := v.heldAt(at)
	if e == nil || q.held[at.seq].cause != fact.Moved {
		return nil
	}
	return q
}

// resumeWide goes on after a restart.
func (s *step) resumeWide() {
	for _, at := range s.holding.all() {
		if s.onItsWay(at) != nil {
			s.wide = append(s.wide, at)
		}
	}
	s.armWide()
}

// membership tells which queues are in a list.
func membership(list []fact.QueueID) func(fact.QueueID) bool {
	const few = 16
	switch {
	case len(list) == 0:
		return func(fact.QueueID) bool { return false }
	case len(list) <= few:
		return func(id fact.QueueID) bool { return slices.Contains(list, id) }
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return func(id fact.QueueID) bool {
		_, ok := slices.BinarySearch(sorted, id)
		return ok
	}
}
