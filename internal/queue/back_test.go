package queue

import (
	"slices"
	"testing"
)

// If it failed, a look at a queue from its newest end would miss messages, or show them out of order, wherever they
// are.
func TestEachBack(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{1 << 20, 300} { // all in memory; nearly all in pages
		pool := NewPool(&memoryPages{}, testLog, budget, ignoreDisarmed)
		m := NewMessages(pool, 1, true, 2)
		var want []Seq
		for i := range 2000 {
			s := m.Next(uint8(i % 3))
			m.Push(s, Entry{BodyBytes: uint32(i), Flags: Persistent})
			want = append(want, s)
		}
		for i := 0; i < len(want); i += 7 {
			m.Remove(want[i])
		}
		kept := want[:0]
		for i, s := range want {
			if i%7 != 0 {
				kept = append(kept, s)
			}
		}
		pool.Trim(1)
		slices.Sort(kept)
		slices.Reverse(kept)
		var got []Seq
		m.EachBack(m.Ends()[2], func(s Seq, _ *Entry) bool { got = append(got, s); return true })
		if !slices.Equal(got, kept) {
			t.Fatalf("of %d entries %d came, or in another order", len(kept), len(got))
		}
		from, rest := kept[900], []Seq(nil)
		m.EachBack(from, func(s Seq, _ *Entry) bool { rest = append(rest, s); return len(rest) < 10 })
		if !slices.Equal(rest, kept[901:911]) {
			t.Fatalf("below %d come %v, want %v", from, rest, kept[901:911])
		}
	}
}

// If it failed, a look at what gets would take next would count other messages than those, or read more of a queue than
// it may.
func TestEachReadyIsInTheOrderOfDelivery(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{1 << 20, 300} { // all in memory; nearly all in pages
		pool := NewPool(&memoryPages{}, testLog, budget, ignoreDisarmed)
		m := NewMessages(pool, 1, true, 2)
		for i := range 3000 {
			m.Push(m.Next(uint8(i%3)), Entry{BodyBytes: uint32(i), Flags: Persistent})
		}
		var taken []Seq
		for range 700 {
			s, _, _ := m.Head()
			m.Take(s)
			taken = append(taken, s)
		}
		for i := 0; i < len(taken); i += 5 {
			m.Return(taken[i])
		}
		pool.Trim(1)
		var seen []Seq
		m.EachReady(1000, func(s Seq, _ *Entry) bool { seen = append(seen, s); return true })
		few := 0
		m.EachReady(2, func(Seq, *Entry) bool { few++; return true })
		if few == 0 || few > 2*chunkLen {
			t.Errorf("two chunks have %d entries", few)
		}
		if len(seen) != m.Ready() {
			t.Errorf("%d of %d ready entries were visited", len(seen), m.Ready())
		}
		for i, s := range seen {
			if head, _, _ := m.Head(); head != s {
				t.Fatalf("the %d. is %d, but %d is delivered", i, s, head)
			}
			m.Take(s)
		}
	}
}
