package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"path"

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
	// spillSumBytes stand before each page: a CRC32C.
	spillSumBytes = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// spill keeps the transient pages of one vhost in files that are never synced. It belongs to the runner's owner.
type spill struct {
	fs    vfs.FS
	name  func() string // of the next file
	files map[place.Index]*spillFile
	open  *spillFile
	last  place.Index
	buf   []byte
	kept  [spillKept]struct {
		ref  place.Ref
		page []byte
	}
	turn int
}

type spillFile struct {
	number place.Index
	name   string
	f      vfs.File
	end    int64
	pages  int // that are needed
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
			log.Warn("left alone: a directory that is not the broker's", "name", name)
			continue
		}
		if err := fs.Remove(name); err != nil && !errors.Is(err, vfs.ErrNotExist) {
			log.Warn("left alone: a file that cannot be removed", "name", name, "error", err)
		}
	}
	return nil
}

func newSpill(fs vfs.FS, name func() string) *spill {
	return &spill{fs: fs, name: name, files: map[place.Index]*spillFile{}}
}

// put keeps a page; the zero Ref says that there is no room, or that the disk will not have it.
func (s *spill) put(page []byte) place.Ref {
	f := s.open
	if f == nil || f.end+int64(len(page)) > spillFileBytes && f.end > 0 {
		var err error
		if f, err = s.create(); err != nil {
			return place.Ref{}
		}
	}
	s.buf = binary.LittleEndian.AppendUint32(s.buf[:0], crc32.Checksum(page, castagnoli))
	s.buf = append(s.buf, page...)
	if _, err := f.f.WriteAt(s.buf, f.end); err != nil {
		return place.Ref{}
	}
	r := place.Ref{Log: place.Volatile.Pages(), Index: f.number, Offset: uint32(f.end), Size: uint32(len(page))}
	f.end += int64(len(s.buf))
	f.pages++
	return r
}

// create begins another file.
func (s *spill) create() (*spillFile, error) {
	name := path.Join(spillDir, s.name())
	file, err := s.fs.Create(name)
	if err != nil {
		return nil, err
	}
	old := s.open
	s.last++
	s.open = &spillFile{number: s.last, name: name, f: file}
	s.files[s.last] = s.open
	if old != nil && old.pages == 0 {
		s.remove(old)
	}
	return s.open, nil
}

// get returns a page for good.
func (s *spill) get(r place.Ref) ([]byte, error) {
	for i := range s.kept {
		if s.kept[i].ref == r {
			return s.kept[i].page, nil
		}
	}
	f := s.files[r.Index]
	if f == nil {
		return nil, fmt.Errorf("file %d is gone", r.Index)
	}
	b := make([]byte, spillSumBytes+int(r.Size))
	if _, err := f.f.ReadAt(b, int64(r.Offset)); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	page := b[spillSumBytes:]
	if binary.LittleEndian.Uint32(b) != crc32.Checksum(page, castagnoli) {
		return nil, fmt.Errorf("%s, offset %d: checksum mismatch", f.name, r.Offset)
	}
	s.kept[s.turn].ref, s.kept[s.turn].page = r, page
	s.turn = (s.turn + 1) % spillKept
	return page, nil
}

// drop gives a page back.
func (s *spill) drop(r place.Ref) {
	f := s.files[r.Index]
	if f == nil {
		return
	}
	for i := range s.kept {
		if s.kept[i].ref == r {
			s.kept[i].ref, s.kept[i].page = place.Ref{}, nil
		}
	}
	if f.pages--; f.pages > 0 {
		return
	}
	if f == s.open {
		f.end = 0 // from the beginning
		return
	}
	s.remove(f)
}

// remove lets go of a file; one that stays is removed at the next start.
func (s *spill) remove(f *spillFile) {
	delete(s.files, f.number)
	_ = f.f.Close()
	_ = s.fs.Remove(f.name)
}

// close lets go of all files.
func (s *spill) close() {
	for _, f := range s.files {
		s.remove(f)
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
