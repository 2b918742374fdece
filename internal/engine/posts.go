package engine

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// post is what somebody puts into the inbox: a batch of a link, or a look.
type post struct {
	link   *Link
	batch  *Batch
	look   func(*vhost.VHost)
	glance bool // the look need not wait with the log for room on the disk
	done   chan error
	next   int // of the batch's commands
}

// ends reports whether p is the last of its link.
func (p *post) ends() bool {
	return len(p.batch.Commands) == 1 && p.batch.Commands[0].Kind == vhost.Disconnect
}

// drop ends a post without deciding it.
func (p *post) drop() {
	p.batch.free()
	if p.done != nil {
		p.done <- nil
	}
}

// stepBatch decides what a link has sent, or puts it behind what the link has waiting. The end of a link comes behind what
// waits for the link's turn; what waits for anything else is dropped with the link.
func (r *runner) stepBatch(p *post) {
	l := p.link
	if l.closed {
		p.drop()
		return
	}
	if n := l.returned.Swap(0); n > 0 {
		r.decide(l, &vhost.Command{Kind: vhost.Grant, Conn: l.conn, Window: n})
	}
	if p.ends() {
		if l.queued {
			l.endsWithin = endingWork
		} else {
			l.dropWaiting()
		}
	}
	switch {
	case len(l.waiting) == 0:
		if r.stepPost(p) {
			return
		}
		l.waiting = append(l.waiting, *p)
	default:
		if len(p.batch.Commands) > 0 {
			l.waiting = append(l.waiting, *p)
		}
		if !l.queued {
			r.goOn(l)
		}
	}
	if l.queued {
		r.noteBehind(l)
	}
}

// stepPost decides a post of a link that has nothing waiting before it, and reports whether the post is done with: it is
// decided, or waits among the stalled or the parked ones.
func (r *runner) stepPost(p *post) bool {
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

// goOn goes on with what a link has waiting.
func (r *runner) goOn(l *Link) {
	for len(l.waiting) > 0 && !l.closed {
		switch {
		case r.stepPost(&l.waiting[0]):
			l.waiting = slices.Delete(l.waiting, 0, 1)
		case l.endsWithin != 0 && (!l.queued || l.endsWithin < 0):
			l.dropAllButTheEnd()
		default:
			return
		}
	}
	if l.closed {
		l.dropWaiting()
	}
}

// resume goes on with the links that waited for a command which ticks go on with, if it is done.
func (r *runner) resume() {
	busy := r.busy
	r.busy = nil
	for _, l := range busy {
		if l.busy = false; !l.closed && !l.queued {
			r.goOn(l)
		}
	}
}

// isBusy reports whether a command of a link goes on, and has the link resumed when it does not.
func (r *runner) isBusy(l *Link) bool {
	if !r.vhost.Busy(l.conn) {
		return false
	}
	if !l.busy {
		l.busy = true
		r.busy = append(r.busy, l)
	}
	return true
}

// stepCommands goes on with a batch and reports whether that is the end of it. A get waits, and what comes behind it,
// until the link's window has room: a few octets can ask for megabytes, over and over. Everything waits for a command of the
// same link that is done in portions, and for the link's next turn if it has used up its share.
func (r *runner) stepCommands(p *post) bool {
	ends := p.ends()
	for ; ; p.next++ {
		if !ends && r.isBusy(p.link) {
			return false
		}
		if p.next == len(p.batch.Commands) {
			break
		}
		if !ends && r.rota.isSpent(p.link) {
			r.queueUp(p.link)
			return false
		}
		c := &p.batch.Commands[p.next]
		if c.Kind == vhost.Get && !r.vhost.WindowOpen(p.link.conn) {
			return false
		}
		r.stepCommand(p.link, c)
	}
	r.end(p)
	return true
}

// end is the end of a batch.
func (r *runner) end(p *post) {
	p.batch.free()
	if p.done != nil {
		r.answer(p)
	}
}

// stepCommand decides one command of a link. One without a kind was stepped before.
func (r *runner) stepCommand(l *Link, c *vhost.Command) {
	switch c.Kind {
	case 0:
		return
	case vhost.Connect:
		r.links[c.Conn] = l
	case vhost.OpenChannel:
		if !r.openChannel(l, c) {
			return
		}
	case vhost.Publish, vhost.Announce:
		l.published = true
	}
	effects := len(r.out.Effects)
	r.decide(l, c)
	r.rota.charge(l, workOf(c)+r.vhost.Work()+effectWork*(len(r.out.Effects)-effects))
	if c.Kind == vhost.Disconnect {
		r.detach(l)
	}
	if len(r.out.Batch) > r.engine.batchMax || len(r.out.Effects) > batchCommandsMax {
		r.finish()
		r.begin()
	}
}
