package queue

// Priority is the lane of a Seq: the priority of its message, as far as the queue tells it apart.
func (s Seq) Priority() int { return s.lane() }

// First is where the lane of a priority begins.
func First(priority int) Seq { return seqOf(priority, 0) }

// Ends lists for each lane that messages have come to, and for the first one, the Seq that the next message gets, by
// priority.
func (m *Messages) Ends() []Seq {
	ends := make([]Seq, max(1, len(m.lanes)))
	for i, l := range m.lanes {
		ends[i] = seqOf(i, l.next)
	}
	return ends
}

// EachBack calls fn for every entry below s, newest first and lane by lane from the highest priority, until fn returns
// false. fn only looks. What is cold stays so.
func (m *Messages) EachBack(s Seq, fn func(Seq, *Entry) bool) {
	for i := min(s.lane(), len(m.lanes)-1); i >= 0; i-- {
		l := m.lanes[i]
		end := l.next
		if i == s.lane() {
			end = s.n()
		}
		if end == 0 {
			continue
		}
		k, found := l.find((end - 1) / chunkLen)
		if !found {
			k--
		}
		for ; k >= 0; k-- {
			if slot := l.slots[k]; slot.live > 0 && !m.eachBackIn(slot, end, fn) {
				return
			}
		}
	}
}

// eachBackIn calls fn for the entries of a chunk with numbers below end, the last first.
func (m *Messages) eachBackIn(s *slot, end uint64, fn func(Seq, *Entry) bool) bool {
	c, copied := m.pool.look(s)
	if copied {
		defer m.pool.put(c)
	}
	first := s.no*chunkLen + uint64(c.off)
	for i := len(c.entries) - 1; i >= 0; i-- {
		if at := first + uint64(i); at < end && c.entries[i].State != Gone && !fn(seqOf(s.lane.number, at), &c.entries[i]) {
			return false
		}
	}
	return true
}
