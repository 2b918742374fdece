package journal

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Live tells how many bytes of records in the batches first to last of a log are needed: because something that is or
// may become safe refers to them (counting only safe settles), or somebody is reading them. An estimate, but zero only
// if there are none. A log of pages is asked for like any other; a log that was dropped is not.
type Live func(log storage.LogID, first, last storage.Index) (bytes int64)

// Reclaim gives back every closed segment of which nothing is needed: each log in it is dropped, or live answers zero
// for its batches there and they are covered by its durable checkpoint (a log of pages needs none). It tells how many.
// Their files become spares, or are removed. Live is asked in the order of segments.
func (j *Journal) Reclaim(live Live) (removed int, err error) {
	if j.failed != nil {
		return 0, j.failed
	}
	var free []*segmentState
	for s := range j.oneByOne() {
		if s != j.open && !s.victim && j.dead(s, live) {
			free = append(free, s)
		}
	}
	if len(free) == 0 {
		return 0, nil
	}
	if err := j.free(free, nil); err != nil {
		return 0, err
	}
	return len(free), nil
}

// oneByOne goes through the segments there are now, and lets others in between, for asking about many takes long.
func (j *Journal) oneByOne() iter.Seq[*segmentState] {
	return func(yield func(*segmentState) bool) {
		for i, s := range slices.Clone(j.segments) {
			if i%16 == 15 {
				_ = j.onDisk(func() error { return nil })
			}
			if !yield(s) {
				return
			}
		}
	}
}

// dead reports whether nothing in s is needed.
func (j *Journal) dead(s *segmentState, live Live) bool {
	if !j.covered(s) {
		return false
	}
	for _, sp := range s.Spans {
		if !j.dropped[sp.Log] && live(sp.Log, sp.First, sp.Last()) != 0 {
			return false
		}
	}
	return true
}

// covered reports whether a restart does without the batches in s, but for records that are live. What is left of
// damaged segments is evidence as long as a log has a fault; of a rewritten one nobody knows what is missing.
func (j *Journal) covered(s *segmentState) bool {
	if s.damaged && (s.Rewritten || j.faulty()) || j.isBeingCut(s) {
		return false
	}
	for _, sp := range s.Spans {
		if j.dropped[sp.Log] {
			continue
		}
		if l := j.logs[sp.Log]; l.fault != nil || !sp.Log.IsPages() && l.checkpoint.at < sp.Last() {
			return false
		}
	}
	return true
}

// faulty reports whether any log has a fault; as long as one does, what is left of damaged segments is evidence.
func (j *Journal) faulty() bool {
	for _, l := range j.logs {
		if l.fault != nil {
			return true
		}
	}
	return false
}

// free takes segments out of the journal, and puts one that is new in their place, if there is one. The manifest says
// so before any file of theirs is touched.
func (j *Journal) free(free []*segmentState, instead *segmentState) error {
	j.segments = slices.DeleteFunc(slices.Clone(j.segments), func(s *segmentState) bool {
		return slices.Contains(free, s)
	})
	if instead != nil {
		j.segments = append(j.segments, instead)
	}
	sortSegments(j.segments)
	_, kept, _ := j.stocked()
	space := kept - j.ready()
	var gone []*segmentState
	var bare []spare // in the place of which others stay: these were written
	for _, s := range free {
		keeps := s.Size == j.o.SegmentBytes && !s.distrusted && !j.isLeased(s.Name())
		switch i := j.toFill(); {
		case keeps && space > 0:
			space--
		case keeps && i >= 0:
			bare = append(bare, j.spares[i])
			j.spares = slices.Delete(j.spares, i, i+1)
		default:
			gone = append(gone, s)
			continue
		}
		j.spares = append(j.spares, spare{file: s.Number, size: s.Size, nonce: s.Nonce, named: true})
	}
	err := j.writeManifest()
	if errors.Is(err, ErrNoSpace) { // no space for it: nothing has changed
		j.segments = slices.DeleteFunc(j.segments, func(s *segmentState) bool { return s == instead })
		j.segments = append(j.segments, free...)
		sortSegments(j.segments)
		j.spares = slices.DeleteFunc(j.spares, func(sp spare) bool {
			return slices.ContainsFunc(free, func(s *segmentState) bool { return s.Number == sp.file })
		})
		j.spares = append(j.spares, bare...)
		return err
	}
	j.full = slices.DeleteFunc(j.full, func(s *segmentState) bool { return slices.Contains(free, s) })
	for _, s := range free {
		for _, sp := range s.Spans {
			if l := j.logs[sp.Log]; l != nil {
				l.spans = slices.DeleteFunc(l.spans, func(of *segment.Span) bool { return of.Seg == &s.File })
			}
		}
	}
	if instead != nil {
		j.insert(instead)
	}
	if err != nil {
		return err
	}
	j.forgetDropped()
	for _, s := range free {
		s.Disk.Close() // read only by now: nothing can be lost by it
	}
	for _, s := range gone {
		j.discard(s.Name())
	}
	for _, s := range bare {
		j.discard(s.name())
	}
	j.allowanceRefused = false
	j.removed = min(j.removed+len(gone), removedMost)
	return nil
}

