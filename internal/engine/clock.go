package engine

import "time"

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
