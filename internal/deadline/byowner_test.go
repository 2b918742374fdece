package deadline

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestByOwnerAgainstModel(t *testing.T) {
	// Broken if an owner's entries came in another order than by instant, then item, if those of another came among
	// them, or if a walk that begins in the middle left one out.
	t.Parallel()
	for _, seed := range []uint64{1, 2, rand.Uint64()} {
		t.Logf("seed %d", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		var s ByOwner
		var m []Entry
		owners := []uint64{0, 1, 2, 70, math.MaxInt64}
		draw := func() Entry {
			return Entry{At: Instant(dice.IntN(300)), Owner: owners[dice.IntN(len(owners))], Item: dice.Uint64N(40)}
		}
		for range 20_000 {
			e := draw()
			i, found := slices.BinarySearchFunc(m, e, byOwner)
			switch {
			case dice.IntN(3) > 0:
				if s.Add(e) == found {
					t.Fatalf("Add(%v): it was there: %t", e, found)
				}
				if !found {
					m = slices.Insert(m, i, e)
				}
			case s.Remove(e) != found:
				t.Fatalf("Remove(%v): it was there: %t", e, found)
			case found:
				m = slices.Delete(m, i, i+1)
			}
		}
		check(t, &s.set)
		if s.Len() != len(m) {
			t.Fatalf("%d entries, want %d", s.Len(), len(m))
		}
		for range 500 {
			from, most := draw(), dice.IntN(len(m))
			first, _ := slices.BinarySearchFunc(m, from, byOwner)
			want := m[first:]
			if end := slices.IndexFunc(want, func(e Entry) bool { return e.Owner != from.Owner }); end >= 0 {
				want = want[:end]
			}
			want = want[:min(len(want), most+1)]
			var got []Entry
			s.Ascend(from, func(e Entry) bool { got = append(got, e); return len(got) <= most })
			if !slices.Equal(got, want) {
				t.Fatalf("from %v, %d at the most: %d entries, want %d, or they differ", from, most+1, len(got), len(want))
			}
		}
	}
}

func byOwner(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.At, b.At), cmp.Compare(a.Item, b.Item))
}

func TestByOwnerEmpty(t *testing.T) {
	// Broken if the zero value were not ready for every call, or an owner without entries were shown those of the next.
	t.Parallel()
	var s ByOwner
	fail := func(e Entry) bool { t.Errorf("%v comes", e); return true }
	s.Ascend(Entry{}, fail)
	if s.Remove(Entry{At: 1}) || s.Len() != 0 {
		t.Error("something is there")
	}
	s.Add(Entry{At: 5, Owner: 3})
	s.Ascend(Entry{Owner: 2}, fail)
	s.Ascend(Entry{At: 6, Owner: 3}, fail)
	s.Ascend(Entry{Owner: 4}, fail)
}

// BenchmarkByOwnerNext is to find what is next of one owner among a thousand.
func BenchmarkByOwnerNext(b *testing.B) {
	dice := rand.New(rand.NewPCG(1, 2))
	var s ByOwner
	for i := range 1_000_000 {
		s.Add(Entry{At: Instant(dice.Int64N(1 << 40)), Owner: uint64(i % 1000), Item: uint64(i)})
	}
	b.ReportAllocs()
	found := 0
	for b.Loop() {
		s.Ascend(Entry{Owner: dice.Uint64N(1000)}, func(Entry) bool { found++; return false })
	}
	if found == 0 {
		b.Fatal("none has anything")
	}
}
