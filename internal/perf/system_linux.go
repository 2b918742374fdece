package perf

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownCPU returns the CPU time of this process, user and system.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// prctlSetTimerSlack is PR_SET_TIMERSLACK.
const prctlSetTimerSlack = 29

// sharpen makes sleeps of the calling thread end within microseconds of their time, instead of 50 of them after it.
// Where that is refused they stay as they are, and the pacing's lateness shows it.
func sharpen() { syscall.RawSyscall(syscall.SYS_PRCTL, prctlSetTimerSlack, 1, 0) }

// pause sleeps in the calling thread: the runtime's own timers are rounded up to a millisecond when all is idle.
func pause(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // cut short by a signal, it is called again
}

// allocated returns how many octets of its disk a file takes.
func allocated(info fs.FileInfo) int64 {
	const blockBytes = 512 // the unit of st_blocks, whatever the file system's
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * blockBytes
	}
	return info.Size()
}

// directFlag makes writes to a file go past the page cache.
const directFlag = unix.O_DIRECT

// datasync makes what was written to f safe.
func datasync(f *os.File) error {
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		return os.NewSyscallError("fdatasync", err)
	}
	return nil
}

// forget makes the kernel drop what it keeps of a file in memory and has written.
func forget(f *os.File) error {
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return os.NewSyscallError("fadvise", err)
	}
	return nil
}

// pages returns zeroed memory that begins at a page, as direct writes need, and is never given back.
func pages(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	return b, os.NewSyscallError("mmap", err)
}
