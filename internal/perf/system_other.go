//go:build !linux

package perf

import "time"

// ownCPU is not known.
func ownCPU() time.Duration { return 0 }

// sharpen cannot.
func sharpen() {}

func pause(d time.Duration) { time.Sleep(d) }
