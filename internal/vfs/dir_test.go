package vfs

import (
	"testing"
	"time"
)

// TestLockWaitsForAProcessThatEnds says that a broker cannot be started again at once after it was killed: the system
// frees its lock a little later.
func TestLockWaitsForAProcessThatEnds(t *testing.T) {
	t.Parallel()
	fs := Dir(t.TempDir())
	ending, err := fs.Lock("")
	must(t, err)
	time.AfterFunc(lockPatience/10, func() { ending.Close() })
	next, err := fs.Lock("")
	must(t, err)
	must(t, next.Close())
}
