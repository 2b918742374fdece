package journal

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// hasStretches fails unless reading a log in stretches, from its beginning to its end, yields all these records, in
// pieces where a stretch ends within one, and nothing else than was written. It tells how many of them one stretch had
// at the most.
func hasStretches(t testing.TB, j *Journal, memory int, refs ...storage.Ref) (most int) {
	t.Helper()
	slices.SortFunc(refs, compareRefs)
	s := NewStretch(memory)
	for len(refs) > 0 {
		log := refs[0].Log
		index, offset := storage.Index(1), uint32(0)
		left := uint32(0) // of the first record, behind what the stretch before had of it
		for len(refs) > 0 && refs[0].Log == log {
			if err := j.ReadStretch(s, log, index, offset); err != nil {
				t.Fatalf("from %d/%d of log %d, before %+v: %v", index, offset, log, refs[0], err)
			}
			next, at := s.Next()
			if next < index || next == index && at <= offset {
				t.Fatalf("a stretch of log %d from %d/%d ends at %d/%d", log, index, offset, next, at)
			}
			n := 0
			for ; len(refs) > 0 && refs[0].Log == log && (refs[0].Index < next || refs[0].Index == next && refs[0].Offset < at); n++ {
				r := refs[0]
				if left > 0 {
					r.Offset, r.Size = r.Offset+r.Size-left, left
				}
				got := s.Find(r)
				if want := data(log, r.Index, int(r.Offset+r.Size))[r.Offset:]; !bytes.HasPrefix(want, got) {
					t.Fatalf("%+v: other bytes than written", r)
				}
				if left = r.Size - uint32(len(got)); left > 0 && (next != r.Index || at != r.Offset+uint32(len(got))) {
					t.Fatalf("%+v: %d bytes in a stretch from %d/%d to %d/%d", r, len(got), index, offset, next, at)
				}
				if left > 0 {
					break
				}
				refs = refs[1:]
			}
			most = max(most, n)
			index, offset = next, at
		}
	}
	return most
}

// TestStretchesOfARewrittenSegment says that a reader of many records of a segment that was rewritten is handed others,
// or none, or reads each of them alone.
func TestStretchesOfARewrittenSegment(t *testing.T) {
	t.Parallel()
	for _, size := range []int{200, 3000, 200_000} { // of batches: many in a stretch, few, less than one
		j, live := sparselyWritten(t, size)
		for _, memory := range []int{0, 16 << 10, 64 << 10} {
			if most := hasStretches(t, j, memory, slices.Clone(live)...); memory > 0 && most < 30 {
				t.Errorf("batches of %d: %d records in a stretch of %d bytes at the most", size, most, memory)
			}
		}
		s := NewStretch(64 << 10)
		if err := j.ReadStretch(s, 1, j.Next(1), 0); !errors.Is(err, ErrGone) || s.Batches() != 0 {
			t.Errorf("behind the end: %v", err)
		}
		last := live[len(live)-1]
		must(t, j.ReadStretch(s, 1, last.Index, last.Offset/4096*4096))
		if got := s.Find(last); len(got) != int(last.Size) {
			t.Errorf("from the middle of a batch on: %d bytes of %+v", len(got), last)
		}
		gone := last
		gone.Offset -= 100
		if s.Find(gone) != nil {
			t.Error("bytes that were not kept are found")
		}
		must(t, j.Close())
	}
}

// sparselyWritten writes batches of a size, of which every other 100 bytes are live, and rewrites all that is full.
func sparselyWritten(t *testing.T, size int) (j *Journal, live []storage.Ref) {
	t.Helper()
	j = mustOpen(t, vfs.NewMem(1), small())
	for len(j.segments) < 4 {
		var group []Batch
		for i := j.Next(1); len(group) < 1+10_000/size; i++ {
			group = append(group, Batch{Log: 1, Index: i, Data: data(1, i, size)})
			for at := 100; at+100 <= size; at += 200 {
				live = append(live, storage.Ref{Log: 1, Index: i, Offset: uint32(at), Size: 100})
			}
		}
		must(t, put(j, group))
	}
	must(t, j.Sync())
	must(t, j.Checkpoint(1, j.Next(1)-1, nil))
	for rewrite(t, j, 0.9, live...) > 0 {
	}
	i := slices.IndexFunc(j.segments, func(s *segmentState) bool { return s.Rewritten })
	if i < 0 {
		t.Fatalf("batches of %d: nothing was rewritten", size)
	}
	spans := j.segments[i].Spans
	live = slices.DeleteFunc(live, func(r storage.Ref) bool { return r.Index > spans[len(spans)-1].Last() })
	return j, live
}
