package journal

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// sparseSegments leaves a journal with at least n closed segments, of logs 1 and 2, in each of which a few records are
// live.
func sparseSegments(t *testing.T, fs vfs.FS, n int) (j *Journal, live []storage.Ref) {
	t.Helper()
	j = mustOpen(t, fs, small())
	for len(j.segments) <= n {
		write(t, j, 3000, 1, 2)
		if i := j.Next(1) - 1; i%3 == 0 {
			live = append(live, storage.Ref{Log: 1, Index: i, Offset: 1000, Size: 1500}, storage.Ref{Log: 2, Index: i, Offset: 0, Size: 10})
		}
	}
	must(t, j.Sync())
	for log := storage.LogID(1); log <= 2; log++ {
		must(t, j.Checkpoint(log, j.Next(log)-1, nil))
	}
	endSegment(t, j)
	for len(j.full) > 0 {
		must(t, j.closeOut())
	}
	must(t, j.writeManifest())
	slices.SortFunc(live, compareRefs)
	return j, live
}

func TestADamagedVictimIsLeftAlone(t *testing.T) {
	t.Parallel()
	// Damage would be copied as if it were sound, given back, or keep everything else from being rewritten.
	fs := vfs.NewFaulty(vfs.NewMem(1))
	j, live := sparseSegments(t, fs, 3)
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	bad := live[0]
	sp, e, err := j.locate(bad.Log, bad.Index)
	must(t, err)
	name := sp.Seg.Name()
	fs.Flip(j.path(name), int64(e.Pos)+segment.BatchHeaderBytes+1200, 4)
	w, err := j.Sparse(liveOf(live), 0.9)
	must(t, err)
	w.Keep(live)
	var faults []Fault
	for done := false; !done; {
		var fault *Fault
		if done, err = w.Step(1 << 10); errors.As(err, &fault) {
			faults = append(faults, *fault)
		} else {
			must(t, err)
		}
	}
	if len(faults) != 1 || faults[0].Log != bad.Log || faults[0].File != name || faults[0].Offset < int64(e.Pos) {
		t.Fatalf("faults %+v; want one of log %d in %s, behind %d", faults, bad.Log, name, e.Pos)
	}
	n, err := j.Adopt(w)
	if err != nil || n == 0 {
		t.Fatalf("%d segments were given back, %v", n, err)
	}
	if n, err := j.Reclaim(liveOf(live)); n != 0 || err != nil {
		t.Fatalf("%d segments were given back, %v", n, err)
	}
	var fault *Fault
	if _, err := j.ReadAt(make([]byte, bad.Size), bad); !errors.As(err, &fault) || fault.File != name {
		t.Fatalf("the damaged record: %v", err)
	}
	hasPieces(t, j, live[1:]...)
	for n := 1; n > 0; { // the damaged record is settled: now its segment can go, too
		n = rewrite(t, j, 0.9, live[1:]...)
	}
	hasPieces(t, j, live[1:]...)
	if _, err := j.ReadAt(make([]byte, bad.Size), bad); !errors.Is(err, ErrGone) {
		t.Fatalf("the damaged record, settled: %v", err)
	}
	must(t, j.Close())
}

func TestDamageInARewrittenSegment(t *testing.T) {
	t.Parallel()
	// A reader would be handed other bytes than were kept, or be told that a record is gone that the disk has lost.
	const sound, lost, broken = "sound", "lost", "broken"
	for _, c := range []struct {
		what  string
		flips func(s *segment.File, e segment.Entry) []int64
		first string // what becomes of the first record
		rest  string // and of the others
	}{
		{"a piece", func(_ *segment.File, e segment.Entry) []int64 {
			return []int64{int64(e.Pos) + segment.BatchHeaderBytes + 300}
		}, broken, sound},
		{"the list of pieces", func(_ *segment.File, e segment.Entry) []int64 {
			return []int64{int64(e.Pos) + segment.BatchHeaderBytes + 1}
		}, broken, sound},
		{"a page of the table", func(s *segment.File, _ segment.Entry) []int64 { return []int64{s.Size - 100} }, broken, broken},
		{"the directory", func(s *segment.File, _ segment.Entry) []int64 { return []int64{s.Table.At + 12} }, sound, sound},
		{"the directory and a batch's header", func(s *segment.File, e segment.Entry) []int64 { return []int64{s.Table.At + 12, int64(e.Pos) + 2} }, lost, lost},
		{"the directory and a piece", func(s *segment.File, e segment.Entry) []int64 {
			return []int64{s.Table.At + 12, int64(e.Pos) + segment.BatchHeaderBytes + 300}
		}, broken, sound},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem(1)
			j, live := sparseSegments(t, fs, 2)
			if n := rewrite(t, j, 0.9, live...); n < 2 {
				t.Fatalf("%d segments were given back", n)
			}
			sp, e, err := j.locate(1, live[0].Index)
			must(t, err)
			name := sp.Seg.Name()
			must(t, j.Close())
			for _, off := range c.flips(sp.Seg, e) {
				flip(t, fs, j.path(name), off)
			}
			for range 2 {
				j = mustOpen(t, fs, small())
				for i, r := range live {
					want := c.rest
					if i == 0 {
						want = c.first
					}
					var fault *Fault
					_, err := j.ReadAt(make([]byte, r.Size), r)
					switch {
					case want == sound:
						hasPieces(t, j, r)
					case !errors.As(err, &fault) || fault.File != name || fault.Log != r.Log || fault.Offset == 0:
						t.Fatalf("%+v: %v; it is %s", r, err, want)
					}
				}
				if n, err := j.Reclaim(nothing); c.first == lost && n != 0 || err != nil {
					t.Fatalf("%d segments were given back, %v", n, err)
				}
				if c.first != lost {
					return
				}
				must(t, j.Close())
			}
		})
	}
}

