package bartleby

import (
	"math"
	"syscall"
)

// filesMax is how many file descriptors the process may have.
func filesMax() int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return filesUnknown
	}
	return int(min(files.Cur, math.MaxInt32))
}
