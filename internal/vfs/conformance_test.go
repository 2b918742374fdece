package vfs

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	// The simulation would prove things about another disk than the one that brokers use.
	for name, open := range map[string]func(t *testing.T) FS{
		"Dir":     func(t *testing.T) FS { return Dir(t.TempDir()) },
		"Mem":     func(t *testing.T) FS { return NewMem(1) },
		"Faulty":  func(t *testing.T) FS { return NewFaulty(NewMem(1)) },
		"Bounded": func(t *testing.T) FS { return Bounded(Dir(t.TempDir()), 10) },
		"FaultyDir": func(t *testing.T) FS {
			f := NewFaulty(Dir(t.TempDir()))
			f.Budget(1 << 30)
			return f
		},
	} {
		for what, check := range map[string]func(*testing.T, FS){
			"names": checkNames, "bytes": checkBytes, "sizes": checkSizes, "open files": checkOpenFiles, "lock": checkLock,
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				check(t, open(t))
			})
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func create(t *testing.T, fs FS, name string) File {
	t.Helper()
	f, err := fs.Create(name)
	must(t, err)
	return f
}

func checkNames(t *testing.T, fs FS) {
	must(t, fs.Mkdir("a/b"))
	must(t, fs.Mkdir("a/b"))
	must(t, create(t, fs, "a/b/two").Close())
	must(t, create(t, fs, "a/b/one").Close())
	_, err := fs.Create("a/b/one")
	is(t, err, ErrExist)
	_, err = fs.Create("a/c/one")
	is(t, err, ErrNotExist)
	_, err = fs.Open("a/b/three")
	is(t, err, ErrNotExist)
	is(t, fs.Remove("a/b/three"), ErrNotExist)
	is(t, fs.Rename("a/b/three", "a/b/four"), ErrNotExist)
	_, err = fs.List("a/c")
	is(t, err, ErrNotExist)
	is(t, fs.SyncDir("a/c"), ErrNotExist)

	f, err := fs.Open("a/b/two")
	must(t, err)
	_, err = f.WriteAt([]byte("two"), 0)
	must(t, err)
	must(t, f.Close())
	must(t, fs.Rename("a/b/two", "a/b/one"))
	must(t, fs.SyncDir("a/b"))
	names, err := fs.List("a/b")
	must(t, err)
	if !slices.Equal(names, []string{"one"}) {
		t.Fatalf("names %q", names)
	}
	must(t, create(t, fs, "a/b/other").Close())
	is(t, fs.Exchange("a/b/one", "a/b/three"), ErrNotExist)
	must(t, fs.Exchange("a/b/other", "a/b/one"))
	f, err = fs.Open("a/b/one")
	must(t, err)
	if size, err := f.Size(); size != 0 || err != nil {
		t.Fatalf("exchanged: size %d, %v", size, err)
	}
	must(t, f.Close())
	must(t, fs.Rename("a/b/other", "a/b/one"))
	must(t, fs.SyncDir("a/b"))
	f, err = fs.Open("a/b/one")
	must(t, err)
	if size, err := f.Size(); size != 3 || err != nil {
		t.Fatalf("size %d, %v", size, err)
	}
	must(t, f.Close())
	must(t, fs.Remove("a/b/one"))
	names, err = fs.List("a")
	if err != nil || !slices.Equal(names, []string{"b"}) {
		t.Fatalf("names %q, %v", names, err)
	}
	if free, err := fs.Free(); err != nil || free <= 0 {
		t.Fatalf("free %d, %v", free, err)
	}
}

