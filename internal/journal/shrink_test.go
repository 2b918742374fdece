package journal

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// TestShrink says that a log that rests keeps the files of its busiest hour, or loses its reserve.
func TestShrink(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(1)
	o := Options{Dir: "journal", SegmentBytes: 64 << 10, ReserveBytes: 3 * 64 << 10, Entropy: 2}
	j, _, err := Open(m, o)
	must(t, err)
	_, err = j.Prepare(true)
	must(t, err)
	body := make([]byte, 20<<10)
	for i := range 60 {
		must(t, j.Reserve(len(body)+Overhead, Growing))
		must(t, j.Write([]Batch{{Log: 3, Index: j.Next(3), Data: body}}))
		must(t, j.Sync())
		if i%20 == 19 {
			must(t, j.Checkpoint(3, j.Safe(3), []byte("state")))
			_, err := j.Reclaim(func(storage.LogID, storage.Index, storage.Index) int64 { return 0 })
			must(t, err)
		}
	}
	before := j.ready()
	wanted, _, _ := j.stocked()
	n, err := j.Shrink()
	must(t, err)
	if n == 0 || j.ready() != before-n || j.ready() != wanted {
		t.Errorf("%d of %d files are removed; %d are in the reserve", n, before, j.o.reserve())
	}
	if again, err := j.Shrink(); again != 0 || err != nil {
		t.Errorf("%d more, %v", again, err)
	}
	must(t, j.Close())
	j, r, err := Open(m, o)
	must(t, err)
	if len(r.Faults) > 0 || j.Next(3) != 61 {
		t.Errorf("after that: %v, next %d", r.Faults, j.Next(3))
	}
	must(t, j.Close())
}
