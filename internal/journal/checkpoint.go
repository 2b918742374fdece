package journal

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// checkpoint names a file with the state of a log after batch at; the zero value names none.
type checkpoint struct {
	file uint64
	at   storage.Index
	size int64  // of the file
	crc  uint32 // of all of it
}

func (c checkpoint) name() string { return segment.FileName(c.file, "checkpoint") }

// A checkpoint's file ends with a label, which says what the manifest says: only a repair without a manifest reads it.
// On a full disk zeros between the state and the label fill it up, so that the file keeps its blocks.
//
//	 0  checksum u32  of bytes 4 to 32
//	 4  log      u32
//	 8  at       u64
//	16  size     u64  of the state
//	24  state    u32  its checksum
//	28  magic    u32
const (
	labelMagic = 0x504b4342 // "BCKP"
	labelBytes = 32
)

// newCheckpoint describes a checkpoint, and returns the label behind its state, with fill zeros before it.
func newCheckpoint(
	log storage.LogID, at storage.Index, file uint64, state [][]byte, fill int64,
) (c checkpoint, behind []byte) {
	behind = make([]byte, fill+labelBytes)
	label := behind[fill:]
	crc, size := uint32(0), bytesOf(state)
	for _, p := range state {
		crc = segment.Checksum(crc, p)
	}
	le.PutUint32(label[4:], uint32(log))
	le.PutUint64(label[8:], uint64(at))
	le.PutUint64(label[16:], uint64(size))
	le.PutUint32(label[24:], crc)
	le.PutUint32(label[28:], labelMagic)
	le.PutUint32(label[0:], segment.Checksum(0, label[4:]))
	return checkpoint{file: file, at: at, size: size + fill + labelBytes, crc: segment.Checksum(crc, behind)}, behind
}

// bytesOf is how many bytes pieces have together.
func bytesOf(pieces [][]byte) (n int64) {
	for _, p := range pieces {
		n += int64(len(p))
	}
	return n
}

// cutLabel parts what is in the file of a checkpoint into the state and what its label says of it; ok is false if there
// is none: the first ones that were written had no label.
func cutLabel(p []byte) (state []byte, log storage.LogID, c checkpoint, ok bool) {
	n := len(p) - labelBytes
	if n < 0 || !isLabel(p[n:], n) {
		return p, 0, checkpoint{}, false
	}
	label := p[n:]
	state = p[:le.Uint64(label[16:])]
	c = checkpoint{
		at: storage.Index(le.Uint64(label[8:])), size: int64(len(p)), crc: segment.Checksum(le.Uint32(label[24:]), p[len(state):]),
	}
	return state, storage.LogID(le.Uint32(label[4:])), c, true
}

// isLabel reports whether p is the label behind a state in a file with so many bytes before it.
func isLabel(p []byte, before int) bool {
	return le.Uint32(p[28:]) == labelMagic && le.Uint32(p) == segment.Checksum(0, p[4:]) &&
		le.Uint64(p[16:]) <= uint64(before)
}

// State is the state that the batches of a log up to At have led to.
type State struct {
	Log    storage.LogID
	At     storage.Index
	Pieces [][]byte // of its bytes
}

// A fresh checkpoint has a file of its own. The manifest names the one before, until count has returned.
type fresh struct {
	State
	l       *logState
	c, old  checkpoint
	used    int64         // of the old one
	unnamed storage.Index // of its log of pages, before
	took    bool          // its file was the allowance, or a spare
}

// Checkpoint writes a state, syncs it and names it in the manifest, all before it returns; the older one is removed
// then. State is lent until return.
//
// Errors: ErrUnsafe if at is not safe yet, ErrNoSpace; nothing has changed. A failed write or sync of the checkpoint
// itself changes nothing either: the older one still counts.
func (j *Journal) Checkpoint(log storage.LogID, at storage.Index, state ...[]byte) error {
	return j.checkpoint(State{log, at, state})
}

func (j *Journal) checkpoint(st State) error {
	f, err := j.admit(st)
	if err != nil {
		return err
	}
	defer func() { f.l.covering = 0 }()
	write := func(name string, space int64) error { return j.writeFresh(f, name, space) }
	least := 0
	if j.manifestAllowance.size < j.manifestBytes { // the last spare is for the manifest
		least = 1
	}
	f.took, err = j.writeWithAllowance(f.c.name(), &j.checkpointAllowance, least, write)
	if errors.Is(err, ErrNoSpace) && len(j.ahead) > j.needed {
		if err = j.unname(); err == nil {
			f.took, err = j.writeWithAllowance(f.c.name(), &j.checkpointAllowance, 0, write)
		}
	}
	if err != nil {
		j.withdraw(f)
		return err
	}
	return j.count(f)
}

