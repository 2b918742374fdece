package main

import (
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/perf"
)

// ratios are the columns of bench/turns.sh. of returns 0 if the report has no such figure.
var ratios = []struct {
	title string
	of    func(perf.Report) float64
}{
	{"published/s", func(r perf.Report) float64 { return firstSpan(r).PublishRate }},
	{"consumed/s", func(r perf.Report) float64 { return lastSpan(r).ConsumeRate }},
	{"connections/s", figure(perf.FigureConnections)},
	{"CPU", func(r perf.Report) float64 {
		if cpu := firstSpan(r).BrokerCPU; cpu != nil {
			return *cpu
		}
		return figure(perf.FigureConnectionCPU)(r)
	}},
	{"CPU when emptied", func(r perf.Report) float64 {
		if len(r.Spans) < 2 {
			return 0
		}
		return known(lastSpan(r).BrokerCPU)
	}},
	{"confirm p99", func(r perf.Report) float64 { return p99(r.Confirm) }},
	{"latency p50", func(r perf.Report) float64 { return p50(r.Latency) }},
	{"latency p99", func(r perf.Report) float64 { return p99(r.Latency) }},
	{"lateness p99", func(r perf.Report) float64 { return p99(r.Lateness) }},
}

func firstSpan(r perf.Report) perf.Span {
	if len(r.Spans) == 0 {
		return perf.Span{}
	}
	return r.Spans[0]
}

func lastSpan(r perf.Report) perf.Span {
	if len(r.Spans) == 0 {
		return perf.Span{}
	}
	return r.Spans[len(r.Spans)-1]
}

func figure(name string) func(perf.Report) float64 {
	return func(r perf.Report) float64 {
		value, _ := r.Figure(name)
		return value
	}
}

// printTurns prints how the medians of the reports of "new" relate to those of "base", and between which values the
// ratios of the runs lie. Run n of the one is compared with run n of the other: they ran one after the other.
func printTurns(dir string) error {
	fmt.Print("| work |")
	for _, ratio := range ratios {
		fmt.Printf(" %s |", ratio.title)
	}
	fmt.Print("\n|--|")
	for range ratios {
		fmt.Print("--|")
	}
	fmt.Println()
	for _, w := range plain {
		base, failed, err := read(dir, w.name, "base")
		if err != nil {
			return err
		}
		changed, alsoFailed, err := read(dir, w.name, "new")
		if err != nil {
			return err
		}
		if failed+alsoFailed > 0 {
			return fmt.Errorf("%s: %d runs failed", w.name, failed+alsoFailed)
		}
		if len(base) == 0 || len(base) != len(changed) {
			continue
		}
		fmt.Printf("| %s |", w.about)
		for _, ratio := range ratios {
			fmt.Print(compared(base, changed, ratio.of))
		}
		fmt.Println()
	}
	return nil
}

// compared is a cell: the ratio of the medians, the least and the largest ratio of two runs, the new median.
func compared(base, changed []perf.Report, of func(perf.Report) float64) string {
	before, after := median(base, of), median(changed, of)
	if before == 0 || after == 0 {
		return " |"
	}
	var each []float64
	for i := range base {
		if one := of(base[i]); one > 0 {
			each = append(each, of(changed[i])/one)
		}
	}
	return fmt.Sprintf(" %.2f, %.2f to %.2f (%.4g) |", after/before, slices.Min(each), slices.Max(each), after)
}
