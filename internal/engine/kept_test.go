package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

func TestKeptFileIsReplacedWhole(t *testing.T) {
	// If this fails, a write that fails, a crash or a full disk takes the file that was kept before.
	t.Parallel()
	synctest.Test(t, keepFiles)
}

func keepFiles(t *testing.T) {
	m := newMachine()
	e, _ := startOn(t, m)
	defer stop(t, e)
	fs := vfs.NewMem(1)
	faulty := vfs.NewFaulty(fs)
	e.fs = faulty
	const name, most = "readings", 1 << 10
	if b, err := e.KeptFile(name, most); b != nil || err != nil {
		t.Errorf("of nothing: %q, %v", b, err)
	}
	is := func(want string) {
		t.Helper()
		if b, err := e.KeptFile(name, most); err != nil || string(b) != want {
			t.Errorf("there is %.20q, %v, want %q", b, err, want)
		}
	}
	if err := e.KeepFile(name, []byte("first")); err != nil {
		t.Fatal(err)
	}
	is("first")
	broken := errors.New("broken")
	failed := 0
	for n := 1; ; n++ {
		faulty.FailOnce(faulty.Calls()+n, broken)
		if e.KeepFile(name, []byte("second")) == nil {
			break
		}
		failed++
		faulty.Before(nil)
		is("first")
	}
	if faulty.Before(nil); failed < 5 {
		t.Errorf("only %d calls could fail", failed)
	}
	is("second")
	m.uses(1, 0, 1)
	calls := faulty.Calls()
	if err := e.KeepFile(name, []byte("third")); !errors.Is(err, ErrLowOnDisk) || faulty.Calls() != calls {
		t.Errorf("while the alarm is set: %v, %d calls", err, faulty.Calls()-calls)
	}
	m.uses(1, 0, 1<<40)
	faulty.Budget(10)
	if err := e.KeepFile(name, []byte(strings.Repeat("x", 100))); !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("on a full disk: %v", err)
	}
	is("second")
	if err := e.KeepFile(name, []byte("third")); err != nil {
		t.Error(err)
	}
	is("third")
	if names, err := fs.List("."); err != nil || !slices.Equal(names, []string{name}) {
		t.Errorf("on the disk are %v, %v", names, err)
	}
	if _, err := e.KeptFile(name, 3); err == nil {
		t.Error("a file that is too large was read")
	}
}