// Checkpoints is Checkpoint for the states of different logs, with one manifest for all: a manifest is as long as there
// are logs, and of ten thousand some hundred change between two rounds. It returns an error for each, in their order; a
// state with an error has changed nothing. Where the disk has no space for one more file beside the older ones, these
// are removed first, and that state is stored alone, as Checkpoint does it.
func (j *Journal) Checkpoints(states []State) []error {
	errs := make([]error, len(states))
	var all []*fresh
	var of []int
	countAll := func() {
		if len(all) == 0 {
			return
		}
		err := j.count(all...)
		for k, f := range all {
			f.l.covering, errs[of[k]] = 0, err
		}
		all, of = nil, nil
	}
	for i, st := range states {
		f, err := j.admit(st)
		if err != nil {
			errs[i] = err
			continue
		}
		if err = j.writeFresh(f, f.c.name(), 0); err == nil {
			all, of = append(all, f), append(of, i)
			continue
		}
		f.l.covering = 0
		j.withdraw(f)
		if errs[i] = err; errors.Is(err, vfs.ErrNoSpace) {
			countAll()
			errs[i] = j.checkpoint(st)
		}
	}
	countAll()
	return errs
}

// admit names the file of a checkpoint, which has to cover what is safe, and no less than the one before.
func (j *Journal) admit(st State) (*fresh, error) {
	if j.failed != nil {
		return nil, j.failed
	}
	if j.dropped[st.Log] {
		return nil, fmt.Errorf("%w: log %d", ErrDropped, st.Log)
	}
	l := j.log(st.Log)
	if l.fault != nil {
		return nil, l.fault
	}
	if st.At > l.safe || st.At < l.checkpoint.at {
		return nil, fmt.Errorf("%w: log %d, index %d, safe %d, earlier checkpoint %d", ErrUnsafe, st.Log, st.At, l.safe, l.checkpoint.at)
	}
	l.covering = st.At // what it covers must not be cut meanwhile
	f := &fresh{State: st, l: l, c: checkpoint{file: j.nextFile}}
	j.nextFile++
	j.unsyncedNames = true
	return f, nil
}

// writeFresh writes the file of a checkpoint, of which there is so much space already.
func (j *Journal) writeFresh(f *fresh, name string, space int64) error {
	c, behind := newCheckpoint(f.Log, f.At, f.c.file, f.Pieces, j.fillOf(bytesOf(f.Pieces), space))
	f.c = c
	return j.onDisk(func() error { return j.writeFile(name, append(slices.Clip(f.Pieces), behind)...) })
}

// withdraw removes a checkpoint that no manifest names.
func (j *Journal) withdraw(f *fresh) {
	if f.took {
		j.keepAllowance(f.c)
	} else {
		j.discard(f.c.name())
	}
}

// count makes checkpoints count, with one manifest. An error has changed nothing: it is about all of them.
func (j *Journal) count(all ...*fresh) error {
	for _, f := range all {
		j.written.Checkpoints += f.c.size
	}
	if j.failed != nil {
		for _, f := range all {
			j.withdraw(f)
		}
		return j.failed
	}
	for _, f := range all {
		f.old, f.used = f.l.checkpoint, f.l.used
		f.l.checkpoint, f.l.used = f.c, bytesOf(f.Pieces)+labelBytes
		f.unnamed = j.namePages(f.Log)
	}
	j.weigh()
	if err := j.writeManifest(); err != nil {
		for _, f := range all {
			f.l.checkpoint, f.l.used = f.old, f.used
			if pages := j.logs[f.Log.Pages()]; pages != nil {
				pages.unnamed = f.unnamed
			}
		}
		j.weigh()
		for _, f := range all {
			if errors.Is(err, ErrNoSpace) {
				j.withdraw(f)
			} else {
				j.inDoubt = append(j.inDoubt, f.c)
			}
		}
		return err
	}
	for _, f := range all {
		switch {
		case f.old.file == 0:
		case f.took:
			j.moveBack(f.l, f.old, f.Pieces)
		default:
			j.keepAllowance(f.old)
		}
	}
	return nil
}

