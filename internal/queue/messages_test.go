package queue

import (
	"testing"
	"unsafe"

	"github.com/bartleby-mq/bartleby/internal/deadline"
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
	q := NewMessages(0)
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
	q := NewMessages(2)
	low := push(q, 1, Entry{})
	first, second := push(q, 2, Entry{}), push(q, 200, Entry{})
	for _, want := range []Seq{first, second, low} {
		if got := take(t, q); got != want {
			t.Errorf("head %x, not %x", got, want)
		}
	}
}

// TestExpiringHeadPassesTheUnacked says that the deadline of a queue with one TTL stands still behind messages
// that consumers hold, or that one of those is forgotten when it comes back.
func TestExpiringHeadPassesTheUnacked(t *testing.T) {
	t.Parallel()
	q := NewMessages(0)
	for i := range deadline.Instant(3) {
		push(q, 0, Entry{ExpireAt: 1000 + i})
	}
	a := take(t, q)
	if s, at, ok := q.ExpiringHead(); !ok || s != 1 || at != 1001 {
		t.Fatalf("expiring head %d at %d", s, at)
	}
	q.Return(a)
	if e := q.Entry(a); e.Flags&Ordered != 0 {
		t.Error("a message behind the expiring head counts on it when it comes back")
	}
	earlier := push(q, 0, Entry{ExpireAt: 500})
	if e := q.Entry(earlier); e.Flags&Ordered != 0 {
		t.Error("a message that expires before its elders counts as ordered")
	}
}

// TestMemoryIsFreed says that a queue through which messages pass keeps their memory.
func TestMemoryIsFreed(t *testing.T) {
	t.Parallel()
	q := NewMessages(0)
	chunks := func() (n int) {
		for _, c := range q.lanes[0].chunks {
			if c != nil {
				n++
			}
		}
		return n
	}
	for range 100 * chunkLen {
		push(q, 0, Entry{})
	}
	if n := chunks(); n != 100 {
		t.Fatalf("%d chunks for 100 chunks of entries", n)
	}
	for range 100 * chunkLen {
		q.Remove(take(t, q))
	}
	if n := chunks(); n > 1 || len(q.lanes[0].chunks) > 1 {
		t.Errorf("an empty queue keeps %d chunks in %d places", n, len(q.lanes[0].chunks))
	}
	for range 10 * chunkLen { // a few at a time, for ever: one chunk serves again and again
		push(q, 0, Entry{})
		push(q, 0, Entry{})
		q.Remove(take(t, q))
		q.Remove(take(t, q))
	}
	if n := len(q.lanes[0].chunks); n > 2 {
		t.Errorf("a short queue has places for %d chunks", n)
	}
	check(t, q)
}

// TestHolesAreFreed says that one old message pins those that were around it.
func TestHolesAreFreed(t *testing.T) {
	t.Parallel()
	q := NewMessages(0)
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
	kept := 0
	for _, c := range q.lanes[0].chunks {
		if c != nil {
			kept++
		}
	}
	if kept != 3 {
		t.Errorf("%d chunks are kept for the oldest, one in the middle and the newest", kept)
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

// TestSkipAtTheEdgeOfAChunk says that numbers left out at the beginning of a chunk fill the one before it.
func TestSkipAtTheEdgeOfAChunk(t *testing.T) {
	t.Parallel()
	q := NewMessages(0)
	for range chunkLen {
		push(q, 0, Entry{})
	}
	q.Push(chunkLen+100, Entry{BodyBytes: 1})
	if n := len(q.lanes[0].chunks[0].entries); n != chunkLen {
		t.Errorf("the first chunk has %d entries", n)
	}
	if e := q.Entry(chunkLen + 100); e == nil || e.BodyBytes != 1 || q.Entry(chunkLen+99) != nil {
		t.Error("an entry is not where it was pushed")
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
	q := NewMessages(0)
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
	q := NewMessages(0)
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
	q := NewMessages(0)
	for range 1000 {
		q.Push(q.Next(0), Entry{BodyBytes: 16})
	}
	for b.Loop() {
		s, _, _ := q.Head()
		q.Take(s)
		q.Return(s)
	}
}
