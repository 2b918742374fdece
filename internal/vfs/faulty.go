package vfs

import (
	"fmt"
	"io"
	"path"
	"sync"
)

// Call is one call of an FS or a File, as Faulty sees it.
type Call struct {
	N    int    // from 1
	Op   string // the method's name in lower case: "write", "sync", "syncdir", …
	Name string // the file or directory
	Off  int64  // of read, write, preallocate; the size of truncate
	Len  int64  // of read, write, preallocate
}

// String renders a call as one line of a golden sequence.
func (c Call) String() string {
	switch c.Op {
	case "read", "write", "preallocate":
		return fmt.Sprintf("%s %s %d+%d", c.Op, c.Name, c.Off, c.Len)
	case "truncate":
		return fmt.Sprintf("%s %s %d", c.Op, c.Name, c.Off)
	}
	return c.Op + " " + c.Name
}

// Faulty passes calls on to another FS and fails some on purpose. A failed call has no effect, but for Sync of a file
// of a Mem: as on a real system, what was to be synced may be forgotten, and a second Sync reports success. It is for
// tests.
type Faulty struct {
	fs     FS
	mu     sync.Mutex // on all below; not held while before runs
	calls  int
	before func(Call) error
	budget int64 // bytes that files may still grow by; negative: no limit
	block  int64 // of which files take whole ones
	greedy bool  // what files give up does not come back to the budget
	flips  []flip
}

type flip struct {
	name string
	off  int64
	mask byte
}

// NewFaulty wraps fs.
func NewFaulty(fs FS) *Faulty { return &Faulty{fs: fs, budget: -1, block: 1} }

// InBlocks lets files take whole blocks of so many bytes from the budget.
func (f *Faulty) InBlocks(n int64) { f.block = n }

// Greedy has another process take at once what files give up.
func (f *Faulty) Greedy(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.greedy = on
}

// blocks is what a file of that size takes.
func (f *Faulty) blocks(size int64) int64 { return (size + f.block - 1) / f.block * f.block }

// Calls tells how many calls there were.
func (f *Faulty) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Before sets what is asked before every call; an error fails the call with it. Nil asks nobody.
func (f *Faulty) Before(ask func(Call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = ask
}

// FailOnce fails call n, counted from 1 over the life of f.
func (f *Faulty) FailOnce(n int, err error) {
	f.Before(func(c Call) error {
		if c.N == n {
			return err
		}
		return nil
	})
}

// FailFrom fails call n and all after it: with ErrCrashed, the moment of a power cut.
func (f *Faulty) FailFrom(n int, err error) {
	f.Before(func(c Call) error {
		if c.N >= n {
			return err
		}
		return nil
	})
}

// Budget lets files grow by n more bytes, then answers ErrNoSpace; removing and shrinking files gives their bytes back.
// Negative lifts the limit.
func (f *Faulty) Budget(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.budget = n
}

// Left is what is left of the budget; negative: there is no limit.
func (f *Faulty) Left() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.budget
}

// Flip inverts the bits of mask in the byte at off of the file whenever it is read under the name it was opened by.
func (f *Faulty) Flip(name string, off int64, mask byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flips = append(f.flips, flip{path.Clean(name), off, mask})
}

func (f *Faulty) ask(c Call) error {
	f.mu.Lock()
	f.calls++
	c.N = f.calls
	before := f.before
	f.mu.Unlock()
	if before == nil {
		return nil
	}
	if err := before(c); err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	return nil
}

// grow takes n bytes from the budget; n may be negative.
func (f *Faulty) grow(name string, n int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.budget < 0 || n < 0 && f.greedy {
		return nil
	}
	if n > f.budget {
		return fmt.Errorf("%s: %w", name, ErrNoSpace)
	}
	f.budget -= n
	return nil
}

// Create implements FS.
func (f *Faulty) Create(name string) (File, error) { return f.open("create", name, f.fs.Create) }

// Open implements FS.
func (f *Faulty) Open(name string) (File, error) { return f.open("open", name, f.fs.Open) }

