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
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// lazySync is how long a batch that nobody waits for may stay unsynced. Source: ours, design §2.
	lazySync = 100 * time.Millisecond
	// pendingBytesMax is what runners may have handed to the scribe and it has not written yet: then they wait.
	pendingBytesMax = 16 << 20
	// pendingShare: with a small reserve no more than that part of it, but pendingBytesLeast.
	pendingShare, pendingBytesLeast = 8, 32 << 10
	// noSpaceRetry is how often a full disk is asked again.
	noSpaceRetry = time.Second
	// largeRetries is how often room is looked for that only a large batch needs.
	largeRetries = 3
)

// scribe writes what runners append to the journal, many batches at a time, and syncs it. It waits for nothing but the
// disk: house is kept by the keeper, and only if that has fallen behind the scribe makes room itself.
type scribe struct {
	journal *journal.Journal
	tables  *tables
	keeper  *keeper
	slog    *slog.Logger
	wake    chan struct{}
	done    chan struct{}

	mu struct {
		sync.Mutex
		batches   []appended
		jobs      []func(*scribe)
		bytes     int
		forced    bool // a sync is wanted in any case
		closing   bool
		working   bool // at jobs
		listeners map[place.LogID]listening
		written   map[place.LogID]place.Index // by this scribe: can be read
		grown     int64                       // bytes written since checkpoints were asked for,
		asked     time.Time                   // then
	}
	room    sync.Cond     // on mu: bytes went down, or nobody may wait for that any more
	full    atomic.Bool   // no file could be made when it was tried last
	use     atomic.Uint32 // journal.Use: the first for which there is room
	waiting atomic.Pointer[Waiting]
	ending  atomic.Bool // the engine is being closed: nothing waits for room any more
	busy    atomic.Bool // there is traffic at this moment

	resting   atomic.Bool                   // there was none between the last two looks of the tidier
	lastStats atomic.Pointer[journal.Stats] // of the journal, for those who must not wait

	losses atomic.Uint64 // how many times batches were lost
	deeds  deeds

	pendingMax      int
	groupMost       int   // bytes that any segment takes at once
	noReserve       bool  // of journal.Options
	checkpointBytes int64 // that the journal grows between checkpoints

	appended atomic.Int64 // bytes of batches, since the engine was opened

	interval     time.Duration         // of vhost.SyncInterval
	onCheckpoint func() bool           // the journal has grown by checkpointBytes; must not block; false: not now
	onSpace      func(use journal.Use) // there is room for that, and no longer or again for what comes before it
	onFailed     func(error)           // the journal cannot go on; must not block

	// The goroutine's own.
	unsynced map[place.LogID]unsynced
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
	index place.Index
	sync  vhost.Sync
}

func newScribe(j *journal.Journal, t *tables, o *Options, onCheckpoint func() bool, onSpace func(journal.Use), onFailed func(error)) *scribe {
	s := &scribe{
		journal: j, tables: t, slog: o.Log, wake: make(chan struct{}, 1), done: make(chan struct{}), interval: o.SyncInterval,
		onCheckpoint: onCheckpoint, onSpace: onSpace, onFailed: onFailed, unsynced: map[place.LogID]unsynced{},
	}
	s.pendingMax, s.checkpointBytes = pendingBytesMax, o.sizes().Checkpoint
	if n := o.Journal.InFlight; n > 0 {
		s.pendingMax = int(n)
	}
	s.noReserve = o.Journal.ReserveBytes < 0
	if s.groupMost = math.MaxInt; o.Journal.SegmentBytes > 0 {
		s.groupMost = int(o.Journal.SegmentBytes / 2)
	}
	s.keeper = newKeeper(s, o.Log)
	s.mu.listeners, s.mu.written = map[place.LogID]listening{}, map[place.LogID]place.Index{}
	s.room.L = &s.mu.Mutex
	return s
}

// start begins both goroutines.
func (s *scribe) start() {
	go s.run()
	go s.keeper.run()
}

// listen has l told what becomes of the batches of a log, as sync says; nil: nobody.
func (s *scribe) listen(log place.LogID, l Listener, sync vhost.Sync) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l == nil {
		delete(s.mu.listeners, log)
	} else {
		s.mu.listeners[log] = listening{l, sync}
	}
}

// setSync has the listener of a log told otherwise from now on.
func (s *scribe) setSync(log place.LogID, sync vhost.Sync) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.mu.listeners[log]; ok {
		s.mu.listeners[log] = listening{l.Listener, sync}
	}
}

