package engine

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/deadline"
)

const (
	// behindAlarm is by how much the wall clock has to be behind a vhost's time until somebody is told. A smaller gap,
	// such as small corrections of the clock leave, closes by itself.
	behindAlarm = time.Second
	// trimPart and resyncPart: while a gap closes by itself, or was told to, one part in so many of the time that
	// passes is held back. What is due then comes late by that part and never early: a clock that stood still until the
	// wall clock is there would make a second last as long as the gap.
	trimPart, resyncPart = 16, 2
)

const nsPerMilli = int64(time.Millisecond)

// vhostTime turns a Clock into a vhost's time: the wall clock, but never below what was logged. While the wall clock
// is behind, it goes on at the speed of the monotonic clock; once it was told to resync, at half that speed until the
// two meet. It never stands still for long and never goes back. Source: ours, docs/clock.md#the-time-of-a-virtual-host.
//
// It belongs to the owner of the runner, but for the atomic fields.
type vhostTime struct {
	clock      Clock
	last, mono int64 // ns: the time given last, and the monotonic clock then

	ahead     atomic.Int64 // ns by which the time given last was ahead of the wall clock, at least 0
	resyncing atomic.Bool  // until it is not ahead any more
}

// read returns the time rounded down and up to the millisecond, and the wall clock rounded down.
func (t *vhostTime) read() (now, from, wall deadline.Instant) {
	w, mono := t.clock.Read()
	passed := max(mono-t.mono, 0)
	at := t.last + passed
	if part := t.heldBack(at - w); part != 0 {
		at -= passed / part
	}
	at = max(at, w)
	t.last, t.mono = at, mono
	if ahead := at - w; ahead != t.ahead.Load() {
		t.ahead.Store(ahead)
		if ahead == 0 {
			t.resyncing.Store(false)
		}
	}
	return deadline.Instant(at / nsPerMilli), deadline.Instant((at + nsPerMilli - 1) / nsPerMilli), deadline.Instant(w / nsPerMilli)
}

// heldBack is which part of the time that passes is held back, one in so many, when the vhost is so far ahead of the
// wall clock; 0 is none.
func (t *vhostTime) heldBack(ahead int64) int64 {
	switch {
	case ahead <= 0:
		return 0
	case t.resyncing.Load():
		return resyncPart
	case ahead < int64(behindAlarm):
		return trimPart
	}
	return 0
}

// until is how long it takes from the last read until the time is at, if nobody sets the clock; 0 if it has come.
func (t *vhostTime) until(at deadline.Instant) time.Duration {
	if int64(at) >= math.MaxInt64/nsPerMilli {
		return math.MaxInt64
	}
	left := max(int64(at)*nsPerMilli-t.last, 0)
	if part := t.heldBack(t.ahead.Load()); part != 0 {
		left += min(left/(part-1)+1, t.ahead.Load()) // no more than the gap is held back
	}
	return time.Duration(left)
}

// atLeast keeps time from going below what the log says.
func (t *vhostTime) atLeast(i deadline.Instant) {
	if at := int64(i) * nsPerMilli; at > t.last {
		_, t.mono = t.clock.Read()
		t.last = at
	}
}