func (f *Faulty) open(op, name string, open func(string) (File, error)) (File, error) {
	name = path.Clean(name)
	if err := f.ask(Call{Op: op, Name: name}); err != nil {
		return nil, err
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{fs: f, file: file, name: name}, nil
}

// Remove implements FS.
func (f *Faulty) Remove(name string) error {
	if err := f.ask(Call{Op: "remove", Name: path.Clean(name)}); err != nil {
		return err
	}
	size := int64(0)
	if file, err := f.fs.Open(name); err == nil {
		size, _ = file.Size()
		file.Close()
	}
	if err := f.fs.Remove(name); err != nil {
		return err
	}
	return f.grow(name, -f.blocks(size))
}

// Rename implements FS.
func (f *Faulty) Rename(from, to string) error {
	if err := f.ask(Call{Op: "rename", Name: path.Clean(from) + " " + path.Clean(to)}); err != nil {
		return err
	}
	size := int64(0)
	if file, err := f.fs.Open(to); err == nil {
		size, _ = file.Size()
		file.Close()
	}
	if err := f.fs.Rename(from, to); err != nil {
		return err
	}
	return f.grow(to, -f.blocks(size))
}

// Exchange implements FS.
func (f *Faulty) Exchange(from, to string) error {
	if err := f.ask(Call{Op: "exchange", Name: path.Clean(from) + " " + path.Clean(to)}); err != nil {
		return err
	}
	return f.fs.Exchange(from, to)
}

// List implements FS.
func (f *Faulty) List(dir string) ([]string, error) {
	if err := f.ask(Call{Op: "list", Name: path.Clean(dir)}); err != nil {
		return nil, err
	}
	return f.fs.List(dir)
}

// Mkdir implements FS.
func (f *Faulty) Mkdir(dir string) error {
	if err := f.ask(Call{Op: "mkdir", Name: path.Clean(dir)}); err != nil {
		return err
	}
	return f.fs.Mkdir(dir)
}

// SyncDir implements FS.
func (f *Faulty) SyncDir(dir string) error {
	if err := f.ask(Call{Op: "syncdir", Name: path.Clean(dir)}); err != nil {
		return err
	}
	return f.fs.SyncDir(dir)
}

// Lock implements FS.
func (f *Faulty) Lock(dir string) (io.Closer, error) {
	if err := f.ask(Call{Op: "lock", Name: path.Clean(dir)}); err != nil {
		return nil, err
	}
	return f.fs.Lock(dir)
}

// Free implements FS.
func (f *Faulty) Free() (int64, error) {
	if err := f.ask(Call{Op: "free", Name: "."}); err != nil {
		return 0, err
	}
	f.mu.Lock()
	budget := f.budget
	f.mu.Unlock()
	if budget >= 0 {
		return budget, nil
	}
	return f.fs.Free()
}

type faultyFile struct {
	fs   *Faulty
	file File
	name string
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.ask(Call{Op: "read", Name: f.name, Off: off, Len: int64(len(p))}); err != nil {
		return 0, err
	}
	n, err := f.file.ReadAt(p, off)
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	for _, flip := range f.fs.flips {
		if flip.name == f.name && flip.off >= off && flip.off < off+int64(n) {
			p[flip.off-off] ^= flip.mask
		}
	}
	return n, err
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.ask(Call{Op: "write", Name: f.name, Off: off, Len: int64(len(p))}); err != nil {
		return 0, err
	}
	if err := f.spend(off + int64(len(p))); err != nil {
		return 0, err
	}
	return f.file.WriteAt(p, off)
}

func (f *faultyFile) Preallocate(off, n int64) error { return f.grow(off, n, f.file.Preallocate) }
func (f *faultyFile) Allocate(off, n int64) error    { return f.grow(off, n, f.file.Allocate) }

func (f *faultyFile) grow(off, n int64, by func(off, n int64) error) error {
	if err := f.fs.ask(Call{Op: "preallocate", Name: f.name, Off: off, Len: n}); err != nil {
		return err
	}
	if err := f.spend(off + n); err != nil {
		return err
	}
	return by(off, n)
}

// spend takes from the budget what the file grows by to end at end.
func (f *faultyFile) spend(end int64) error {
	size, err := f.file.Size()
	if err != nil {
		return err
	}
	return f.fs.grow(f.name, max(0, f.fs.blocks(end)-f.fs.blocks(size)))
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.fs.ask(Call{Op: "truncate", Name: f.name, Off: size}); err != nil {
		return err
	}
	old, err := f.file.Size()
	if err != nil {
		return err
	}
	if err := f.fs.grow(f.name, f.fs.blocks(size)-f.fs.blocks(old)); err != nil {
		return err
	}
	return f.file.Truncate(size)
}

func (f *faultyFile) Size() (int64, error) {
	if err := f.fs.ask(Call{Op: "size", Name: f.name}); err != nil {
		return 0, err
	}
	return f.file.Size()
}

func (f *faultyFile) Sync() error {
	if err := f.fs.ask(Call{Op: "sync", Name: f.name}); err != nil {
		if m, ok := f.file.(*memFile); ok {
			m.spoil()
		}
		return err
	}
	return f.file.Sync()
}

func (f *faultyFile) Close() error {
	if err := f.fs.ask(Call{Op: "close", Name: f.name}); err != nil {
		return err
	}
	return f.file.Close()
}
