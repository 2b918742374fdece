package queue

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/deadline"
)

// Messages holds every copy in one queue. Its owner is the vhost; it changes only by folding facts.
type Messages struct {
	lanes       []lane // by priority, as far as messages have come
	priorityMax int
	top         int // no lane above it has a ready entry

	counts [states]int
	bytes  [states]int64
}

// NewMessages returns an empty queue with priorities 0 to priorityMax.
func NewMessages(priorityMax uint8) *Messages {
	return &Messages{lanes: make([]lane, 1), priorityMax: int(priorityMax)}
}

// PriorityMax is the highest priority that the queue tells apart.
func (m *Messages) PriorityMax() uint8 { return uint8(m.priorityMax) }

// Count tells how many copies are in a state.
func (m *Messages) Count(s State) int { return m.counts[s] }

// Bytes sums the bodies of the copies in a state.
func (m *Messages) Bytes(s State) int64 { return m.bytes[s] }

// Ready counts the copies that may be delivered.
func (m *Messages) Ready() int { return m.counts[Ready] }

// Unacked counts the copies with consumers.
func (m *Messages) Unacked() int { return m.counts[Unacked] }

// lane returns the lane of a Seq, which is made if no message has come there yet.
func (m *Messages) lane(s Seq) *lane {
	for len(m.lanes) <= s.lane() {
		m.lanes = append(m.lanes, lane{requeueLast: m.lanes[0].requeueLast})
	}
	return &m.lanes[s.lane()]
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
	l := m.lane(s)
	if s.n() > l.next {
		l.skip(s.n())
	}
	e.State = Ready
	if e.ExpireAt != 0 && e.ExpireAt >= l.orderedMax && e.Flags&Indexed == 0 {
		e.Flags |= Ordered
		l.orderedMax = e.ExpireAt
	}
	m.top = max(m.top, s.lane())
	m.counts[Ready]++
	m.bytes[Ready] += int64(e.BodyBytes)
	if e.Flags&Persistent != 0 {
		l.logged = l.next + 1
	}
	return l.push(e)
}

// Fits reports whether s can be given to Push or Skip: its lane exists, and its number was not used.
func (m *Messages) Fits(s Seq) bool {
	return s.lane() <= m.priorityMax && (s.lane() >= len(m.lanes) || s.n() >= m.lanes[s.lane()].next)
}

// Skip leaves the numbers below s unused: persistent entries that are gone had them.
func (m *Messages) Skip(s Seq) {
	if l := m.lane(s); s.n() > l.next {
		l.skip(s.n())
		l.logged = s.n()
	}
}

// Skipped calls fn with what Skip must be told after all persistent entries were pushed into an empty queue,
// so that no Seq is used twice.
func (m *Messages) Skipped(fn func(Seq)) {
	for i := range m.lanes {
		if n := m.lanes[i].logged; n > 0 && m.Entry(seqOf(i, n-1)) == nil {
			fn(seqOf(i, n))
		}
	}
}

// Entry returns the entry at s, or nil if it is gone. The pointer is good until the next change.
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
	c, i := m.lanes[s.lane()].at(s.n())
	if c == nil {
		return
	}
	if c.sides == nil {
		c.sides = make([]Side, len(c.entries), cap(c.entries))
	}
	c.sides[i] = side
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
	for i := range m.lanes {
		if l := &m.lanes[i]; l.ready > 0 {
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

// Wait lets an entry wait. Its deadline, if it has one, is its own from now on: it is not Ordered any more.
func (m *Messages) Wait(s Seq) { m.become(s, Waiting).Flags &^= Ordered }

// Hold makes an entry a held dead letter, which does not expire.
func (m *Messages) Hold(s Seq) {
	e := m.become(s, Held)
	e.Flags &^= Ordered
	e.ExpireAt = 0
}

// become moves an entry from the state that it is in to another.
func (m *Messages) become(s Seq, to State) *Entry {
	l := &m.lanes[s.lane()]
	c, i := l.at(s.n())
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
		l.passed(s.n())
	case to == Ready:
		l.ready++
		m.top = max(m.top, s.lane())
		if e.Flags&Ordered != 0 && s.n() < l.ttlCursor {
			e.Flags &^= Ordered
		}
		if s.n() < l.cursor {
			l.returned.push(s.n())
		}
	}
	return e
}

// Remove forgets an entry, whatever its state.
func (m *Messages) Remove(s Seq) {
	l := &m.lanes[s.lane()]
	c, i := l.at(s.n())
	e := &c.entries[i]
	m.counts[e.State]--
	m.bytes[e.State] -= int64(e.BodyBytes)
	if e.State == Ready {
		l.ready--
		l.passed(s.n())
	}
	l.gone(c, i, s.n())
}

// ExpiringHead returns the entry whose deadline stands for all ordered ones of its lane, the earliest of all
// lanes: they expire in queue order, so one deadline is enough.
func (m *Messages) ExpiringHead() (Seq, deadline.Instant, bool) {
	var best Seq
	var at deadline.Instant
	for i := range m.lanes {
		if n, e := m.lanes[i].expiringHead(); e != nil && (at == 0 || e.ExpireAt < at) {
			best, at = seqOf(i, n), e.ExpireAt
		}
	}
	return best, at, at != 0
}

// Each calls fn for every entry from s on, lane by lane in queue order, until fn returns false. fn may remove the
// entry that it is given.
func (m *Messages) Each(s Seq, fn func(Seq, *Entry) bool) {
	for i := s.lane(); i < len(m.lanes); i++ {
		l := &m.lanes[i]
		n := uint64(0)
		if i == s.lane() {
			n = s.n()
		}
		for n = max(n, l.base*chunkLen); n < l.next; n++ {
			c, k := l.at(n)
			if c == nil {
				if l.chunk(n) == nil {
					n = (n/chunkLen+1)*chunkLen - 1
				}
				continue
			}
			if c.entries[k].State != Gone && !fn(seqOf(i, n), &c.entries[k]) {
				return
			}
		}
	}
}

// Check walks the queue and reports the first of the package's invariants that does not hold.
func (m *Messages) Check() error {
	var counts [states]int
	var bytes [states]int64
	var err error
	m.Each(0, func(s Seq, e *Entry) bool {
		counts[e.State]++
		bytes[e.State] += int64(e.BodyBytes)
		if e.State == Ready {
			if l := &m.lanes[s.lane()]; s.n() < l.cursor && !l.isReturned(s.n()) {
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
	return err
}
