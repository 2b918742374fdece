package vhost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
)

// waitingWorld is a world in which n messages wait, in the delayed exchanges d0, d1 and so on in turn, for up to an
// hour; all is cold. It returns them, too, in the order in which they fire, without their sizes.
func waitingWorld(tb testing.TB, n, exchanges int, delay func(i int) deadline.Instant) (*world, []ScheduledMessage) {
	tb.Helper()
	w := newWorld()
	w.hot, w.out.Trace = true, false
	w.v = w.fresh()
	do := func(c Command) {
		if refused, err := w.step(c); refused != nil || err != nil {
			tb.Fatal(refused, err)
		}
	}
	seal := func() {
		w.seal()
		w.begin()
		w.out.Batch = nil
	}
	do(Command{Kind: Connect, Conn: 1, Window: 1 << 40, Definition: &Definition{}})
	do(Command{Kind: OpenChannel, Conn: 1, Channel: 1})
	names := make([][]byte, exchanges)
	for i := range names {
		names[i] = fmt.Append(nil, "d", i)
		do(Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: string(names[i]), Type: "x-delayed-message", Durable: true,
			Arguments: amqp.Table{{Name: "x-delayed-type", Value: amqp.String("fanout")}}}})
	}
	seal()
	all := make([]ScheduledMessage, n)
	for i := range all {
		x := i % exchanges
		after := delay(i)
		do(Command{Kind: Publish, Channel: 1, Exchange: names[x], Body: []byte("body"),
			Properties: properties(2, amqp.Table{{Name: "x-delay", Value: amqp.Int64(int64(after))}})})
		id, _, _ := w.v.Reader().ScheduleNamed(string(names[x]))
		all[i] = ScheduledMessage{ID: ScheduledID{id, uint64(i / exchanges)}, At: w.now + after}
		if i%100 == 99 {
			seal()
		}
	}
	seal()
	w.v.KeepHot(1, 1)
	w.v.trim()
	slices.SortFunc(all, func(a, b ScheduledMessage) int { return a.compare(&b) })
	return w, all
}

// page lists up to most messages of d0 in portions, and reports the longest of these and how many there were.
func (w *world) page(after ScheduledMessage, until deadline.Instant, most, chunks int) (page []ScheduledMessage, longest time.Duration, portions int) {
	at := time.Now()
	l := w.v.Reader().ListScheduled("d0", after, until, most)
	for more := true; more; at = time.Now() {
		more = w.v.Reader().ListSome(l, chunks)
		longest = max(longest, time.Since(at))
		portions++
	}
	return l.Messages(), longest, portions
}

func sameMessages(got, want []ScheduledMessage) bool {
	return slices.EqualFunc(got, want, func(a, b ScheduledMessage) bool { return a.ID == b.ID && a.At == b.At })
}

