package recordcache

import (
	"fmt"
	"testing"

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
