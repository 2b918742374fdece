// Package turns shares a processor between questions and messages. Who answers a question that takes long (a search, a walk
// through a queue) takes a turn, works in slices, and rests in between: while messages flow all turns together have a fixed share
// of one processor, and no message waits for more than a slice. While none flow nobody rests.
//
// It promises nothing about single slices: they are as long as its users make them. It knows nothing of what they do.
package turns

import (
	"context"
	"sync"
	"time"
)

const (
	// share: while messages flow, one part in share of one processor is worked.
	share = 5
	// slice is how long is worked between two rests, about, and restLeast how long these are: shorter ones come to no rest, for
	// timers are late.
	slice     = 250 * time.Microsecond
	restLeast = time.Millisecond
	// saved is what is kept of work that was not done: so much is worked without a rest that is longer than restLeast. owedMost
	// is how much one slice counts at the most: it may have waited for who reads the answer.
	saved    = 4 * time.Millisecond
	owedMost = 20 * time.Millisecond
	// flowing is from how many commands a second on messages flow, asked every lookEvery at the most.
	flowing   = 1000
	lookEvery = 50 * time.Millisecond
	// patience is how many times as long as its budget of work an answer may take.
	patience = 3
)

// A Share is what turns have together. Any goroutine may use it.
type Share struct {
	commands func() uint64

	mu struct {
		sync.Mutex
		left   time.Duration // may be worked at once; below 0: is owed
		leftAt time.Time     // then
		seen   uint64        // commands,
		seenAt time.Time     // then
		flows  bool
	}
}

// New returns a share for a broker: commands counts what its clients have asked of it, ever.
func New(commands func() uint64) *Share { return &Share{commands: commands} }

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

// worked notes work, and returns for how long to rest.
func (s *Share) worked(d time.Duration) time.Duration {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.left = min(s.mu.left+now.Sub(s.mu.leftAt)/share, saved)
	s.mu.leftAt = now
	if !s.flows(now) {
		s.mu.left = saved
		return 0
	}
	s.mu.left -= min(d, owedMost)
	if d == 0 && s.mu.left >= 0 {
		return 0
	}
	return max(-s.mu.left*share, restLeast)
}

// A Turn is the work on one answer. It is one goroutine's. A nil Turn never rests.
type Turn struct {
	share *Share
	since time.Time     // the slice began
	done  time.Duration // in slices before
}

type key struct{}

// Begin begins a turn, as soon as nothing is owed of those before. The context that it returns carries it, for From. The error
// is that of the context.
func (s *Share) Begin(ctx context.Context) (context.Context, *Turn, error) {
	t := &Turn{share: s}
	err := t.sleep(ctx, s.worked(0))
	return context.WithValue(ctx, key{}, t), t, err
}

// From is the turn that a context carries; nil: none, whoever works does so without a rest.
func From(ctx context.Context) *Turn {
	t, _ := ctx.Value(key{}).(*Turn)
	return t
}

// Rest is called now and then, with nothing locked. It rests if enough was done since the last time. The error is that of the
// context.
func (t *Turn) Rest(ctx context.Context) error {
	if t == nil {
		return ctx.Err()
	}
	d := time.Since(t.since)
	if d < slice {
		return ctx.Err()
	}
	t.done += d
	return t.sleep(ctx, t.share.worked(d))
}

// End ends a turn: what it owes is for the next one to wait for.
func (t *Turn) End() { t.share.worked(time.Since(t.since)) }

// sleep ends with the beginning of a slice.
func (t *Turn) sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	t.since = time.Now()
	return ctx.Err()
}

// Slice is how long to work between two rests where that has to be said beforehand: unhurried, or less while messages flow.
func (t *Turn) Slice(unhurried time.Duration) time.Duration {
	if t == nil || !t.share.Flows() {
		return unhurried
	}
	return min(slice, unhurried)
}

// A Budget is how long an answer may take: so much work, and patience times as much time with the rests.
type Budget struct {
	turn *Turn
	done time.Duration // by the turn, when the budget began
	work time.Duration
	ends time.Time
}

// Budget begins a budget of work. That of a nil Turn counts all time.
func (t *Turn) Budget(work time.Duration) Budget {
	if t == nil {
		return Budget{ends: time.Now().Add(work)}
	}
	return Budget{turn: t, done: t.worked(), work: work, ends: time.Now().Add(patience * work)}
}

func (t *Turn) worked() time.Duration { return t.done + time.Since(t.since) }

// Spent reports whether nothing is left.
func (b *Budget) Spent() bool {
	return time.Now().After(b.ends) || b.turn != nil && b.turn.worked()-b.done > b.work
}
