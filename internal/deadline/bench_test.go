package deadline

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

var sizes = []int{1_000_000, 10_000_000}

// filled is a set of n entries at random instants, and the bytes of heap it takes per entry.
func filled(n int) (*Set, float64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := rand.New(rand.NewPCG(1, 2))
	s := &Set{}
	for i := range n {
		s.Add(Entry{At: Instant(r.Int64N(1 << 40)), Item: uint64(i)})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	return s, float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
}

func BenchmarkAddRemoveRandom(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, bytes := filled(n)
			r := rand.New(rand.NewPCG(3, 4))
			b.ResetTimer()
			for range b.N {
				e := Entry{At: Instant(r.Int64N(1 << 40))}
				s.Add(e)
				s.Remove(e)
			}
			b.ReportMetric(bytes, "B/entry")
		})
	}
}

func BenchmarkAddPopRandom(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, bytes := filled(n)
			r := rand.New(rand.NewPCG(3, 4))
			b.ResetTimer()
			for range b.N {
				s.Add(Entry{At: Instant(r.Int64N(1 << 40)), Owner: 1})
				s.PopDue(1 << 40)
			}
			b.ReportMetric(bytes, "B/entry")
		})
	}
}

func BenchmarkAppendPop(b *testing.B) {
	var s Set
	at := Instant(0)
	for range 1_000_000 {
		at++
		s.Add(Entry{At: at})
	}
	for b.Loop() {
		at++
		s.Add(Entry{At: at})
		s.PopDue(at)
	}
}
