package vhost_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// largeTopology is a vhost of n queues with dead letters: each third has its own target, the others share some, by
// their own keys or one that is given.
func largeTopology(b testing.TB, n int) vhost.Reader {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("exchange orders topic")
	add("exchange dlx topic")
	add("exchange dlf fanout")
	add("declare dead max=1000")
	add("bind dlf -> dead")
	add("bind dlx -> dead key=#.dead")
	for i := range n / 3 {
		add("declare a%d dlx=dlx", i)
		add("declare a%d.dead ttl=1h", i)
		add("declare b%d dlx=dlf", i)
		add("bind orders -> a%d key=order.%d.*", i, i)
		add("bind orders -> b%d key=order.#", i)
		add("bind dlx -> a%d.dead key=order.%d.#", i, i)
	}
	for i := range 10 {
		add("policy p%d ^b%d max-length=1000%d", i, i, i)
	}
	p := vhost.NewPlay()
	for _, text := range lines {
		if err := p.Unaudited(text); err != nil {
			b.Fatal(text, err)
		}
	}
	if s := p.End(); strings.Contains(s, "closed ") || strings.Contains(s, "refused") {
		b.Fatal(s)
	}
	return p.Reader()
}

func BenchmarkAnalysis(b *testing.B) {
	v := largeTopology(b, 10_000)
	var longest, copying, finding, graph time.Duration
	n := 0
	for b.Loop() {
		n++
		began := time.Now()
		var to vhost.Snapshotter
		for more := true; more; {
			at := time.Now()
			more = v.SnapshotSome(&to, 2000)
			longest = max(longest, time.Since(at))
		}
		copied := time.Now()
		copying += copied.Sub(began)
		s := lint.Analyze(to.Snapshot())
		found := s.Findings()
		finding += time.Since(copied)
		at := time.Now()
		g, _ := s.Graph("", 0, 20_000)
		graph += time.Since(at)
		if len(found) == 0 || len(g.Edges) == 0 {
			b.Fatal("nothing")
		}
	}
	b.ReportMetric(float64(longest.Microseconds()), "µs-longest")
	b.ReportMetric(float64(copying.Microseconds())/float64(n), "µs-copying")
	b.ReportMetric(float64(finding.Microseconds())/float64(n), "µs-finding")
	b.ReportMetric(float64(graph.Microseconds())/float64(n), "µs-graph")
}
