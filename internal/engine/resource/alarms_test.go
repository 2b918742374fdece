package resource

import (
	"math"
	"testing"
	"time"
)

// TestEvaluate says that publishers are stopped too early or too late, or that an alarm flaps.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	const memory, disk = 1000, 200
	for name, c := range map[string]struct {
		before       Alarms
		u            Usage
		memory, disk int64
		want         Alarms
	}{
		"all well":                      {0, Usage{MemoryUsed: 999, DiskFree: 200}, memory, disk, 0},
		"at the watermark":              {0, Usage{MemoryUsed: 1000, DiskFree: 200}, memory, disk, 0},
		"over the watermark":            {0, Usage{MemoryUsed: 1001, DiskFree: 200}, memory, disk, LowMemory},
		"still over it":                 {LowMemory, Usage{MemoryUsed: 951, DiskFree: 200}, memory, disk, LowMemory},
		"well below it again":           {LowMemory, Usage{MemoryUsed: 950, DiskFree: 200}, memory, disk, 0},
		"disk below its limit":          {0, Usage{MemoryUsed: 1, DiskFree: 199}, memory, disk, LowDisk},
		"disk hardly above it":          {LowDisk, Usage{MemoryUsed: 1, DiskFree: 209}, memory, disk, LowDisk},
		"disk with room":                {LowDisk, Usage{MemoryUsed: 1, DiskFree: 210}, memory, disk, 0},
		"both":                          {0, Usage{MemoryUsed: 2000, DiskFree: 0}, memory, disk, LowMemory | LowDisk},
		"one goes, one stays":           {LowMemory | LowDisk, Usage{MemoryUsed: 1, DiskFree: 0}, memory, disk, LowDisk},
		"one alarm is not the other":    {LowDisk, Usage{MemoryUsed: 999, DiskFree: 500}, memory, disk, 0},
		"the journal's is not ours":     {JournalFull, Usage{MemoryUsed: 999, DiskFree: 200}, memory, disk, 0},
		"watermark 0 stops publishers":  {0, Usage{MemoryUsed: 1, DiskFree: 200}, 0, disk, LowMemory},
		"limit 0 never stops them":      {0, Usage{MemoryUsed: 1, DiskFree: 0}, memory, 0, 0},
		"nothing is known of the disk":  {LowDisk, Usage{MemoryUsed: 1, DiskFree: -1}, memory, disk, 0},
		"nothing is known of memory":    {LowMemory, Usage{DiskFree: 200}, memory, disk, 0},
		"share of an unknown memory":    {0, Usage{MemoryUsed: 5000, DiskFree: 1}, unlimited, unlimited, 0},
		"the largest limits can be met": {LowMemory | LowDisk, Usage{MemoryUsed: 5000, DiskFree: 1}, bytesMax, bytesMax, LowDisk},
	} {
		if got := evaluate(c.before, c.u, c.memory, c.disk); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNextCheck says that memory or disk can run short between two checks, or that an idle machine is checked all the
// time.
func TestNextCheck(t *testing.T) {
	t.Parallel()
	const gb = 1_000_000_000
	for name, c := range map[string]struct {
		now          Alarms
		u            Usage
		memory, disk int64
		want         time.Duration
	}{
		"much of both":           {0, Usage{MemoryUsed: gb, DiskFree: 900 * gb}, 64 * gb, 50, CheckLatest},
		"disk near":              {0, Usage{MemoryUsed: gb, DiskFree: 3 * gb}, 64 * gb, gb, 2 * time.Second},
		"memory nearer":          {0, Usage{MemoryUsed: 63 * gb, DiskFree: 3 * gb}, 64 * gb, gb, time.Second},
		"at the limit":           {0, Usage{MemoryUsed: 64 * gb, DiskFree: 3 * gb}, 64 * gb, gb, CheckSoonest},
		"raised":                 {LowDisk, Usage{MemoryUsed: gb, DiskFree: 0}, 64 * gb, gb, checkRaised},
		"not ours":               {JournalFull, Usage{MemoryUsed: gb, DiskFree: 900 * gb}, 64 * gb, gb, CheckLatest},
		"nothing known":          {0, Usage{DiskFree: -1}, unlimited, unlimited, CheckLatest},
		"over it, but not known": {0, Usage{MemoryUsed: 0, DiskFree: -1}, 0, 0, CheckLatest},
	} {
		if got := nextCheck(c.now, c.u, c.memory, c.disk); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestAim says that garbage may take much more than the watermark while memory is short, or that garbage is collected
// all the time because nearly all memory is in use.
func TestAim(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for name, c := range map[string]struct {
		memoryLimit, live int64
		now               Alarms
		want              int64
	}{
		"no alarm":             {512 * mb, 500 * mb, 0, 512 * mb},
		"disk alarm":           {512 * mb, 500 * mb, LowDisk, 512 * mb},
		"memory alarm":         {512 * mb, 100 * mb, LowMemory, 576 * mb},
		"at the watermark":     {512 * mb, 512 * mb, LowMemory, 576 * mb},
		"much live":            {512 * mb, 800 * mb, LowMemory, 900 * mb},
		"nothing known":        {512 * mb, 0, LowMemory, 576 * mb},
		"watermark 0":          {0, 80 * mb, LowMemory, 90 * mb},
		"share of who knows":   {unlimited, 80 * mb, LowMemory, math.MaxInt64},
		"no alarm, none known": {unlimited, 0, 0, math.MaxInt64},
	} {
		if got := aim(c.memoryLimit, c.live, c.now); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestScarce says that held dead letters take memory until publishers are blocked, or that queues change between
// holding them and not with each collection of garbage.
func TestScarce(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for name, c := range map[string]struct {
		before            bool
		now               Alarms
		live, memoryLimit int64
		want              bool
	}{
		"little":                    {false, 0, 100 * mb, 512 * mb, false},
		"what is declared":          {false, 0, 380 * mb, 512 * mb, false},
		"much":                      {false, 0, 390 * mb, 512 * mb, true},
		"still much":                {true, 0, 330 * mb, 512 * mb, true},
		"no longer":                 {true, 0, 310 * mb, 512 * mb, false},
		"memory alarm":              {false, LowMemory, 100 * mb, 512 * mb, true},
		"disk alarm":                {false, LowDisk, 100 * mb, 512 * mb, false},
		"watermark 0":               {false, LowMemory, 80 * mb, 0, true},
		"no watermark":              {true, 0, 900 * mb, unlimited, false},
		"live memory not known yet": {false, 0, 0, 512 * mb, false},
	} {
		if got := scarce(c.before, c.now, c.live, c.memoryLimit); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestReason says that publishers are told something else than RabbitMQ tells them.
func TestReason(t *testing.T) {
	t.Parallel()
	for a, want := range map[Alarms]string{
		LowMemory: "low on memory", LowDisk: "low on disk", JournalFull: "low on disk", LowDisk | JournalFull: "low on disk",
		LowMemory | LowDisk: "low on memory & disk", EveryAlarm: "low on memory & disk",
	} {
		if got := a.Reason(); got != want {
			t.Errorf("%q: %q, want %q", a, got, want)
		}
	}
	if got := EveryAlarm.String(); got != "memory, disk, journal" {
		t.Errorf("all are %q", got)
	}
}

// TestParseBytes says that a limit in RabbitMQ's units is read as another number, or that nonsense is a limit.
func TestParseBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "50000000": 50_000_000, " 50MB ": 50_000_000, "2GB": 2_000_000_000, "1kB": 1000, "1KB": 1000, "1k": 1024, "1K": 1024,
		"1kiB": 1024, "2M": 2 << 20, "2MiB": 2 << 20, "2mib": 2 << 20, "3G": 3 << 30, "3GiB": 3 << 30, "1T": 1 << 40, "1TB": 1e12,
		"1PiB": 1 << 50, "1024P": 1 << 60,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MB", "-1", "1.5GB", "10B", "10iB", "10 MB x", "1X", "1025P", "0x10", "99999999999999999999", "1e9"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// TestLimits says that thresholds come to other bytes than RabbitMQ's, or that nonsense is accepted.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		l                    Limits
		memory               int64
		wantMemory, wantDisk int64
	}{
		{DefaultLimits(), 1000, 600, 50_000_000},
		{DefaultLimits(), 0, unlimited, 50_000_000},
		{Limits{Absolute(700), Relative(1.5)}, 1000, 700, 1500},
		{Limits{Absolute(7000), Relative(0)}, 1000, 1000, 0},
		{Limits{Absolute(7000), Relative(2)}, 0, 7000, unlimited},
		{Limits{Relative(0), Absolute(1 << 62)}, 1000, 0, bytesMax},
	} {
		if err := c.l.Validate(); err != nil {
			t.Errorf("%v: %v", c.l, err)
		}
		if m, d := c.l.bytes(c.memory); m != c.wantMemory || d != c.wantDisk {
			t.Errorf("%v of %d: %d and %d, want %d and %d", c.l, c.memory, m, d, c.wantMemory, c.wantDisk)
		}
	}
	var zero float64
	for _, l := range []Limits{
		{Relative(1.1), Absolute(0)}, {Relative(-0.1), Absolute(0)}, {Absolute(-1), Absolute(0)}, {Relative(zero / zero), Absolute(0)},
		{Relative(0.5), Absolute(-1)}, {Relative(0.5), Relative(-1)}, {Relative(0.5), Relative(1e9)},
	} {
		if l.Validate() == nil {
			t.Errorf("%v is accepted", l)
		}
	}
}
