package journal

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// replaced is what the tests write in the place of a batch.
func replaced(i storage.Index) []byte { return data(1, i+1<<40, 500) }

// replace writes batches of log 1 from first on, of which the first cuts.
func replace(t *testing.T, j *Journal, first, last storage.Index) {
	t.Helper()
	var group []Batch
	for i := first; i <= last; i++ {
		group = append(group, Batch{Log: 1, Index: i, Data: replaced(i), Cuts: i == first})
	}
	must(t, put(j, group))
}

// hasReplaced fails unless log 1 has the batches up to last, those from first on replaced.
func hasReplaced(t *testing.T, j *Journal, first, last storage.Index) {
	t.Helper()
	if next := j.Next(1); next != last+1 {
		t.Fatalf("next is %d, want %d", next, last+1)
	}
	for i := max(first, 2) - 1; i <= last; i++ {
		want := data(1, i, 500)
		if i >= first {
			want = replaced(i)
		}
		if got, err := j.ReadBatch(nil, 1, i); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("batch %d: %d bytes, %v", i, len(got), err)
		}
	}
}

// cutting is a journal with batches 1 to 8 of logs 1 and 2 that may be cut; the first five are in a segment of their own.
func cutting(t *testing.T, fs vfs.FS) *Journal {
	t.Helper()
	j := mustOpen(t, fs, small())
	must(t, j.AllowCuts())
	for i := range 8 {
		if write(t, j, 500, 1, 2); i == 4 {
			endSegment(t, j)
		}
	}
	must(t, j.Sync())
	return j
}

func TestABatchThatCutsTakesThePlaceOfOthers(t *testing.T) {
	t.Parallel()
	// If it fails, a replica has what no leader has decided.
	for first := storage.Index(1); first <= 9; first++ {
		mem := vfs.NewMem(uint64(first))
		j := cutting(t, mem)
		replace(t, j, first, first+1)
		hasReplaced(t, j, first, first+1)
		if safe := j.Safe(1); safe != first-1 {
			t.Errorf("cut at %d: safe is %d before the sync", first, safe)
		}
		must(t, j.Sync())
		mem.Crash()
		j = mustOpen(t, mem, small())
		hasReplaced(t, j, first, first+1)
		has(t, j, 2, 1, 8, 500)
		must(t, j.Close())
		j = mustOpen(t, mem, small())
		hasReplaced(t, j, first, first+1)
		must(t, j.Close())
	}
}

func TestWhatMayBeCut(t *testing.T) {
	t.Parallel()
	// If it fails, what a checkpoint covers is replaced, a hole is torn, or an older version opens what it cannot read.
	mem := vfs.NewMem(1)
	j := mustOpen(t, mem, small())
	write(t, j, 500, 1)
	must(t, j.Sync())
	refused := func(what string, log storage.LogID, index storage.Index) {
		t.Helper()
		if err := put(j, []Batch{{Log: log, Index: index, Cuts: true}}); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("without leave", 1, 1)
	format := func() uint32 {
		p, err := j.readFile(manifestName)
		must(t, err)
		return le.Uint32(p[8:])
	}
	if n := format(); n != 2 {
		t.Errorf("format %d without cuts", n)
	}
	must(t, j.AllowCuts())
	if n := format(); n != 3 {
		t.Errorf("format %d with cuts", n)
	}
	write(t, j, 500, 1)
	write(t, j, 500, 1)
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 2, []byte("state")))
	refused("what a checkpoint covers", 1, 2)
	refused("a hole", 1, 5)
	refused("nothing", 1, 0)
	refused("a page", storage.LogID(1).Pages(), 1)
	replace(t, j, 3, 3)
	must(t, j.Close())
}

func TestWhatIsVoidStaysVoid(t *testing.T) {
	t.Parallel()
	// If it fails, batches that were replaced come back when the segment with the others is gone: a start takes them for
	// the log's, or for damage.
	mem := vfs.NewMem(1)
	j := cutting(t, mem)
	replace(t, j, 4, 7)
	endSegment(t, j)
	write(t, j, 500, 1)
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 7, []byte("state")))
	must(t, j.Checkpoint(2, 8, []byte("state")))
	n, err := j.Reclaim(func(log storage.LogID, first, last storage.Index) int64 {
		if log == 1 && first <= 2 && 2 <= last {
			return 1 // of the first segment
		}
		return 0
	})
	if must(t, err); n != 1 {
		t.Fatalf("%d segments were given back", n)
	}
	for _, how := range []string{"a crash", "a stop"} {
		if how == "a crash" {
			mem.Crash()
		} else {
			must(t, j.Close())
		}
		j = mustOpen(t, mem, small())
		if next := j.Next(1); next != 9 {
			t.Errorf("after %s next is %d", how, next)
		}
		if _, err := j.ReadBatch(nil, 1, 4); !errors.Is(err, ErrGone) {
			t.Errorf("after %s a batch that was replaced is there: %v", how, err)
		}
		if _, err := j.ReadBatch(nil, 1, 3); err != nil {
			t.Errorf("after %s: %v", how, err)
		}
	}
	must(t, j.Close())
}

func TestACrashBeforeACutIsSafeBringsAllBack(t *testing.T) {
	t.Parallel()
	// If it fails, a crash leaves a part of what was replaced, which looks like damage.
	for seed := range uint64(8) {
		mem := vfs.NewMem(seed)
		j := cutting(t, mem)
		must(t, j.Checkpoint(1, 3, []byte("state")))
		must(t, j.Checkpoint(2, 8, []byte("state")))
		replace(t, j, 4, 7)
		prepare(t, j)
		if _, err := j.Reclaim(nothing); err != nil {
			t.Fatal(err)
		}
		mem.Crash()
		j = mustOpen(t, mem, small())
		switch next := j.Next(1); next {
		case 9:
			has(t, j, 1, 4, 8, 500)
		case 8:
			if got, err := j.ReadBatch(nil, 1, 4); err != nil || !bytes.Equal(got, replaced(4)) {
				t.Errorf("seed %d: batch 4: %d bytes, %v", seed, len(got), err)
			}
		default:
			t.Errorf("seed %d: the log goes on at %d", seed, next)
		}
		must(t, j.Close())
	}
}
