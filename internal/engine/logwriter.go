package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// lazySync is how long a batch that nobody waits for may stay unsynced. Source: ours, docs/durability.md.
	lazySync = 100 * time.Millisecond
	// pendingBytesMax is what runners may have handed to the log writer and it has not written yet: then they wait.
	pendingBytesMax = 16 << 20
	// pendingShare: with a small reserve no more than that part of it, but pendingBytesLeast.
	pendingShare, pendingBytesLeast = 8, 32 << 10
	// noSpaceRetry is how often a full disk is asked again.
	noSpaceRetry = time.Second
	// largeRetries is how often space is looked for that only a large batch needs.
	largeRetries = 3
)

// logWriter writes what runners append to the journal, many batches at a time, and syncs it. It waits for nothing but
// the disk: maintenance makes space, and only if that has fallen behind the log writer makes space itself.
type logWriter struct {
	journal     *journal.Journal
	tables      *tables
	maintenance *maintenance
	slog        *slog.Logger
	wake        chan struct{}
	done        chan struct{}

	mu struct {
		sync.Mutex
		batches   []appended
		jobs      []func(*logWriter)
		bytes     int
		first     time.Time // when the first of batches came
		hurried   bool      // batches are to be written now
		forced    bool      // a sync is wanted in any case
		closing   bool
		working   bool // at jobs
		listeners map[storage.LogID]listening
		written   map[storage.LogID]storage.Index // by this log writer: can be read
		grown     int64                           // bytes written since checkpoints were asked for,
		asked     time.Time                       // then
	}
	changed sync.Cond     // on mu: bytes went down, or nobody may wait for that any more
	full    atomic.Bool   // no file could be made when it was tried last
	use     atomic.Uint32 // journal.Use: the first for which there is space
	waiting atomic.Pointer[Waiting]
	ending  atomic.Bool // the engine is being closed: nothing waits for space any more
	busy    atomic.Bool // there is traffic at this moment

	resting   atomic.Bool                   // there was none between the last two checks of the compactor
	lastStats atomic.Pointer[journal.Stats] // of the journal, for those who must not wait

	losses     atomic.Uint64 // how many times batches were lost
	statistics storageStatistics

	pendingMax      int
	groupMost       int   // bytes that any segment takes at once
	noReserve       bool  // of journal.Options
	checkpointBytes int64 // that the journal grows between checkpoints

	appended atomic.Int64 // bytes of batches, since the engine was opened

	interval     time.Duration         // of vhost.SyncInterval
	onCheckpoint func() bool           // the journal has grown by checkpointBytes; must not block; false: not now
	onSpace      func(use journal.Use) // there is space for that, and no longer or again for what comes before it
	onFailed     func(error)           // the journal cannot go on; must not block

	// The goroutine's own.
	unsynced map[storage.LogID]unsynced
	due      time.Time // when the next sync is, at the latest; zero: when somebody asks
}

type appended struct {
	journal.Batch
	urgent bool
}

// listening is who listens to a log, and when he is told.
type listening struct {
	Listener
	sync vhost.Sync
}

// unsynced is the last batch of a log that was written and not synced.
type unsynced struct {
	index storage.Index
	sync  vhost.Sync
}

func newLogWriter(j *journal.Journal, t *tables, o *Options, onCheckpoint func() bool, onSpace func(journal.Use), onFailed func(error)) *logWriter {
	s := &logWriter{
		journal: j, tables: t, slog: o.Log, wake: make(chan struct{}, 1), done: make(chan struct{}), interval: o.SyncInterval,
		onCheckpoint: onCheckpoint, onSpace: onSpace, onFailed: onFailed, unsynced: map[storage.LogID]unsynced{},
	}
	s.pendingMax, s.checkpointBytes = pendingBytesMax, o.sizes().Checkpoint
	if n := o.Journal.InFlight; n > 0 {
		s.pendingMax = int(n)
	}
	s.noReserve = o.Journal.ReserveBytes < 0
	if s.groupMost = math.MaxInt; o.Journal.SegmentBytes > 0 {
		s.groupMost = int(o.Journal.SegmentBytes / 2)
	}
	s.maintenance = newMaintenance(s, o.Log)
	s.mu.listeners, s.mu.written = map[storage.LogID]listening{}, map[storage.LogID]storage.Index{}
	s.changed.L = &s.mu.Mutex
	return s
}

