package engine

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// setClock is a clock that moves by itself, or with hand, and whose wall clock is set by the test.
type setClock struct {
	began time.Time
	off   atomic.Int64 // ns by which the wall clock is wrong
}

func newSetClock() *setClock { return &setClock{began: time.Now()} }

// Read implements Clock.
func (c *setClock) Read() (wall, mono int64) {
	now := time.Now()
	return now.UnixNano() + c.off.Load(), int64(now.Sub(c.began))
}

// Running implements Clock.
func (c *setClock) Running() bool { return true }

// set moves the wall clock by d, as an administrator does.
func (c *setClock) set(d time.Duration) { c.off.Add(int64(d)) }

// handClock shows what it holds.
type handClock struct{ wall, mono int64 }

func (c *handClock) Read() (wall, mono int64) { return c.wall, c.mono }

func (c *handClock) Running() bool { return true }

func (c *handClock) pass(d time.Duration) { c.wall, c.mono = c.wall+int64(d), c.mono+int64(d) }

// newHandTime is a vhost's time by a clock that shows a whole hour.
func newHandTime() (*handClock, *vhostTime) {
	c := &handClock{wall: int64(1_700_000_000 * time.Second)}
	t := &vhostTime{clock: c}
	t.read()
	return c, t
}

// TestRounding says that something fires early: a deadline counts from before the moment, or what is due is
// tested against a moment that has not come.
func TestRounding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		off             time.Duration // from a whole millisecond
		now, from, wall deadline.Instant
	}{
		{0, 1000, 1000, 1000},
		{1, 1000, 1001, 1000},
		{time.Millisecond / 2, 1000, 1001, 1000},
		{time.Millisecond - 1, 1000, 1001, 1000},
		{time.Millisecond, 1001, 1001, 1001},
	} {
		clock := &handClock{wall: int64(time.Second + c.off)}
		now, from, wall := (&vhostTime{clock: clock}).read()
		if now != c.now || from != c.from || wall != c.wall {
			t.Errorf("%v after 1000 ms: now %d, from %d, wall %d, want %d, %d, %d", c.off, now, from, wall, c.now, c.from, c.wall)
		}
	}
}

// TestClockSetBack says that a vhost's time goes back or stands still with a wall clock that is set back, or that what
// was read of it in between matters: a TTL that runs then fires early, or late by what the clock was set back.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	for _, back := range []time.Duration{time.Minute, time.Hour, 365 * 24 * time.Hour} {
		for _, read := range []time.Duration{0, 10 * time.Minute, 2 * time.Hour} { // after the clock was set
			clock, vt := newHandTime()
			begun, _, _ := vt.read()
			clock.pass(time.Hour)
			clock.wall -= int64(back)
			if read > 0 {
				clock.pass(read)
				vt.read()
			}
			clock.pass(5 * time.Hour)
			now, _, wall := vt.read()
			if want := begun + deadline.Instant((6*time.Hour+read)/time.Millisecond); now != want {
				t.Errorf("set back by %v, read after %v: %d ms passed, want %d", back, read, now-begun, want-begun)
			}
			if behind := time.Duration(vt.ahead.Load()); behind != back || now-wall != deadline.Instant(back/time.Millisecond) {
				t.Errorf("set back by %v, read after %v: behind by %v", back, read, behind)
			}
			clock.wall += int64(back + time.Hour)
			if now, _, wall := vt.read(); now != wall || vt.ahead.Load() != 0 {
				t.Errorf("set right and an hour ahead: %d, the wall clock shows %d", now, wall)
			}
		}
	}
}

// TestSmallGap says that small corrections of the wall clock add up for ever, or that they delay what is due by more
// than they are.
func TestSmallGap(t *testing.T) {
	t.Parallel()
	clock, vt := newHandTime()
	clock.wall -= int64(behindAlarm) - 1
	begun, _, _ := vt.read()
	clock.pass(time.Second)
	now, _, _ := vt.read()
	if passed := now - begun; passed < 930 || passed > 940 {
		t.Errorf("in a second %d ms have passed, want 15 parts in 16", passed)
	}
	clock.pass(15 * time.Second)
	if now, _, wall := vt.read(); now != wall {
		t.Errorf("after 16 seconds still ahead by %d ms", now-wall)
	}
}

// TestResync says that a vhost which was told to resync stands still, goes back, or never meets the wall clock.
func TestResync(t *testing.T) {
	t.Parallel()
	clock, vt := newHandTime()
	clock.wall -= int64(time.Hour)
	begun, _, _ := vt.read()
	vt.resyncing.Store(true)
	for range 3 {
		clock.pass(30 * time.Minute)
		vt.read()
	}
	now, _, wall := vt.read()
	if passed := time.Duration(now-begun) * time.Millisecond; passed != 45*time.Minute {
		t.Errorf("in 90 minutes %v have passed, want half", passed)
	}
	if behind := time.Duration(now-wall) * time.Millisecond; behind != 15*time.Minute || !vt.resyncing.Load() {
		t.Errorf("behind by %v, resyncing: %v; want 15 minutes", behind, vt.resyncing.Load())
	}
	clock.pass(30 * time.Minute)
	if now, _, wall := vt.read(); now != wall || vt.resyncing.Load() {
		t.Errorf("after twice the gap: %d, the wall clock shows %d, resyncing: %v", now, wall, vt.resyncing.Load())
	}
	clock.wall -= int64(time.Hour)
	clock.pass(time.Hour)
	if now, _, wall := vt.read(); now-wall != 3_600_000 {
		t.Errorf("set back again: behind by %d ms; the resync before is over", now-wall)
	}
}

