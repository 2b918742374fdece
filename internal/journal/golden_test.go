package journal

import (
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
