package journal

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// twoUnended leaves a journal that was killed after it went on in a second segment, of which the manifest knows no more
// than of the first: where neither ends. It tells where the last group of the first is.
func twoUnended(t *testing.T) (fs *vfs.Mem, first string, lastGroup int64) {
	t.Helper()
	fs = vfs.NewMem(3)
	faulty := vfs.NewFaulty(fs)
	j := mustOpen(t, faulty, small())
	prepare(t, j)
	manifests := 0
	faulty.Before(func(c vfs.Call) error {
		if c.Op == "rename" {
			manifests++
		}
		return nil
	})
	write(t, j, 20_000, 1, 2)
	first = j.path(j.open.Name())
	must(t, j.Sync())
	lastGroup = j.open.End
	write(t, j, 10_000, 2)
	must(t, j.Sync())
	write(t, j, 30_000, 1)
	must(t, j.Sync())
	if len(j.segments) != 2 || manifests > 0 {
		t.Fatalf("%d segments, %d manifests", len(j.segments), manifests)
	}
	fs.Crash()
	return fs, first, lastGroup
}

func TestTheNextSegmentNeedsNoManifest(t *testing.T) {
	t.Parallel()
	// Whoever waits for a confirm would wait for a manifest, or a crash before the manifest would lose what is in the
	// next segment.
	fs, _, _ := twoUnended(t)
	for range 2 {
		j, r, err := Open(fs, small())
		if err != nil || r.Cut != nil || len(r.Faults) > 0 {
			t.Fatalf("cut %v, faults %v, %v", r.Cut, r.Faults, err)
		}
		for log, sizes := range map[storage.LogID][]int{1: {20_000, 30_000}, 2: {20_000, 10_000}} {
			for i, n := range sizes {
				if p, err := j.ReadBatch(nil, log, storage.Index(i+1)); err != nil || len(p) != n {
					t.Fatalf("log %d, batch %d: %d bytes, %v", log, i+1, len(p), err)
				}
			}
		}
		must(t, j.Close())
	}
}

func TestTheEndOfAFullSegmentIsNoTail(t *testing.T) {
	t.Parallel()
	// What the disk lost of the end of a segment, when another was begun already, would pass for an unfinished tail:
	// the newest batches of a log would vanish without a word.
	for what, off := range map[string]int64{"header of the group": 20, "header of the batch": segment.GroupHeaderBytes + 5, "data": segment.GroupHeaderBytes + segment.BatchHeaderBytes + 5000} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			fs, name, at := twoUnended(t)
			flip(t, fs, name, at+off)
			for range 2 {
				j, r, err := Open(fs, small())
				must(t, err)
				if r.Cut != nil || len(r.Faults) == 0 || r.Faults[len(r.Faults)-1].Log != 2 || j.path(r.Faults[0].File) != name || r.Faults[0].Offset < at {
					t.Fatalf("cut %v, faults %v", r.Cut, r.Faults)
				}
				must(t, j.Close())
			}
		})
	}
}

func TestAFileCutShortIsDamage(t *testing.T) {
	t.Parallel()
	// A file that somebody emptied would be taken for one that nothing was ever written to.
	for _, c := range []struct {
		what string
		size func(safe int64) int64
		how  string // the journal was left
	}{
		{"to nothing", func(int64) int64 { return 0 }, "killed"},
		{"within the header", func(int64) int64 { return 1000 }, "killed"},
		{"below the safe position", func(safe int64) int64 { return safe - 1000 }, "killed"},
		{"at the safe position", func(safe int64) int64 { return safe }, "killed"},
		{"to nothing", func(int64) int64 { return 0 }, "stopped"},
		{"below the safe position", func(safe int64) int64 { return safe - 1000 }, "stopped"},
		{"to nothing", func(int64) int64 { return 0 }, "running"},
	} {
		t.Run(c.what+", "+c.how, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem(3)
			j := mustOpen(t, fs, small())
			write(t, j, 10_000, 1)
			must(t, j.Sync())
			write(t, j, 10_000, 1)
			must(t, j.Sync())
			name, safe := j.path(j.open.Name()), j.open.safe
			cut := func() {
				f, err := fs.Open(name)
				must(t, err)
				must(t, f.Truncate(c.size(safe)))
				must(t, errors.Join(f.Sync(), f.Close()))
			}
			switch c.how {
			case "killed":
				fs.Crash()
				cut()
			case "stopped":
				must(t, j.Close())
				cut()
			case "running":
				cut()
				write(t, j, 10_000, 1)
				must(t, j.Sync())
				fs.Crash()
			}
			for range 2 {
				j, r, err := Open(fs, small())
				must(t, err)
				fault := r.Unnamed // where nothing is left of the log
				if len(r.Faults) > 0 {
					fault = &r.Faults[0]
				}
				if r.Cut != nil || fault == nil || j.path(fault.File) != name {
					t.Fatalf("cut %v, faults %v, %v", r.Cut, r.Faults, r.Unnamed)
				}
				if c.how != "running" && !strings.Contains(fault.Error(), "truncated") {
					t.Errorf("the fault is %v", fault)
				}
				must(t, j.Close())
			}
		})
	}
}

