package vhost

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/deadline"
)

// counted fills a calendar with what waits in d0, in portions of so many chunks, between which others do what between
// does. It reports the longest portion.
func (w *world) counted(c *Calendar, chunks int, between func()) (longest time.Duration) {
	id, _, _ := w.v.Reader().ScheduleNamed("d0")
	next := ScheduledID{Schedule: id}
	for more := true; more; between() {
		began := time.Now()
		next, more = w.v.Reader().CountSome(c, next, chunks)
		longest = max(longest, time.Since(began))
	}
	return longest
}

// slowly counts messages of four octets one by one.
func slowly(all []ScheduledMessage, from, until, bucket, late deadline.Instant) DueCounts {
	c := DueCounts{Buckets: make([]DueCount, (until-from+bucket-1)/bucket)}
	for _, m := range all {
		if m.At < late {
			c.Overdue++
		}
		switch {
		case m.At < from:
			c.Before++
		case m.At >= until:
			c.After++
		default:
			b := &c.Buckets[(m.At-from)/bucket]
			b.Messages++
			b.Bytes += 4
		}
	}
	return c
}

func (c *DueCounts) equals(o *DueCounts) bool {
	return slices.Equal(c.Buckets, o.Buckets) && c.Before == o.Before && c.After == o.After && c.Overdue == o.Overdue
}

func nothingBetween() {}

// TestCalendarAgainstAll says that what waits is counted otherwise than one by one: at the ends of a stretch, before
// the first or behind the last, where the last is shorter, in whatever portions; or that chunks are read which have
// nothing due so early.
func TestCalendarAgainstAll(t *testing.T) {
	t.Parallel()
	const n = 40 * 256
	for _, seed := range []uint64{1, 2, rand.Uint64()} {
		t.Log("seed", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		w, all := waitingWorld(t, n, 1, func(i int) deadline.Instant { // the later ones come later
			return 1000 + deadline.Instant(i)*100 + deadline.Instant(dice.Int64N(60_000))
		})
		for range 40 {
			from := w.now + deadline.Instant(dice.Int64N(1_000_000)) - 2000
			until := from + 1 + deadline.Instant(dice.Int64N(500_000))
			bucket := max((until-from)/300, deadline.Instant(1+dice.Int64N(200_000)))
			late := w.now + deadline.Instant(dice.Int64N(60_000))
			c := NewCalendar(from, until, bucket, late)
			w.counted(c, 1+dice.IntN(64), nothingBetween)
			if want := slowly(all, from, until, bucket, late); !c.equals(&want) {
				t.Fatalf("from %d until %d by %d: %+v, want %+v", from-w.now, until-w.now, bucket, c.DueCounts, want)
			}
		}
		portions := 0
		w.counted(NewCalendar(w.now, w.now+1000, 10, 0), 1, func() { portions++ })
		if portions > 2 {
			t.Errorf("it took %d portions to see that nothing is due", portions)
		}
	}
}

// TestCalendarWhileChunksMove says that a message is counted twice or not at all, or in a stretch in which it never was
// due, when others are moved, cancelled, fired, or come between the portions.
func TestCalendarWhileChunksMove(t *testing.T) {
	t.Parallel()
	const n, bucket = 24 * 256, 10_000
	for seed := range uint64(12) {
		t.Log("seed", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		w, all := waitingWorld(t, n, 1, func(int) deadline.Instant { return 60_000 + deadline.Instant(dice.Int64N(600_000)) })
		at := map[ScheduledID][]deadline.Instant{} // of what changes: all instants at which it was due
		for _, m := range all {
			at[m.ID] = []deadline.Instant{m.At}
		}
		gone := map[ScheduledID]bool{}
		schedule := all[0].ID.Schedule
		from, until := w.now, w.now+700_000
		c := NewCalendar(from, until, bucket, 0)
		w.counted(c, 1, func() {
			some := &Selection{At: w.now + 1 + deadline.Instant(dice.Int64N(690_000))}
			for range 1 + dice.IntN(40) {
				some.Scheduled = append(some.Scheduled, all[dice.IntN(n)].ID)
			}
			k := Command{Kind: Reschedule, Channel: 1, Selection: some}
			switch dice.IntN(4) {
			case 0:
				k.Kind = Unschedule
			case 1:
				k.Kind = FireNow
			case 2:
				id := ScheduledID{schedule, uint64(len(at))}
				at[id] = []deadline.Instant{w.now + 500}
				gone[id] = true
				more := later(500)
				more.Exchange, more.Body = []byte("d0"), []byte("body")
				w.ask(t, more)
			}
			for _, id := range some.Scheduled {
				switch {
				case k.Kind == Reschedule:
					at[id] = append(at[id], some.At)
				default:
					gone[id] = true
				}
			}
			w.ask(t, k)
		})
		least, most := make([]int, len(c.Buckets)), make([]int, len(c.Buckets))
		for id, instants := range at {
			was := map[deadline.Instant]bool{}
			for _, i := range instants {
				was[(i-from)/bucket] = true
			}
			for b := range was {
				most[b]++
				if len(was) == 1 && !gone[id] {
					least[b]++
				}
			}
		}
		sum := 0
		for i, b := range c.Buckets {
			if sum += b.Messages; b.Messages < least[i] || b.Messages > most[i] {
				t.Fatalf("stretch %d: %d messages, at least %d were due then and at most %d", i, b.Messages, least[i], most[i])
			}
		}
		if sum > len(at) || sum < n-len(gone) {
			t.Fatalf("%d messages are counted, there were %d, of which %d came or went", sum, len(at), len(gone))
		}
		counted := NewCalendar(from, until, bucket, 0)
		w.counted(counted, 64, nothingBetween)
		left, _, _ := w.page(ScheduledMessage{}, until+1, 2*n, 64)
		if want := slowly(left, from, until, bucket, 0); !counted.equals(&want) {
			t.Fatalf("afterwards: %+v, want %+v", counted.DueCounts, want)
		}
	}
}

// TestCalendarOfNothing says that a schedule that is gone, or a queue, is counted.
func TestCalendarOfNothing(t *testing.T) {
	t.Parallel()
	w, _ := waitingWorld(t, 1, 1, func(int) deadline.Instant { return 1000 })
	c := NewCalendar(w.now, w.now+10_000, 1000, 0)
	if _, more := w.v.Reader().CountSome(c, ScheduledID{Schedule: 12345}, 8); more || c.Before+c.After > 0 {
		t.Errorf("something is counted, or there is more: %+v", c.DueCounts)
	}
}

// BenchmarkCalendar is how long it takes to count a month by day where a million messages wait at random instants, and
// for how long others wait for it at most.
func BenchmarkCalendar(b *testing.B) {
	const day = 86_400_000
	dice := rand.New(rand.NewPCG(1, 0))
	w, _ := waitingWorld(b, 1_000_000, 1, func(int) deadline.Instant { return 1000 + deadline.Instant(dice.Int64N(40*day)) })
	var longest time.Duration
	for b.Loop() {
		c := NewCalendar(w.now, w.now+31*day, day, 0)
		longest = max(longest, w.counted(c, 64, nothingBetween))
	}
	b.ReportMetric(float64(longest.Microseconds()), "us-longest")
}
