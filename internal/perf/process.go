package perf

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ticksPerSecond is the unit of CPU times in /proc, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// usage is what a process has used so far. The zero usage is that of a process nobody named.
type usage struct {
	known    bool
	cpu      time.Duration // user and system
	peak     int64         // octets, the highest resident size
	resident int64         // octets
	written  int64         // octets that it caused to be sent to a disk
	read     int64         // octets that it caused to be fetched from one
}

// process is the broker's, to look at; 0 is none.
type process int

// forgetPeak makes the peak that of the run about to begin. Where it is not allowed, the peak stays that of the
// process's life.
func (p process) forgetPeak() {
	if p != 0 {
		_ = os.WriteFile(p.file("clear_refs"), []byte("5"), 0)
	}
}

// usage reads what the process has used.
func (p process) usage() (usage, error) {
	if p == 0 {
		return usage{}, nil
	}
	stat, err := os.ReadFile(p.file("stat"))
	if err != nil {
		return usage{}, fmt.Errorf("the broker's process: %w", err)
	}
	status, err := os.ReadFile(p.file("status"))
	if err != nil {
		return usage{}, fmt.Errorf("the broker's process: %w", err)
	}
	u := usage{known: true, peak: statusSize(status, "VmHWM:"), resident: statusSize(status, "VmRSS:")}
	// Only the process's owner may see the next; without it nothing is reported as written.
	if io, err := os.ReadFile(p.file("io")); err == nil {
		u.written, u.read = field(io, "\nwrite_bytes:"), field(io, "\nread_bytes:")
	}
	u.cpu, err = statCPU(stat)
	return u, err
}

func (p process) file(name string) string { return fmt.Sprintf("/proc/%d/%s", int(p), name) }

// statCPU returns user and system time of all threads, living and ended, from /proc/PID/stat.
func statCPU(stat []byte) (time.Duration, error) {
	// The second field is the command in parentheses and may hold anything; the third follows the last of them.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("the broker's process: stat of %d fields", len(fields)+2)
	}
	var ticks int64
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the broker's process: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// statusSize returns the octets of a field of /proc/PID/status given in kB, 0 if it is not there.
func statusSize(status []byte, name string) int64 { return field(status, name) << 10 }

// field returns the number behind a name in a file of /proc, 0 if it is not there.
func field(file []byte, name string) int64 {
	_, rest, _ := bytes.Cut(file, []byte(name))
	words := bytes.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(words[0]), 10, 64)
	return n
}