func TestAFullSegmentWithoutATableIsClosed(t *testing.T) {
	t.Parallel()
	// A table that cannot be written would stop the log, or the segment be lost.
	for _, op := range []string{"write", "sync"} {
		fs := vfs.NewMem(1)
		faulty := vfs.NewFaulty(fs)
		j := mustOpen(t, faulty, small())
		for len(j.full) == 0 {
			write(t, j, 9000, 1, 2)
		}
		must(t, j.Sync())
		broken := errors.New("broken")
		full := j.path(j.full[0].Name())
		faulty.Before(func(c vfs.Call) error {
			if c.Op == op && c.Name == full {
				return broken
			}
			return nil
		})
		var failed error
		for failed == nil {
			if _, failed = j.Prepare(true); failed == nil && !j.Unprepared() {
				t.Fatalf("%s: the table was written", op)
			}
		}
		if !errors.Is(failed, broken) || errors.Is(failed, ErrFailed) || !strings.Contains(failed.Error(), "table") {
			t.Fatalf("%s: %v", op, failed)
		}
		faulty.Before(nil)
		prepare(t, j)
		write(t, j, 9000, 1, 2)
		must(t, j.Sync())
		last := j.Next(1) - 1
		fs.Crash()
		j = mustOpen(t, fs, small())
		has(t, j, 1, 1, last, 9000)
		has(t, j, 2, 1, last, 9000)
		must(t, j.Close())
	}
}

func TestAFailureElsewhereCutsNothing(t *testing.T) {
	t.Parallel()
	// A manifest that could not be written would cost what somebody waits for.
	for _, op := range []string{"create", "write", "sync", "rename", "syncdir"} {
		fs := vfs.NewMem(1)
		faulty := vfs.NewFaulty(fs)
		j := mustOpen(t, faulty, small())
		write(t, j, 500, 1)
		must(t, j.Sync())
		write(t, j, 500, 1)
		failed := false
		faulty.Before(func(c vfs.Call) error {
			if !failed && c.Op == op && !strings.HasSuffix(c.Name, ".checkpoint") {
				failed = true
				return fmt.Errorf("broken")
			}
			return nil
		})
		if err := j.Checkpoint(1, 1, nil); !errors.Is(err, ErrFailed) {
			t.Fatalf("%s: %v", op, err)
		}
		must(t, j.Recover())
		if j.Next(1) != 3 {
			t.Fatalf("%s: %d batches are left", op, j.Next(1)-1)
		}
		write(t, j, 500, 1)
		must(t, j.Sync())
		must(t, j.Checkpoint(1, 1, nil))
		fs.Crash()
		j = mustOpen(t, fs, small())
		has(t, j, 1, 2, 3, 500)
		must(t, j.Close())
	}
}

func TestRollingKeepsTheSegmentAhead(t *testing.T) {
	t.Parallel()
	// Where a full segment is synced, and maintenance runs on a full disk meanwhile, the next segment would be taken
	// away, and the broker fall over.
	j := mustOpen(t, vfs.NewMem(1), small())
	must(t, j.Reserve(0, Growing))
	must(t, j.name(0))
	must(t, j.name(0))
	size := int(capacity(j.o.SegmentBytes)) * 2 / 3
	must(t, j.Write([]Batch{{Log: 1, Index: 1, Data: data(1, 1, size)}}))
	write := j.WriteTask([]Batch{{Log: 1, Index: 2, Data: data(1, 2, size)}})
	steps := 0
	for ; write.Plan(); steps++ {
		if err := j.Task((*Journal).unname).Run(); err != nil || steps == 0 && len(j.ahead) != 1 {
			t.Fatalf("step %d: %d segments are ahead, %v", steps, len(j.ahead), err)
		}
		write.Work()
	}
	if err := write.Err(); err != nil || steps != 2 {
		t.Fatalf("%d steps, %v; want a sync of the full segment and a write to the next", steps, err)
	}
	must(t, j.Sync())
	has(t, j, 1, 1, 2, size)
	must(t, j.Close())
}

func TestSparesThatWereCutShortGetBackTheirSize(t *testing.T) {
	t.Parallel()
	// After a kill, the segment ahead would count as one that lost what was written to it: no log could be opened.
	for _, size := range []int64{0, 1000, 20_000} {
		fs := vfs.NewMem(3)
		j := mustOpen(t, fs, small())
		write(t, j, 10, 1)
		prepare(t, j)
		endSegment(t, j) // the segments ahead are spares again
		if len(j.spares) == 0 {
			t.Fatal("no spares")
		}
		for _, sp := range j.spares {
			f, err := fs.Open(j.path(sp.name()))
			must(t, err)
			must(t, f.Truncate(size))
			must(t, f.Sync())
			must(t, f.Close())
		}
		prepare(t, j)
		if len(j.ahead) == 0 {
			t.Fatal("nothing is ahead")
		}
		fs.Crash()
		j = mustOpen(t, fs, small())
		has(t, j, 1, 1, 1, 10)
		write(t, j, 10, 1)
		must(t, j.Close())
	}
}
