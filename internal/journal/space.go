package journal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Use says what space is wanted for.
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
	// Committed is for batches that were decided already, and for the pages of a checkpoint. It leaves the files in
	// whose place a checkpoint and a manifest can be written.
	Committed
)

// keep is how many of the segments that wait to be written are not for a use. A checkpoint that may be larger than its
// allowance takes a spare, or more. In front of that each use leaves one step to the next: what may be on its way, a
// segment at least, when those who decide learn that there is no more space for it.
func (j *Journal) keep(use Use) int {
	if j.o.ReserveBytes < 0 {
		return 0
	}
	least, step := int(j.checkpointBytes/j.o.SegmentBytes), j.step()
	if use == Growing {
		return max(j.o.reserve(), least+1+2*step+1)
	}
	if j.lacksAllowance() {
		least++
	}
	switch use {
	case Committed:
		return least
	case Moving:
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

// weigh sums up the checkpoints that there are. The next ones take about as much, and are written before these go. It
// is called when a checkpoint was named or dropped: keep is asked for each group.
func (j *Journal) weigh() {
	j.checkpointBytes, j.largestCheckpoint = 0, 0
	for _, l := range j.logs {
		j.checkpointBytes += l.checkpoint.size
		if l.checkpoint.file != 0 {
			j.largestCheckpoint = max(j.largestCheckpoint, cmp.Or(l.used, l.checkpoint.size))
		}
	}
}

// weighStates is weigh for a start. A checkpoint that was written on a full disk fills up a file that is larger than
// its state: only its label says how large that is. The labels of a few are read, until no other one can be the
// largest. One that cannot be read counts for its file: whoever loads it says why.
func (j *Journal) weighStates() {
	largest := int64(0)
	for _, l := range slices.SortedFunc(maps.Values(j.logs), func(a, b *logState) int {
		return cmp.Or(cmp.Compare(b.checkpoint.size, a.checkpoint.size), cmp.Compare(a.id, b.id))
	}) {
		if l.checkpoint.size <= largest {
			break
		}
		l.used = j.usedBy(l.checkpoint)
		largest = max(largest, l.used)
	}
	j.weigh()
}

// usedBy is how many bytes the state in the file of c takes, with its label.
func (j *Journal) usedBy(c checkpoint) int64 {
	label := make([]byte, labelBytes)
	f, err := j.fs.Open(j.path(c.name()))
	if err != nil {
		return c.size
	}
	defer f.Close() // only read
	before := max(0, c.size-labelBytes)
	if _, err := f.ReadAt(label, before); err != nil || !isLabel(label, int(before)) {
		return c.size
	}
	return int64(le.Uint64(label[16:])) + labelBytes
}

// SpaceFor returns which use comes first among those for which there is space now, without another file; Committed: for
// nothing that is not decided yet.
func (j *Journal) SpaceFor() Use {
	for use := Growing; use < Committed; use++ {
		if j.ready() >= j.keep(use) {
			return use
		}
	}
	// What is left of the open segment is for draining, too, but for what may be on its way and the pages of a
	// checkpoint.
	if j.open == nil && j.ready() > 0 || j.open != nil && j.open.Free(1, 1) >= j.o.InFlight+j.o.SegmentBytes/4 {
		return Draining
	}
	return Committed
}

// spare is a file that is ready to be a segment. Its blocks are its own, whatever is in it: zeros, what a reclaimed
// segment held, or nothing yet.
type spare struct {
	file  uint64
	size  int64
	nonce uint64 // that it had last, or filledNonce; zero: it is bare
	named bool   // the manifest on the disk may still call it a segment: not to be removed
}

// filledNonce is for spares that were filled with zeros.
const filledNonce = 1

func (s spare) name() string { return segment.FileName(s.file, "segment") }

// bare reports whether s is only allocated. This is quick, so it is how the reserve is made. But the file system notes
// each first write to such a file, so traffic takes others first.
func (s spare) bare() bool { return s.nonce == 0 }

// filling is a spare that is being filled with zeros, a step at a time. The manifest names it like the other spares.
type filling struct {
	spare
	f    vfs.File
	done int64
}

// capacity is how many bytes of batches, overheads included, a segment file of that size takes.
func capacity(size int64) int64 {
	return size - segment.HeaderBytes - segment.GroupHeaderBytes - segment.MarkBytes -
		segment.PlainTableBytes(1, 1) - segment.PageBytes
}

// fits reports whether n more bytes of batches go into the open segment, however many batches they are.
func (j *Journal) fits(n int64) bool {
	return j.open != nil && segment.GroupHeaderBytes+n+segment.PageBytes <= j.open.Free(1, 1)
}

// Reserve makes sure that the next n bytes can be written without meeting the end of the disk: the sum over all batches
// that are to come of their data and Overhead. It counts nothing up: n is everything outstanding, each time. If Prepare
// was not called often enough before, it makes files; it both writes and does maintenance.
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
	need := int64(n) + int64(n)/(segment.ChunkBytes/8) // checksums of the chunks of large batches, and some
	for !j.enough(need, keep, use) {
		if err := j.freeSpace(need, keep, use); err != nil {
			return err
		}
	}
	return nil
}

// freeSpace does one step towards having enough. Of the last two spares only one can be named: the other is for the
// manifest, should that find no space.
func (j *Journal) freeSpace(n int64, keep int, use Use) error {
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

// enough reports whether n bytes find space and keep segments are left after that. What was named ahead before is for
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
func (j *Journal) takesNext(n int64) bool { return len(j.ahead) > 0 && capacity(j.ahead[0].Size) >= n }

// ready counts the segments that wait to be written, ahead or spare. Smaller ones of an Open with other Options count
// for what they hold.
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
		count(s.Size)
	}
	for _, s := range j.spares {
		count(s.size)
	}
	return n + int(small/j.o.SegmentBytes)
}

