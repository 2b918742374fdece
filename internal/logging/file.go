package logging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// file is a log file that is put aside when it has grown: name, name.0, name.1, … the oldest last.
// Source: RabbitMQ logging, rotation by size.
type file struct {
	name     string
	max      int64 // 0: none
	kept     int
	mu       sync.Mutex
	to       *os.File
	size     int64
	finished bool

	now     func() time.Time
	checked time.Time // when it was last seen that name is still the file
}

// checkedEvery is how long lines may go into a file that something else has moved away. Source: RabbitMQ logging.
const checkedEvery = 2 * time.Second

func openFile(name string, max int64, kept int) (*file, error) {
	f := &file{name: name, max: max, kept: kept, now: time.Now}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return f, f.open()
}

func (f *file) open() error {
	to, err := os.OpenFile(f.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	f.size = 0
	if info, err := to.Stat(); err == nil {
		f.size = info.Size()
	}
	if f.to != nil {
		f.to.Close()
	}
	f.to, f.checked = to, f.now()
	return nil
}

// follow opens the file anew if what has its name is another one by now, or nothing has.
func (f *file) follow() {
	if now := f.now(); now.Sub(f.checked) >= checkedEvery || now.Before(f.checked) {
		f.checked = now
		ours, err := f.to.Stat()
		if there, missing := os.Stat(f.name); err != nil || missing == nil && os.SameFile(ours, there) {
			return
		}
		_ = f.open() // else lines go where they went
	}
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.finished {
		return 0, fs.ErrClosed
	}
	f.follow()
	if f.max > 0 && f.size > 0 && f.size+int64(len(p)) > f.max {
		_ = f.aside() // the file grows on if it cannot be moved
	}
	n, err := f.to.Write(p)
	f.size += int64(n)
	return n, err
}

func (f *file) reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open()
}

// rotate puts the file aside, or, if it is something else that rotates it, opens it anew.
func (f *file) rotate() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == 0 {
		return f.open()
	}
	return f.aside()
}

// aside renames the file, and those put aside before it.
func (f *file) aside() error {
	if f.kept == 0 {
		if err := f.to.Truncate(0); err != nil {
			return err
		}
		f.size = 0
		return nil
	}
	for i := f.kept - 1; i > 0; i-- {
		err := os.Rename(f.old(i-1), f.old(i))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(f.name, f.old(0)); err != nil {
		return err
	}
	return f.open()
}

func (f *file) old(i int) string { return fmt.Sprintf("%s.%d", f.name, i) }

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished = true
	return f.to.Close()
}
