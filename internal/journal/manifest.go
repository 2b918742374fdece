package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// The manifest names every file that counts; files it does not name are swept away by Open. It is replaced whole.
//
//	 0  magic      8 bytes
//	 8  format     u32
//	12  checksum   u32  of what follows
//	16  size       u64  of the manifest
//	24  nextID     u64  of the next segment
//	32  nextFile   u64  number of the next file
//	40  counts     u32 × 4: segments, spares, checkpoints, dropped logs
//	    segments:    id, file, nonce, size, end, table at, table entries u64; table spans u32, flags u32: 1 if rewritten
//	    spares:      file, size, nonce u64
//	    checkpoints: log u32, checksum u32; at, file, size u64
//	    dropped:     log u32, zero u32
//
// If batches may cut, the format is 3, and the number of voids follows the counts, u32, and zero, u32. Behind the
// dropped logs are the
//
//	voids: id of a segment u64; log u32, zero u32; first index u64 from which its batches do not count
const (
	manifestName        = "manifest"
	manifestTemp        = "manifest.new"
	manifestMagic       = "BARTLEBY"
	manifestHeaderBytes = 56
	manifestSegment     = 64
	manifestSpare       = 24
	manifestCheckpoint  = 32
	manifestDropped     = 8
	manifestVoid        = 24
	manifestVoids       = 8 // their number
)

// encodeManifest renders the journal's present state, with more segments ahead if so asked.
func (j *Journal) encodeManifest(more ...*segmentState) []byte {
	checkpoints := j.checkpoints()
	for _, l := range j.pageLogs() { // named without a file, so that no index is used twice
		l.reached = max(l.reached, l.safe)
		if l.reached > 0 {
			checkpoints = append(checkpoints, l)
		}
	}
	dropped := j.droppedLogs()
	segments, spares := slices.Concat(j.segments, j.ahead, more), j.spares
	if j.filling != nil {
		spares = append(slices.Clip(spares), j.filling.spare)
	}
	p := make([]byte, manifestHeaderBytes, manifestHeaderBytes+manifestSegment*len(segments)+manifestSpare*len(spares)+
		manifestCheckpoint*len(checkpoints)+manifestDropped*len(dropped))
	if j.cuts {
		p = le.AppendUint64(p, uint64(voids(segments)))
	}
	for i, s := range segments {
		end := s.End
		if s == j.open || i >= len(j.segments) {
			end = 0
		}
		for _, n := range [...]uint64{s.ID, s.Number, s.Nonce, uint64(s.Size), uint64(end), uint64(s.Table.At), s.Table.Entries} {
			p = le.AppendUint64(p, n)
		}
		p = le.AppendUint32(p, s.Table.Spans)
		p = le.AppendUint32(p, s.Flags())
	}
	for _, s := range spares {
		p = le.AppendUint64(p, s.file)
		p = le.AppendUint64(p, uint64(s.size))
		p = le.AppendUint64(p, s.nonce)
	}
	for _, l := range checkpoints {
		p = le.AppendUint32(p, uint32(l.id))
		p = le.AppendUint32(p, l.checkpoint.crc)
		p = le.AppendUint64(p, uint64(max(l.checkpoint.at, l.reached)))
		p = le.AppendUint64(p, l.checkpoint.file)
		p = le.AppendUint64(p, max(uint64(l.checkpoint.size), uint64(l.unnamed)))
	}
	for _, log := range dropped {
		p = le.AppendUint32(p, uint32(log))
		p = le.AppendUint32(p, 0)
	}
	for _, s := range segments {
		for _, log := range slices.Sorted(maps.Keys(s.Void)) {
			p = le.AppendUint64(p, s.ID)
			p = le.AppendUint64(p, uint64(log))
			p = le.AppendUint64(p, uint64(s.Void[log]))
		}
	}
	copy(p, manifestMagic)
	le.PutUint32(p[8:], j.format())
	le.PutUint64(p[16:], uint64(len(p)))
	le.PutUint64(p[24:], j.nextID)
	le.PutUint64(p[32:], j.nextFile)
	le.PutUint32(p[40:], uint32(len(segments)))
	le.PutUint32(p[44:], uint32(len(spares)))
	le.PutUint32(p[48:], uint32(len(checkpoints)))
	le.PutUint32(p[52:], uint32(len(dropped)))
	le.PutUint32(p[12:], segment.Checksum(0, p[16:]))
	return p
}

// format is that of the manifest.
func (j *Journal) format() uint32 {
	if j.cuts {
		return segment.FormatCuts
	}
	return segment.FormatNumber
}

// voids is how many the manifest names.
func voids(segments []*segmentState) (n int) {
	for _, s := range segments {
		n += len(s.Void)
	}
	return n
}

// le is how numbers lie on the disk.
var le = binary.LittleEndian

// errFormat begins what is said of a format that this version does not know.
var errFormat = errors.New("format")