// checkBytes writes with and without alignment, across pages, and reads back.
func checkBytes(t *testing.T, fs FS) {
	f := create(t, fs, "file")
	want := make([]byte, 64<<10)
	for i, w := range []struct {
		off, n int
		skew   int // of the memory
	}{
		{0, 64 << 10, 0}, {512, 512, 0}, {512, 512, 1}, {1000, 5000, 0}, {4096, 8192, 0}, {5120, 12288, 0}, {8191, 2, 0}, {60 << 10, 4 << 10, 0},
	} {
		p := Aligned(w.n + w.skew)[w.skew:]
		for k := range p {
			p[k] = byte(k*7 + i)
		}
		n, err := f.WriteAt(p, int64(w.off))
		if n != len(p) || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, len(p), err)
		}
		copy(want[w.off:], p)
		clear(p) // it was lent only until return
		got := make([]byte, len(want))
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("write %d is not read back: %v", i, err)
		}
	}
	must(t, f.Sync())
	must(t, f.Close())
	f, err := fs.Open("file")
	must(t, err)
	got := make([]byte, 100)
	n, err := f.ReadAt(got, 64<<10-40)
	if n != 40 || err != io.EOF || !bytes.Equal(got[:40], want[64<<10-40:]) {
		t.Fatalf("read %d at the end: %v", n, err)
	}
	must(t, f.Close())
}

func checkSizes(t *testing.T, fs FS) {
	f := create(t, fs, "file")
	size := func(want int64) {
		t.Helper()
		if got, err := f.Size(); got != want || err != nil {
			t.Fatalf("size %d, want %d: %v", got, want, err)
		}
	}
	size(0)
	must(t, f.Preallocate(0, 3<<20))
	size(3 << 20)
	_, err := f.WriteAt(bytes.Repeat([]byte{1}, 3000), 10_000)
	must(t, err)
	must(t, f.Preallocate(11_000, 1000))
	size(3 << 20)
	must(t, f.Truncate(12_500))
	size(12_500)
	must(t, f.Truncate(14_000))
	size(14_000)
	got := make([]byte, 4000)
	_, err = f.ReadAt(got, 10_000)
	must(t, err)
	want := slices.Concat(bytes.Repeat([]byte{1}, 1000), make([]byte, 1000), bytes.Repeat([]byte{1}, 500), make([]byte, 1500))
	if !bytes.Equal(got, want) {
		t.Fatal("bytes after preallocating and truncating differ")
	}
	must(t, f.Close())
}

// checkOpenFiles uses files after their names are gone.
func checkOpenFiles(t *testing.T, fs FS) {
	f := create(t, fs, "old")
	must(t, fs.Rename("old", "new"))
	_, err := f.WriteAt(Aligned(512), 512)
	must(t, err)
	must(t, fs.Remove("new"))
	_, err = f.WriteAt([]byte("x"), 2000)
	must(t, err)
	var p [1]byte
	if _, err := f.ReadAt(p[:], 2000); err != nil || p[0] != 'x' {
		t.Fatalf("read %q, %v", p, err)
	}
	must(t, f.Sync())
	must(t, f.Close())
	if _, err := f.WriteAt(p[:], 0); err == nil {
		t.Fatal("a closed file was written to")
	}
}

func checkLock(t *testing.T, fs FS) {
	must(t, fs.Mkdir("d"))
	l, err := fs.Lock("d")
	must(t, err)
	_, err = fs.Lock("d")
	is(t, err, ErrLocked)
	must(t, l.Close())
	l, err = fs.Lock("d")
	must(t, err)
	must(t, l.Close())
}

func TestCrashKeepsWhatWasSyncedAndTearsTheRest(t *testing.T) {
	t.Parallel()
	// The simulated disk would be kinder than a real one, or crueller than any.
	seen := map[string]int{}
	for seed := range uint64(200) {
		fs := NewMem(seed)
		f := create(t, fs, "kept")
		_, err := f.WriteAt(bytes.Repeat([]byte{1}, 4*SectorBytes), 0)
		must(t, err)
		must(t, f.Sync())
		must(t, fs.SyncDir("."))
		_, err = f.WriteAt(bytes.Repeat([]byte{2}, 2*SectorBytes), SectorBytes)
		must(t, err)
		must(t, create(t, fs, "unsynced").Close())
		fs.Crash()
		_, err = f.WriteAt([]byte{3}, 0)
		is(t, err, ErrCrashed)
		f, err = fs.Open("kept")
		must(t, err)
		p := make([]byte, 4*SectorBytes)
		_, err = f.ReadAt(p, 0)
		must(t, err)
		shape := ""
		for s := range 4 {
			sector := p[s*SectorBytes:][:SectorBytes]
			if bytes.Count(sector, sector[:1]) != SectorBytes {
				t.Fatalf("seed %d: sector %d is torn", seed, s)
			}
			shape += string('0' + sector[0])
		}
		if shape[0] != '1' || shape[3] != '1' {
			t.Fatalf("seed %d: synced bytes are gone: %s", seed, shape)
		}
		if _, err := fs.Open("unsynced"); err == nil {
			shape += " name"
		}
		seen[shape]++
	}
	for _, shape := range []string{"1111", "1211", "1121", "1221", "1111 name", "1211 name", "1121 name", "1221 name"} {
		if seen[shape] == 0 {
			t.Errorf("no crash left %q; seen: %v", shape, seen)
		}
	}
}

