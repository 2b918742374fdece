package journal

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// noPace is what a copy asks that nobody disturbs.
func noPace(int) error { return nil }

// clone is what the journal holds that is copied now.
func (m *model) clone() *model {
	c := newModel()
	for log, l := range m.logs {
		of := *l
		of.sizes, of.lives, of.pieces = slices.Clone(l.sizes), slices.Clone(l.lives), slices.Clone(l.pieces)
		c.logs[log] = &of
	}
	return c
}

// leased takes a lease for the test's time.
func leased(t testing.TB, j *Journal) *Lease {
	t.Helper()
	l, err := j.Lease()
	must(t, err)
	t.Cleanup(func() { j.Release(l) })
	return l
}

// copyBeside copies a journal while one walks on in it, and walks on in the copy, too.
func copyBeside(seed uint64, o Options) error {
	fs, to, m := vfs.NewMem(seed), vfs.NewMem(seed+1), newModel()
	dice := rand.New(rand.NewPCG(seed, 9))
	if seed%2 == 1 {
		m.dice = rand.New(rand.NewPCG(seed, 5))
	}
	j, _, err := Open(fs, o)
	for n := 0; n < walkSteps && err == nil; n++ {
		err = m.step(j, dice)
	}
	if err != nil {
		return err
	}
	l, err := j.Lease()
	if err != nil {
		return err
	}
	then := m.clone()
	damage, err := l.CopyInto(to, func(int) error { return m.step(j, dice) })
	if err != nil || len(damage) > 0 {
		return fmt.Errorf("damage %v, %w", damage, err)
	}
	j.Release(l)
	if len(j.leased) > 0 || len(j.garbage) > 0 {
		return fmt.Errorf("after the copy %v are leased, %v not removed", j.leased, j.garbage)
	}
	for range 2 { // a copy is a journal in which one can go on
		if _, err := walk(to, then, seed, o); err != nil {
			return fmt.Errorf("copy: %w", err)
		}
	}
	m.journal = nil
	if err := j.Close(); err != nil {
		return err
	}
	if _, err := walk(fs, m, seed, o); err != nil {
		return fmt.Errorf("original: %w", err)
	}
	return nil
}