// append takes a batch; its data is the scribe's to read for good. It waits while too much is pending, but not for room on
// the disk: runners decide nothing then that has to be written.
func (s *scribe) append(b journal.Batch, urgent bool) {
	s.mu.Lock()
	for s.mu.bytes > s.pendingMax && !s.mu.closing && !s.mu.working && s.waiting.Load() == nil {
		s.room.Wait()
	}
	s.mu.batches = append(s.mu.batches, appended{b, urgent})
	s.mu.bytes += len(b.Data)
	s.mu.Unlock()
	s.kick()
}

// do runs fn on the scribe's goroutine, when everything appended so far is safe or lost.
func (s *scribe) do(fn func(*scribe)) {
	s.mu.Lock()
	s.mu.jobs = append(s.mu.jobs, fn)
	s.mu.forced = true
	s.mu.Unlock()
	s.kick()
}

// settle waits until everything appended so far is safe or lost.
func (s *scribe) settle() {
	settled := make(chan struct{})
	s.do(func(*scribe) { close(settled) })
	<-settled
}

// urge asks for a sync of what was appended to a log: somebody waits for it.
func (s *scribe) urge(log place.LogID) {
	s.mu.Lock()
	s.mu.forced = s.mu.forced || s.mu.listeners[log].sync == vhost.SyncAlways
	forced := s.mu.forced
	s.mu.Unlock()
	if forced {
		s.kick()
	}
}

func (s *scribe) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close writes what is pending, ends both goroutines and closes the journal.
func (s *scribe) close() error {
	s.keeper.close()
	s.mu.Lock()
	s.mu.closing = true
	s.room.Broadcast()
	s.mu.Unlock()
	s.kick()
	<-s.done
	return s.call((*journal.Journal).Close)
}

// call makes a call of the journal's that changes it.
func (s *scribe) call(fn func(*journal.Journal) error) error {
	s.tables.Lock()
	defer s.tables.Unlock()
	return fn(s.journal)
}

// readBatch returns a whole verified batch.
func (s *scribe) readBatch(log place.LogID, i place.Index) ([]byte, error) {
	s.tables.RLock()
	defer s.tables.RUnlock()
	return s.journal.ReadBatch(nil, log, i)
}

// run is the scribe's goroutine. A batch that somebody waits for is synced at once, with everything written
// before it; one that nobody waits for is written at once and synced with the next, at the latest after
// lazySync. In a pause it records the position known safe.
func (s *scribe) run() {
	defer close(s.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		batches, jobs, forced, closing := s.take()
		urgent := s.write(batches)
		if forced || urgent || closing || s.overdue() {
			s.sync()
		}
		s.work(jobs)
		if closing && len(batches) == 0 && len(jobs) == 0 {
			return
		}
		wait := time.Duration(-1)
		switch {
		case closing:
			wait = 0
		case len(batches) > 0:
			s.busy.Store(true)
			wait = lazySync
		default:
			s.busy.Store(false)
		}
		if !s.due.IsZero() {
			wait = max(time.Until(s.due), 0)
		} else if wait < 0 {
			s.markSafe()
		}
		s.sleep(pause, wait)
	}
}

func (s *scribe) overdue() bool { return !s.due.IsZero() && time.Until(s.due) <= 0 }

// work does jobs. What one of them appends must not wait for this goroutine.
func (s *scribe) work(jobs []func(*scribe)) {
	if len(jobs) == 0 {
		return
	}
	s.setWorking(true)
	for _, job := range jobs {
		job(s)
	}
	s.setWorking(false)
}

func (s *scribe) setWorking(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.working = on
}

// sleep waits for a kick, and no longer than d if that is not negative.
func (s *scribe) sleep(t *time.Timer, d time.Duration) {
	if d < 0 {
		<-s.wake
		return
	}
	t.Reset(d)
	select {
	case <-s.wake:
	case <-t.C:
	}
}

func (s *scribe) take() (batches []appended, jobs []func(*scribe), forced, closing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batches, jobs, forced, closing = s.mu.batches, s.mu.jobs, s.mu.forced, s.mu.closing
	s.mu.batches, s.mu.jobs, s.mu.forced, s.mu.bytes = nil, nil, false, 0
	s.room.Broadcast()
	return batches, jobs, forced, closing
}

