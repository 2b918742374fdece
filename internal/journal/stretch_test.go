package journal

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

func TestStretch(t *testing.T) {
	// If this fails, reading a log ahead yields other bytes than reading it record by record, or misses some.
	t.Parallel()
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	j := mustOpen(t, vfs.NewMem(1), Options{Entropy: 1, SegmentBytes: 1 << 20, ReserveBytes: -1})
	sizes := map[storage.Index]int{}
	for range 400 { // several segments, small batches close by and large ones cut short, another log in between
		var group []Batch
		next := map[storage.LogID]storage.Index{}
		for range 1 + r.IntN(4) {
			log := storage.LogID(1 + r.IntN(2)*r.IntN(2))
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
		index, offset, many := storage.Index(1), uint32(0), 0
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
				whole := storage.Ref{Log: 1, Index: i, Offset: from, Size: uint32(len(want)) - from}
				if got := s.Find(whole); !bytes.Equal(got, want[from:to]) {
					t.Fatalf("seed %d: memory %d, batch %d from %d: %d bytes, want %d", seed, memory, i, from, len(got), to-from)
				}
				if from > 0 && s.Find(storage.Ref{Log: 1, Index: i, Offset: from - 1, Size: 2}) != nil {
					t.Fatalf("seed %d: a stretch from %d on has what lies before", seed, from)
				}
			}
			index, offset = next, at
		}
		if memory == 64<<10 && many < 3 {
			t.Errorf("seed %d: no stretch held several batches", seed)
		}
		if err := j.ReadStretch(s, 1, index, 0); !errors.Is(err, ErrGone) || s.Find(storage.Ref{Log: 1, Index: index, Size: 1}) != nil {
			t.Errorf("behind the end: %v", err)
		}
		if err := j.ReadStretch(s, 1, 1, 1<<20); !errors.Is(err, ErrGone) {
			t.Errorf("behind the end of a batch: %v", err)
		}
	}
	must(t, j.Close())
}

func TestHint(t *testing.T) {
	// If this fails, a reader that remembers where a batch was is handed what lies there now.
	t.Parallel()
	j := mustOpen(t, vfs.NewMem(1), small())
	var hints [3]Hint
	read := func(i storage.Index) ([]byte, error) {
		return j.ReadBy(&hints[i%3], nil, storage.Ref{Log: 1, Index: i, Offset: 5000, Size: 3000})
	}
	for len(j.segments) < 4 {
		write(t, j, 20_000, 1)
		for i := storage.Index(1); i < j.Next(1); i++ { // open and closed, each hint for one batch after the other and again
			for range 2 {
				if p, err := read(i); err != nil || !bytes.Equal(p, data(1, i, 20_000)[5000:8000]) {
					t.Fatalf("batch %d: %v", i, err)
				}
			}
		}
	}
	_, err := read(1)
	must(t, err)
	must(t, j.Sync())
	must(t, j.Checkpoint(1, j.Safe(1), nil))
	_, err = j.Reclaim(func(storage.LogID, storage.Index, storage.Index) int64 { return 0 })
	must(t, err)
	if _, err := read(1); !errors.Is(err, ErrGone) {
		t.Errorf("a batch that is gone: %v", err)
	}
	must(t, j.Close())
}