// start begins both goroutines.
func (w *logWriter) start() {
	go w.run()
	go w.maintenance.run()
}

// listen has l told what becomes of the batches of a log, as sync says; nil: nobody.
func (w *logWriter) listen(log storage.LogID, l Listener, sync vhost.Sync) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l == nil {
		delete(w.mu.listeners, log)
	} else {
		w.mu.listeners[log] = listening{l, sync}
	}
}

// setSync has the listener of a log told otherwise from now on.
func (w *logWriter) setSync(log storage.LogID, sync vhost.Sync) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l, ok := w.mu.listeners[log]; ok {
		w.mu.listeners[log] = listening{l.Listener, sync}
	}
}

// append takes a batch; its data is the log writer's to read for good. It waits while too much is pending, but not for
// space on the disk: runners decide nothing then that has to be written.
func (w *logWriter) append(b journal.Batch, urgent bool) {
	w.mu.Lock()
	for w.mu.bytes > w.pendingMax && !w.mu.closing && !w.mu.working && w.waiting.Load() == nil {
		w.changed.Wait()
	}
	w.mu.batches = append(w.mu.batches, appended{b, urgent})
	w.mu.bytes += len(b.Data)
	first := len(w.mu.batches) == 1
	if first {
		w.mu.first = time.Now()
	}
	hurried := urgent || w.mu.bytes > min(lazyBytes, w.pendingMax)
	kick := first || hurried && !w.mu.hurried
	w.mu.hurried = w.mu.hurried || hurried
	w.mu.Unlock()
	if kick {
		w.kick()
	}
}

// do runs fn on the log writer's goroutine, when everything appended so far is safe or lost.
func (w *logWriter) do(fn func(*logWriter)) {
	w.mu.Lock()
	w.mu.jobs = append(w.mu.jobs, fn)
	w.mu.forced = true
	w.mu.Unlock()
	w.kick()
}

// settle waits until everything appended so far is safe or lost.
func (w *logWriter) settle() {
	settled := make(chan struct{})
	w.do(func(*logWriter) { close(settled) })
	<-settled
}

// settleAndMark waits as settle does, and until the journal itself says how far it is safe. The error is the journal's.
func (w *logWriter) settleAndMark() error {
	marked := make(chan error, 1)
	w.do(func(*logWriter) { marked <- w.tables.run(w.journal, (*journal.Journal).MarkSafeTask) })
	return <-marked
}

// urge asks for what was appended to a log to be written, and synced if its listener wants that: somebody waits for it.
func (w *logWriter) urge(log storage.LogID) {
	w.mu.Lock()
	w.mu.forced = w.mu.forced || w.mu.listeners[log].sync == vhost.SyncAlways
	w.mu.hurried = w.mu.hurried || len(w.mu.batches) > 0
	kick := w.mu.forced || w.mu.hurried
	w.mu.Unlock()
	if kick {
		w.kick()
	}
}

func (w *logWriter) kick() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// close writes what is pending, ends both goroutines and closes the journal.
func (w *logWriter) close() error {
	w.maintenance.close()
	w.mu.Lock()
	w.mu.closing = true
	w.changed.Broadcast()
	w.mu.Unlock()
	w.kick()
	<-w.done
	return w.call((*journal.Journal).Close)
}

// call makes a call of the journal's that changes it, as a task.
func (w *logWriter) call(fn func(*journal.Journal) error) error {
	return w.tables.run(w.journal, func(j *journal.Journal) *journal.Task { return j.Task(fn) })
}

