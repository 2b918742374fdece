package main

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/perf"
)

// lateWorks are the works of bench/time.sh.
var lateWorks = []work{
	{"head", "TTL of 1 s behind one of 30 s: lateness in the DLQ", "the others leave at 1 s", late},
	{"expire-once", "all expire at one instant: lateness in the DLQ", "p50 ≤ 1000, p99 ≤ 2000 ms", atOnce},
	{"delay-random", "delayed by 1 to 10 s at random, published at a rate", "p50 ≤ 2, p99 ≤ 8 ms, none early", late},
	{"delay-due", "all wait, then 10 k/s of them are due", "p50 ≤ 2, p99 ≤ 8, max ≤ 50 ms", late},
	{"delay-second", "all due in the same second, beside a bystander", "all routed within 5 s, bystander p99 ≤ 20 ms", atOnce},
	{"waiting", "a crowd waits for up to 30 days, 128 B; beside it 10 k/s delayed by 0.1 to 5 s",
		"≤ 300 MB, load ≥ 100 k/s, listing 100 ≤ 10 ms, cancel ≥ 20 k/s", crowd},
	{"first-fire", "restart with that crowd", "first fire ≤ 3 s", figures(
		shown{"first message fired after kill -9, median", "%.0f"}, shown{"first message fired after kill -9, worst", "(worst %.0f) ms after exec"},
		shown{"memory at the first delivery after kill -9, fired", "%.0f MiB of memory"})},
}

// late shows how late messages came, and how a bystander fared meanwhile.
func late(reports []perf.Report) string {
	ms := func(of func(perf.Report) float64) float64 { return median(reports, of) }
	text := fmt.Sprintf("%.0f k: p50 %.1f, p99 %.1f, max %.0f ms, %.0f early",
		ms(func(r perf.Report) float64 { return float64(r.Books.Published) / 1e3 }),
		ms(func(r perf.Report) float64 { return p50(r.Lateness) }), ms(func(r perf.Report) float64 { return p99(r.Lateness) }),
		ms(func(r perf.Report) float64 {
			if r.Lateness == nil {
				return 0
			}
			return r.Lateness.Max
		}),
		ms(func(r perf.Report) float64 { return float64(r.Books.Early) }))
	if reports[0].Meanwhile != nil {
		text += fmt.Sprintf("; bystander p99 %.1f ms to delivery, %.1f ms to confirm",
			ms(func(r perf.Report) float64 { return p99(r.Meanwhile.Latency) }), ms(func(r perf.Report) float64 { return p99(r.Meanwhile.Confirm) }))
	}
	return text
}

// atOnce shows the same of messages that are due together, and how long it took from the first to the last.
func atOnce(reports []perf.Report) string {
	within := median(reports, func(r perf.Report) float64 { return lastSpan(r).Seconds })
	return fmt.Sprintf("all within %.1f s; %s", within, late(reports))
}

// crowd shows what many that wait cost, and how late others came beside them.
func crowd(reports []perf.Report) string {
	loaded := median(reports, func(r perf.Report) float64 { return span(r, "load").PublishRate })
	crowded := median(reports, func(r perf.Report) float64 { return float64(span(r, "load").Published) })
	text := fmt.Sprintf("%.1f M: load %.0f k/s, %.0f MiB then, at most %.0f, ", crowded/1e6, loaded/1e3, optional(reports, "load", resident), optional(reports, "load", peak))
	text += figures(shown{"the next 100 listed, p50", "listing p50 %.1f"}, shown{"the next 100 listed, p99", "p99 %.1f ms"},
		shown{"cancelled, 1,000 at once", "cancel %.0f/s"}, shown{"purged in", "others purged in %.0f ms"})(reports)
	return text + "; beside them " + late(reports)
}
