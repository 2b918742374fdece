package journal

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

func checkpointsOf(fs vfs.FS, t *testing.T, logs ...storage.LogID) (states []string) {
	t.Helper()
	j := mustOpen(t, fs, small())
	for _, log := range logs {
		at, state, err := j.LoadCheckpoint(log)
		must(t, err)
		states = append(states, fmt.Sprintf("%d %s", at, state))
	}
	must(t, j.Close())
	return states
}

func TestCheckpointsShareAManifest(t *testing.T) {
	t.Parallel()
	// A round of ten thousand virtual hosts would write as many manifests, each of a megabyte; or one state that
	// cannot be stored would keep others from being stored.
	fs := vfs.NewMem(1)
	j := mustOpen(t, fs, small())
	for range 3 {
		write(t, j, 100, 1, 2, 3)
	}
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 1, []byte("old")))
	before := j.Stats().Written
	errs := j.Checkpoints([]State{
		{Log: 1, At: 3, Pieces: [][]byte{[]byte("o"), []byte("ne")}},
		{Log: 2, At: 4, Pieces: [][]byte{[]byte("not safe")}},
		{Log: 3, At: 2, Pieces: [][]byte{[]byte("three")}},
	})
	if errs[0] != nil || !errors.Is(errs[1], ErrUnsafe) || errs[2] != nil || len(errs) != 3 {
		t.Fatal(errs)
	}
	if n := j.Stats().Written.Tables - before.Tables; n != j.manifestBytes {
		t.Errorf("%d bytes of manifests were written; one has %d", n, j.manifestBytes)
	}
	if _, _, err := j.LoadCheckpoint(2); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("a state that is not safe: %v", err)
	}
	must(t, j.Close())
	if got := checkpointsOf(fs, t, 1, 3); got[0] != "3 one" || got[1] != "2 three" {
		t.Errorf("checkpoints %q", got)
	}
}

func TestCheckpointsOfAFailedManifest(t *testing.T) {
	t.Parallel()
	// Some of the states would count, and the journal would hold others for the ones before.
	fs := vfs.NewFaulty(vfs.NewMem(1))
	j := mustOpen(t, fs, small())
	write(t, j, 100, 1, 2)
	write(t, j, 100, 1, 2)
	must(t, j.Sync())
	one := func(at storage.Index) []State {
		state := [][]byte{fmt.Appendf(nil, "state %d", at)}
		return []State{{1, at, state}, {2, at, state}}
	}
	must(t, errors.Join(j.Checkpoints(one(1))...))
	broken := errors.New("broken")
	fs.Before(func(c vfs.Call) error {
		if c.Op == "sync" && c.Name == j.path(manifestTemp) {
			return broken
		}
		return nil
	})
	for i, err := range j.Checkpoints(one(2)) {
		if !errors.Is(err, ErrFailed) {
			t.Errorf("log %d: %v", i+1, err)
		}
	}
	for _, log := range []storage.LogID{1, 2} {
		if at, _, err := j.LoadCheckpoint(log); at != 1 || err != nil {
			t.Errorf("log %d has a checkpoint of %d, %v", log, at, err)
		}
	}
	fs.Before(nil)
	must(t, j.Recover())
	must(t, errors.Join(j.Checkpoints(one(2))...))
	must(t, j.Close())
	if got := checkpointsOf(fs, t, 1, 2); got[0] != "2 state 2" || got[1] != "2 state 2" {
		t.Errorf("checkpoints %q", got)
	}
}

func TestCheckpointsOnAFullDisk(t *testing.T) {
	t.Parallel()
	// The first state would take the blocks that the others need, and nothing could be given back any more.
	fs := vfs.NewFaulty(vfs.NewMem(1))
	fs.InBlocks(vfs.BlockBytes)
	j := mustOpen(t, fs, small())
	prepare(t, j)
	for range 6 {
		fs.Budget(2 * vfs.BlockBytes) // for one of three files
		write(t, j, 100, 1, 2, 3)
		must(t, j.Sync())
		var states []State
		for log := storage.LogID(1); log <= 3; log++ {
			states = append(states, State{log, j.Safe(log), [][]byte{make([]byte, 5000)}})
		}
		must(t, errors.Join(j.Checkpoints(states)...))
	}
	must(t, j.Close())
}
