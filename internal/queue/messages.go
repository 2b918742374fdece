package queue

import "fmt"

// Messages holds every copy in one queue. Its owner is the vhost; it changes only by applying facts.
type Messages struct {
	pool        *Pool
	id          uint32
	durable     bool
	lanes       []*lane // by priority, as far as messages have come: none in a queue that never had one
	priorityMax int
	top         int // no lane above it has a ready entry
	counts      [states]int
	bytes       [states]int64
	persistent  int // copies that are in the log
	deadLetters int
	epoch       uint32 // of the pool when the queue was saved last
	stands      uint64 // how often a chunk was put among those that are due
}

// NewMessages returns an empty queue with priorities 0 to priorityMax. ID is the vhost's; a checkpoint has what is in a
// durable one.
func NewMessages(pool *Pool, id uint32, durable bool, priorityMax uint8) *Messages {
	return &Messages{pool: pool, id: id, durable: durable, priorityMax: int(priorityMax), epoch: pool.epoch}
}

// ID is the number that the vhost gave the queue.
func (m *Messages) ID() uint32 { return m.id }

// PriorityMax is the highest priority that the queue tells apart.
func (m *Messages) PriorityMax() uint8 { return uint8(m.priorityMax) }

// Count tells how many copies are in a state.
func (m *Messages) Count(s State) int { return m.counts[s] }

// Bytes sums the bodies of the copies in a state.
func (m *Messages) Bytes(s State) int64 { return m.bytes[s] }

// Ready counts the copies that may be delivered.
func (m *Messages) Ready() int { return m.counts[Ready] }

// Persistent counts the copies that are in the log.
func (m *Messages) Persistent() int { return m.persistent }

// DeadLetters counts the copies that are dead letters, whatever their state.
func (m *Messages) DeadLetters() int { return m.deadLetters }

// Unacked counts the copies with consumers.
func (m *Messages) Unacked() int { return m.counts[Unacked] }

// lane returns the lane of a Seq, which is made if no message has come there yet.
func (m *Messages) lane(s Seq) *lane {
	for len(m.lanes) <= s.lane() {
		m.lanes = append(m.lanes, &lane{queue: m, number: len(m.lanes)})
	}
	return m.lanes[s.lane()]
}

// Next is the Seq that the next message of that priority must be pushed with. A priority above the queue's
// maximum counts as the maximum. Source: RabbitMQ priority#behaviour.
func (m *Messages) Next(priority uint8) Seq {
	i := min(int(priority), m.priorityMax)
	if i >= len(m.lanes) {
		return seqOf(i, 0)
	}
	return seqOf(i, m.lanes[i].next)
}

// Push appends a ready entry. The caller gives the Seq that Next gave when the fact was made; a larger one
// skips numbers, so that a snapshot need not mention what is gone.
func (m *Messages) Push(s Seq, e Entry) *Entry {
	m.Touch()
	l := m.lane(s)
	if s.n() > l.next {
		l.skip(s.n())
	}
	e.State = Ready
	m.top = max(m.top, s.lane())
	m.counts[Ready]++
	m.bytes[Ready] += int64(e.BodyBytes)
	if e.Flags.DeadLetter() {
		m.deadLetters++
	}
	if e.Flags&Persistent != 0 {
		l.logged = l.next + 1
		m.persistent++
	}
	return l.push(e)
}

// Fits reports whether s can be given to Push or Skip: its lane exists, and its number was not used.
func (m *Messages) Fits(s Seq) bool {
	return s.lane() <= m.priorityMax && (s.lane() >= len(m.lanes) || s.n() >= m.lanes[s.lane()].next)
}

// Skip leaves the numbers below s unused: persistent entries that are gone had them.
func (m *Messages) Skip(s Seq) {
	m.Touch()
	if l := m.lane(s); s.n() > l.next {
		l.skip(s.n())
		l.logged = s.n()
	}
}

// Skipped calls fn with what Skip must be told after all persistent entries were pushed into an empty queue,
// so that no Seq is used twice.
func (m *Messages) Skipped(fn func(Seq)) {
	for i, l := range m.lanes {
		if n := l.logged; n > 0 && m.Entry(seqOf(i, n-1)) == nil {
			fn(seqOf(i, n))
		}
	}
}

// Entry returns the entry at s, or nil if it is gone. The pointer is good until the next change, and for reading.
func (m *Messages) Entry(s Seq) *Entry {
	if s.lane() >= len(m.lanes) {
		return nil
	}
	c, i := m.lanes[s.lane()].at(s.n())
	if c == nil || c.entries[i].State == Gone {
		return nil
	}
	return &c.entries[i]
}

