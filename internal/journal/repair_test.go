package journal

import (
	"errors"
	"maps"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// mustLook looks at a journal and verifies it.
func mustLook(t *testing.T, fs vfs.FS) (*Journal, Sight, []Damage) {
	t.Helper()
	j, seen, err := Look(fs, small())
	must(t, err)
	damage, err := j.Verify(&seen)
	must(t, err)
	return j, seen, damage
}

func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	// A check would destroy what a repair needs, or find damage where there is none.
	for _, how := range []string{"crash", "stop"} {
		fs := vfs.NewMem(3)
		j, live := sparseSegments(t, fs, 3)
		rewrite(t, j, 0.9, live[:len(live)/2]...)
		write(t, j, 700, 1, 2)
		must(t, j.Sync())
		if how == "crash" {
			fs.Crash()
		} else {
			must(t, j.Close())
		}
		before := contents(t, fs)
		j, _, damage := mustLook(t, fs)
		if len(damage) > 0 {
			t.Fatalf("%s: damage %+v", how, damage)
		}
		if err := j.Write([]Batch{{Log: 1, Index: j.Next(1)}}); !errors.Is(err, ErrLooking) {
			t.Fatalf("%s: write: %v", how, err)
		}
		if _, _, err := Look(fs, small()); !errors.Is(err, vfs.ErrLocked) {
			t.Fatalf("%s: a second look: %v", how, err)
		}
		must(t, j.Close())
		if !maps.Equal(contents(t, fs), before) {
			t.Fatalf("%s: the files have changed", how)
		}
	}
	if _, _, err := Look(vfs.NewMem(1), small()); !errors.Is(err, vfs.ErrNotExist) {
		t.Fatalf("an empty directory: %v", err)
	}
}

// injured leaves a journal, killed, with closed segments of logs 1 and 2, of which log 1 has a checkpoint in the
// middle, and one that was being written. Of log 1 every tenth record is live.
func injured(t *testing.T) (fs *vfs.Mem, live []storage.Ref, at storage.Index) {
	t.Helper()
	fs = vfs.NewMem(3)
	j := mustOpen(t, fs, small())
	for len(j.segments) < 4 {
		write(t, j, 3000, 1, 2)
		if i := j.Next(1) - 1; i%10 == 0 {
			live = append(live, storage.Ref{Log: 1, Index: i, Offset: 1000, Size: 1500})
		}
	}
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 15, []byte("state")))
	prepare(t, j)
	must(t, j.MarkSafe())
	fs.Crash()
	return fs, live, j.Next(1) - 1
}

func TestMendingPutsDamageAside(t *testing.T) {
	t.Parallel()
	// A repaired journal would still have its fault, or lose what was sound.
	for _, c := range []struct {
		what  string
		spoil func(fs *vfs.Mem)
		part  Part
		lost  bool // of log 2 all is needed
	}{
		{"a live record", func(fs *vfs.Mem) { flip(t, fs, "journal/00000001.segment", 4096+48+24+1500) }, InData, true},
		{"the header of a segment", func(fs *vfs.Mem) { flip(t, fs, "journal/00000001.segment", 20) }, InHeader, false},
		{"the header of a group, which the table makes up for", func(fs *vfs.Mem) { flip(t, fs, "journal/00000001.segment", 4096+20) }, InGroup, false},
		{"a missing segment", func(fs *vfs.Mem) { must(t, fs.Remove("journal/00000001.segment")) }, InFile, true},
		{"the manifest", func(fs *vfs.Mem) { flip(t, fs, "journal/manifest", 60) }, InManifest, false},
		{"a missing manifest", func(fs *vfs.Mem) { must(t, fs.Remove("journal/manifest")) }, InFile, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			fs, live, last := injured(t)
			c.spoil(fs)
			j, seen, damage := mustLook(t, fs)
			if len(damage) != 1 || damage[0].Part != c.part {
				t.Fatalf("damage %+v", damage)
			}
			if got := j.Next(1) - 1; got != last {
				t.Fatalf("log 1 ends at %d, not %d; %+v", got, last, seen)
			}
			var m Mend
			for _, r := range live {
				if _, err := j.Read(nil, r); err == nil {
					m.Keep = append(m.Keep, r)
				}
			}
			if c.lost {
				m.Checkpoints = []State{{1, last, [][]byte{[]byte("one")}}, {2, last, [][]byte{[]byte("two")}}}
			}
			must(t, j.Mend(m))
			must(t, j.Close())
			j, _, damage = mustLook(t, fs)
			if len(damage) > 0 {
				t.Fatalf("damage after mending: %+v", damage)
			}
			must(t, j.Close())
			for round := range 2 {
				j = mustOpen(t, fs, small())
				hasPieces(t, j, m.Keep...)
				if !c.lost && round == 0 {
					has(t, j, 1, 16, last, 3000)
					has(t, j, 2, 1, last, 3000)
				}
				write(t, j, 10, 1, 2)
				must(t, j.Close())
			}
		})
	}
}

func TestRewrittenSegmentsAreMendedAndFound(t *testing.T) {
	t.Parallel()
	// What was gathered from many segments would be lost with one sector, or, without a manifest, come back as it was
	// before.
	for _, how := range []string{"damaged", "no manifest", "neither finished nor named, no manifest"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem(1)
			j, live := sparseSegments(t, fs, 3)
			if how == "neither finished nor named, no manifest" {
				w, err := j.Sparse(liveOf(live), 0.9)
				must(t, err)
				w.Keep(live)
				_, err = w.Step(1)
				must(t, err)
				must(t, w.out.Disk.Sync())
			} else if n := rewrite(t, j, 0.9, live...); n < 2 {
				t.Fatalf("%d segments were given back", n)
			}
			kept := live
			var name string
			var e segment.Entry
			if how == "damaged" {
				sp, found, err := j.locate(1, live[0].Index)
				must(t, err)
				name, e, kept = sp.Seg.Name(), found, live[1:]
			}
			write(t, j, 10, 1, 2)
			last := j.Next(1) - 1
			must(t, j.Sync())
			must(t, j.release())
			if how == "damaged" {
				flip(t, fs, j.path(name), int64(e.Pos)+segment.BatchHeaderBytes+300)
			} else {
				must(t, fs.Remove("journal/manifest"))
			}
			j, seen, damage := mustLook(t, fs)
			if len(damage) != 1 || how != "damaged" != seen.Rebuilt {
				t.Fatalf("damage %+v", damage)
			}
			hasPieces(t, j, kept...)
			if at, _, err := j.LoadCheckpoint(1); at != last-1 || err != nil {
				t.Fatalf("checkpoint at %d, %v", at, err)
			}
			must(t, j.Mend(Mend{Keep: kept}))
			must(t, j.Close())
			j = mustOpen(t, fs, small())
			hasPieces(t, j, kept...)
			has(t, j, 1, last, last, 10)
			for n := 1; n > 0; {
				n = rewrite(t, j, 0.9, kept...)
			}
			hasPieces(t, j, kept...)
			must(t, j.Close())
		})
	}
}
