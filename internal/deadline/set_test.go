package deadline

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// model is the slow and obvious set: a sorted slice.
type model []Entry

func (m *model) add(e Entry) bool {
	i, found := slices.BinarySearchFunc(*m, e, Entry.Compare)
	if !found {
		*m = slices.Insert(*m, i, e)
	}
	return !found
}

func (m *model) remove(e Entry) bool {
	i, found := slices.BinarySearchFunc(*m, e, Entry.Compare)
	if found {
		*m = slices.Delete(*m, i, i+1)
	}
	return found
}

func (m *model) popDue(now Instant) (Entry, bool) {
	if len(*m) == 0 || (*m)[0].At > now {
		return Entry{}, false
	}
	e := (*m)[0]
	*m = slices.Delete(*m, 0, 1)
	return e, true
}

// check holds the invariants of the package comment against s.
func check(t testing.TB, s *Set) {
	t.Helper()
	var prev Entry
	size := 0
	separated := func(what string, i int, sep, first Entry) {
		if i > 0 && (first.less(sep) || !prev.less(sep)) {
			t.Fatalf("%s %d: separator %v is not between %v and %v", what, i, sep, prev, first)
		}
	}
	for bi, b := range s.root.kids {
		if len(b.kids) == 0 || len(b.kids) > branchMax || len(b.kids) != len(b.seps) {
			t.Fatalf("branch %d: %d leaves, %d separators", bi, len(b.kids), len(b.seps))
		}
		for li, l := range b.kids {
			if l.lo >= l.hi || l.hi > leafMax {
				t.Fatalf("leaf %d/%d: bounds %d, %d", bi, li, l.lo, l.hi)
			}
			separated("leaf", li, b.seps[li], l.first())
			if li == 0 {
				separated("branch", bi, s.root.seps[bi], l.first())
			}
			for _, e := range l.live() {
				if size > 0 && !prev.less(e) {
					t.Fatalf("leaf %d/%d: %v after %v", bi, li, e, prev)
				}
				prev = e
				size++
			}
		}
	}
	if size != s.Len() {
		t.Fatalf("Len is %d, the leaves hold %d", s.Len(), size)
	}
	if len(s.spare) > spareMax {
		t.Fatalf("%d spare leaves", len(s.spare))
	}
}

func same(t testing.TB, s *Set, m model) {
	t.Helper()
	var got []Entry
	s.Ascend(Entry{}, func(e Entry) bool { got = append(got, e); return true })
	if !slices.Equal(got, []Entry(m)) {
		t.Fatalf("set holds %d entries, model %d, or they differ", len(got), len(m))
	}
}

func TestOrderOfEqualInstants(t *testing.T) {
	// Broken if deadlines of one instant came out in another order than owner, then item.
	t.Parallel()
	var s Set
	want := []Entry{{1, 9, 9}, {2, 1, 5}, {2, 1, 6}, {2, 2, 0}, {3, 0, 0}}
	for _, i := range []int{3, 1, 4, 0, 2} {
		if !s.Add(want[i]) {
			t.Fatalf("Add(%v) says it was there", want[i])
		}
	}
	if s.Add(want[2]) {
		t.Fatal("adding an entry again says it is new")
	}
	if e, ok := s.Min(); !ok || e != want[0] {
		t.Fatalf("Min is %v, %v", e, ok)
	}
	if _, ok := s.PopDue(0); ok {
		t.Fatal("an entry came out before its instant")
	}
	for _, w := range want {
		if e, ok := s.PopDue(w.At); !ok || e != w {
			t.Fatalf("PopDue gives %v, %v, want %v", e, ok, w)
		}
	}
	if _, ok := s.PopDue(1 << 60); ok || s.Len() != 0 {
		t.Fatal("something is left")
	}
}

func TestEmptySet(t *testing.T) {
	// Broken if the zero value were not ready for every call.
	t.Parallel()
	var s Set
	if _, ok := s.Min(); ok {
		t.Error("Min of nothing")
	}
	if _, ok := s.PopDue(1); ok {
		t.Error("PopDue of nothing")
	}
	if s.Remove(Entry{At: 1}) {
		t.Error("Remove of nothing")
	}
	s.Ascend(Entry{}, func(Entry) bool { t.Error("Ascend of nothing"); return true })
	check(t, &s)
}