// SpareBytes is how many bytes of the files that wait to be written are beyond the reserve: space on the disk that is
// free to whoever publishes.
func (j *Journal) SpareBytes() int64 {
	return int64(max(0, j.ready()-j.keep(Growing))) * j.o.SegmentBytes
}

// hasSpare reports whether a spare takes n bytes.
func (j *Journal) hasSpare(n int64) bool {
	return slices.ContainsFunc(j.spares, func(s spare) bool { return capacity(s.size) >= n })
}

// sizeFor is the size of a segment that takes n bytes of batches.
func (j *Journal) sizeFor(n int64) int64 {
	return max(j.o.SegmentBytes, segment.RoundUp(n+(j.o.SegmentBytes-capacity(j.o.SegmentBytes)), vfs.BlockBytes))
}

// stocked is how many segments that wait to be written are wanted, beyond how many one that is given back is removed,
// and how many should not be bare. It is the same whatever space the disk has: another process may fill it within a
// moment. Two more than the reserve are wanted, so that traffic does not live on that. Three more are kept: what comes
// and what goes is not in step, and making other files would cost the traffic its confirms.
func (j *Journal) stocked() (wanted, kept, filled int) {
	reserve := j.keep(Growing)
	return reserve + 2, reserve + 5, 2 + j.step()
}

// Prepare does one bounded step of what writing will want and would have to wait for: it names segments ahead, writes
// the table of one that is full, and if make is set, makes a spare or writes at most 1 MiB of zeros to one. More tells
// that there is more to do. ErrNoSpace is an alarm, as for Reserve.
func (j *Journal) Prepare(make bool) (more bool, err error) {
	if j.failed != nil {
		return false, j.failed
	}
	switch j.nextStep(make) {
	case stepName:
		err = j.name(0)
	case stepClose:
		err = j.closeOut()
	case stepAllowance:
		err = j.makeAllowances()
	case stepMake:
		err = j.makeSpare(j.o.SegmentBytes)
	case stepFill:
		err = j.fill()
	case stepFirst:
		j.makeFirst()
	case stepExchange:
		if err = j.unname(); err == nil {
			err = j.name(0)
		}
	}
	return err == nil && j.nextStep(make) != stepNone, err
}

// Unprepared reports whether Prepare would have something to do.
func (j *Journal) Unprepared() bool { return j.failed == nil && j.nextStep(true) != stepNone }

// step is what Prepare may have to do.
type step uint8

const (
	stepNone step = iota
	stepName
	stepClose
	stepAllowance
	stepMake
	stepFill
	stepFirst
	stepExchange
)

// nextStep is what has to be done next. The last spares are left for a checkpoint and a manifest that find no space.
func (j *Journal) nextStep(make bool) step {
	wanted, _, filled := j.stocked()
	spare := len(j.spares) > j.aside()
	switch {
	case make && j.unopened:
		return stepFirst
	case len(j.ahead) == 0 && spare:
		return stepName
	case len(j.full) > 0 && len(j.unsafeCuts) == 0: // else its spans may be as they were before
		return stepClose
	case make && spare && j.exchanges():
		return stepExchange
	case make && j.filling != nil && !j.LacksReserve():
		return stepFill
	case make && j.ready() >= wanted && j.filled() < filled && j.removed == 0 && j.toFill() >= 0:
		return stepFill
	case spare && len(j.ahead) < aheadMost:
		return stepName
	case make && j.needsAllowance():
		return stepAllowance
	case make && j.ready() < wanted:
		return stepMake
	}
	return stepNone
}

// exchanges reports whether a bare segment is ahead though a spare waits that is not bare: the
// first ones of a directory are named before any is filled.
func (j *Journal) exchanges() bool {
	i := j.bestSpare(0)
	if i < 0 || j.spares[i].bare() {
		return false
	}
	free := j.ahead[min(j.needed, len(j.ahead)):]
	return slices.ContainsFunc(free, func(s *segmentState) bool { return s.bare && s.Size >= j.spares[i].size })
}

func (j *Journal) needsAllowance() bool {
	a, _ := j.missingAllowance()
	return a != nil
}

// LacksReserve reports whether the reserve is not complete. Nothing that grows may be decided then: who fills the disk
// would find a broker without a reserve.
func (j *Journal) LacksReserve() bool { return j.ready() < j.keep(Growing) }

