package vfs

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Bounded is fs with at most n files open at a time, as far as nobody is busy with more: the one not used for longest
// is closed, and opened again when it is wanted. A file with bytes that were not synced stays open, so that Sync tells
// what became of them.
//
// A file may be closed at any moment, so its name must not be removed, or given to another one, before its user has
// closed it. That apart, it behaves like fs.
func Bounded(fs FS, n int) FS { return &bounded{FS: fs, most: max(n, 1)} }

type bounded struct {
	FS
	most int

	mu    sync.Mutex
	open  []*boundedFile // all with a file
	clock uint64         // counts uses
}

// errClosed reports the use of a file after Close.
var errClosed = errors.New("file is closed")

// boundedFile is guarded by the mutex of its bounded, but for calls of file.
type boundedFile struct {
	fs     *bounded
	name   string
	file   File   // nil: closed for the time being
	users  int    // calls of file under way
	used   uint64 // when it was wanted last, by the clock
	writes int    // since it was synced
	closed bool   // for good
}

func (b *bounded) Create(name string) (File, error) { return b.add(name, b.FS.Create) }

func (b *bounded) Open(name string) (File, error) { return b.add(name, b.FS.Open) }

func (b *bounded) add(name string, open func(string) (File, error)) (File, error) {
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	f := &boundedFile{fs: b, name: name, file: file}
	b.enter(f)
	return f, nil
}

// enter notes that f is open, and makes space for it.
func (b *bounded) enter(f *boundedFile) {
	b.touch(f)
	b.open = append(b.open, f)
	for len(b.open) > b.most {
		i := -1
		for k, f := range b.open[:len(b.open)-1] {
			if f.users == 0 && f.writes == 0 && (i < 0 || f.used < b.open[i].used) {
				i = k
			}
		}
		if i < 0 {
			return
		}
		b.open[i].file.Close() // all in it is synced: nothing can be lost by it
		b.open[i].file = nil
		b.open = slices.Delete(b.open, i, i+1)
	}
}

func (b *bounded) touch(f *boundedFile) {
	b.clock++
	f.used = b.clock
}

// take returns the file, open, for one call; writes is how many it does.
func (f *boundedFile) take(writes int) (File, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("%s: %w", f.name, errClosed)
	}
	f.fs.touch(f)
	if f.file == nil {
		file, err := f.fs.FS.Open(f.name)
		if err != nil {
			return nil, err
		}
		f.file = file
		f.fs.enter(f)
	}
	f.users++
	f.writes += writes
	return f.file, nil
}

// give ends the call for which the file was taken, by which writes were synced.
func (f *boundedFile) give(synced int) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.users--
	f.writes -= synced
}

func (f *boundedFile) ReadAt(p []byte, off int64) (int, error) {
	file, err := f.take(0)
	if err != nil {
		return 0, err
	}
	defer f.give(0)
	return file.ReadAt(p, off)
}

func (f *boundedFile) WriteAt(p []byte, off int64) (int, error) {
	file, err := f.take(1)
	if err != nil {
		return 0, err
	}
	defer f.give(0)
	return file.WriteAt(p, off)
}

func (f *boundedFile) Preallocate(off, n int64) error {
	file, err := f.take(1)
	if err != nil {
		return err
	}
	defer f.give(0)
	return file.Preallocate(off, n)
}

func (f *boundedFile) Allocate(off, n int64) error {
	file, err := f.take(1)
	if err != nil {
		return err
	}
	defer f.give(0)
	return file.Allocate(off, n)
}

func (f *boundedFile) Truncate(size int64) error {
	file, err := f.take(1)
	if err != nil {
		return err
	}
	defer f.give(0)
	return file.Truncate(size)
}

func (f *boundedFile) Size() (int64, error) {
	file, err := f.take(0)
	if err != nil {
		return 0, err
	}
	defer f.give(0)
	return file.Size()
}

func (f *boundedFile) Sync() error {
	f.fs.mu.Lock()
	writes := f.writes // those that end later are not known to be in it
	f.fs.mu.Unlock()
	file, err := f.take(0)
	if err != nil {
		return err
	}
	if err = file.Sync(); err != nil {
		writes = 0
	}
	f.give(writes)
	return err
}

func (f *boundedFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return fmt.Errorf("close %s: %w", f.name, errClosed)
	}
	f.closed = true
	if f.file == nil {
		return nil
	}
	f.fs.open = slices.DeleteFunc(f.fs.open, func(of *boundedFile) bool { return of == f })
	return f.file.Close()
}
