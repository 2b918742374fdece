package resource

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// residentBytes is the resident memory of the process, 0 if that is not told.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if fields := bytes.Fields(text); err == nil && len(fields) > 1 {
		if pages, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	return 0
}

// memoryMax is the least of what the machine has and what control groups allow.
func memoryMax() int64 {
	least := controlGroupBytes(os.DirFS("/"))
	var s syscall.Sysinfo_t
	if syscall.Sysinfo(&s) == nil {
		if all := int64(uint64(s.Totalram) * uint64(s.Unit)); least == 0 || all < least {
			least = all
		}
	}
	return least
}

// diskBytes are what is free for everybody on the file system of a directory, and its size; -1 and 0 are not known.
// Where a quota is told in the place of the file system, as that of a directory on XFS is, they are the quota's.
func diskBytes(dir string) (free, size int64) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return -1, 0
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize)
}

// controlGroupBytes is the least memory limit of the process' control group and those around it, of either version; 0
// if there is none. In a container a group may be named that cannot be seen: then the root of what can be seen is it.
// Source: Linux cgroups(7), admin-guide/cgroup-v1/memory, admin-guide/cgroup-v2.
func controlGroupBytes(root fs.FS) (least int64) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy:controllers:path
		if len(fields) != 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		if fields[1] != "" {
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
		}
		for group := path.Join("/", fields[2]); ; group = path.Dir(group) {
			if n := limitIn(root, path.Join(mount, group, file)); n > 0 && (least == 0 || n < least) {
				least = n
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// noLimit is from where on a limit of version 1 means none.
const noLimit = 1 << 60

// limitIn reads a limit; 0 is none.
func limitIn(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // or "max"
	if err != nil || n >= noLimit {
		return 0
	}
	return n
}
