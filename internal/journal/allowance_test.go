package journal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// TestUsesStopInOrder says that what moves, or what drains, takes what those behind it need.
func TestUsesStopInOrder(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	j := mustOpen(t, fs, small())
	prepare(t, j)
	fs.Budget(0)
	was, seen := Growing, map[Use]bool{}
	for range 400 {
		use := j.SpaceFor()
		if use < was {
			t.Fatalf("space for use %d after space for use %d", use, was)
		}
		if was, seen[use] = use, true; use == Committed {
			break
		}
		if err := j.Reserve(3000+Overhead, Committed); err != nil {
			t.Fatalf("space for use %d, and %v", use, err)
		}
		write(t, j, 3000, 1)
	}
	if len(seen) != 4 {
		t.Fatalf("there was space first for %v", seen)
	}
	must(t, j.Sync())
	must(t, j.Checkpoint(1, j.Safe(1), []byte("all settled")))
	if n, err := j.Reclaim(nothing); n == 0 || err != nil || j.SpaceFor() != Growing {
		t.Fatalf("reclaimed %d, %v; space for use %d", n, err, j.SpaceFor())
	}
	must(t, j.Close())
}

// TestACheckpointTakesWhatIsNamedAhead says that a journal on a full disk gives nothing back although all was consumed,
// because the last files that it has are to be written next.
func TestACheckpointTakesWhatIsNamedAhead(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	fs.InBlocks(vfs.BlockBytes)
	j := mustOpen(t, fs, small())
	must(t, j.Reserve(0, Growing))
	write(t, j, 3000, 1)
	must(t, j.Sync())
	for len(j.ahead) < 2 {
		must(t, j.Reserve(0, Growing))
		must(t, j.name(0))
	}
	for len(j.spares) > 1 {
		j.discard(j.spares[0].name())
		j.spares = j.spares[1:]
	}
	must(t, j.writeManifest())
	for _, a := range []*allowance{&j.manifestAllowance, &j.checkpointAllowance} {
		if a.size > 0 {
			j.discard(a.name)
			a.size = 0
		}
	}
	fs.Budget(0)
	for range 3 {
		write(t, j, 100, 1)
		must(t, j.Sync())
		must(t, j.Checkpoint(1, j.Safe(1), make([]byte, 5000)))
		fs.Budget(0) // of what was given up another process makes use
	}
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	if _, state, err := j.LoadCheckpoint(1); len(state) != 5000 || err != nil {
		t.Fatalf("a state of %d bytes, %v", len(state), err)
	}
	must(t, j.Close())
}

// TestAFullDiskIsNotFilledWithZeros says that a disk without space for a file is written full again and again.
func TestAFullDiskIsNotFilledWithZeros(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	o := small()
	o.SegmentBytes, o.ReserveBytes = 4<<20, 16<<20
	j := mustOpen(t, fs, o)
	fs.Budget(3 << 20)
	for range 50 {
		if _, err := j.Prepare(true); err != nil && !errors.Is(err, ErrNoSpace) {
			t.Fatal(err)
		}
	}
	if n := j.Stats().Written.Zeros; n != 0 {
		t.Errorf("%d bytes of zeros", n)
	}
	must(t, j.Close())
}

// TestAFailedManifestCostsNoAllowance says that the file of a checkpoint that a failed manifest was to name is left on
// the disk, and the next checkpoint on a full disk takes a spare in its place.
func TestAFailedManifestCostsNoAllowance(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	fs.InBlocks(vfs.BlockBytes)
	j := mustOpen(t, fs, small())
	prepare(t, j)
	checkpoint := func() error {
		fs.Budget(0) // of what was given up another process makes use
		write(t, j, 100, 1)
		must(t, j.Sync())
		return j.Checkpoint(1, j.Safe(1), make([]byte, 5000))
	}
	must(t, checkpoint())
	broken := errors.New("broken")
	fs.Before(func(c vfs.Call) error {
		if c.Op == "sync" && strings.HasSuffix(c.Name, manifestTemp) {
			return broken
		}
		return nil
	})
	if err := checkpoint(); !errors.Is(err, ErrFailed) {
		t.Fatalf("a manifest that failed: %v", err)
	}
	fs.Before(nil)
	must(t, j.Recover())
	spares := len(j.spares)
	for range 3 {
		must(t, checkpoint())
	}
	if len(j.spares) != spares {
		t.Errorf("of %d spares %d are left", spares, len(j.spares))
	}
	names, err := fs.List(j.o.Dir)
	must(t, err)
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".checkpoint") })
	if len(names) != 1 {
		t.Errorf("files of checkpoints: %v", names)
	}
	must(t, j.Close())
}