func TestRandomWalkAgainstModel(t *testing.T) {
	// Broken if any mix of additions, removals and pops made the set differ from a sorted slice.
	t.Parallel()
	for _, seed := range []uint64{1, 2, 3, 4, rand.Uint64()} {
		t.Logf("seed %d", seed)
		walk(t, rand.New(rand.NewPCG(seed, 0)))
	}
}

func walk(t *testing.T, r *rand.Rand) {
	var s Set
	var m model
	var added, refused, removed, absent, popped, early int
	streams := []Instant{0, 5_000, 60_000}
	for step := range 60_000 {
		e := Entry{Instant(r.IntN(100_000)), uint64(r.IntN(3)), uint64(r.IntN(4))}
		adding := (step/10_000)%3 != 2 // two phases of growth, one of shrinking
		switch k := r.IntN(10); {
		case k < 3 && adding: // one of several rising streams
			i := r.IntN(len(streams))
			streams[i] += Instant(r.IntN(4))
			e.At = streams[i]
			fallthrough
		case k < 6 && adding:
			got, want := s.Add(e), m.add(e)
			if got != want {
				t.Fatalf("step %d: Add(%v) is %v", step, e, got)
			}
			count(got, &added, &refused)
		case k < 8:
			if len(m) > 0 && k < 7 || !adding && len(m) > 0 {
				e = m[r.IntN(len(m))]
			}
			got, want := s.Remove(e), m.remove(e)
			if got != want {
				t.Fatalf("step %d: Remove(%v) is %v", step, e, got)
			}
			count(got, &removed, &absent)
		default:
			now := Instant(r.IntN(20_000) - 10_000)
			if len(m) > 0 {
				now = m[0].At - Instant(r.IntN(2))
			}
			got, ok := s.PopDue(now)
			want, wok := m.popDue(now)
			if got != want || ok != wok {
				t.Fatalf("step %d: PopDue(%d) is %v %v, want %v %v", step, now, got, ok, want, wok)
			}
			count(ok, &popped, &early)
		}
		if step%997 == 0 {
			check(t, &s)
			same(t, &s, m)
		}
	}
	check(t, &s)
	same(t, &s, m)
	for name, n := range map[string]int{"added": added, "refused": refused, "removed": removed, "absent": absent, "popped": popped, "early": early} {
		if n == 0 {
			t.Errorf("the walk never saw the outcome %q", name)
		}
	}
}

func count(ok bool, yes, no *int) {
	if ok {
		*yes++
	} else {
		*no++
	}
}

func TestManyBranches(t *testing.T) {
	// Broken if the floors above the leaves were split or joined wrongly.
	t.Parallel()
	const n = 3 * branchMax * leafMax / 2
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for name, order := range map[string][]int{"random": r.Perm(n), "rising": rising(n), "falling": falling(n)} {
		t.Run(name, func(t *testing.T) {
			var s Set
			for _, i := range order {
				s.Add(Entry{At: Instant(i)})
			}
			check(t, &s)
			if len(s.root.kids) < 2 {
				t.Fatalf("%d branches: the test is too small", len(s.root.kids))
			}
			gone := r.Perm(n)[:n-n/50]
			for _, i := range gone {
				if !s.Remove(Entry{At: Instant(i)}) {
					t.Fatalf("%d is missing", i)
				}
			}
			check(t, &s)
			if s.Len() != n/50 {
				t.Fatalf("%d are left, want %d", s.Len(), n/50)
			}
			leaves := 0
			for _, b := range s.root.kids {
				leaves += len(b.kids)
			}
			if most := 4 * s.Len() / leafMax; leaves > most {
				t.Errorf("%d leaves for %d entries, want at most %d: emptied leaves are not given back", leaves, s.Len(), most)
			}
			for s.Len() > 0 {
				s.PopDue(n)
			}
			check(t, &s)
		})
	}
}

