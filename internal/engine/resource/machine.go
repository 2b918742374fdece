package resource

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// A Machine is what the process runs on. Its methods may be called by any goroutine.
type Machine interface {
	// Read reports the usage now.
	Read() Usage
	// GiveBack returns memory that the process has and does not need. It may take a while.
	GiveBack()
	// Aim sets how many bytes of memory the process should try to stay within.
	Aim(bytes int64)
}

// Usage is what the process takes of its machine and what is left, in bytes.
type Usage struct {
	MemoryUsed int64 // resident; 0 is not known
	MemoryMax  int64 // what machine and control groups allow; 0 is not known
	MemoryLive int64 // what the last collection of garbage has found in use; 0 is not known
	Allocated  int64 // what was ever made of memory that is collected; 0 is not known
	DiskFree   int64 // for new files where the data is; negative is not known
	DiskSize   int64 // of the file system where the data is; 0 is not known
}

// SystemMachine is the machine that this process runs on, with its data in a directory, "" for none. If the process is
// the broker's alone, Aim is Go's memory limit, unless that was set by GOMEMLIMIT, and garbage is collected so that a
// broker with little to do stays small, unless GOGC is set; else it does nothing.
func SystemMachine(data string, alone bool) Machine {
	if _, set := os.LookupEnv("GOGC"); alone && !set {
		paceCollector()
	}
	return systemMachine{data, alone && debug.SetMemoryLimit(-1) == math.MaxInt64}
}

type systemMachine struct {
	data string
	aims bool
}

// Read implements Machine.
func (m systemMachine) Read() Usage {
	u := Usage{MemoryUsed: residentBytes(), MemoryMax: memoryMax(), MemoryLive: liveHeap(), Allocated: allocated(), DiskFree: -1}
	if u.MemoryUsed == 0 {
		u.MemoryUsed = runtimeBytes()
	}
	if m.data != "" {
		u.DiskFree, u.DiskSize = diskBytes(m.data)
	}
	return u
}

// GiveBack implements Machine.
func (systemMachine) GiveBack() { debug.FreeOSMemory() }

// Aim implements Machine.
func (m systemMachine) Aim(bytes int64) {
	if m.aims {
		debug.SetMemoryLimit(bytes)
	}
}

// runtimeBytes is the memory that the Go runtime has taken and not returned.
func runtimeBytes() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	for i := range s {
		if s[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
	}
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
