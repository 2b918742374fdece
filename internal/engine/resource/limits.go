package resource

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Limits say how much memory may be used and how much of the disk has to stay free.
type Limits struct {
	MemoryHighWatermark Threshold // Source: RabbitMQ vm_memory_high_watermark
	DiskFree            Threshold // Source: RabbitMQ disk_free_limit
}

// DefaultLimits are six tenths of the memory, and 50 MB. Source: RabbitMQ 4 configure.
func DefaultLimits() Limits { return Limits{Relative(0.6), Absolute(50_000_000)} }

// Validate refuses what cannot be meant: a watermark that is not a share from 0 to 1, or a number below 0.
func (l Limits) Validate() error {
	if m := l.MemoryHighWatermark; m.Relative && !(m.Share >= 0 && m.Share <= 1) {
		return fmt.Errorf("vm_memory_high_watermark must be a fraction between 0.0 and 1.0, not %v", m.Share)
	} else if m.Bytes < 0 {
		return fmt.Errorf("vm_memory_high_watermark must not be below 0, as %d is", m.Bytes)
	}
	if d := l.DiskFree; d.Relative && !(d.Share >= 0 && d.Share <= shareMax) {
		return fmt.Errorf("disk_free_limit must be a multiple of the memory from 0 to %d, not %v", shareMax, d.Share)
	} else if d.Bytes < 0 {
		return fmt.Errorf("disk_free_limit must not be below 0, as %d is", d.Bytes)
	}
	return nil
}

// bytes are the limits on a machine with that much memory; 0 of it is not known.
func (l Limits) bytes(memory int64) (memoryLimit, diskLimit int64) {
	memoryLimit, diskLimit = l.MemoryHighWatermark.of(memory), l.DiskFree.of(memory)
	if memory > 0 {
		memoryLimit = min(memoryLimit, memory) // a watermark that is never reached would protect nobody
	}
	return memoryLimit, diskLimit
}

// A Threshold is a number of bytes, or relative, a share of the memory that there is.
type Threshold struct {
	Relative bool
	Share    float64 // if Relative
	Bytes    int64   // if not
}

// shareMax and bytesMax bound thresholds, so that reckoning with them does not overflow.
const (
	shareMax = 1 << 10
	bytesMax = 1 << 60
)

// Absolute is the threshold of so many bytes.
func Absolute(bytes int64) Threshold { return Threshold{Bytes: bytes} }

// Relative is the threshold of such a share of the memory.
func Relative(share float64) Threshold { return Threshold{Relative: true, Share: share} }

// String implements fmt.Stringer.
func (t Threshold) String() string {
	if t.Relative {
		return strconv.FormatFloat(t.Share, 'g', -1, 64) + " of the memory"
	}
	return strconv.FormatInt(t.Bytes, 10) + " bytes"
}

// of is the threshold in bytes; unlimited for a share of nobody knows what.
func (t Threshold) of(memory int64) int64 {
	switch {
	case !t.Relative:
		return min(t.Bytes, bytesMax)
	case memory <= 0:
		return unlimited
	}
	return int64(math.Min(t.Share*float64(memory), bytesMax))
}

// amount is what ParseBytes reads. Source: RabbitMQ memory#absolute-limits.
var amount = regexp.MustCompile(`^([0-9]{1,18})([kKmMgGtTpP]?)([iI]?[bB])?$`)

// ParseBytes reads a number of bytes as RabbitMQ writes it: with k, M, G, T, P or kiB, MiB, … for powers of 1024, and
// kB, MB, … for powers of 1000.
func ParseBytes(text string) (int64, error) {
	found := amount.FindStringSubmatch(strings.TrimSpace(text))
	if found == nil || found[2] == "" && found[3] != "" {
		return 0, fmt.Errorf("%q is not a number of bytes such as 50000000, 50MB or 2GiB", text)
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil {
		return 0, err
	}
	unit := int64(1024)
	if len(found[3]) == 1 {
		unit = 1000
	}
	for range strings.Index("-kmgtp", strings.ToLower(found[2])) { // none without a unit
		if n > bytesMax/unit {
			return 0, fmt.Errorf("%q is too large", text)
		}
		n *= unit
	}
	return n, nil
}
