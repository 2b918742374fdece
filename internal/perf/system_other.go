//go:build !linux

package perf

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// ownCPU is not known.
func ownCPU() time.Duration { return 0 }

// sharpen cannot.
func sharpen() {}

func pause(d time.Duration) { time.Sleep(d) }

func allocated(info fs.FileInfo) int64 { return info.Size() }

// directFlag is not known.
const directFlag = 0

func datasync(f *os.File) error { return f.Sync() }

// forget cannot.
func forget(*os.File) error { return errors.ErrUnsupported }

func pages(size int) ([]byte, error) { return make([]byte, size), nil }
