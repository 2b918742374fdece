package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Use says what room is wanted for.
type Use uint8

// The uses, in the order in which they stop when the disk is full. Each leaves what those behind it need until space is
// given back: see keep.
const (
	// Growing is for what makes the journal hold more: publishing, declaring. It leaves the whole reserve alone.
	Growing Use = iota
	// Moving is for dead letters that move, and for whatever else writes much and gives nothing back.
	Moving
	// Draining is for settles, purges, deletions: the next checkpoint lets go of all that they write.
	Draining
	// Committed is for batches that were decided already, and for the pages of a checkpoint. It leaves the files in whose
	// place a checkpoint and a manifest can be written.
	Committed
)

// keep is how many of the segments that wait to be written are not for a use. A checkpoint that may be larger than its
// allowance takes a spare, or more. In front of that each use leaves one step to the next: what may be on its way, a segment
// at least, when those who decide learn that there is no more room for it.
func (j *Journal) keep(use Use) int {
	if j.o.ReserveBytes < 0 {
		return 0
	}
	least, step := int(j.checkpointBytes()/j.o.SegmentBytes), j.step()
	if use == Growing {
		return max(j.o.reserve(), least+1+2*step+1)
	}
	if j.lacksAllowance() {
		least++
	}
	switch {
	case use == Committed:
		return least
	case j.o.Mutant == MutantOneReserve:
		return 0
	case use == Moving:
		return least + 2*step
	}
	return least + step
}

// step is how many segments a use leaves to the next.
func (j *Journal) step() int {
	if j.o.ReserveBytes < 0 {
		return 0
	}
	return int(1 + max(j.o.InFlight-1, 0)/capacity(j.o.SegmentBytes))
}

// checkpointBytes is what the checkpoints take that there are: about as much as the next ones do, which are written before
// these go.
func (j *Journal) checkpointBytes() (size int64) {
	for _, l := range j.logs {
		size += l.checkpoint.size
	}
	return size
}

// Room tells which use comes first among those for which there is room now, without another file; Committed: for nothing
// that is not decided yet.
func (j *Journal) Room() Use {
	for use := Growing; use < Committed; use++ {
		if j.ready() >= j.keep(use) {
			return use
		}
	}
	// What is left of the open segment is for draining, too, but for what may be on its way and the pages of a checkpoint.
	if j.open == nil && j.ready() > 0 || j.open != nil && j.open.room(1, 1) >= j.o.InFlight+j.o.SegmentBytes/4 {
		return Draining
	}
	return Committed
}

// spare is a file filled with zeros or with what a reclaimed segment held, ready to be a segment.
type spare struct {
	file  uint64
	size  int64
	nonce uint64 // that it had last; only MutantOldNonce looks at it
	named bool   // the manifest on the disk may still call it a segment: not to be removed
}

func (s spare) name() string { return fileName(s.file, "segment") }

// making is a spare being filled with zeros, a step at a time, or but allocated.
type making struct {
	spare
	f        vfs.File
	done     int64
	unfilled bool // in the place of one removed not long ago: filling all of those would double the writing; or in a hurry
}

// capacity is how many bytes of batches, overheads included, a segment file of that size takes.
func capacity(size int64) int64 {
	return size - segmentHeaderBytes - groupHeaderBytes - markBytes - tableBytes(1, 1) - pageBytes
}

// fits reports whether n more bytes of batches go into the open segment, however many batches they are.
func (j *Journal) fits(n int64) bool {
	return j.open != nil && groupHeaderBytes+n+pageBytes <= j.open.room(1, 1)
}

// Lacking is how many bytes of the disk it takes until there is room for Growing.
func (j *Journal) Lacking() int64 {
	return max(0, int64(j.keep(Growing)-j.ready())) * j.o.SegmentBytes
}

