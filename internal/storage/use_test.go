package storage

import (
	"math/rand/v2"
	"testing"
)

// TestUse says that what is in use is not counted, or that nothing of it is counted any more while something is.
func TestUse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		dice := rand.New(rand.NewPCG(seed, 3))
		u := Use{Grain: 500}
		var live []Ref
		next := Index(1)
		for step := range 3000 {
			switch n := dice.IntN(10); {
			case n < 4 || len(live) == 0:
				next += Index(dice.IntN(3))
				live = append(live, Ref{Index: next, Size: 1 + dice.Uint32N(200)})
				u.Retain(live[len(live)-1])
			case n < 5: // one more reference to something that has one
				live = append(live, live[dice.IntN(len(live))])
				u.Retain(live[len(live)-1])
			default:
				i := dice.IntN(len(live))
				if dice.IntN(3) == 0 {
					i = 0
				}
				u.Release(live[i])
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
			}
			if step == 1500 {
				var restored Use
				restored.Restore(u.Ranges(), next)
				restored.Grain = 500
				u = restored
			}
			ranges := u.Ranges()
			first := Index(dice.IntN(int(next) + 2))
			last := first + Index(dice.IntN(100))
			for _, span := range [2][2]Index{{first, last}, {0, next}} {
				var n, all int64
				for _, r := range live {
					if all += int64(r.Size); span[0] <= r.Index && r.Index <= span[1] {
						n += int64(r.Size)
					}
				}
				got := Bytes(ranges, span[0], span[1])
				if got < n || got > all || n > 0 && got == 0 {
					t.Fatalf("seed %d, step %d: batches %d to %d: %d bytes in use of %d, not %d", seed, step, span[0], span[1], got, all, n)
				}
				if span == [2]Index{0, next} && got != n {
					t.Fatalf("seed %d, step %d: %d bytes are in use in all, not %d", seed, step, got, n)
				}
			}
		}
	}
}

// BenchmarkUse is a message that comes and goes behind a gigabyte of others.
func BenchmarkUse(b *testing.B) {
	var u Use
	for i := range Index(1 << 20) {
		u.Retain(Ref{Index: i + 1, Size: 1024})
	}
	i, oldest := Index(1<<20), Index(1)
	for b.Loop() {
		i++
		u.Retain(Ref{Index: i, Size: 1024})
		u.Release(Ref{Index: oldest, Size: 1024})
		oldest++
	}
}
