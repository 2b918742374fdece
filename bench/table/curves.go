package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/perf"
)

// curve is a table with a row for each point.
type curve struct {
	name  string // of its reports: name.value.run.json
	about string
	cell  func(reports []perf.Report) string
}

// curves are those of bench/curves.sh.
var curves = []curve{
	{"size", "octets of a body, transient", rate},
	{"persistent-size", "octets of a body, persistent, with confirms", confirmed},
	{"queues", "queues of one publisher and one consumer, 128 B", rate},
	{"pairs", "publishers, and as many consumers, of one queue, 128 B", rate},
	{"own-queues", "publishers, each with a queue and a consumer, 128 B", rate},
	{"waiting", "other messages that wait; 10,000/s with delays of 1 to 3 s", dueAndMemory},
	{"expired", "persistent messages of 1 KiB that expire at one time", deadLettered},
	{"rejected", "persistent messages of 1 KiB in a queue, rejected and consumed as dead letters", deadLettered},
}

// printCurves prints the curves whose reports are in a directory.
func printCurves(dir string) error {
	for _, c := range curves {
		values, err := pointsOf(dir, c.name)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			continue
		}
		fmt.Printf("| %s | Bartleby |\n|--|--|\n", c.about)
		for _, v := range values {
			reports, failed, err := read(dir, c.name, strconv.Itoa(v))
			if err != nil {
				return err
			}
			fmt.Printf("| %d | %s |\n", v, cell(work{cell: c.cell}, reports, failed))
		}
		fmt.Println()
	}
	return nil
}

// pointsOf lists the values of a curve of which there are reports, in their order.
func pointsOf(dir, name string) (values []int, err error) {
	files, err := filepath.Glob(filepath.Join(dir, name+".*.*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		v, err := strconv.Atoi(strings.Split(filepath.Base(file), ".")[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		values = append(values, v)
	}
	slices.SortFunc(values, cmp.Compare)
	return slices.Compact(values), nil
}

// dueAndMemory is how late messages came, and how much memory the broker had at the end.
func dueAndMemory(reports []perf.Report) string {
	p50 := median(reports, func(r perf.Report) float64 { return p50(r.Lateness) })
	p99 := median(reports, func(r perf.Report) float64 { return p99(r.Lateness) })
	return fmt.Sprintf("late by p50 %.1f, p99 %.1f ms, %.0f MiB", p50, p99, memoryAtEnd(reports))
}

// deadLettered is how fast the second span was, and what it cost.
func deadLettered(reports []perf.Report) string {
	perSecond := median(reports, func(r perf.Report) float64 { return lastSpan(r).ConsumeRate })
	return fmt.Sprintf("%.0f k/s, %s, %.0f MiB", perSecond/1e3, cpuOf(reports, "%.2f", lastSpan), memoryAtEnd(reports))
}

// memoryAtEnd is the resident memory at the end of the last span, MiB.
func memoryAtEnd(reports []perf.Report) float64 {
	return median(reports, func(r perf.Report) float64 { return known(lastSpan(r).BrokerResidentMiB) })
}
