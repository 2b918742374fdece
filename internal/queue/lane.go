package queue

import "sort"

// A lane is the messages of one priority, in order.
//
//	                   cursor             next
//	                      ▼                 ▼
//	slots:   [ 3 ][ 4 ][ 7     |     ][ 8   ]
//	         taken, returned │ not yet offered
//
// Every ready entry below cursor is in returned.
type lane struct {
	queue    *Messages
	number   int
	slots    []*slot // sorted by no; chunks of which all entries are gone have none, the last one excepted
	next     uint64
	logged   uint64 // after the newest persistent entry that there ever was
	cursor   uint64
	returned numbers
	ready    int
	empty    int // slots without entries among the others, to be swept out
}

// PriorityBytes is about how many bytes of memory each priority of a queue takes as soon as it has a message: its lane,
// and the slot of a chunk with what that holds. A lane alone takes a third of it.
const PriorityBytes = 380

// returnedMax bounds what is remembered one by one of what was returned: beyond it the lane looks again from the first.
const returnedMax = 1 << 16

// find returns where the slot of chunk no is, or would be.
func (l *lane) find(no uint64) (i int, found bool) {
	n := len(l.slots)
	if n == 0 || l.slots[n-1].no < no {
		return n, false
	}
	if l.slots[n-1].no == no {
		return n - 1, true
	}
	first := l.slots[0].no
	if no < first {
		return 0, false
	}
	if k := no - first; k < uint64(n) && l.slots[k].no == no { // no chunk between is missing
		return int(k), true
	}
	i = sort.Search(n, func(i int) bool { return l.slots[i].no >= no })
	return i, l.slots[i].no == no
}

// at returns the chunk with number n, made hot, and where n is in it; nil if n is gone, or was never there.
func (l *lane) at(n uint64) (*chunk, int) {
	i, found := l.find(n / chunkLen)
	if !found || l.slots[i].live == 0 {
		return nil, 0
	}
	c := l.queue.pool.warm(l.slots[i])
	k := int(n%chunkLen) - c.off
	if k < 0 || k >= len(c.entries) {
		return nil, 0
	}
	return c, k
}

// push appends e as number next.
func (l *lane) push(e Entry) *Entry {
	p := l.queue.pool
	no := l.next / chunkLen
	var s *slot
	if k := len(l.slots) - 1; k >= 0 && l.slots[k].no == no {
		s = l.slots[k]
	} else {
		if k >= 0 && l.slots[k].live == 0 {
			l.slots[k].clear()
			l.slots = l.slots[:k]
		}
		s = &slot{no: no, lane: l, epoch: p.epoch}
		l.slots = append(l.slots, s)
	}
	c := p.warm(s)
	if s.live == 0 {
		c.off, c.entries, c.sides = int(l.next%chunkLen), c.entries[:0], nil
	}
	for c.off+len(c.entries) < int(l.next%chunkLen) { // numbers left out
		p.grow(c, Entry{})
	}
	p.grow(c, e)
	c.dirty = true
	s.live++
	s.ready++
	l.ready++
	l.next++
	return &c.entries[len(c.entries)-1]
}

// gone forgets entry i of c.
func (l *lane) gone(c *chunk, i int) {
	s := c.slot
	c.entries[i].State = Gone
	s.live--
	if s.live > 0 {
		if !c.dirty && !s.page.IsZero() {
			x := s.more()
			x.gone.set(c.off + i)
			x.some = true
		}
		return
	}
	if s.no == l.next/chunkLen { // the chunk that push fills: begin it anew where it is
		l.queue.pool.forget(s)
		s.disarm()
		c.entries, c.sides, c.off, c.dirty = c.entries[:0], nil, 0, false
		return
	}
	s.clear()
	l.drop(s)
}

// drop takes a slot without entries out of the table.
func (l *lane) drop(s *slot) {
	if last := len(l.slots) - 1; l.slots[last] == s {
		l.slots[last] = nil
		l.slots = l.slots[:last]
		return
	}
	if l.slots[0] != s {
		if l.empty++; 2*l.empty > len(l.slots) {
			l.sweep()
		}
		return
	}
	l.slots[0] = nil
	l.slots = l.slots[1:]
	for len(l.slots) > 1 && l.slots[0].live == 0 {
		l.slots[0] = nil
		l.slots = l.slots[1:]
		l.empty--
	}
}

// sweep takes all slots without entries out, but the last.
func (l *lane) sweep() {
	n := 0
	for i, s := range l.slots {
		if s.live > 0 || i == len(l.slots)-1 {
			l.slots[n] = s
			n++
		}
	}
	clear(l.slots[n:])
	l.slots, l.empty = l.slots[:n], 0
}

// head finds the oldest ready entry.
func (l *lane) head() (uint64, *Entry) {
	if l.ready == 0 {
		return 0, nil
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

// nextReady returns the first number from n whose entry is ready, or next. It makes no chunk hot that has none.
func (l *lane) nextReady(n uint64) uint64 {
	i, _ := l.find(n / chunkLen)
	for ; i < len(l.slots); i++ {
		s := l.slots[i]
		if s.ready == 0 {
			continue
		}
		c := l.queue.pool.warm(s)
		k := 0
		if first := s.no*chunkLen + uint64(c.off); n > first {
			k = int(n - first)
		}
		for ; k < len(c.entries); k++ {
			if c.entries[k].State == Ready {
				return s.no*chunkLen + uint64(c.off+k)
			}
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

// cameBack notes that number n is ready again.
func (l *lane) cameBack(n uint64) {
	if n >= l.cursor {
		return
	}
	if len(l.returned) < returnedMax {
		l.returned.push(n)
		return
	}
	l.cursor = min(n, l.returned[0])
	l.returned = nil
}

// skip leaves the numbers up to n unused.
func (l *lane) skip(n uint64) { l.next = n }

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
