package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby"
)

// limitFlags defines the limits of memory and disk by RabbitMQ's names. Of an absolute and a relative one the absolute
// counts. Source: RabbitMQ configure, vm_memory_high_watermark and disk_free_limit.
func limitFlags(flags *flag.FlagSet, c *bartleby.Config) {
	thresholdFlags(flags, "vm_memory_high_watermark", &c.MemoryHighWatermark,
		"publishers wait while the process has more than this `share` of the memory; default 0.6", "the same as a number of `bytes`, such as 2GiB")
	thresholdFlags(flags, "disk_free_limit", &c.DiskFreeLimit,
		"publishers wait while less of the disk is free than this `multiple` of the memory", "the same as a number of `bytes`; default 50MB")
}

// bytesFlag defines a number of bytes, as RabbitMQ writes it, or -1.
func bytesFlag(flags *flag.FlagSet, n *int64, name, usage string) {
	flags.Func(name, usage, func(text string) (err error) {
		if text == "-1" {
			*n = -1
			return nil
		}
		*n, err = bartleby.ParseBytes(text)
		return err
	})
}

// intervalFlag defines a time that is not zero.
func intervalFlag(flags *flag.FlagSet, d *time.Duration, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		given, err := time.ParseDuration(text)
		if err != nil || given <= 0 {
			return fmt.Errorf("%q is not a time such as 50ms or 1s", text)
		}
		*d = given
		return nil
	})
}

const absolute, relative = ".absolute", ".relative"

func thresholdFlags(flags *flag.FlagSet, name string, t **bartleby.Threshold, relativeUsage, absoluteUsage string) {
	flags.Func(name+relative, relativeUsage, func(text string) error {
		share, err := strconv.ParseFloat(text, 64)
		if err == nil && (*t == nil || (*t).Relative) {
			*t = bartleby.Relative(share)
		}
		return err
	})
	flags.Func(name+absolute, absoluteUsage, func(text string) error {
		n, err := bartleby.ParseBytes(text)
		if err == nil {
			*t = bartleby.Absolute(n)
		}
		return err
	})
}

// setting is what a key sets: one of two forms is enough to have set it.
func setting(key string) string {
	return strings.TrimSuffix(strings.TrimSuffix(key, absolute), relative)
}
