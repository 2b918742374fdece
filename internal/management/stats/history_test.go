package stats

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHistory(t *testing.T) {
	// If this fails, charts show what never was, or memory grows with the age of the broker.
	t.Parallel()
	var h history
	const second = 1000
	minute := kept([2]time.Duration{time.Minute, 5 * time.Second})
	for i := range int64(100) {
		figures := []uint64{uint64(min(i, 50)) * 10, uint64(100 - i)}
		h.note((1000+5*i)*second, figures, minute)
	}
	if n := readings(&h); n > 14+24 {
		t.Errorf("%d readings of a minute", n)
	}
	end := int64(1000+5*99) * second
	tr := h.trend(2, func(f int) span { return []span{{}, {20 * second, 10 * second}}[f] })
	if r := tr.Of(0); r.Rate != 0 || r.Samples != nil || r.Avg != nil {
		t.Errorf("what is at rest %+v", r)
	}
	got, err := json.Marshal(tr.Of(1))
	want := `{"rate":-0.2,"samples":[{"sample":1,"timestamp":1495000},{"sample":3,"timestamp":1485000},{"sample":5,"timestamp":1475000}],"avg":3,"avg_rate":-0.2}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	both := tr.Of(1, 1)
	if both.Samples[2].Sample != 10 || *both.Avg != 6 || both.Rate != -0.4 || tr.Of(1).Samples[2].Sample != 5 {
		t.Errorf("added up %+v", both)
	}
	if got := h.at([]int64{end - 30*second}); got.of(1, 0) != 7 {
		t.Errorf("between: %+v", got)
	}
	// At rest nothing is kept but the last.
	for i := range int64(60) {
		h.note(end+5*i*second, []uint64{1, 1}, minute)
	}
	if got := h.at([]int64{end + 295*second}); readings(&h) != 1 || len(h.steps) != 0 || got.of(0, 0) != 1 {
		t.Errorf("at rest %d readings, %+v", readings(&h), got)
	}
	var none history
	if r := none.trend(1, func(int) span { return span{second, second} }); r.Of(0).Samples != nil {
		t.Errorf("of nothing %+v", r)
	}
}

func readings(h *history) (n int) {
	for range h.back() {
		n++
	}
	return n
}

func TestHistoryOfDays(t *testing.T) {
	// If this fails, the charts of hours show what never was, or take ever more memory.
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	type reading struct {
		at      int64
		figures [queueFigures]uint64
	}
	var all []reading
	var h history
	now := int64(1_795_000_000_000)
	var f [queueFigures]uint64
	for range 30 * 720 {
		now += 5000 + random.Int64N(7) - 3
		for i := range f {
			switch {
			case i < 5:
				f[i] += random.Uint64N(1000)
			case i == int(AtReady):
				f[i] = random.Uint64N(1 << 40)
			case random.IntN(1000) == 0:
				f[i] += random.Uint64N(1 << uint(random.IntN(64)))
			}
		}
		h.note(now, f[:], WholeKept)
		all = append(all, reading{now, f})
	}
	if n := readings(&h); n > 300 || cap(h.steps) > 12_000 {
		t.Errorf("%d readings in %d bytes", n, cap(h.steps))
	}
	for _, x := range []struct{ age, incr time.Duration }{
		{time.Minute, 5 * time.Second}, {10 * time.Minute, 10 * time.Second}, {time.Hour, time.Minute}, {8 * time.Hour, 10 * time.Minute}, {24 * time.Hour, 30 * time.Minute},
	} {
		table := h.at(span{x.age.Milliseconds(), x.incr.Milliseconds()}.instants(now))
		if table.known != len(table.at) || len(table.at) < int(x.age/x.incr) {
			t.Fatalf("of %v %d of %d instants are known", x.age, table.known, len(table.at))
		}
		for i, when := range table.at {
			j, there := slices.BinarySearchFunc(all, when, func(r reading, at int64) int { return cmp.Compare(r.at, at) })
			if !there {
				j--
			}
			for f := range queueFigures {
				if got := table.of(f, i); got != all[j].figures[f] {
					t.Fatalf("of %v, %d ms ago, figure %d: %d, want %d", x.age, now-when, f, got, all[j].figures[f])
				}
			}
		}
	}
}
