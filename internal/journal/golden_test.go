package journal

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

var update = flag.Bool("update", false, "rewrite the golden files; then read the difference")

func TestGoldenSequenceOfCalls(t *testing.T) {
	t.Parallel()
	// A sync, or the order that makes a crash harmless, would be lost in a change that keeps every other test green by luck.
	fs := vfs.NewFaulty(vfs.NewMem(1))
	var b strings.Builder
	fs.Before(func(c vfs.Call) error {
		b.WriteString(c.String() + "\n")
		return nil
	})
	say := func(what string) { b.WriteString("\n# " + what + "\n") }

	say("open: nothing is there yet")
	j := mustOpen(t, fs, Options{Entropy: 7, SegmentBytes: 64 << 10, ReserveBytes: -1})
	say("reserve: one segment is made")
	must(t, j.Reserve(2*(1000+Overhead), Growing))
	say("write: the first group opens it")
	write(t, j, 1000, 1, 2)
	say("write: the second is one write")
	write(t, j, 1000, 1)
	say("sync")
	must(t, j.Sync())
	say("sync: nothing new")
	must(t, j.Sync())
	say("mark safe")
	must(t, j.MarkSafe())
	say("mark safe: nothing new")
	must(t, j.MarkSafe())
	say("checkpoint")
	must(t, j.Checkpoint(1, 2, []byte("state")))
	say("checkpoint: the older one goes")
	must(t, j.Checkpoint(1, 2, []byte("state")))
	say("write: the segment is full")
	write(t, j, 40_000, 1)
	write(t, j, 40_000, 1)
	say("sync")
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 4, nil))
	must(t, j.Checkpoint(2, 1, nil))
	say("reclaim: the segment becomes a spare")
	if n, err := j.Reclaim(func(place.LogID, place.Index, place.Index) bool { return false }); n != 1 || err != nil {
		t.Fatalf("reclaimed %d, %v", n, err)
	}
	say("drop")
	must(t, j.Drop(2))
	say("close")
	must(t, j.Close())
	say("open")
	j = mustOpen(t, fs, Options{Entropy: 8, SegmentBytes: 64 << 10, ReserveBytes: -1})
	say("close: nothing was written")
	must(t, j.Close())

	golden(t, "testdata/calls.golden", b.String())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", file, got)
	}
}

// goldenJournal is a small journal of format 1 with one of everything: a closed segment, an open one, a spare, a checkpoint, a
// dropped log, a mark of what is safe.
func goldenJournal(t *testing.T) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem(1)
	j := mustOpen(t, fs, Options{Entropy: 7, SegmentBytes: 64 << 10, ReserveBytes: -1})
	write(t, j, 0, 1, 2, 3)
	write(t, j, 5000, 1)
	write(t, j, 100, 2)
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 1, []byte("state of log 1 after batch 1")))
	must(t, j.Drop(3))
	must(t, j.closeSegments())
	write(t, j, 700, 1, 2)
	must(t, j.Reserve(60<<10, Growing))
	must(t, j.Close())
	return fs
}

func TestGoldenDirectoryStaysReadable(t *testing.T) {
	t.Parallel()
	// A new version would refuse or misread what an old one wrote, or write what no page of docs/format draws.
	const dir = "testdata/format-1"
	made := goldenJournal(t)
	names, err := made.List("journal")
	must(t, err)
	kept := vfs.NewMem(1)
	must(t, kept.Mkdir("journal"))
	for _, name := range names {
		f, err := made.Open("journal/" + name)
		must(t, err)
		size, err := f.Size()
		must(t, err)
		p := make([]byte, size)
		_, err = f.ReadAt(p, 0)
		must(t, err)
		// Zeros at the end are left out of the repository.
		golden(t, dir+"/"+name, strings.TrimRight(string(p), "\x00"))

		old, err := os.ReadFile(dir + "/" + name)
		must(t, err)
		g, err := kept.Create("journal/" + name)
		must(t, err)
		_, err = g.WriteAt(old, 0)
		must(t, errors.Join(err, g.Truncate(size), g.Close()))
	}
	j := mustOpen(t, kept, small())
	if at, state, err := j.LoadCheckpoint(1); at != 1 || string(state) != "state of log 1 after batch 1" || err != nil {
		t.Fatalf("checkpoint at %d: %q, %v", at, state, err)
	}
	for _, want := range []struct {
		log   place.LogID
		index place.Index
		n     int
	}{{1, 1, 0}, {1, 2, 5000}, {1, 3, 700}, {2, 1, 0}, {2, 2, 100}, {2, 3, 700}} {
		p, err := j.ReadBatch(nil, want.log, want.index)
		if err != nil || !bytes.Equal(p, data(want.log, want.index, want.n)) {
			t.Fatalf("log %d, index %d: %v", want.log, want.index, err)
		}
	}
	if err := j.Write([]Batch{{3, 2, nil}}); !errors.Is(err, ErrDropped) {
		t.Fatalf("write to the dropped log: %v", err)
	}
	must(t, j.Close())
}
