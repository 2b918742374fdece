package journal

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// unfinishedName is in a copy of a journal for as long as it has no manifest: without one it is no journal, and must
// not be taken for a place where none has been yet.
const unfinishedName = "manifest.backup"

// unfinishedText is what is in that file, for whoever looks.
const unfinishedText = "This backup of a Bartleby broker is incomplete: it was cancelled, or is still being written. It cannot be used.\n"

// CopyBufferBytes is the memory that LeasedFile.Copy works with: little, so that writing for messages, which comes
// between two pieces, never waits long.
const CopyBufferBytes = 256 << 10

// Lease is the journal at one moment: files that Files lists stay as they are until Release, whatever happens to the
// journal, even if they are given back meanwhile. Copied together they are a journal that Open takes: all batches that
// were safe at that moment, of all logs, and the checkpoints.
type Lease struct {
	Files []LeasedFile
	// Manifest makes a journal of the files: it is copied last, when the others are safe. Unfinished marks a copy in a
	// directory that does not have it yet, from before the first file is copied.
	Manifest, Unfinished LeasedFile

	names []string // that are not to be removed, or written to
}

// LeasedFile is a file to be copied, or what is to be in it.
type LeasedFile struct {
	Name string // in the file system of the journal
	Size int64  // bytes

	fs    vfs.FS
	head  []byte        // what the copy begins with, instead of what the file does
	until int64         // how far the file is copied; zeros follow
	s     *segmentState // as it is in the copy; nil of another file
	crc   uint32        // of a checkpoint
	whole bool          // a damaged segment: as it is, without a look at it
}

// Lease begins a copy. Everything that is safe is in it; call Sync before to have everything that was written. Faults
// of logs are in it, too. It does maintenance, and so does Release.
func (j *Journal) Lease() (*Lease, error) {
	if j.failed != nil {
		return nil, j.failed
	}
	l := &Lease{Unfinished: j.made(unfinishedName, []byte(unfinishedText))}
	shown := &Journal{tables: &tables{
		logs: j.logs, dropped: j.dropped, nextID: j.nextID, nextFile: j.nextFile, cuts: j.cuts,
	}}
	for _, s := range j.segments {
		f, err := j.leaseSegment(s)
		if err != nil {
			return nil, err
		}
		if f.s != nil {
			shown.segments = append(shown.segments, f.s)
			l.add(s.Name(), f)
		}
	}
	for _, of := range j.checkpoints() {
		c := of.checkpoint
		l.add(c.name(), LeasedFile{Name: j.path(c.name()), Size: c.size, fs: j.fs, until: c.size, crc: c.crc})
	}
	l.Manifest = j.made(manifestName, shown.encodeManifest())
	if j.leased == nil {
		j.leased = map[string]int{}
	}
	for _, name := range l.names {
		j.leased[name]++
	}
	return l, nil
}

// made is a file that is not there: p is what is in it.
func (j *Journal) made(name string, p []byte) LeasedFile {
	return LeasedFile{Name: j.path(name), Size: int64(len(p)), head: p}
}

func (l *Lease) add(name string, f LeasedFile) {
	l.Files, l.names = append(l.Files, f), append(l.names, name)
}

// leaseSegment says what of a segment is copied: no more than what is safe, with space for the table that it may still
// have to get. The zero value if that is nothing. What is damaged is copied whole, for Open to find the same.
func (j *Journal) leaseSegment(s *segmentState) (LeasedFile, error) {
	c := &segmentState{File: segment.File{
		ID: s.ID, Number: s.Number, Nonce: s.Nonce, Seed: s.Seed, Size: s.Size,
		End: s.End, Table: s.Table, Rewritten: s.Rewritten, Void: maps.Clone(s.Void),
	}}
	f := LeasedFile{Name: j.path(s.Name()), fs: j.fs, s: c}
	if s.damaged {
		size, err := s.Disk.Size()
		f.Size, f.until, f.whole = min(size, s.Size), min(size, s.Size), true
		return f, err
	}
	if s == j.open {
		c.End = s.safe
	}
	switch {
	case c.End <= segment.HeaderBytes:
		return LeasedFile{}, nil
	case c.Table.At != 0:
		c.Size = c.Table.At + c.Shape().Bytes(int(c.Table.Spans), c.Table.Entries)
		f.until = c.Size
	default:
		c.Size = min(s.Size, c.End+segment.MarkBytes+s.Shape().Bytes(len(s.Spans), s.Batches))
		f.until = c.End
	}
	f.Size = c.Size
	f.head = make([]byte, segment.HeaderBytes)
	segment.PutHeader(f.head, &c.File)
	return f, nil
}

