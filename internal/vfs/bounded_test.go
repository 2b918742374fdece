package vfs

import (
	"fmt"
	"sync"
	"testing"
)

func TestBoundedKeepsFewFilesOpen(t *testing.T) {
	t.Parallel()
	// A log of many segments would use up the files that a process may have open, or lose what was written to one of
	// them.
	const most, files = 3, 10
	opened := 0
	faulty := NewFaulty(NewMem(1))
	faulty.Before(func(c Call) error {
		switch c.Op {
		case "create", "open":
			opened++
		case "close":
			opened--
		}
		if opened > most+1 {
			t.Errorf("%d files are open", opened)
		}
		return nil
	})
	fs := Bounded(faulty, most)
	var all []File
	for i := range files {
		f := create(t, fs, fmt.Sprint(i))
		_, err := f.WriteAt([]byte{byte(i)}, 0)
		must(t, err)
		must(t, f.Sync())
		all = append(all, f)
	}
	for range 3 {
		for i, f := range all {
			var p [1]byte
			if _, err := f.ReadAt(p[:], 0); err != nil || p[0] != byte(i) {
				t.Fatalf("file %d: %v, %v", i, p, err)
			}
		}
	}
	must(t, fs.Remove("5"))
	if _, err := all[5].Size(); err == nil {
		t.Error("a file that is gone was opened again")
	}
	opened-- // it was tried
	for _, f := range all {
		must(t, f.Close())
		if err := f.Close(); err == nil {
			t.Error("a file was closed twice")
		}
		if _, err := f.ReadAt(make([]byte, 1), 0); err == nil {
			t.Error("a closed file was read")
		}
	}
	if opened != 0 {
		t.Errorf("%d files were left open", opened)
	}
}

func TestBoundedKeepsUnsyncedFilesOpen(t *testing.T) {
	t.Parallel()
	// What a failed sync has to tell would be lost with the file that was closed before.
	faulty := NewFaulty(NewMem(1))
	closed := 0
	faulty.Before(func(c Call) error {
		if c.Op == "close" {
			closed++
		}
		if c.Op == "sync" && c.Name == "2" {
			return ErrCrashed
		}
		return nil
	})
	fs := Bounded(faulty, 1)
	var all []File
	for i := range 4 {
		f := create(t, fs, fmt.Sprint(i))
		_, err := f.WriteAt([]byte("x"), 0)
		must(t, err)
		all = append(all, f)
	}
	if closed != 0 {
		t.Fatalf("%d files were closed before they were synced", closed)
	}
	for i, f := range all {
		if err := f.Sync(); i == 2 {
			is(t, err, ErrCrashed)
		} else {
			must(t, err)
		}
	}
	must(t, create(t, fs, "last").Close())
	if closed != 4 { // all but the one of which nobody knows what is in it
		t.Fatalf("%d files were closed", closed)
	}
}

func TestBoundedServesReadersSideBySide(t *testing.T) {
	t.Parallel()
	// A file would be closed under the hands of who reads it, or the race detector find the readers in each other's
	// way.
	fs := Bounded(Dir(t.TempDir()), 2)
	var all []File
	for i := range 8 {
		f := create(t, fs, fmt.Sprint(i))
		_, err := f.WriteAt([]byte{byte(i)}, 0)
		must(t, err)
		must(t, f.Sync())
		all = append(all, f)
	}
	var wg sync.WaitGroup
	for reader := range 4 {
		wg.Go(func() {
			for n := range 400 {
				i := (reader*3 + n*5) % len(all)
				var p [1]byte
				if _, err := all[i].ReadAt(p[:], 0); err != nil || p[0] != byte(i) {
					t.Errorf("file %d: %v, %v", i, p, err)
				}
			}
		})
	}
	wg.Wait()
	for _, f := range all {
		must(t, f.Close())
	}
}
