package web

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A MemoryBudget counts the memory that requests under way take: their bodies, what is decoded from them, and their
// answers. What finds no space waits for a while, and is refused then. So neither many large requests at once nor many
// answers that nobody reads take the memory that messages need. All its methods may be called by any goroutine.
type MemoryBudget struct {
	Total, Each int64         // bytes that all requests take at most, and those of one user
	Patience    time.Duration // how long a request waits for space

	mu struct {
		sync.Mutex
		taken   int64
		users   map[string]int64 // of taken
		freed   chan struct{}    // closed when there may be space again; nil: nobody waits
		refused uint64
	}
}

// ErrNoMemory says that a request found no space in the memory budget.
var ErrNoMemory = errors.New("the running requests use all memory for requests")

// An Account is what one request has taken. Its methods are for one goroutine.
type Account struct {
	Budget   *MemoryBudget
	User     string
	Taken    int64
	reserved int64 // of that, what Take may still draw on
}

// Reserve counts n bytes that later calls of Take draw on: what must not fail then cannot for lack of memory.
func (a *Account) Reserve(ctx context.Context, n int64) error {
	if err := a.Take(ctx, n); err != nil {
		return err
	}
	a.reserved += n
	return nil
}

// Take counts n bytes, when there is space for them. A request whose user, and everybody else, has
// taken nothing besides may take anything: what it brings is bounded by its route, and what it is
// answered has to be answered to somebody. So two that wait for one another do not wait for ever,
// and a large list can be had.
func (a *Account) Take(ctx context.Context, n int64) error {
	drawn := min(max(n, 0), a.reserved)
	if n -= drawn; n <= 0 {
		a.reserved -= drawn
		return nil
	}
	b := a.Budget
	var ends <-chan time.Time
	for {
		freed, ok := b.admit(a, n)
		if ok {
			a.Taken += n
			a.reserved -= drawn
			return nil
		}
		if ends == nil {
			timer := time.NewTimer(b.Patience)
			defer timer.Stop()
			ends = timer.C
		}
		select {
		case <-freed:
		case <-ends:
			b.mu.Lock()
			b.mu.refused++
			b.mu.Unlock()
			return ErrNoMemory
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// admit counts n bytes if there is space, and tells otherwise when to try again.
func (b *MemoryBudget) admit(a *Account, n int64) (freed <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	alone := b.mu.taken == a.Taken || b.mu.taken+n <= b.Total
	if alone && (b.mu.users[a.User] == a.Taken || b.mu.users[a.User]+n <= b.Each) {
		if b.mu.users == nil {
			b.mu.users = map[string]int64{}
		}
		b.mu.taken += n
		b.mu.users[a.User] += n
		return nil, true
	}
	if b.mu.freed == nil {
		b.mu.freed = make(chan struct{})
	}
	return b.mu.freed, false
}

// tries counts n bytes if there is space for them now.
func (a *Account) tries(n int64) bool {
	_, ok := a.Budget.admit(a, n)
	if ok {
		a.Taken += n
	}
	return ok
}

// End gives back all that the request has taken.
func (a *Account) End() { a.GiveBack(0) }

// GiveBack gives back what the request has taken beyond so many bytes.
func (a *Account) GiveBack(beyond int64) {
	back := a.Taken - beyond
	if back <= 0 {
		return
	}
	b := a.Budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.taken -= back
	if b.mu.users[a.User] -= back; b.mu.users[a.User] == 0 {
		delete(b.mu.users, a.User)
	}
	a.Taken, a.reserved = beyond, 0
	if b.mu.freed != nil {
		close(b.mu.freed)
		b.mu.freed = nil
	}
}

// Usage is how much is taken, and how many requests found no space since the start.
func (b *MemoryBudget) Usage() (taken int64, refused uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.taken, b.mu.refused
}
