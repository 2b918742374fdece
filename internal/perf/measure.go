package perf

import (
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// started is the zero of all instants of a run.
var started = time.Now()

// now returns the nanoseconds since the process began, by the monotonic clock; never 0.
func now() int64 { return int64(time.Since(started)) + 1 }

const (
	// A histogram counts nanoseconds with three digits; what is shorter counts as the shortest, what is longer as the
	// longest.
	shortest = int64(time.Microsecond)
	longest  = int64(time.Hour)
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, 3) }

func record(h *hdrhistogram.Histogram, ns int64) {
	h.RecordValue(min(max(ns, shortest), longest)) // fails only out of these bounds
}

// Quantiles sums a histogram up, in milliseconds.
type Quantiles struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p99_9_ms"`
	Max   float64 `json:"max_ms"`
}

// quantiles merges histograms; nil if they are empty.
func quantiles(hs ...*hdrhistogram.Histogram) *Quantiles {
	all := newHistogram()
	for _, h := range hs {
		if h != nil {
			all.Merge(h)
		}
	}
	if all.TotalCount() == 0 {
		return nil
	}
	at := func(q float64) float64 { return milliseconds(all.ValueAtQuantile(q)) }
	return &Quantiles{
		Count: all.TotalCount(),
		P50:   at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: milliseconds(all.Max()),
	}
}

// print prints a line, none if there is nothing to tell.
func (q *Quantiles) print(w io.Writer, name string) {
	if q != nil {
		fmt.Fprintf(w, "  %s\tp50 %.3f\tp90 %.3f\tp99 %.3f\tp99.9 %.3f\tmax %.3f ms\t(%d)\n",
			name, q.P50, q.P90, q.P99, q.P999, q.Max, q.Count)
	}
}

func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }

// sample is what is counted at one instant.
type sample struct {
	at        int64 // ns
	published int64
	consumed  int64
	bodies    int64 // octets of what was published
	broker    usage
	own       time.Duration // CPU time of this process
}

// Span is what happened between two samples.
type Span struct {
	Name        string  `json:"name,omitempty"`
	Seconds     float64 `json:"seconds"`
	Published   int64   `json:"published"`
	Consumed    int64   `json:"consumed"`
	PublishRate float64 `json:"published_per_second"`
	ConsumeRate float64 `json:"consumed_per_second"`
	// CPU seconds, user and system, per million messages: of those consumed, or published if none were consumed.
	OwnCPU    float64  `json:"own_cpu_seconds_per_million"`
	BrokerCPU *float64 `json:"broker_cpu_seconds_per_million,omitempty"`
	// MiB at the end: the highest resident size since the run or a later phase of it began, and the present one.
	BrokerPeakMiB     *float64 `json:"broker_peak_mib,omitempty"`
	BrokerResidentMiB *float64 `json:"broker_resident_mib,omitempty"`
	// MiB that the broker sent to a disk, and how much that is per octet of the bodies published. It is what the kernel
	// counts for the process: whole pages or blocks, records, checkpoints, pages and rewriting together.
	BrokerWrittenMiB   *float64 `json:"broker_written_mib,omitempty"`
	WriteAmplification *float64 `json:"write_amplification,omitempty"`
}

func span(from, to sample) Span {
	s := Span{
		Seconds:   float64(to.at-from.at) / 1e9,
		Published: to.published - from.published,
		Consumed:  to.consumed - from.consumed,
	}
	s.PublishRate = ratio(float64(s.Published), s.Seconds)
	s.ConsumeRate = ratio(float64(s.Consumed), s.Seconds)
	messages := s.Consumed
	if messages == 0 {
		messages = s.Published
	}
	millions := float64(messages) / 1e6
	s.OwnCPU = ratio((to.own - from.own).Seconds(), millions)
	if to.broker.known {
		cpu := ratio((to.broker.cpu - from.broker.cpu).Seconds(), millions)
		peak, resident := mebibytes(to.broker.peak), mebibytes(to.broker.resident)
		s.BrokerCPU, s.BrokerPeakMiB, s.BrokerResidentMiB = &cpu, &peak, &resident
		written := to.broker.written - from.broker.written
		inMiB := mebibytes(written)
		s.BrokerWrittenMiB = &inMiB
		if bodies := to.bodies - from.bodies; bodies > 0 && written > 0 {
			amplification := float64(written) / float64(bodies)
			s.WriteAmplification = &amplification
		}
	}
	return s
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func mebibytes(octets int64) float64 { return float64(octets) / (1 << 20) }
