package resource

import (
	"log/slog"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Status is what the machine has, what of it may be used, and what is short. Figures are in bytes and as old as the
// last check, a few seconds at most.
type Status struct {
	Usage
	Limits      Limits
	MemoryLimit int64 // the high watermark; 0 if it is not known
	DiskLimit   int64 // 0 if it is not known, or nothing of the disk is
	Alarms      Alarms
	Scarce      bool              // memory is: see Monitor.MemoryScarce
	Raised      map[Alarms]uint64 // how often each of EveryAlarm was raised
}

const (
	// GiveBackEvery is the least time between two returns of memory to the machine while it is short.
	GiveBackEvery = 2 * time.Second
	// lookEvery is the same while memory is scarce without an alarm: only a collection of garbage finds that it no
	// longer is, and a broker without traffic collects every two minutes.
	lookEvery = 30 * time.Second
	// The process rests if it has allocated at most restBytes in restAfter; then what it has allocated since memory was
	// given back last, if that is restWorth at least, has left garbage that nobody collects for two minutes. It is
	// collected every restAgain at the most: else a process that always has a little to do would do it too often.
	restAfter = 15 * time.Second
	restAgain = time.Minute
	restBytes = 16 << 20
	restWorth = 32 << 20

	// giveBackShare: one part of the time in so many is spent on that, at the most.
	giveBackShare = 20

	// aimAbove is the part of the watermark by which the process may exceed it with garbage while the memory alarm is
	// set; liveSlack is the part of the live memory that garbage may always take.
	aimAbove, liveSlack = 8, 8
)

// Options say what a Monitor watches, and whom it informs.
type Options struct {
	Node    string  // the name of the node, for the log; "" if it has none
	Machine Machine // nil: there is nothing to check
	Limits  Limits  // valid
	Log     *slog.Logger
	Changed func()       // an alarm was set or cleared; must not block
	Spare   func() int64 // bytes of the disk that the journal keeps and does not need; must not block
	Detail  func() []any // what uses the disk, as attributes of a log line; must not block
}

// Monitor checks the machine from time to time, and sets and clears alarms.
type Monitor struct {
	o Options

	raised atomic.Uint32 // Alarms
	scarce atomic.Bool
	counts [len(alarmNames)]atomic.Uint64
	seen   atomic.Pointer[Figures]

	mu struct {
		sync.Mutex   // held for a check
		limits       Limits
		gaveBack     time.Time     // when memory was,
		took         time.Duration // and how long that took
		scarceLogged bool
		busyAt       time.Time // when more than restBytes had been allocated since the time before,
		busyUntil    int64     // Usage.Allocated then,
		cleanAt      int64     // and when memory was given back
	}
	stop, stopped chan struct{}
}

// Figures are what a check has found.
type Figures struct {
	Usage
	Spare                  int64 // of DiskFree: in files that the journal has ready
	limits                 Limits
	memoryLimit, diskLimit int64 // unlimited, or bytes
}

// NewMonitor checks the machine once. Run goes on with that.
func NewMonitor(o Options) *Monitor {
	m := &Monitor{o: o, stop: make(chan struct{}), stopped: make(chan struct{})}
	m.mu.limits = o.Limits
	m.check()
	return m
}

// Run checks the machine until Close.
func (m *Monitor) Run() {
	defer close(m.stopped)
	if m.o.Machine == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-timer.C:
			timer.Reset(m.check())
		}
	}
}

// Close ends Run and waits for its end.
func (m *Monitor) Close() {
	close(m.stop)
	<-m.stopped
}

// Alarms are those that are set.
func (m *Monitor) Alarms() Alarms { return Alarms(m.raised.Load()) }

// SetLimits changes the limits and checks the machine at once.
func (m *Monitor) SetLimits(change func(*Limits)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	limits := m.mu.limits
	change(&limits)
	if err := limits.Validate(); err != nil {
		return err
	}
	m.mu.limits = limits
	f := m.read()
	m.o.Log.Info("resource limits set", "memory", limits.MemoryHighWatermark.String(), "memory_bytes", f.memoryLimit,
		"disk_free", limits.DiskFree.String(), "disk_free_bytes", f.diskLimit)
	m.evaluate(f)
	return nil
}

// check reads the machine, sets and clears alarms, and returns the time until the next check.
func (m *Monitor) check() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.evaluate(m.read())
}

// evaluate sets and clears the alarms that the figures call for.
func (m *Monitor) evaluate(f *Figures) time.Duration {
	before := m.Alarms()
	now := evaluate(before, f.Usage, f.memoryLimit, f.diskLimit)
	if now.Has(LowMemory) && m.giveBack(GiveBackEvery) || m.MemoryScarce() && m.giveBack(lookEvery) ||
		m.rests(f) && m.giveBack(restAgain) {
		f = m.read()
		m.mu.cleanAt = f.Allocated
		now = evaluate(before, f.Usage, f.memoryLimit, f.diskLimit)
	}
	m.seen.Store(f)
	m.aim(f, now)
	m.set(LowMemory, now.Has(LowMemory), "used", f.MemoryUsed, "limit", f.memoryLimit)
	m.set(LowDisk, now.Has(LowDisk), "free", f.DiskFree, "limit", f.diskLimit)
	m.setScarce(f, now)
	return nextCheck(now, f.Usage, f.memoryLimit, f.diskLimit)
}

