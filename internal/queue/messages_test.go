package queue

import (
	"testing"
	"unsafe"
)

// push appends an entry of that priority and returns its Seq.
func push(q *Messages, priority uint8, e Entry) Seq {
	s := q.Next(priority)
	q.Push(s, e)
	return s
}

// take takes the head.
func take(t *testing.T, q *Messages) Seq {
	t.Helper()
	s, _, ok := q.Head()
	if !ok {
		t.Fatal("the queue has no head")
	}
	q.Take(s)
	return s
}

func check(t *testing.T, q *Messages) {
	t.Helper()
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
}

// TestReturnedComesFirst says that what comes back is not delivered in its old place.
func TestReturnedComesFirst(t *testing.T) {
	t.Parallel()
	q := newQueue(0)
	for range 5 {
		push(q, 0, Entry{})
	}
	a, b, c := take(t, q), take(t, q), take(t, q)
	q.Return(c)
	q.Return(a)
	for _, want := range []Seq{a, c, 3, 4} {
		if got := take(t, q); got != want {
			t.Errorf("head %d, not %d", got, want)
		}
	}
	q.Return(b)
	if s, e, _ := q.Head(); s != b || e.Flags&Redelivered == 0 {
		t.Errorf("head %d %+v, not %d redelivered", s, e, b)
	}
	check(t, q)
}

// TestPriorityAboveMaximum says that a priority above the queue's maximum does not count as the maximum.
func TestPriorityAboveMaximum(t *testing.T) {
	t.Parallel()
	q := newQueue(2)
	low := push(q, 1, Entry{})
	first, second := push(q, 2, Entry{}), push(q, 200, Entry{})
	for _, want := range []Seq{first, second, low} {
		if got := take(t, q); got != want {
			t.Errorf("head %x, not %x", got, want)
		}
	}
}

// TestMemoryIsFreed says that a queue through which messages pass keeps their memory.
func TestMemoryIsFreed(t *testing.T) {
	t.Parallel()
	q := newQueue(0)
	chunks := func() int { return len(q.pool.ring) }
	for range 100 * chunkLen {
		push(q, 0, Entry{})
	}
	if n := chunks(); n != 100 {
		t.Fatalf("%d chunks for 100 chunks of entries", n)
	}
	for range 100 * chunkLen {
		q.Remove(take(t, q))
	}
	if n := chunks(); n > 1 || len(q.lanes[0].slots) > 1 {
		t.Errorf("an empty queue keeps %d chunks in %d places", n, len(q.lanes[0].slots))
	}
	for range 10 * chunkLen { // a few at a time, for ever: one chunk serves again and again
		push(q, 0, Entry{})
		push(q, 0, Entry{})
		q.Remove(take(t, q))
		q.Remove(take(t, q))
	}
	if n := len(q.lanes[0].slots); n > 2 {
		t.Errorf("a short queue has places for %d chunks", n)
	}
	check(t, q)
}

// TestHolesAreFreed says that one old message pins those that were around it.
func TestHolesAreFreed(t *testing.T) {
	t.Parallel()
	q := newQueue(0)
	old := push(q, 0, Entry{})
	q.Take(old)
	for range 50 * chunkLen {
		push(q, 0, Entry{})
	}
	middle := Seq(20*chunkLen + 7)
	for s := Seq(1); s < 50*chunkLen; s++ {
		if s != middle {
			q.Remove(s)
		}
	}
	if kept := len(q.pool.ring); kept != 3 {
		t.Errorf("%d chunks are kept for the oldest, one in the middle and the newest", len(q.pool.ring))
	}
	if s := take(t, q); s != middle {
		t.Errorf("head %d, not %d", s, middle)
	}
	q.Return(old)
	if s, _, _ := q.Head(); s != old {
		t.Errorf("head %d, not %d", s, old)
	}
	check(t, q)
}

// TestEntryIsSmall says that a waiting message takes more memory beside its record than the goals count with.
func TestEntryIsSmall(t *testing.T) {
	t.Parallel()
	if n := unsafe.Sizeof(Entry{}); n != 32 {
		t.Errorf("an entry takes %d bytes", n)
	}
}

func BenchmarkPushTakeRemove(b *testing.B) {
	q := newQueue(0)
	b.ReportAllocs()
	for b.Loop() {
		q.Push(q.Next(0), Entry{BodyBytes: 16})
		s, _, _ := q.Head()
		q.Take(s)
		q.Remove(s)
	}
}

// BenchmarkBacklog is the same behind a million messages that wait.
func BenchmarkBacklog(b *testing.B) {
	q := newQueue(0)
	for range 1_000_000 {
		q.Push(q.Next(0), Entry{BodyBytes: 16})
	}
	b.ReportAllocs()
	for b.Loop() {
		q.Push(q.Next(0), Entry{BodyBytes: 16})
		s, _, _ := q.Head()
		q.Take(s)
		q.Remove(s)
	}
}

func BenchmarkReturn(b *testing.B) {
	q := newQueue(0)
	for range 1000 {
		q.Push(q.Next(0), Entry{BodyBytes: 16})
	}
	for b.Loop() {
		s, _, _ := q.Head()
		q.Take(s)
		q.Return(s)
	}
}
