package recordcache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"path"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

const (
	// SpillDir is where long backlogs of transient messages go. RemoveSpilled empties it when a broker starts.
	SpillDir = "spill"
	// spillFileBytes is how large a file of it grows: it goes when nothing in it is needed.
	spillFileBytes = 64 << 20
	// spillKept is how many pages that were read last are kept: readers of a backlog take neighbours.
	spillKept = 4
	// spillThin: a file of which not more than one part in so many is needed is given back.
	spillThin = 4
	// spillSumBytes stand before each piece of a page: a CRC32C.
	spillSumBytes = 4
	// spillPiece is how much of a page is read at least, if it is more than spillWhole: others are read whole.
	spillPiece, spillWhole = 64 << 10, 4 * spillPiece
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Spill keeps the transient pages of one virtual host in files that are never synced.
type Spill struct {
	fs    vfs.FS
	name  func() string // of the next file
	files []*spillFile
	open  *spillFile // the last of files
	full  *spillFile // the one before, to be looked at
	where map[storage.Index]spilled
	last  storage.Index // page that was named last
	buf   []byte
	kept  [spillKept]struct {
		id   storage.Index
		page []byte
	}
	turn int
}

type spillFile struct {
	name  string
	f     vfs.File
	end   int64
	live  int64           // bytes that are needed
	pages []storage.Index // that were put into it; some may be gone, or elsewhere
}

// spilled is where a page is.
type spilled struct {
	file *spillFile
	at   int64
	size int
}

// bytes is how much of the file the page takes.
func (x spilled) bytes() int64 { return int64(x.size + (x.size+spillPiece-1)/spillPiece*spillSumBytes) }

// RemoveSpilled removes what an earlier process left behind. What is not its own, a directory, or will not go, stays.
func RemoveSpilled(fs vfs.FS, log *slog.Logger) error {
	names, err := fs.List(SpillDir)
	if errors.Is(err, vfs.ErrNotExist) {
		return fs.Mkdir(SpillDir)
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		name = path.Join(SpillDir, name)
		if _, err := fs.List(name); err == nil {
			log.Warn("not removed: a directory of another program", "name", name)
			continue
		}
		if err := fs.Remove(name); err != nil && !errors.Is(err, vfs.ErrNotExist) {
			log.Warn("not removed: the file cannot be deleted", "name", name, "error", err)
		}
	}
	return nil
}

// NewSpill returns a Spill without files; name is called for the name of each.
func NewSpill(fs vfs.FS, name func() string) *Spill {
	return &Spill{fs: fs, name: name, where: map[storage.Index]spilled{}}
}

// Put keeps a page. It returns the zero Ref if there is no space on the disk, or the write fails.
func (s *Spill) Put(page []byte) storage.Ref {
	if !s.write(s.last+1, page) {
		return storage.Ref{}
	}
	s.last++
	if f := s.full; f != nil {
		s.full = nil
		s.thin(f)
	}
	return storage.Ref{Log: storage.Volatile.Pages(), Index: s.last, Size: uint32(len(page))}
}

// write appends a page to the open file, and reports whether it could.
func (s *Spill) write(id storage.Index, page []byte) bool {
	f := s.open
	if f == nil || f.end+int64(len(page)) > spillFileBytes && f.end > 0 {
		if f = s.create(); f == nil {
			return false
		}
	}
	s.buf = s.buf[:0]
	for piece := range slices.Chunk(page, spillPiece) {
		s.buf = binary.LittleEndian.AppendUint32(s.buf, crc32.Checksum(piece, castagnoli))
		s.buf = append(s.buf, piece...)
	}
	if _, err := f.f.WriteAt(s.buf, f.end); err != nil {
		return false
	}
	s.where[id] = spilled{f, f.end, len(page)}
	f.pages = append(f.pages, id)
	f.end += int64(len(s.buf))
	f.live += int64(len(s.buf))
	return true
}

// create begins another file; nil if that cannot be.
func (s *Spill) create() *spillFile {
	name := path.Join(SpillDir, s.name())
	file, err := s.fs.Create(name)
	if err != nil {
		return nil
	}
	s.full, s.open = s.open, &spillFile{name: name, f: file}
	s.files = append(s.files, s.open)
	return s.open
}

// Get returns a page or a part of it, which stays valid. Of a large page no more is read.
func (s *Spill) Get(r storage.Ref) ([]byte, error) {
	from, to := int(r.Offset), int(r.Offset)+int(r.Size)
	for i := range s.kept {
		if k := &s.kept[i]; k.id == r.Index && to <= len(k.page) {
			return k.page[from:to:to], nil
		}
	}
	x, there := s.where[r.Index]
	if !there || to > x.size {
		return nil, fmt.Errorf("page %d is gone", r.Index)
	}
	if x.size > spillWhole && to-from < x.size {
		return x.read(from, to)
	}
	page, err := x.read(0, x.size)
	if err != nil {
		return nil, err
	}
	s.kept[s.turn].id, s.kept[s.turn].page = r.Index, page
	s.turn = (s.turn + 1) % spillKept
	return page[from:to:to], nil
}

// read reads a part of the page, which is not empty.
func (x spilled) read(from, to int) ([]byte, error) {
	first, end := from/spillPiece, (to+spillPiece-1)/spillPiece
	b := make([]byte, min(end*spillPiece, x.size)-first*spillPiece+(end-first)*spillSumBytes)
	at := x.at + int64(first)*(spillPiece+spillSumBytes)
	if _, err := x.file.f.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("%s: %w", x.file.name, err)
	}
	part := b[:0]
	for stored := range slices.Chunk(b, spillPiece+spillSumBytes) {
		piece := stored[spillSumBytes:]
		if binary.LittleEndian.Uint32(stored) != crc32.Checksum(piece, castagnoli) {
			return nil, fmt.Errorf("%s, offset %d: checksum mismatch", x.file.name, at)
		}
		part = append(part, piece...)
	}
	return part[from-first*spillPiece : to-first*spillPiece], nil
}

// Drop gives a page back.
func (s *Spill) Drop(r storage.Ref) {
	x, there := s.where[r.Index]
	if !there {
		return
	}
	delete(s.where, r.Index)
	for i := range s.kept {
		if s.kept[i].id == r.Index {
			s.kept[i].id, s.kept[i].page = 0, nil
		}
	}
	x.file.live -= x.bytes()
	s.thin(x.file)
}

// thin gives a file back of which little is needed: that moves to the open one. Pages keep their names.
func (s *Spill) thin(f *spillFile) {
	switch {
	case f == s.open:
		if f.live == 0 {
			f.end, f.pages = 0, f.pages[:0] // from the beginning
		}
		return
	case f.live*spillThin > f.end:
		return
	}
	for _, id := range f.pages {
		x, there := s.where[id]
		if !there || x.file != f {
			continue
		}
		page, err := x.read(0, x.size)
		if err != nil || !s.write(id, page) {
			return // it stays, and is tried again with the next page that goes
		}
		f.live -= x.bytes()
	}
	s.remove(f)
}

// remove lets go of a file; one that stays is removed at the next start.
func (s *Spill) remove(f *spillFile) {
	s.files = slices.DeleteFunc(s.files, func(o *spillFile) bool { return o == f })
	_ = f.f.Close()
	_ = s.fs.Remove(f.name)
}

// Close removes all files.
func (s *Spill) Close() {
	for len(s.files) > 0 {
		s.remove(s.files[0])
	}
	s.open = nil
}

// Bytes is the size of the files, with what is no longer needed.
func (s *Spill) Bytes() (n int64) {
	for _, f := range s.files {
		n += f.end
	}
	return n
}
