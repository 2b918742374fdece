package journal

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

var update = flag.Bool("update", false, "rewrite the golden files; then read the difference")

func TestGoldenSequenceOfCalls(t *testing.T) {
	t.Parallel()
	// A sync, or the order that makes a crash harmless, would be lost in a change that keeps every other test green by
	// luck.
	fs := vfs.NewFaulty(vfs.NewMem(1))
	var b strings.Builder
	fs.Before(func(c vfs.Call) error {
		b.WriteString(c.String() + "\n")
		return nil
	})
	say := func(what string) { b.WriteString("\n# " + what + "\n") }

	say("open: nothing is there yet")
	j := mustOpen(t, fs, Options{Entropy: 7, SegmentBytes: 64 << 10, ReserveBytes: -1})
	say("reserve: two segments are made, one is named ahead")
	must(t, j.Reserve(2*(1000+Overhead), Growing))
	say("write: the first group opens it; no manifest is needed")
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
	say("reserve: the next segment is named")
	write(t, j, 40_000, 1)
	must(t, j.Reserve(40_000, Growing))
	say("write: the segment is full; it is safe before the next one is written")
	write(t, j, 40_000, 1)
	say("sync")
	must(t, j.Sync())
	say("prepare: the full one gets its table, spares are made, one is named")
	prepare(t, j)
	say("checkpoints")
	must(t, j.Checkpoint(1, 4, nil))
	must(t, j.Checkpoint(2, 1, nil))
	say("reclaim: the segment becomes a spare")
	if n, err := j.Reclaim(nothing); n != 1 || err != nil {
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

// goldenJournal is a small journal of this format with one of everything: a rewritten segment, a closed one, one being
// written, one ahead, a spare, a checkpoint, a log of pages, a dropped log, a mark of what is safe. It is left as by a
// crash. Cuts: it is of format 3, and batches of two segments are replaced.
func goldenJournal(t *testing.T, cuts bool) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem(1)
	j := mustOpen(t, fs, Options{Entropy: 7, SegmentBytes: 64 << 10, ReserveBytes: -1})
	if cuts {
		must(t, j.AllowCuts())
	}
	write(t, j, 0, 1, 2, 3)
	write(t, j, 5000, 1)
	write(t, j, 100, 2)
	write(t, j, 3000, 4, storage.LogID(4).Pages())
	must(t, j.Sync())
	must(t, j.Checkpoint(1, 2, []byte("state of log 1 after batch 2")))
	must(t, j.Checkpoint(2, 2, nil))
	must(t, j.Checkpoint(4, 1, nil))
	endSegment(t, j)
	write(t, j, 700, 1, 2, 3)
	must(t, j.Drop(3))
	endSegment(t, j)
	rewrite(t, j, 0.5, goldenPieces...)
	write(t, j, 200, 1)
	if cuts {
		must(t, put(j, []Batch{
			{Log: 2, Index: 3, Data: data(2, 3+replacing, 300), Cuts: true},
			{Log: 1, Index: 4, Data: data(1, 4+replacing, 300), Cuts: true},
		}))
	}
	prepare(t, j)
	must(t, j.Sync())
	must(t, j.MarkSafe())
	must(t, j.release())
	return fs
}

// replacing is what is added to the index of a batch for the data of one that takes its place.
const replacing = 1 << 40

// goldenPieces are what the rewritten segment keeps.
var goldenPieces = []storage.Ref{
	{Log: 1, Index: 2, Offset: 10, Size: 40}, {Log: 1, Index: 2, Offset: 2000, Size: 2500}, {Log: 2, Index: 2, Offset: 0, Size: 100},
	{Log: storage.LogID(4).Pages(), Index: 1, Offset: 2900, Size: 100},
}

// contents returns the files of a journal, without zeros at their ends.
func contents(t *testing.T, fs vfs.FS) map[string]string {
	t.Helper()
	names, err := fs.List("journal")
	must(t, err)
	files := map[string]string{}
	for _, name := range names {
		f, err := fs.Open("journal/" + name)
		must(t, err)
		size, err := f.Size()
		must(t, err)
		p := make([]byte, size)
		_, err = f.ReadAt(p, 0)
		must(t, err)
		files[name] = strings.TrimRight(string(p), "\x00")
	}
	return files
}

// kept loads a directory of the repository.
func kept(t *testing.T, dir string) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem(1)
	must(t, fs.Mkdir("journal"))
	files, err := os.ReadDir(dir)
	must(t, err)
	for _, file := range files {
		p, err := os.ReadFile(dir + "/" + file.Name())
		must(t, err)
		f, err := fs.Create("journal/" + file.Name())
		must(t, err)
		_, err = f.WriteAt(p, 0)
		switch { // zeros at the end are left out of the repository
		case file.Name() == manifestName:
			err = errors.Join(err, f.Truncate(int64(le.Uint64(p[16:]))))
		case strings.HasSuffix(file.Name(), ".segment"):
			err = errors.Join(err, f.Truncate(max(64<<10, int64(len(p)))))
		}
		must(t, errors.Join(err, f.Close()))
	}
	return fs
}

