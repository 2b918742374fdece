package queue

import "github.com/bartleby-mq/bartleby/internal/deadline"

// chunkLen is the number of entries in a full chunk: large enough that a chunk's header is nothing beside
// its entries, small enough that one long-lived message pins little (8 KiB).
const chunkLen = 256

// A chunk holds the entries number*chunkLen+off onwards.
type chunk struct {
	entries []Entry
	sides   []Side // parallel to entries, or nil: no entry has a side
	off     int    // of entries[0] in the chunk: entries before it were gone when the lane was last empty
	live    int    // entries that are not Gone
}

// A lane is the messages of one priority, in order.
//
//	          base              cursor            next
//	           ▼                   ▼                ▼
//	chunks:   [ … ][ nil ][ …      |     ][    …    ]
//	                        taken, returned │ not yet offered
//
// Every ready entry below cursor is in returned.
type lane struct {
	chunks   []*chunk // from chunk number base; nil where all entries are gone
	base     uint64
	next     uint64
	logged   uint64 // after the newest persistent entry that there ever was
	cursor   uint64
	returned numbers
	ready    int
	live     int
	spare    *chunk // the last full chunk that was emptied, to be filled again

	requeueLast bool // a fault, see Messages.PlantRequeueLast

	orderedMax deadline.Instant // deadline of the youngest ordered entry
	ttlCursor  uint64           // no ready ordered entry is below it, but those Indexed
}

func (l *lane) at(n uint64) (*chunk, int) {
	if n >= l.next || n/chunkLen < l.base {
		return nil, 0
	}
	c := l.chunk(n)
	if c == nil {
		return nil, 0
	}
	i := int(n%chunkLen) - c.off
	if i < 0 || i >= len(c.entries) {
		return nil, 0
	}
	return c, i
}

// chunk returns the chunk that has room for number n, or nil. n must not be below base.
func (l *lane) chunk(n uint64) *chunk {
	if k := n/chunkLen - l.base; k < uint64(len(l.chunks)) {
		return l.chunks[k]
	}
	return nil
}

// push appends e as number next.
func (l *lane) push(e Entry) *Entry {
	no := l.next / chunkLen
	if len(l.chunks) == 0 {
		l.base = no
	}
	for uint64(len(l.chunks)) <= no-l.base {
		l.chunks = append(l.chunks, nil)
	}
	c := l.chunks[no-l.base]
	if c == nil {
		if c = l.spare; c != nil {
			l.spare = nil
		} else {
			c = &chunk{}
		}
		l.chunks[no-l.base] = c
	}
	if len(c.entries) == 0 {
		c.off = int(l.next % chunkLen)
	}
	c.entries = append(c.entries, e)
	if c.sides != nil {
		c.sides = append(c.sides, Side{})
	}
	c.live++
	l.live++
	l.ready++
	l.next++
	return &c.entries[len(c.entries)-1]
}

// gone forgets entry i of c, number n.
func (l *lane) gone(c *chunk, i int, n uint64) {
	c.entries[i].State = Gone
	c.live--
	l.live--
	if l.live == 0 {
		l.orderedMax = 0 // one far deadline in the past keeps nobody from being ordered
	}
	if c.live > 0 {
		return
	}
	no := n / chunkLen
	if no == l.next/chunkLen { // the chunk that push fills: begin it anew where it is
		c.entries, c.sides, c.off = c.entries[:0], nil, int(l.next%chunkLen)
		return
	}
	l.chunks[no-l.base] = nil
	if l.spare == nil && cap(c.entries) >= chunkLen {
		c.entries, c.sides, c.off = c.entries[:0], nil, 0
		l.spare = c
	}
	k := 0
	for k < len(l.chunks) && l.chunks[k] == nil {
		k++
	}
	if k == len(l.chunks) || k >= 64 || l.chunks[0] == nil && k*2 >= len(l.chunks) {
		l.chunks = append(l.chunks[:0], l.chunks[k:]...)
		l.base += uint64(k)
	}
}

// head finds the oldest ready entry.
func (l *lane) head() (uint64, *Entry) {
	if l.ready == 0 {
		return 0, nil
	}
	if l.requeueLast {
		if n := l.nextReady(l.cursor); n < l.next {
			l.cursor = n
			c, i := l.at(n)
			return n, &c.entries[i]
		}
	}
	for len(l.returned) > 0 {
		if c, i := l.at(l.returned[0]); c != nil && c.entries[i].State == Ready {
			return l.returned[0], &c.entries[i]
		}
		l.returned.pop()
	}
	n := l.nextReady(l.cursor)
	l.cursor = n
	c, i := l.at(n)
	return n, &c.entries[i]
}

// nextReady returns the first number from n whose entry is ready, or next.
func (l *lane) nextReady(n uint64) uint64 {
	for n = max(n, l.base*chunkLen); n < l.next; {
		c, i := l.at(n)
		switch {
		case c != nil && c.entries[i].State == Ready:
			return n
		case c != nil:
			n++
		default: // before the first entry of its chunk, or after the last
			next := (n/chunkLen + 1) * chunkLen
			if c := l.chunk(n); c != nil && int(n%chunkLen) < c.off {
				next = n/chunkLen*chunkLen + uint64(c.off)
			}
			n = next
		}
	}
	return l.next
}

// passed moves the cursor beyond n if n was the first not yet offered.
func (l *lane) passed(n uint64) {
	switch {
	case n == l.cursor:
		l.cursor++
	case len(l.returned) > 0 && l.returned[0] == n:
		l.returned.pop()
	}
}

// skip leaves the numbers up to n unused.
func (l *lane) skip(n uint64) {
	if l.live == 0 {
		l.chunks, l.base, l.cursor = l.chunks[:0], n/chunkLen, n
	} else if n/chunkLen == l.next/chunkLen {
		if c, _ := l.at(l.next - 1); c != nil && l.next%chunkLen != 0 {
			for l.next < n { // the chunk has entries: fill the gap with gone ones
				c.entries = append(c.entries, Entry{})
				if c.sides != nil {
					c.sides = append(c.sides, Side{})
				}
				l.next++
			}
		}
	}
	l.next = n
}

// expiringHead finds the first ready ordered entry, and moves the ttl cursor to it. Unacked ones that it
// passes are on their own when they return (see Messages.Return).
func (l *lane) expiringHead() (uint64, *Entry) {
	if l.ready == 0 {
		return 0, nil
	}
	for n := l.ttlCursor; ; n++ {
		n = l.nextReady(n)
		l.ttlCursor = n
		if n >= l.next {
			return 0, nil
		}
		c, i := l.at(n)
		if c.entries[i].Flags&Ordered != 0 {
			return n, &c.entries[i]
		}
	}
}

func (l *lane) isReturned(n uint64) bool {
	for _, r := range l.returned {
		if r == n {
			return true
		}
	}
	return false
}

// numbers is a min-heap of message numbers.
type numbers []uint64

func (h *numbers) push(n uint64) {
	s := append(*h, n)
	for i := len(s) - 1; i > 0; {
		p := (i - 1) / 2
		if s[p] <= s[i] {
			break
		}
		s[p], s[i] = s[i], s[p]
		i = p
	}
	*h = s
}

func (h *numbers) pop() {
	s := *h
	last := len(s) - 1
	s[0], s = s[last], s[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && s[c+1] < s[c] {
			c++
		}
		if s[i] <= s[c] {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	*h = s
}
