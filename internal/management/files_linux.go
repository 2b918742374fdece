package management

import (
	"os"
	"syscall"
)

func readFiles() (f files) {
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		f.open = int64(len(open))
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		f.most = int64(min(limit.Cur, 1<<62))
	}
	return f
}

// contextSwitches counts how often the process was interrupted, or waited.
func contextSwitches() int64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return used.Nvcsw + used.Nivcsw
}

// processorSeconds is the time that processors spent on the process.
func processorSeconds() float64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
