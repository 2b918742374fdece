//go:build linux

package crashtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ext4Disk makes a file system of so many bytes in a sparse file and mounts it. It takes the right to mount.
func ext4Disk(t testing.TB, bytes int64) string {
	t.Helper()
	dir := t.TempDir()
	image, at := filepath.Join(dir, "image"), filepath.Join(dir, "disk")
	must(t, os.Mkdir(at, 0o755))
	f, err := os.Create(image)
	must(t, err)
	must(t, f.Truncate(bytes))
	must(t, f.Close())
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, at}} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) || err != nil && command[0] == "mount" {
			t.Skipf("a file system of its own takes mkfs.ext4 and the right to mount; run as root: %v\n%s", err, out)
		}
		if err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return at
}

// A stranger is another process that takes and gives back space on the broker's disk.
type stranger struct {
	path string
	disk string
}

// newStranger has nothing yet.
func newStranger(disk string) *stranger {
	return &stranger{path: filepath.Join(disk, "stranger"), disk: disk}
}

// space is how many bytes are free for everybody.
func (s *stranger) room() int64 {
	var st unix.Statfs_t
	if unix.Statfs(s.disk, &st) != nil {
		return 0
	}
	return int64(st.Bavail) * st.Bsize
}

// has is how many bytes the stranger holds.
func (s *stranger) has() int64 {
	var st unix.Stat_t
	if unix.Stat(s.path, &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// fill takes the space there is, but for about so many bytes; what only root may take, too, if that is zero.
func (s *stranger) fill(leave int64) error {
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return ignoreFull(err)
	}
	defer f.Close()
	end, err := f.Seek(0, 2)
	if err != nil {
		return err
	}
	for piece := int64(64 << 20); piece >= 4<<10; {
		if n := s.room() - leave; leave > 0 {
			if n < 4<<10 {
				return nil
			}
			piece = min(piece, n)
		}
		switch err := unix.Fallocate(int(f.Fd()), 0, end, piece); {
		case errors.Is(err, syscall.ENOSPC):
			var st unix.Stat_t
			if err := unix.Fstat(int(f.Fd()), &st); err != nil {
				return err
			}
			end = st.Size // some of it may have been taken
			piece /= 2
		case err != nil:
			return fmt.Errorf("fill: %w", err)
		default:
			end += piece
		}
	}
	return nil
}

// free gives all back.
func (s *stranger) free() error {
	if err := os.Remove(s.path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func ignoreFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	return err
}
