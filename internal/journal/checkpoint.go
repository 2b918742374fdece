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

// Checkpoint writes the state that a log's batches up to at have led to, syncs it and names it in the manifest, all
// before it returns; the older one is removed then. State is lent until return.
//
// Errors: ErrUnsafe if at is not safe yet, ErrNoSpace; nothing has changed. A failed write or sync of the checkpoint
// itself changes nothing either: the older one still counts.
func (j *Journal) Checkpoint(log storage.LogID, at storage.Index, state ...[]byte) error {
	if j.failed != nil {
		return j.failed
	}
	if j.dropped[log] {
		return fmt.Errorf("%w: log %d", ErrDropped, log)
	}
	l := j.log(log)
	if l.fault != nil {
		return l.fault
	}
	if at > l.safe || at < l.checkpoint.at {
		return fmt.Errorf("%w: log %d, index %d, safe %d, earlier checkpoint %d", ErrUnsafe, log, at, l.safe, l.checkpoint.at)
	}
	l.covering = at // what it covers must not be cut meanwhile
	defer func() { l.covering = 0 }()
	file := j.nextFile
	j.nextFile++
	j.unsyncedNames = true
	c := checkpoint{file: file}
	write := func(name string, space int64) error {
		var behind []byte
		c, behind = newCheckpoint(log, at, file, state, j.fillOf(bytesOf(state), space))
		return j.onDisk(func() error { return j.writeFile(name, append(slices.Clip(state), behind)...) })
	}
	least := 0
	if j.manifestAllowance.size < j.manifestBytes { // the last spare is for the manifest
		least = 1
	}
	took, err := j.writeWithAllowance(c.name(), &j.checkpointAllowance, least, write)
	if errors.Is(err, ErrNoSpace) && len(j.ahead) > j.needed {
		if err = j.unname(); err == nil {
			took, err = j.writeWithAllowance(c.name(), &j.checkpointAllowance, 0, write)
		}
	}
	giveUp := func() { // no manifest names it
		if took {
			j.keepAllowance(c)
		} else {
			j.discard(c.name())
		}
	}
	if err != nil {
		giveUp()
		return err
	}
	j.written.Checkpoints += c.size
	if j.failed != nil {
		giveUp()
		return j.failed
	}
	old := l.checkpoint
	l.checkpoint = c
	unnamed := j.namePages(log)
	l.used = bytesOf(state) + labelBytes
	j.weigh()
	if err := j.writeManifest(); err != nil {
		l.checkpoint = old
		if pages := j.logs[log.Pages()]; pages != nil {
			pages.unnamed = unnamed
		}
		j.weigh()
		if errors.Is(err, ErrNoSpace) {
			giveUp()
		} else {
			j.inDoubt = append(j.inDoubt, c)
		}
		return err
	}
	switch {
	case old.file == 0:
	case took:
		j.moveBack(l, old, state)
	default:
		j.keepAllowance(old)
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