// Reserve makes sure that the next n bytes can be written without meeting the end of the disk: the sum over all batches
// that are to come of their data and Overhead. It counts nothing up: n is everything outstanding, each time. It may
// take as long as filling a segment with zeros does, if Prepare was not called often enough before, and does nothing
// otherwise; it both writes and keeps house.
//
// A Checkpoint on a full disk may take spare segments, and what is named ahead: reserve again after it.
//
// Errors: ErrNoSpace, when the disk is full and no more is left than what the uses behind this one need; else as of a
// failed write to a file that holds nothing yet, and nothing has changed.
func (j *Journal) Reserve(n int, use Use) error {
	if j.failed != nil {
		return j.failed
	}
	keep := j.keep(use)
	need := int64(n) + int64(n)/(chunkBytes/8) // checksums of the chunks of large batches, and some
	for !j.enough(need, keep, use) {
		if err := j.makeRoom(need, keep, use); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom does one step towards having enough. Of the last two spares only one can be named: the other is for the
// manifest, should that find no room.
func (j *Journal) makeRoom(n int64, keep int, use Use) error {
	if keep = max(keep, j.aside()); use == Committed {
		keep = j.aside()
	}
	switch fits := j.fits(n) || j.takesNext(n); {
	case !fits && !j.hasSpare(n):
		return j.makeSpare(j.sizeFor(n))
	case fits || j.ready() < keep+1:
		return j.makeSpare(j.o.SegmentBytes)
	case len(j.ahead) > 0:
		return j.unname()
	}
	return j.name(n)
}

// aside is how many spares are not to be named ahead: a manifest and a checkpoint may need them.
func (j *Journal) aside() int {
	switch {
	case j.o.ReserveBytes < 0:
		return 1
	case j.open == nil: // nothing can be written without
		return 0
	}
	return j.keep(Committed)
}

// enough reports whether n bytes find room and keep segments are left after that. What was named ahead before is for
// what is Committed.
func (j *Journal) enough(n int64, keep int, use Use) bool {
	switch fits := j.fits(n); {
	case use == Committed:
		return fits || j.takesNext(n)
	case fits:
		return j.ready() >= keep
	}
	return j.takesNext(n) && j.ready() > keep
}

// takesNext reports whether the next segment takes n bytes.
func (j *Journal) takesNext(n int64) bool { return len(j.ahead) > 0 && capacity(j.ahead[0].size) >= n }

// ready counts the segments that wait to be written, ahead or spare. Smaller ones of an Open with other Options count for
// what they hold.
func (j *Journal) ready() int {
	n, small := 0, int64(0)
	count := func(size int64) {
		if size < j.o.SegmentBytes {
			small += size
		} else {
			n++
		}
	}
	for _, s := range j.ahead {
		count(s.size)
	}
	for _, s := range j.spares {
		count(s.size)
	}
	return n + int(small/j.o.SegmentBytes)
}

// SpareRoom is how many bytes of the files that wait to be written are beyond the reserve: room on the disk that is free to
// whoever publishes.
func (j *Journal) SpareRoom() int64 {
	return int64(max(0, j.ready()-j.keep(Growing))) * j.o.SegmentBytes
}

// hasSpare reports whether a spare takes n bytes.
func (j *Journal) hasSpare(n int64) bool {
	return slices.ContainsFunc(j.spares, func(s spare) bool { return capacity(s.size) >= n })
}

// sizeFor is the size of a segment that takes n bytes of batches.
func (j *Journal) sizeFor(n int64) int64 {
	return max(j.o.SegmentBytes, roundUp(n+(j.o.SegmentBytes-capacity(j.o.SegmentBytes)), vfs.BlockBytes))
}

// Stock is how many segments shall wait to be written, ahead or spare.
type Stock uint8

// Stocks.
const (
	None  Stock = iota // as there are: no file is made
	Least              // what traffic needs ahead of it: where the disk has room enough to put off the reserve
	Rest               // the reserve, with the open segment: for a log that rests where others do not fill the disk
	Ample              // the reserve and two more, so that traffic does not live on the reserve
)

// stocked is how many segments that wait to be written are wanted, and how many of those that are given back are kept for
// that. What draining takes is ready at all times: another process may fill the disk within a moment.
func (j *Journal) stocked(s Stock) (wanted, kept int) {
	reserve, ahead := j.keep(Growing), 2+j.step()
	switch {
	case s == Ample: // what comes and what goes is not in step: else one would be removed and soon another filled with zeros
		return reserve + 2, reserve + 5
	case s == Rest:
		return max(reserve-1, ahead), max(reserve-1, ahead)
	case s == Least: // what is given back is written again: making others instead would cost the traffic its confirms
		return ahead, ahead + 3
	}
	return 0, ahead
}

// Prepare does one bounded step, at most 1 MiB of writing, of what writing will want and would have to wait for: it names
// segments ahead, writes the table of one that is full, fills spares. More tells that there is more to do until the stock is
// as wanted. What is given back later is kept for the same stock. ErrNoSpace is an alarm, as for Reserve.
func (j *Journal) Prepare(s Stock) (more bool, err error) {
	if j.failed != nil {
		return false, j.failed
	}
	if s != None {
		j.stock = s
	}
	switch j.nextStep(s) {
	case stepName:
		err = j.name(0)
	case stepClose:
		err = j.closeOut()
	case stepRoom:
		err = j.makeRoomAhead()
	case stepMake:
		err = j.makeStep(j.o.SegmentBytes)
	}
	return err == nil && j.nextStep(s) != stepNone, err
}

// Unprepared reports whether Prepare would have something to do.
func (j *Journal) Unprepared(s Stock) bool { return j.failed == nil && j.nextStep(s) != stepNone }

// step is what Prepare may have to do.
type step uint8

const (
	stepNone step = iota
	stepName
	stepClose
	stepRoom
	stepMake
)

// nextStep is what has to be done next for so many segments to be ready. The last spares are left for a checkpoint and a
// manifest that find no room, but where there is room enough.
func (j *Journal) nextStep(s Stock) step {
	wanted, _ := j.stocked(s)
	spare := len(j.spares) > j.aside()
	switch {
	case len(j.ahead) == 0 && (spare || s == Least && len(j.spares) > 0):
		return stepName
	case len(j.full) > 0:
		return stepClose
	case spare && len(j.ahead) < aheadMost:
		return stepName
	case s != None && j.hasToMakeRoom():
		return stepRoom
	case j.making != nil && s != None || j.ready() < wanted:
		return stepMake
	}
	return stepNone
}

func (j *Journal) hasToMakeRoom() bool {
	a, _ := j.lacksRoom()
	return a != nil
}

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

// LacksReserve reports whether the reserve has to be complete and is not: filling files with zeros is no faster than traffic,
// so these are only allocated. Else who fills the disk would find a broker without a reserve.
func (j *Journal) LacksReserve() bool { return j.stock == Ample && j.ready() < j.keep(Growing) }

// makeStep begins, continues or finishes a spare.
func (j *Journal) makeStep(size int64) error {
	m := j.making
	if m == nil {
		m = &making{spare: spare{file: j.nextFile, size: size}, unfilled: j.removed > 0 || j.LacksReserve()}
		j.nextFile++
		j.removed = max(j.removed-1, 0)
	}
	before := m.done
	err := j.beside(func() error { return m.step(j.fs, j.path(m.name())) })
	if !m.unfilled {
		j.written.Zeros += m.done - before
	}
	if m.f != nil {
		j.making, j.unsyncedNames = m, true
	}
	switch {
	case err != nil:
		j.abandon()
	case m.done == m.size:
		j.roomRefused = false
		j.spares = append(j.spares, m.spare)
		j.making = nil
	}
	return noSpace(err)
}

// step fills the next of the file, and closes it when it is full. Room for all of it is asked for first: nothing is filled
// for a file that has no room.
func (m *making) step(fs vfs.FS, path string) (err error) {
	if m.f == nil {
		if m.f, err = fs.Create(path); err != nil {
			return err
		}
		if !m.unfilled && m.size > bufferBytes {
			if err = m.f.Allocate(0, m.size); err != nil {
				return err
			}
		}
	}
	n, grow := m.size-m.done, m.f.Allocate
	if !m.unfilled {
		n, grow = min(n, bufferBytes), m.f.Preallocate
	}
	if err = grow(m.done, n); err != nil {
		return err
	}
	if m.done += n; m.done < m.size {
		return nil
	}
	if err = m.f.Sync(); err != nil {
		return err
	}
	return m.f.Close()
}

// abandon removes the spare in the making.
func (j *Journal) abandon() {
	if m := j.making; m != nil {
		j.making = nil
		m.f.Close() // a second time if the last step failed: nobody waits for what it says
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
