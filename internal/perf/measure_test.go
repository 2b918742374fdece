package perf

import (
	"testing"
	"time"
)

func TestStatCPU(t *testing.T) {
	// If this fails, the broker's CPU time is another figure of its process, or a strange command name ends the run.
	t.Parallel()
	const tail = ") S 1 2 3 4 5 6 7 8 9 10 1234 66 7 8 20 0 1 0 100"
	for _, command := range []string{"beam.smp", "a b", "a) S 1 (b", ""} {
		got, err := statCPU([]byte("42 (" + command + tail))
		if want := 13 * time.Second; err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", command, got, err, want)
		}
	}
	for _, stat := range []string{"", "42 (x) S 1 2 3", "42 (x) S 1 2 3 4 5 6 7 8 9 10 a b 7"} {
		if got, err := statCPU([]byte(stat)); err == nil {
			t.Errorf("%q: %v", stat, got)
		}
	}
}

func TestStatusSize(t *testing.T) {
	// If this fails, memory is reported in the wrong unit or of the wrong kind.
	t.Parallel()
	status := []byte("Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t  2048 kB\nVmRSS:\t 1024 kB\n")
	for field, want := range map[string]int64{"VmHWM:": 2 << 20, "VmRSS:": 1 << 20, "VmSwap:": 0} {
		if got := statusSize(status, field); got != want {
			t.Errorf("%s %d, want %d", field, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	// If this fails, rates or CPU times concern other messages than were counted in that time.
	t.Parallel()
	from := sample{at: 1e9, published: 100, consumed: 50, own: time.Second, broker: usage{known: true, cpu: time.Second}}
	to := sample{at: 3e9, published: 4_000_100, consumed: 2_000_050, own: 2 * time.Second, broker: usage{
		known: true, cpu: 5 * time.Second, peak: 3 << 20, resident: 2 << 20,
	}}
	s := span(from, to)
	if s.Seconds != 2 || s.PublishRate != 2e6 || s.ConsumeRate != 1e6 || s.OwnCPU != 0.5 {
		t.Errorf("%+v", s)
	}
	if *s.BrokerCPU != 2 || *s.BrokerPeakMiB != 3 || *s.BrokerResidentMiB != 2 {
		t.Errorf("broker %v CPU-s/M, peak %v, resident %v", *s.BrokerCPU, *s.BrokerPeakMiB, *s.BrokerResidentMiB)
	}
	to.consumed = from.consumed
	if s := span(from, to); *s.BrokerCPU != 1 {
		t.Errorf("published only: %v CPU-s/M", *s.BrokerCPU)
	}
	to.broker.known = false
	if s := span(from, to); s.BrokerCPU != nil {
		t.Error("CPU time of a process that nobody named")
	}
	if s := span(from, from); s.PublishRate != 0 || s.OwnCPU != 0 {
		t.Errorf("an empty span: %+v", s)
	}
}

func TestQuantiles(t *testing.T) {
	// If this fails, percentiles are off, or what lies beyond the histogram's range is lost.
	t.Parallel()
	a, b := newHistogram(), newHistogram()
	for i := range int64(500) {
		record(a, i*int64(time.Millisecond))
		record(b, (500+i)*int64(time.Millisecond))
	}
	q := quantiles(a, nil, b)
	near := func(got, want float64) bool { return got >= want*0.998 && got <= want*1.002 }
	if q.Count != 1000 || !near(q.P50, 499) || !near(q.P90, 899) || !near(q.P99, 989) || !near(q.Max, 999) {
		t.Errorf("%+v", q)
	}
	c := newHistogram()
	record(c, int64(100*time.Hour))
	record(c, -5)
	if q := quantiles(c); q == nil || q.Count != 2 || !near(q.Max, 3_600_000) {
		t.Errorf("beyond the range: %+v", q)
	}
	if q := quantiles(newHistogram(), nil); q != nil {
		t.Errorf("nothing recorded: %+v", q)
	}
}
