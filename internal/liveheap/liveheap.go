// Package liveheap measures, for tests, how much memory something takes.
package liveheap

import "runtime"

// Bytes is how much of the heap is live. A test that calls it must not run beside others.
func Bytes() int {
	runtime.GC()
	runtime.GC() // the first one only notes what may be freed of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
