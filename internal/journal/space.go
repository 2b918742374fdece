package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Use says what room is wanted for.
type Use uint8

const (
	// Growing is for what makes the journal hold more: publishing, declaring. It leaves the reserve alone.
	Growing Use = iota
	// Draining is for settles, moves and rewriting, which let space be given back. It may take the reserve.
	Draining
)

// spare is a file filled with zeros or with what a reclaimed segment held, ready to be a segment.
type spare struct {
	file  uint64
	size  int64
	nonce uint64 // that it had last; only MutantOldNonce looks at it
	named bool   // the manifest on the disk may still call it a segment: not to be removed
}

func (s spare) name() string { return fileName(s.file, "segment") }

// making is a spare being filled with zeros, a step at a time.
type making struct {
	spare
	f    vfs.File
	done int64
}

// capacity is how many bytes of batches, overheads included, a segment file of that size takes.
func capacity(size int64) int64 {
	return size - segmentHeaderBytes - groupHeaderBytes - markBytes - tableBytes(1, 1) - pageBytes
}

// fits reports whether n more bytes of batches go into the open segment, however many batches they are.
func (j *Journal) fits(n int64) bool {
	return j.open != nil && groupHeaderBytes+n+pageBytes <= j.open.room(1, 1)
}

// Reserve makes sure that the next n bytes can be written without meeting the end of the disk: the sum over all batches
// that are to come of their data and Overhead. It counts nothing up: n is everything outstanding, each time. It may
// take as long as filling a segment with zeros does, if Prepare was not called often enough before.
//
// A Checkpoint on a full disk may take spare segments, all but one: reserve again after it.
//
// Errors: ErrNoSpace, when the disk is full, for Growing also when only the reserve is left; else as of a failed write
// to a file that holds nothing yet, and nothing has changed.
func (j *Journal) Reserve(n int, use Use) error {
	if j.failed != nil {
		return j.failed
	}
	keep := 0
	if use == Growing {
		keep = j.o.reserve()
	}
	need := int64(n) + int64(n)/(chunkBytes/8) // checksums of the chunks of large batches, and some
	for !j.enough(need, keep) {
		size := j.o.SegmentBytes
		if !j.hasSpare(need) && !j.fits(need) {
			size = j.sizeFor(need)
		}
		if err := j.makeSpare(size); err != nil {
			return err
		}
	}
	return nil
}

// enough reports whether n bytes find room and keep spares are left after that.
func (j *Journal) enough(n int64, keep int) bool {
	if j.fits(n) {
		return len(j.spares) >= keep
	}
	return j.hasSpare(n) && len(j.spares) >= max(keep, 1)+1 // one stays, should the manifest find no room
}

// hasSpare reports whether a spare takes n bytes.
func (j *Journal) hasSpare(n int64) bool {
	return slices.ContainsFunc(j.spares, func(s spare) bool { return capacity(s.size) >= n })
}

// sizeFor is the size of a segment that takes n bytes of batches.
func (j *Journal) sizeFor(n int64) int64 {
	return max(j.o.SegmentBytes, roundUp(n+(j.o.SegmentBytes-capacity(j.o.SegmentBytes)), vfs.BlockBytes))
}

// Prepare does one bounded step, at most 1 MiB of writing, towards having the reserve and two more spare segments, so
// that Reserve need not wait. More tells that there is more to do. ErrNoSpace is an alarm, as for Reserve.
func (j *Journal) Prepare() (more bool, err error) {
	if j.failed != nil {
		return false, j.failed
	}
	if len(j.spares) >= j.o.reserve()+sparesAhead && j.making == nil {
		return false, nil
	}
	if err := j.makeStep(j.o.SegmentBytes); err != nil {
		return false, err
	}
	return j.making != nil || len(j.spares) < j.o.reserve()+sparesAhead, nil
}

// sparesAhead is how many spares beyond the reserve are made ahead of need, and kept when segments are reclaimed.
const sparesAhead = 2

