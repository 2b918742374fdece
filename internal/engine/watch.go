package engine

import (
	"log/slog"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Resources are what the machine has, what of it may be used, and what there is too little of. Figures are in bytes and
// as old as the last look, a few seconds at most.
type Resources struct {
	Usage
	Limits      Limits
	MemoryLimit int64 // the high watermark; 0 if it is not known
	DiskLimit   int64 // 0 if it is not known, or nothing of the disk is
	Alarms      Alarms
	Raised      map[Alarms]uint64 // how often each of EveryAlarm was raised
}

const (
	// giveBackEvery is how often memory is given back to the machine, at the most, while there is too little of it.
	giveBackEvery = 2 * time.Second
	// giveBackShare: one part of the time in so many is spent on that, at the most.
	giveBackShare = 20
)

// watch looks at the machine and raises and clears alarms.
type watch struct {
	machine Machine // nil: there is nothing to look at
	slog    *slog.Logger
	node    string         // its name, "" if it has none
	changed func()         // an alarm was raised or cleared; must not block
	spare   func() int64   // bytes of the disk that the journal keeps and does not need; must not block
	uses    func() DiskUse // for the log; must not block

	raised atomic.Uint32 // Alarms
	counts [len(alarmNames)]atomic.Uint64
	seen   atomic.Pointer[figures]

	mu struct {
		sync.Mutex // held for a look
		limits     Limits
		gaveBack   time.Time     // when memory was,
		took       time.Duration // and how long that took
	}
	stop, stopped chan struct{}
}

// figures are what a look has seen.
type figures struct {
	Usage
	limits                 Limits
	memoryLimit, diskLimit int64 // unlimited, or bytes
	spare                  int64 // of DiskFree: in files that the journal has ready
}

func newWatch(node string, m Machine, limits Limits, l *slog.Logger, changed func(), spare func() int64) *watch {
	w := &watch{node: node, machine: m, slog: l, changed: changed, spare: spare, stop: make(chan struct{}), stopped: make(chan struct{})}
	w.mu.limits = limits
	w.look()
	return w
}

// run looks until the watch is closed.
func (w *watch) run() {
	defer close(w.stopped)
	if w.machine == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-timer.C:
			timer.Reset(w.look())
		}
	}
}

// close ends run and waits for its end.
func (w *watch) close() {
	close(w.stop)
	<-w.stopped
}

func (w *watch) alarms() Alarms { return Alarms(w.raised.Load()) }

// setLimits takes other limits and looks at once.
func (w *watch) setLimits(change func(*Limits)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	limits := w.mu.limits
	change(&limits)
	if err := limits.Validate(); err != nil {
		return err
	}
	w.mu.limits = limits
	f := w.read()
	w.slog.Info("resource limits set", "memory", limits.MemoryHighWatermark.String(), "memory_bytes", f.memoryLimit,
		"disk_free", limits.DiskFree.String(), "disk_free_bytes", f.diskLimit)
	w.judge(f)
	return nil
}

// look reads the machine, raises and clears alarms, and returns how long it need not look again.
func (w *watch) look() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.judge(w.read())
}

func (w *watch) judge(f *figures) time.Duration {
	before := w.alarms()
	now := judge(before, f.Usage, f.memoryLimit, f.diskLimit)
	if now.Has(LowMemory) && w.giveBack() {
		f = w.read()
		now = judge(before, f.Usage, f.memoryLimit, f.diskLimit)
	}
	w.seen.Store(f)
	w.aim(f, now)
	w.set(LowMemory, now.Has(LowMemory), "used", f.MemoryUsed, "limit", f.memoryLimit)
	w.set(LowDisk, now.Has(LowDisk), "free", f.DiskFree, "limit", f.diskLimit)
	return nextLook(now, f.Usage, f.memoryLimit, f.diskLimit)
}

func (w *watch) read() *figures {
	f := &figures{Usage: Usage{DiskFree: -1}, limits: w.mu.limits}
	if w.machine != nil {
		f.Usage = w.machine.Read()
		if f.DiskFree >= 0 { // what the broker has ready for publishers is theirs, and not used up
			f.spare = w.spare()
			f.DiskFree += f.spare
		}
	}
	f.memoryLimit, f.diskLimit = f.limits.bytes(f.MemoryMax)
	return f
}

// giveBack has memory given back, if that was not done of late: garbage must not stop anybody, and what was drained is
// only seen when it has left the process.
func (w *watch) giveBack() (done bool) {
	begun := time.Now()
	if begun.Sub(w.mu.gaveBack) < max(giveBackEvery, giveBackShare*w.mu.took) {
		return false
	}
	w.machine.GiveBack()
	w.mu.gaveBack = time.Now()
	w.mu.took = w.mu.gaveBack.Sub(begun)
	return true
}

// aim has the process collect its garbage before that reaches the watermark. What is above the watermark all the same
// is in use: then collecting without end would only slow down those who drain it, and the aim is further up.
func (w *watch) aim(f *figures, now Alarms) {
	switch {
	case w.machine == nil:
	case f.memoryLimit == unlimited || now.Has(LowMemory) && f.MemoryMax == 0:
		w.machine.Aim(math.MaxInt64)
	case now.Has(LowMemory):
		w.machine.Aim(f.memoryLimit/2 + f.MemoryMax/2)
	default:
		w.machine.Aim(f.memoryLimit)
	}
}

// setJournal raises or clears JournalFull.
func (w *watch) setJournal(full bool) {
	free := int64(-1)
	if w.machine != nil {
		free = w.machine.Read().DiskFree
	}
	w.set(JournalFull, full, "free", free)
}

// set raises or clears one alarm and says so, if it was not so before. Any goroutine may call it.
func (w *watch) set(a Alarms, on bool, shown ...any) {
	var before uint32
	if on {
		before = w.raised.Or(uint32(a))
	} else {
		before = w.raised.And(^uint32(a))
	}
	if Alarms(before).Has(a) == on {
		return
	}
	if on {
		w.counts[bits.TrailingZeros8(uint8(a))].Add(1)
		if (LowDisk | JournalFull).Has(a) && w.uses != nil {
			shown = append(shown, w.uses().shown()...)
		}
		w.slog.Warn(a.String()+" resource limit alarm set"+w.where()+": publishers are blocked", shown...)
	} else {
		w.slog.Warn(a.String()+" resource limit alarm cleared"+w.where(), shown...)
	}
	w.changed()
}

// where says of which node the alarm is, as programs that read logs expect it.
func (w *watch) where() string {
	if w.node == "" {
		return ""
	}
	return " on node " + w.node
}

func (w *watch) resources() Resources {
	f := w.seen.Load()
	r := Resources{
		Usage: f.Usage, Limits: f.limits, MemoryLimit: max(f.memoryLimit, 0), DiskLimit: max(f.diskLimit, 0),
		Alarms: w.alarms(), Raised: map[Alarms]uint64{},
	}
	if f.DiskFree < 0 {
		r.DiskLimit = 0
	} else {
		r.DiskFree -= f.spare // as other programs see it
	}
	for a := range EveryAlarm.Each() {
		r.Raised[a] = w.counts[bits.TrailingZeros8(uint8(a))].Load()
	}
	return r
}