// TestListingIsBounded says that a page of many messages that wait is not what fires next, behind its cursor and before
// its end; that pages leave messages out or show them twice; that a listing keeps more than it was asked for, or that a
// portion of it is not one.
func TestListingIsBounded(t *testing.T) {
	t.Parallel()
	const n, most, seed = 200_000, 1000, 1
	t.Log("seed", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	w, all := waitingWorld(t, n, 1, func(int) deadline.Instant { return 1000 + deadline.Instant(dice.Int64N(3_600_000)) })

	l := w.v.Reader().ListScheduled("d0", all[n/2], math.MaxInt64, most)
	for more, portions := true, 0; more; portions++ {
		before := len(l.read)
		more = w.v.Reader().ListSome(l, 16)
		if kept := cap(l.kept.dueHeap); kept > 2*most || len(l.read)-before > 16 || l.kept.Len() > most {
			t.Fatalf("portion %d: %d messages of %d are kept, room for %d, %d chunks were read", portions, l.kept.Len(), most, kept, len(l.read)-before)
		}
	}
	if got := l.Messages(); !sameMessages(got, all[n/2+1:n/2+1+most]) {
		t.Errorf("from the middle: %d messages from %v on, expected %v", len(got), got[0], all[n/2+1])
	}
	if got, _, _ := w.page(all[n/2], all[n/2+11].At, most, 16); !sameMessages(got, all[n/2+1:n/2+11]) {
		t.Errorf("up to an instant: %d messages", len(got))
	}

	var after ScheduledMessage
	for at := 0; at < n; {
		page, _, _ := w.page(after, math.MaxInt64, 20_000, 64)
		if len(page) == 0 || !sameMessages(page, all[at:min(n, at+20_000)]) {
			t.Fatalf("behind %d messages: %d that are not the next", at, len(page))
		}
		at += len(page)
		after = page[len(page)-1]
	}
	if rest, _, _ := w.page(after, math.MaxInt64, most, 64); len(rest) != 0 {
		t.Errorf("%d messages behind the last", len(rest))
	}
}

// TestListingReadsWhatItNeeds says that chunks are read that can have nothing of a page: those of a crowd behind its
// first, and those that are due after the end.
func TestListingReadsWhatItNeeds(t *testing.T) {
	t.Parallel()
	const n = 20 * 256
	for name, delay := range map[string]func(i int) deadline.Instant{
		"one instant": func(int) deadline.Instant { return 60_000 },
		"in order":    func(i int) deadline.Instant { return 60_000 + deadline.Instant(i) },
	} {
		w, all := waitingWorld(t, n, 1, delay)
		got, _, portions := w.page(ScheduledMessage{}, math.MaxInt64, 300, 1)
		if !sameMessages(got, all[:300]) || portions > 3 {
			t.Errorf("%s: %d messages, %d chunks were read for 300", name, len(got), portions)
		}
		if got, _, portions := w.page(ScheduledMessage{}, all[0].At, 300, 1); len(got) != 0 || portions != 1 {
			t.Errorf("%s: %d messages before the first, %d chunks", name, len(got), portions)
		}
	}
}

// TestListingGoesOn says that a listing in portions fails, or loses what waits, when messages or all leave in between.
func TestListingGoesOn(t *testing.T) {
	t.Parallel()
	w, all := waitingWorld(t, 2000, 1, func(i int) deadline.Instant { return 60_000 + deadline.Instant(i*7919%2000) })
	l := w.v.Reader().ListScheduled("d0", ScheduledMessage{}, math.MaxInt64, 500)
	if !w.v.Reader().ListSome(l, 2) {
		t.Fatal("two chunks were all")
	}
	gone := &Selection{}
	for i := range 250 {
		gone.Scheduled = append(gone.Scheduled, all[2*i].ID)
	}
	w.ask(t, Command{Kind: Unschedule, Channel: 1, Selection: gone})
	for w.v.Reader().ListSome(l, 2) {
	}
	listed := l.Messages()
	for i := range 250 {
		waits := all[2*i+1].ID
		if !slices.ContainsFunc(listed, func(m ScheduledMessage) bool { return m.ID == waits }) {
			t.Fatalf("%v waits and is not listed among %d", waits, len(listed))
		}
	}
	l = w.v.Reader().ListScheduled("d0", ScheduledMessage{}, math.MaxInt64, 5000)
	w.v.Reader().ListSome(l, 1)
	w.ask(t, Command{Kind: PurgeSchedule, Channel: 1, Definition: &Definition{Name: "d0"}})
	for w.v.Reader().ListSome(l, 1) {
	}
	if m := l.Messages(); len(m) > 256 {
		t.Errorf("%d messages were listed, most of them after the purge", len(m))
	}
	for _, l := range []*Listing{w.v.Reader().ListScheduled("none", ScheduledMessage{}, math.MaxInt64, 5), w.v.Reader().ListWaiting("none", ScheduledMessage{}, math.MaxInt64, 5)} {
		if w.v.Reader().ListSome(l, 1) || len(l.Messages()) != 0 {
			t.Error("something waits nowhere")
		}
	}
}

// TestNextIsNeverLate says that something fires before the instant that a schedule tells, that this is of the past
// though nothing is overdue, that it is not exact where few chunks have to be read for it, or that many are.
func TestNextIsNeverLate(t *testing.T) {
	t.Parallel()
	const seed = 3
	t.Log("seed", seed)
	for _, n := range []int{2 * 256, 40 * 256} {
		dice := rand.New(rand.NewPCG(seed, 0))
		w, all := waitingWorld(t, n, 1, func(int) deadline.Instant { return 1 + deadline.Instant(dice.Int64N(4000)) })
		bounded := false // once, since exactly would have been to read all
		for range 90 {
			w.now += 43
			for at, ok := w.v.Due(); ok && at <= w.now; at, ok = w.v.Due() {
				w.ask(t, Command{Kind: Tick})
				w.seal()
				w.begin()
			}
			for len(all) > 0 && all[0].At <= w.now {
				all = all[1:]
			}
			view, _ := w.v.Reader().Schedule("d0")
			switch {
			case view.Messages != len(all):
				t.Fatalf("%d messages wait, expected %d", view.Messages, len(all))
			case len(all) > 0 && (view.Next > all[0].At || view.Next < w.v.logged):
				t.Fatalf("at %d of %d messages: the next at %d, told %d", w.now, n, all[0].At, view.Next)
			case len(all) > 0 && n < nextChunks*256 && view.Next <= w.now && view.Next != all[0].At:
				t.Fatalf("at %d of %d messages: the next at %d, told %d", w.now, n, all[0].At, view.Next)
			}
			bounded = bounded || len(all) > 0 && view.Next < all[0].At && view.Next == w.v.logged
		}
		if bounded != (n > nextChunks*256) {
			t.Errorf("%d messages: chunks are read without bound: %v", n, !bounded)
		}
	}
}

// TestHorizonIsSpread says that few messages are not counted right by when they are due, or that the estimate of many,
// or of those in many exchanges, is far off.
func TestHorizonIsSpread(t *testing.T) {
	t.Parallel()
	const seed = 2
	t.Log("seed", seed)
	delays := [...]deadline.Instant{30_000, 1_800_000, 40_000_000, 86_400_000 * 7, 86_400_000 * 60}
	for _, c := range []struct{ n, exchanges, off int }{{60, 3, 0}, {40_000, 4, 1000}, {20_000, 1000, 1000}} {
		dice := rand.New(rand.NewPCG(seed, 0))
		var truth [len(delays)]int
		w, _ := waitingWorld(t, c.n, c.exchanges, func(int) deadline.Instant {
			k := min(dice.IntN(8), len(delays)-1)
			truth[k]++
			return delays[k]
		})
		sum := 0
		for k, n := range w.v.Reader().Horizon(w.now) {
			if sum += n; max(n-truth[k], truth[k]-n) > c.off {
				t.Errorf("%d messages in %d exchanges: %d in window %d, not %d", c.n, c.exchanges, n, k, truth[k])
			}
		}
		if c.n-sum > len(truth) || sum > c.n {
			t.Errorf("%d messages in %d exchanges: %d in all windows", c.n, c.exchanges, sum)
		}
	}
}

// BenchmarkListing is how long the first page of a thousand messages takes, and one of the middle, where a million wait
// at random instants; and for how long others wait for it at most.
func BenchmarkListing(b *testing.B) {
	const n = 1_000_000
	dice := rand.New(rand.NewPCG(1, 0))
	w, all := waitingWorld(b, n, 1, func(int) deadline.Instant { return 1000 + deadline.Instant(dice.Int64N(3_600_000)) })
	for _, c := range []struct {
		name  string
		after ScheduledMessage
	}{{"first", ScheduledMessage{}}, {"middle", all[n/2]}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var longest time.Duration
			var portions int
			for b.Loop() {
				var d time.Duration
				_, d, portions = w.page(c.after, math.MaxInt64, 1001, 64)
				longest = max(longest, d)
			}
			b.ReportMetric(float64(longest.Microseconds()), "us-longest")
			b.ReportMetric(float64(portions), "looks")
		})
	}
	b.Run("horizon", func(b *testing.B) {
		for b.Loop() {
			w.v.Reader().Horizon(w.now)
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			w.v.Reader().Schedules()
		}
	})
}

