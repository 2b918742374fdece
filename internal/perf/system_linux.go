package perf

import (
	"syscall"
	"time"
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
