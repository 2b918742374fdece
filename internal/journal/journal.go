package journal

import (
	"errors"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Journal is an open journal. Its methods are of four kinds:
//
//   - writing: Write, Sync, MarkSafe;
//   - maintenance: Prepare, Checkpoint, Reclaim, Drop, Sparse, Adopt, Abandon, Lease, Release;
//   - both at once: Reserve, Recover, Close;
//   - looking: all others.
//
// Whoever guards the journal holds its lock for each call, shared by those that look. A call that writes or does
// maintenance works on the disk before it returns. As a Task (WriteTask, SyncTask, MarkSafeTask, Task) the caller lets
// go of the lock while the disk works: then others may look, or begin a task of the other kind, but there is one task
// of each kind at a time. So what a task found before its work stands after it, but for what the other kind changes:
// writing adds batches, makes them safe, and takes the next of the segments named ahead; maintenance takes closed
// segments away, adds spares and segments ahead, and moves checkpoints. Either may fail the journal.
type Journal struct {
	*tables
	inTask func(work func() error) error // does work as a step of a Task; nil: work is done at once
}

// tables are what the journal knows.
type tables struct {
	fs   vfs.FS
	o    Options
	lock io.Closer

	lenient *lenientFS // of a journal that is only looked at
	rebuilt bool       // without a manifest

	cuts     bool            // batches may cut: the manifest says so
	segments []*segmentState // in order of their ids
	open     *segmentState   // of segments, being written; nil before the first group after Open and Recover
	full     []*segmentState // of segments, written to the end or left so by a crash, and without a table yet
	ahead    []*segmentState // next to be written, in this order: the manifest names them, and nothing is in them
	needed   int             // of these, that the Write underway goes on in
	spares   []spare         // ready for use
	filling  *filling        // a spare, apart from the others; nil: none
	unopened bool            // the directory is new, and has no first segment yet
	removed  int             // files of segments that were given back and not kept, since bare ones were named
	logs     map[storage.LogID]*logState
	dropped  map[storage.LogID]bool
	nextID   uint64
	nextFile uint64

	manifestAllowance, checkpointAllowance allowance
	manifestBytes                          int64 // of the newest manifest
	checkpointBytes                        int64 // of all checkpoints,
	largestCheckpoint                      int64 // and of what the largest state takes: see weigh
	allowanceRefused                       bool  // there was no space for an allowance

	// inDoubt are checkpoints that a manifest may name or not, since the write of one failed: Recover writes another.
	inDoubt []checkpoint

	pagesFrom  storage.Index // first index of a log of pages that is new
	rewriting  *Rewriting    // underway
	outRefused bool          // a rewriting found no space in a new file: the next one takes a spare
	written    Written       // to files, in this run

	writing writing // the task that writes

	unsafeCuts    []cut           // in the open segment
	dirty         []*logState     // with batches written since the last sync
	failed        error           // of ErrFailed
	torn          bool            // a group could not be written or synced
	damage        *Fault          // the last damage that Open found below what was safe; of no log
	damagedAt     position        // of it
	swallowed     uint64          // batches that damage made unreadable; the most there is if nobody knows
	explained     uint64          // of these, batches that are known to be missing from logs
	unended       []*segmentState // being written, or next, when the run before ended
	garbage       []string        // files to be removed: nothing names them
	leased        map[string]int  // files that are being copied, and how often: neither removed nor written again
	unsyncedNames bool            // files were created since the last SyncDir

	buf []byte // of what is being written; aligned
}

// Batch is what one call of the machine left to be remembered.
type Batch struct {
	Log   storage.LogID
	Index storage.Index // Next(Log), or less if it cuts
	Data  []byte        // at most BatchBytesMax; lent until Write returns
	Cuts  bool          // it replaces the batch of that index, and all behind it: see cut.go
}

// Next returns the index that the next batch of log must have.
func (j *Journal) Next(log storage.LogID) storage.Index {
	if l := j.logs[log]; l != nil {
		return l.next
	}
	return j.first(log)
}

// first is the first index of a log that is new.
func (j *Journal) first(log storage.LogID) storage.Index {
	if log.IsPages() {
		return j.pagesFrom
	}
	return 1
}

// Safe returns the last index of log that a crash can no longer take away; zero if there is none.
func (j *Journal) Safe(log storage.LogID) storage.Index {
	if l := j.logs[log]; l != nil {
		return l.safe
	}
	return 0
}

// FaultOf returns the fault of log; nil: it is sound.
func (j *Journal) FaultOf(log storage.LogID) *Fault {
	if l := j.logs[log]; l != nil {
		return l.fault
	}
	return nil
}

// log returns the state of a log, new if need be.
func (j *Journal) log(id storage.LogID) *logState {
	l := j.logs[id]
	if l == nil {
		l = &logState{id: id, next: j.first(id)}
		if id.IsPages() {
			l.unnamed = l.next
		}
		j.logs[id] = l
	}
	return l
}

// LogStat describes one logical log.
type LogStat struct {
	Log        storage.LogID
	Next, Safe storage.Index // of the next batch; of the last safe one
	Checkpoint storage.Index // covered by the newest checkpoint; 0: none
	Segments   int           // that hold batches of it
	Fault      *Fault        // nil: sound
	Doubted    bool          // damage may have held batches behind the last one
}

// Logs describes all logs that have batches or a checkpoint, in order of their identifiers.
func (j *Journal) Logs() []LogStat {
	stats := make([]LogStat, 0, len(j.logs))
	for _, id := range slices.Sorted(maps.Keys(j.logs)) {
		l := j.logs[id]
		if l.next == j.first(id) && l.checkpoint.file == 0 && l.fault == nil {
			continue // only asked for
		}
		s := LogStat{Log: id, Next: l.next, Safe: l.safe, Checkpoint: l.checkpoint.at, Fault: l.fault, Doubted: l.doubted}
		var segments []*segment.File
		for _, sp := range l.spans {
			if !slices.Contains(segments, sp.Seg) {
				segments = append(segments, sp.Seg)
			}
		}
		s.Segments = len(segments)
		stats = append(stats, s)
	}
	return stats
}

// Stats describes the journal as a whole. Sizes are in bytes.
type Stats struct {
	Segments        int   // the open one included
	SegmentBytes    int64 // of their files
	Spares          int   // preallocated, ready for use or about to be used
	SpareBytes      int64
	CheckpointBytes int64
	Unsafe          int64 // written and not yet synced
	Dropped         int   // logs of which segments still hold batches
	Rewritten       int   // of Segments: made of what was live in others
	RewrittenBytes  int64 // of their files
	Written         Written
}

// Written counts the bytes passed to the disk since Open, for the write amplification.
type Written struct {
	Groups      int64 // of batches as they were appended, with headers, checksums and padding
	Rewriting   int64 // live pieces of sparse segments, copied
	Checkpoints int64
	Tables      int64 // of batches in closed segments, and manifests
	Zeros       int64 // that files were filled with before use
}

// Stats describes the journal as a whole.
func (j *Journal) Stats() Stats {
	s := Stats{Segments: len(j.segments), Spares: len(j.ahead) + len(j.spares), Dropped: len(j.dropped), Written: j.written}
	for _, seg := range j.segments {
		s.SegmentBytes += seg.Size
		if seg.Rewritten {
			s.Rewritten++
			s.RewrittenBytes += seg.Size
		}
	}
	for _, sp := range j.spares {
		s.SpareBytes += sp.size
	}
	for _, seg := range j.ahead {
		s.SpareBytes += seg.Size
	}
	if m := j.filling; m != nil {
		s.Spares++
		s.SpareBytes += m.size
	}
	s.CheckpointBytes = j.checkpointBytes
	if j.open != nil {
		s.Unsafe = j.open.End - max(j.open.safe, segment.HeaderBytes)
	}
	return s
}

// Close records where everything ends, so that the next Open finds no tail and has nothing to scan, and lets go of the
// directory. What was written and not synced is synced first, unless the journal has failed.
func (j *Journal) Close() error {
	var err error
	if j.failed == nil {
		if err = j.Sync(); err == nil {
			err = j.MarkSafe()
		}
		if err == nil {
			err = j.closeAll()
		}
	}
	return errors.Join(err, j.release())
}

// release closes all files.
func (j *Journal) release() error {
	var errs []error
	j.stopFilling()
	if w := j.rewriting; w != nil {
		j.rewriting = nil
		errs = append(errs, w.out.Disk.Close())
	}
	for _, s := range slices.Concat(j.segments, j.ahead) {
		if s.Disk != nil {
			errs = append(errs, s.Disk.Close())
			s.Disk = nil
		}
	}
	if j.lock != nil {
		errs = append(errs, j.lock.Close())
		j.lock = nil
	}
	if j.failed == nil {
		j.failed = ErrClosed
	}
	return errors.Join(errs...)
}

// newJournal is a journal that knows nothing yet.
func newJournal(fs vfs.FS, o Options, bufferBytes int) *Journal {
	j := &Journal{tables: &tables{
		fs: vfs.Bounded(fs, o.OpenFiles), o: o, nextID: 1, nextFile: 1, buf: vfs.Aligned(bufferBytes),
		logs: map[storage.LogID]*logState{}, dropped: map[storage.LogID]bool{}, pagesFrom: 1,
	}}
	j.writing.of(j)
	return j
}

func (j *Journal) path(name string) string { return path.Join(j.o.Dir, name) }
