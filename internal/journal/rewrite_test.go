package journal

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// liveOf answers like an engine of which just these records are live.
func liveOf(refs []storage.Ref) Live {
	return func(log storage.LogID, first, last storage.Index) (n int64) {
		for _, r := range refs {
			if r.Log == log && first <= r.Index && r.Index <= last {
				n += int64(r.Size)
			}
		}
		return n
	}
}

// rewrite does a whole rewriting in which just these records are live, and tells how many segments were given back.
func rewrite(t testing.TB, j *Journal, share float64, live ...storage.Ref) int {
	t.Helper()
	for len(j.full) > 0 {
		must(t, j.closeOut())
	}
	w, err := j.Sparse(liveOf(live), share)
	must(t, err)
	if w == nil {
		return 0
	}
	w.Keep(live)
	for done := false; !done; {
		done, err = w.Step(1 << 10)
		must(t, err)
	}
	n, err := j.Adopt(w)
	must(t, err)
	return n
}

// hasPieces fails unless the records read as they were written: their batches ended where n says, or behind.
func hasPieces(t testing.TB, j *Journal, refs ...storage.Ref) {
	t.Helper()
	for _, r := range refs {
		p := make([]byte, r.Size)
		if _, err := j.ReadAt(p, r); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if want := data(r.Log, r.Index, int(r.Offset+r.Size))[r.Offset:]; !bytes.Equal(p, want) {
			t.Fatalf("%+v: other bytes than written", r)
		}
	}
}

func TestLivePiecesSurviveRewriting(t *testing.T) {
	t.Parallel()
	// A message that waits long would be lost, or another one delivered in its place.
	const seed = 3
	dice := rand.New(rand.NewPCG(seed, 0))
	fs := vfs.NewMem(1)
	j := mustOpen(t, fs, small())
	logs := []storage.LogID{1, 2, 3, storage.LogID(1).Pages()}
	var live []storage.Ref
	sizes := []int{1, 100, 3000, segment.ChunkBytes, 20_000, 100_000, 600_000}
	for round := range 60 {
		var group []Batch
		for _, log := range logs {
			n := sizes[dice.IntN(len(sizes)-round%3)]
			group = append(group, Batch{Log: log, Index: j.Next(log), Data: data(log, j.Next(log), n)})
			for at := 0; at < n; {
				size := min(1+dice.IntN(max(1, n/(1+dice.IntN(2000)))), n-at)
				if dice.IntN(2) == 0 {
					live = append(live, storage.Ref{Log: log, Index: j.Next(log), Offset: uint32(at), Size: uint32(size)})
				}
				at += size
			}
		}
		must(t, put(j, group))
	}
	slices.SortFunc(live, compareRefs)
	must(t, j.Sync())
	for _, log := range logs[:3] {
		must(t, j.Checkpoint(log, j.Next(log)-1, nil))
	}
	hasPieces(t, j, live...)
	before := j.Stats().SegmentBytes
	for round := range 5 {
		n := 0
		for freed := 1; freed > 0 && n < 100; n += freed {
			freed = rewrite(t, j, 0.9, live...)
		}
		if round == 0 && (n == 0 || j.Stats().SegmentBytes > before*3/4) {
			t.Fatalf("seed %d: %d segments were given back, %d bytes are left of %d", seed, n, j.Stats().SegmentBytes, before)
		}
		hasPieces(t, j, live...)
		must(t, j.Close())
		j = mustOpen(t, fs, small())
		hasPieces(t, j, live...)
		for _, memory := range []int{0, 64 << 10} {
			hasStretches(t, j, memory, live...)
		}
		for i := 0; i < len(live); i++ { // what is settled in the next round
			if dice.IntN(3) == 0 {
				live = slices.Delete(live, i, i+1)
			}
		}
	}
	must(t, j.Close())
}

func TestWhatWasNotKeptIsGone(t *testing.T) {
	t.Parallel()
	// A reader would be handed bytes of something else.
	j := mustOpen(t, vfs.NewMem(1), small())
	write(t, j, 9000, 1, 2)
	write(t, j, 9000, 1)
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 2, nil))
	must(t, j.Checkpoint(2, 1, nil))
	endSegment(t, j)
	kept := []storage.Ref{{Log: 1, Index: 1, Offset: 100, Size: 50}, {Log: 1, Index: 1, Offset: 7000, Size: 2000}}
	if n := rewrite(t, j, 0.5, kept...); n != 1 {
		t.Fatalf("%d segments were given back", n)
	}
	hasPieces(t, j, kept...)
	for _, r := range []storage.Ref{
		{Log: 1, Index: 1, Offset: 99, Size: 10}, {Log: 1, Index: 1, Offset: 149, Size: 2}, {Log: 1, Index: 1, Offset: 150, Size: 1},
		{Log: 1, Index: 1, Offset: 0, Size: 1}, {Log: 1, Index: 1, Offset: 8999, Size: 2}, {Log: 1, Index: 1, Offset: 100, Size: 7000},
		{Log: 1, Index: 2, Offset: 100, Size: 50}, {Log: 2, Index: 1, Offset: 100, Size: 50},
	} {
		if _, err := j.ReadAt(make([]byte, r.Size), r); !errors.Is(err, ErrGone) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := j.ReadBatch(nil, 1, 1); !errors.Is(err, ErrGone) {
		t.Errorf("a batch of which pieces are left: %v", err)
	}
	must(t, j.Close())
}