// namePages notes that a checkpoint of log may name all pages that are safe now, and returns what
// was noted before.
func (j *Journal) namePages(log storage.LogID) (before storage.Index) {
	pages := j.logs[log.Pages()]
	if pages == nil {
		return 0
	}
	before, pages.unnamed = pages.unnamed, pages.safe+1
	return before
}

// fillOf is with how many zeros a checkpoint of that state fills up a file of which so many bytes are there: the next
// one, of this log or another, may be twice as large.
func (j *Journal) fillOf(state, space int64) int64 {
	largest := max(state, j.largestCheckpoint)
	return max(0, min(space, segment.RoundUp(2*largest+allowanceBytes, vfs.BlockBytes))-state-labelBytes)
}

// moveBack gives the allowance back that the newest checkpoint of l has taken, if the one before is too small to be the
// allowance and large enough for the state: that is written once more, in the place of the one before. Else the small
// checkpoint of one log would leave an allowance that is too small for the large one of another, which would take a
// spare each time. What fails leaves the checkpoint where it is.
func (j *Journal) moveBack(l *logState, old checkpoint, state [][]byte) {
	c, space := l.checkpoint, segment.RoundUp(old.size, vfs.BlockBytes)
	if space >= min(c.size, segment.RoundUp(j.largestCheckpoint, vfs.BlockBytes)) || l.used > space ||
		j.o.ReserveBytes < 0 || j.isLeased(old.name()) {
		j.keepAllowance(old)
		return
	}
	again, behind := newCheckpoint(l.id, c.at, j.nextFile, state, j.fillOf(bytesOf(state), space))
	j.nextFile++
	j.unsyncedNames = true
	if err := j.onDisk(func() error { return j.fs.Rename(j.path(old.name()), j.path(again.name())) }); err != nil {
		j.discard(old.name())
		return
	}
	state = append(slices.Clip(state), behind)
	if err := j.onDisk(func() error { return j.writeFile(again.name(), state...) }); err != nil {
		j.keepAllowance(again)
		return
	}
	j.written.Checkpoints += again.size
	l.checkpoint = again
	if err := j.writeManifest(); err != nil { // the one before it names this checkpoint, too, in the other file
		if l.checkpoint = c; errors.Is(err, ErrNoSpace) {
			j.keepAllowance(again)
		} else {
			j.inDoubt = append(j.inDoubt, again)
		}
		return
	}
	j.weigh()
	j.keepAllowance(c)
}

// LoadCheckpoint returns the newest checkpoint of log. Errors: ErrNoCheckpoint; a *Fault if the bytes are damaged.
func (j *Journal) LoadCheckpoint(log storage.LogID) (at storage.Index, state []byte, err error) {
	l := j.logs[log]
	if l == nil || l.checkpoint.file == 0 {
		return 0, nil, fmt.Errorf("%w: log %d", ErrNoCheckpoint, log)
	}
	state, err = j.readFile(l.checkpoint.name())
	if errors.Is(err, vfs.ErrNotExist) {
		return 0, nil, damagedError{fmt.Errorf("%s, the checkpoint of log %d, is missing: %w", l.checkpoint.name(), log, err)}
	}
	if err != nil {
		return 0, nil, err
	}
	if int64(len(state)) != l.checkpoint.size || segment.Checksum(0, state) != l.checkpoint.crc {
		return 0, nil, &Fault{Log: log, File: l.checkpoint.name(), What: "checksum mismatch in the checkpoint"}
	}
	state, _, _, _ = cutLabel(state)
	return l.checkpoint.at, state, nil
}

// checkpoints lists the logs that have one, in order.
func (j *Journal) checkpoints() []*logState {
	var with []*logState
	for _, id := range slices.Sorted(maps.Keys(j.logs)) {
		if l := j.logs[id]; l.checkpoint.file != 0 {
			with = append(with, l)
		}
	}
	return with
}

// pageLogs lists the logs of pages, in order.
func (j *Journal) pageLogs() []*logState {
	var logs []*logState
	for _, id := range slices.Sorted(maps.Keys(j.logs)) {
		if id.IsPages() {
			logs = append(logs, j.logs[id])
		}
	}
	return logs
}

func (j *Journal) droppedLogs() []storage.LogID { return slices.Sorted(maps.Keys(j.dropped)) }
