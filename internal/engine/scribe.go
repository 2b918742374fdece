package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

const (
	// lazySync is how long a batch that nobody waits for may stay unsynced. Source: ours, design §2.
	lazySync = 100 * time.Millisecond
	// pendingBytesMax is what runners may have handed to the scribe and it has not written yet: then they wait.
	pendingBytesMax = 64 << 20
	// noSpaceRetry is how often a full disk is asked again.
	noSpaceRetry = time.Second
	// checkpointBytes is how much the journal grows between checkpoints.
	checkpointBytes = 256 << 20
	// ampleBytes of free disk are enough to put off making spare segments while there is traffic: those that a
	// checkpoint gives back will serve.
	ampleBytes = 2 << 30
	// sparesLeast is how many spare segments there are in traffic all the same.
	sparesLeast = 2
)

// scribe owns the journal: it writes what runners append, many batches at a time, and syncs it.
type scribe struct {
	journal *journal.Journal
	fs      vfs.FS
	tables  sync.RWMutex // guards journal as its documentation asks: Sync beside reads, nothing beside the rest
	slog    *slog.Logger
	wake    chan struct{}
	done    chan struct{}

	mu struct {
		sync.Mutex
		batches   []appended
		jobs      []func(*scribe)
		bytes     int
		urgent    bool
		closing   bool
		working   bool // at jobs
		listeners map[place.LogID]Listener
		written   map[place.LogID]place.Index // by this scribe: can be read
	}
	room   sync.Cond   // on mu: bytes went down
	noRoom atomic.Bool // only the reserve is left: growing writes have to wait

	onCheckpoint func()          // the journal has grown by checkpointBytes; must not block
	onSpace      func(full bool) // growing writes have no room any more, or again
	onFailed     func(error)     // the journal cannot go on; must not block

	// The goroutine's own.
	unsynced  map[place.LogID]place.Index
	lazy      time.Time // when the oldest of it was written
	grown     int64     // since checkpoints were asked for,
	asked     time.Time // then
	ample     bool      // much free space on the disk, when last looked at
	sinceLook int       // groups until the next look
}

type appended struct {
	journal.Batch
	urgent bool
}

func newScribe(fs vfs.FS, j *journal.Journal, l *slog.Logger, onCheckpoint func(), onSpace func(bool), onFailed func(error)) *scribe {
	s := &scribe{
		journal: j, fs: fs, slog: l, wake: make(chan struct{}, 1), done: make(chan struct{}),
		onCheckpoint: onCheckpoint, onSpace: onSpace, onFailed: onFailed, unsynced: map[place.LogID]place.Index{},
	}
	s.mu.listeners, s.mu.written = map[place.LogID]Listener{}, map[place.LogID]place.Index{}
	s.room.L = &s.mu.Mutex
	return s
}

func (s *scribe) listen(log place.LogID, l Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l == nil {
		delete(s.mu.listeners, log)
	} else {
		s.mu.listeners[log] = l
	}
}

// append takes a batch; its data is the scribe's to read for good. It waits while too much is pending.
func (s *scribe) append(b journal.Batch, urgent bool) {
	s.mu.Lock()
	for s.mu.bytes > pendingBytesMax && !s.mu.closing && !s.mu.working {
		s.room.Wait()
	}
	s.mu.batches = append(s.mu.batches, appended{b, urgent})
	s.mu.bytes += len(b.Data)
	s.mu.urgent = s.mu.urgent || urgent
	s.mu.Unlock()
	s.kick()
}

// do runs fn on the scribe's goroutine, after everything appended so far is written.
func (s *scribe) do(fn func(*scribe)) {
	s.mu.Lock()
	s.mu.jobs = append(s.mu.jobs, fn)
	s.mu.urgent = true
	s.mu.Unlock()
	s.kick()
}

// urge asks for a sync of what was appended: somebody waits for it.
func (s *scribe) urge() {
	s.mu.Lock()
	s.mu.urgent = true
	s.mu.Unlock()
	s.kick()
}

func (s *scribe) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close writes what is pending and ends the goroutine.
func (s *scribe) close() {
	s.mu.Lock()
	s.mu.closing = true
	s.mu.urgent = true
	s.room.Broadcast()
	s.mu.Unlock()
	s.kick()
	<-s.done
}

// readBatch returns a whole verified batch.
func (s *scribe) readBatch(log place.LogID, i place.Index) ([]byte, error) {
	s.tables.RLock()
	defer s.tables.RUnlock()
	return s.journal.ReadBatch(nil, log, i)
}

// run is the scribe's goroutine. A batch that somebody waits for is synced at once, with everything written
// before it; one that nobody waits for is written at once and synced with the next, at the latest after
// lazySync. In a pause it makes segments ahead of need and records the position known safe.
func (s *scribe) run() {
	defer close(s.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		batches, jobs, urgent, closing := s.take()
		if len(batches) > 0 {
			s.write(batches)
		}
		idle := false
		if urgent || closing {
			s.sync()
		} else if len(s.unsynced) > 0 && time.Since(s.lazy) >= lazySync {
			s.sync()
		} else if len(batches) == 0 {
			idle = true
		}
		s.work(jobs)
		if closing && len(batches) == 0 && len(jobs) == 0 {
			return
		}
		wait := time.Duration(-1)
		switch {
		case closing:
			wait = 0
		case len(s.unsynced) > 0:
			wait = max(lazySync-time.Since(s.lazy), 0)
		case idle && s.prepare():
			wait = time.Millisecond
		case idle:
			s.markSafe()
			if s.noRoom.Load() {
				wait = noSpaceRetry
			}
			if s.noRoom.Load() && s.grown > 0 {
				s.askCheckpoint()
			}
		default:
			wait = lazySync
		}
		s.sleep(pause, wait)
	}
}

