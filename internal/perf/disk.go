package perf

import (
	"context"
	"errors"
	"flag"
	"os"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	appendBytes     = 4 << 10 // of one write that is synced
	sequentialBytes = 1 << 20 // of one write that is not
)

// disks are the flags of disk.
var disks = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.StringVar(&o.data, "data", ".", "directory on the disk to measure")
		f.Int64Var(&o.count, "count", 2000, "number of small writes, each followed by fdatasync")
		f.IntVar(&o.size, "size", 512, "total size of large writes in MiB, which bypass the page cache")
	},
	settle: func(o *options, _ map[string]bool) error {
		if o.count < 1 || o.size < 1 {
			return errors.New("-count, -size: at least 1")
		}
		return nil
	},
}

// The figures of disk.
const (
	figureAppendP50    = "4 KiB appended and fdatasync, p50"
	figureAppendP99    = "4 KiB appended and fdatasync, p99"
	figureOverwriteP50 = "4 KiB overwritten and fdatasync, p50"
	figureOverwriteP99 = "4 KiB overwritten and fdatasync, p99"
	figureSequential   = "sequential writes, without page cache"
	figureCached       = "sequential writes, with page cache" // where there is no way past it
)

// disk measures what the disk under a directory can do, over a file of its own that it removes.
func disk(ctx context.Context, o *options) (*Report, error) {
	file, err := os.CreateTemp(o.data, "perf-disk-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	report := &Report{Scenario: o.scenario, Broker: o.data}
	// A growing file needs its file system's own log for each sync; one of which all blocks are written does not.
	for _, figures := range [][2]string{{figureAppendP50, figureAppendP99}, {figureOverwriteP50, figureOverwriteP99}} {
		times, err := syncedWrites(ctx, file, o.count)
		if err != nil {
			return nil, err
		}
		report.add(figures[0], milliseconds(times.ValueAtQuantile(50)), "ms")
		report.add(figures[1], milliseconds(times.ValueAtQuantile(99)), "ms")
	}
	name := figureSequential
	rate, err := writeInARow(ctx, file.Name(), directFlag, o.size)
	if errors.Is(err, errNoDirect) {
		name = figureCached
		rate, err = writeInARow(ctx, file.Name(), 0, o.size)
	}
	if err != nil {
		return nil, err
	}
	report.add(name, rate, "MiB/s")
	return report, nil
}

// syncedWrites writes n times to a file, from its beginning on, and makes each write safe.
func syncedWrites(ctx context.Context, file *os.File, n int64) (*hdrhistogram.Histogram, error) {
	times, block := newHistogram(), make([]byte, appendBytes)
	for i := range n {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		began := now()
		block[0]++
		if _, err := file.WriteAt(block, i*appendBytes); err != nil {
			return nil, err
		}
		if err := datasync(file); err != nil {
			return nil, err
		}
		record(times, now()-began)
	}
	return times, nil
}

// errNoDirect says that the file system knows no way past the page cache.
var errNoDirect = errors.New("the file system does not support writes without the page cache")

// writeInARow writes so many MiB over what is in the file and beyond, makes them safe, and returns MiB a second.
func writeInARow(ctx context.Context, name string, flag, size int) (float64, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|flag, 0)
	if err != nil && flag != 0 {
		return 0, errNoDirect
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	block, err := pages(sequentialBytes)
	if err != nil {
		return 0, err
	}
	began := now()
	for range size {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if _, err := file.Write(block); err != nil {
			return 0, err
		}
	}
	if err := datasync(file); err != nil {
		return 0, err
	}
	return float64(size) / (float64(now()-began) / 1e9), nil
}
