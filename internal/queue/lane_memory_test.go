package queue

import (
	"runtime"
	"testing"
)

// TestPrioritiesTakeMemory says that a priority takes more memory than PriorityBytes. Not parallel: it measures the
// heap.
func TestPrioritiesTakeMemory(t *testing.T) {
	live := func() int {
		runtime.GC()
		runtime.GC() // the first one only notes what may be freed of pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	const n, priorities = 500, 255
	queues := make([]*Messages, n)
	for i := range queues {
		queues[i] = &Messages{priorityMax: priorities}
	}
	before := live()
	for _, m := range queues {
		m.lane(m.Next(priorities))
	}
	if took := (live() - before) / n / priorities; took > PriorityBytes || took < PriorityBytes/2 {
		t.Errorf("%d bytes", took)
	}
	runtime.KeepAlive(queues)
}
