package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// ErrClock refuses to move a clock that moves by itself.
var ErrClock = errors.New("engine: the clock can only be moved with a test clock")

// TestClock stands still until it is moved.
type TestClock struct {
	turn chan struct{} // holds one value, taken by who moves the clock
	mu   struct {
		sync.Mutex
		wall, mono int64
	}
}

// NewTestClock returns a clock that shows at, to the millisecond: moved by a TTL it shows the very instant at which
// a message with that TTL expires.
func NewTestClock(at time.Time) *TestClock {
	c := &TestClock{turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	c.mu.wall = at.Truncate(time.Millisecond).UnixNano()
	return c
}

// Read implements Clock.
func (c *TestClock) Read() (wall, mono int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.wall, c.mu.mono
}

// Running implements Clock.
func (c *TestClock) Running() bool { return false }

func (c *TestClock) moveTo(wall int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wall > c.mu.wall {
		c.mu.mono += wall - c.mu.wall
		c.mu.wall = wall
	}
}

// Advance moves a test clock by d. On return everything that became due on the way has happened, each thing at its own
// instant and before anything that was due later, is safe, and was given to the frontends of its consumers. Held dead
// letters are tried again when something else happens, and at the end: not each minute, which would be half a million
// times a year. Of two that advance at once one waits for the other. If ctx ends first, the clock stands somewhere on
// the way.
func (e *Engine) Advance(ctx context.Context, d time.Duration) error {
	c, ok := e.clock.(*TestClock)
	if !ok {
		return ErrClock
	}
	select {
	case <-c.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { c.turn <- struct{}{} }()
	if err := ctx.Err(); err != nil {
		return err
	}
	wall, _ := c.Read()
	target := wall + int64(d)
	for {
		at, due := e.nextDue()
		if !due || at > target {
			break
		}
		c.moveTo(at)
		if err := e.settle(ctx); err != nil {
			return err
		}
	}
	c.moveTo(target)
	return e.settle(ctx)
}

// nextDue is the earliest instant, ns, at which a vhost has something to do, but for trying held dead letters
// again.
func (e *Engine) nextDue() (at int64, due bool) {
	for _, r := range e.allRunners() {
		r.own()
		i, ok := r.vhost.NextChange()
		r.release()
		if t := int64(i) * nsPerMilli; ok && (!due || t < at) {
			at, due = t, true
		}
	}
	return at, due
}

// settle waits until every vhost has done what is due now, and all of it is safe.
func (e *Engine) settle(ctx context.Context) error {
	wall, _ := e.clock.Read()
	for _, r := range e.allRunners() {
		for more := true; more; {
			done := make(chan error, 1)
			r.put(request{done: done, look: dueBy(deadline.Instant(wall/nsPerMilli), &more)})
			if err := r.await(ctx, done); err != nil {
				return err
			}
		}
	}
	return nil
}

// dueBy tells whether something is due, which happens after it was looked for.
func dueBy(now deadline.Instant, due *bool) func(*vhost.VHost) {
	return func(v *vhost.VHost) {
		at, ok := v.Due()
		*due = ok && at <= now
	}
}