func rising(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

func falling(n int) []int {
	p := rising(n)
	slices.Reverse(p)
	return p
}

func TestAscendFromTheMiddle(t *testing.T) {
	// Broken if a listing that continues at an entry skipped or repeated one.
	t.Parallel()
	var s Set
	for i := range 2000 {
		s.Add(Entry{At: Instant(2 * i)})
	}
	for _, from := range []Instant{-1, 0, 1, 680, 681, 682, 3998, 3999, 5000} {
		want := max(0, (from+1)/2)
		got := 0
		s.Ascend(Entry{At: from}, func(e Entry) bool {
			if e.At != 2*want {
				t.Fatalf("from %d: got %d, want %d", from, e.At, 2*want)
			}
			want++
			got++
			return got < 700
		})
		if left := 2000 - int(max(0, (from+1)/2)); got != max(0, min(700, left)) {
			t.Fatalf("from %d: %d entries", from, got)
		}
	}
}

func TestRisingStreamsFillLeaves(t *testing.T) {
	// Broken if queues with different TTLs, each adding in rising order, left half-empty leaves behind.
	t.Parallel()
	var s Set
	const n = 200_000
	for i := range n {
		s.Add(Entry{At: Instant(i), Owner: 1})
		s.Add(Entry{At: Instant(i + 1_000_000), Owner: 2})
		s.Add(Entry{At: Instant(i + 500_000), Owner: 3})
	}
	leaves := 0
	for _, b := range s.root.kids {
		leaves += len(b.kids)
	}
	if fill := float64(3*n) / float64(leaves*leafMax); fill < 0.95 {
		t.Errorf("leaves are %.0f%% full, want 95%%", 100*fill)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	// Broken if a queue whose messages come and expire at the same rate cost an allocation each.
	var s Set
	at := Instant(0)
	for range 100_000 {
		at++
		s.Add(Entry{At: at})
	}
	avg := testing.AllocsPerRun(100_000, func() {
		at++
		s.Add(Entry{At: at})
		s.PopDue(at)
	})
	if avg != 0 {
		t.Errorf("%v allocations per message", avg)
	}
}

func FuzzSet(f *testing.F) {
	// Broken if some sequence of calls made the set differ from a sorted slice.
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, ops []byte) {
		var s Set
		var m model
		for len(ops) >= 3 {
			e := Entry{At: Instant(ops[1]), Item: uint64(ops[2])}
			switch ops[0] % 4 {
			case 0:
				if s.Add(e) != m.add(e) {
					t.Fatalf("Add(%v)", e)
				}
			case 1: // a run, so that leaves overflow
				for i := range 64 {
					e.Owner = uint64(i)
					if s.Add(e) != m.add(e) {
						t.Fatalf("Add(%v)", e)
					}
				}
			case 2:
				if s.Remove(e) != m.remove(e) {
					t.Fatalf("Remove(%v)", e)
				}
			case 3:
				for range ops[2] {
					got, ok := s.PopDue(e.At)
					want, wok := m.popDue(e.At)
					if got != want || ok != wok {
						t.Fatalf("PopDue(%d)", e.At)
					}
				}
			}
			ops = ops[3:]
		}
		check(t, &s)
		same(t, &s, m)
	})
}

func TestJoinedBranchesKeepTheirSeparators(t *testing.T) {
	// Broken if an entry that went below a branch's unused first separator were out of reach once that branch is joined
	// with its left neighbour, where the separator counts.
	t.Parallel()
	const n = branchMax * leafMax
	var s Set
	for i := range 2 * n {
		s.Add(Entry{At: Instant(i)})
	}
	remove := func(from, to int) {
		for i := from; i < to; i++ {
			if !s.Remove(Entry{At: Instant(i)}) {
				t.Fatalf("%d is missing", i)
			}
		}
	}
	remove(n, n+leafMax) // the first leaf of the second branch
	s.Add(Entry{At: n + 5})
	remove(leafMax, n-leafMax)
	remove(n+2*leafMax, 2*n-leafMax)
	if len(s.root.kids) != 1 {
		t.Fatalf("%d branches, want them joined", len(s.root.kids))
	}
	check(t, &s)
	if s.Add(Entry{At: n + 5}) || !s.Remove(Entry{At: n + 5}) {
		t.Error("the entry is out of reach")
	}
}