// TestListingOrdersTies says that pages of messages that are due at few instants leave some out, show them twice, or
// show those of one instant in another order than they came.
func TestListingOrdersTies(t *testing.T) {
	t.Parallel()
	const n = 12 * 256
	w, all := waitingWorld(t, n, 2, func(i int) deadline.Instant { return 60_000 + deadline.Instant(i/2%3) })
	d0, _, _ := w.v.Reader().ScheduleNamed("d0")
	all = slices.DeleteFunc(all, func(m ScheduledMessage) bool { return m.ID.Schedule != d0 })
	for _, most := range []int{1, 255, 256, 257, len(all) - 1, len(all), len(all) + 1} {
		var after ScheduledMessage
		for at, pages := 0, 0; at < len(all) && pages < 9; pages++ {
			page, _, _ := w.page(after, math.MaxInt64, most, 3)
			if want := all[at:min(len(all), at+most)]; !sameMessages(page, want) {
				t.Fatalf("behind %d messages: %d, not the %d that are next", at, len(page), len(want))
			}
			at += len(page)
			after = page[len(page)-1]
		}
	}
	between := all[0]
	between.ID.Number = math.MaxUint64 // of the first instant, behind all of them
	if page, _, _ := w.page(between, all[0].At+2, n, 1); len(page) != len(all)/3 || page[0].At != all[0].At+1 {
		t.Errorf("of the second instant: %d messages", len(page))
	}
}

