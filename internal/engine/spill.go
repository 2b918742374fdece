package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"path"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

const (
	// spillDir is where long backlogs of transient messages go. What is there when a broker starts is removed.
	spillDir = "spill"
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

// spill keeps the transient pages of one vhost in files that are never synced. It belongs to the runner's owner.
type spill struct {
	fs    vfs.FS
	name  func() string // of the next file
	files []*spillFile
	open  *spillFile // the last of files
	full  *spillFile // the one before, to be looked at
	where map[place.Index]spilled
	last  place.Index // page that was named last
	buf   []byte
	kept  [spillKept]struct {
		ref  place.Ref
		page []byte
	}
	turn int
}

type spillFile struct {
	name  string
	f     vfs.File
	end   int64
	live  int64         // bytes that are needed
	pages []place.Index // that were put into it; some may be gone, or elsewhere
}

// spilled is where a page is.
type spilled struct {
	file *spillFile
	at   int64
	size uint32
}

// emptySpill removes what an earlier process left behind. What is not its own, a directory, or will not go, stays.
func emptySpill(fs vfs.FS, log *slog.Logger) error {
	names, err := fs.List(spillDir)
	if errors.Is(err, vfs.ErrNotExist) {
		return fs.Mkdir(spillDir)
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		name = path.Join(spillDir, name)
		if _, err := fs.List(name); err == nil {
			log.Warn("left in place: a directory of another program", "name", name)
			continue
		}
		if err := fs.Remove(name); err != nil && !errors.Is(err, vfs.ErrNotExist) {
			log.Warn("left in place: a file that cannot be removed", "name", name, "error", err)
		}
	}
	return nil
}

func newSpill(fs vfs.FS, name func() string) *spill {
	return &spill{fs: fs, name: name, where: map[place.Index]spilled{}}
}

// put keeps a page; the zero Ref says that there is no room, or that the disk will not have it.
func (s *spill) put(page []byte) place.Ref {
	if !s.write(s.last+1, page) {
		return place.Ref{}
	}
	s.last++
	if f := s.full; f != nil {
		s.full = nil
		s.thin(f)
	}
	return place.Ref{Log: place.Volatile.Pages(), Index: s.last, Size: uint32(len(page))}
}

// write appends a page to the open file, and reports whether it could.
func (s *spill) write(id place.Index, page []byte) bool {
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
func (s *spill) create() *spillFile {
	name := path.Join(spillDir, s.name())
	file, err := s.fs.Create(name)
	if err != nil {
		return nil
	}
	s.full, s.open = s.open, &spillFile{name: name, f: file}
	s.files = append(s.files, s.open)
	return s.open
}

// get returns a page for good.
func (s *spill) get(r place.Ref) ([]byte, error) {
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

// drop gives a page back.
func (s *spill) drop(r place.Ref) {
	x, there := s.where[r.Index]
	if !there {
		return
	}
	delete(s.where, r.Index)
	for i := range s.kept {
		if s.kept[i].ref == r {
			s.kept[i].ref, s.kept[i].page = place.Ref{}, nil
		}
	}
	x.file.live -= spillSumBytes + int64(x.size)
	s.thin(x.file)
}

// thin gives a file back of which little is needed: that moves to the open one. Pages keep their names.
func (s *spill) thin(f *spillFile) {
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
func (s *spill) remove(f *spillFile) {
	s.files = slices.DeleteFunc(s.files, func(o *spillFile) bool { return o == f })
	_ = f.f.Close()
	_ = s.fs.Remove(f.name)
}

// close lets go of all files.
func (s *spill) close() {
	for len(s.files) > 0 {
		s.remove(s.files[0])
	}
	s.open = nil
}

// bytes is how much lies in the files, what is not needed any more among it.
func (s *spill) bytes() (n int64) {
	for _, f := range s.files {
		n += f.end
	}
	return n
}
