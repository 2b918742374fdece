package engine

import (
	"slices"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// The connections of a vhost take turns by the work that they make, so that nobody waits long for what
// somebody else has sent at once. A link that has used up its share waits in a queue, with what it has sent
// and is not decided. What comes of other links goes first; each round of the runner goes on with one link
// of the queue, for one share. Ticks take turns with the queue as a whole. The commands of one link keep
// their order.
//
// Work is reckoned, not measured: the same commands take the same turns. 512 KiB of it are about 1 ms.
const (
	// roundWork is what the links together may make until each had its turn; the share of one is a part of
	// it, but not more than shareMost and not less than shareLeast.
	roundWork  = 4 << 20
	shareMost  = 512 << 10
	shareLeast = 32 << 10
	// commandWork is what a command counts for beside the facts and effects that it leads to; definedWork is
	// one that names something and may have arguments.
	commandWork = 256
	definedWork = 2 << 10
	// endingWork is how much of what a link has sent is still decided when it ends. The rest is dropped: no
	// client can know whether it was decided. An honest publisher that closes its socket has far less under
	// way.
	endingWork = 64 << 20
)

// rota is whose turn it is.
type rota struct {
	queue []*Link // that have used up their share, in order
	pass  uint64  // counts how often all of the queue have had their turn
	left  int     // of the queue, those whose turn in this pass is still to come
	share int     // of a link in a pass
	owed  int     // work of the last tick that links have not matched yet

	behind atomic.Pointer[Link] // one of the queue; nil: nobody waits
}

// begin begins a round in which so many posts have come.
func (o *rota) begin(posts int) {
	if o.left == 0 {
		o.pass++
		o.left = len(o.queue)
	}
	o.share = min(max(roundWork/max(len(o.queue)+posts, 1), shareLeast), shareMost)
}

// charge notes work of a link. Each pass makes up for one share of it: who has sent one very large command
// misses turns.
func (o *rota) charge(l *Link, work int) {
	o.makeUp(l)
	l.spent += work
	o.owed -= work
	if l.endsWithin > 0 {
		if l.endsWithin -= work; l.endsWithin <= 0 {
			l.endsWithin = -1
		}
	}
}

func (o *rota) makeUp(l *Link) {
	if passes := o.pass - l.pass; passes > 0 {
		l.pass = o.pass
		l.spent -= int(min(passes, uint64(l.spent/o.share+1))) * o.share
		l.spent = max(l.spent, 0)
	}
}

// isSpent reports whether a link has used up its share.
func (o *rota) isSpent(l *Link) bool {
	o.makeUp(l)
	return l.spent >= o.share
}

// mayTick reports whether it is the ticks' turn.
func (o *rota) mayTick() bool { return o.owed <= 0 || len(o.queue) == 0 }

// ticked notes the work of a tick.
func (o *rota) ticked(work int) { o.owed = work }

// workOf is what a command counts for by itself.
func workOf(c *vhost.Command) int {
	if c.Definition != nil {
		return definedWork
	}
	return commandWork
}

// queueUp has a link wait for its next turn.
func (r *runner) queueUp(l *Link) {
	l.queued = true
	o := &r.rota
	o.queue = append(o.queue, l)
}

// nextTurn goes on with the first link of the queue.
func (r *runner) nextTurn() {
	o := &r.rota
	if o.left > 0 {
		l := o.queue[0]
		o.queue = slices.Delete(o.queue, 0, 1)
		o.left--
		if l.queued = false; !l.closed {
			r.goOn(l)
		}
		if l.queued {
			r.noteBehind(l)
		}
	}
	if len(o.queue) == 0 {
		o.behind.Store(nil)
	}
}

// noteBehind notes, for whoever wonders why the vhost is late, how many commands of a link wait for its
// turn.
func (r *runner) noteBehind(l *Link) {
	n := int32(0)
	for i := range l.waiting {
		n += int32(len(l.waiting[i].batch.Commands) - l.waiting[i].next)
	}
	l.behind.Store(n)
	if most := r.rota.behind.Load(); most == nil || !most.queued || n > most.behind.Load() {
		r.rota.behind.Store(l)
	}
}
