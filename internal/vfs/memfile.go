package vfs

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// inode is the content of a file: as it reads now, and how to get back to what was synced.
type inode struct {
	size   int64
	pages  map[int64]*page // by number; missing: zeros
	before map[int64]*page // pages changed since the last sync, as they were; nil: zeros
	synced int64           // size at the last sync
	writes []memWrite      // since the last sync, in order
	harm   *Harm           // nil: it reads as it was written
	newest int64           // where it was written to last
}

type page [BlockBytes]byte

// memWrite is one write; p nil means n zeros.
type memWrite struct {
	off, n int64
	p      []byte
}

func newInode() *inode {
	return &inode{pages: map[int64]*page{}, before: map[int64]*page{}}
}

func (f *inode) write(w memWrite) {
	f.apply(w)
	f.writes = append(f.writes, w)
}

// apply changes pages; a page changed for the first time since the last sync is copied, its old self kept.
func (f *inode) apply(w memWrite) {
	f.harm.overwrite(w.off, w.n)
	f.size = max(f.size, w.off+w.n)
	for done := int64(0); done < w.n; {
		number, at := (w.off+done)/BlockBytes, (w.off+done)%BlockBytes
		n := min(BlockBytes-at, w.n-done)
		old := f.pages[number]
		if w.p == nil && old == nil {
			done += n
			continue
		}
		if _, changed := f.before[number]; !changed {
			f.before[number] = old
			old = clone(old)
			f.pages[number] = old
		} else if old == nil {
			old = new(page)
			f.pages[number] = old
		}
		if w.p == nil {
			clear(old[at : at+n])
		} else {
			copy(old[at:at+n], w.p[done:])
		}
		done += n
	}
}

func clone(p *page) *page {
	c := new(page)
	if p != nil {
		*c = *p
	}
	return c
}

func (f *inode) sync() {
	clear(f.before)
	f.writes = nil
	f.synced = f.size
}

// truncate is durable at once: a simplification that no caller may rely on.
func (f *inode) truncate(size int64) {
	f.harm.overwrite(min(size, f.size), max(size, f.size))
	for number := range f.pages {
		if number*BlockBytes >= size {
			delete(f.pages, number)
		}
	}
	if p := f.pages[size/BlockBytes]; p != nil && size%BlockBytes != 0 {
		p = clone(p)
		clear(p[size%BlockBytes:])
		f.pages[size/BlockBytes] = p
	}
	f.size = size
	f.sync()
}

// crash goes back to what was synced, and lets some sectors of later writes survive.
func (f *inode) crash(dice *rand.Rand) {
	for number, old := range f.before {
		if old == nil {
			delete(f.pages, number)
		} else {
			f.pages[number] = old
		}
	}
	clear(f.before)
	writes, grown := f.writes, f.size
	f.size = f.synced
	// Of four disks one loses everything, one nothing, and two some of it: the middle alone would seldom try the ends.
	share := [...]float64{0, 1, 0.5, dice.Float64()}[dice.IntN(4)]
	for _, w := range writes {
		for off := w.off; off < w.off+w.n; {
			n := min(SectorBytes-off%SectorBytes, w.off+w.n-off)
			if dice.Float64() < share {
				s := memWrite{off: off, n: n}
				if w.p != nil {
					s.p = w.p[off-w.off:][:n]
				}
				f.apply(s)
			}
			off += n
		}
	}
	if dice.Float64() < share {
		f.size = max(f.size, grown)
	}
	f.sync()
}

// memFile is a handle; it dies with the epoch in which it was opened.
type memFile struct {
	fs     *Mem
	epoch  int
	name   string
	inode  *inode
	closed bool
}

func (f *memFile) usable(op string) error {
	switch {
	case f.epoch != f.fs.epoch:
		return fmt.Errorf("%s %s: %w", op, f.name, ErrCrashed)
	case f.closed:
		return fmt.Errorf("%s %s: file is closed", op, f.name)
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("read"); err != nil {
		return 0, err
	}
	n := int64(0)
	for end := min(f.inode.size-off, int64(len(p))); n < end; {
		number, at := (off+n)/BlockBytes, (off+n)%BlockBytes
		k := min(BlockBytes-at, end-n)
		if pg := f.inode.pages[number]; pg != nil {
			copy(p[n:n+k], pg[at:])
		} else {
			clear(p[n : n+k])
		}
		n += k
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	w := memWrite{off: off, n: int64(len(p)), p: append([]byte{}, p...)}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("write"); err != nil {
		return 0, err
	}
	f.inode.write(w)
	f.fs.newest, f.inode.newest = f.inode, off
	return len(p), nil
}

func (f *memFile) Preallocate(off, n int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("preallocate"); err != nil {
		return err
	}
	f.inode.write(memWrite{off: off, n: n})
	return nil
}

func (f *memFile) Allocate(off, n int64) error { return f.Preallocate(off, n) }

func (f *memFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("truncate"); err != nil {
		return err
	}
	f.inode.truncate(size)
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.inode.size, f.usable("size")
}

func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("sync"); err != nil {
		return err
	}
	f.inode.sync()
	return nil
}

// spoil is what a failed sync does: the system forgets that some of the pages were never written.
func (f *memFile) spoil() {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.inode.crash(f.fs.dice)
}

func (f *memFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.epoch != f.fs.epoch {
		return nil
	}
	err := f.usable("close")
	f.closed = true
	return err
}
