package fairshare

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// turn is about how long a request works while others wait. It is a few dozen rows of a list.
	turn = 500 * time.Microsecond
	// TurnMost is after how long a request that does not look up loses its turn: then another works beside it.
	TurnMost = 10 * time.Millisecond
)

// Turns bound how many requests work at once, whether messages flow or not. While more want to work they take turns:
// the next one is of the user who had least, and of the request of that user that waits longest. Source: ours,
// decision 29.
//
// Any goroutine may use it.
type Turns struct {
	most    int
	longest time.Duration // 0: a turn is not taken back

	mu struct {
		sync.Mutex
		working []*Turn // no more than most
		waiting int
		users   map[string]*worker // of those
		had     time.Duration      // by the user whose turn began last, before that
		order   uint64             // of the last one that has waited
		waits   uint64             // since the start
		watcher *time.Timer        // takes back turns that last too long; nil: nobody has waited yet
		watches bool
	}
}

// A worker is a user of whom something works or waits.
type worker struct {
	had     time.Duration // of who comes, no less than the others had
	waiting []*Turn       // in order
	working int
}

// A Turn is that of one request. It is one goroutine's. That of nil never waits.
type Turn struct {
	turns *Turns
	name  string // the user's
	holds bool   // unless it was taken back meanwhile

	// Those of the Turns.
	user  *worker // nil: it neither works nor waits
	since time.Time
	order uint64        // of those that wait
	goes  chan struct{} // closed when it begins; nil: it works
}

// NewTurns lets so many requests work at once. One whose turn lasts for longest, while others wait, does not count any
// more; 0 is for ever.
func NewTurns(most int, longest time.Duration) *Turns {
	s := &Turns{most: most, longest: longest}
	s.mu.users = map[string]*worker{}
	return s
}

// Usage counts the requests that have a turn and those that wait for one, and how often one has waited since the start.
func (s *Turns) Usage() (working, waiting int, waits uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.working), s.mu.waiting, s.mu.waits
}

// Of returns the turn of a request of a user. It has not begun.
func (s *Turns) Of(name string) *Turn { return &Turn{turns: s, name: name} }

// Holds reports whether the turn has begun, and was not left.
func (t *Turn) Holds() bool { return t != nil && t.holds }

// Goes reports whether nothing is to be asked for before more work: the turn has begun and has not lasted.
func (t *Turn) Goes() bool { return t == nil || t.holds && time.Since(t.since) < turn }

// Work begins a turn, or goes on with it. It is called now and then, with nothing locked. It waits if the turn has not
// begun and others work, or has lasted and others wait. The error is that of the context; then there is no turn.
func (t *Turn) Work(ctx context.Context) error {
	if t.Goes() {
		return nil
	}
	goes := t.ask(time.Now())
	if goes == nil {
		return nil
	}
	select {
	case <-goes:
		return nil
	case <-ctx.Done():
		t.Leave()
		return ctx.Err()
	}
}

// ask has a turn end, and a new one begin: at once if what it returns is nil, else when that is closed.
func (t *Turn) ask(now time.Time) (goes <-chan struct{}) {
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	t.holds = true
	s.end(t, now)
	u := s.mu.users[t.name]
	if u == nil {
		u = &worker{had: s.mu.had}
		s.mu.users[t.name] = u
	}
	t.user = u
	if s.mu.waiting == 0 && len(s.mu.working) < s.most {
		s.begin(t, now)
		return nil
	}
	s.mu.order++
	t.order, t.goes = s.mu.order, make(chan struct{})
	goes = t.goes
	u.waiting = append(u.waiting, t)
	s.mu.waiting++
	if s.letOn(now); t.goes != nil {
		s.mu.waits++
		s.watch()
	}
	return goes
}

// Leave ends a turn. It is for whoever is about to wait for something else. A turn that has not begun is no harm.
func (t *Turn) Leave() {
	if t == nil || !t.holds {
		return
	}
	t.holds = false
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(t, time.Now())
}

// Aside runs what waits for something else; meanwhile others have their turns. Afterwards the turn goes on, if there
// was one.
func (t *Turn) Aside(ctx context.Context, fn func() error) error {
	if t == nil || !t.holds {
		return fn()
	}
	t.Leave()
	if err := fn(); err != nil {
		return err
	}
	return t.Work(ctx)
}

// begin begins a turn of a user. The lock is held.
func (s *Turns) begin(t *Turn, now time.Time) {
	s.mu.had = t.user.had
	t.user.working++
	t.since = now
	s.mu.working = append(s.mu.working, t)
}

// end takes a turn from those that work or wait. The lock is held.
func (s *Turns) end(t *Turn, now time.Time) {
	is := func(x *Turn) bool { return x == t }
	switch u := t.user; {
	case u == nil:
	case t.goes != nil:
		u.waiting = slices.DeleteFunc(u.waiting, is)
		t.goes = nil
		s.mu.waiting--
	default:
		s.mu.working = slices.DeleteFunc(s.mu.working, is)
		u.working--
		u.had += now.Sub(t.since)
	}
}

// drop ends a turn after which that request begins none for now. The lock is held.
func (s *Turns) drop(t *Turn, now time.Time) {
	s.end(t, now)
	if u := t.user; u != nil && u.working+len(u.waiting) == 0 {
		delete(s.mu.users, t.name)
	}
	t.user = nil
	s.letOn(now)
}

// letOn begins the turns that there is space for. The lock is held.
func (s *Turns) letOn(now time.Time) {
	for len(s.mu.working) < s.most && s.mu.waiting > 0 {
		t := s.next()
		t.user.waiting = slices.Delete(t.user.waiting, 0, 1)
		s.mu.waiting--
		s.begin(t, now)
		close(t.goes)
		t.goes = nil
	}
}

// next is the turn that begins next, of those that wait.
func (s *Turns) next() (next *Turn) {
	for _, u := range s.mu.users {
		if len(u.waiting) == 0 {
			continue
		}
		t := u.waiting[0]
		if next == nil || u.had < next.user.had || u.had == next.user.had && t.order < next.order {
			next = t
		}
	}
	return next
}

// watch sees to it that turns that last too long end while others wait. The lock is held.
func (s *Turns) watch() {
	switch {
	case s.mu.watches || s.mu.waiting == 0 || s.longest == 0:
		return
	case s.mu.watcher == nil:
		s.mu.watcher = time.AfterFunc(s.longest, s.takeBack)
	default:
		s.mu.watcher.Reset(s.longest)
	}
	s.mu.watches = true
}

func (s *Turns) takeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.watches = false
	now := time.Now()
	for _, t := range slices.Clone(s.mu.working) {
		if now.Sub(t.since) >= s.longest {
			s.drop(t, now)
		}
	}
	s.watch()
}