// readBatch returns a whole verified batch.
func (w *logWriter) readBatch(log storage.LogID, i storage.Index) ([]byte, error) {
	w.tables.RLock()
	defer w.tables.RUnlock()
	return w.journal.ReadBatch(nil, log, i)
}

// run is the log writer's goroutine. A batch that somebody waits for is written and synced at once, with everything
// appended before it; one that nobody waits for is written and synced with the next, at the latest after lazyWrite and
// lazySync. In a pause it records the position known safe.
func (w *logWriter) run() {
	defer close(w.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		if wait := w.mayWait(); wait > 0 {
			w.sleep(pause, wait)
			continue
		}
		batches, jobs, forced, closing := w.take()
		urgent := w.write(batches)
		if forced || urgent || closing || w.overdue() {
			w.sync()
		}
		w.work(jobs)
		if closing && len(batches) == 0 && len(jobs) == 0 {
			return
		}
		wait := time.Duration(-1)
		switch {
		case closing:
			wait = 0
		case len(batches) > 0:
			w.busy.Store(true)
			wait = lazySync
		default:
			w.busy.Store(false)
		}
		if !w.due.IsZero() {
			wait = max(time.Until(w.due), 0)
		} else if wait < 0 {
			w.markSafe()
		}
		w.sleep(pause, wait)
	}
}

func (w *logWriter) overdue() bool { return !w.due.IsZero() && time.Until(w.due) <= 0 }

// work does jobs. What one of them appends must not wait for this goroutine.
func (w *logWriter) work(jobs []func(*logWriter)) {
	if len(jobs) == 0 {
		return
	}
	w.setWorking(true)
	for _, job := range jobs {
		job(w)
	}
	w.setWorking(false)
}

func (w *logWriter) setWorking(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.working = on
}

// sleep waits for a kick, and no longer than d if that is not negative.
func (w *logWriter) sleep(t *time.Timer, d time.Duration) {
	if d < 0 {
		<-w.wake
		return
	}
	t.Reset(d)
	select {
	case <-w.wake:
	case <-t.C:
	}
}

func (w *logWriter) take() (batches []appended, jobs []func(*logWriter), forced, closing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batches, jobs, forced, closing = w.mu.batches, w.mu.jobs, w.mu.forced, w.mu.closing
	w.mu.batches, w.mu.jobs, w.mu.hurried, w.mu.forced, w.mu.bytes = nil, nil, false, false, 0
	w.changed.Broadcast()
	return batches, jobs, forced, closing
}

// write appends batches to the journal as one group, and reports whether somebody waits for one of them to be synced.
// On a disk that has no space left at all it waits: nothing is confirmed meanwhile, and nothing is lost. It waits no
// longer than until the log writer is closed: what is not written then was not confirmed. A group that needs a file
// larger than usual is divided where the disk has no space for that. Nor is long waited for a file that a single batch
// needs: others can go on.
func (w *logWriter) write(batches []appended) (urgent bool) {
	defer w.setWaiting(nil)
	full := 0
	for tries := 1; ; {
		g := w.group(batches)
		if len(g.batches) == 0 {
			return false
		}
		err := w.put(&g)
		switch {
		case err == nil:
			return w.note(&g)
		case errors.Is(err, journal.ErrNoSpace):
			w.full.Store(true)
			if n := len(batches); n > 1 && g.bytes > w.groupMost {
				urgent = w.write(batches[:n/2])
				return w.write(batches[n/2:]) || urgent
			}
			w.setSpaceFor(journal.Committed)
			if full++; full > largeRetries && len(g.batches) == 1 && g.bytes > w.groupMost {
				w.fail(fmt.Errorf("not enough disk space for a message of %d bytes: %w", g.bytes, err), &g)
				return false
			}
			if w.setWaiting(err); !w.waitForSpace() {
				w.fail(fmt.Errorf("the broker stops while the disk is full: %w", err), &g)
				return false
			}
		case tries > 1: // the disk takes nothing, wherever it is put
			w.fail(err, &g)
			return false
		default:
			w.fail(err, nil)
			tries++
		}
	}
}

