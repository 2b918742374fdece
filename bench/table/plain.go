package main

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/perf"
)

// plain are the works of bench/run.sh.
var plain = []work{
	{"16b", "16 B, transient, auto-ack, 1 publisher, 1 consumer", "≥ 1.2 M msg/s, ≤ 0.8 CPU-s/M", rate},
	{"16b-push", "16 B, transient, auto-ack, publishers do not wait for consumers", "≥ 2 M msg/s, ≤ 0.55 CPU-s/M", pushed},
	{"1k", "1 KiB, transient, acks by 100", "≥ 450 k msg/s, ≤ 2.2 CPU-s/M", rate},
	{"1k-push", "1 KiB, transient, acks by 100, publishers do not wait for consumers", "≥ 750 k msg/s, ≤ 1.7 CPU-s/M", pushed},
	{"persistent", "1 KiB, persistent, confirms (1,000 outstanding), acks by 100", "≥ 220 k msg/s, ≤ 4 CPU-s/M, confirm p99 ≤ 8 ms", confirmed},
	{"dead-letter", "reject → DLX → DLQ → consumed, 1 KiB", "≥ 200 k msg/s, ≤ 5 CPU-s/M", rate},
	{"latency", "latency at 5 k/s, 128 B, transient", "p50 ≤ 0.13, p99 ≤ 0.35 ms, ≤ 70 CPU-s/M", latency},
	{"latency-persistent", "latency at 5 k/s, 1 KiB, persistent", "p50 ≤ 0.9, p99 ≤ 4 ms", latency},
	{"expire", "100,000 messages expire at one instant: lateness in the DLQ", "–", lateness},
	{"expire-window", "50,000 messages expire at random within 10 s: lateness in the DLQ", "–", lateness},
	{"expire-stored", "500,000 of 1 KiB, persistent, expire at one instant: all are in the DLQ", "≥ 500 k msg/s, ≤ 4 CPU-s/M", deadLettered},
	{"reject-full", "500,000 of 1 KiB, persistent, in a queue: rejected, consumed from the DLQ", "≥ 300 k msg/s, ≤ 4 CPU-s/M", deadLettered},
	{"backlog", "backlog of 300,000 times 1 KiB, transient, confirms", "–", backlog},
	{"delay", "delayed by 1 to 5 s at random, 20 k/s", "p50 ≤ 0.9, p99 ≤ 3.5 ms, ≤ 30 CPU-s/M", late},
	{"pairs", "16 B, auto-ack, 8 publishers, 8 consumers, one queue", "≥ 1.5 times one pair", rate},
	{"1m-push", "1 MiB, transient, acks by 2", "≤ 700 CPU-s/M", pushed},
	{"connect", "connect, open a channel, close; 64 clients", "≥ 8,000/s, ≤ 0.11 CPU-s per thousand", connects},
}

func rate(reports []perf.Report) string {
	perSecond := median(reports, func(r perf.Report) float64 { return r.Spans[0].ConsumeRate })
	text := fmt.Sprintf("%.1f k msg/s", perSecond/1e3)
	if perSecond >= 1e6 {
		text = fmt.Sprintf("%.2f M msg/s", perSecond/1e6)
	}
	return text + ", " + cpu(reports, "%.2f")
}

// pushed is rate, and how fast the publishers were.
func pushed(reports []perf.Report) string {
	perSecond := median(reports, func(r perf.Report) float64 { return r.Spans[0].PublishRate })
	return fmt.Sprintf("%s, published %.1f k/s", rate(reports), perSecond/1e3)
}

func connects(reports []perf.Report) string {
	shown := func(name string) float64 {
		return median(reports, func(r perf.Report) float64 {
			value, _ := r.Figure(name)
			return value
		})
	}
	return fmt.Sprintf("%.0f/s, p99 %.2f ms, %.3f CPU-s per thousand",
		shown(perf.FigureConnections), shown(perf.FigureConnectionP99), shown(perf.FigureConnectionCPU))
}

func confirmed(reports []perf.Report) string {
	p99 := median(reports, func(r perf.Report) float64 { return p99(r.Confirm) })
	return fmt.Sprintf("%s, confirm p99 %.1f ms", rate(reports), p99)
}

func latency(reports []perf.Report) string {
	p50 := median(reports, func(r perf.Report) float64 { return p50(r.Latency) })
	p99 := median(reports, func(r perf.Report) float64 { return p99(r.Latency) })
	return fmt.Sprintf("p50 %.2f, p99 %.2f ms, %s", p50, p99, cpu(reports, "%.0f"))
}

func lateness(reports []perf.Report) string {
	p50 := median(reports, func(r perf.Report) float64 { return p50(r.Lateness) })
	p99 := median(reports, func(r perf.Report) float64 { return p99(r.Lateness) })
	early := median(reports, func(r perf.Report) float64 {
		if r.Early == nil {
			return 0
		}
		return float64(r.Early.Count)
	})
	return fmt.Sprintf("p50 %.0f, p99 %.0f ms, early %.0f", p50, p99, early)
}

func backlog(reports []perf.Report) string {
	fill := median(reports, func(r perf.Report) float64 { return firstSpan(r).PublishRate })
	drain := median(reports, func(r perf.Report) float64 { return lastSpan(r).ConsumeRate })
	memory := median(reports, func(r perf.Report) float64 { return known(firstSpan(r).BrokerResidentMiB) })
	return fmt.Sprintf("fill %.0f k/s, drain %.0f k/s, %.0f MiB when full", fill/1e3, drain/1e3, memory)
}