// TestClockAtRandom says that there is a way of setting the clock, of restarts and resyncs, by which a vhost's time
// goes back, falls behind the wall clock or the log, passes faster than the monotonic clock without a reason, or is not
// what the timer was set for.
func TestClockAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		clock, vt := newHandTime()
		last, _, _ := vt.read()
		exact := func() int64 { return vt.last }
		some := func() time.Duration {
			return time.Duration(rnd.Int64N(int64(1) << (20 + rnd.IntN(32)))) // a millisecond to 50 days
		}
		for step := range 200 {
			before, wallBefore, monoBefore := exact(), clock.wall, clock.mono
			var what string
			switch rnd.IntN(6) {
			case 0:
				what = "set back"
				clock.wall -= int64(some())
			case 1:
				what = "jumped forward"
				clock.wall += int64(some())
			case 2:
				what = "restart"
				off, logged := some(), last
				clock.wall += int64(off)
				clock.mono = int64(some())
				vt = &vhostTime{clock: clock}
				vt.atLeast(logged)
				now, from, _ := vt.read()
				if now < logged || from < logged {
					t.Fatalf("seed %d, step %d: restarted at %d, the log was at %d", seed, step, now, logged)
				}
				last = now
				continue
			case 3:
				what = "resync"
				vt.resyncing.Store(true)
			case 4:
				what = "wait"
				due := last + deadline.Instant(some()/time.Millisecond) + 1
				wait := vt.until(due)
				if early := wait - time.Microsecond; early > 0 {
					clock.pass(early)
					if now, _, _ := vt.read(); now >= due {
						t.Fatalf("seed %d, step %d: %d has come long before the timer fires", seed, step, due)
					}
					wait -= early
				}
				clock.pass(wait)
				if now, _, _ := vt.read(); now < due {
					t.Fatalf("seed %d, step %d: %d has not come when the timer fires at %d", seed, step, due, now)
				}
			default:
				what = "pass"
				clock.pass(some())
			}
			now, from, wall := vt.read()
			passed, atMost := exact()-before, max(clock.mono-monoBefore, clock.wall-wallBefore)
			switch {
			case now < last, from < now, from > now+1, now < wall:
				t.Fatalf("seed %d, step %d, %s: now %d, from %d, wall %d after %d", seed, step, what, now, from, wall, last)
			case passed > atMost && exact() != clock.wall:
				t.Fatalf("seed %d, step %d, %s: %d ns passed, at most %d have", seed, step, what, passed, atMost)
			}
			last = now
		}
	}
}

// TestSmallCommandsShareTime says that the clock is read for each small command, or that a command which comes after
// long work gets the time from before it.
func TestSmallCommandsShareTime(t *testing.T) {
	t.Parallel()
	clock := &handClock{wall: int64(1_700_000_000 * time.Second)}
	r := &runner{time: vhostTime{clock: clock}, log: &diskLog{}}
	// after is by how many ms the stamp of a command is later when a millisecond has passed.
	last := r.stamp().Now
	after := func(c vhost.Command) int64 {
		clock.pass(time.Millisecond)
		now := r.stampOf(&c).Now
		d := int64(now - last)
		last = now
		return d
	}
	publish, ack := vhost.Command{Kind: vhost.Publish}, vhost.Command{Kind: vhost.Ack}
	readings := 0
	for range 1000 {
		if after(publish) > 0 {
			readings++
		}
	}
	if readings < 10 || readings > 100 {
		t.Errorf("1,000 publishes read the clock %d times", readings)
	}
	for _, c := range []struct {
		words string
		work  func()
	}{
		{"a tick", func() { after(vhost.Command{Kind: vhost.Tick}) }},
		{"an ack of many", func() { after(vhost.Command{Kind: vhost.Ack, Multiple: true}) }},
		{"4 KiB of facts", func() { r.out.Batch = append(r.out.Batch, make([]byte, 4096)...) }},
		{"100 effects", func() { r.out.Effects = append(r.out.Effects, make([]vhost.Effect, 100)...) }},
		{"the batch", r.begin},
	} {
		for after(ack) == 0 {
		}
		if after(publish) != 0 {
			t.Fatalf("a publish behind an ack reads the clock")
		}
		c.work()
		if after(publish) == 0 {
			t.Errorf("a publish after %s has the time from before it", c.words)
		}
	}
}
