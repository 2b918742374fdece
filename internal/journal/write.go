package journal

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
)

// Write appends a group: one contiguous write, unless the open segment has no space for all of it. The batches of a log
// must come in order, each with the index after the one before. They are readable on return, and safe after Sync.
//
// Errors: ErrOrder, ErrTooLarge, ErrDropped, a *Fault of one of the logs, and ErrUnready (never after a Reserve that
// covers the group): nothing was written. Everything else is final.
func (j *Journal) Write(group []Batch) error { return j.WriteTask(group).Run() }

// WriteTask is Write as a task.
func (j *Journal) WriteTask(group []Batch) *Task {
	w := j.writing.begin()
	if w.task.err = j.mayWrite(group); w.task.err == nil {
		w.group = group
	}
	return &w.task
}

// mayWrite refuses a group before anything is written.
func (j *Journal) mayWrite(group []Batch) error {
	if j.failed != nil {
		return j.failed
	}
	if err := j.check(group); err != nil {
		return err
	}
	needed, ready := j.isReady(group)
	if !ready {
		return ErrUnready
	}
	j.needed = needed
	return nil
}

// isReady reports whether a group fits into the open segment and those ahead, and how many of these it needs.
func (j *Journal) isReady(group []Batch) (needed int, ready bool) {
	if j.open != nil {
		n, _ := j.open.fit(group)
		group = group[n:]
	}
	for _, s := range j.ahead {
		if len(group) == 0 {
			break
		}
		n, _ := s.fit(group)
		if n == 0 {
			break
		}
		needed++
		group = group[n:]
	}
	return needed, len(group) == 0
}

// check refuses a group before anything is written.
func (j *Journal) check(group []Batch) error {
	for i := range group {
		l := j.log(group[i].Log)
		l.want = l.next
	}
	for i := range group {
		b := &group[i]
		l := j.logs[b.Log]
		switch {
		case len(b.Data) > BatchBytesMax:
			return fmt.Errorf("%w: log %d, index %d: %d bytes", ErrTooLarge, b.Log, b.Index, len(b.Data))
		case j.dropped[b.Log]:
			return fmt.Errorf("%w: log %d", ErrDropped, b.Log)
		case l.fault != nil:
			return l.fault
		case b.Cuts && !j.mayCut(l, b.Index):
			return fmt.Errorf("%w: log %d, index %d cannot be replaced: next %d, checkpoint %d",
				ErrOrder, b.Log, b.Index, l.want, l.checkpoint.at)
		case !b.Cuts && b.Index != l.want:
			return fmt.Errorf("%w: log %d, index %d, expected %d", ErrOrder, b.Log, b.Index, l.want)
		}
		l.want = b.Index + 1
	}
	return nil
}

// fit tells how many batches of the group fit into s, and what size the group will have.
func (s *segmentState) fit(group []Batch) (n int, size int64) {
	size = segment.GroupHeaderBytes
	for ; n < len(group); n++ {
		next := size + segment.BatchBytes(len(group[n].Data))
		if next > s.Free(n+1, n+1) {
			break
		}
		size = next
	}
	return n, size
}

// wrote takes note of a group that is in the open segment.
func (j *Journal) wrote(h *segment.GroupHeader, group []Batch) {
	s := j.open
	pos := s.End + segment.GroupHeaderBytes
	for i := range group {
		b := &group[i]
		l := j.log(b.Log)
		if b.Cuts {
			j.cutBy(l, b.Index)
		}
		if sp := s.Add(b.Log, b.Index, segment.Entry{Pos: uint32(pos), Size: uint32(len(b.Data))}); sp != nil {
			l.spans = append(l.spans, sp)
		}
		pos += segment.BatchBytes(len(b.Data))
		l.next = b.Index + 1
		if !l.dirty {
			l.dirty = true
			j.dirty = append(j.dirty, l)
		}
	}
	j.written.Groups += segment.RoundUp(h.Size, segment.SectorBytes)
	s.End += segment.RoundUp(h.Size, segment.SectorBytes)
	s.marked = h.Safe
}

// put brings a group to the disk.
func (j *Journal) put(s *segmentState, h segment.GroupHeader, group []Batch) error {
	w := segment.Writer{File: &s.File, Buf: j.buf, At: h.At}
	h.Put(w.Next(segment.GroupHeaderBytes), s.Seed)
	for i := range group {
		flags := uint32(0)
		if group[i].Cuts {
			flags = segment.FlagCuts
		}
		w.Batch(group[i].Log, group[i].Index, group[i].Data, flags)
	}
	return w.Finish()
}

// Sync makes safe everything written before. A failure is final: the disk may have dropped what it could not write, and
// a second sync would report success.
func (j *Journal) Sync() error { return j.SyncTask().Run() }

// SyncTask is Sync as a task.
func (j *Journal) SyncTask() *Task {
	w := j.writing.begin()
	w.task.err = j.failed
	w.sync = j.failed == nil && len(j.dirty) > 0
	return &w.task
}

// synced takes note that all of the open segment is safe.
func (j *Journal) synced() {
	j.open.safe = j.open.End
	for _, l := range j.dirty {
		l.safe, l.dirty = l.next-1, false
	}
	j.dirty = j.dirty[:0]
	j.cutsAreSafe()
}

// MarkSafe writes and syncs a record with the position known safe, so that damage to anything before it is told from an
// unfinished tail. The engine calls it at a pause in traffic. It does nothing if there is nothing new to record.
func (j *Journal) MarkSafe() error { return j.MarkSafeTask().Run() }

// MarkSafeTask is MarkSafe as a task.
func (j *Journal) MarkSafeTask() *Task {
	w := j.writing.begin()
	w.task.err = j.failed
	if s := j.open; j.failed == nil && s != nil && len(j.dirty) == 0 && s.marked != s.safe {
		w.mark = true
	}
	return &w.task
}

// tear fails the journal for what happened to the open segment.
func (j *Journal) tear(err error) error {
	j.torn = true
	return j.fail(fmt.Errorf("%s: %w", j.open.Name(), err))
}

// Recover goes on after a failure. If a group could not be written or synced, the batches that were not safe are cut,
// and the next Write goes to another segment: the next index of each log tells what is lost, and the engine drops every
// machine that had some of it, and opens it again. An error is final: the process ends.
func (j *Journal) Recover() error {
	if j.failed == nil {
		return nil
	}
	if j.lock == nil {
		return ErrClosed
	}
	j.failed = nil
	if j.torn {
		s := j.open
		j.cut(s, max(s.safe, segment.HeaderBytes))
		s.distrusted = true
		j.open, j.torn = nil, false
		for _, l := range j.logs {
			l.next, l.dirty = max(l.safe, l.checkpoint.at, l.reached)+1, false
		}
		j.dirty = j.dirty[:0]
		j.cutsAreLost()
	}
	if err := j.writeManifest(); err != nil {
		return err
	}
	for _, c := range j.inDoubt {
		j.keepAllowance(c)
	}
	j.inDoubt = nil
	return nil
}

// cut forgets the batches of s from position end on.
func (j *Journal) cut(s *segmentState, end int64) {
	s.Cut(end)
	for _, l := range j.logs {
		l.spans = segment.DropEmpty(l.spans)
	}
}
