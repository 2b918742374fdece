package queue

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/deadline"
)

// Each chunk that has something due has an instant before which nothing in it is. It stands with that among the chunks
// of its queue, in a set that all queues of a pool share: so what is due next in a queue is found whatever waits there.
// The vhost has a set of its own, of what is next in all queues.

// Arm notes that the entry at s has something due at an instant. Earlier tells that nothing of its chunk was due so
// early: was is what was, 0 if nothing.
func (m *Messages) Arm(s Seq, at deadline.Instant) (chunk Seq, was deadline.Instant, earlier bool) {
	m.Touch()
	c, _ := m.lanes[s.lane()].at(s.n())
	was, earlier = c.slot.arm(at)
	return c.slot.first(), was, earlier
}

// Rearm is Arm for something in a chunk that may be no more.
func (m *Messages) Rearm(chunk Seq, at deadline.Instant) (was deadline.Instant, earlier bool) {
	m.Touch()
	if s := m.slotOf(chunk); s != nil {
		return s.arm(at)
	}
	return 0, false
}

func (s *slot) arm(at deadline.Instant) (was deadline.Instant, earlier bool) {
	if was = s.at; was != 0 && was <= at {
		return was, false
	}
	s.stand(at, s.near)
	return was, true
}

// Near notes that some entries of a chunk, which was disarmed, are in the vhost's set by themselves: from one instant
// on, before which none is due, to that of the entry at last, which is the last of them in the order of instants, then
// numbers.
func (m *Messages) Near(since, to deadline.Instant, last Seq) {
	m.Touch()
	if s := m.slotOf(last.chunk()); s != nil {
		s.stand(s.at, since)
		s.nearTo, s.nearLast = to, uint8(last.n()%chunkLen)
	}
}

// Passed notes that the vhost has come to the entry at s, which was in its set by itself for an instant: with the last
// of its chunk none is any more.
func (m *Messages) Passed(s Seq, at deadline.Instant) {
	m.Touch()
	x := m.slotOf(s.chunk())
	if x != nil && x.near != 0 && (at > x.nearTo || at == x.nearTo && s.n()%chunkLen >= uint64(x.nearLast)) {
		x.stand(x.at, 0)
	}
}

// ArmedFor is the instant for which a chunk is armed, 0 if for none.
func (m *Messages) ArmedFor(chunk Seq) deadline.Instant {
	if s := m.slotOf(chunk); s != nil {
		return s.at
	}
	return 0
}

// Disarm forgets the deadline of a chunk, and calls fn for each of its entries with what is known beside it; fn only
// looks.
func (m *Messages) Disarm(chunk Seq, fn func(Seq, *Entry, *Side)) {
	m.Touch()
	if s := m.slotOf(chunk); s != nil {
		m.pool.warm(s)
		s.stand(0, 0)
		s.look(s.hot, fn)
	}
}

// Look is Disarm, but forgets nothing, and what is cold stays so.
func (m *Messages) Look(chunk Seq, fn func(Seq, *Entry, *Side)) {
	if s := m.slotOf(chunk); s != nil {
		c, copied := m.pool.look(s)
		if copied {
			defer m.pool.put(c)
		}
		s.look(c, fn)
	}
}

// look calls fn for each entry of c, which is the chunk of s.
func (s *slot) look(c *chunk, fn func(Seq, *Entry, *Side)) {
	first := s.no*chunkLen + uint64(c.off)
	none := Side{}
	for i := range c.entries {
		if c.entries[i].State == Gone {
			continue
		}
		side := &none
		if i < len(c.sides) {
			side = &c.sides[i]
		}
		fn(seqOf(s.lane.number, first+uint64(i)), &c.entries[i], side)
	}
}

// Armed calls fn for each chunk that has something due, with an instant before which nothing is.
func (m *Messages) Armed(fn func(chunk Seq, at deadline.Instant)) {
	for _, l := range m.lanes {
		for _, s := range l.slots {
			if due := s.due(); s.live > 0 && due != 0 {
				fn(s.first(), due)
			}
		}
	}
}

