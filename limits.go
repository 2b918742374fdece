package bartleby

import (
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
)

// A Threshold of memory or disk is a number of bytes, or a share of the memory that the machine and its control groups
// allow.
type Threshold = resource.Threshold

// A Budget bounds the memory that clients make the node hold; zero means a share of the memory watermark.
type Budget = engine.Budget

// Absolute is the threshold of so many bytes, at least 0.
func Absolute(bytes int64) *Threshold {
	t := resource.Absolute(bytes)
	return &t
}

// Relative is the threshold of such a share of the memory: from 0 to 1, of the disk's free space also more.
func Relative(share float64) *Threshold {
	t := resource.Relative(share)
	return &t
}

// ParseBytes reads a number of bytes as RabbitMQ writes it: 50000000, 50MB (10^6), 50M or 50MiB (2^20); units up to P.
func ParseBytes(text string) (int64, error) { return resource.ParseBytes(text) }

// CheckLimits reports what a Broker would refuse of MemoryHighWatermark and DiskFreeLimit.
func (c *Config) CheckLimits() error { return c.limits().Validate() }

// limits are those of the configuration, or else the default ones.
func (c *Config) limits() *resource.Limits {
	l := resource.DefaultLimits()
	if c.MemoryHighWatermark != nil {
		l.MemoryHighWatermark = *c.MemoryHighWatermark
	}
	if c.DiskFreeLimit != nil {
		l.DiskFree = *c.DiskFreeLimit
	}
	return &l
}

// indexShare: the dead-letter index takes one part in so many of a disk, at the most, where nobody says
// otherwise.
const indexShare = 16