// removedMost is how many files stay bare in the place of removed ones, at most, before others are filled with zeros:
// who purges much will not write as much at once, and filling all of those would double the writing.
const removedMost = 4

// sortSegments puts them into the order of their ids.
func sortSegments(segments []*segmentState) {
	slices.SortFunc(segments, func(a, b *segmentState) int { return cmp.Compare(a.ID, b.ID) })
}

// discard removes a file that the manifest no longer names. One that stays is tried again with the next, at the latest
// by Open: it is in nobody's way.
func (j *Journal) discard(name string) {
	j.garbage = append(j.garbage, name)
	j.removeGarbage()
}

// removeGarbage removes files that nothing names any more, but for those that are being copied.
func (j *Journal) removeGarbage() {
	var stay, gone []string
	for _, name := range j.garbage {
		if j.isLeased(name) {
			stay = append(stay, name)
		} else {
			gone = append(gone, name)
		}
	}
	_ = j.onDisk(func() error {
		for _, name := range gone {
			if err := j.fs.Remove(j.path(name)); err != nil && !errors.Is(err, vfs.ErrNotExist) {
				stay = append(stay, name)
			}
		}
		return nil
	})
	j.garbage = stay
}

// forgetDropped forgets the dropped logs of which no segment holds a batch; the next manifest does.
func (j *Journal) forgetDropped() {
	for log := range j.dropped {
		if !slices.ContainsFunc(j.segments, func(s *segmentState) bool {
			return slices.ContainsFunc(s.Spans, func(sp *segment.Span) bool { return sp.Log == log })
		}) {
			delete(j.dropped, log)
		}
	}
}

// Drop makes a log's batches and its checkpoint dead, durably, and those of its log of pages: the logs of a deleted
// virtual host. Their identifiers are never used again. It also puts aside their faults.
func (j *Journal) Drop(log storage.LogID) error {
	if j.failed != nil {
		return j.failed
	}
	var gone []*logState
	for _, id := range []storage.LogID{log, log.Pages()} {
		if l := j.logs[id]; l != nil {
			gone = append(gone, l)
			delete(j.logs, id)
			j.dropped[id] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	j.weigh()
	if err := j.writeManifest(); err != nil {
		if errors.Is(err, ErrNoSpace) { // nothing has changed
			for _, l := range gone {
				j.logs[l.id] = l
				delete(j.dropped, l.id)
			}
			j.weigh()
		}
		return err
	}
	j.dirty = slices.DeleteFunc(j.dirty, func(l *logState) bool { return slices.Contains(gone, l) })
	j.forgetDropped()
	for _, l := range gone {
		if l.checkpoint.file != 0 {
			j.discard(l.checkpoint.name())
		}
	}
	return nil
}

// Shrink removes the spares beyond those that Prepare would make, which are kept in traffic, and tells how many.
func (j *Journal) Shrink() (removed int, err error) {
	if j.failed != nil {
		return 0, j.failed
	}
	wanted, _, _ := j.stocked()
	n := min(j.ready()-wanted, len(j.spares)-1)
	if n <= 0 {
		return 0, nil
	}
	before := slices.Clone(j.spares)
	slices.SortStableFunc(before, func(a, b spare) int { // bare ones go first
		switch {
		case a.bare() == b.bare():
			return 0
		case b.bare():
			return -1
		}
		return 1
	})
	gone := before[len(before)-n:]
	j.spares = slices.Clone(before[:len(before)-n])
	if err := j.writeManifest(); err != nil {
		if j.failed == nil {
			j.spares = append(j.spares, gone...)
		}
		return 0, err
	}
	for _, s := range gone {
		j.discard(s.name())
	}
	return n, nil
}
