package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A command that concerns very much is done in portions, so that no step takes long and no batch grows large: the first
// portion at once, the others by ticks. Commands of other connections are stepped in between. The next command of the
// same connection comes when the command is done: see Busy.
//
// An ongoing command is connected state. After a crash what it has done is done, and the rest is not, as if the command
// had come later: its client has had no answer. Source: ours, decision 18.
type ongoing struct {
	conn    *conn
	closed  *channel                  // that is being closed, nil if none is
	commits int                       // bytes of the transaction that is being committed
	portion func(s *step) (more bool) // does the next portion: it stops when the step is full
}

// Busy reports whether a command of a connection goes on. Whoever steps commands keeps those of the connection back
// until it does not, but for a Disconnect. A command that comes all the same is stepped behind the ongoing ones, which
// are done at once, however long that takes.
func (v *VHost) Busy(c fact.ConnID) bool {
	n := v.conns[c]
	return n != nil && n.ongoing > 0
}

// Unfinished reports whether something that was decided is left to ticks: the rest of a command, a dead letter for very
// many queues, a change of policies, deliveries that come back. Whoever steps nothing but ticks until it is false sees
// all that a command leads to.
func (v *VHost) Unfinished() bool {
	return len(v.ongoing) > 0 || len(v.wide) > 0 || v.ruling.on || v.backlogNext < len(v.backlog)
}

// BoundSteps sets how much a step does at the most: about so many bytes of facts and records. Tests set it low.
func (v *VHost) BoundSteps(work int) { v.stepMax = work }

// full reports whether the step has done as much as one portion holds.
func (v *VHost) full() bool { return v.work >= v.stepMax }

// inPortions does the first portion of something, unless more of that connection is ongoing, and leaves the rest to
// ticks.
func (s *step) inPortions(x ongoing) {
	if x.conn.ongoing > 0 || x.portion(s) {
		s.leaveRest(x)
		return
	}
	s.uncommitted.add(x.conn.id, -x.commits)
}

// leaveRest leaves something to ticks. What is ongoing already goes first.
func (s *step) leaveRest(x ongoing) {
	if len(s.ongoing) == 0 {
		s.armOngoing()
	}
	s.ongoing = append(s.ongoing, x)
	x.conn.ongoing++
}

// armOngoing has the next tick go on.
func (s *step) armOngoing() {
	s.ongoingAt = s.Now
	s.deadlines.Add(deadline.Entry{At: s.Now, Owner: ownOngoing})
}

// doOngoing does a portion of what is ongoing. A tick arms the next.
func (s *step) doOngoing() {
	for !s.full() && len(s.ongoing) > 0 {
		x := s.ongoing[0]
		if x.portion(s) {
			return
		}
		x.conn.ongoing--
		s.uncommitted.add(x.conn.id, -x.commits)
		s.ongoing[0] = ongoing{}
		if s.ongoing = s.ongoing[1:]; len(s.ongoing) == 0 {
			s.ongoing = nil
		}
	}
}

// finishOngoing does all that is left of the commands of a connection.
func (s *step) finishOngoing(n *conn) {
	for n.ongoing > 0 {
		s.work = 0
		s.doOngoing()
	}
	if s.work = 0; len(s.ongoing) == 0 {
		s.deadlines.Remove(deadline.Entry{At: s.ongoingAt, Owner: ownOngoing})
	}
}
