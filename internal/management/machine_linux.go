package management

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// readMachine asks the kernel; data is the data directory, empty for none.
func readMachine(data string) machine {
	var m machine
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		m.filesOpen = int64(len(open))
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		m.filesMax = int64(min(files.Cur, 1<<62))
	}
	m.memoryUsed = residentBytes()
	var all syscall.Sysinfo_t
	if syscall.Sysinfo(&all) == nil {
		m.memoryMax = int64(uint64(all.Totalram) * uint64(all.Unit))
	}
	var disk syscall.Statfs_t
	if data != "" && syscall.Statfs(data, &disk) == nil {
		m.diskFree = int64(disk.Bavail) * int64(disk.Bsize)
	}
	return m
}

// residentBytes is the memory that the process has, or what the Go runtime took of it if that is not told.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if fields := bytes.Fields(text); err == nil && len(fields) > 1 {
		if pages, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