func TestACopyIsTheJournalAtOneMoment(t *testing.T) {
	t.Parallel()
	// A backup would miss what was confirmed before it began, hold half of something, or keep the broker from going on.
	for seed := range max(20, *seeds) {
		if err := copyBeside(seed, small()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// someJournal has several segments, one of them rewritten, two logs and their checkpoints.
func someJournal(t *testing.T) (fs *vfs.Mem, j *Journal, last storage.Index) {
	fs = vfs.NewMem(1)
	j = mustOpen(t, fs, small())
	for range 30 {
		write(t, j, 7000, 1, 2)
	}
	must(t, j.Sync())
	last = j.Next(1) - 1
	must(t, j.Checkpoint(1, last-5, state(1, last-5)))
	must(t, j.Checkpoint(2, last, state(2, last)))
	rewrite(t, j, 0.9, storage.Ref{Log: 1, Index: 2, Size: 100}, storage.Ref{Log: 1, Index: 7, Size: 7000})
	t.Cleanup(func() { must(t, j.Close()) })
	return fs, j, last
}

// isWhole fails unless the copy holds what someJournal does.
func isWhole(t *testing.T, fs vfs.FS, last storage.Index) {
	t.Helper()
	j := mustOpen(t, fs, small())
	hasPieces(t, j, storage.Ref{Log: 1, Index: 2, Size: 100}, storage.Ref{Log: 1, Index: 7, Size: 7000})
	has(t, j, 1, last-4, last, 7000)
	if j.Next(2) != last+1 {
		t.Fatalf("log 2 goes on at %d, want %d", j.Next(2), last+1)
	}
	must(t, j.Close())
}

func TestAMarkBesideAManifest(t *testing.T) {
	t.Parallel()
	// A complete copy that still has the mark would be refused, or look broken; one that has lost its manifest would
	// leave its owner without a word of what to do.
	_, j, last := someJournal(t)
	l, fs := leased(t, j), vfs.NewMem(1)
	_, err := l.CopyInto(fs, noPace)
	must(t, err)
	f, err := fs.Create(l.Unfinished.Name)
	must(t, err)
	must(t, f.Close())
	looked, seen, err := Look(fs, small())
	must(t, err)
	if len(seen.Strays) > 0 || len(seen.Damage) > 0 {
		t.Errorf("%+v", seen)
	}
	must(t, looked.Close())
	isWhole(t, fs, last)
	if names, err := fs.List("journal"); err != nil || slices.Contains(names, unfinishedName) {
		t.Errorf("there is %q, %v", names, err)
	}
	must(t, fs.Remove("journal/manifest"))
	if _, _, err := Open(fs, small()); err == nil || !strings.Contains(err.Error(), "make another one") {
		t.Errorf("without a manifest: %v", err)
	}
	f, err = fs.Create(l.Unfinished.Name)
	must(t, err)
	must(t, f.Close())
	if _, _, err := Open(fs, small()); err == nil || !strings.Contains(err.Error(), "remove it and make another one") {
		t.Errorf("with the mark alone: %v", err)
	}
}

func TestABrokenOffCopyIsRefused(t *testing.T) {
	t.Parallel()
	// Half of a backup would be taken for a whole one, or for a new broker, when it is needed.
	_, j, last := someJournal(t)
	l := leased(t, j)
	refused, whole := 0, 0
	for n := 1; ; n++ {
		mem := vfs.NewMem(uint64(n))
		fs := vfs.NewFaulty(mem)
		fs.FailFrom(n, vfs.ErrCrashed)
		_, err := l.CopyInto(fs, noPace)
		reached := fs.Calls() >= n
		mem.Crash()
		began := false
		if names, err := mem.List("journal"); err == nil {
			began = len(names) > 0
		}
		switch o, r, opened := Open(mem, small()); {
		case opened != nil:
			if !strings.Contains(opened.Error(), "this backup is incomplete") {
				t.Fatalf("crash at call %d: %v", n, opened)
			}
			if !reached {
				t.Fatalf("a whole copy is refused: %v", opened)
			}
			refused++
		case r.Created:
			must(t, o.Close())
			if began {
				t.Fatalf("crash at call %d: half a copy is a new journal", n)
			}
		default:
			must(t, o.Close())
			isWhole(t, mem, last)
			whole++
		}
		if !reached {
			must(t, err)
			break
		}
	}
	if refused < 20 || whole == 0 {
		t.Fatalf("%d copies were refused, %d were whole", refused, whole)
	}
}

func TestACopyThatFailsLeavesRoomForTheNext(t *testing.T) {
	t.Parallel()
	// A backup onto a disk that is too small would leave it full, or be taken for one that is good.
	_, j, last := someJournal(t)
	l := leased(t, j)
	fs := vfs.NewFaulty(vfs.NewMem(1))
	for budget := int64(0); ; budget += 50 << 10 {
		fs.Budget(budget)
		_, err := l.CopyInto(fs, noPace)
		if err == nil {
			break
		}
		if !errors.Is(err, vfs.ErrNoSpace) {
			t.Fatal(err)
		}
		names, err := fs.List("journal")
		if err != nil || budget > 0 && !slices.Equal(names, []string{unfinishedName}) {
			t.Fatalf("a copy that failed for want of space leaves %v, %v", names, err)
		}
	}
	isWhole(t, fs, last)
	if _, err := l.CopyInto(fs, noPace); !errors.Is(err, ErrOccupied) {
		t.Fatalf("copying over what is there: %v", err)
	}
	stop := errors.New("enough")
	if _, err := l.CopyInto(vfs.NewMem(1), func(int) error { return stop }); !errors.Is(err, stop) {
		t.Fatalf("copying on after being told to stop: %v", err)
	}
}

func TestWhatIsLeasedStays(t *testing.T) {
	t.Parallel()
	// A copy would read what others have written into a recycled file, or miss a file.
	fs, j, last := someJournal(t)
	l, err := j.Lease()
	must(t, err)
	for range 10 {
		write(t, j, 7000, 1)
	}
	endSegment(t, j)
	must(t, j.Sync())
	must(t, j.Checkpoint(1, j.Safe(1), nil))
	must(t, j.Drop(2))
	for range 2 {
		if _, err := j.Reclaim(nothing); err != nil {
			t.Fatal(err)
		}
		prepare(t, j)
		for range 20 {
			write(t, j, 7000, 1)
		}
	}
	after := contents(t, fs)
	for _, name := range l.names {
		if _, ok := after[name]; !ok {
			t.Errorf("%s is gone", name)
		}
	}
	if slices.ContainsFunc(j.spares, func(s spare) bool { return slices.Contains(l.names, s.name()) }) {
		t.Errorf("of %v, leased, some are spares", l.names)
	}
	to := vfs.NewMem(1)
	_, err = l.CopyInto(to, noPace)
	must(t, err)
	isWhole(t, to, last)
	again, err := j.Lease()
	must(t, err)
	j.Release(l)
	left := contents(t, fs)
	gone := 0
	for _, name := range l.names {
		if _, there := left[name]; there != slices.Contains(again.names, name) {
			t.Errorf("%s is there: %v, after the lease", name, there)
		} else if !there {
			gone++
		}
	}
	if gone == 0 {
		t.Errorf("of %v, leased, nothing was given back meanwhile", l.names)
	}
	j.Release(again)
}

func TestDamageIsCopiedAndNamed(t *testing.T) {
	t.Parallel()
	// An operator would learn of a bad disk from the backup that he needs.
	fs, j, _ := someJournal(t)
	l := leased(t, j)
	whole := maps.Collect(func(yield func(string, int64) bool) {
		for _, f := range l.Files {
			if !yield(f.Name, f.until) {
				return
			}
		}
	})
	for name, size := range whole {
		bad := size - 300
		if !strings.HasSuffix(name, ".segment") {
			bad = size - 1
		}
		flip(t, fs, name, bad)
		damage, err := l.CopyInto(vfs.NewMem(1), noPace)
		if err != nil || len(damage) != 1 || !strings.Contains(damage[0].Error(), name) {
			t.Errorf("%s, byte %d of %d: damage %v, %v", name, bad, size, damage, err)
		}
		flip(t, fs, name, bad)
	}
	if damage, err := l.CopyInto(vfs.NewMem(1), noPace); err != nil || len(damage) > 0 {
		t.Errorf("sound: damage %v, %v", damage, err)
	}
}

func TestAFaultIsInTheCopy(t *testing.T) {
	t.Parallel()
	// A vhost that has stopped for damage would start again from its backup with messages missing.
	fs, name, at := threeGroups(t)
	flip(t, fs, name, at[1]+100)
	j, r, err := Open(fs, small())
	must(t, err)
	to := vfs.NewMem(1)
	l := leased(t, j)
	damage, err := l.CopyInto(to, noPace)
	if err != nil || len(damage) > 0 || len(j.Faulty()) != len(r.Faults) {
		t.Fatalf("damage %v, %v; faults %v", damage, err, j.Faulty())
	}
	c, again, err := Open(to, small())
	must(t, err)
	if fmt.Sprint(again.Faults) != fmt.Sprint(r.Faults) || len(r.Faults) == 0 {
		t.Errorf("the copy has faults %v, the original %v", again.Faults, r.Faults)
	}
	must(t, errors.Join(c.Close(), j.Close()))
}
