package queue

// HotMessages counts the copies of which the entries are in memory, of all queues that share the pool.
func (p *Pool) HotMessages() int {
	n := 0
	for _, c := range p.ring {
		n += int(c.slot.live)
	}
	return n
}

// Len counts the copies in all states.
func (m *Messages) Len() int {
	n := 0
	for _, k := range m.counts[Gone+1:] {
		n += k
	}
	return n
}