// group is what is written at once.
type group struct {
	batches []journal.Batch
	sync    []vhost.Sync // of each one's log
	urgent  bool         // somebody waits for one to be synced
	bytes   int          // that it takes in the journal, at most
}

// group takes those batches whose logs are listened to: of another the runner was stopped by a loss, and the batch
// builds on what is gone.
func (w *logWriter) group(batches []appended) (g group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g.batches, g.sync = make([]journal.Batch, 0, len(batches)), make([]vhost.Sync, 0, len(batches))
	for _, b := range batches {
		l, ok := w.mu.listeners[b.Log.Owner()]
		if !ok {
			continue
		}
		g.batches, g.sync = append(g.batches, b.Batch), append(g.sync, l.sync)
		g.urgent = g.urgent || b.urgent && l.sync == vhost.SyncAlways
		g.bytes += len(b.Data) + journal.Overhead
	}
	return g
}

// keepReserve completes the reserve, if maintenance has fallen behind: nothing that grows is
// written on it, for another process may take the space that was to complete it within a moment. If
// that cannot be, what grows has to wait from now on.
func (w *logWriter) keepReserve() {
	if w.full.Load() {
		return
	}
	w.tables.RLock()
	lacks := w.journal.LacksReserve()
	w.tables.RUnlock()
	if !lacks {
		return
	}
	w.maintenance.lock <- struct{}{}
	err := w.call(func(j *journal.Journal) error { return j.Reserve(1, journal.Growing) })
	<-w.maintenance.lock
	if err != nil && !errors.Is(err, journal.ErrFailed) {
		w.becomeFull()
	}
}

// put writes a group. If maintenance has fallen behind, space is made first.
func (w *logWriter) put(g *group) error {
	w.keepReserve()
	write := func() error {
		began := time.Now()
		err := w.tables.run(w.journal, func(j *journal.Journal) *journal.Task { return j.WriteTask(g.batches) })
		w.statistics.writes.note(g.bytes, began)
		return err
	}
	err := write()
	if errors.Is(err, journal.ErrUnready) {
		w.maintenance.lock <- struct{}{}
		defer func() { <-w.maintenance.lock }()
		if err = w.call(func(j *journal.Journal) error { return j.Reserve(g.bytes, journal.Committed) }); err == nil {
			err = write()
		}
	}
	return err
}

// note takes note of a group that was written: when it has to be synced, and who is content without that.
func (w *logWriter) note(g *group) (urgent bool) {
	for i, b := range g.batches {
		w.unsynced[b.Log] = unsynced{b.Index, g.sync[i]}
		switch g.sync[i] {
		case vhost.SyncAlways:
			w.dueIn(lazySync)
		case vhost.SyncInterval:
			w.dueIn(w.interval)
		}
	}
	w.noteWritten(g.batches)
	for i, b := range g.batches {
		if g.sync[i] != vhost.SyncAlways && w.unsynced[b.Log].index == b.Index {
			w.tell(b.Log, b.Index)
		}
	}
	w.tables.RLock()
	unprepared := w.journal.Unprepared()
	w.tables.RUnlock()
	w.checkSpace()
	if unprepared {
		w.maintenance.kick()
	}
	w.grow(g.bytes)
	return g.urgent
}

func (w *logWriter) dueIn(d time.Duration) {
	if at := time.Now().Add(d); w.due.IsZero() || at.Before(w.due) {
		w.due = at
	}
}

// tell tells who listens to a log that a batch is as safe as he wants it. Nobody listens to logs of pages.
func (w *logWriter) tell(log storage.LogID, i storage.Index) {
	w.mu.Lock()
	l := w.mu.listeners[log].Listener
	w.mu.Unlock()
	if l != nil {
		l.becameSafe(i)
	}
}

