package management

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A memoryBudget counts the memory that requests under way take: their bodies, what is decoded from them, and their answers. What
// finds no room waits for a while, and is refused then. So neither many large requests at once nor many answers that nobody
// reads take the memory that messages need. All its methods may be called by any goroutine.
type memoryBudget struct {
	total, each int64         // bytes that all requests take at most, and those of one user
	patience    time.Duration // how long a request waits for room

	mu struct {
		sync.Mutex
		taken   int64
		users   map[string]int64 // of taken
		freed   chan struct{}    // closed when there may be room again; nil: nobody waits
		refused uint64
	}
}

// errNoMemory says that a request found no room in the memory budget.
var errNoMemory = errors.New("the running requests use all memory for requests")

// An account is what one request has taken. Its methods are for one goroutine.
type account struct {
	budget *memoryBudget
	user   string
	taken  int64
}

// take counts n bytes, when there is room for them. A request whose user, and everybody else, has taken nothing besides may
// take anything: what it brings is bounded by its route, and what it is answered has to be answered to somebody. So two that
// wait for one another do not wait for ever, and a large list can be had.
func (a *account) take(ctx context.Context, n int64) error {
	if n <= 0 {
		return nil
	}
	b := a.budget
	var ends <-chan time.Time
	for {
		freed, ok := b.admit(a, n)
		if ok {
			a.taken += n
			return nil
		}
		if ends == nil {
			timer := time.NewTimer(b.patience)
			defer timer.Stop()
			ends = timer.C
		}
		select {
		case <-freed:
		case <-ends:
			b.mu.Lock()
			b.mu.refused++
			b.mu.Unlock()
			return errNoMemory
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// admit counts n bytes if there is room, and tells otherwise when to try again.
func (b *memoryBudget) admit(a *account, n int64) (freed <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	alone := b.mu.taken == a.taken || b.mu.taken+n <= b.total
	if alone && (b.mu.users[a.user] == a.taken || b.mu.users[a.user]+n <= b.each) {
		if b.mu.users == nil {
			b.mu.users = map[string]int64{}
		}
		b.mu.taken += n
		b.mu.users[a.user] += n
		return nil, true
	}
	if b.mu.freed == nil {
		b.mu.freed = make(chan struct{})
	}
	return b.mu.freed, false
}

// tries counts n bytes if there is room for them now.
func (a *account) tries(n int64) bool {
	_, ok := a.budget.admit(a, n)
	if ok {
		a.taken += n
	}
	return ok
}

// end gives back all that the request has taken.
func (a *account) end() { a.giveBack(0) }

// giveBack gives back what the request has taken beyond so many bytes.
func (a *account) giveBack(beyond int64) {
	back := a.taken - beyond
	if back <= 0 {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.taken -= back
	if b.mu.users[a.user] -= back; b.mu.users[a.user] == 0 {
		delete(b.mu.users, a.user)
	}
	a.taken = beyond
	if b.mu.freed != nil {
		close(b.mu.freed)
		b.mu.freed = nil
	}
}

// usage is how much is taken, and how many requests found no room since the start.
func (b *memoryBudget) usage() (taken int64, refused uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.taken, b.mu.refused
}
