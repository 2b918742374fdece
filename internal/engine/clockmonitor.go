package engine

import (
	"cmp"
	"log/slog"
	"slices"
	"time"
)

// Time is what the clocks of a node show.
type Time struct {
	Wall   time.Time
	Test   bool        // a test clock, which stands still until Engine.Advance
	VHosts []VHostTime // those that are up, by name
}

// VHostTime is the time of one vhost: never less than what it has logged.
type VHostTime struct {
	VHost string
	Now   time.Time
	// Behind is by how much the wall clock is behind Now: it was set back, or the data is from a machine whose clock
	// was ahead. Resyncing says that Now goes at half the speed of a clock until they meet.
	Behind    time.Duration
	Resyncing bool
}

// Behind is by how much the wall clock is behind the vhost that is the furthest ahead; 0 if it is behind none.
func (t Time) Behind() (most time.Duration) {
	for _, v := range t.VHosts {
		most = max(most, v.Behind)
	}
	return most
}

// Alarm reports whether the wall clock is so far behind that it does not close the gap by itself. It holds nobody back.
func (t Time) Alarm() bool { return t.Behind() >= behindAlarm }

// Time tells what the clocks show; if the wall clock was set just now, the vhosts notice it within a second.
func (e *Engine) Time() Time {
	wall, _ := e.clock.Read()
	t := Time{Wall: time.Unix(0, wall), Test: !e.clock.Running()}
	for _, r := range e.allRunners() {
		ahead := r.time.ahead.Load()
		t.VHosts = append(t.VHosts, VHostTime{
			VHost: r.name, Now: time.Unix(0, wall+ahead), Behind: time.Duration(ahead), Resyncing: r.time.resyncing.Load() && ahead > 0,
		})
	}
	slices.SortFunc(t.VHosts, func(a, b VHostTime) int { return cmp.Compare(a.VHost, b.VHost) })
	return t
}

// Resync has every vhost that is ahead of the wall clock wait for it, at half speed: what is due takes up to twice as
// long and nothing comes early; after twice the gap they are in step. It holds until then, or until the engine is
// closed.
func (e *Engine) Resync() {
	for _, r := range e.allRunners() {
		if ahead := r.time.ahead.Load(); ahead > 0 {
			r.time.resyncing.Store(true)
			e.slog.Info("vhost time runs at half speed until the wall clock catches up", "vhost", r.name, "behind", time.Duration(ahead))
		}
		r.kick() // what it waits for may take longer now
	}
}

const (
	// clockEvery is how often is looked whether the wall clock was set. What is due by a clock that was set forward, or
	// went on while the machine slept, is late by no more than that.
	clockEvery = time.Second
	// stepLeast is what a clock has to be off by to have been set; less is the time between two readings.
	stepLeast = 10 * time.Millisecond
	// stepTold is how far a clock has to be set forward for the log to say so.
	stepTold = time.Second
)

// clockMonitor checks whether the wall clock was set, so that timers are, too, and raises and clears the alarm of a
// clock that is behind. What it has is its goroutine's.
type clockMonitor struct {
	engine *Engine
	slog   *slog.Logger
	offset int64 // ns from the monotonic clock to the wall clock, when it was looked at last
	raised bool

	stop, stopped chan struct{}
}

func newClockMonitor(e *Engine) *clockMonitor {
	w := &clockMonitor{engine: e, slog: e.slog, stop: make(chan struct{}), stopped: make(chan struct{})}
	w.offset = w.read()
	return w
}

func (m *clockMonitor) read() (offset int64) {
	wall, mono := m.engine.clock.Read()
	return wall - mono
}

// run checks the clock until the monitor is closed. Nobody sets a test clock back, and whoever moves it sees to what is
// due.
func (m *clockMonitor) run() {
	defer close(m.stopped)
	if !m.engine.clock.Running() {
		return
	}
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	for {
		m.look()
		select {
		case <-m.stop:
			return
		case <-ticker.C:
		}
	}
}

// close ends run and waits for its end.
func (m *clockMonitor) close() {
	close(m.stop)
	<-m.stopped
}

func (m *clockMonitor) look() {
	before := m.offset
	m.offset = m.read()
	step := time.Duration(m.offset - before)
	if step > stepTold {
		m.slog.Warn("the wall clock jumped forward, or the machine was suspended: overdue messages expire and fire now", "by", step)
	}
	now := m.engine.Time()
	behind := now.Behind()
	if step.Abs() > stepLeast || behind > 0 { // they read their clocks
		m.engine.kickAll()
	}
	if now.Alarm() == m.raised {
		return
	}
	if m.raised = !m.raised; m.raised {
		m.slog.Warn("clock alarm set: the wall clock is behind the time of virtual hosts; correct the clock, or run 'bartleby ctl clock resync'", "behind", behind)
	} else {
		m.slog.Warn("clock alarm cleared", "behind", behind)
	}
}
