package journal

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

func TestStretch(t *testing.T) {
	// If this fails, reading a log ahead yields other bytes than reading it record by record, or misses some.
	t.Parallel()
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	j := mustOpen(t, vfs.NewMem(1), Options{Entropy: 1, SegmentBytes: 1 << 20, ReserveBytes: -1})
	sizes := map[place.Index]int{}
	for range 400 { // several segments, small batches close by and large ones cut short, another log in between
		var group []Batch
		next := map[place.LogID]place.Index{}
		for range 1 + r.IntN(4) {
			log := place.LogID(1 + r.IntN(2)*r.IntN(2))
			i := max(next[log], j.Next(log))
			next[log] = i + 1
			p := data(log, i, r.IntN([]int{3, 300, 5000, 60_000}[r.IntN(4)]))
			group = append(group, Batch{Log: log, Index: i, Data: p})
			if log == 1 {
				sizes[i] = len(p)
			}
		}
		must(t, put(j, group))
	}
	must(t, j.Sync())
	for _, memory := range []int{0, 16 << 10, 64 << 10} {
		s := NewStretch(memory)
		index, offset, many := place.Index(1), uint32(0), 0
		for index < j.Next(1) {
			must(t, j.ReadStretch(s, 1, index, offset))
			next, at := s.Next()
			if next == index && at <= offset {
				t.Fatalf("seed %d: a stretch at %d/%d ends at %d/%d", seed, index, offset, next, at)
			}
			many = max(many, int(next-index))
			for i := index; i <= next && i < j.Next(1); i++ {
				from, to := uint32(0), uint32(sizes[i])
				if i == index {
					from = offset
				}
				if i == next {
					to = at
				}
				want, err := j.ReadBatch(nil, 1, i)
				must(t, err)
				whole := place.Ref{Log: 1, Index: i, Offset: from, Size: uint32(len(want)) - from}
				if got := s.Find(whole); !bytes.Equal(got, want[from:to]) {
					t.Fatalf("seed %d: memory %d, batch %d from %d: %d bytes, want %d", seed, memory, i, from, len(got), to-from)
				}
				if from > 0 && s.Find(place.Ref{Log: 1, Index: i, Offset: from - 1, Size: 2}) != nil {
					t.Fatalf("seed %d: a stretch from %d on has what lies before", seed, from)
				}
			}
			index, offset = next, at
		}
		if memory == 64<<10 && many < 3 {
			t.Errorf("seed %d: no stretch held several batches", seed)
		}
		if err := j.ReadStretch(s, 1, index, 0); !errors.Is(err, ErrGone) || s.Find(place.Ref{Log: 1, Index: index, Size: 1}) != nil {
			t.Errorf("behind the end: %v", err)
		}
		if err := j.ReadStretch(s, 1, 1, 1<<20); !errors.Is(err, ErrGone) {
			t.Errorf("behind the end of a batch: %v", err)
		}
	}
	must(t, j.Close())
}
