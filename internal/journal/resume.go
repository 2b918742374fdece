package journal

import (
	"fmt"
	"math"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Where too few files wait to be written, a start uses none: else each of many starts on a full
// disk would take one for good. It goes on behind the last batch that counts, whether the run
// before was killed or stopped. What is behind that are pages for a checkpoint that was never
// stored, so nothing names them.

// isScarce reports whether too few files wait to be written for a start to use one.
func (j *Journal) isScarce() bool { return j.o.ReserveBytes >= 0 && j.ready() < j.keep(Growing) }

// resume has the next group go on behind the last batch that counts. Segments without one, behind
// that, become spares.
func (j *Journal) resume() error {
	for shed := false; j.isScarce(); shed = true {
		last := j.lastWritten()
		if last == nil || last.damaged || len(last.Void) > 0 { // what comes there must count
			return nil
		}
		end, err := j.endOfCounted(last)
		switch {
		case err != nil:
		case end > segment.HeaderBytes && j.isLastOfAll(last):
			err = j.continueIn(last, end, shed || end < last.End || !slices.Contains(j.unended, last))
		case end == segment.HeaderBytes:
			if err = j.giveUp(last); err == nil {
				continue
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", last.Name(), err)
		}
		return err
	}
	return nil
}

// lastWritten is the segment that was written last, of those that groups are appended to.
func (j *Journal) lastWritten() *segmentState {
	for _, s := range slices.Backward(j.segments) {
		if !s.Rewritten {
			return s
		}
	}
	return nil
}

// counts reports whether a start needs a batch: one of a log of pages only if a checkpoint may name
// it.
func (j *Journal) counts(log storage.LogID, index storage.Index) bool {
	switch {
	case j.dropped[log]:
		return false
	case !log.IsPages() || j.mayMissBatches():
		return true
	}
	owner, pages := j.logs[log.Owner()], j.logs[log]
	named := owner != nil && owner.checkpoint.file != 0
	return named && (pages == nil || pages.unnamed == 0 || index < pages.unnamed)
}

// endOfCounted is where the last group of s ends in which a batch counts; the end of the header:
// there is none.
func (j *Journal) endOfCounted(s *segmentState) (end int64, err error) {
	sc := segment.Scanner{File: &s.File, Buf: j.buf}
	end = segment.HeaderBytes
	for at := end; at < s.End; {
		if err := sc.Read(at); err != nil {
			return 0, err
		}
		if !sc.Whole {
			return s.End, nil
		}
		at += segment.RoundUp(sc.Group.Size, segment.SectorBytes)
		if slices.ContainsFunc(sc.Found, func(b segment.Found) bool { return j.counts(b.Header.Log, b.Header.Index) }) {
			end = at
		}
	}
	return end, nil
}

// giveUp makes a spare of a segment in which nothing counts.
func (j *Journal) giveUp(s *segmentState) error {
	if err := s.Disk.Close(); err != nil {
		return err
	}
	j.forget(s)
	j.segments = slices.DeleteFunc(j.segments, func(of *segmentState) bool { return of == s })
	if s.Size == j.o.SegmentBytes {
		j.spares = append(j.spares, s.spare())
	}
	return nil
}

// forget takes the batches of s out of their logs.
func (j *Journal) forget(s *segmentState) {
	for _, sp := range s.Spans {
		if l := j.logs[sp.Log]; l != nil {
			l.spans = slices.DeleteFunc(l.spans, func(of *segment.Span) bool { return of.Seg == &s.File })
		}
	}
}

// continueIn opens s for the next group, at end. What is behind is cleared first, so that it is
// never behind something new; the blocks are the file's own, so this takes no space. If a manifest
// names what is behind, another one says before that s ends here: else a crash would leave what
// looks like damage. A third one says that s is open. Without space for them s stays as it is.
func (j *Journal) continueIn(s *segmentState, end int64, named bool) error {
	if named {
		before, table := s.End, s.Table
		s.End, s.Table = end, segment.TableAt{}
		if err := j.writeManifest(); err != nil {
			s.End, s.Table = before, table
			return ignoreNoSpace(err)
		}
		j.forget(s)
		s.Spans, s.Latest, s.Batches = nil, nil, 0
		if err := j.scan(s, &Report{}); err != nil {
			return err
		}
		j.settleFindings()
		j.giveIndexesBack()
	}
	if s.damaged || s.Free(1, 1) < segment.GroupHeaderBytes {
		return nil
	}
	if err := j.clearFrom(s, s.End); err != nil {
		return err
	}
	s.safe = s.End
	j.open = s
	if !named {
		return nil
	}
	err := j.writeManifest()
	if err != nil {
		j.open = nil
	}
	return ignoreNoSpace(err)
}

// giveIndexesBack lets the next pages have the indexes of those that are gone and that no
// checkpoint names: a log of pages has no gap in a segment, unless damage has made it.
func (j *Journal) giveIndexesBack() {
	for _, l := range j.pageLogs() {
		if l.fault != nil || j.counts(l.id, math.MaxUint64) {
			continue
		}
		last := max(l.unnamed, 1) - 1
		for _, sp := range l.spans {
			last = max(last, sp.Last())
		}
		l.reached, l.safe, l.next = last, last, last+1
	}
}

// isLastOfAll reports whether s has the last batches of all logs of which it has any.
func (j *Journal) isLastOfAll(s *segmentState) bool {
	return !slices.ContainsFunc(s.Spans, func(sp *segment.Span) bool {
		l := j.logs[sp.Log]
		return l != nil && !sp.Log.IsPages() && !slices.ContainsFunc(s.Spans, func(of *segment.Span) bool {
			return of.Log == sp.Log && of.Last() == l.safe
		})
	})
}

// clearFrom fills the file of s with zeros from position at on, and syncs it.
func (j *Journal) clearFrom(s *segmentState, at int64) error {
	clear(j.buf)
	for at < s.Size {
		n, err := s.Disk.WriteAt(j.buf[:min(int64(len(j.buf)), s.Size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return s.Disk.Sync()
}
