package journal

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// TestTheReserveIsMadeQuickly says that a broker without a reserve waits for zeros to be written, or that traffic never
// gets files that are filled.
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
	prepare(t, j)
	if _, _, filled := j.stocked(); j.filled() < filled {
		t.Errorf("%d files are filled, want %d", j.filled(), filled)
	}
	must(t, j.Close())
}

// TestFillingTakesNothingOfTheReserve says that a file is missing from the reserve, or from the next start, while it is
// filled with zeros.
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

// TestSparesStayAtAStart says that a start gives up files that were made since the last manifest, and another process
// takes their space.
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

// TestFilledFilesAreWrittenFirst says that a new directory is written to files that are only allocated, though others
// were filled in the pause before: the file system notes each first write to such a file, so each sync takes longer.
func TestFilledFilesAreWrittenFirst(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, vfs.NewMem(1), small())
	must(t, j.Reserve(0, Growing))
	if len(j.ahead) == 0 || !j.ahead[0].bare {
		t.Fatal("a new directory does not begin with an allocated file")
	}
	for more := true; more; {
		var err error
		more, err = j.Prepare(true)
		must(t, err)
	}
	_, _, filled := j.stocked()
	for n := range filled {
		for on := len(j.segments); len(j.segments) == on; {
			write(t, j, 3000, 1)
		}
		if j.open.bare {
			t.Errorf("file %d of %d is only allocated", n+1, filled)
		}
		_, err := j.Prepare(false)
		must(t, err)
	}
	must(t, j.Close())
}

// TestANewDirectoryBeginsWithAFilledFile says that the first segment of a new directory is only allocated, because
// filling a large one would take too long; or that there is such a small file after a restart, too.
func TestANewDirectoryBeginsWithAFilledFile(t *testing.T) {
	t.Parallel()
	fs, o := vfs.NewMem(1), small()
	o.SegmentBytes = 2 * firstBytes
	j := mustOpen(t, fs, o)
	for len(j.ahead) == 0 {
		_, err := j.Prepare(true)
		must(t, err)
	}
	if s := j.ahead[0]; s.bare || s.Size != firstBytes {
		t.Errorf("the first segment has %d bytes, only allocated: %v", s.Size, s.bare)
	}
	write(t, j, 3000, 1)
	must(t, j.Sync())
	must(t, j.Close())
	j = mustOpen(t, fs, o)
	before := j.nextFile
	for more := true; more; {
		var err error
		more, err = j.Prepare(true)
		must(t, err)
	}
	for _, sp := range j.spares {
		if sp.file >= before && sp.size != o.SegmentBytes {
			t.Errorf("a spare of %d bytes is made after a restart", sp.size)
		}
	}
	has(t, j, 1, 1, 1, 3000)
	must(t, j.Close())
}

// TestARewritingTakesASpareBack says that on a full disk each rewriting that is given up costs a file, or that one
// begins that finds no space.
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
		must(t, w.out.Disk.Truncate(0))
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

// TestARewritingTakesWhatIsNamedAhead says that a full disk stays full when all files but one are named ahead.
func TestARewritingTakesWhatIsNamedAhead(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	j, live := sparseSegments(t, fs, 6)
	for len(j.spares) < 1 {
		must(t, j.makeSpare(j.o.SegmentBytes))
	}
	for len(j.ahead) < aheadMost || len(j.spares) > 1 {
		if len(j.spares) < 2 {
			must(t, j.makeSpare(j.o.SegmentBytes))
		}
		must(t, j.name(1))
	}
	fs.Budget(0)
	if n := rewrite(t, j, 0.9, live...); n < 2 {
		t.Errorf("%d segments were given back; %d are ahead, %d spare", n, len(j.ahead), len(j.spares))
	}
	hasPieces(t, j, live...)
	must(t, j.Close())
}

