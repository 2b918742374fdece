package journal

import (
	"errors"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Reclaim gives back every closed segment of which nothing is needed: each log in it is dropped, or has a durable
// checkpoint that covers its last batch there while live answers false for its batches first to last. It tells how
// many. Their files become spares, or are removed.
//
// Live is asked in the order of segments and logs. The caller answers true while a record in those batches is live
// (counting only safe settles) or leased.
func (j *Journal) Reclaim(live func(log place.LogID, first, last place.Index) bool) (removed int, err error) {
	if j.failed != nil {
		return 0, j.failed
	}
	var keep, free []*segment
	for _, s := range j.segments {
		if s == j.open || !j.dead(s, live) {
			keep = append(keep, s)
		} else {
			free = append(free, s)
		}
	}
	if len(free) == 0 {
		return 0, nil
	}
	if err := j.free(keep, free); err != nil {
		return 0, err
	}
	return len(free), nil
}

// dead reports whether nothing in s is needed.
func (j *Journal) dead(s *segment, live func(log place.LogID, first, last place.Index) bool) bool {
	if j.o.Mutant == MutantReclaimTooSoon {
		return true
	}
	if s.damaged && j.faulty() {
		return false
	}
	for _, sp := range s.spans {
		if j.dropped[sp.log] {
			continue
		}
		if l := j.logs[sp.log]; l.fault != nil || l.checkpoint.at < sp.last() || live(sp.log, sp.first, sp.last()) {
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

// free makes the journal's segments those of keep. The manifest says so before any file of free is touched.
func (j *Journal) free(keep, free []*segment) error {
	before := j.segments
	j.segments = keep
	room := j.o.reserve() + sparesAhead - len(j.spares)
	var gone []*segment
	for _, s := range free {
		if s.size == j.o.SegmentBytes && room > 0 && !s.distrusted {
			j.spares = append(j.spares, spare{file: s.file, size: s.size, nonce: s.nonce, named: true})
			room--
		} else {
			gone = append(gone, s)
		}
	}
	err := j.writeManifest()
	if err != nil && j.failed == nil { // no room for it: nothing has changed
		j.segments = before
		j.spares = slices.DeleteFunc(j.spares, func(sp spare) bool {
			return slices.ContainsFunc(free, func(s *segment) bool { return s.file == sp.file })
		})
		return err
	}
	for _, s := range free {
		for _, sp := range s.spans {
			if l := j.logs[sp.log]; l != nil {
				l.spans = slices.DeleteFunc(l.spans, func(of *span) bool { return of.seg == s })
			}
		}
	}
	if err != nil {
		return err
	}
	j.forgetDropped()
	for _, s := range free {
		s.f.Close() // read only by now: nothing can be lost by it
	}
	for _, s := range gone {
		j.discard(s.name())
	}
	return nil
}

// discard removes a file that the manifest no longer names. One that stays is tried again with the next, at the latest by
// Open: it is in nobody's way.
func (j *Journal) discard(name string) {
	j.garbage = append(j.garbage, name)
	j.garbage = slices.DeleteFunc(j.garbage, func(name string) bool {
		err := j.fs.Remove(j.path(name))
		return err == nil || errors.Is(err, vfs.ErrNotExist)
	})
}

// forgetDropped forgets the dropped logs of which no segment holds a batch; the next manifest does.
func (j *Journal) forgetDropped() {
	for log := range j.dropped {
		if !slices.ContainsFunc(j.segments, func(s *segment) bool {
			return slices.ContainsFunc(s.spans, func(sp *span) bool { return sp.log == log })
		}) {
			delete(j.dropped, log)
		}
	}
}

// Drop makes a log's batches and its checkpoint dead, durably: the log of a deleted virtual host. Its identifier is
// never used again. It also puts aside a fault of the log.
func (j *Journal) Drop(log place.LogID) error {
	if j.failed != nil {
		return j.failed
	}
	l := j.logs[log]
	if l == nil {
		return nil
	}
	delete(j.logs, log)
	j.dropped[log] = true
	if err := j.writeManifest(); err != nil {
		if j.failed == nil { // no room for it: nothing has changed
			j.logs[log] = l
			delete(j.dropped, log)
		}
		return err
	}
	j.dirty = slices.DeleteFunc(j.dirty, func(of *logState) bool { return of == l })
	j.forgetDropped()
	if l.checkpoint.file != 0 {
		j.discard(l.checkpoint.name())
	}
	return nil
}