func TestALostPageIsNeverAnotherPage(t *testing.T) {
	t.Parallel()
	// A queue would be made of the entries of another one.
	for _, c := range []struct {
		what string
		at   int // group that is damaged
	}{{"the last one", 1}, {"all there were", 0}} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem(1)
			j := mustOpen(t, fs, small())
			pages := storage.LogID(1).Pages()
			write(t, j, 700, 1)
			var at []int64
			for i := range 2 {
				at = append(at, j.open.End)
				if i >= c.at {
					write(t, j, 700, pages)
				}
			}
			lost := j.Next(pages) - 1
			must(t, j.Sync())
			write(t, j, 700, 1)
			must(t, j.Sync())
			must(t, j.MarkSafe())
			name := j.path(j.open.Name())
			fs.Crash()
			flip(t, fs, name, at[1]+20)
			if c.at == 0 {
				flip(t, fs, name, at[0]+20)
			}
			for range 2 {
				j = mustOpen(t, fs, small())
				has(t, j, 1, 1, 2, 700)
				var fault *Fault
				if _, err := j.ReadAt(make([]byte, 10), storage.Ref{Log: pages, Index: lost, Size: 10}); !errors.As(err, &fault) || j.path(fault.File) != name {
					t.Fatalf("the lost page: %v", err)
				}
				if next := j.Next(pages); next <= lost {
					t.Fatalf("the next page will be %d, %d is lost", next, lost)
				}
				write(t, j, 100, pages)
				must(t, j.Close())
			}
		})
	}
}

func TestAFullDiskIsMadeRoomOnByRewriting(t *testing.T) {
	t.Parallel()
	// On a full disk a few messages in each segment would pin all of it.
	fs := vfs.NewFaulty(vfs.NewMem(1))
	j, live := sparseSegments(t, fs, 8)
	must(t, j.Reserve(0, Growing))
	fs.Budget(0)
	before := j.Stats()
	given := 0
	for n := 1; n > 0; given += n {
		n = rewrite(t, j, 0.9, live...)
	}
	after := j.Stats()
	if given < 8 || after.SegmentBytes > before.SegmentBytes/2 {
		t.Fatalf("%d segments were given back: %d bytes are left of %d", given, after.SegmentBytes, before.SegmentBytes)
	}
	must(t, j.Reserve(20_000, Growing))
	hasPieces(t, j, live...)
	// What is left is rewritten once more, now from small segments.
	for i := range live {
		live[i].Size = max(1, live[i].Size/8)
	}
	given = 0
	for n := 1; n > 0; given += n {
		n = rewrite(t, j, 0.5, live...)
	}
	if end := j.Stats(); given == 0 || end.SegmentBytes >= after.SegmentBytes {
		t.Fatalf("%d segments were given back: %d bytes are left of %d", given, end.SegmentBytes, after.SegmentBytes)
	}
	hasPieces(t, j, live...)
	must(t, j.Close())
	j = mustOpen(t, fs, small())
	hasPieces(t, j, live...)
	must(t, j.Close())
}