// rests reports whether the process has little to do, and garbage of a time when it had more.
func (m *Monitor) rests(f *Figures) bool {
	if f.Allocated-m.mu.busyUntil > restBytes {
		m.mu.busyAt, m.mu.busyUntil = time.Now(), f.Allocated
	}
	return time.Since(m.mu.busyAt) >= restAfter && f.Allocated-m.mu.cleanAt >= restWorth
}

func (m *Monitor) read() *Figures {
	f := &Figures{Usage: Usage{DiskFree: -1}, limits: m.mu.limits}
	if m.o.Machine != nil {
		f.Usage = m.o.Machine.Read()
		if f.DiskFree >= 0 { // what the broker has ready for publishers is theirs, and not used up
			f.Spare = m.o.Spare()
			f.DiskFree += f.Spare
		}
	}
	f.memoryLimit, f.diskLimit = f.limits.bytes(f.MemoryMax)
	return f
}

// giveBack returns memory to the machine, if that was not done for a time: garbage must not block publishers, and
// drained messages count until their memory has left the process.
func (m *Monitor) giveBack(every time.Duration) (done bool) {
	begun := time.Now()
	if begun.Sub(m.mu.gaveBack) < max(every, giveBackShare*m.mu.took) {
		return false
	}
	m.o.Machine.GiveBack()
	m.mu.gaveBack = time.Now()
	m.mu.took = m.mu.gaveBack.Sub(begun)
	return true
}

// aim makes the process collect its garbage before that reaches the watermark.
func (m *Monitor) aim(f *Figures, now Alarms) {
	if m.o.Machine != nil {
		m.o.Machine.Aim(aim(f.memoryLimit, f.MemoryLive, now))
	}
}

// aim is the memory that the process should stay within, for a watermark and what is live. While the alarm is set it is
// higher than the watermark, but not by much: garbage must not add to what is short. If nearly all of that is live, the
// aim leaves liveSlack above it, for endless collections would only slow down consumers.
func aim(memoryLimit, live int64, now Alarms) int64 {
	switch {
	case memoryLimit == unlimited:
		return math.MaxInt64
	case now.Has(LowMemory):
		return max(memoryLimit+memoryLimit/aimAbove, live+live/liveSlack)
	}
	return memoryLimit
}

// setScarce notes whether memory is scarce, and logs a change, unless an alarm is logged for it.
func (m *Monitor) setScarce(f *Figures, now Alarms) {
	is := scarce(m.scarce.Load(), now, f.MemoryLive, f.memoryLimit)
	if m.scarce.Swap(is) == is {
		return
	}
	figures := []any{"live", f.MemoryLive, "used", f.MemoryUsed, "limit", f.memoryLimit}
	switch logged := m.mu.scarceLogged; {
	case is && !now.Has(LowMemory):
		m.mu.scarceLogged = true
		m.o.Log.Info("memory is scarce: at-least-once queues that hold dead letters hold no more of them", figures...)
	case !is && logged:
		m.mu.scarceLogged = false
		m.o.Log.Info("memory is no longer scarce: at-least-once queues hold dead letters again", figures...)
	}
	m.o.Changed()
}

// MemoryScarce reports whether what can wait in a queue should not be brought into memory: the memory alarm is set, or
// live memory is more than three quarters of the watermark, and has not gone below five eighths of it since.
// Source: ours, decision 20.
func (m *Monitor) MemoryScarce() bool { return m.scarce.Load() }

// SetJournalFull sets or clears JournalFull.
func (m *Monitor) SetJournalFull(full bool) {
	free := int64(-1)
	if m.o.Machine != nil {
		free = m.o.Machine.Read().DiskFree
	}
	m.set(JournalFull, full, "free", free)
}

// set sets or clears one alarm and logs that, if it was not so before. Any goroutine may call it.
func (m *Monitor) set(a Alarms, on bool, shown ...any) {
	var before uint32
	if on {
		before = m.raised.Or(uint32(a))
	} else {
		before = m.raised.And(^uint32(a))
	}
	if Alarms(before).Has(a) == on {
		return
	}
	if on {
		m.counts[bits.TrailingZeros8(uint8(a))].Add(1)
		if (LowDisk | JournalFull).Has(a) && m.o.Detail != nil {
			shown = append(shown, m.o.Detail()...)
		}
		m.o.Log.Warn(a.String()+" resource limit alarm set"+m.where()+": publishers are blocked", shown...)
	} else {
		m.o.Log.Warn(a.String()+" resource limit alarm cleared"+m.where(), shown...)
	}
	m.o.Changed()
}

// where names the node of the alarm, as programs that read logs expect it.
func (m *Monitor) where() string {
	if m.o.Node == "" {
		return ""
	}
	return " on node " + m.o.Node
}

// Seen is what the last check has found.
func (m *Monitor) Seen() *Figures { return m.seen.Load() }

// Status is what the last check has found, with the limits and alarms.
func (m *Monitor) Status() Status {
	f := m.seen.Load()
	r := Status{
		Usage: f.Usage, Limits: f.limits, MemoryLimit: max(f.memoryLimit, 0), DiskLimit: max(f.diskLimit, 0),
		Alarms: m.Alarms(), Scarce: m.MemoryScarce(), Raised: map[Alarms]uint64{},
	}
	if f.DiskFree < 0 {
		r.DiskLimit = 0
	} else {
		r.DiskFree -= f.Spare // as other programs see it
	}
	for a := range EveryAlarm.Each() {
		r.Raised[a] = m.counts[bits.TrailingZeros8(uint8(a))].Load()
	}
	return r
}
