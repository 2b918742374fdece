package queue

import (
	"runtime"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/liveheap"
)

// TestPrioritiesTakeMemory says that a priority with a message takes more memory than PriorityBytes, or much less. Not
// parallel: it measures the heap.
func TestPrioritiesTakeMemory(t *testing.T) {
	const n, priorities = 500, 255
	queues := make([]*Messages, n)
	for i := range queues {
		queues[i] = newQueue(priorities)
	}
	before := liveheap.Bytes()
	for _, m := range queues {
		for p := range priorities {
			m.Push(m.Next(uint8(p+1)), Entry{BodyBytes: 1, Flags: Persistent})
		}
	}
	if took := (liveheap.Bytes() - before) / n / priorities; took > PriorityBytes || took < PriorityBytes/2 {
		t.Errorf("%d bytes, PriorityBytes is %d", took, PriorityBytes)
	}
	runtime.KeepAlive(queues)
}
