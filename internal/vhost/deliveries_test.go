package vhost

import (
	"math/rand/v2"
	"testing"
)

// TestDeliveriesModel says that a delivery is not found by its tag, found when it is settled, or passed by: against
// a map, with tags that acks never see between.
func TestDeliveriesModel(t *testing.T) {
	t.Parallel()
	const seed = 11
	dice := rand.New(rand.NewPCG(seed, seed))
	var d deliveries
	q, model := &queueState{}, map[uint64]bool{}
	next := func(from uint64) uint64 {
		for tag := from; tag <= d.last; tag++ {
			if model[tag] {
				return tag
			}
		}
		return 0
	}
	for step := range 20_000 {
		tag := 1 + dice.Uint64N(d.last+2)
		switch n := dice.IntN(10); {
		case n < 3 || n < 5 && step%4000 < 2000: // a list that grows, then one that shrinks
			given := d.tag()
			if dice.IntN(4) > 0 {
				d.add(given, delivery{queue: q})
				model[given] = true
			}
		case n < 9:
			if n < 7 {
				tag = next(0)
			}
			if model[tag] {
				d.remove(tag)
				delete(model, tag)
			}
		}
		if x := d.at(tag); (x != nil) != model[tag] || x != nil && x.tag != tag {
			t.Fatalf("seed %d, step %d: at(%d) is %v, held %t", seed, step, tag, x, model[tag])
		}
		want := next(tag)
		if x := d.from(tag); (x != nil) != (want != 0) || x != nil && x.tag != want {
			t.Fatalf("seed %d, step %d: from(%d) is %v, want %d", seed, step, tag, x, want)
		}
		if d.open != len(model) {
			t.Fatalf("seed %d, step %d: %d open, want %d", seed, step, d.open, len(model))
		}
	}
}

// TestDeliveriesTakeWhatIsOpen says that one message which a client holds for long costs the memory of all those
// that pass it by.
func TestDeliveriesTakeWhatIsOpen(t *testing.T) {
	t.Parallel()
	var d deliveries
	q := &queueState{}
	d.add(d.tag(), delivery{queue: q})
	for range 100_000 {
		d.tag() // without ack
		tag := d.tag()
		d.add(tag, delivery{queue: q})
		d.remove(tag)
	}
	if most := 4 * settledMin; cap(d.list) > most {
		t.Errorf("room for %d deliveries, though only one is open; want at most %d", cap(d.list), most)
	}
	if d.at(1) == nil {
		t.Error("the one that is open is not found")
	}
}
