// Command table prints the reports that one of bench's scripts left in a directory as a Markdown table, with the goals
// beside them. Of several runs it shows the median of each figure.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/perf"
)

// work is a row.
type work struct {
	name  string // of its reports: name.broker.run.json
	about string
	goal  string
	cell  func(reports []perf.Report) string
}

// sheet is a table.
type sheet struct {
	brokers []string // columns
	titles  []string // of these
	works   []work
}

// tables print the reports in a directory, by the name of the script that left them.
var tables = map[string]func(dir string) error{
	"run":     sheet{[]string{"bartleby", "rabbitmq"}, []string{"Bartleby", "rabbitmq-server"}, plain}.print,
	"storage": sheet{[]string{"bartleby"}, []string{"Bartleby"}, storage}.print,
	"time":    sheet{[]string{"bartleby", "rabbitmq"}, []string{"Bartleby", "rabbitmq-server"}, lateWorks}.print,
	"turns":   printTurns,
	"curves":  printCurves,
}

func main() {
	if len(os.Args) != 3 || tables[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: table run|storage|time|turns|curves DIRECTORY")
		os.Exit(64)
	}
	if err := tables[os.Args[1]](os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// print prints the sheet; works of which there is no report are left out.
func (s sheet) print(dir string) error {
	fmt.Printf("| work | goal | %s |\n|--|--|%s\n", strings.Join(s.titles, " | "), strings.Repeat("--|", len(s.titles)))
	for _, w := range s.works {
		cells, some := []string{w.about, w.goal}, false
		for _, broker := range s.brokers {
			reports, failed, err := read(dir, w.name, broker)
			if err != nil {
				return err
			}
			text := cell(w, reports, failed)
			cells, some = append(cells, text), some || len(reports)+failed > 0
		}
		if some {
			fmt.Printf("| %s |\n", strings.Join(cells, " | "))
		}
	}
	return nil
}

// cell is what the reports of a work say, and how many of its runs have left none.
func cell(w work, reports []perf.Report, failed int) string {
	text := "–"
	if len(reports) > 0 {
		text = w.cell(reports)
	}
	if slices.ContainsFunc(reports, func(r perf.Report) bool { return !r.Balanced() }) {
		text += ", **books do not balance**"
	}
	if failed > 0 {
		text += fmt.Sprintf(", **%d failed**", failed)
	}
	return text
}

// read returns the reports of all runs of a work, and how many runs left none because they failed.
func read(dir, work, broker string) (reports []perf.Report, failed int, err error) {
	files, err := filepath.Glob(filepath.Join(dir, work+"."+broker+".*.json"))
	if err != nil {
		return nil, 0, err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, 0, err
		}
		if len(b) == 0 {
			failed++
			continue
		}
		var r perf.Report
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", file, err)
		}
		if len(r.Spans) == 0 && len(r.Figures) == 0 {
			return nil, 0, fmt.Errorf("%s: nothing was measured", file)
		}
		reports = append(reports, r)
	}
	return reports, failed, nil
}

func p50(q *perf.Quantiles) float64 {
	if q == nil {
		return 0
	}
	return q.P50
}

func p99(q *perf.Quantiles) float64 {
	if q == nil {
		return 0
	}
	return q.P99
}

func cpu(reports []perf.Report, format string) string { return cpuOf(reports, format, firstSpan) }

// cpuOf is the CPU time of the broker in one of the spans.
func cpuOf(reports []perf.Report, format string, span func(perf.Report) perf.Span) string {
	return fmt.Sprintf(format+" CPU-s/M", median(reports, func(r perf.Report) float64 { return known(span(r).BrokerCPU) }))
}

// known is a figure, 0 if it was not measured.
func known(figure *float64) float64 {
	if figure == nil {
		return 0
	}
	return *figure
}

func median(reports []perf.Report, of func(perf.Report) float64) float64 {
	var all []float64
	for _, r := range reports {
		all = append(all, of(r))
	}
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}