// TestCheckpointsOfAllSizesTakeOneSpare says that each large checkpoint behind a small one takes a segment of the
// reserve for good, while others take all space that is given up.
func TestCheckpointsOfAllSizesTakeOneSpare(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	j := mustOpen(t, fs, small())
	for j.ready() < 6 {
		must(t, j.makeSpare(j.o.SegmentBytes))
	}
	write(t, j, 100, 1)
	must(t, j.Sync())
	fs.Greedy(true)
	before := j.ready()
	for n := range 12 {
		fs.Budget(8 << 10) // enough for a small one
		must(t, j.Checkpoint(1, j.Safe(1), make([]byte, []int{1000, int(j.o.SegmentBytes / 2)}[n%2])))
	}
	if took := before - j.ready(); took > 1 {
		t.Errorf("checkpoints have taken %d segments of the reserve", took)
	}
	must(t, j.Close())
}

// TestAPowerCutTakesNothingOfTheReserve says that files of the reserve, which was complete, are gone after a power cut:
// another process has their blocks, and with those that are left the disk cannot be drained.
func TestAPowerCutTakesNothingOfTheReserve(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		m := vfs.NewMem(seed)
		fs := vfs.NewFaulty(m)
		j := mustOpen(t, fs, small())
		must(t, j.Reserve(0, Growing))
		write(t, j, 3000, 1)
		must(t, j.Sync())
		for j.Unprepared() {
			_, err := j.Prepare(true)
			must(t, err)
		}
		ready, rooms := j.ready(), [2]int64{j.manifestAllowance.size, j.checkpointAllowance.size}
		fs.Budget(0)
		fs.Greedy(true)
		m.Crash()
		j = mustOpen(t, fs, small())
		if j.ready() < ready {
			t.Fatalf("seed %d: after a power cut %d files wait to be written, before it %d", seed, j.ready(), ready)
		}
		if rooms[0] == 0 || rooms[1] == 0 || j.manifestAllowance.size == 0 || j.checkpointAllowance.size < rooms[1] {
			t.Fatalf("seed %d: after a power cut the allowances are %d and %d, before it %v",
				seed, j.manifestAllowance.size, j.checkpointAllowance.size, rooms)
		}
		must(t, j.Close())
	}
}

// TestAFailedManifestKeepsItsAllowance says that on a full disk a manifest that failed costs a file of the reserve: it
// has taken the allowance, and the blocks of the one before go to another process.
func TestAFailedManifestKeepsItsAllowance(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	fs.InBlocks(vfs.BlockBytes)
	j := mustOpen(t, fs, small())
	prepare(t, j)
	write(t, j, 3000, 1)
	must(t, j.Sync())
	fs.Greedy(true)
	ready := j.ready()
	for _, op := range []string{"sync", "exchange", "syncdir"} {
		fs.Budget(0)
		fs.Before(func(c vfs.Call) error {
			if c.Op == op && (op == "syncdir" || strings.HasPrefix(c.Name, "journal/"+manifestTemp)) {
				fs.Before(nil)
				return errors.New("broken on purpose")
			}
			return nil
		})
		if err := j.writeManifest(); !errors.Is(err, ErrFailed) {
			t.Fatalf("%s: %v", op, err)
		}
		must(t, j.Recover())
		for range 3 {
			fs.Budget(0)
			must(t, j.writeManifest())
		}
		if j.ready() != ready || j.manifestAllowance.size == 0 {
			t.Fatalf("%s: %d files wait to be written, before that %d; the allowance is %d",
				op, j.ready(), ready, j.manifestAllowance.size)
		}
	}
	must(t, j.Close())
}

// TestAStartKnowsWhatACheckpointTakes says that after a start on a full disk a use stops too early, for a checkpoint
// that seems to need as much as the file that the last one has filled up.
func TestAStartKnowsWhatACheckpointTakes(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	fs.InBlocks(vfs.BlockBytes)
	j := mustOpen(t, fs, small())
	prepare(t, j)
	write(t, j, 3000, 1, 2)
	must(t, j.Sync())
	fs.Budget(0)
	fs.Greedy(true)
	for range 3 {
		must(t, j.Checkpoint(1, j.Safe(1), make([]byte, 500)))
	}
	must(t, j.Checkpoint(2, j.Safe(2), make([]byte, 300)))
	filled := j.logs[1].checkpoint.size > 2000 || j.logs[2].checkpoint.size > 2000
	largest, keep := j.largestCheckpoint, j.keep(Draining)
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	if !filled || j.largestCheckpoint != largest || j.keep(Draining) != keep {
		t.Errorf("the largest state takes %d bytes, draining leaves %d files; before the start %d and %d; filled up: %t",
			j.largestCheckpoint, j.keep(Draining), largest, keep, filled)
	}
	must(t, j.Close())
}