// TestListingWhileChunksMove says that a listing misses what waits all the while, or shows it twice, when its chunk
// comes to stand before what was read already, or behind it once more: since messages beside it are moved, cancelled,
// fired, or come.
func TestListingWhileChunksMove(t *testing.T) {
	t.Parallel()
	const n = 24 * 256
	for seed := range uint64(12) {
		t.Log("seed", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		w, all := waitingWorld(t, n, 1, func(int) deadline.Instant { return 60_000 + deadline.Instant(dice.Int64N(600_000)) })
		touched := map[ScheduledID]bool{}
		l := w.v.Reader().ListScheduled("d0", ScheduledMessage{}, math.MaxInt64, 1+dice.IntN(n))
		most := l.most
		for w.v.Reader().ListSome(l, 1+dice.IntN(2)) {
			some := &Selection{}
			for range 1 + dice.IntN(3) {
				id := all[dice.IntN(n)].ID
				touched[id] = true
				some.Scheduled = append(some.Scheduled, id)
			}
			c := Command{Kind: Reschedule, Channel: 1, Selection: some}
			switch dice.IntN(5) {
			case 0:
				c.Kind = Unschedule
			case 1:
				c.Kind = FireNow
			case 2:
				some.At = w.now + 700_000
			default:
				some.At = w.now + 1 + deadline.Instant(dice.IntN(1000)) // its chunk stands before all others
			}
			w.ask(t, c)
		}
		got := l.Messages()
		stable := slices.DeleteFunc(slices.Clone(all), func(m ScheduledMessage) bool { return touched[m.ID] })
		listed := slices.DeleteFunc(slices.Clone(got), func(m ScheduledMessage) bool { return touched[m.ID] })
		if len(listed) > len(stable) || !sameMessages(listed, stable[:len(listed)]) {
			t.Fatalf("%d messages are listed that wait all the while, and these are not the first of them", len(listed))
		}
		if len(got) < most && len(listed) < len(stable) {
			t.Fatalf("%d of %d messages are listed, %d of %d that wait all the while", len(got), most, len(listed), len(stable))
		}
		if err := w.v.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListingOfChunksArmedEarly says that messages are listed wrongly, or that the next instant is told wrongly, where
// chunks are armed for earlier than any of their messages, since the first of each is gone or was moved.
func TestListingOfChunksArmedEarly(t *testing.T) {
	t.Parallel()
	const n = 20 * 256
	for name, kind := range map[string]CommandKind{"fired": FireNow, "cancelled": Unschedule, "moved": Reschedule} {
		w, all := waitingWorld(t, n, 1, func(i int) deadline.Instant {
			if i%256 == 7 {
				return 1000 + deadline.Instant(i)
			}
			return 60_000 + deadline.Instant(i*7919%n)
		})
		first := &Selection{At: w.now + 3_600_000}
		for _, m := range all[:20] {
			first.Scheduled = append(first.Scheduled, m.ID)
		}
		w.ask(t, Command{Kind: kind, Channel: 1, Selection: first})
		if got, _, _ := w.page(ScheduledMessage{}, math.MaxInt64, 400, 4); !sameMessages(got, all[20:420]) {
			t.Errorf("%s: the first 400 of the rest are not listed", name)
		}
		got, _, _ := w.page(all[n-1], math.MaxInt64, 400, 4)
		if moved := kind == Reschedule; moved != (len(got) == 20) || moved && got[0].At != first.At {
			t.Errorf("%s: %d messages behind the last", name, len(got))
		}
		if view, _ := w.v.Reader().Schedule("d0"); view.Next > all[20].At || view.Next < all[0].At || kind != FireNow && view.Next != all[20].At {
			t.Errorf("%s: the next at %d, told %d", name, all[20].At-w.now, view.Next-w.now)
		}
	}
}

// TestListingForgetsWhatWasSoon says that chunks of which a crowd was due, which had each its own deadline, stand where
// that was for as long as nothing else of them is due: every list would read them all.
func TestListingForgetsWhatWasSoon(t *testing.T) {
	t.Parallel()
	const n, seed = 60 * 256, 4
	t.Log("seed", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	w, all := waitingWorld(t, n, 1, func(i int) deadline.Instant {
		if i%256 < 16 {
			return 1000 + deadline.Instant(dice.Int64N(600))
		}
		return 600_000 + deadline.Instant(dice.Int64N(3_600_000))
	})
	gone := &Selection{} // among the last that are soon, of some chunks
	for _, m := range all[n/16-100 : n/16] {
		gone.Scheduled = append(gone.Scheduled, m.ID)
	}
	near := 0
	for range 60 {
		w.now += 30
		if near += w.v.Near(); w.now == epoch+1470 {
			w.ask(t, Command{Kind: Unschedule, Channel: 1, Selection: gone})
		}
		for at, ok := w.v.Due(); ok && at <= w.now; at, ok = w.v.Due() {
			w.ask(t, Command{Kind: Tick})
			w.seal()
			w.begin()
		}
		if err := w.v.Check(); err != nil {
			t.Fatal(err)
		}
	}
	all = all[n/16:]
	got, _, portions := w.page(ScheduledMessage{}, math.MaxInt64, 10, 1)
	if near == 0 || !sameMessages(got, all[:10]) || portions > 11 {
		t.Errorf("%d chunks were read for %d messages; %d were near at some time", portions, len(got), near)
	}
	if view, _ := w.v.Reader().Schedule("d0"); view.Next != all[0].At {
		t.Errorf("the next at %d, told %d", all[0].At-w.now, view.Next-w.now)
	}
}

// BenchmarkScheduling is to take a message that waits at random for up to ten seconds, and to fire another, where a
// million more wait at random for up to an hour. Ten are due in a millisecond, and a queue keeps the last thousand.
func BenchmarkScheduling(b *testing.B) {
	dice := rand.New(rand.NewPCG(1, 0))
	w, _ := waitingWorld(b, 1_000_000, 1, func(int) deadline.Instant { return 600_000 + deadline.Instant(dice.Int64N(3_600_000)) })
	w.v.KeepHot(hotEntriesMax, volatileBytesMax)
	w.out.Trace = false
	do := func(c Command) {
		if refused, err := w.step(c); refused != nil || err != nil {
			b.Fatal(refused, err)
		}
	}
	do(Command{Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: "q", Durable: true,
		Arguments: amqp.Table{{Name: "x-max-length", Value: amqp.Int64(1000)}}}})
	do(Command{Kind: BindQueue, Channel: 1, Definition: &Definition{Source: "d0", Name: "q"}})
	n := 0
	for b.Loop() {
		do(Command{Kind: Publish, Channel: 1, Exchange: []byte("d0"), Body: []byte("body"),
			Properties: properties(2, amqp.Table{{Name: "x-delay", Value: amqp.Int64(1 + dice.Int64N(10_000))}})})
		if n++; n%10 == 0 {
			w.now++
			for at, ok := w.v.Due(); ok && at <= w.now; at, ok = w.v.Due() {
				do(Command{Kind: Tick})
			}
			w.seal()
			w.begin()
			w.v.trim()
		}
	}
}
