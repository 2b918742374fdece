package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestFullConsumersAreNotLookedAtAgain says that each message goes through all consumers that have no credit: who
// attaches very many to a queue would keep all others of the virtual host waiting.
func TestFullConsumersAreNotLookedAtAgain(t *testing.T) {
	t.Parallel()
	const n, rounds = 10_000, 1000
	for _, kind := range []string{"one priority", "a priority each", "single", "single, ranked"} {
		var c crowd
		c.SetSingle(kind != "one priority" && kind != "a priority each", kind == "single, ranked")
		var all []*Consumer
		for i := range n {
			x := &Consumer{Tag: fmt.Sprint(i), Own: Limit{Max: 1}, Shared: &c.shared, Window: &c.window}
			if kind == "a priority each" || kind == "single" {
				x.Priority = int64(-i)
			}
			c.Add(x)
			all = append(all, x)
		}
		for x := c.Next(); x != nil; x = c.Next() {
			x.Own.Used++
		}
		c.Vain()
		for i := range rounds {
			x := all[i*7%n]
			if c.single {
				x = c.active
			}
			x.Own.Used--
			c.Settled(x)
			if got := c.Next(); got != x {
				t.Fatalf("%s: a message went to %v, not to %q", kind, got, x.Tag)
			}
			x.Own.Used++
			if c.Next() != nil {
				t.Fatalf("%s: somebody has room", kind)
			}
		}
		if vain := c.Vain(); vain > 2*rounds {
			t.Errorf("%s: %d messages looked at %d consumers in vain", kind, rounds, vain)
		}
		for i := range rounds { // they leave
			if !c.Remove(all[i]) {
				t.Fatal("it was not there")
			}
			if x := c.Next(); x != nil {
				x.Own.Used++
			}
		}
		if vain := c.Vain(); vain > 2*n+2*rounds && kind != "single" || vain > (rounds+3)*n {
			t.Errorf("%s: %d consumers that leave made others be looked at %d times", kind, rounds, vain)
		}
		c.WakeAll()
		if c.Next() != nil && !c.single {
			t.Errorf("%s: somebody has room", kind)
		}
		if vain := c.Vain(); vain > 2*n {
			t.Errorf("%s: %d consumers are looked at %d times", kind, n, vain)
		}
	}
}

// slowNext is Next that looks at all consumers.
func (cs *Consumers) slowNext(turn int) (best *Consumer, next int) {
	n := len(cs.all)
	for k := range n {
		i := (turn + k) % n
		if c := cs.all[i]; c.Can() && (best == nil || c.Priority > best.Priority) {
			best, next = c, i+1
		}
	}
	return best, next
}

// TestNextIsWhoComesNext says that a consumer is passed over, or served before it is its turn.
func TestNextIsWhoComesNext(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		dice := rand.New(rand.NewPCG(seed, 5))
		var cs Consumers
		limits := make([]Limit, 4)
		for i := range limits {
			limits[i].Max = int64(dice.IntN(60))
		}
		var all, holders []*Consumer
		for step := range 4000 {
			switch p := dice.IntN(20); {
			case p < 3 && len(all) < 300:
				x := &Consumer{
					Tag: fmt.Sprint(step), Own: Limit{Max: int64(dice.IntN(3))}, NoAck: dice.IntN(9) == 0,
					Priority: int64(dice.IntN(1 + int(seed%4))), Shared: &limits[dice.IntN(2)], Window: &limits[2+dice.IntN(2)],
				}
				cs.Add(x)
				all = append(all, x)
			case p < 5 && len(all) > 0:
				i := dice.IntN(len(all))
				if !cs.Remove(all[i]) {
					t.Fatal("it was not there")
				}
				all = append(all[:i], all[i+1:]...)
			case p < 10 && len(holders) > 0:
				i := dice.IntN(len(holders))
				x := holders[i]
				holders = append(holders[:i], holders[i+1:]...)
				shared := !x.Shared.Open()
				x.Own.Used--
				x.Shared.Used--
				if cs.Settled(x); shared {
					cs.WakeAll()
				}
			case p == 10:
				limits[2].Used, limits[3].Used = 0, 0
				cs.WakeAll()
			case p == 11 && dice.IntN(10) == 0:
				cs.All()
			default:
				turn := cs.turn
				if turn >= len(cs.all) {
					turn = 0
				}
				want, next := cs.slowNext(turn)
				got := cs.Next()
				if got != want || got != nil && cs.turn != next {
					t.Fatalf("seed %d, step %d: %v is next, not %v", seed, step, got, want)
				}
				if got == nil {
					continue
				}
				if got.Window.Used++; !got.NoAck {
					got.Own.Used++
					got.Shared.Used++
					holders = append(holders, got)
				}
			}
		}
	}
}

// BenchmarkConsumers is one message for a queue: it is handed over, and comes back.
func BenchmarkConsumers(b *testing.B) {
	for _, n := range []int{1, 3, 20, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var c crowd
			for range n {
				c.Add(&Consumer{Own: Limit{Max: 2}, Shared: &c.shared, Window: &c.window})
			}
			for b.Loop() {
				x := c.Next()
				x.Own.Used++
				x.Own.Used--
				c.Settled(x)
			}
		})
	}
}