// makeSpare makes a bare spare of that size. If one is being filled, that is a spare again instead.
func (j *Journal) makeSpare(size int64) error {
	if j.filling != nil {
		j.stopFilling()
		return nil
	}
	sp, made := spare{file: j.nextFile, size: size}, false
	j.nextFile++
	err := j.onDisk(func() error {
		f, err := j.fs.Create(j.path(sp.name()))
		if err != nil {
			return err
		}
		made = true
		return j.allocate(f, size)
	})
	j.unsyncedNames = j.unsyncedNames || made
	switch {
	case err == nil:
		j.allowanceRefused, j.unsyncedNames = false, false
		j.spares = append(j.spares, sp)
	case made:
		j.discard(sp.name())
	}
	return noSpace(err)
}

// firstBytes is the size of the first segment of a new directory whose others are larger. It is filled with zeros at
// once, and while it is written, one of the others is: of bare files each sync takes longer.
const firstBytes = 4 << 20

// makeFirst makes the spare that is to be the first segment of a new directory. If that cannot be,
// the first one is like the others, and making those tells why.
func (j *Journal) makeFirst() {
	j.unopened = false
	sp := spare{file: j.nextFile, size: firstBytes, nonce: filledNonce}
	j.nextFile++
	err := j.onDisk(func() error {
		f, err := j.fs.Create(j.path(sp.name()))
		if err != nil {
			return err
		}
		if err = f.Preallocate(0, sp.size); err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
	j.unsyncedNames = true
	if err == nil {
		j.spares = append(j.spares, sp)
	} else {
		j.discard(sp.name())
	}
}

// allocate gives a file that was just made its blocks, and closes it. Its name is safe, too: what the power takes with
// a name, another process has by the next start, and the reserve would have counted what is not there.
func (j *Journal) allocate(f vfs.File, size int64) error {
	err := f.Allocate(0, size)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = j.fs.SyncDir(j.o.Dir)
	}
	return err
}

// keepWhole makes sure that the file of a spare has all its blocks.
func (j *Journal) keepWhole(name string, size int64) error {
	return j.onDisk(func() error {
		f, err := j.fs.Open(j.path(name))
		if err != nil {
			return err
		}
		if err = f.Allocate(0, size); err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
}

// filled counts the segments that wait to be written and are not bare.
func (j *Journal) filled() (n int) {
	for _, s := range j.ahead {
		if !s.bare {
			n++
		}
	}
	for _, s := range j.spares {
		if !s.bare() {
			n++
		}
	}
	return n
}

// toFill is the spare to be filled next; negative: none.
func (j *Journal) toFill() int {
	return slices.IndexFunc(j.spares, func(s spare) bool {
		return s.bare() && !s.named && s.size == j.o.SegmentBytes && !j.isLeased(s.name())
	})
}

// fill begins, continues or finishes to fill a spare with zeros. It takes no space of the disk.
func (j *Journal) fill() error {
	if j.filling == nil {
		i := j.toFill()
		j.filling = &filling{spare: j.spares[i]}
		j.spares = slices.Delete(j.spares, i, i+1)
	}
	m := j.filling
	before := m.done
	err := j.onDisk(func() error { return m.step(j.fs, j.path(m.name())) })
	j.written.Zeros += m.done - before
	if m.done == m.size || errors.Is(err, vfs.ErrNoSpace) { // a file system that writes elsewhere: it stays as it is
		err, m.nonce = nil, filledNonce
	}
	if err != nil || !m.bare() {
		j.stopFilling()
	}
	return err
}

// step fills the next of the file.
func (m *filling) step(fs vfs.FS, path string) (err error) {
	if m.f == nil {
		if m.f, err = fs.Open(path); err != nil {
			return err
		}
	}
	n := min(m.size-m.done, bufferBytes)
	if err = m.f.Preallocate(m.done, n); err != nil {
		return err
	}
	if m.done += n; m.done < m.size {
		return nil
	}
	return m.f.Sync()
}

// stopFilling makes what is being filled a spare again, however far that has come.
func (j *Journal) stopFilling() {
	if m := j.filling; m != nil {
		j.filling = nil
		if m.f != nil {
			m.f.Close() // nobody relies on what was written
		}
		j.spares = append(j.spares, m.spare)
	}
}

// noSpace turns the disk's word for being full into the journal's.
func noSpace(err error) error {
	if errors.Is(err, vfs.ErrNoSpace) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// takeSpare takes the smallest spare that holds n bytes; there is one. Of equals one that is not bare, the oldest.
func (j *Journal) takeSpare(n int64) spare {
	best := j.bestSpare(n)
	s := j.spares[best]
	j.spares = slices.Delete(j.spares, best, best+1)
	return s
}

// bestSpare is the spare that takeSpare takes; negative: there is none.
func (j *Journal) bestSpare(n int64) int {
	best := -1
	for i, s := range j.spares {
		if capacity(s.size) < n {
			continue
		}
		if best < 0 || s.size < j.spares[best].size || s.size == j.spares[best].size && j.spares[best].bare() && !s.bare() {
			best = i
		}
	}
	return best
}

// mix spreads the bits of n, one to one (the finalizer of SplitMix64).
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
