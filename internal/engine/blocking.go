package engine

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// alarms are what holds publishers back: those of the node, and a log without space for growing.
func (r *runner) alarms() resource.Alarms {
	a := r.engine.resources.Alarms()
	if !r.log.Has(journal.Growing) {
		a |= resource.JournalFull
	}
	if a != 0 {
		r.heldBackBy = a
	}
	return a
}

// heedAlarms tells publishers when they have to wait, and when no longer. Who has never published learns it with the
// first message, which has to wait: see mustWait. Who was told is not told of further alarms.
// Source: RabbitMQ connection-blocked.
func (r *runner) heedAlarms() {
	raised := r.alarms() != 0
	switch {
	case raised && !r.alarmed:
		for _, s := range r.sessions {
			if s.published {
				r.block(s)
			}
		}
	case !raised && r.blocked > 0:
		for _, s := range r.sessions {
			if s.blocked {
				s.blocked = false
				s.frontend.Unblocked()
				r.toFlush(s)
			}
		}
		r.blocked = 0
	}
	r.alarmed = raised
}

// block tells a session that what it publishes has to wait.
func (r *runner) block(s *Session) {
	if !s.blocked {
		s.blocked = true
		r.blocked++
		s.frontend.Blocked(r.heldBackBy.Reason())
		r.toFlush(s)
	}
}

// mustWait reports whether something of p may have to wait, because an alarm holds: see park. What a session gives back
// is none of its commands. A session that ends does not wait: what it published and nobody took is dropped with it.
func (r *runner) mustWait(p *request) bool {
	switch {
	case p.ends():
		r.dropParked(p.session)
		return false
	case len(p.batch.Commands) == 0:
		return false
	case p.session.parked > 0: // even if the alarms have ended since the step began: what waits goes first
		return true
	case r.alarms() == 0:
		return false
	}
	for i := range p.batch.Commands {
		if r.vhost.Grows(&p.batch.Commands[i]) {
			return true
		}
	}
	return false
}

// park lets publishes wait for the end of the alarms, and what comes behind them on their channels: who publishes and
// then acks must not lose the one and keep the other. The other channels of the connection go on, for their acks are
// what helps. How much of a session can wait is bounded by the batches that its frontend has.
func (r *runner) park(p *request) {
	s := p.session
	waits := r.isBusy(s)
	for i := p.next; i < len(p.batch.Commands) && !r.isBusy(s); i++ {
		c := &p.batch.Commands[i]
		box := r.outboxOf(c.Channel)
		switch {
		case box == nil || !box.parked && !r.vhost.Grows(c) && !r.mustHaveWindow(s, c):
			r.stepCommand(s, c)
			c.Kind = 0
		default:
			box.parked, waits = true, true
		}
	}
	if !waits {
		r.end(p)
		return
	}
	r.parked = append(r.parked, *p)
	s.parked++
	r.block(s)
}

// unpark takes what has waited, once no alarm holds.
func (r *runner) unpark() []request {
	if len(r.parked) == 0 || r.alarms() != 0 {
		return nil
	}
	parked := r.parked
	r.parked = nil
	for i := range parked {
		parked[i].session.parked = 0
		for id := range parked[i].session.channels {
			if box := r.outboxes[id]; box != nil {
				box.parked = false
			}
		}
	}
	return parked
}

// dropParked forgets what a session has waiting.
func (r *runner) dropParked(s *Session) {
	if s.parked == 0 {
		return
	}
	s.parked = 0
	r.parked = withoutSession(r.parked, s)
}

// withoutSession drops the requests of a session.
func withoutSession(requests []request, s *Session) []request {
	return slices.DeleteFunc(requests, func(p request) bool {
		if p.session != s {
			return false
		}
		p.drop()
		return true
	})
}

// mayWrite reports whether there is space for anything that is decided now. Without it nothing is
// decided that has to be written: what is left of the disk is for what was decided before, and for
// the checkpoint that gives space back.
func (r *runner) mayWrite() bool { return r.log.Has(journal.Draining) }

// updateSpace tells the vhost whether there is space for dead letters to move, and memory to hold more of them.
func (r *runner) updateSpace() {
	cramped, lowMemory := !r.log.Has(journal.Moving), r.engine.resources.MemoryScarce()
	if cramped != r.cramped || lowMemory != r.lowMemory {
		r.cramped, r.lowMemory = cramped, lowMemory
		r.decide(nil, &vhost.Command{Kind: vhost.SetSpace, Space: !cramped, Memory: !lowMemory})
	}
}

// mustStall reports whether p has to wait until something can be written. The end of a session does not, nor what
// leaves no trace: connections and channels are opened all the same.
func (r *runner) mustStall(p *request) bool {
	switch {
	case p.ends():
		if s := p.session; s.stalled > 0 {
			s.stalled = 0
			r.stalled = withoutSession(r.stalled, s)
		}
		return false
	case p.session.stalled > 0:
		return true
	case r.mayWrite():
		return false
	}
	for i := range p.batch.Commands {
		switch p.batch.Commands[i].Kind {
		case 0, vhost.Connect, vhost.OpenChannel, vhost.Grant, vhost.Qos, vhost.SelectConfirms, vhost.SelectTx:
		default:
			return true
		}
	}
	return false
}

func (r *runner) stall(p *request) {
	r.stalled = append(r.stalled, *p)
	if r.alarms() != 0 {
		r.block(p.session) // who waits in vain shall know for what
	}
	p.session.stalled++
}

// unstall takes what has waited, once something can be written.
func (r *runner) unstall() []request {
	if len(r.stalled) == 0 || !r.mayWrite() {
		return nil
	}
	stalled := r.stalled
	r.stalled = nil
	for i := range stalled {
		stalled[i].session.stalled = 0
	}
	return stalled
}
