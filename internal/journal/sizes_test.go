package journal

import (
	"bytes"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// If this fails, the broker's own files take too much of a small disk, or a large one has files as small as a small
// one's.
func TestSizesFollowDisk(t *testing.T) {
	const mb, gb = 1 << 20, 1 << 30
	for _, c := range []struct {
		disk int64
		want Sizes
	}{
		{0, Sizes{64 * mb, 256 * mb, 64 * mb}}, // not known
		{100 * mb, Sizes{2 * mb, 16 * mb, 4 * mb}},
		{128 * mb, Sizes{2 * mb, 16 * mb, 4 * mb}},
		{120 * mb, Sizes{2 * mb, 16 * mb, 4 * mb}}, // what ext4 leaves of 128 MB
		{512 * mb, Sizes{4 * mb, 32 * mb, 16 * mb}},
		{488 * mb, Sizes{4 * mb, 32 * mb, 16 * mb}},
		{1 * gb, Sizes{8 * mb, 64 * mb, 32 * mb}},
		{4 * gb, Sizes{32 * mb, 256 * mb, 64 * mb}},
		{64 * gb, Sizes{64 * mb, 256 * mb, 64 * mb}},
		{1 << 62, Sizes{64 * mb, 256 * mb, 64 * mb}},
	} {
		got := SizesFor(c.disk)
		if got != c.want {
			t.Errorf("for %d MiB: %+v, want %+v", c.disk/mb, got, c.want)
		}
		if kept := got.Reserve + 6*got.Segment; c.disk >= 128*mb && kept > c.disk/4 {
			t.Errorf("of %d MiB the broker keeps %d for itself", c.disk/mb, kept/mb)
		}
	}
}

// If this fails, a journal cannot be opened with segments of another size, loses what it has, or keeps spares that are
// too large for the disk, or counts on small ones as if they were large.
func TestSegmentsOfAnotherSize(t *testing.T) {
	t.Parallel()
	const kb = 1 << 10
	m := vfs.NewMem(1)
	var bodies [][]byte
	entropy := uint64(1)
	for _, size := range []int64{512 * kb, 64 * kb, 1024 * kb, 64 * kb} {
		entropy++
		j, r, err := Open(m, Options{SegmentBytes: size, ReserveBytes: 4 * size, Entropy: entropy})
		must(t, err)
		if len(r.Faults) > 0 {
			t.Fatal(r.Faults)
		}
		for i := range j.spares {
			if s := &j.spares[i]; s.size > size && !s.named {
				t.Errorf("a spare of %d KiB is left where segments have %d", s.size/kb, size/kb)
			}
		}
		for more := true; more; {
			more, err = j.Prepare(true)
			must(t, err)
		}
		if wanted, _, _ := j.stocked(); j.SpareBytes() < int64(wanted-j.keep(Growing))*size {
			t.Errorf("segments of %d KiB: %d bytes beyond the reserve", size/kb, j.SpareBytes())
		}
		for n := range 40 {
			body := bytes.Repeat([]byte{byte(len(bodies))}, 10*kb+n)
			bodies = append(bodies, body)
			must(t, j.Reserve(len(body)+Overhead, Growing))
			must(t, j.Write([]Batch{{Log: 3, Index: j.Next(3), Data: body}}))
			must(t, j.Sync())
		}
		for i, want := range bodies {
			got, err := j.ReadBatch(nil, 3, storage.Index(i+1))
			must(t, err)
			if !bytes.Equal(got, want) {
				t.Fatalf("batch %d is another one", i+1)
			}
		}
		must(t, j.Close())
	}
}
