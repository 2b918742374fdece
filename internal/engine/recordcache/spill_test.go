package recordcache

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// TestSpillIsThinned says that one message that stays holds the file of all that were spilled with it, or is lost when
// it moves.
func TestSpillIsThinned(t *testing.T) {
	t.Parallel()
	d := vfs.NewMem(1)
	if err := d.Mkdir(SpillDir); err != nil {
		t.Fatal(err)
	}
	names := 0
	s := NewSpill(d, func() string { names++; return fmt.Sprint(names) })
	page := func(i int) []byte { return []byte(fmt.Sprintf("%06d%s", i, make([]byte, 1<<20))) }
	stay := map[int]bool{}
	for i := range 300 { // each file has 63 of them, of which one stays
		r := s.Put(page(i))
		if r.IsZero() {
			t.Fatal("no room")
		}
		if i%63 == 5 {
			stay[i] = true
			defer func() {
				got, err := s.Get(r)
				if err != nil || string(got) != string(page(i)) {
					t.Errorf("page %d: %v", i, err)
				}
			}()
		} else {
			s.Drop(r)
		}
	}
	if len(s.files) > 2 {
		t.Errorf("%d files for %d pages that stay", len(s.files), len(stay))
	}
}

// readSizes is a disk that notes how much is read at once.
type readSizes struct {
	vfs.FS
	bytes int
}

// Create implements vfs.FS.
func (d *readSizes) Create(name string) (vfs.File, error) {
	f, err := d.FS.Create(name)
	return &sizedFile{f, d}, err
}

type sizedFile struct {
	vfs.File
	disk *readSizes
}

// ReadAt implements vfs.File.
func (f *sizedFile) ReadAt(p []byte, at int64) (int, error) {
	f.disk.bytes += len(p)
	return f.File.ReadAt(p, at)
}

// TestPartsOfSpilledPages says that the head of a large transient message costs a read of all of it, that a part is
// other bytes than those of the page, or that damage in it is not noticed.
func TestPartsOfSpilledPages(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem(1))
	d := &readSizes{FS: faulty}
	if err := d.Mkdir(SpillDir); err != nil {
		t.Fatal(err)
	}
	s := NewSpill(d, func() string { return "one" })
	for _, size := range []int{1, 100, spillPiece, spillWhole, spillWhole + 1, 5 * spillPiece, 1<<20 + 77} {
		page := make([]byte, size)
		for i := range page {
			page[i] = byte(i * 7 / 5)
		}
		r := s.Put(page)
		for _, part := range [][2]int{
			{0, 1}, {0, 8 << 10}, {1, spillPiece}, {spillPiece, 1}, {spillPiece - 1, 2}, {size - 1, 1}, {100, size}, {0, size},
		} {
			from := min(part[0], size-1)
			to := min(from+part[1], size)
			before := d.bytes
			got, err := s.Get(r.Part(storage.Ref{Offset: uint32(from), Size: uint32(to - from)}))
			if err != nil || !bytes.Equal(got, page[from:to]) {
				t.Errorf("octets %d to %d of %d: %d others, %v", from, to, size, len(got), err)
			}
			most := to - from + 2*(spillPiece+spillSumBytes) + (to-from)/spillPiece*spillSumBytes
			if n := d.bytes - before; size > spillWhole && n > most {
				t.Errorf("octets %d to %d of %d: %d were read", from, to, size, n)
			}
		}
		s.Drop(r)
	}
	r := s.Put(make([]byte, 1<<20))
	s.Put([]byte("behind"))
	faulty.Flip(SpillDir+"/one", 2*spillPiece, 1)
	for from := uint32(0); from < 8*spillPiece; from += spillPiece {
		_, err := s.Get(r.Part(storage.Ref{Offset: from, Size: 1}))
		if damaged := from == spillPiece; (err != nil) != damaged {
			t.Errorf("at %d: %v", from, err)
		}
	}
}