// Peek is Entry for one that is in memory: nil, too, for one in a page, which stays there.
func (m *Messages) Peek(s Seq) *Entry {
	if s.lane() >= len(m.lanes) {
		return nil
	}
	l := m.lanes[s.lane()]
	i, found := l.find(s.n() / chunkLen)
	if !found || l.slots[i].hot == nil {
		return nil
	}
	c := l.slots[i].hot
	k := int(s.n()%chunkLen) - c.off
	if k < 0 || k >= len(c.entries) || c.entries[k].State == Gone {
		return nil
	}
	return &c.entries[k]
}

// Change returns the entry at s, which is there, to be changed: its deadline, and flags that do not make a dead letter
// of it, nothing else.
func (m *Messages) Change(s Seq) *Entry {
	m.Touch()
	c, i := m.lanes[s.lane()].at(s.n())
	c.dirty = true
	return &c.entries[i]
}

// Side returns what is known of s beside its entry; the zero Side if nothing is.
func (m *Messages) Side(s Seq) Side {
	if s.lane() >= len(m.lanes) {
		return Side{}
	}
	c, i := m.lanes[s.lane()].at(s.n())
	if c == nil || c.sides == nil {
		return Side{}
	}
	return c.sides[i]
}

// SetSide replaces what is known of s.
func (m *Messages) SetSide(s Seq, side Side) {
	m.Touch()
	c, i := m.lanes[s.lane()].at(s.n())
	if c == nil {
		return
	}
	c.dirty = true
	c.setSide(i, side)
}

// Head returns the message that is delivered next.
func (m *Messages) Head() (Seq, *Entry, bool) {
	if m.counts[Ready] == 0 {
		return 0, nil, false
	}
	for m.lanes[m.top].ready == 0 {
		m.top--
	}
	n, e := m.lanes[m.top].head()
	return seqOf(m.top, n), e, true
}

// LowestHead returns the oldest ready message of the lowest priority that has one.
func (m *Messages) LowestHead() (Seq, *Entry, bool) {
	for i, l := range m.lanes {
		if l.ready > 0 {
			n, e := l.head()
			return seqOf(i, n), e, true
		}
	}
	return 0, nil, false
}

// Take makes a ready entry unacked.
func (m *Messages) Take(s Seq) { m.become(s, Unacked) }

// Return makes an entry ready again, where it was, flagged as redelivered.
func (m *Messages) Return(s Seq) { m.become(s, Ready).Flags |= Redelivered }

// Resume makes an entry ready that has waited.
func (m *Messages) Resume(s Seq) { m.become(s, Ready) }

// Wait lets an entry wait.
func (m *Messages) Wait(s Seq) { m.become(s, Waiting) }

// Hold makes an entry a held dead letter, which does not expire.
func (m *Messages) Hold(s Seq) {
	e := m.become(s, Held)
	if !e.Flags.DeadLetter() {
		m.deadLetters++
	}
	e.ExpireAt, e.Flags = 0, e.Flags&^(Handed|AtWork)|HasHistory
}

// become moves an entry from the state that it is in to another.
func (m *Messages) become(s Seq, to State) *Entry {
	m.Touch()
	l := m.lanes[s.lane()]
	c, i := l.at(s.n())
	c.dirty = true
	e := &c.entries[i]
	m.counts[e.State]--
	m.bytes[e.State] -= int64(e.BodyBytes)
	m.counts[to]++
	m.bytes[to] += int64(e.BodyBytes)
	was := e.State
	e.State = to
	switch {
	case was == to:
	case was == Ready:
		l.ready--
		c.slot.ready--
		l.passed(s.n())
	case to == Ready:
		l.ready++
		c.slot.ready++
		m.top = max(m.top, s.lane())
		l.cameBack(s.n())
	}
	return e
}

// Remove forgets an entry, whatever its state.
func (m *Messages) Remove(s Seq) {
	m.Touch()
	l := m.lanes[s.lane()]
	c, i := l.at(s.n())
	e := &c.entries[i]
	m.counts[e.State]--
	m.bytes[e.State] -= int64(e.BodyBytes)
	if e.Flags&Persistent != 0 {
		m.persistent--
	}
	if e.Flags.DeadLetter() {
		m.deadLetters--
	}
	if e.State == Ready {
		l.ready--
		c.slot.ready--
		l.passed(s.n())
	}
	l.gone(c, i)
}

// Each calls fn for every entry from s on, lane by lane in queue order, until fn returns false. fn may remove the
// entry that it is given, and must not change it otherwise but by the methods of m. What is cold stays so.
func (m *Messages) Each(s Seq, fn func(Seq, *Entry) bool) { m.each(s, nil, fn) }

// EachHanded is Each for entries that were with consumers when the log ended. It looks at no others that are cold.
func (m *Messages) EachHanded(fn func(Seq, *Entry) bool) {
	m.each(0, func(s *slot) bool { return s.hot != nil || s.handed > 0 }, func(s Seq, e *Entry) bool {
		return e.Flags&Handed == 0 || fn(s, e)
	})
}