// Release ends a lease: files that were given back meanwhile are removed. A lease is released once.
func (j *Journal) Release(l *Lease) {
	for _, name := range l.names {
		if j.leased[name]--; j.leased[name] == 0 {
			delete(j.leased, name)
		}
	}
	j.removeGarbage()
}

// isLeased reports whether a file is being copied.
func (j *Journal) isLeased(name string) bool {
	return j.leased[name] > 0
}

// Copy writes the file to w, in pieces as large as buf, which has whole blocks. It may be called beside everything else
// until Release, and verifies what it copies: damage, a *Fault or nil, is copied as it is. Pace is called before each
// piece, with how many bytes will be written then; an error of it ends the copy.
func (f *LeasedFile) Copy(w io.Writer, buf []byte, pace func(n int) error) (damage, err error) {
	var source vfs.File
	if f.until > 0 {
		if source, err = f.fs.Open(f.Name); err != nil {
			return nil, err
		}
		defer source.Close() // only read
	}
	if f.s != nil && !f.whole {
		if damage, err = f.verify(source, buf, pace); err != nil {
			return nil, err
		}
	}
	crc := uint32(0)
	for at := int64(0); at < f.Size; {
		p := buf[:min(int64(len(buf)), f.Size-at)]
		if err := pace(len(p)); err != nil {
			return nil, err
		}
		clear(p)
		n := 0
		if at < int64(len(f.head)) {
			n = copy(p, f.head[at:])
		}
		if from := at + int64(n); from < f.until {
			q := p[n:min(int64(len(p)), f.until-at)]
			if k, err := source.ReadAt(q, from); k < len(q) {
				return nil, fmt.Errorf("journal: %s: %w", f.Name, err)
			}
		}
		crc = segment.Checksum(crc, p)
		if _, err := w.Write(p); err != nil {
			return nil, err
		}
		at += int64(len(p))
	}
	if f.s == nil && f.until > 0 && crc != f.crc {
		damage = &Fault{File: f.Name, What: "checksum mismatch in the checkpoint"}
	}
	return damage, nil
}

// verify reads a segment: its groups, then its table.
func (f *LeasedFile) verify(source vfs.File, buf []byte, pace func(n int) error) (damage, err error) {
	s := f.s.File
	s.Disk = source
	fault := func(at int64, what string) error { return &Fault{File: f.Name, Offset: at, What: what} }
	sc := segment.Scanner{File: &s, Buf: buf}
	paced := int64(0)
	for at := int64(segment.HeaderBytes); at < s.End; at += segment.RoundUp(sc.Group.Size, segment.SectorBytes) {
		if at >= paced {
			if err := pace(0); err != nil {
				return nil, err
			}
			paced = at + int64(len(buf))
		}
		if err := sc.Read(at); err != nil {
			return nil, err
		}
		if !sc.Whole {
			return fault(at, "checksum mismatch before the last safe position"), nil
		}
	}
	if s.Table.At == 0 {
		return nil, nil
	}
	h := s.Shape()
	p := make([]byte, h.Directory(int(s.Table.Spans), s.Table.Entries))
	if _, err := source.ReadAt(p, s.Table.At); err != nil {
		return nil, err
	}
	if le.Uint32(p) != segment.Checksum(s.Seed, p[4:]) {
		return fault(s.Table.At, segment.ErrTable.Error()), nil
	}
	for at := s.Table.At + int64(len(p)); at < s.Size; at += segment.PageBytes {
		p, err := sc.Window(at, segment.PageBytes)
		if err != nil {
			return nil, err
		}
		if len(p) < segment.PageBytes || le.Uint32(p) != segment.Checksum(s.Seed, p[4:]) {
			return fault(at, segment.ErrTable.Error()), nil
		}
	}
	return nil, nil
}

// unfinished says that what is in the directory is a copy without a manifest; nil if it is not.
func unfinished(names []string) error {
	if !slices.Contains(names, unfinishedName) {
		return nil
	}
	return errors.New("missing: this backup is incomplete and cannot be used: remove it and make another one")
}

// Faulty lists the faults of logs, in order.
func (j *Journal) Faulty() []*Fault {
	var faults []*Fault
	for _, id := range slices.Sorted(maps.Keys(j.logs)) {
		if f := j.logs[id].fault; f != nil {
			faults = append(faults, f)
		}
	}
	return faults
}
