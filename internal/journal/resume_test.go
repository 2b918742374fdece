package journal

import (
	"errors"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// left is how many bytes can be written without another file.
func left(j *Journal) int64 {
	n := int64(j.ready()) * capacity(j.o.SegmentBytes)
	if j.open != nil {
		n += max(0, j.open.Free(1, 1))
	}
	return n
}

// scarce is a journal on a full disk, of which another process takes what is given up: a log with a
// checkpoint, batches behind it, and a few files that wait to be written.
func scarce(t *testing.T, m *vfs.Mem) (*vfs.Faulty, *Journal) {
	t.Helper()
	fs := vfs.NewFaulty(m)
	fs.InBlocks(vfs.BlockBytes)
	j := mustOpen(t, fs, small())
	prepare(t, j)
	pages := storage.LogID(1).Pages()
	write(t, j, 3000, 1, pages)
	must(t, j.Sync())
	must(t, j.Checkpoint(1, j.Safe(1), make([]byte, 500)))
	prepare(t, j)
	fs.Greedy(true)
	fs.Budget(0)
	for j.ready() > j.keep(Draining)+1 {
		must(t, j.Reserve(20_000, Committed))
		must(t, j.Write([]Batch{{Log: 1, Index: j.Next(1), Data: make([]byte, 20_000)}}))
	}
	must(t, j.Sync())
	return fs, j
}

// TestStartsInARowTakeNothingOfTheReserve says that on a full disk each start that is killed before
// its checkpoint is stored, wherever, or each start and stop, takes some of the reserve, until
// nothing can be acked any more.
func TestStartsInARowTakeNothingOfTheReserve(t *testing.T) {
	t.Parallel()
	const lives, most = 60, 4 << 10 // most: what a life writes for good
	for seed := range uint64(8) {
		m := vfs.NewMem(seed)
		fs, j := scarce(t, m)
		pages, before := storage.LogID(1).Pages(), left(j)
		for life := range lives {
			must(t, j.Reserve(100+Overhead, Draining))
			must(t, j.Write([]Batch{{Log: 1, Index: j.Next(1), Data: make([]byte, 100)}})) // an ack
			must(t, j.Sync())
			for range life % 6 { // of a checkpoint that is never stored
				must(t, j.Reserve(12_000+Overhead, Committed))
				must(t, j.Write([]Batch{{Log: pages, Index: j.Next(pages), Data: make([]byte, 12_000)}}))
				must(t, j.Sync())
			}
			for range life % 3 { // names files, in some lives
				_, err := j.Prepare(true)
				must(t, ignoreNoSpace(err))
			}
			acked := j.Safe(1)
			if life%4 == 3 {
				must(t, j.Close())
			} else {
				m.Crash()
			}
			var err error
			for at := range 1 + life%5 { // killed on its way, time and again
				fs.FailFrom(fs.Calls()+3*at+int(seed)+5, vfs.ErrCrashed)
				if j, _, err = Open(fs, small()); err == nil {
					break
				}
				m.Crash()
			}
			fs.Before(nil)
			if err != nil || j.failed != nil {
				j = mustOpen(t, fs, small())
			}
			if j.Safe(1) != acked {
				t.Fatalf("seed %d: the log ends at %d, %d were safe", seed, j.Safe(1), acked)
			}
			if now := left(j); now < before-int64(life+1)*most {
				t.Fatalf("seed %d: after %d lives %d bytes can be written, before them %d", seed, life+1, now, before)
			}
		}
		must(t, j.Reserve(12_000+Overhead, Committed))
		must(t, j.Write([]Batch{{Log: pages, Index: j.Next(pages), Data: make([]byte, 12_000)}}))
		must(t, j.Sync())
		must(t, j.Checkpoint(1, j.Safe(1), make([]byte, 600)))
		if n, err := j.Reclaim(nothing); n == 0 || err != nil {
			t.Fatalf("seed %d: %d segments are given back, %v", seed, n, err)
		}
		must(t, j.Close())
	}
}

// TestAStartKeepsThePagesOfItsCheckpoint says that a start on a full disk gives up pages that a
// checkpoint names, or gives their indexes to others.
func TestAStartKeepsThePagesOfItsCheckpoint(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(1)
	fs, j := scarce(t, m)
	pages := storage.LogID(1).Pages()
	add := func(n int) {
		t.Helper()
		must(t, j.Reserve(n+Overhead, Committed))
		must(t, j.Write([]Batch{{Log: pages, Index: j.Next(pages), Data: data(pages, j.Next(pages), n)}}))
		must(t, j.Sync())
	}
	for range 3 {
		add(2000)
	}
	must(t, j.Checkpoint(1, j.Safe(1), make([]byte, 500)))
	named := j.Safe(pages)
	for range 3 {
		add(3000)
	}
	for range 2 {
		m.Crash()
		j = mustOpen(t, fs, small())
		if j.Safe(pages) != named || j.Next(pages) != named+1 {
			t.Fatalf("pages end at %d, the next is %d; a checkpoint names those up to %d", j.Safe(pages), j.Next(pages), named)
		}
	}
	add(4000)
	m.Crash()
	j = mustOpen(t, fs, small())
	has(t, j, pages, named-2, named, 2000)
	if _, err := j.ReadBatch(nil, pages, named+1); !errors.Is(err, ErrGone) {
		t.Errorf("a page that no checkpoint names: %v", err)
	}
	must(t, j.Close())
}

// TestAStartKeepsPagesThatAnOlderVersionWrote says that a start on a full disk gives up all pages if
// the manifest of an older version does not say which of them a checkpoint names.
func TestAStartKeepsPagesThatAnOlderVersionWrote(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem(1)
	fs, j := scarce(t, m)
	pages := storage.LogID(1).Pages()
	for range 3 {
		must(t, j.Reserve(3000+Overhead, Committed))
		must(t, j.Write([]Batch{{Log: pages, Index: j.Next(pages), Data: data(pages, j.Next(pages), 3000)}}))
		must(t, j.Sync())
	}
	last := j.Safe(pages)
	j.logs[pages].unnamed = 0
	must(t, j.writeManifest())
	m.Crash()
	j = mustOpen(t, fs, small())
	has(t, j, pages, last-2, last, 3000)
	must(t, j.Close())
}

// shed forgets the pages behind last.
func (l *modelLog) shed(last storage.Index) {
	l.safe, l.floor = last, min(l.floor, last)
	l.pieces = slices.DeleteFunc(slices.Clone(l.pieces), func(r storage.Ref) bool { return r.Index > last })
}

// lose forgets one of the pages that are live.
func (l *modelLog) lose(live []storage.Ref, gone storage.Ref) {
	if l.floor < l.safe {
		l.floor, l.pieces = l.safe, slices.Clone(live)
	}
	l.pieces = slices.DeleteFunc(l.pieces, func(r storage.Ref) bool { return r == gone })
}
