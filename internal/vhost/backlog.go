package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// What comes back after a restart, and what had to wait for room on the disk, is settled in portions by ticks. What is left is
// unacked and with nobody; it is connected state: after a crash it has not been settled.
// Source: ours, design §2, bounded commands.

// task is one delivery that was settled and has yet to leave or to return.
type task struct {
	queue   *queueState
	seq     queue.Seq
	requeue bool
	failed  bool   // the return counts as a failure
	reason  Reason // of the death, unless requeue
}

// later leaves a task to the next tick.
func (v *VHost) later(s *Stamp, t task) {
	if v.backlogNext == len(v.backlog) {
		v.backlog, v.backlogNext = v.backlog[:0], 0
		v.deadlines.Add(deadline.Entry{At: s.Now, Owner: ownBacklog})
	}
	v.backlog = append(v.backlog, t)
}

// catchUp does a portion of what was left, and arms the next.
func (v *VHost) catchUp(s *Stamp, out *Outcome) {
	for v.backlogNext < len(v.backlog) && !v.full() {
		t := v.backlog[v.backlogNext]
		v.backlog[v.backlogNext] = task{}
		v.backlogNext++
		switch e := t.queue.messages.Entry(t.seq); {
		case t.queue.deleted, e == nil, e.State != queue.Unacked:
		case t.requeue:
			v.returnOne(s, t.queue, t.seq, t.failed, out)
			v.touch(t.queue, 0)
		default:
			v.die(s, t.queue, t.seq, t.reason, 0, out)
		}
	}
	if v.backlogNext < len(v.backlog) {
		v.deadlines.Add(deadline.Entry{At: s.Now, Owner: ownBacklog})
	} else {
		v.backlog, v.backlogNext = nil, 0
	}
}
