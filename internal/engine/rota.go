package engine

import (
	"slices"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// The connections of a vhost take turns by the work that they make, so that nobody waits long for what
// somebody else has sent at once. A session that has used up its share waits in a queue, with what it has sent
// and is not decided. What comes of other sessions goes first; each round of the runner goes on with one session
// of the queue, for one share. Ticks take turns with the queue as a whole. The commands of one session keep
// their order.
//
// Work is reckoned, not measured: the same commands take the same turns. 512 KiB of it are about 1 ms.
const (
	// roundWork is what the sessions together may make until each had its turn; the share of one is a part of
	// it, but not more than shareMost and not less than shareLeast.
	roundWork  = 4 << 20
	shareMost  = 512 << 10
	shareLeast = 32 << 10
	// commandWork is what a command counts for beside the facts and effects that it leads to; definedWork is
	// one that names something and may have arguments.
	commandWork = 256
	definedWork = 2 << 10
	// endingWork is how much of what a session has sent is still decided when it ends. The rest is dropped: no
	// client can know whether it was decided. An honest publisher that closes its socket has far less under
	// way.
	endingWork = 64 << 20
)

// rota is whose turn it is.
type rota struct {
	queue []*Session // that have used up their share, in order
	pass  uint64     // counts how often all of the queue have had their turn
	left  int        // of the queue, those whose turn in this pass is still to come
	share int        // of a session in a pass
	owed  int        // work of the last tick that sessions have not matched yet

	behind atomic.Pointer[Session] // one of the queue; nil: nobody waits
}

// begin begins a round in which so many requests have come.
func (o *rota) begin(requests int) {
	if o.left == 0 {
		o.pass++
		o.left = len(o.queue)
	}
	o.share = min(max(roundWork/max(len(o.queue)+requests, 1), shareLeast), shareMost)
}

// charge notes work of a session. Each pass makes up for one share of it: who has sent one very large command
// misses turns.
func (o *rota) charge(s *Session, work int) {
	o.makeUp(s)
	s.spent += work
	o.owed -= work
	if s.endsWithin > 0 {
		if s.endsWithin -= work; s.endsWithin <= 0 {
			s.endsWithin = -1
		}
	}
}

func (o *rota) makeUp(s *Session) {
	if passes := o.pass - s.pass; passes > 0 {
		s.pass = o.pass
		s.spent -= int(min(passes, uint64(s.spent/o.share+1))) * o.share
		s.spent = max(s.spent, 0)
	}
}

// isSpent reports whether a session has used up its share.
func (o *rota) isSpent(s *Session) bool {
	o.makeUp(s)
	return s.spent >= o.share
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

// queueUp has a session wait for its next turn.
func (r *runner) queueUp(s *Session) {
	s.queued = true
	o := &r.rota
	o.queue = append(o.queue, s)
}

// nextTurn goes on with the first session of the queue.
func (r *runner) nextTurn() {
	o := &r.rota
	if o.left > 0 {
		s := o.queue[0]
		o.queue = slices.Delete(o.queue, 0, 1)
		o.left--
		if s.queued = false; !s.closed {
			r.goOn(s)
		}
		if s.queued {
			r.noteBehind(s)
		}
	}
	if len(o.queue) == 0 {
		o.behind.Store(nil)
	}
}

// noteBehind notes, for whoever wonders why the vhost is late, how many commands of a session wait for its
// turn.
func (r *runner) noteBehind(s *Session) {
	n := int32(0)
	for i := range s.waiting {
		n += int32(len(s.waiting[i].batch.Commands) - s.waiting[i].next)
	}
	s.behind.Store(n)
	if most := r.rota.behind.Load(); most == nil || !most.queued || n > most.behind.Load() {
		r.rota.behind.Store(s)
	}
}