// grow counts what was written, and asks for checkpoints when it is much, or when the disk is full: what was
// drained since the last one may give space.
func (w *logWriter) grow(bytes int) {
	w.appended.Add(int64(bytes))
	w.mu.Lock()
	w.mu.grown += int64(bytes)
	ask := w.mu.grown > w.checkpointBytes || w.short() && time.Since(w.mu.asked) > noSpaceRetry
	w.mu.Unlock()
	if ask {
		w.askCheckpoint()
	}
}

// drained asks for checkpoints on a full disk, if anything was written since the last ones.
func (w *logWriter) drained() {
	w.mu.Lock()
	grown := w.mu.grown
	w.mu.Unlock()
	if w.short() && grown > 0 {
		w.askCheckpoint()
	}
}

func (w *logWriter) askCheckpoint() {
	if w.onCheckpoint() { // else it is asked again
		w.mu.Lock()
		w.mu.grown, w.mu.asked = 0, time.Now()
		w.mu.Unlock()
	}
}

// markSafe records the position known safe, in a pause.
func (w *logWriter) markSafe() {
	if err := w.tables.run(w.journal, (*journal.Journal).MarkSafeTask); err != nil {
		w.slog.Error("cannot record the safe position", "error", err)
	}
}

// sync makes everything written safe, and tells those who wait for that.
func (w *logWriter) sync() {
	if len(w.unsynced) == 0 {
		return
	}
	began := time.Now()
	if err := w.tables.run(w.journal, (*journal.Journal).SyncTask); err != nil {
		w.fail(err, nil)
		return
	}
	w.statistics.syncs.add(time.Since(began))
	for log, u := range w.unsynced {
		w.tell(log, u.index)
	}
	clear(w.unsynced)
	w.due = time.Time{}
}

// mend goes on after maintenance has failed the journal, which costs no batch.
func (w *logWriter) mend() {
	if err := w.tables.run(w.journal, (*journal.Journal).SyncTask); errors.Is(err, journal.ErrFailed) {
		w.fail(err, nil)
	}
}

// fail is the end of what was written and could not be made safe: the journal goes on behind it in a new file, and the
// listeners of the logs that had some of it are told, are heard no more, and have to open their logs again. So are
// those of a group that cannot be written. Others go on: nothing that they know of is gone.
func (w *logWriter) fail(err error, refused *group) {
	w.slog.Error("journal failed: unconfirmed messages are lost", "error", err)
	w.maintenance.lock <- struct{}{}
	again := w.call((*journal.Journal).Recover)
	<-w.maintenance.lock
	gone := map[storage.LogID]bool{} // by owner
	w.tables.RLock()
	for log, u := range w.unsynced {
		if again != nil || w.journal.Next(log) <= u.index {
			gone[log.Owner()] = true
			delete(w.unsynced, log)
		}
	}
	w.tables.RUnlock()
	if len(w.unsynced) == 0 {
		w.due = time.Time{}
	}
	if refused != nil {
		for _, b := range refused.batches {
			gone[b.Log.Owner()] = true
		}
	}
	if len(gone) > 0 {
		w.losses.Add(1)
	}
	if again != nil {
		err = fmt.Errorf("%w; the journal cannot be reopened: %w", err, again)
	}
	var lost []Listener
	w.mu.Lock()
	for log := range w.mu.written {
		if again != nil || gone[log.Owner()] {
			delete(w.mu.written, log) // what comes in place of what is lost has the same indexes
		}
	}
	for log, l := range w.mu.listeners {
		if again != nil || gone[log] {
			lost = append(lost, l.Listener)
			delete(w.mu.listeners, log)
		}
	}
	w.mu.Unlock()
	for _, l := range lost {
		l.lost(err)
	}
	if again != nil {
		w.onFailed(err)
	}
}
