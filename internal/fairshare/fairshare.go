// Package fairshare shares a processor between questions and messages. To answer a question that takes long (a search,
// a walk through a queue) is a task: it works in slices, and rests in between. While messages flow all tasks together
// have a fixed share of one processor, and no message waits for more than a slice. While none flow no task rests.
//
// The share is divided fairly between users: the next slice is for the user who had least, and for the task of that
// user that waits longest. A user who asks much waits for its own tasks. How many of them it has at once is bounded.
//
// Turns are for other answers: they bound how many are made at once, by users' turns, whether messages flow or not.
//
// It promises nothing about single slices: they are as long as its users make them. It knows nothing of what they do.
package fairshare

import (
	"errors"
	"sync"
	"time"
)

const (
	// share: while messages flow, all requests together use at most one part in share of one processor.
	share = 5
	// slice is about how long a request works between two rests, restLeast the shortest rest: timers are too inexact
	// for a shorter one.
	slice     = 250 * time.Microsecond
	restLeast = time.Millisecond
	// saved is how much unused time is kept: so much work is done without a rest longer than restLeast. owedMost limits
	// the debt, of one slice or of all: waiting that took long was no work.
	saved    = 4 * time.Millisecond
	owedMost = 20 * time.Millisecond
	// flowing is from how many commands a second on messages flow, asked every lookEvery at the most.
	flowing   = 1000
	lookEvery = 50 * time.Millisecond
	// patience is how many times as long as its budget of work an answer may take.
	patience = 3
	// awayMost is how many tasks of a user may be away besides those that hold a place.
	awayMost = 32
)

// UserTasks is how many tasks a user has at once.
const UserTasks = 32

// ErrTooManyTasks says that a user has as many tasks as there are places. It holds until one of them ends.
var ErrTooManyTasks = errors.New("too many requests of one user are running")

// A Share is what tasks have together. Any goroutine may use it.
type Share struct {
	commands func() uint64

	mu struct {
		sync.Mutex
		left   time.Duration // may be worked at once; below 0: is owed
		leftAt time.Time     // then
		from   time.Time     // the next slice begins no sooner
		seen   uint64        // commands,
		seenAt time.Time     // then
		flows  bool
		users  map[string]*user // that have tasks
		had    time.Duration    // by the user who was let on last
		wake   *time.Timer      // calls letOn; nil: nobody has waited yet
	}
}

// A user is whose tasks have one part of the share.
type user struct {
	places, away int
	freed        chan struct{} // closed when a place is free; nil: nobody waits for one
	had          time.Duration // work; of who had no tasks until now, no less than others had
	waiting      []*Task       // in order
}

// leavePlace gives back a place, to one of those who wait for it. The share's lock is held.
func (u *user) leavePlace() {
	u.places--
	if u.freed != nil {
		close(u.freed)
		u.freed = nil
	}
}

// New returns a share for a broker: commands counts what its clients have asked of it, ever.
func New(commands func() uint64) *Share {
	s := &Share{commands: commands}
	s.mu.users = map[string]*user{}
	return s
}

// Flows reports whether messages flow.
func (s *Share) Flows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flows(time.Now())
}

func (s *Share) flows(now time.Time) bool {
	since := now.Sub(s.mu.seenAt)
	if since >= lookEvery {
		seen := s.commands()
		s.mu.flows = float64(seen-s.mu.seen) >= flowing*since.Seconds() && !s.mu.seenAt.IsZero()
		s.mu.seen, s.mu.seenAt = seen, now
	}
	return s.mu.flows
}

// charge notes how long a task has worked.
func (s *Share) charge(t *Task, d time.Duration, now time.Time) {
	d = min(d, owedMost) - t.ahead
	t.ahead = 0
	s.earn(now)
	s.mu.left = min(max(s.mu.left-d, -owedMost), saved)
	t.user.had += d
}

// earn adds to what is left what time has brought.
func (s *Share) earn(now time.Time) {
	s.mu.left = min(s.mu.left+now.Sub(s.mu.leftAt)/share, saved)
	s.mu.leftAt = now
	if !s.flows(now) {
		s.mu.left = saved
	}
}

// letOn has those go on whose time it is, one after the other, and sees to it that the others are thought of. A slice
// is charged when it begins, so that no two begin for what one may work.
func (s *Share) letOn(now time.Time) {
	s.earn(now)
	for {
		u := s.next()
		if u == nil {
			return
		}
		if d := max(-s.mu.left*share, s.mu.from.Sub(now)); d > 0 {
			s.wakeIn(min(d, lookEvery)) // messages may cease to flow
			return
		}
		t := u.waiting[0]
		u.waiting = u.waiting[1:]
		s.mu.had, s.mu.left, u.had, t.ahead = u.had, s.mu.left-slice, u.had+slice, slice
		if !s.mu.flows { // all who waited go on, but not all at once
			s.mu.left, s.mu.from = saved, now.Add(slice)
		}
		close(t.goes)
	}
}

// next is the user whose turn it is; nil: nobody waits.
func (s *Share) next() (least *user) {
	for _, u := range s.mu.users {
		if len(u.waiting) > 0 && (least == nil || u.had < least.had) {
			least = u
		}
	}
	return least
}

func (s *Share) wakeIn(d time.Duration) {
	if s.mu.wake != nil {
		s.mu.wake.Reset(d)
		return
	}
	s.mu.wake = time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.letOn(time.Now())
	})
}