func TestRenameIsOldOrNewAfterACrash(t *testing.T) {
	t.Parallel()
	// An atomic replacement could leave neither file.
	seen := map[string]int{}
	for seed := range uint64(40) {
		fs := NewMem(seed)
		for _, content := range []string{"old", "new"} {
			f := create(t, fs, content)
			_, err := f.WriteAt([]byte(content), 0)
			must(t, err)
			must(t, f.Sync())
			if content == "old" {
				must(t, fs.Rename("old", "file"))
			}
			must(t, fs.SyncDir("."))
		}
		must(t, fs.Rename("new", "file"))
		fs.Crash()
		f, err := fs.Open("file")
		must(t, err)
		p := make([]byte, 3)
		_, err = f.ReadAt(p, 0)
		must(t, err)
		seen[string(p)]++
	}
	if seen["old"] == 0 || seen["new"] == 0 || len(seen) != 2 {
		t.Fatalf("seen: %v", seen)
	}
}

func TestFaultyFailsAsPlanned(t *testing.T) {
	t.Parallel()
	// Tests of failures would test nothing.
	broken := errors.New("broken")
	fs := NewFaulty(NewMem(1))
	fs.FailOnce(2, broken)
	f := create(t, fs, "file")
	_, err := f.WriteAt([]byte("a"), 0)
	is(t, err, broken)
	_, err = f.WriteAt([]byte("b"), 0)
	must(t, err)
	fs.FailFrom(fs.Calls()+1, ErrCrashed)
	is(t, f.Sync(), ErrCrashed)
	_, err = fs.List(".")
	is(t, err, ErrCrashed)
	fs.Before(nil)

	fs.Flip("file", 1, 0x81)
	_, err = f.WriteAt([]byte{7, 7, 7}, 0)
	must(t, err)
	p := make([]byte, 2)
	_, err = f.ReadAt(p, 1)
	must(t, err)
	if p[0] != 7^0x81 || p[1] != 7 {
		t.Fatalf("read %v", p)
	}

	fs.Budget(1000)
	is(t, f.Preallocate(0, 1004), ErrNoSpace)
	must(t, f.Preallocate(0, 1003))
	_, err = f.WriteAt([]byte{1}, 1003)
	is(t, err, ErrNoSpace)
	if free, _ := fs.Free(); free != 0 {
		t.Fatalf("free %d", free)
	}
	must(t, fs.Remove("file"))
	if free, _ := fs.Free(); free != 1003 {
		t.Fatalf("free %d after removing", free)
	}
}

func TestAFailedSyncForgets(t *testing.T) {
	t.Parallel()
	// A journal that syncs again after a failure would pass its tests.
	lost := 0
	for seed := range uint64(20) {
		fs := NewFaulty(NewMem(seed))
		f := create(t, fs, "file")
		_, err := f.WriteAt([]byte{1}, 0)
		must(t, err)
		must(t, f.Sync())
		_, err = f.WriteAt([]byte{2}, 0)
		must(t, err)
		fs.FailOnce(fs.Calls()+1, errors.New("broken"))
		if f.Sync() == nil {
			t.Fatal("sync did not fail")
		}
		must(t, f.Sync())
		p := make([]byte, 1)
		_, err = f.ReadAt(p, 0)
		must(t, err)
		if p[0] == 1 {
			lost++
		}
	}
	if lost == 0 || lost == 20 {
		t.Fatalf("lost %d of 20", lost)
	}
}
