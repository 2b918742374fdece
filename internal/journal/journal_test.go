package journal

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// small keeps tests quick: segments of 64 KiB, a reserve of two, and few files open at a time.
func small() Options {
	return Options{Entropy: 7, SegmentBytes: 64 << 10, ReserveBytes: 128 << 10, OpenFiles: 4}
}

func mustOpen(t testing.TB, fs vfs.FS, o Options) *Journal {
	t.Helper()
	j, r, err := Open(fs, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if len(r.Faults) > 0 {
		t.Fatalf("open: faults: %v", r.Faults)
	}
	return j
}

// data is what the tests write as a batch: any of its bytes tells which batch it is of.
func data(log storage.LogID, index storage.Index, n int) []byte {
	p := make([]byte, 0, n+8)
	for x := uint64(log)<<32 | uint64(index); len(p) < n; {
		x = mix(x + 0x9e3779b97f4a7c15)
		p = le.AppendUint64(p, x)
	}
	return p[:n:n]
}

// write appends one batch of n bytes to each of the logs, as one group.
func write(t testing.TB, j *Journal, n int, logs ...storage.LogID) {
	t.Helper()
	var group []Batch
	for _, log := range logs {
		group = append(group, Batch{Log: log, Index: j.Next(log), Data: data(log, j.Next(log), n)})
	}
	if err := put(j, group); err != nil {
		t.Fatalf("write: %v", err)
	}
}

// nothing is live.
func nothing(storage.LogID, storage.Index, storage.Index) int64 { return 0 }

// put writes a group as an engine does that has no maintenance: space is made when there is none.
func put(j *Journal, group []Batch) error {
	err := j.Write(group)
	if !errors.Is(err, ErrUnready) {
		return err
	}
	bytes := 0
	for _, b := range group {
		bytes += len(b.Data) + Overhead
	}
	if err := j.Reserve(bytes, Committed); err != nil {
		return err
	}
	return j.Write(group)
}

// prepare does all that there is to prepare.
func prepare(t testing.TB, j *Journal) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = j.Prepare(true)
		must(t, err)
	}
}

// endSegment closes the open segment, as if it were full.
func endSegment(t testing.TB, j *Journal) {
	t.Helper()
	must(t, j.Sync())
	j.full, j.open = append(j.full, j.open), nil
	must(t, j.closeOut())
	must(t, j.unname())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has fails unless log holds exactly the batches first to last, of n bytes each.
func has(t testing.TB, j *Journal, log storage.LogID, first, last storage.Index, n int) {
	t.Helper()
	if next := j.Next(log); next != last+1 {
		t.Fatalf("log %d: next is %d, want %d", log, next, last+1)
	}
	var buf []byte
	for i := first; i <= last; i++ {
		got, err := j.ReadBatch(buf, log, i)
		if err != nil {
			t.Fatalf("log %d, index %d: %v", log, i, err)
		}
		if !bytes.Equal(got, data(log, i, n)) {
			t.Fatalf("log %d, index %d: other bytes than written", log, i)
		}
		buf = got
	}
}

func TestWrittenBatchesAreReadBack(t *testing.T) {
	t.Parallel()
	// If this failed, the journal would not be one.
	for _, n := range []int{0, 1, 100, segment.ChunkBytes - 1, segment.ChunkBytes, segment.ChunkBytes + 1, 3*segment.ChunkBytes + 17, 70 << 10, 3 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem(1)
			j := mustOpen(t, fs, small())
			for range 20 {
				write(t, j, n, 1, 2)
			}
			must(t, j.Sync())
			has(t, j, 1, 1, 20, n)
			for off := uint32(0); int(off) < n; off += uint32(n/7 + 1) {
				p := make([]byte, min(n-int(off), 5000))
				k, err := j.ReadAt(p, storage.Ref{Log: 2, Index: 13, Offset: off, Size: uint32(len(p))})
				if err != nil || k != len(p) || !bytes.Equal(p, data(2, 13, n)[off:int(off)+k]) {
					t.Fatalf("read at %d: %d bytes, %v", off, k, err)
				}
			}
			must(t, j.Close())
			j = mustOpen(t, fs, small())
			has(t, j, 1, 1, 20, n)
			has(t, j, 2, 1, 20, n)
			write(t, j, n, 2, 1)
			has(t, j, 2, 1, 21, n)
			must(t, j.Close())
		})
	}
}

func TestReplayBeginsAfterTheCheckpoint(t *testing.T) {
	t.Parallel()
	// A restart would apply batches twice, or miss some.
	fs := vfs.NewMem(1)
	j := mustOpen(t, fs, small())
	for range 30 {
		write(t, j, 500, 1, 2)
	}
	if err := j.Checkpoint(1, 12, nil); !errors.Is(err, ErrUnsafe) {
		t.Fatalf("checkpoint of unsynced batches: %v", err)
	}
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 10, []byte("ten")))
	must(t, j.Checkpoint(1, 12, []byte("twelve")))
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	at, state, err := j.LoadCheckpoint(1)
	if err != nil || at != 12 || string(state) != "twelve" {
		t.Fatalf("checkpoint: %d %q %v", at, state, err)
	}
	want := storage.Index(13)
	must(t, j.Replay(1, func(i storage.Index, p []byte) error {
		if i != want || !bytes.Equal(p, data(1, i, 500)) {
			return fmt.Errorf("index %d, want %d", i, want)
		}
		want++
		return nil
	}))
	if want != 31 {
		t.Fatalf("replay ended at %d", want-1)
	}
	if _, _, err := j.LoadCheckpoint(2); !errors.Is(err, ErrNoCheckpoint) {
		t.Fatalf("checkpoint of a log without one: %v", err)
	}
	must(t, j.Close())
}
