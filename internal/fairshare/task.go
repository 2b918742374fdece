package fairshare

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A Task is the work on one answer. It is one goroutine's. A nil Task, and one that has ended, never rests.
type Task struct {
	share *Share
	user  *user
	name  string        // the user's
	since time.Time     // the slice began
	done  time.Duration // in slices before
	ends  time.Time     // the first budget that does; zero: none was begun
	over  bool

	// The share's.
	ahead time.Duration // of the slice that began: is charged
	goes  chan struct{} // closed when it may go on
}

type key struct{}

// Begin begins a task of a user, as soon as it is that user's turn. The context that it returns carries it, for
// From. The error is ErrTooManyTasks, or that of the context; then no task has begun.
func (s *Share) Begin(ctx context.Context, name string) (context.Context, *Task, error) {
	t, err := s.enter(name)
	if err != nil {
		return ctx, nil, err
	}
	if err := t.wait(ctx); err != nil {
		t.End()
		return ctx, nil, err
	}
	return context.WithValue(ctx, key{}, t), t, nil
}

// BeginPatiently is Begin, but it waits for a place for so long.
func (s *Share) BeginPatiently(ctx context.Context, name string, wait time.Duration) (context.Context, *Task, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		within, t, err := s.Begin(ctx, name)
		if !errors.Is(err, ErrTooManyTasks) {
			return within, t, err
		}
		select {
		case <-s.freed(name):
		case <-timer.C:
			return ctx, nil, err
		case <-ctx.Done():
			return ctx, nil, ctx.Err()
		}
	}
}

// freed is closed when a user has a place, or may have one.
func (s *Share) freed(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.mu.users[name]
	if u == nil || u.places < UserTasks {
		now := make(chan struct{})
		close(now)
		return now
	}
	if u.freed == nil {
		u.freed = make(chan struct{})
	}
	return u.freed
}

func (s *Share) enter(name string) (*Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.mu.users[name]
	if u == nil {
		u = &user{had: s.mu.had}
		s.mu.users[name] = u
	}
	if u.places >= UserTasks {
		return nil, ErrTooManyTasks
	}
	u.places++
	return &Task{share: s, user: u, name: name, since: time.Now()}, nil
}

// From is the task that a context carries; nil: none, whoever works does so without a rest.
func From(ctx context.Context) *Task {
	t, _ := ctx.Value(key{}).(*Task)
	return t
}

// Rest is called now and then, with nothing locked. It rests if enough was done since the last time. The error is that
// of the context.
func (t *Task) Rest(ctx context.Context) error {
	if t == nil || t.over {
		return ctx.Err()
	}
	d := time.Since(t.since)
	if d < slice {
		return ctx.Err()
	}
	t.done += d
	t.share.mu.Lock()
	now := time.Now()
	t.share.charge(t, d, now)
	if t.share.mu.flows {
		t.share.mu.from = now.Add(restLeast)
	}
	t.share.mu.Unlock()
	return t.wait(ctx)
}

// Lasts reports whether there is a task that has not ended.
func (t *Task) Lasts() bool { return t != nil && !t.over }

// End ends a task: what it owes is for the next ones to wait for. More than once is no harm.
func (t *Task) End() {
	if t == nil || t.over {
		return
	}
	t.over = true
	s := t.share
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.charge(t, now.Sub(t.since), now)
	s.letOn(now)
	t.user.leavePlace()
	if t.user.places+t.user.away == 0 {
		delete(s.mu.users, t.name)
	}
}

// wait ends with the beginning of a slice: when the task may go on, when a budget of it ends, or with the context.
func (t *Task) wait(ctx context.Context) error {
	defer func() { t.since = time.Now() }()
	s, now := t.share, time.Now()
	s.mu.Lock()
	if s.earn(now); !s.mu.flows {
		s.mu.Unlock()
		return ctx.Err()
	}
	if len(t.user.waiting) == 0 { // who comes back has not saved what others worked meanwhile
		t.user.had = max(t.user.had, s.mu.had-owedMost)
	}
	t.goes = make(chan struct{})
	t.user.waiting = append(t.user.waiting, t)
	s.letOn(now)
	s.mu.Unlock()

	var ends <-chan time.Time
	if left := t.ends.Sub(now); left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		ends = timer.C
	}
	select {
	case <-t.goes:
		return ctx.Err()
	case <-ends:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.user.waiting = slices.DeleteFunc(t.user.waiting, func(x *Task) bool { return x == t })
	return ctx.Err()
}

// Away runs what waits for the one who asked, to read an answer or to send more of the question. Meanwhile the task
// holds no place, unless many of the user's are away; and it is not work but for a slice.
func (t *Task) Away(fn func() error) error {
	if t == nil || t.over {
		return fn()
	}
	s := t.share
	s.mu.Lock()
	goes := t.user.away < awayMost
	if goes {
		t.user.away++
		t.user.leavePlace()
	}
	s.mu.Unlock()
	defer func() {
		if goes {
			s.mu.Lock()
			defer s.mu.Unlock()
			t.user.away--
			t.user.places++
		}
	}()
	return t.Idle(fn)
}

// Idle runs what waits for something else than its turn: it is not work but for a slice.
func (t *Task) Idle(fn func() error) error {
	if t != nil {
		began := time.Now()
		defer func() { t.since = t.since.Add(max(time.Since(began)-slice, 0)) }()
	}
	return fn()
}

// Slice is how long to work between two rests where that has to be said beforehand: unhurried, or less while messages
// flow.
func (t *Task) Slice(unhurried time.Duration) time.Duration {
	if t == nil || t.over || !t.share.Flows() {
		return unhurried
	}
	return min(slice, unhurried)
}

// A Budget is how long an answer may take: so much work, and patience times as much time with the rests.
type Budget struct {
	task *Task
	done time.Duration // by the task, when the budget began
	work time.Duration
	ends time.Time
}

// Budget begins a budget of work. That of a nil Task counts all time.
func (t *Task) Budget(work time.Duration) Budget {
	now := time.Now()
	if t == nil {
		return Budget{ends: now.Add(work)}
	}
	b := Budget{task: t, done: t.worked(), work: work, ends: now.Add(patience * work)}
	if t.ends.Before(now) || b.ends.Before(t.ends) {
		t.ends = b.ends
	}
	return b
}

func (t *Task) worked() time.Duration { return t.done + time.Since(t.since) }

// Spent reports whether nothing is left.
func (b *Budget) Spent() bool {
	return time.Now().After(b.ends) || b.task != nil && b.task.worked()-b.done > b.work
}
