package journal

import (
	"errors"
	"io"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// lenientFS is a file system for repair. Instead of read errors it returns an empty file for a missing segment, and
// zeros for a sector that cannot be read: the reader finds that checksums are wrong.
type lenientFS struct {
	vfs.FS
	missing map[string]bool
	failed  map[string]error // the first failure to read, by name
	damaged map[string]bool  // files of the journal, by Verify; without their directory
	made    []string         // files of the journal that Mend has made
}

func newLenientFS(fs vfs.FS) *lenientFS {
	return &lenientFS{FS: fs, missing: map[string]bool{}, failed: map[string]error{}}
}

// Open implements vfs.FS.
func (p *lenientFS) Open(name string) (vfs.File, error) {
	f, err := p.FS.Open(name)
	if errors.Is(err, vfs.ErrNotExist) && strings.HasSuffix(name, ".segment") {
		p.missing[name] = true
		return noFile{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &lenientFile{File: f, name: name, of: p}, nil
}

type lenientFile struct {
	vfs.File
	name string
	of   *lenientFS
}

// ReadAt implements vfs.File.
func (f *lenientFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if err == nil || err == io.EOF {
		return n, err
	}
	if f.of.failed[f.name] == nil {
		f.of.failed[f.name] = err
	}
	clear(p)
	for n = 0; n < len(p); {
		k := min(len(p)-n, segment.SectorBytes-int((off+int64(n))%segment.SectorBytes))
		got, err := f.File.ReadAt(p[n:n+k], off+int64(n))
		if err == io.EOF {
			return n + got, err
		}
		if err != nil {
			clear(p[n : n+k])
		}
		n += k
	}
	return n, nil
}

// noFile is a file that is not there.
type noFile struct{ vfs.File }

// ReadAt implements vfs.File.
func (noFile) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

// Size implements vfs.File.
func (noFile) Size() (int64, error) { return 0, nil }

// Sync implements vfs.File.
func (noFile) Sync() error { return nil }

// Close implements vfs.File.
func (noFile) Close() error { return nil }
