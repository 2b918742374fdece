package main

import (
	"fmt"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/perf"
)

// storage are the works of bench/storage.sh.
var storage = []work{
	{"disk", "the disk itself", "–", figures(
		shown{"4 KiB appended and fdatasync, p50", "append and fdatasync p50 %.2f"}, shown{"4 KiB appended and fdatasync, p99", "p99 %.2f ms"},
		shown{"4 KiB overwritten and fdatasync, p50", "overwrite and fdatasync p50 %.2f"}, shown{"4 KiB overwritten and fdatasync, p99", "p99 %.2f ms"},
		shown{"sequential writes, without page cache", "sequential %.0f MiB/s"})},
	{"write-1k", "1 KiB, persistent, confirms, saturated", "≥ 220 k msg/s, ≤ 4 CPU-s/M, written ≤ 1.15 × bodies", written},
	{"write-128", "128 B, persistent, confirms, saturated", "≤ 4 CPU-s/M", written},
	{"backlog", "backlog in one queue, 128 B, persistent", "≤ 128 MiB, fill and drain ≥ 70 % of a short queue", long},
	{"backlog-queues", "backlog over 1,000 queues", "≤ 128 MiB, fill and drain ≥ 70 % of short queues", long},
	{"backlog-transient", "backlog in one queue, transient", "≤ 128 MiB", long},
	{"backlog-priorities", "backlog in one queue of priorities 0 to 9", "≤ 128 MiB", long},
	{"backlog-ttl", "backlog in one queue, each message with a TTL of its own", "≤ 128 MiB", long},
	{"backlog-max", "backlog cut to a tenth by max-length", "≤ 128 MiB", long},
	{"settle", "settled at random, 1 KiB, full speed", "space ≤ 1.6 × live + 4 segments, written ≤ 1.8 × bodies", settled},
	{"settle-paced", "settled at random, 1 KiB, at a rate", "confirm p99 ≤ 2 × that of the next", settledPaced},
	{"paced", "the same rate in a short queue: nothing to rewrite", "–", settledPaced},
	{"halve", "half of a backlog settled at random, then a rest", "space ≤ 1.15 × live + 4 segments", halved},
	{"restart", "restart over 1,000 queues and 10,000 bindings", "first delivery ≤ 500 ms", restarted},
	{"restart-cold", "the same, nothing in the page cache", "first delivery ≤ 500 ms", restarted},
	{"declare", "durable declare and delete over 8 connections", "≥ 2,000 pairs/s", figures(
		shown{"declare-delete pairs", "%.0f pairs/s"}, shown{"per pair, p50", "p50 %.2f"}, shown{"per pair, p99", "p99 %.2f ms"})},
	{"idle", "1,000 idle connections, a channel each", "≤ 40 KiB each", idle},
	{"idle-bare", "1,000 idle connections without channels", "≤ 40 KiB each", idle},
	{"idle-burst", "1,000 connections that were busy before", "≤ 40 KiB each", idle},
}

// shown is one figure, and the words around it.
type shown struct{ name, format string }

// figures shows some figures in a row.
func figures(of ...shown) func([]perf.Report) string {
	return func(reports []perf.Report) string {
		var parts []string
		for _, one := range of {
			if _, ok := reports[0].Figure(one.name); ok {
				parts = append(parts, fmt.Sprintf(one.format, medianFigure(reports, one.name)))
			}
		}
		return strings.Join(parts, ", ")
	}
}

func medianFigure(reports []perf.Report, name string) float64 {
	return median(reports, func(r perf.Report) float64 {
		value, _ := r.Figure(name)
		return value
	})
}

// optional takes the median of a figure of a span that a broker without process does not have.
func optional(reports []perf.Report, name string, of func(perf.Span) *float64) float64 {
	return median(reports, func(r perf.Report) float64 {
		if value := of(span(r, name)); value != nil {
			return *value
		}
		return 0
	})
}