func TestGoldenDirectoryIsWhatIsWritten(t *testing.T) {
	t.Parallel()
	// A new version would write what no page of docs/format draws, under the old number.
	for dir, cuts := range map[string]bool{"testdata/format-2": false, "testdata/format-3": true} {
		made := contents(t, goldenJournal(t, cuts))
		for name, p := range made {
			golden(t, dir+"/"+name, p)
		}
		files, err := os.ReadDir(dir)
		must(t, err)
		if len(files) != len(made) {
			t.Errorf("%s: %d files are kept, %d are made", dir, len(files), len(made))
		}
	}
}

func TestGoldenDirectoriesStayReadable(t *testing.T) {
	t.Parallel()
	// A new version would refuse or misread what an old one wrote.
	type batch struct {
		log   storage.LogID
		index storage.Index
		n     int
		more  storage.Index // to the index, for its data
	}
	for _, c := range []struct {
		dir     string
		at      storage.Index
		state   string
		batches []batch
		pieces  []storage.Ref
	}{
		{"testdata/format-1", 1, "state of log 1 after batch 1", []batch{{1, 1, 0, 0}, {1, 2, 5000, 0}, {1, 3, 700, 0}, {2, 1, 0, 0}, {2, 2, 100, 0}, {2, 3, 700, 0}}, nil},
		{"testdata/format-2", 2, "state of log 1 after batch 2", []batch{{1, 3, 700, 0}, {1, 4, 200, 0}, {2, 3, 700, 0}}, goldenPieces},
		{
			"testdata/format-3", 2, "state of log 1 after batch 2",
			[]batch{{1, 3, 700, 0}, {1, 4, 300, replacing}, {2, 3, 300, replacing}}, goldenPieces,
		},
	} {
		fs := kept(t, c.dir)
		for range 2 { // the second time as this version leaves it
			j := mustOpen(t, fs, small())
			if at, state, err := j.LoadCheckpoint(1); at != c.at || string(state) != c.state || err != nil {
				t.Fatalf("%s: checkpoint at %d: %q, %v", c.dir, at, state, err)
			}
			for _, b := range c.batches {
				p, err := j.ReadBatch(nil, b.log, b.index)
				if err != nil || !bytes.Equal(p, data(b.log, b.index+b.more, b.n)) {
					t.Fatalf("%s: log %d, index %d: %v", c.dir, b.log, b.index, err)
				}
			}
			hasPieces(t, j, c.pieces...)
			if err := j.Write([]Batch{{Log: 3, Index: 2}}); !errors.Is(err, ErrDropped) {
				t.Fatalf("%s: write to the dropped log: %v", c.dir, err)
			}
			write(t, j, 10, 5)
			must(t, j.Close())
		}
	}
}