// work does jobs. A vhost that is opened in one of them may append: it must not wait for this goroutine.
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

func (s *scribe) take() (batches []appended, jobs []func(*scribe), urgent, closing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batches, jobs, urgent, closing = s.mu.batches, s.mu.jobs, s.mu.urgent, s.mu.closing
	s.mu.batches, s.mu.jobs, s.mu.urgent, s.mu.bytes = nil, nil, false, 0
	s.room.Broadcast()
	return batches, jobs, urgent, closing
}

// write appends batches to the journal as one group. On a disk that is full it waits: nothing is confirmed
// meanwhile, and nothing is lost.
func (s *scribe) write(batches []appended) {
	group := make([]journal.Batch, 0, len(batches))
	bytes := 0
	s.mu.Lock()
	for _, b := range batches {
		if s.mu.listeners[b.Log.Owner()] != nil { // else its runner was stopped by a loss: the batch builds on what is gone
			group = append(group, b.Batch)
			bytes += len(b.Data) + journal.Overhead
		}
	}
	s.mu.Unlock()
	if len(group) == 0 {
		return
	}
	for {
		s.tables.Lock()
		err := s.journal.Reserve(bytes, journal.Draining)
		if err == nil {
			err = s.journal.Write(group)
		}
		s.tables.Unlock()
		switch {
		case err == nil:
			if len(s.unsynced) == 0 {
				s.lazy = time.Now()
			}
			for _, b := range group {
				s.unsynced[b.Log] = b.Index
			}
			s.noteWritten(group)
			s.grow(bytes)
			if s.wantSpares() {
				s.prepare()
			}
			return
		case errors.Is(err, journal.ErrNoSpace):
			s.setFull(true)
			s.slog.Error("disk is full: nothing is confirmed until there is room", "error", err)
			time.Sleep(noSpaceRetry)
		default:
			s.fail(err)
			return
		}
	}
}

// grow counts what was written, and asks for checkpoints when it is much, or when the disk is full: what was
// drained since the last one may give room.
func (s *scribe) grow(bytes int) {
	s.grown += int64(bytes)
	if s.grown > checkpointBytes || s.noRoom.Load() && time.Since(s.asked) > noSpaceRetry {
		s.askCheckpoint()
	}
}

func (s *scribe) askCheckpoint() {
	s.grown, s.asked = 0, time.Now()
	s.onCheckpoint()
}

// wantSpares reports whether a spare segment should be worked at even now, in traffic: when they run out, or
// when the disk is so full that the reserve must be kept complete.
func (s *scribe) wantSpares() bool {
	s.sinceLook--
	if s.sinceLook <= 0 {
		s.sinceLook = groupsPerLook
		free, err := s.fs.Free()
		s.ample = err == nil && free > ampleBytes
	}
	return !s.ample || s.journal.Stats().Spares < sparesLeast
}

// groupsPerLook is how many groups are written between looks at the free space.
const groupsPerLook = 64

// prepare makes room ahead of need, in small steps; more reports that there is more to do.
func (s *scribe) prepare() (more bool) {
	s.tables.Lock()
	defer s.tables.Unlock()
	more, err := s.journal.Prepare()
	switch {
	case errors.Is(err, journal.ErrNoSpace):
		s.setFull(true)
		return false
	case err != nil:
		s.slog.Error("cannot prepare a segment", "error", err)
		return false
	}
	if !more {
		s.setFull(false)
	}
	return more
}

// markSafe records the position known safe, in a pause.
func (s *scribe) markSafe() {
	s.tables.Lock()
	defer s.tables.Unlock()
	if err := s.journal.MarkSafe(); err != nil {
		s.slog.Error("cannot record the safe position", "error", err)
	}
}

func (s *scribe) setFull(full bool) {
	if s.noRoom.Swap(full) != full {
		s.onSpace(full)
		if full {
			s.askCheckpoint()
		}
	}
}

// sync makes everything written safe, and tells the runners.
func (s *scribe) sync() {
	if len(s.unsynced) == 0 {
		return
	}
	if err := s.journal.Sync(); err != nil {
		s.fail(err)
		return
	}
	for log, i := range s.unsynced {
		if l := s.listener(log); l != nil {
			l.becameSafe(i)
		}
	}
	clear(s.unsynced)
}

func (s *scribe) listener(log place.LogID) Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.listeners[log]
}

// fail is the end of everything that is not safe: the journal goes on behind it in a new file, and every
// listener is told, is heard no more, and has to open its log again.
func (s *scribe) fail(err error) {
	s.slog.Error("journal failed: what was not safe is lost", "error", err)
	s.tables.Lock()
	again := s.journal.Recover()
	s.tables.Unlock()
	clear(s.unsynced)
	if again != nil {
		err = fmt.Errorf("%w; and it cannot go on: %w", err, again)
	}
	s.mu.Lock()
	all := s.mu.listeners
	s.mu.listeners = map[place.LogID]Listener{}
	clear(s.mu.written) // what comes in place of what is lost has the same indexes
	s.mu.Unlock()
	for _, l := range all {
		l.lost(err)
	}
	if again != nil {
		s.onFailed(err)
	}
}

// checkpoint makes state the start of recovery for a log, and gives back the segments that nobody needs:
// live lists the batches of each log in which the checkpointed state has records.
func (s *scribe) checkpoint(log place.LogID, at place.Index, state []byte) error {
	s.tables.Lock()
	defer s.tables.Unlock()
	return s.journal.Checkpoint(log, at, state)
}

func (s *scribe) reclaim(live journal.Live) error {
	s.tables.Lock()
	defer s.tables.Unlock()
	n, err := s.journal.Reclaim(live)
	if n > 0 {
		s.slog.Debug("segments reclaimed", "count", n)
	}
	return err
}