// EachReady calls fn for ready entries in the order in which they are delivered, until fn returns false
// or it has looked at so many chunks. fn only looks. What is cold stays so.
func (m *Messages) EachReady(chunks int, fn func(Seq, *Entry) bool) {
	for i := len(m.lanes) - 1; i >= 0; i-- {
		for _, s := range m.lanes[i].slots {
			if s.ready == 0 {
				continue
			}
			if chunks == 0 {
				return
			}
			chunks--
			if !m.eachIn(s, 0, func(at Seq, e *Entry) bool { return e.State != Ready || fn(at, e) }) {
				return
			}
		}
	}
}

func (m *Messages) each(s Seq, which func(*slot) bool, fn func(Seq, *Entry) bool) {
	for i := s.lane(); i < len(m.lanes); i++ {
		l := m.lanes[i]
		n := uint64(0)
		if i == s.lane() {
			n = s.n()
		}
		k, _ := l.find(n / chunkLen)
		for k < len(l.slots) {
			slot := l.slots[k]
			if slot.live > 0 && (which == nil || which(slot)) && !m.eachIn(slot, n, fn) {
				return
			}
			if k < len(l.slots) && l.slots[k] == slot {
				k++
			} else {
				k, _ = l.find(slot.no + 1)
			}
		}
	}
}

// eachIn calls fn for the entries of a chunk from number n on.
func (m *Messages) eachIn(s *slot, n uint64, fn func(Seq, *Entry) bool) bool {
	c, copied := m.pool.look(s)
	if copied {
		defer m.pool.put(c)
	}
	first := s.no*chunkLen + uint64(c.off)
	for i := 0; i < len(c.entries) && (copied || c.slot == s); i++ { // not another chunk's by now
		if at := first + uint64(i); at >= n && c.entries[i].State != Gone {
			if !fn(seqOf(s.lane.number, at), &c.entries[i]) {
				return false
			}
		}
	}
	return true
}

// Chunks counts the chunks of the queue, of which up to half may have no messages.
func (m *Messages) Chunks() (n int) {
	for _, l := range m.lanes {
		n += len(l.slots)
	}
	return n
}

// Chunk is the i-th of them, for Look.
func (m *Messages) Chunk(i int) Seq {
	for _, l := range m.lanes {
		if i < len(l.slots) {
			return l.slots[i].first()
		}
		i -= len(l.slots)
	}
	return 0
}

// Check walks the queue and reports the first of the package's invariants that does not hold.
func (m *Messages) Check() error {
	var counts [states]int
	var bytes [states]int64
	var err error
	persistent, deadLetters := 0, 0
	m.Each(0, func(s Seq, e *Entry) bool {
		counts[e.State]++
		if e.Flags.DeadLetter() {
			deadLetters++
		}
		if e.Flags&Persistent != 0 {
			persistent++
		}
		bytes[e.State] += int64(e.BodyBytes)
		if e.State == Ready {
			if l := m.lanes[s.lane()]; s.n() < l.cursor && !l.isReturned(s.n()) {
				err = fmt.Errorf("queue: ready %d below the cursor %d is not in returned", s.n(), l.cursor)
			}
			if s.lane() > m.top {
				err = fmt.Errorf("queue: ready %d in lane %d above the top %d", s.n(), s.lane(), m.top)
			}
		}
		return err == nil
	})
	if err == nil && (counts != m.counts || bytes != m.bytes) {
		err = fmt.Errorf("queue: counted %v, found %v; bytes %v, found %v", m.counts, counts, m.bytes, bytes)
	}
	if err == nil && persistent != m.persistent {
		err = fmt.Errorf("queue: counted %d persistent entries, found %d", m.persistent, persistent)
	}
	if err == nil && deadLetters != m.deadLetters {
		err = fmt.Errorf("queue: counted %d dead letters, found %d", m.deadLetters, deadLetters)
	}
	for _, l := range m.lanes {
		for i := 0; i < len(l.slots) && err == nil; i++ {
			err = m.checkSlot(l.slots[i])
		}
	}
	if err == nil {
		err = m.checkDue()
	}
	return err
}

// checkSlot compares what is known of a slot with what its chunk holds.
func (m *Messages) checkSlot(s *slot) error {
	if s.live == 0 {
		return nil
	}
	c, copied := m.pool.look(s)
	if copied {
		defer m.pool.put(c)
	}
	live, ready := uint16(0), uint16(0)
	for i := range c.entries {
		if c.entries[i].State != Gone {
			live++
		}
		if c.entries[i].State == Ready {
			ready++
		}
	}
	if live != s.live || ready != s.ready {
		return fmt.Errorf("queue: chunk %d of lane %d has %d entries, %d ready, not %d, %d", s.no, s.lane.number, live, ready, s.live, s.ready)
	}
	return nil
}
