package perf

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// tickMin is the shortest time between two writes of a paced publisher, unless it is asked for another: at more
	// than one message in that time, several go together.
	tickMin = 100 * time.Microsecond

	// napMax is how long a pace sleeps before it looks whether it shall stop.
	napMax = 50 * time.Millisecond

	// threadsMax is how many paced publishers have a thread each: its sleeps are exact. More of them share the
	// runtime's timers, which are exact to a millisecond; a process may not have 10,000 threads.
	threadsMax = 256
)

// pace says when how many messages are due: a fixed schedule that a late sender catches up with, so that the wait
// counts as latency. One goroutine uses it.
type pace struct {
	perTick float64 // messages
	period  int64   // ns from tick to tick
	start   int64
	tick    int64 // the next one
	thread  bool  // the goroutine that uses it has a thread of its own
	late    *hdrhistogram.Histogram
}

// newPace makes a schedule of rate messages per second, above 0, beginning at an instant. tick is the time between two
// writes, 0 for as evenly as tickMin allows.
func newPace(rate float64, tick time.Duration, start int64) *pace {
	period := int64(tick)
	if period == 0 {
		period = max(int64(float64(time.Second)/rate), int64(tickMin))
	}
	return &pace{perTick: rate * float64(period) / 1e9, period: period, start: start, late: newHistogram()}
}

// next waits until something is due and returns how much, and the instant since when.
func (p *pace) next(stop *atomic.Bool) (n int, at int64) {
	for n == 0 && !stop.Load() {
		at = p.start + p.tick*p.period
		n = int(p.through(p.tick) - p.through(p.tick-1))
		p.tick++
	}
	for wait := at - now(); wait > 0 && !stop.Load(); wait = at - now() {
		nap := min(time.Duration(wait), napMax)
		if p.thread {
			pause(nap)
		} else {
			time.Sleep(nap)
		}
	}
	return n, at
}

// through returns how many messages are due by a tick, that included.
func (p *pace) through(tick int64) float64 { return math.Floor(float64(tick+1)*p.perTick + 1e-6) }
