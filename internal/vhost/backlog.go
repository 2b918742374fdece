package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// What comes back after a restart, and what had to wait for space on the disk, is settled in portions by ticks. What is
// left is unacked and with nobody; it is connected state: after a crash it has not been settled.
// Source: ours, decision 18.

// task is one delivery that was settled and has yet to leave or to return.
type task struct {
	queue   *queueState
	seq     queue.Seq
	requeue bool
	failed  bool        // the return counts as a failure
	reason  fact.Reason // of the death, unless requeue
}

// later leaves a task to the next tick.
func (s *step) later(t task) {
	if s.backlogNext == len(s.backlog) {
		s.backlog, s.backlogNext = s.backlog[:0], 0
		s.deadlines.Add(deadline.Entry{At: s.Now, Owner: ownBacklog})
	}
	s.backlog = append(s.backlog, t)
}

// catchUp does a portion of what was left, and arms the next.
func (s *step) catchUp() {
	for s.backlogNext < len(s.backlog) && !s.full() {
		t := s.backlog[s.backlogNext]
		s.backlog[s.backlogNext] = task{}
		s.backlogNext++
		switch e := t.queue.messages.Entry(t.seq); {
		case t.queue.deleted, e == nil, e.State != queue.Unacked:
		case t.requeue:
			s.returnOne(t.queue, t.seq, t.failed)
			s.markDirty(t.queue, 0)
		default:
			s.deadLetter(t.queue, t.seq, t.reason, 0)
		}
	}
	if s.backlogNext < len(s.backlog) {
		s.deadlines.Add(deadline.Entry{At: s.Now, Owner: ownBacklog})
	} else {
		s.backlog, s.backlogNext = nil, 0
	}
}
