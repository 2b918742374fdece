package journal

import (
	"errors"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// stock has all made that Prepare makes.
func stock(t *testing.T, j *Journal) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = j.Prepare(true)
		must(t, err)
	}
}

// TestTheReserveIsMadeQuickly says that a broker without a reserve waits for zeros to be written, or that traffic never gets
// files that are filled.
func TestTheReserveIsMadeQuickly(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, vfs.NewMem(1), Options{Entropy: 1, SegmentBytes: 4 << 20, ReserveBytes: 32 << 20})
	for steps := 0; j.LacksReserve(); steps++ {
		if steps > 40 {
			t.Fatalf("after %d steps: %+v", steps, j.Stats())
		}
		_, err := j.Prepare(true)
		must(t, err)
	}
	if n := j.Stats().Written.Zeros; n != 0 {
		t.Errorf("%d zeros were written before there was a reserve", n)
	}
	stock(t, j)
	if _, _, filled := j.stocked(); j.filled() < filled {
		t.Errorf("%d files are filled, want %d", j.filled(), filled)
	}
	must(t, j.Close())
}

// TestFillingTakesNothingOfTheReserve says that a file is missing from the reserve, or from the next start, while it is filled
// with zeros.
func TestFillingTakesNothingOfTheReserve(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(1)
	fs := vfs.NewFaulty(m)
	o := Options{Entropy: 1, SegmentBytes: 4 << 20, ReserveBytes: 16 << 20}
	j := mustOpen(t, fs, o)
	for n := 0; n < 100 && j.filling == nil; n++ {
		_, err := j.Prepare(true)
		must(t, err)
	}
	if j.filling == nil || j.LacksReserve() {
		t.Fatalf("no file is filled: %+v", j.Stats())
	}
	fs.Budget(0)
	fs.Greedy(true)
	_, err := j.Prepare(true)
	must(t, err)
	must(t, fs.SyncDir("journal"))
	wanted := j.ready() // at the next start a manifest takes one
	m.Crash()
	j = mustOpen(t, fs, o)
	if j.ready() < wanted || j.LacksReserve() {
		t.Errorf("after a crash %d files wait to be written, before it %d and one", j.ready(), wanted)
	}
	must(t, j.Close())
}

// TestSparesStayAtAStart says that a start gives up files that were made since the last manifest, and another process takes
// their room.
func TestSparesStayAtAStart(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(1)
	fs := vfs.NewFaulty(m)
	j := mustOpen(t, fs, small())
	must(t, j.Reserve(0, Growing))
	write(t, j, 3000, 1)
	must(t, j.Sync())
	for range 3 {
		must(t, j.makeSpare(j.o.SegmentBytes))
	}
	before := j.ready()
	must(t, fs.SyncDir("journal"))
	fs.Budget(0)
	fs.Greedy(true)
	m.Crash()
	j = mustOpen(t, fs, small())
	if j.ready() < before-1 { // the manifest takes one
		t.Errorf("%d files wait to be written, before the crash %d", j.ready(), before)
	}
	has(t, j, 1, 1, 1, 3000)
	must(t, j.Close())
}

// TestWrittenFilesAreKeptForBareOnes says that traffic lives on files that are only allocated, while others, which were
// written, are removed.
func TestWrittenFilesAreKeptForBareOnes(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, vfs.NewMem(1), small())
	for len(j.segments) < 6 {
		write(t, j, 3000, 1)
	}
	for _, kept, _ := j.stocked(); j.ready() < kept; {
		must(t, j.makeSpare(j.o.SegmentBytes))
	}
	must(t, j.Sync())
	must(t, j.Checkpoint(1, j.Safe(1), nil))
	before := j.ready()
	n, err := j.Reclaim(nothing)
	must(t, err)
	if n < 4 || j.ready() != before || j.filled() < n {
		t.Errorf("%d files came back: %d wait, before that %d; %d are not bare", n, j.ready(), before, j.filled())
	}
	must(t, j.Close())
}

// TestARewritingTakesASpareBack says that on a full disk each rewriting that is given up costs a file, or that one begins that
// finds no room.
func TestARewritingTakesASpareBack(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	j, live := sparseSegments(t, fs, 6)
	for len(j.spares) < 4 {
		must(t, j.makeSpare(j.o.SegmentBytes))
	}
	fs.Budget(64 << 10) // it seems enough, until something takes it
	w, err := j.Sparse(liveOf(live), 0.9)
	must(t, err)
	if w == nil {
		t.Fatal("nothing is sparse")
	}
	if w.took.size == 0 {
		must(t, w.out.f.Truncate(0))
		fs.Budget(0)
		w.Keep(live)
		if _, err := w.Step(1); !errors.Is(err, ErrNoSpace) {
			t.Fatal(err)
		}
		j.Abandon(w)
		if w, err = j.Sparse(liveOf(live), 0.9); err != nil || w == nil || w.took.size == 0 {
			t.Fatalf("the next one takes no spare: %+v, %v", w, err)
		}
	}
	fs.Budget(0)
	fs.Greedy(true)
	before := j.ready()
	w.Keep(live)
	_, err = w.Step(1)
	must(t, err)
	j.Abandon(w)
	if j.ready() != before+1 {
		t.Errorf("%d files wait to be written, and %d did while one was taken", j.ready(), before)
	}
	w, err = j.Sparse(liveOf(live), 0.9)
	must(t, err)
	w.Keep(live)
	for done := false; !done; {
		done, err = w.Step(1 << 20)
		must(t, err)
	}
	if n, err := j.Adopt(w); n < 2 || err != nil {
		t.Errorf("%d segments given back, %v", n, err)
	}
	hasPieces(t, j, live...)
	must(t, j.Close())
}
