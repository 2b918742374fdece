package perf

import (
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestGateHoldsBack(t *testing.T) {
	// If this fails, publishers run past their limit, or stand still although there is space.
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(16)
		if n, ok := g.acquire(10); n != 10 || !ok {
			t.Fatalf("%d, %v", n, ok)
		}
		if n, ok := g.acquire(10); n != 6 || !ok {
			t.Fatalf("a part: %d, %v", n, ok)
		}
		var got atomic.Int64
		go func() {
			n, _ := g.acquire(10)
			got.Store(int64(n))
		}()
		synctest.Wait()
		g.release(1)
		synctest.Wait()
		if got.Load() != 0 {
			t.Error("woken for a single place")
		}
		g.release(1)
		synctest.Wait()
		if got.Load() != 2 || g.held() != 16 {
			t.Errorf("%d places, %d held", got.Load(), g.held())
		}
		go func() {
			_, ok := g.acquire(1)
			got.Store(-1)
			if ok {
				t.Error("a closed gate lets through")
			}
		}()
		synctest.Wait()
		g.close()
		synctest.Wait()
		if got.Load() != -1 {
			t.Error("a closed gate makes wait")
		}
	})
}

func TestGateWithoutLimit(t *testing.T) {
	// If this fails, a run without confirms or cap stands still.
	t.Parallel()
	g := newGate(0)
	for range 3 {
		if n, ok := g.acquire(1 << 30); n != 1<<30 || !ok {
			t.Fatalf("%d, %v", n, ok)
		}
	}
	g.close()
	if _, ok := g.acquire(1); ok {
		t.Error("a closed gate lets through")
	}
}

func TestConfirmsPairAnswers(t *testing.T) {
	// If this fails, confirms are counted twice or not at all, or latencies belong to other messages.
	t.Parallel()
	const ms = int64(time.Millisecond)
	c := newConfirms(8)
	settle := func(tag uint64, multiple, nacked bool, at int64, want int) {
		t.Helper()
		if n := c.settle(settled{tag: tag, multiple: multiple, nacked: nacked}, at, 2*ms); n != want {
			t.Errorf("%d settled, want %d", n, want)
		}
	}
	c.note(3, 1*ms) // 1 to 3, while warming up
	c.note(3, 2*ms) // 4 to 6
	settle(5, false, false, 7*ms, 1)
	settle(5, false, false, 7*ms, 0) // again
	settle(4, true, false, 4*ms, 4)
	settle(4, true, false, 4*ms, 0)
	settle(7, true, false, 4*ms, 0) // not sent yet
	c.note(6, 10*ms)                // 7 to 12 go round
	settle(7, false, true, 13*ms, 1)
	settle(0, true, false, 14*ms, 6) // all that is left: 6, 8 to 12
	latency, nacked, unknown := c.account()
	if latency.TotalCount() != 9 || nacked != 1 || unknown != 3 {
		t.Errorf("%d latencies, %d nacked, %d unknown", latency.TotalCount(), nacked, unknown)
	}
	for q, want := range map[float64]int64{10: 2, 20: 3, 50: 4, 90: 5, 100: 12} {
		if got := latency.ValueAtQuantile(q); got/ms != want && (got+ms/100)/ms != want {
			t.Errorf("quantile %v: %d ns, want %d ms", q, got, want)
		}
	}
}

func TestPaceKeepsItsSchedule(t *testing.T) {
	// If this fails, the rate is not the one asked for, or a late sender is excused from what it missed.
	t.Parallel()
	var stop atomic.Bool
	for _, c := range []struct {
		rate   float64
		tick   time.Duration
		period int64
		counts []int
	}{
		{5000, 0, 200_000, []int{1, 1, 1}},
		{5000, time.Millisecond, 1_000_000, []int{5, 5, 5}},
		{25_000, 0, 100_000, []int{2, 3, 2, 3}},
		{15_000, 0, 100_000, []int{1, 2, 1, 2}},
		{300, time.Millisecond, 1_000_000, []int{0, 0, 0, 1, 0, 0, 1, 0, 0, 1}},
	} {
		p := newPace(c.rate, c.tick, -int64(time.Hour)) // far behind: it does not wait
		for tick, want := range c.counts {
			if want == 0 {
				continue
			}
			n, at := p.next(&stop)
			if due := p.start + int64(tick)*c.period; n != want || at != due {
				t.Errorf("rate %v: %d at %d, want %d at %d", c.rate, n, at-p.start, want, due-p.start)
			}
		}
	}
	stop.Store(true)
	if n, _ := newPace(1, 0, int64(time.Hour)).next(&stop); n != 0 {
		t.Error("a stopped pace goes on")
	}
}

func TestManyPacedPublishersShareThreads(t *testing.T) {
	// If this fails, a run with 10,000 publishers ends because the process has too many threads.
	before := pprof.Lookup("threadcreate").Count()
	code, r := runMain(t, startFake(t), "30s", "latency", "-publishers", "400", "-count", "1200", "-rate", "4000")
	if made := pprof.Lookup("threadcreate").Count() - before; code != exitDone || r.Books.Received != 1200 || made >= threadsMax {
		t.Errorf("exit code %d, %+v, %d threads", code, r.Books, made)
	}
}