// makeSpare makes a spare of that size and finishes the one in the making, if there is one.
func (j *Journal) makeSpare(size int64) error {
	if j.making != nil && j.making.size < size {
		j.abandon()
	}
	for {
		if err := j.makeStep(size); err != nil {
			return err
		}
		if j.making == nil {
			return nil
		}
	}
}

// makeStep begins, continues or finishes a spare.
func (j *Journal) makeStep(size int64) error {
	if j.making == nil {
		sp := spare{file: j.nextFile, size: size}
		j.nextFile++
		f, err := j.fs.Create(j.path(sp.name()))
		if err != nil {
			return noSpace(err)
		}
		j.unsyncedNames = true
		j.making = &making{spare: sp, f: f}
	}
	m := j.making
	n := min(m.size-m.done, bufferBytes)
	err := m.f.Preallocate(m.done, n)
	if m.done += n; err == nil && m.done == m.size {
		if err = m.f.Sync(); err == nil {
			err = m.f.Close()
			j.spares = append(j.spares, m.spare)
			j.making = nil
		}
	}
	if err != nil {
		j.abandon()
	}
	return noSpace(err)
}

// abandon removes the spare in the making.
func (j *Journal) abandon() {
	if m := j.making; m != nil {
		j.making = nil
		m.f.Close()
		j.discard(m.name())
	}
}

// noSpace turns the disk's word for being full into the journal's.
func noSpace(err error) error {
	if errors.Is(err, vfs.ErrNoSpace) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// roll closes the open segment and opens a new one with room for a batch that takes n bytes.
func (j *Journal) roll(n int64) error {
	for !j.hasSpare(n) {
		if err := j.makeSpare(j.sizeFor(n)); err != nil {
			return err
		}
	}
	if err := j.closeSegments(); err != nil {
		return err
	}
	sp := j.takeSpare(n)
	f, err := j.fs.Open(j.path(sp.name()))
	if err != nil {
		return j.fail(err)
	}
	s := &segment{id: j.nextID, file: sp.file, nonce: mix(j.o.Entropy + j.nextID), size: sp.size, f: f, end: segmentHeaderBytes}
	if j.o.Mutant == MutantOldNonce && sp.nonce != 0 {
		s.nonce = sp.nonce
	}
	s.seed = seedOf(s.nonce)
	j.nextID++
	j.segments = append(j.segments, s)
	j.open = s
	clear(j.buf[:segmentHeaderBytes])
	putSegmentHeader(j.buf, s)
	if _, err := f.WriteAt(j.buf[:segmentHeaderBytes], 0); err != nil {
		return j.fail(err)
	}
	if err := j.writeManifest(); err != nil {
		return j.fail(err)
	}
	return nil
}

// closeSegments gives a table to every segment that needs one, and syncs it: the open one, and the last one of an
// earlier run.
func (j *Journal) closeSegments() error {
	for _, s := range j.segments {
		if s.table.at != 0 || s.damaged || s.distrusted {
			continue
		}
		t, err := s.writeTable()
		if err == nil && j.o.Mutant != MutantSkipSync {
			if err = s.f.Sync(); j.o.Mutant == MutantTrustAfterFailedSync {
				err = nil
			}
		}
		if err != nil {
			s.distrusted = true
			return j.fail(fmt.Errorf("%s: %w", s.name(), err))
		}
		if s == j.open {
			j.settle()
			j.open = nil
		}
		s.table, s.latest = t, nil
		for _, sp := range s.spans {
			sp.entries = nil
		}
	}
	return nil
}

// takeSpare takes the smallest spare that holds n bytes; there is one. Of equals the newest recycled one: what was
// written not long ago is likely to be near the disk's heart.
func (j *Journal) takeSpare(n int64) spare {
	best := -1
	for i, s := range j.spares {
		if capacity(s.size) >= n && (best < 0 || s.size < j.spares[best].size) {
			best = i
		}
	}
	s := j.spares[best]
	j.spares = slices.Delete(j.spares, best, best+1)
	return s
}

// mix spreads the bits of n, one to one (the finalizer of SplitMix64).
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
