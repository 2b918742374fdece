package stats

import (
	"runtime"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// BenchmarkSamples measures what is remembered of ten thousand queues in which messages come, go and die all day.
func BenchmarkSamples(b *testing.B) {
	const queues = 10_000
	for b.Loop() {
		s := &Sampler{}
		s.mu.ledgers = map[uint32]*ledger{}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := &ledger{queues: map[fact.QueueID]*history{}, begun: true}
		s.mu.ledgers[1] = l
		var f figures
		now := int64(1_795_000_000_000)
		spent, rounds, lately := time.Duration(0), 23*6+50+120, 120
		for i := range rounds {
			now += []int64{600_000, 60_000, 5_000}[min(i/(23*6), 1)+min(i/(23*6+50), 1)]
			for _, x := range []int{AtPublished, AtDelivered, AtAcked, atDied, atDeadLetters} {
				f[x] += 300
			}
			f[AtReady], f[AtUnacked] = uint64(now/5000)%977, uint64(now/5000)%331
			began := time.Now()
			for id := range fact.QueueID(queues) {
				noteIn(l.queues, id, now, f[:], true)
			}
			if i >= rounds-lately {
				spent += time.Since(began)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		b.ReportMetric(float64(spent.Microseconds())/1000/float64(lately), "ms/reading")
		rows := make([]Queue, queues)
		for i := range rows {
			rows[i].ID = fact.QueueID(i)
			rows[i].Stats = &vhost.QueueStats{}
			rows[i].Stats.Died[vhost.AtMostOnce][fact.Rejected] = f[atDied]
		}
		s.mu.last = now
		began := time.Now()
		if all := s.deathSources(1, deathRanges[len(deathRanges)-1], rows); len(all) != sourcesMax {
			b.Fatal(all)
		}
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms-sources-of-a-day")
	}
}