// Due is Armed in the order of the instants, and of the chunks' numbers where these are equal, from an instant and a
// chunk on, until fn returns false. fn only looks.
func (m *Messages) Due(at deadline.Instant, chunk Seq, fn func(chunk Seq, at deadline.Instant) bool) {
	m.pool.due.Ascend(m.standing(chunk, at), func(e deadline.Entry) bool { return fn(Seq(e.Item), e.At) })
}

// NextDue is an instant before which nothing in the queue is due, 0 if nothing is.
func (m *Messages) NextDue() (next deadline.Instant) {
	m.Due(0, 0, func(_ Seq, at deadline.Instant) bool {
		next = at
		return false
	})
	return next
}

// ChunkFrom is the first chunk with messages of which s is one or that begins behind it, for Look: with how many
// messages it has, and an instant before which nothing in it is due, 0 if nothing is. ok is false if there is none. So
// what is in a queue is gone through in portions, whatever happens in between: a message stays in its chunk.
func (m *Messages) ChunkFrom(s Seq) (chunk Seq, live int, due deadline.Instant, ok bool) {
	no := s.n() / chunkLen
	for i := s.lane(); i < len(m.lanes); i, no = i+1, 0 {
		l := m.lanes[i]
		for k, _ := l.find(no); k < len(l.slots); k++ {
			if x := l.slots[k]; x.live > 0 {
				return x.first(), int(x.live), x.due(), true
			}
		}
	}
	return 0, 0, 0, false
}

// Stands counts how often a chunk has come to another place in the order of Due, so that whoever goes through it in
// portions knows that one may have gone past it.
func (m *Messages) Stands() uint64 { return m.stands }

// due is an instant before which nothing in the chunk is due, 0 if nothing is.
func (s *slot) due() deadline.Instant {
	if s.at == 0 || s.near != 0 && s.near < s.at {
		return s.near
	}
	return s.at
}

// stand changes what is known of when something in the chunk is due, and so where it stands among the chunks of its
// queue.
func (s *slot) stand(at, near deadline.Instant) {
	was := s.due()
	s.at, s.near = at, near
	s.move(was, s.due())
}

// move puts a slot among the chunks of its queue for another instant than it was there for, 0 for none.
func (s *slot) move(was, at deadline.Instant) {
	m := s.lane.queue
	if was == at {
		return
	}
	if was != 0 {
		m.pool.due.Remove(m.standing(s.first(), was))
	}
	if at != 0 {
		m.pool.due.Add(m.standing(s.first(), at))
		m.stands++
	}
}

// standing is a chunk of m in the set of the pool.
func (m *Messages) standing(chunk Seq, at deadline.Instant) deadline.Entry {
	return deadline.Entry{At: at, Owner: uint64(m.id), Item: uint64(chunk)}
}

// disarm takes the deadline of a slot without entries out of the vhost's set.
func (s *slot) disarm() {
	if s.at != 0 {
		s.lane.queue.pool.disarmed(s.lane.queue, s.first(), s.at)
	}
	s.stand(0, 0)
}

// slotOf finds the slot whose chunk begins at a Seq, nil if it is no more.
func (m *Messages) slotOf(chunk Seq) *slot {
	if chunk.lane() >= len(m.lanes) {
		return nil
	}
	l := m.lanes[chunk.lane()]
	i, found := l.find(chunk.n() / chunkLen)
	if !found || l.slots[i].live == 0 {
		return nil
	}
	return l.slots[i]
}

// checkDue compares where chunks stand with what is known of them.
func (m *Messages) checkDue() error {
	n := 0
	for _, l := range m.lanes {
		for _, s := range l.slots {
			if s.due() != 0 {
				n++
			}
		}
	}
	var err error
	m.Due(0, 0, func(chunk Seq, at deadline.Instant) bool {
		n--
		if s := m.slotOf(chunk); s == nil || s.due() != at {
			err = fmt.Errorf("queue: chunk %x stands at %d, and should not", uint64(chunk), at)
		}
		return err == nil
	})
	if err == nil && n != 0 {
		err = fmt.Errorf("queue: %d more chunks have something due than stand in the set", n)
	}
	return err
}
