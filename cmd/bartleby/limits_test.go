package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby"
)

func TestLimitFlags(t *testing.T) {
	// If this fails, a limit is set to something else than was asked for, by flag or by file.
	t.Parallel()
	for name, c := range map[string]struct {
		args         []string
		file         string
		memory, disk *bartleby.Threshold
	}{
		"none":     {},
		"relative": {[]string{"--vm_memory_high_watermark.relative=0.4", "--disk_free_limit.relative=1.5"}, "", bartleby.Relative(0.4), bartleby.Relative(1.5)},
		"absolute": {[]string{"--vm_memory_high_watermark.absolute=2GiB", "--disk_free_limit.absolute", "1GB"}, "", bartleby.Absolute(2 << 30), bartleby.Absolute(1e9)},
		"absolute wins": {[]string{"--vm_memory_high_watermark.absolute=1M", "--vm_memory_high_watermark.relative=0.4"}, "",
			bartleby.Absolute(1 << 20), nil},
		"file": {nil, "vm_memory_high_watermark.relative = 0.7\ndisk_free_limit.absolute = 2GB # or more\n", bartleby.Relative(0.7), bartleby.Absolute(2e9)},
		"file, overridden": {[]string{"--vm_memory_high_watermark.relative=0.4"}, "vm_memory_high_watermark.absolute = 1GB\n",
			bartleby.Relative(0.4), nil},
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		var got bartleby.Config
		limitFlags(flags, &got)
		if err := flags.Parse(c.args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		path := filepath.Join(t.TempDir(), "conf")
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := readConfig(path, flags); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !same(got.MemoryHighWatermark, c.memory) || !same(got.DiskFreeLimit, c.disk) {
			t.Errorf("%s: %v and %v, want %v and %v", name, got.MemoryHighWatermark, got.DiskFreeLimit, c.memory, c.disk)
		}
	}
	for _, arg := range []string{"--vm_memory_high_watermark.relative=much", "--vm_memory_high_watermark.absolute=0.4", "--disk_free_limit.absolute=1XB"} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		limitFlags(flags, &bartleby.Config{})
		if flags.Parse([]string{arg}) == nil {
			t.Errorf("%s is accepted", arg)
		}
	}
}

func TestSizeFlags(t *testing.T) {
	// If this fails, a size or a time of the log is set to something else than was asked for, by flag or by file, or what is
	// wrong with it is not told.
	t.Parallel()
	parse := func(name, text string, file bool) (n int64, d time.Duration, err error) {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		bytesFlag(flags, &n, "reserve", "")
		intervalFlag(flags, &d, "sync-interval", "")
		if !file {
			return n, d, flags.Parse([]string{"--" + name, text})
		}
		path := filepath.Join(t.TempDir(), "conf")
		if err := os.WriteFile(path, []byte(name+" = "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return n, d, readConfig(path, flags)
	}
	for _, file := range []bool{false, true} {
		for text, want := range map[string]int64{"0": 0, "65536": 65536, "256MiB": 256 << 20, "64MB": 64e6, "1G": 1 << 30, "-1": -1} {
			if n, _, err := parse("reserve", text, file); err != nil || n != want {
				t.Errorf("%s: %d, %v", text, n, err)
			}
		}
		if _, d, err := parse("sync-interval", "50ms", file); err != nil || d != 50*time.Millisecond {
			t.Errorf("%v, %v", d, err)
		}
		for _, c := range [][3]string{
			{"reserve", "much", "such as 50000000, 50MB or 2GiB"}, {"reserve", "-2", "such as 50000000, 50MB or 2GiB"},
			{"sync-interval", "200", "such as 50ms or 1s"}, {"sync-interval", "0s", "such as 50ms or 1s"}, {"sync-interval", "-1s", "such as 50ms or 1s"},
		} {
			if _, _, err := parse(c[0], c[1], file); err == nil || !strings.Contains(err.Error(), c[2]) {
				t.Errorf("%s %s: %v", c[0], c[1], err)
			}
		}
	}
}

func same(a, b *bartleby.Threshold) bool { return a == b || a != nil && b != nil && *a == *b }
