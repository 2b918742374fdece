package stats

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
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
	tr := h.trend(2, always, func(f int) span { return []span{{}, {20 * second, 10 * second}}[f] })
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
	if r := none.trend(1, always, func(int) span { return span{second, second} }); r.Of(0).Samples != nil {
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

// always are readings of all times.
var always = runs{{0, 1 << 62}}

func TestCountersThatRestart(t *testing.T) {
	// If this fails, a restart shows as a fall, a negative rate, or as much traffic as there ever was.
	t.Parallel()
	const second, gauge, counter = 1000, 1, 0
	minute := kept([2]time.Duration{time.Minute, 5 * time.Second})
	var h history
	for i := range int64(6) {
		h.note((100+5*i)*second, []uint64{uint64(10 * i), 7}, minute)
	}
	h.restart(gauge)
	rate := func() api.Rate {
		trend := h.trend(2, always, func(int) span { return span{60 * second, 5 * second} })
		return trend.Of(counter)
	}
	h.note(185*second, []uint64{4, 3}, minute)
	if r := rate(); r.Rate != 0 || r.Samples[0].Sample != 54 {
		t.Errorf("right after: %+v", r)
	}
	h.note(190*second, []uint64{9, 2}, minute)
	r := rate()
	if r.Rate != 1 || r.Samples[0].Sample != 59 || r.Samples[2].Sample != 50 {
		t.Errorf("then: %+v", r)
	}
	table := h.at([]int64{190 * second, 125 * second, 100 * second})
	if table.of(gauge, 0) != 2 || table.of(gauge, 1) != 7 {
		t.Errorf("the gauge was %d, is %d", table.of(gauge, 1), table.of(gauge, 0))
	}
	if n := table.grown(counter, 1, table.now(counter, 9)); n != 9 {
		t.Errorf("it grew by %d since it restarted", n)
	}
	if n := table.grown(counter, 2, table.now(counter, 9)); n != 59 {
		t.Errorf("it grew by %d in all", n)
	}
	if n := table.grown(counter, 0, table.now(counter, 3)); n != 3 {
		t.Errorf("restarted again, which no reading has seen yet, it grew by %d", n)
	}
}

func TestRuns(t *testing.T) {
	// If this fails, charts draw zeros for times when the broker did not run, or leave out times when it did.
	t.Parallel()
	var r runs
	for _, at := range []struct {
		at    int64
		begin bool
	}{{100, true}, {105, false}, {200, true}, {210, false}} {
		r.note(at.at, at.begin)
	}
	for at, want := range map[int64]bool{
		99: false, 100: true, 103: true, 106: false, 199: false, 210: true, 211: false,
	} {
		if r.cover(at) != want {
			t.Errorf("%d is covered: %t", at, !want)
		}
	}
	if got := r.gaps(0, 300); len(got) != 1 || got[0] != (run{105, 200}) {
		t.Errorf("gaps %v", got)
	}
	if got := r.gaps(150, 300); len(got) != 1 || got[0] != (run{150, 200}) {
		t.Errorf("gaps of a part %v", got)
	}
	for from, want := range map[int64]int64{0: 100, 102: 102, 150: 200, 205: 205, 220: 300} {
		if got := r.since(from, 300); got != want {
			t.Errorf("from %d it is counted since %d, want %d", from, got, want)
		}
	}
	r.thin(150)
	if len(r) != 1 || r.cover(100) {
		t.Errorf("left: %v", r)
	}
	for i := range int64(2 * runsMax) {
		r.note(1000+10*i, true)
	}
	if len(r) != runsMax {
		t.Errorf("%d runs are remembered", len(r))
	}
}

func TestNoSamplesOfTimesThatAreNotKnown(t *testing.T) {
	// If this fails, the charts of a fresh broker draw zeros of hours before it was there.
	t.Parallel()
	const second = 1000
	minute := kept([2]time.Duration{time.Minute, 5 * time.Second})
	of := func(h *history, covered runs) (at []int64) {
		trend := h.trend(1, covered, func(int) span { return span{30 * second, 10 * second} })
		for _, s := range trend.Of(0).Samples {
			at = append(at, s.Timestamp/second)
		}
		return at
	}
	for _, c := range []struct {
		name    string
		zero    bool // it was not there before
		covered runs
		want    []int64
	}{
		{"a fresh broker", false, runs{{100 * second, 110 * second}}, []int64{110, 100}},
		{"a new queue of an old broker", true, runs{{50 * second, 110 * second}}, []int64{110, 100, 90, 80}},
		{"a new queue of a new broker", true, runs{{90 * second, 110 * second}}, []int64{110, 100, 90}},
		{"a broker that was down", true, runs{{80 * second, 85 * second}, {95 * second, 110 * second}},
			[]int64{110, 100, 80}},
	} {
		h := history{fromZero: c.zero}
		h.note(100*second, []uint64{1}, minute)
		h.note(110*second, []uint64{2}, minute)
		if got := of(&h, c.covered); !slices.Equal(got, c.want) {
			t.Errorf("%s: samples of %v, want %v", c.name, got, c.want)
		}
	}
	if got := of(&history{fromZero: true, last: 110 * second}, runs{{100 * second, 110 * second}}); len(got) != 2 {
		t.Errorf("what was not there: %v", got)
	}
}
