package engine

import (
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/deadline"
)

// Clock is the time outside. Read may be called by any goroutine.
type Clock interface {
	// Read returns the wall clock, ns since the Unix epoch, and a monotonic clock, ns since any moment.
	Read() (wall, mono int64)
	// Running reports whether the clock moves by itself; one that does not is moved by Engine.Advance.
	Running() bool
}

// SystemClock is the machine's clock.
func SystemClock() Clock { return systemClock{time.Now()} }

type systemClock struct{ start time.Time }

func (c systemClock) Read() (wall, mono int64) {
	now := time.Now()
	return now.UnixNano(), int64(now.Sub(c.start))
}

func (systemClock) Running() bool { return true }

// TestClock stands still until it is moved.
type TestClock struct {
	mu struct {
		sync.Mutex
		wall, mono int64
	}
}

// NewTestClock returns a clock that shows at, to the millisecond: moved by a TTL it shows the very instant at which
// a message with that TTL expires.
func NewTestClock(at time.Time) *TestClock {
	c := &TestClock{}
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

// vhostTime turns a Clock into a vhost's time: the wall clock, but never below what was logged. While the
// wall clock is behind, it goes on at the speed of the monotonic clock. Source: ours, design §4.
type vhostTime struct {
	clock      Clock
	last, mono int64 // ns: the time given last, and the monotonic clock then
}

// read returns the time rounded down and up to the millisecond, and the wall clock rounded down.
func (t *vhostTime) read() (now, from, wall deadline.Instant) {
	w, mono := t.clock.Read()
	at := w
	if at < t.last {
		at = t.last + max(mono-t.mono, 0)
	}
	t.last, t.mono = at, mono
	const ms = int64(time.Millisecond)
	return deadline.Instant(at / ms), deadline.Instant((at + ms - 1) / ms), deadline.Instant(w / ms)
}

// atLeast keeps time from going below what the log says.
func (t *vhostTime) atLeast(i deadline.Instant) {
	if at := int64(i) * int64(time.Millisecond); at > t.last {
		_, t.mono = t.clock.Read()
		t.last = at
	}
}