// TestAFailedCheckpointKeepsItsAllowance says that on a full disk each checkpoint that fails costs its allowance, and
// the next one a file of the reserve.
func TestAFailedCheckpointKeepsItsAllowance(t *testing.T) {
	t.Parallel()
	fs := vfs.NewFaulty(vfs.NewMem(1))
	fs.InBlocks(vfs.BlockBytes)
	j := mustOpen(t, fs, small())
	prepare(t, j)
	write(t, j, 3000, 1)
	must(t, j.Sync())
	must(t, j.Checkpoint(1, j.Safe(1), make([]byte, 500)))
	prepare(t, j)
	fs.Greedy(true)
	ready, space := j.ready(), j.checkpointAllowance.size
	for n := range 6 {
		fs.Budget(0)
		fs.Before(func(c vfs.Call) error {
			if c.Op == []string{"sync", "write"}[n%2] && strings.HasSuffix(c.Name, ".checkpoint") {
				if n%2 == 1 && c.Off == 0 {
					return nil // it finds no space there, and takes the allowance
				}
				fs.Before(nil)
				return errors.New("broken on purpose")
			}
			return nil
		})
		if err := j.Checkpoint(1, j.Safe(1), make([]byte, 500)); err == nil {
			t.Fatal("the checkpoint did not fail")
		}
		if j.ready() != ready || j.checkpointAllowance.size < space {
			t.Fatalf("%d files wait to be written, before that %d; the allowance is %d, before that %d",
				j.ready(), ready, j.checkpointAllowance.size, space)
		}
	}
	for range 3 {
		fs.Budget(0)
		must(t, j.Checkpoint(1, j.Safe(1), make([]byte, 500)))
	}
	if j.ready() != ready {
		t.Errorf("%d files wait to be written, before the checkpoints %d", j.ready(), ready)
	}
	must(t, j.Close())
}

// TestASmallCheckpointGivesTheAllowanceBack says that each checkpoint of a log with a large state takes a file of the
// reserve, because the small one of another log has left an allowance of its own size.
func TestASmallCheckpointGivesTheAllowanceBack(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(1)
	fs := vfs.NewFaulty(m)
	fs.InBlocks(vfs.BlockBytes)
	j := mustOpen(t, fs, small())
	prepare(t, j)
	write(t, j, 3000, 1, 2)
	must(t, j.Sync())
	states := map[storage.LogID][]byte{1: bytes.Repeat([]byte("large"), 4000), 2: []byte("small")}
	checkpoint := func(log storage.LogID) {
		t.Helper()
		must(t, j.Checkpoint(log, j.Safe(log), states[log]))
	}
	checkpoint(1)
	checkpoint(2)
	prepare(t, j)
	fs.Greedy(true)
	ready := j.ready()
	for n := range 12 {
		fs.Budget(0)
		checkpoint(1)
		if n%3 == 1 {
			fs.Budget(vfs.BlockBytes) // enough for the small one
		}
		checkpoint(2)
		if j.ready() != ready {
			t.Fatalf("%d: %d files wait to be written, before the checkpoints %d", n, j.ready(), ready)
		}
	}
	m.Crash()
	j = mustOpen(t, fs, small())
	for log, want := range states {
		if at, state, err := j.LoadCheckpoint(log); at != 1 || !bytes.Equal(state, want) || err != nil {
			t.Errorf("log %d: checkpoint at %d of %d bytes, %v", log, at, len(state), err)
		}
	}
	must(t, j.Close())
}
