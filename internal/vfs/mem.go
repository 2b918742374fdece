package vfs

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
)

// Mem is a file system in memory. What was written is remembered with what was synced, so that Crash can do what a
// power cut does. Same seed, same calls: same crash. Files are sparse: zeros never written over cost nothing.
type Mem struct {
	mu    sync.Mutex // on all below, and on every inode
	dice  *rand.Rand
	names map[string]*inode // every path, directories included
	dirs  map[string]*memDir
	locks map[string]*memLock
	epoch int // of what is open; a crash begins the next

	newest *inode // written to last
}

// memDir remembers what SyncDir has not yet made durable.
type memDir struct {
	synced  map[string]*inode // base names
	pending []dirChange
}

// dirChange is one create (file set, gone empty), remove (file nil) or rename (both); of an exchange gone gets other.
type dirChange struct {
	name, gone  string
	file, other *inode
}

// NewMem returns an empty file system whose crashes are drawn from seed.
func NewMem(seed uint64) *Mem {
	return &Mem{
		dice:  rand.New(rand.NewPCG(seed, 0x6d656d)),
		dirs:  map[string]*memDir{".": {synced: map[string]*inode{}}},
		names: map[string]*inode{},
		locks: map[string]*memLock{},
	}
}

func (m *Mem) missing(op, name string) error { return fmt.Errorf("%s %s: %w", op, name, ErrNotExist) }

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	d := m.dirs[path.Dir(name)]
	if d == nil {
		return nil, m.missing("create", name)
	}
	if m.names[name] != nil || m.dirs[name] != nil {
		return nil, fmt.Errorf("create %s: %w", name, ErrExist)
	}
	file := newInode()
	m.names[name] = file
	d.pending = append(d.pending, dirChange{name: path.Base(name), file: file})
	return &memFile{fs: m, epoch: m.epoch, name: name, inode: file}, nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	file := m.names[name]
	if file == nil {
		return nil, m.missing("open", name)
	}
	return &memFile{fs: m, epoch: m.epoch, name: name, inode: file}, nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	if m.names[name] == nil {
		return m.missing("remove", name)
	}
	delete(m.names, name)
	d := m.dirs[path.Dir(name)]
	d.pending = append(d.pending, dirChange{gone: path.Base(name)})
	return nil
}

// Rename implements FS. Both names must be in one directory.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to = path.Clean(from), path.Clean(to)
	file := m.names[from]
	if file == nil {
		return m.missing("rename", from)
	}
	if path.Dir(from) != path.Dir(to) {
		return fmt.Errorf("rename %s to %s: not in one directory", from, to)
	}
	delete(m.names, from)
	m.names[to] = file
	d := m.dirs[path.Dir(to)]
	d.pending = append(d.pending, dirChange{name: path.Base(to), gone: path.Base(from), file: file})
	return nil
}

// Exchange implements FS.
func (m *Mem) Exchange(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to = path.Clean(from), path.Clean(to)
	file, other := m.names[from], m.names[to]
	if file == nil || other == nil {
		return m.missing("exchange", from+" "+to)
	}
	if path.Dir(from) != path.Dir(to) {
		return fmt.Errorf("exchange %s and %s: not in one directory", from, to)
	}
	m.names[to], m.names[from] = file, other
	d := m.dirs[path.Dir(to)]
	d.pending = append(d.pending, dirChange{name: path.Base(to), gone: path.Base(from), file: file, other: other})
	return nil
}

// List implements FS.
func (m *Mem) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	if m.dirs[dir] == nil {
		return nil, m.missing("list", dir)
	}
	var names []string
	for name := range m.names {
		if path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	for name := range m.dirs {
		if name != "." && path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Mkdir implements FS.
func (m *Mem) Mkdir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	if strings.HasPrefix(dir, "..") || m.names[dir] != nil {
		return fmt.Errorf("mkdir %s: %w", dir, ErrExist)
	}
	for ; m.dirs[dir] == nil; dir = path.Dir(dir) {
		m.dirs[dir] = &memDir{synced: map[string]*inode{}}
	}
	return nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.dirs[path.Clean(dir)]
	if d == nil {
		return m.missing("sync", dir)
	}
	for _, c := range d.pending {
		c.apply(d.synced)
	}
	d.pending = nil
	return nil
}

func (c dirChange) apply(names map[string]*inode) {
	delete(names, c.gone)
	if c.file != nil {
		names[c.name] = c.file
	}
	if c.other != nil {
		names[c.gone] = c.other
	}
}

// Lock implements FS.
func (m *Mem) Lock(dir string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	if m.dirs[dir] == nil {
		return nil, m.missing("lock", dir)
	}
	if m.locks[dir] != nil {
		return nil, fmt.Errorf("%s: %w", dir, ErrLocked)
	}
	l := &memLock{fs: m, dir: dir}
	m.locks[dir] = l
	return l, nil
}

type memLock struct {
	fs  *Mem
	dir string
}

func (l *memLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.fs.locks[l.dir] == l {
		delete(l.fs.locks, l.dir)
	}
	return nil
}

// Free implements FS. Mem never fills up; see Faulty for a budget.
func (m *Mem) Free() (int64, error) { return 1 << 50, nil }

// Crash is a power cut. Of the changes of each directory since its last SyncDir the first few survive, of the bytes of
// each file since its last Sync some sectors do, in no order. How many is drawn, from none to all. Whatever is open
// answers ErrCrashed from now on; locks are gone.
func (m *Mem) Crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	m.locks = map[string]*memLock{}
	m.names = map[string]*inode{}
	var files []*inode // each once, in the order of names, so that the dice fall alike
	for _, dir := range slices.Sorted(maps.Keys(m.dirs)) {
		d := m.dirs[dir]
		for _, c := range d.pending[:m.dice.IntN(len(d.pending)+1)] {
			c.apply(d.synced)
		}
		d.pending = nil
		for _, base := range slices.Sorted(maps.Keys(d.synced)) {
			file := d.synced[base]
			m.names[path.Join(dir, base)] = file
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	for _, file := range files {
		file.crash(m.dice)
	}
}
