package main

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/perf"
)

// ratios are the columns of bench/turns.sh. of returns 0 if the report has no such figure.
var ratios = []struct {
	title string
	of    func(perf.Report) float64
}{
	{"published/s", func(r perf.Report) float64 { return r.Spans[0].PublishRate }},
	{"consumed/s", func(r perf.Report) float64 { return r.Spans[len(r.Spans)-1].ConsumeRate }},
	{"CPU", func(r perf.Report) float64 {
		if r.Spans[0].BrokerCPU == nil {
			return 0
		}
		return *r.Spans[0].BrokerCPU
	}},
	{"confirm p99", func(r perf.Report) float64 { return p99(r.Confirm) }},
	{"latency p50", func(r perf.Report) float64 { return p50(r.Latency) }},
	{"latency p99", func(r perf.Report) float64 { return p99(r.Latency) }},
	{"lateness p99", func(r perf.Report) float64 { return p99(r.Lateness) }},
}

// printTurns prints how the medians of the reports of "new" relate to those of "base".
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
		if len(base) == 0 || len(changed) == 0 {
			continue
		}
		fmt.Printf("| %s |", w.about)
		for _, ratio := range ratios {
			before, after := median(base, ratio.of), median(changed, ratio.of)
			if before == 0 || after == 0 {
				fmt.Print(" |")
				continue
			}
			fmt.Printf(" %.2f (%.4g) |", after/before, after)
		}
		fmt.Println()
	}
	return nil
}
