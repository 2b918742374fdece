package engine

import (
	"slices"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// The connections of a vhost take turns by the work that they make, so that nobody waits long for what
// somebody else has sent at once. A session that has used up its share waits in a queue, with what it has sent
// and is not decided, and so do the sessions of a user who has used up the user's share. What comes of other
// sessions goes first; each round of the runner continues with some sessions of the queue, for one share each.
// Users take turns there, and then the sessions of each: a session waits for the others of its user, not for all
// that another user has. Ticks take turns with the queue as a whole. The commands of one session keep their order.
//
// The end of a session may be much work, and nobody knows how much. So ends have a queue of their own, and each round
// decides a few, of one user after the other, when what others have sent has had its turn.
//
// Work is estimated from the commands, not measured, so that the same commands take the same turns. 512 KiB of it are
// about 1 ms.
const (
	// roundWork is what the sessions together may make until each had its turn. Each user who has something to do has a
	// part of it, and each session of that user a share of that, but not more than shareMost and not less than
	// shareLeast.
	roundWork  = 4 << 20
	shareMost  = 2 << 20
	shareLeast = 32 << 10
	// usersWork is what all users together may make in a round of what has just come, each with as many
	// sessions as they like: one command is always decided, and may be far more than the share of a session.
	// The share of one user is a part of it, but not less than userLeast.
	usersWork = 2 * roundWork
	userLeast = 512 << 10
	// turnsWork is after how much work a round goes on with no more sessions of the queue, restRounds in which rounds
	// the queue has a turn whatever else is decided.
	turnsWork  = 1 << 20
	restRounds = 8
	// commandWork is what a command counts for beside the facts and effects that it leads to; definedWork is
	// one that names something and may have arguments.
	commandWork = 256
	definedWork = 2 << 10
	// endingWork is how much of what a session has sent is still decided when it ends. The rest is dropped: no
	// client can know whether it was decided. An honest publisher that closes its socket has far less under
	// way.
	endingWork = 64 << 20
)

// sessionQueue has the sessions of a vhost that wait for their turn.
type sessionQueue struct {
	accounts map[string]*account // of the users who have sessions, by name
	waiting  []*account          // that have sessions in the queue, in order
	ending   []*account          // that have sessions in the queue of ends, in order
	queued   int                 // sessions in both queues
	rounds   uint64
	users    int // who have something to do in this round
	made     int // work of all sessions in this round
	owed     int // work of the last tick that sessions have not matched yet

	behind atomic.Pointer[Session] // one of the queue; nil: nobody waits
}

// account is what a user has of the queue.
type account struct {
	user     string
	sessions int    // that have the account
	made     int    // work that is not made up for by a share in each round,
	round    uint64 // as of this one

	fresh, rest []*Session // in the queue: those that have made no work lately, and the others
	restNext    bool       // the next turn is one of the rest
	ending      []*Session // in the queue of ends

	active int    // sessions of which something has come in this round
	cameAt uint64 // the round in which something came last
	pass   uint64 // counts how often all sessions of the user in the queue have had their turn
	left   int    // of them, those whose turn in this pass is still to come
	share  int    // of a session in a pass
	passAt uint64 // the round as of which the pass is
}

// beginRound begins a round in which these requests have come.
func (o *sessionQueue) beginRound(inbox []request) {
	o.rounds++
	o.made = 0
	o.users = len(o.waiting)
	for i := range inbox {
		if s := inbox[i].session; s != nil && !s.closed {
			o.countRequest(s)
		}
	}
}

// countRequest notes that something of a session has come in this round.
func (o *sessionQueue) countRequest(s *Session) {
	a := o.accountOf(s)
	if a.cameAt != o.rounds {
		a.active, a.cameAt = 0, o.rounds
		if !a.waits() {
			o.users++
		}
	}
	if s.cameAt != o.rounds {
		s.cameAt = o.rounds
		a.active++
	}
}

// accountOf is the account of a session's user.
func (o *sessionQueue) accountOf(s *Session) *account {
	if s.account != nil {
		return s.account
	}
	a := o.accounts[s.info.User]
	if a == nil {
		a = &account{user: s.info.User, round: o.rounds, passAt: o.rounds - 1}
		if o.accounts == nil {
			o.accounts = map[string]*account{}
		}
		o.accounts[a.user] = a
	}
	a.sessions++
	s.account = a
	return a
}

// leave takes the account of a session that has ended.
func (o *sessionQueue) leave(s *Session) {
	if a := s.account; a != nil {
		s.account = nil
		if a.sessions--; a.sessions == 0 {
			delete(o.accounts, a.user)
		}
	}
}

// isOver reports whether a user has used up a share of this round.
func (o *sessionQueue) isOver(a *account) bool {
	share := max(usersWork/max(len(o.accounts), 1), userLeast)
	a.made, a.round = lessShares(a.made, share, o.rounds-a.round), o.rounds
	return a.made >= share
}

// add puts a session into the queue.
func (o *sessionQueue) add(s *Session) {
	a := s.account
	if !a.waits() {
		o.waiting = append(o.waiting, a)
	}
	if o.makeUp(s); s.spent == 0 {
		a.fresh = append(a.fresh, s)
	} else {
		a.rest = append(a.rest, s)
	}
	s.queued = true
	o.queued++
}

// addEnd puts a session that has nothing waiting but its end into the queue of ends.
func (o *sessionQueue) addEnd(s *Session) {
	a := s.account
	if len(a.ending) == 0 {
		o.ending = append(o.ending, a)
	}
	a.ending = append(a.ending, s)
	s.queued = true
	o.queued++
}

// next takes the session out of the queue whose turn it is; nil: nobody has a turn in this round.
func (o *sessionQueue) next() *Session {
	a := o.first(&o.waiting, func(a *account) bool {
		o.catchUp(a)
		return a.left > 0
	})
	if a == nil {
		return nil
	}
	from := a.list()
	s := (*from)[0]
	*from = slices.Delete(*from, 0, 1)
	a.restNext = !a.restNext
	a.left--
	if a.waits() {
		o.waiting = append(o.waiting, a)
	}
	s.queued = false
	o.queued--
	return s
}

// nextEnd takes the session out of the queue of ends whose turn it is; nil: none has a turn in this round.
func (o *sessionQueue) nextEnd() *Session {
	a := o.first(&o.ending, func(*account) bool { return true })
	if a == nil {
		return nil
	}
	s := a.ending[0]
	a.ending = slices.Delete(a.ending, 0, 1)
	if len(a.ending) > 0 {
		o.ending = append(o.ending, a)
	}
	s.queued = false
	o.queued--
	return s
}

// first takes out of a queue the user whose turn it is: the first one within the share. If there is none, it is the
// first one over the share, but only if nothing was decided in this round, so that a round has one costly command of a
// user, not two, or in every restRounds-th round. Nil: nobody has a turn.
func (o *sessionQueue) first(queue *[]*account, may func(*account) bool) *account {
	at := -1
	for i, a := range *queue {
		if !may(a) {
			continue
		}
		if !o.isOver(a) {
			at = i
			break
		}
		if at < 0 && (o.made == 0 || o.rounds%restRounds == 0) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	a := (*queue)[at]
	*queue = slices.Delete(*queue, at, at+1)
	return a
}

// catchUp brings the pass of a user's sessions up to this round. When all that waited have had their turn the next one
// begins, with the next round.
func (o *sessionQueue) catchUp(a *account) {
	rounds := o.rounds - a.passAt
	if rounds == 0 {
		return
	}
	a.passAt = o.rounds
	n := a.queued()
	switch {
	case a.left > 0:
	case n > 0:
		a.left = n
		a.pass++
	default:
		a.pass += rounds
	}
	if a.cameAt == o.rounds {
		n += a.active
	}
	a.share = min(max(roundWork/max(o.users, 1)/max(n, 1), shareLeast), shareMost)
}

// end forgets everybody: the vhost has stopped.
func (o *sessionQueue) end() {
	o.accounts, o.waiting, o.ending, o.queued = nil, nil, nil, 0
	o.behind.Store(nil)
}

// queued is how many sessions of a user are in the queue, and do not only end.
func (a *account) queued() int { return len(a.fresh) + len(a.rest) }

// waits reports whether a user is in the queue.
func (a *account) waits() bool { return a.queued() > 0 }

// list is where the next turn of an account that waits is taken from.
func (a *account) list() *[]*Session {
	if len(a.fresh) == 0 || a.restNext && len(a.rest) > 0 {
		return &a.rest
	}
	return &a.fresh
}

// charge notes work of a session. Each pass of its user's sessions makes up for one share of it: who has sent one very
// large command misses turns.
func (o *sessionQueue) charge(s *Session, work int) {
	o.makeUp(s)
	s.spent += work
	s.account.made += work
	o.made += work
	o.owed -= work
	if s.endsWithin > 0 {
		if s.endsWithin -= work; s.endsWithin <= 0 {
			s.endsWithin = -1
		}
	}
}

func (o *sessionQueue) makeUp(s *Session) {
	a := s.account
	o.catchUp(a)
	s.spent, s.pass = lessShares(s.spent, a.share, a.pass-s.pass), a.pass
}

// lessShares is what is left of work after so many shares have made up for it.
func lessShares(work, share int, times uint64) int {
	if times == 0 || work == 0 {
		return work
	}
	return max(work-int(min(times, uint64(work/share+1)))*share, 0)
}

// isSpent reports whether a session has used up its share.
func (o *sessionQueue) isSpent(s *Session) bool {
	o.makeUp(s)
	return s.spent >= s.account.share
}

// mayTick reports whether it is the ticks' turn.
func (o *sessionQueue) mayTick() bool { return o.owed <= 0 || o.queued == 0 }

// ticked notes the work of a tick.
func (o *sessionQueue) ticked(work int) { o.owed = work }

// workOf is what a command counts for by itself.
func workOf(c *vhost.Command) int {
	if c.Definition != nil {
		return definedWork
	}
	return commandWork
}

// serveQueue goes on with the first sessions of the queue, and then with the first ends; one end has its turn
// whatever was decided before.
func (r *runner) serveQueue() {
	o := &r.queue
	before := o.made
	for o.made-before < turnsWork {
		s := o.next()
		if s == nil {
			break
		}
		if !s.closed {
			r.grant(s)
			r.goOn(s)
		}
		if s.queued {
			r.noteBehind(s)
		}
	}
	for one := true; one || o.made-before < turnsWork; one = false {
		s := o.nextEnd()
		if s == nil {
			break
		}
		r.goOn(s)
	}
	if o.queued == 0 {
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
	if most := r.queue.behind.Load(); most == nil || !most.queued || n > most.behind.Load() {
		r.queue.behind.Store(s)
	}
}
