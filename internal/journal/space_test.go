package journal

import (
	"errors"
	"sync"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

func TestAFullDiskCanBeDrained(t *testing.T) {
	t.Parallel()
	// A full disk would be a fault, lose what was promised space, or stay full for ever.
	fs := vfs.NewFaulty(vfs.NewMem(1))
	j := mustOpen(t, fs, small())
	fs.Budget(600 << 10)
	var err error
	for err == nil {
		if err = j.Reserve(3000+Overhead, Growing); err == nil {
			write(t, j, 3000, 1)
		}
	}
	if !errors.Is(err, ErrNoSpace) {
		t.Fatalf("growing on a full disk: %v", err)
	}
	must(t, j.Sync())
	full := j.Next(1) - 1
	fs.Budget(0)
	drained := 0
	for ; j.Reserve(3000+Overhead, Draining) == nil; drained++ {
		write(t, j, 3000, 2)
	}
	if drained < 12 { // of the two segments of the reserve one goes for the manifest
		t.Fatalf("only %d batches were drained from the reserve", drained)
	}
	must(t, j.Sync())
	has(t, j, 1, 1, full, 3000)
	must(t, j.Close())

	j = mustOpen(t, fs, small()) // not even a restart needs space
	has(t, j, 1, 1, full, 3000)
	fs.Budget(64 << 10) // what a user deletes elsewhere
	must(t, j.Checkpoint(1, full, []byte("all settled")))
	must(t, j.Checkpoint(2, storage.Index(drained), nil))
	removed, err := j.Reclaim(nothing)
	if err != nil || removed < 5 {
		t.Fatalf("reclaimed %d, %v", removed, err)
	}
	must(t, j.Reserve(3000+Overhead, Growing))
	write(t, j, 3000, 1)
	must(t, j.Close())
}

func TestACheckpointMayTakeTheReserve(t *testing.T) {
	t.Parallel()
	// A full disk could not be drained: without a checkpoint nothing is given back.
	fs := vfs.NewFaulty(vfs.NewMem(1))
	j := mustOpen(t, fs, small())
	must(t, j.Reserve(0, Growing))
	write(t, j, 100, 1)
	must(t, j.Sync())
	fs.Budget(0)
	must(t, j.Checkpoint(1, 1, make([]byte, 50<<10)))
	if err := j.Checkpoint(1, 1, make([]byte, 500<<10)); !errors.Is(err, ErrNoSpace) {
		t.Fatalf("checkpoint larger than the reserve: %v", err)
	}
	write(t, j, 100, 1)
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	if at, state, err := j.LoadCheckpoint(1); at != 1 || len(state) != 50<<10 || err != nil {
		t.Fatalf("checkpoint at %d of %d bytes, %v", at, len(state), err)
	}
	has(t, j, 1, 1, 2, 100)
	must(t, j.Close())
}

func TestReservedRoomIsThere(t *testing.T) {
	t.Parallel()
	// The machine would have decided what cannot be written down.
	for _, n := range []int{0, 1, 500, 8 << 10, 60 << 10, 64 << 10, 200 << 10, 2 << 20} {
		fs := vfs.NewFaulty(vfs.NewMem(1))
		j := mustOpen(t, fs, small())
		for round := range 12 {
			batches := 1 + round%4
			fs.Budget(-1)
			must(t, j.Reserve(batches*(n+Overhead), Growing))
			fs.Budget(4 << 10) // a manifest, no more
			var logs []storage.LogID
			for i := range batches {
				logs = append(logs, storage.LogID(1+i))
			}
			spares := len(j.spares)
			if round%2 == 0 {
				write(t, j, n, logs...)
			} else {
				for _, log := range logs {
					write(t, j, n, log)
				}
			}
			if spares-len(j.spares) > 2*batches {
				t.Fatalf("%d bytes: took %d spares", n, spares-len(j.spares))
			}
		}
		fs.Budget(-1)
		must(t, j.Close())
	}
}

func TestReclaimKeepsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	// Live messages, or facts that no checkpoint covers, would be given back.
	fs := vfs.NewMem(1)
	j := mustOpen(t, fs, small())
	for len(j.segments) < 4 {
		write(t, j, 3000, 1, 2)
	}
	must(t, j.Sync())
	first := j.segments[0].Spans[0].Last()
	second := j.segments[1].Spans[0].Last()
	expect := func(want int, live Live) {
		t.Helper()
		if n, err := j.Reclaim(live); n != want || err != nil {
			t.Fatalf("reclaimed %d, want %d: %v", n, want, err)
		}
	}
	expect(0, nothing)
	must(t, j.Checkpoint(1, second, nil))
	expect(0, nothing) // log 2 has no checkpoint
	must(t, j.Checkpoint(2, first, nil))
	expect(0, func(log storage.LogID, first, _ storage.Index) int64 {
		if log == 2 && first == 1 {
			return 1
		}
		return 0
	})
	expect(1, nothing)
	if _, err := j.ReadBatch(nil, 1, first); !errors.Is(err, ErrGone) {
		t.Fatalf("a reclaimed batch: %v", err)
	}
	if _, err := j.ReadBatch(nil, 1, first+1); err != nil {
		t.Fatal(err)
	}
	must(t, j.Drop(2))
	expect(1, nothing)
	prepare(t, j) // else the next start goes on in the open segment
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	if err := j.Write([]Batch{{Log: 2, Index: 1}}); !errors.Is(err, ErrDropped) {
		t.Fatalf("write to a dropped log: %v", err)
	}
	last := j.Next(1) - 1
	must(t, j.Checkpoint(1, last, nil))
	write(t, j, 10, 1)
	expect(2, nothing)
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	if next := j.Next(1); next != last+2 {
		t.Fatalf("next is %d, want %d", next, last+2)
	}
	must(t, j.Close())
}

