package stats

import (
	"os"
	"syscall"
)

func ReadFiles() (f files) {
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		f.Open = int64(len(open))
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		f.Most = int64(min(limit.Cur, 1<<62))
	}
	return f
}

// ContextSwitches counts how often the process was interrupted, or waited.
func ContextSwitches() int64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return used.Nvcsw + used.Nivcsw
}

// ProcessorSeconds is the time that processors spent on the process.
func ProcessorSeconds() float64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
