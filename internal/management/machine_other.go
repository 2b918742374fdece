//go:build !linux

package management

import "runtime"

// readMachine knows what the Go runtime tells.
func readMachine(string) machine {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return machine{memoryUsed: int64(m.Sys)}
}
