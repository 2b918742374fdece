package resource

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// heapAim is how large the heap may grow before garbage is collected, in bytes, as long as much less of it is live:
	// resident memory is what users count, and a small heap that is collected all the time costs a fifth of the
	// processors at full speed.
	heapAim = 88 << 20
	// growLeast and growMost bound by how much the heap may grow between two collections, in percent of what is live.
	growLeast, growMost = 60, 500
	// markerBytes is more than the size of what shares its memory with others, and would live as long as they.
	markerBytes = 64
)

// paceCollector has garbage collected by heapAim, from now on: the pace is set anew at the end of each collection.
func paceCollector() {
	var arm func()
	arm = func() {
		marker := make([]byte, markerBytes)
		runtime.SetFinalizer(&marker[0], func(*byte) {
			debug.SetGCPercent(growth(liveHeap()))
			arm()
		})
	}
	debug.SetGCPercent(growth(liveHeap()))
	arm()
}

// growth is by how many percent of so many live bytes the heap may grow.
func growth(live int64) int {
	if live <= 0 {
		return growMost
	}
	return int(min(max((heapAim-live)*100/live, growLeast), growMost))
}

// liveHeap is how many bytes the last collection has found in use.
func liveHeap() int64 { return metric("/gc/heap/live:bytes") }

// allocated is how many bytes of the heap were ever taken.
func allocated() int64 { return metric("/gc/heap/allocs:bytes") }

// metric is one of Go's, 0 if there is none of that name.
func metric(name string) int64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(s[0].Value.Uint64())
}
