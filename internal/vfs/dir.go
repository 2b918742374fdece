package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Dir is a real directory, which must exist. It is made for Linux; elsewhere, for development, it works without direct
// writes, without a lock between processes and without knowing what space is free.
//
// Writes that meet the alignment named at [File] go past the page cache (O_DIRECT) where the file system can; all
// others, and all reads, go through it. The kernel keeps the two coherent for reads that follow a write.
func Dir(path string) FS { return dir(path) }

type dir string

func (d dir) path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

func (d dir) Create(name string) (File, error) {
	return d.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}
func (d dir) Open(name string) (File, error) { return d.open(name, os.O_RDWR) }

func (d dir) open(name string, flags int) (File, error) {
	f, err := os.OpenFile(d.path(name), flags, 0o640)
	if err != nil {
		return nil, known(err)
	}
	return &dirFile{f: f}, nil
}

func (d dir) Remove(name string) error { return known(os.Remove(d.path(name))) }

func (d dir) Exchange(from, to string) error { return known(exchange(d.path(from), d.path(to))) }

func (d dir) Rename(from, to string) error { return known(os.Rename(d.path(from), d.path(to))) }

func (d dir) List(name string) ([]string, error) {
	entries, err := os.ReadDir(d.path(name))
	if err != nil {
		return nil, known(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.Sort(names)
	return names, nil
}

// Mkdir makes what is missing from the top down and syncs each parent, so that no crash leaves a child without one.
func (d dir) Mkdir(name string) error {
	var missing []string
	for path := filepath.Clean(filepath.FromSlash(name)); path != "."; path = filepath.Dir(path) {
		if _, err := os.Stat(d.path(path)); err == nil {
			break
		}
		missing = append(missing, path)
	}
	for _, path := range slices.Backward(missing) {
		if err := os.Mkdir(d.path(path), 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
			return known(err)
		}
		if err := d.SyncDir(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

func (d dir) SyncDir(name string) error {
	f, err := os.Open(d.path(name))
	if err != nil {
		return known(err)
	}
	return known(errors.Join(f.Sync(), f.Close()))
}

// lockPatience is how long Lock waits for a process that is ending: the system frees the memory of one that was killed
// before its locks, and a program that another process has just begun shares these until it runs.
const lockPatience = time.Second

// Lock uses flock on a file of the directory: the kernel lets go of it when the process ends, however it ends.
func (d dir) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(d.path(name), "lock"), os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, known(err)
	}
	err = lockFile(f)
	for until := time.Now().Add(lockPatience); errors.Is(err, ErrLocked) && time.Now().Before(until); err = lockFile(f) {
		time.Sleep(lockPatience / 50)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", d.path(name), err)
	}
	return f, nil
}

func (d dir) Free() (int64, error) {
	n, err := freeSpace(string(d))
	if err != nil {
		return 0, fmt.Errorf("free space of %s: %w", string(d), err)
	}
	return n, nil
}

// known adds this package's sentinel to an error of the system.
func known(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrNotExist, err)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: %w", ErrExist, err)
	case isFull(err):
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// dirFile is a file with two descriptors: one through the page cache and, from the first aligned write on, one past it.
type dirFile struct {
	f        *os.File
	direct   *os.File // nil until wanted
	noDirect bool     // this file system cannot, or not at this alignment
}

func (f *dirFile) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

func (f *dirFile) WriteAt(p []byte, off int64) (int, error) {
	if !f.noDirect && aligned(p, off, SectorBytes) && f.openDirect() {
		n, err := f.direct.WriteAt(p, off)
		if !isMisaligned(err) {
			return n, known(err)
		}
		f.noDirect = true // a disk with larger sectors
	}
	n, err := f.f.WriteAt(p, off)
	return n, known(err)
}

func (f *dirFile) openDirect() bool {
	if f.direct == nil {
		d, err := reopenDirect(f.f)
		f.direct, f.noDirect = d, err != nil
	}
	return !f.noDirect
}

// zeros is what files are filled with. Never written to.
var zeros = Aligned(1 << 20)

// Preallocate asks for the space first, in one piece, and then writes the zeros: space that is only allocated makes the
// file system note each first write to it, which costs a fifth to a third of the speed of synced appends.
func (f *dirFile) Preallocate(off, n int64) error {
	if _, err := f.allocate(off, n); err != nil {
		return err
	}
	return f.fill(off, n)
}

func (f *dirFile) Allocate(off, n int64) error {
	done, err := f.allocate(off, n)
	if err != nil || done {
		return err
	}
	return f.fill(off, n)
}

func (f *dirFile) allocate(off, n int64) (done bool, err error) {
	if done, err = allocate(f.f, off, n); err != nil {
		return false, fmt.Errorf("preallocate %s: %w", f.f.Name(), known(err))
	}
	return done, nil
}

// fill writes zeros.
func (f *dirFile) fill(off, n int64) error {
	for n > 0 {
		w, err := f.WriteAt(zeros[:min(n, int64(len(zeros)))], off)
		if err != nil {
			return err
		}
		off, n = off+int64(w), n-int64(w)
	}
	return nil
}

func (f *dirFile) Truncate(size int64) error { return known(f.f.Truncate(size)) }

func (f *dirFile) Size() (int64, error) {
	s, err := f.f.Stat()
	if err != nil {
		return 0, known(err)
	}
	return s.Size(), nil
}

func (f *dirFile) Sync() error {
	if err := syncData(f.f); err != nil {
		return fmt.Errorf("sync %s: %w", f.f.Name(), known(err))
	}
	return nil
}

func (f *dirFile) Close() error {
	if f.direct == nil {
		return f.f.Close()
	}
	return errors.Join(f.direct.Close(), f.f.Close())
}