func TestARewritingThatIsGivenUpLeavesNoTrace(t *testing.T) {
	t.Parallel()
	// Segments would be given back under the hands of who copies them, or files nobody names fill the disk.
	for _, how := range []string{"abandon", "close", "no space", "no longer sparse"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewFaulty(vfs.NewMem(1))
			j, live := sparseSegments(t, fs, 3)
			before, err := fs.List("journal")
			must(t, err)
			w, err := j.Sparse(liveOf(live), 0.9)
			must(t, err)
			if again, err := j.Sparse(liveOf(live), 0.9); again != nil || err == nil {
				t.Fatal("two at a time")
			}
			if n, err := j.Reclaim(nothing); n >= len(w.victims) || err != nil {
				t.Fatalf("%d segments were given back, %v", n, err)
			}
			if how == "no longer sparse" {
				for _, r := range w.Ranges() {
					for i := r.First; i <= r.Last; i++ {
						for at := uint32(0); at < 3000; at += 2 {
							w.Keep([]storage.Ref{{Log: r.Log, Index: i, Offset: at, Size: 1}})
						}
					}
				}
			} else {
				w.Keep(live)
			}
			if how == "no space" { // more is live than was said
				must(t, w.out.Disk.Truncate(0))
				fs.Budget(0)
			}
			if _, err := j.Adopt(w); err == nil {
				t.Fatal("half of a rewriting was adopted")
			}
			done, err := w.Step(1)
			switch {
			case how == "no space":
				if _, again := w.Step(1); !errors.Is(err, ErrNoSpace) || !errors.Is(again, ErrNoSpace) {
					t.Fatal(err, again)
				}
				j.Abandon(w)
				fs.Budget(-1)
			case how == "no longer sparse":
				for ; !done && err == nil; done, err = w.Step(1) {
				}
				must(t, err)
				if n, err := j.Adopt(w); n > 1 || err != nil { // one, of a single batch, is sparse all the same
					t.Fatalf("%d segments were given back, %v", n, err)
				}
			case how == "close":
				must(t, j.Close())
				j = mustOpen(t, fs, small())
			default:
				must(t, err)
				j.Abandon(w)
				j.Abandon(w) // again: nothing
			}
			hasPieces(t, j, live...)
			after, err := fs.List("journal")
			must(t, err)
			if len(after) > len(before) && how != "no longer sparse" {
				t.Fatalf("files %v, before %v", after, before)
			}
			if n, err := j.Reclaim(nothing); n == 0 || err != nil {
				t.Fatalf("%d segments were given back, %v", n, err)
			}
			must(t, j.Close())
		})
	}
}

func TestADroppedLogIsNotKept(t *testing.T) {
	t.Parallel()
	// A deleted virtual host would come back, or its log stand in the way of others for ever.
	fs := vfs.NewMem(1)
	j, live := sparseSegments(t, fs, 3)
	w, err := j.Sparse(liveOf(live), 0.9)
	must(t, err)
	w.Keep(live)
	must(t, j.Drop(2))
	for done := false; !done; {
		done, err = w.Step(1 << 10)
		must(t, err)
	}
	_, err = j.Adopt(w)
	must(t, err)
	for range 2 {
		for _, r := range live {
			if _, err := j.ReadAt(make([]byte, r.Size), r); r.Log == 2 != errors.Is(err, ErrGone) {
				t.Fatalf("%+v: %v", r, err)
			}
		}
		must(t, j.Close())
		j = mustOpen(t, fs, small())
	}
	if n, err := j.Reclaim(nothing); n == 0 || err != nil || j.Stats().Dropped != 0 {
		t.Fatalf("%d segments were given back, %v; %+v", n, err, j.Stats())
	}
	must(t, j.Close())
}

func TestRewritingRunsBesideTraffic(t *testing.T) {
	t.Parallel()
	// The race detector would find the copying in the way of those who write and read.
	j, live := sparseSegments(t, vfs.Dir(t.TempDir()), 6)
	var mu sync.RWMutex
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			mu.Lock()
			write(t, j, 3000, 1, 2)
			must(t, j.Sync())
			mu.Unlock()
		}
	})
	wg.Go(func() {
		for {
			for _, r := range live {
				mu.RLock()
				hasPieces(t, j, r)
				mu.RUnlock()
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	given := 0
	for n := 1; n > 0; given += n {
		mu.Lock()
		w, err := j.Sparse(liveOf(live), 0.9)
		mu.Unlock()
		must(t, err)
		n = 0
		if w == nil {
			break
		}
		w.Keep(live)
		for done := false; !done; {
			done, err = w.Step(4 << 10)
			must(t, err)
		}
		mu.Lock()
		n, err = j.Adopt(w)
		mu.Unlock()
		must(t, err)
	}
	close(stop)
	wg.Wait()
	if given < 6 {
		t.Errorf("%d segments were given back", given)
	}
	must(t, j.Close())
}