func TestReclaimWithoutRoomForAManifest(t *testing.T) {
	t.Parallel()
	// Segments that the manifest on the disk still names would be removed to make space for the next manifest.
	for n, reached := 1, true; reached; n++ {
		mem := vfs.NewMem(uint64(n))
		fs := vfs.NewFaulty(mem)
		o := small()
		o.ReserveBytes = 64 << 10
		j := mustOpen(t, fs, o)
		for len(j.segments) < 4 {
			write(t, j, 3000, 1)
		}
		last := j.Next(1) - 1
		must(t, j.Sync())
		must(t, j.Checkpoint(1, last, nil))
		for len(j.spares) > 0 { // the reserve is used up
			j.discard(j.spares[0].name())
			j.spares = j.spares[1:]
		}
		must(t, j.writeManifest())
		fs.Budget(0)
		fs.FailFrom(fs.Calls()+n, vfs.ErrCrashed)
		_, err := j.Reclaim(nothing)
		if reached = errors.Is(err, vfs.ErrCrashed); !reached {
			if !errors.Is(err, ErrNoSpace) || errors.Is(err, ErrFailed) || len(j.segments) != 4 || len(j.spares) != 0 {
				t.Fatalf("reclaim: %v; %+v", err, j.Stats())
			}
			fs.Before(nil)
			has(t, j, 1, 1, last, 3000)
		}
		mem.Crash()
		j = mustOpen(t, mem, o)
		has(t, j, 1, 1, last, 3000)
		if n, err := j.Reclaim(nothing); n < 3 || err != nil {
			t.Fatalf("reclaimed %d, %v", n, err)
		}
		must(t, j.Close())
	}
}

func TestAnIdleLogKeepsItsIndex(t *testing.T) {
	t.Parallel()
	// A log whose last segment was reclaimed would begin again, and its refs mean something else.
	fs := vfs.NewMem(1)
	j := mustOpen(t, fs, small())
	write(t, j, 10, 1, 2)
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 1, nil))
	prepare(t, j) // else the next start goes on in the open segment
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	must(t, j.Checkpoint(2, 1, nil))
	if n, err := j.Reclaim(nothing); n != 1 || err != nil {
		t.Fatalf("reclaimed %d, %v", n, err)
	}
	write(t, j, 10, 2)
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	if j.Next(1) != 2 || j.Next(2) != 3 || len(j.Logs()) != 2 {
		t.Fatalf("next %d and %d, %+v", j.Next(1), j.Next(2), j.Logs())
	}
	must(t, j.Close())
}

func TestReadersRunBesideSync(t *testing.T) {
	t.Parallel()
	// The race detector would find readers and the syncing goroutine in each other's way.
	j := mustOpen(t, vfs.Dir(t.TempDir()), small())
	for len(j.segments) < 4 {
		write(t, j, 1500, 1, 2)
	}
	last := j.Next(1) - 1
	var wg sync.WaitGroup
	for log := storage.LogID(1); log <= 2; log++ {
		wg.Go(func() {
			var buf []byte
			for i := storage.Index(1); i <= last; i++ {
				p, err := j.ReadBatch(buf, log, i)
				if err != nil {
					t.Error(err)
					return
				}
				buf = p
				if _, err := j.ReadAt(make([]byte, 10), storage.Ref{Log: log, Index: i, Offset: 700, Size: 10}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	must(t, j.Sync())
	wg.Wait()
	must(t, j.Close())
}

func TestReadingAllocatesLittle(t *testing.T) {
	// Reading a cold queue would be the garbage collector's work.
	j := mustOpen(t, vfs.NewMem(1), small())
	write(t, j, 3000, 1)
	group := []Batch{{Log: 1, Data: data(1, 1, 3000)}}
	buf := make([]byte, 0, 8<<10)
	if n := testing.AllocsPerRun(100, func() {
		p, err := j.ReadBatch(buf, 1, 1)
		if err != nil || len(p) != 3000 {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("ReadBatch allocates %v times", n)
	}
	real := mustOpen(t, vfs.Dir(t.TempDir()), Options{Entropy: 1, SegmentBytes: 4 << 20, ReserveBytes: -1})
	must(t, real.Reserve(3000, Growing))
	if n := testing.AllocsPerRun(500, func() {
		group[0].Index = real.Next(1)
		must(t, real.Write(group))
	}); n > 1 {
		t.Errorf("Write allocates %v times", n)
	}
	must(t, real.Close())
}