// write appends batches to the journal as one group, and reports whether somebody waits for one of them to be synced. On
// a disk that has no room left at all it waits: nothing is confirmed meanwhile, and nothing is lost. It waits no longer
// than until the scribe is closed: what is not written then was not confirmed. A group that needs a file larger than usual is
// divided where the disk has no room for that. Nor is long waited for a file that a single batch needs: others can go on.
func (s *scribe) write(batches []appended) (urgent bool) {
	defer s.setWaiting(nil)
	full := 0
	for tries := 1; ; {
		g := s.group(batches)
		if len(g.batches) == 0 {
			return false
		}
		err := s.put(&g)
		switch {
		case err == nil:
			return s.note(&g)
		case errors.Is(err, journal.ErrNoSpace):
			s.full.Store(true)
			if n := len(batches); n > 1 && g.bytes > s.groupMost {
				urgent = s.write(batches[:n/2])
				return s.write(batches[n/2:]) || urgent
			}
			s.noRoomFor(journal.Committed)
			if full++; full > largeRetries && len(g.batches) == 1 && g.bytes > s.groupMost {
				s.fail(fmt.Errorf("not enough disk space for a message of %d bytes: %w", g.bytes, err), &g)
				return false
			}
			if s.setWaiting(err); !s.waitForRoom() {
				s.fail(fmt.Errorf("the broker stops while the disk is full: %w", err), &g)
				return false
			}
		case tries > 1: // the disk takes nothing, wherever it is put
			s.fail(err, &g)
			return false
		default:
			s.fail(err, nil)
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

// group takes those batches whose logs are listened to: of another the runner was stopped by a loss, and the batch builds
// on what is gone.
func (s *scribe) group(batches []appended) (g group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.batches, g.sync = make([]journal.Batch, 0, len(batches)), make([]vhost.Sync, 0, len(batches))
	for _, b := range batches {
		l, ok := s.mu.listeners[b.Log.Owner()]
		if !ok {
			continue
		}
		g.batches, g.sync = append(g.batches, b.Batch), append(g.sync, l.sync)
		g.urgent = g.urgent || b.urgent && l.sync == vhost.SyncAlways
		g.bytes += len(b.Data) + journal.Overhead
	}
	return g
}

// keepReserve completes the reserve, if the keeper has fallen behind: what is decided from now on must not live on it. If
// that cannot be, what grows has to wait from now on.
func (s *scribe) keepReserve() {
	if s.full.Load() {
		return
	}
	s.tables.RLock()
	lacks, use := s.journal.LacksReserve(), journal.Growing
	if lacks {
		use = s.journal.Room()
	}
	s.tables.RUnlock()
	if !lacks {
		return
	}
	select {
	case s.keeper.house <- struct{}{}:
	default:
		if use == journal.Moving { // there is time until the keeper is done
			return
		}
		s.keeper.house <- struct{}{}
	}
	err := s.call(func(j *journal.Journal) error { return j.Reserve(1, journal.Growing) })
	<-s.keeper.house
	if err != nil && !errors.Is(err, journal.ErrFailed) {
		s.becomeFull()
	}
}

// put writes a group. If the keeper has fallen behind, room is made first.
func (s *scribe) put(g *group) error {
	s.keepReserve()
	write := func(j *journal.Journal) error {
		began := time.Now()
		err := j.Write(g.batches)
		s.deeds.writes.note(g.bytes, began)
		return err
	}
	err := s.call(write)
	if errors.Is(err, journal.ErrUnready) {
		s.keeper.house <- struct{}{}
		defer func() { <-s.keeper.house }()
		if err = s.call(func(j *journal.Journal) error { return j.Reserve(g.bytes, journal.Committed) }); err == nil {
			err = s.call(write)
		}
	}
	return err
}

// note takes note of a group that was written: when it has to be synced, and who is content without that.
func (s *scribe) note(g *group) (urgent bool) {
	for i, b := range g.batches {
		s.unsynced[b.Log] = unsynced{b.Index, g.sync[i]}
		switch g.sync[i] {
		case vhost.SyncAlways:
			s.dueIn(lazySync)
		case vhost.SyncInterval:
			s.dueIn(s.interval)
		}
	}
	s.noteWritten(g.batches)
	for i, b := range g.batches {
		if g.sync[i] != vhost.SyncAlways && s.unsynced[b.Log].index == b.Index {
			s.tell(b.Log, b.Index)
		}
	}
	s.tables.RLock()
	unprepared := s.journal.Unprepared()
	s.tables.RUnlock()
	s.lookForRoom()
	if unprepared {
		s.keeper.kick()
	}
	s.grow(g.bytes)
	return g.urgent
}

func (s *scribe) dueIn(d time.Duration) {
	if at := time.Now().Add(d); s.due.IsZero() || at.Before(s.due) {
		s.due = at
	}
}

// tell tells who listens to a log that a batch is as safe as he wants it. Nobody listens to logs of pages.
func (s *scribe) tell(log place.LogID, i place.Index) {
	s.mu.Lock()
	l := s.mu.listeners[log].Listener
	s.mu.Unlock()
	if l != nil {
		l.becameSafe(i)
	}
}

// grow counts what was written, and asks for checkpoints when it is much, or when the disk is full: what was
// drained since the last one may give room.
func (s *scribe) grow(bytes int) {
	s.appended.Add(int64(bytes))
	s.mu.Lock()
	s.mu.grown += int64(bytes)
	ask := s.mu.grown > s.checkpointBytes || s.short() && time.Since(s.mu.asked) > noSpaceRetry
	s.mu.Unlock()
	if ask {
		s.askCheckpoint()
	}
}

// drained asks for checkpoints on a full disk, if anything was written since the last ones.
func (s *scribe) drained() {
	s.mu.Lock()
	grown := s.mu.grown
	s.mu.Unlock()
	if s.short() && grown > 0 {
		s.askCheckpoint()
	}
}

func (s *scribe) askCheckpoint() {
	if s.onCheckpoint() { // else it is asked again
		s.mu.Lock()
		s.mu.grown, s.mu.asked = 0, time.Now()
		s.mu.Unlock()
	}
}

// markSafe records the position known safe, in a pause.
func (s *scribe) markSafe() {
	if err := s.call((*journal.Journal).MarkSafe); err != nil {
		s.slog.Error("cannot record the safe position", "error", err)
	}
}

// sync makes everything written safe, and tells those who wait for that.
func (s *scribe) sync() {
	if len(s.unsynced) == 0 {
		return
	}
	began := time.Now()
	if err := s.call((*journal.Journal).Sync); err != nil {
		s.fail(err, nil)
		return
	}
	s.deeds.syncs.add(time.Since(began))
	for log, u := range s.unsynced {
		s.tell(log, u.index)
	}
	clear(s.unsynced)
	s.due = time.Time{}
}

// mend goes on after the keeper has failed the journal, which costs no batch.
func (s *scribe) mend() {
	if err := s.call((*journal.Journal).Sync); errors.Is(err, journal.ErrFailed) {
		s.fail(err, nil)
	}
}

// fail is the end of what was written and could not be made safe: the journal goes on behind it in a new file, and the
// listeners of the logs that had some of it are told, are heard no more, and have to open their logs again. So are those
// of a group that cannot be written. Others go on: nothing that they know of is gone.
func (s *scribe) fail(err error, refused *group) {
	s.slog.Error("journal failed: unconfirmed messages are lost", "error", err)
	s.keeper.house <- struct{}{}
	again := s.call((*journal.Journal).Recover)
	<-s.keeper.house
	gone := map[place.LogID]bool{} // by owner
	s.tables.RLock()
	for log, u := range s.unsynced {
		if again != nil || s.journal.Next(log) <= u.index {
			gone[log.Owner()] = true
			delete(s.unsynced, log)
		}
	}
	s.tables.RUnlock()
	if len(s.unsynced) == 0 {
		s.due = time.Time{}
	}
	if refused != nil {
		for _, b := range refused.batches {
			gone[b.Log.Owner()] = true
		}
	}
	if len(gone) > 0 {
		s.losses.Add(1)
	}
	if again != nil {
		err = fmt.Errorf("%w; the journal cannot be reopened: %w", err, again)
	}
	var lost []Listener
	s.mu.Lock()
	for log := range s.mu.written {
		if again != nil || gone[log.Owner()] {
			delete(s.mu.written, log) // what comes in place of what is lost has the same indexes
		}
	}
	for log, l := range s.mu.listeners {
		if again != nil || gone[log] {
			lost = append(lost, l.Listener)
			delete(s.mu.listeners, log)
		}
	}
	s.mu.Unlock()
	for _, l := range lost {
		l.lost(err)
	}
	if again != nil {
		s.onFailed(err)
	}
}