// decodeManifest fills in the journal from a manifest.
func (j *Journal) decodeManifest(p []byte) error {
	if len(p) < 16 || string(p[:8]) != manifestMagic {
		return errors.New("not the manifest of a Bartleby journal")
	}
	if n := le.Uint32(p[8:]); n < segment.FormatOldest || n > segment.FormatCuts {
		return fmt.Errorf("%w %d: this version of Bartleby reads formats %d to %d",
			errFormat, n, segment.FormatOldest, segment.FormatCuts)
	}
	j.cuts = le.Uint32(p[8:]) == segment.FormatCuts
	if len(p) < manifestHeaderBytes || le.Uint64(p[16:]) != uint64(len(p)) ||
		le.Uint32(p[12:]) != segment.Checksum(0, p[16:]) {
		return errors.New("checksum mismatch")
	}
	j.nextID, j.nextFile = le.Uint64(p[24:]), le.Uint64(p[32:])
	segments, spares := int(le.Uint32(p[40:])), int(le.Uint32(p[44:]))
	checkpoints, dropped := int(le.Uint32(p[48:])), int(le.Uint32(p[52:]))
	size := manifestHeaderBytes + segments*manifestSegment + spares*manifestSpare + checkpoints*manifestCheckpoint +
		dropped*manifestDropped
	void := 0
	if j.cuts && len(p) >= manifestHeaderBytes+manifestVoids {
		void = int(le.Uint32(p[manifestHeaderBytes:]))
		size += manifestVoids + void*manifestVoid
	}
	if size != len(p) {
		return errors.New("the counts are inconsistent")
	}
	p = p[manifestHeaderBytes:]
	if j.cuts {
		p = p[manifestVoids:]
	}
	for range segments {
		s := &segmentState{File: segment.File{
			ID: le.Uint64(p), Number: le.Uint64(p[8:]), Nonce: le.Uint64(p[16:]), Size: int64(le.Uint64(p[24:])), End: int64(le.Uint64(p[32:])),
			Table: segment.TableAt{At: int64(le.Uint64(p[40:])), Entries: le.Uint64(p[48:]), Spans: le.Uint32(p[56:])},
		}}
		s.Seed, s.Rewritten = segment.SeedOf(s.Nonce), le.Uint32(p[60:])&segment.FlagRewritten != 0
		j.segments = append(j.segments, s)
		p = p[manifestSegment:]
	}
	for range spares {
		j.spares = append(j.spares, spare{file: le.Uint64(p), size: int64(le.Uint64(p[8:])), nonce: le.Uint64(p[16:])})
		p = p[manifestSpare:]
	}
	for range checkpoints {
		l := j.log(storage.LogID(le.Uint32(p)))
		c := checkpoint{crc: le.Uint32(p[4:]), at: storage.Index(le.Uint64(p[8:])), file: le.Uint64(p[16:]), size: int64(le.Uint64(p[24:]))}
		if c.file == 0 {
			l.reached, l.unnamed = c.at, storage.Index(c.size)
		} else {
			l.checkpoint = c
		}
		p = p[manifestCheckpoint:]
	}
	for range dropped {
		j.dropped[storage.LogID(le.Uint32(p))] = true
		p = p[manifestDropped:]
	}
	for range void {
		i := slices.IndexFunc(j.segments, func(s *segmentState) bool { return s.ID == le.Uint64(p) })
		if i < 0 {
			return errors.New("a segment is missing of which it says what does not count")
		}
		j.segments[i].VoidFrom(storage.LogID(le.Uint32(p[8:])), storage.Index(le.Uint64(p[16:])))
		p = p[manifestVoid:]
	}
	return nil
}

// writeManifest makes the journal's present state durable, with more segments ahead if so asked. ErrNoSpace changes
// nothing on the disk; every other error leaves open which manifest counts, and is final.
//
// Groups that are written meanwhile change nothing that it says: the next segments are named as being written already,
// and of one that fills up the next manifest gives the end.
func (j *Journal) writeManifest(more ...*segmentState) error {
	if j.unsyncedNames { // a manifest must not be found where a file that it names is not
		if err := j.onDisk(func() error { return j.fs.SyncDir(j.o.Dir) }); err != nil {
			return j.fail(err)
		}
		j.unsyncedNames = false
	}
	size := int64(0)
	took, err := j.writeWithAllowance(manifestTemp, &j.manifestAllowance, 0, func(name string, _ int64) error {
		p := j.encodeManifest(more...)
		size = int64(len(p))
		j.written.Tables += size
		return j.onDisk(func() error { return j.writeFile(name, p) })
	})
	if errors.Is(err, ErrNoSpace) {
		return err
	}
	// The blocks of the one before are the next one's if the allowance is missing, or smaller: this one has taken it,
	// or one that failed.
	space, kept := segment.RoundUp(j.manifestBytes, vfs.BlockBytes), false
	if err == nil {
		keep := j.manifestAllowance.size < space && (took || j.o.ReserveBytes >= 0)
		err = j.onDisk(func() error {
			rename := j.fs.Rename
			if keep {
				rename = j.fs.Exchange
			}
			if err := rename(j.path(manifestTemp), j.path(manifestName)); err != nil {
				return err
			}
			kept = keep && j.fs.Rename(j.path(manifestTemp), j.path(manifestAllowance)) == nil
			return j.fs.SyncDir(j.o.Dir)
		})
		j.unsyncedNames = err != nil // the one before may count still: it must not be written over
	}
	if kept {
		j.manifestAllowance.size = space
	}
	if err != nil {
		return j.fail(err)
	}
	j.manifestBytes = size
	for i := range j.spares {
		j.spares[i].named = false
	}
	return nil
}

// writeFile writes and syncs a small file whole, in the place of one of that name, if there is one.
func (j *Journal) writeFile(name string, parts ...[]byte) error {
	f, err := j.fs.Create(j.path(name))
	old := errors.Is(err, vfs.ErrExist)
	if old {
		f, err = j.fs.Open(j.path(name))
	}
	if err != nil {
		return err
	}
	off := int64(0)
	for _, p := range parts {
		for len(p) > 0 && err == nil {
			var n int
			n, err = f.WriteAt(p[:min(len(p), bufferBytes)], off)
			off, p = off+int64(n), p[n:]
		}
	}
	if err == nil && old {
		err = f.Truncate(off)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// readFile reads a small file whole.
func (j *Journal) readFile(name string) ([]byte, error) {
	f, err := j.fs.Open(j.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	p := make([]byte, size)
	_, err = f.ReadAt(p, 0)
	return p, err
}
