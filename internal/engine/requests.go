package engine

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// request is what is put into the inbox: a batch of a session, or a look.
type request struct {
	session *Session
	batch   *Batch
	look    func(*vhost.VHost)
	glance  bool // the look need not wait with the log for space on the disk
	done    chan error
	next    int // of the batch's commands
}

// ends reports whether p is the last of its session.
func (p *request) ends() bool {
	return len(p.batch.Commands) == 1 && p.batch.Commands[0].Kind == vhost.Disconnect
}

// drop ends a request without deciding it.
func (p *request) drop() {
	p.batch.free()
	if p.done != nil {
		p.done <- nil
	}
}

// stepBatch decides what a session has sent, or puts it behind what the session has waiting.
func (r *runner) stepBatch(p *request) {
	s := p.session
	if s.closed {
		p.drop()
		return
	}
	over := r.queue.isOver(r.queue.accountOf(s))
	switch {
	case p.ends():
		r.queueEnd(p)
		return
	case !over:
		r.grant(s)
	case !s.queued:
		r.queue.add(s)
	}
	switch {
	case len(s.waiting) == 0 && !s.queued:
		if r.stepRequest(p) {
			return
		}
		s.waiting = append(s.waiting, *p)
	default:
		if len(p.batch.Commands) > 0 {
			s.waiting = append(s.waiting, *p)
		}
		if !s.queued {
			r.goOn(s)
		}
	}
	if s.queued {
		r.noteBehind(s)
	}
}

// queueEnd puts the end of a session behind what waits for the session's turn; what waits for anything else is dropped
// with the session. From now on its consumers get nothing more.
func (r *runner) queueEnd(p *request) {
	s := p.session
	r.decide(nil, &vhost.Command{Kind: vhost.StopDeliveries, Conn: s.conn})
	if s.queued {
		s.endsWithin = endingWork
	} else {
		s.dropWaiting()
		r.queue.addEnd(s)
	}
	s.waiting = append(s.waiting, *p)
	r.noteBehind(s)
}

// stepRequest decides a request of a session that has nothing waiting before it, and reports whether the request is
// done with: it is decided, or waits among the stalled or the parked ones.
func (r *runner) stepRequest(p *request) bool {
	switch {
	case r.mustStall(p):
		r.stall(p)
	case r.mustWait(p):
		r.park(p)
	default:
		return r.stepCommands(p)
	}
	return true
}

// goOn goes on with what a session has waiting.
func (r *runner) goOn(s *Session) {
	for len(s.waiting) > 0 && !s.closed {
		switch {
		case r.stepRequest(&s.waiting[0]):
			s.waiting = slices.Delete(s.waiting, 0, 1)
		case s.endsWithin != 0 && (!s.queued || s.endsWithin < 0):
			s.dropAllButTheEnd()
		default:
			return
		}
	}
	if s.closed {
		s.dropWaiting()
	}
}

// resume goes on with the sessions that waited for a command which ticks go on with, if it is done.
func (r *runner) resume() {
	busy := r.busy
	r.busy = nil
	for _, s := range busy {
		s.busy = false
		switch {
		case s.closed, s.queued:
		case r.queue.isOver(s.account):
			r.queue.add(s)
		default:
			r.goOn(s)
		}
	}
}

// isBusy reports whether a command of a session goes on, and has the session resumed when it does not.
func (r *runner) isBusy(s *Session) bool {
	if !r.vhost.Busy(s.conn) {
		return false
	}
	if !s.busy {
		s.busy = true
		r.busy = append(r.busy, s)
	}
	return true
}

// stepCommands goes on with a batch and reports whether that is the end of it. A get waits, and what comes behind it,
// until the session's window has space: a few octets can ask for megabytes, over and over. Everything waits for a
// command of the same session that is done in portions, and for the session's next turn if it has used up its share.
func (r *runner) stepCommands(p *request) bool {
	ends := p.ends()
	for ; ; p.next++ {
		if !ends && r.isBusy(p.session) {
			return false
		}
		if p.next == len(p.batch.Commands) {
			break
		}
		if !ends && r.queue.isSpent(p.session) {
			r.queue.add(p.session)
			return false
		}
		c := &p.batch.Commands[p.next]
		if r.mustHaveWindow(p.session, c) {
			return false
		}
		r.stepCommand(p.session, c)
	}
	r.end(p)
	return true
}

// mustHaveWindow reports whether a command waits until the session's window has space.
func (r *runner) mustHaveWindow(s *Session, c *vhost.Command) bool {
	return c.Kind == vhost.Get && !c.Definition.IfFits && !r.vhost.WindowOpen(s.conn)
}

// end is the end of a batch.
func (r *runner) end(p *request) {
	if !r.pace(p) {
		p.batch.free()
	}
	if p.done != nil {
		r.answer(p)
	}
}

// stepCommand decides one command of a session. One without a kind was stepped before.
func (r *runner) stepCommand(s *Session, c *vhost.Command) {
	switch c.Kind {
	case 0:
		return
	case vhost.Connect:
		r.attach(c.Conn, s)
	case vhost.OpenChannel:
		if !r.openChannel(s, c) {
			return
		}
	case vhost.Publish, vhost.Announce:
		s.published = true
	}
	effects := len(r.out.Effects)
	r.decide(s, c)
	r.queue.charge(s, workOf(c)+r.vhost.Work()+effectWork*(len(r.out.Effects)-effects))
	if c.Kind == vhost.Disconnect {
		r.detach(s)
	}
	if len(r.out.Batch) > r.engine.batchMax || len(r.out.Effects) > batchCommandsMax {
		r.finish()
		r.begin()
	}
}
