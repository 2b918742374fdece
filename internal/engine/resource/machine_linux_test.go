package resource

import (
	"testing"
	"testing/fstest"
)

// TestControlGroup says that a container's memory limit is not seen, and the broker grows until it is killed.
func TestControlGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none": {nil, 0},
		"version 2, namespace": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 << 20},
		"version 2, without": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, 0},
		"version 2, the least of the groups around it": {map[string]string{
			"proc/self/cgroup":                                     "0::/system.slice/broker.service\n",
			"sys/fs/cgroup/system.slice/memory.max":                "1000\n",
			"sys/fs/cgroup/system.slice/broker.service/memory.max": "2000\n",
		}, 1000},
		"version 1": {map[string]string{
			"proc/self/cgroup": "12:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n1:name=systemd:/docker/x\n0::/\n",
			"sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "3000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
		}, 3000},
		"version 1, in a container that sees its own group as the root": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/docker/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "3000\n",
		}, 3000},
		"a path from outside the namespace": {map[string]string{
			"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "77\n",
		}, 77},
		"nonsense": {map[string]string{"proc/self/cgroup": "a\n::\n0::", "sys/fs/cgroup/memory.max": "much"}, 0},
	} {
		files := fstest.MapFS{}
		for path, text := range c.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := controlGroupBytes(files); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestSystemMachine says that the figures of this machine are nonsense.
func TestSystemMachine(t *testing.T) {
	t.Parallel()
	u := SystemMachine(t.TempDir(), false).Read()
	if u.MemoryUsed < 1<<20 || u.MemoryMax < u.MemoryUsed || u.DiskFree < 0 {
		t.Errorf("%+v", u)
	}
	if u := SystemMachine("", false).Read(); u.DiskFree >= 0 {
		t.Errorf("%d bytes free on no disk", u.DiskFree)
	}
	if got := runtimeBytes(); got < 1<<20 {
		t.Errorf("the runtime has %d bytes", got)
	}
}
