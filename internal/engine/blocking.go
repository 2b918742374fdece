package engine

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// alarms are what holds publishers back: those of the node, and a log without room for growing.
func (r *runner) alarms() Alarms {
	a := r.engine.watch.alarms()
	if _, err := r.log.Reserve(journal.Growing); err != nil {
		a |= JournalFull
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
		for _, l := range r.links {
			if l.published {
				r.block(l)
			}
		}
	case !raised && r.blocked > 0:
		for _, l := range r.links {
			if l.blocked {
				l.blocked = false
				l.door.Unblocked()
				r.toFlush(l)
			}
		}
		r.blocked = 0
	}
	r.alarmed = raised
}

// block tells a link that what it publishes has to wait.
func (r *runner) block(l *Link) {
	if !l.blocked {
		l.blocked = true
		r.blocked++
		l.door.Blocked(r.heldBackBy.reason())
		r.toFlush(l)
	}
}

// mustWait reports whether something of p may have to wait, because an alarm holds: see park. What a link gives back is
// none of its commands. A link that ends does not wait: what it published and nobody took is dropped with it.
func (r *runner) mustWait(p *post) bool {
	switch {
	case p.ends():
		r.dropParked(p.link)
		return false
	case len(p.batch.Commands) == 0:
		return false
	case p.link.parked > 0: // even if the alarms have ended since the step began: what waits goes first
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

// park lets publishes wait for the end of the alarms, and what comes behind them on their channels: who publishes and then acks must not
// lose the one and keep the other. The other channels of the connection go on, for their acks are what helps. How
// much of a link can wait is bounded by the batches that its door has.
func (r *runner) park(p *post) {
	l := p.link
	waits := r.isBusy(l)
	for i := p.next; i < len(p.batch.Commands) && !r.isBusy(l); i++ {
		c := &p.batch.Commands[i]
		to := r.portOf(c.Channel)
		switch {
		case to == nil || !to.parked && !r.vhost.Grows(c) && (c.Kind != vhost.Get || r.vhost.WindowOpen(l.conn)):
			r.stepCommand(l, c)
			c.Kind = 0
		default:
			to.parked, waits = true, true
		}
	}
	if !waits {
		r.end(p)
		return
	}
	r.parked = append(r.parked, *p)
	l.parked++
	r.block(l)
}

// unpark takes what has waited, once no alarm holds.
func (r *runner) unpark() []post {
	if len(r.parked) == 0 || r.alarms() != 0 {
		return nil
	}
	parked := r.parked
	r.parked = nil
	for i := range parked {
		parked[i].link.parked = 0
		for id := range parked[i].link.channels {
			if to := r.ports[id]; to != nil {
				to.parked = false
			}
		}
	}
	return parked
}

// dropParked forgets what a link has waiting.
func (r *runner) dropParked(l *Link) {
	if l.parked == 0 {
		return
	}
	l.parked = 0
	r.parked = withoutLink(r.parked, l)
}

// withoutLink drops the posts of a link.
func withoutLink(posts []post, l *Link) []post {
	return slices.DeleteFunc(posts, func(p post) bool {
		if p.link != l {
			return false
		}
		p.drop()
		return true
	})
}

// mayWrite reports whether there is room for anything that is decided now. Without it nothing is decided that has to be
// written: what is left of the disk is for what was decided before, and for the checkpoint that gives space back.
func (r *runner) mayWrite() bool {
	_, err := r.log.Reserve(journal.Draining)
	return err == nil
}

// heedRoom tells the vhost whether there is room for letters to move.
func (r *runner) heedRoom() {
	_, err := r.log.Reserve(journal.Moving)
	if cramped := err != nil; cramped != r.cramped {
		r.cramped = cramped
		r.decide(nil, &vhost.Command{Kind: vhost.SetRoom, Room: !cramped})
	}
}

// mustStall reports whether p has to wait until something can be written. The end of a link does not, nor what leaves no
// trace: connections and channels are opened all the same.
func (r *runner) mustStall(p *post) bool {
	switch {
	case p.ends():
		if l := p.link; l.stalled > 0 {
			l.stalled = 0
			r.stalled = withoutLink(r.stalled, l)
		}
		return false
	case p.link.stalled > 0:
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

func (r *runner) stall(p *post) {
	r.stalled = append(r.stalled, *p)
	if r.alarms() != 0 {
		r.block(p.link) // who waits in vain shall know for what
	}
	p.link.stalled++
}

// unstall takes what has waited, once something can be written.
func (r *runner) unstall() []post {
	if len(r.stalled) == 0 || !r.mayWrite() {
		return nil
	}
	stalled := r.stalled
	r.stalled = nil
	for i := range stalled {
		stalled[i].link.stalled = 0
	}
	return stalled
}
