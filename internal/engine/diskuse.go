package engine

import (
	"cmp"
	"fmt"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/journal"
)

// sizes are those for the disk that the data is on.
func (o *Options) sizes() journal.Sizes {
	if o.Machine == nil {
		return journal.SizesFor(0)
	}
	return journal.SizesFor(o.Machine.Read().DiskSize)
}

// sizeJournal fills in what nobody has chosen.
func (o *Options) sizeJournal() {
	s := o.sizes()
	o.Journal.SegmentBytes = cmp.Or(o.Journal.SegmentBytes, s.Segment)
	o.Journal.ReserveBytes = cmp.Or(o.Journal.ReserveBytes, s.Reserve)
}

// spareBytes tells what a journal has ready beyond its reserve. While somebody works on the journal, who may wait for
// the disk, it tells what was seen last.
func spareBytes(j *journal.Journal, guard *tables) func() int64 {
	var last atomic.Int64
	return func() int64 {
		if guard.TryRLock() {
			last.Store(j.SpareBytes())
			guard.RUnlock()
		}
		return last.Load()
	}
}

// stats are the journal's, or those of before while somebody works on it: who does may wait for the disk.
func (w *logWriter) stats() journal.Stats {
	if w.tables.TryRLock() {
		stats := w.journal.Stats()
		w.tables.RUnlock()
		w.lastStats.Store(&stats)
	}
	if last := w.lastStats.Load(); last != nil {
		return *last
	}
	return journal.Stats{}
}

// DiskUse says what takes the disk that the data is on, in bytes. What is not known is zero.
type DiskUse struct {
	Size int64 // of the file system
	Free int64 // for everybody
	// Spare is what the broker has ready for messages to come, beyond the reserve: for the alarm it is free.
	Spare   int64
	Reserve int64 // kept so that a full disk can be drained
	Live    int64 // messages, and what is known of them, in the log
	// Waiting is in the log and not needed: a checkpoint, or rewriting, gives it back.
	Waiting     int64
	Checkpoints int64
	Others      int64 // not in the log: files of others on this disk, what was spilled, the dead-letter index
}

// Advice says what takes most, and what to do about it.
func (d *DiskUse) Advice() string {
	const mb = 1_000_000
	switch most := max(d.Live, d.Waiting, d.Others, d.Reserve); {
	case d.Size == 0:
		return ""
	case d.Others == most:
		return fmt.Sprintf("other files use %d MB of the %d MB disk: remove some, or give the broker a larger disk", d.Others/mb, d.Size/mb)
	case d.Live == most:
		return fmt.Sprintf("messages use %d MB of the %d MB disk: consume or purge some, or give the broker a larger disk", d.Live/mb, d.Size/mb)
	case d.Waiting == most:
		return fmt.Sprintf("%d MB of the log are no longer needed: the next checkpoints reclaim them; if not, look for errors in the broker's log", d.Waiting/mb)
	}
	return fmt.Sprintf("the reserve uses %d MB of the %d MB disk: set a smaller --reserve and --segment-size, a smaller disk_free_limit, or give the broker a larger disk", d.Reserve/mb, d.Size/mb)
}

// shown are the figures for a line of the log.
func (d DiskUse) shown() []any {
	if d.Size == 0 {
		return nil
	}
	return []any{
		"disk_size", d.Size, "messages", d.Live, "not_needed", d.Waiting, "ready", d.Spare, "reserve", d.Reserve,
		"others", d.Others, "advice", d.Advice(),
	}
}

// diskUse tells what is known without waiting for anybody.
func (e *Engine) diskUse() DiskUse {
	if e.writer == nil { // the first check, while the engine opens
		return DiskUse{}
	}
	f := e.resources.Seen()
	s := e.writer.stats()
	use := DiskUse{
		Size: f.DiskSize, Free: max(f.DiskFree-f.Spare, 0), Spare: f.Spare,
		Reserve: max(s.SpareBytes-f.Spare, 0), Checkpoints: s.CheckpointBytes,
	}
	e.writer.mu.Lock()
	use.Live = e.writer.mu.grown // since the last checkpoints: nobody knows yet
	e.writer.mu.Unlock()
	if live := e.live.Load(); live != nil {
		use.Live += live.total()
	}
	use.Live = min(use.Live, s.SegmentBytes)
	use.Waiting = s.SegmentBytes - use.Live
	if use.Size > 0 {
		use.Others = max(use.Size-use.Free-s.SegmentBytes-s.SpareBytes-s.CheckpointBytes, 0)
	}
	return use
}
