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
	// spillSumBytes stand before each page: a CRC32C.
	spillSumBytes = 4
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
		ref  storage.Ref
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
	size uint32
}

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

// Put keeps a page. It returns the zero Ref if there is no room on the disk, or the write fails.
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
	s.buf = binary.LittleEndian.AppendUint32(s.buf[:0], crc32.Checksum(page, castagnoli))
	s.buf = append(s.buf, page...)
	if _, err := f.f.WriteAt(s.buf, f.end); err != nil {
		return false
	}
	s.where[id] = spilled{f, f.end, uint32(len(page))}
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

// Get returns a page, which stays valid.
func (s *Spill) Get(r storage.Ref) ([]byte, error) {
	for i := range s.kept {
		if s.kept[i].ref == r {
			return s.kept[i].page, nil
		}
	}
	x, there := s.where[r.Index]
	if !there {
		return nil, fmt.Errorf("page %d is gone", r.Index)
	}
	page, err := x.read()
	if err != nil {
		return nil, err
	}
	s.kept[s.turn].ref, s.kept[s.turn].page = r, page
	s.turn = (s.turn + 1) % spillKept
	return page, nil
}

func (x spilled) read() ([]byte, error) {
	b := make([]byte, spillSumBytes+int(x.size))
	if _, err := x.file.f.ReadAt(b, x.at); err != nil {
		return nil, fmt.Errorf("%s: %w", x.file.name, err)
	}
	page := b[spillSumBytes:]
	if binary.LittleEndian.Uint32(b) != crc32.Checksum(page, castagnoli) {
		return nil, fmt.Errorf("%s, offset %d: checksum mismatch", x.file.name, x.at)
	}
	return page, nil
}

// Drop gives a page back.
func (s *Spill) Drop(r storage.Ref) {
	x, there := s.where[r.Index]
	if !there {
		return
	}
	delete(s.where, r.Index)
	for i := range s.kept {
		if s.kept[i].ref == r {
			s.kept[i].ref, s.kept[i].page = storage.Ref{}, nil
		}
	}
	x.file.live -= spillSumBytes + int64(x.size)
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
		page, err := x.read()
		if err != nil || !s.write(id, page) {
			return // it stays, and is tried again with the next page that goes
		}
		f.live -= spillSumBytes + int64(x.size)
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
