package deadline

// leaf holds entries[lo:hi], sorted. Space on both sides lets the minimum be popped, and either half be shifted,
// without moving the rest.
type leaf struct {
	lo, hi  uint16
	entries [leafMax]Entry
}

func (l *leaf) len() int      { return int(l.hi) - int(l.lo) }
func (l *leaf) first() Entry  { return l.entries[l.lo] }
func (l *leaf) live() []Entry { return l.entries[l.lo:l.hi] }

// search is the position of e among the live entries, or where it would go.
func (l *leaf) search(e Entry) (i int, found bool) {
	live := l.live()
	if len(live) == 0 || live[len(live)-1].less(e) {
		return len(live), false
	}
	lo, hi := 0, len(live)-1
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if live[mid].less(e) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, live[lo] == e
}

// insert puts e at position i of a leaf with space, moving the smaller side if that side has space.
func (l *leaf) insert(i int, e Entry) {
	at, lo, hi := int(l.lo)+i, int(l.lo), int(l.hi)
	if hi == leafMax || lo > 0 && i < l.len()/2 {
		copy(l.entries[lo-1:], l.entries[lo:at])
		l.lo--
		at--
	} else {
		copy(l.entries[at+1:hi+1], l.entries[at:hi])
		l.hi++
	}
	l.entries[at] = e
}

// remove takes out the entry at position i, moving the smaller side.
func (l *leaf) remove(i int) {
	at, lo, hi := int(l.lo)+i, int(l.lo), int(l.hi)
	if i < l.len()/2 {
		copy(l.entries[lo+1:at+1], l.entries[lo:at])
		l.lo++
	} else {
		copy(l.entries[at:], l.entries[at+1:hi])
		l.hi--
	}
	if l.lo == l.hi {
		l.lo, l.hi = 0, 0
	}
}

// takeEnd moves the last n entries of left, its left neighbour, to the front of l, which has space for them.
func (l *leaf) takeEnd(left *leaf, n int) {
	have := l.len()
	copy(l.entries[leafMax-have:], l.live()) // to the very end, so that l can grow downwards
	from := leafMax - have - n
	copy(l.entries[from:], left.entries[int(left.hi)-n:left.hi])
	l.lo, l.hi = uint16(from), leafMax
	left.hi -= uint16(n)
}

// takeStart moves the first n entries of right, its right neighbour, to the end of l, which has space for them.
func (l *leaf) takeStart(right *leaf, n int) {
	have := copy(l.entries[:], l.live())
	copy(l.entries[have:], right.entries[right.lo:int(right.lo)+n])
	l.lo, l.hi = 0, uint16(have+n)
	right.lo += uint16(n)
}