// span returns the span of that name, or none.
func span(r perf.Report, name string) perf.Span {
	for _, s := range r.Spans {
		if s.Name == name {
			return s
		}
	}
	return perf.Span{}
}

func amplification(s perf.Span) *float64 { return s.WriteAmplification }
func peak(s perf.Span) *float64          { return s.BrokerPeakMiB }
func resident(s perf.Span) *float64      { return s.BrokerResidentMiB }

func written(reports []perf.Report) string {
	return fmt.Sprintf("%s, written %.2f × bodies", confirmed(reports), optional(reports, "", amplification))
}

func long(reports []perf.Report) string {
	rate := func(name string, of func(perf.Span) float64) float64 {
		return median(reports, func(r perf.Report) float64 { return of(span(r, name)) }) / 1e3
	}
	published := func(s perf.Span) float64 { return s.PublishRate }
	consumed := func(s perf.Span) float64 { return s.ConsumeRate }
	text := fmt.Sprintf("%.1f M: %.0f MiB when full, at most %.0f filling and %.0f draining; fill %.0f k/s, drain %.0f k/s",
		median(reports, func(r perf.Report) float64 { return float64(r.Books.Published) })/1e6,
		optional(reports, "fill", resident), optional(reports, "fill", peak), optional(reports, "drain", peak),
		rate("fill", published), rate("drain", consumed))
	if short := rate("short", consumed); short > 0 {
		text += fmt.Sprintf(", short queue %.0f k/s (%.0f and %.0f %%)", short,
			medianFigure(reports, "fill rate / rate of a short queue"), medianFigure(reports, "drain rate / rate of a short queue"))
	}
	return text
}

func settled(reports []perf.Report) string {
	return fmt.Sprintf("%.0f k msg/s, steadily at most %.2f × live + 4 segments and written %.2f × bodies, with the growth before %.2f ×, confirm p99 %.1f ms; rested %.2f × live",
		median(reports, func(r perf.Report) float64 { return span(r, "settle").PublishRate })/1e3,
		medianFigure(reports, "(directory - 4 segments) / live bytes, maximum in the second half"),
		medianFigure(reports, "written per byte of message bodies, in the second half"),
		optional(reports, "settle", amplification),
		median(reports, func(r perf.Report) float64 { return p99(r.Confirm) }),
		medianFigure(reports, "directory / live bytes, after idling"))
}

func settledPaced(reports []perf.Report) string {
	return fmt.Sprintf("confirm p50 %.2f, p99 %.2f ms; delivery p50 %.2f, p99 %.2f ms",
		median(reports, func(r perf.Report) float64 { return p50(r.Confirm) }), median(reports, func(r perf.Report) float64 { return p99(r.Confirm) }),
		median(reports, func(r perf.Report) float64 { return p50(r.Latency) }), median(reports, func(r perf.Report) float64 { return p99(r.Latency) }))
}

func halved(reports []perf.Report) string {
	return fmt.Sprintf("%.2f × live + 4 segments (%.2f × live in all), after %.0f s",
		medianFigure(reports, "(directory - 4 segments) / live bytes, after idling"),
		medianFigure(reports, "directory / live bytes, after idling"), medianFigure(reports, "rest"))
}

func restarted(reports []perf.Report) string {
	return figures(
		shown{"first delivery after kill -9, median", "after kill -9 %.0f"}, shown{"first delivery after kill -9, worst", "(worst %.0f) ms"},
		shown{"first delivery after a clean stop, median", "after a stop %.0f"}, shown{"first delivery after a clean stop, worst", "(worst %.0f) ms"},
		shown{"memory at the first delivery after kill -9", "%.0f MiB of memory"},
		shown{"read from the disk until then after kill -9", "%.0f MiB read"})(reports)
}

func idle(reports []perf.Report) string {
	return figures(shown{"memory per connection", "%.1f KiB"}, shown{"memory per connection, after idling", "after idling %.1f KiB"})(reports)
}
