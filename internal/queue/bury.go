package queue

import (
	"github.com/bartleby-mq/bartleby/internal/place"
)

// Grave is a cold chunk whose messages were all ended without a look at them: what their records count for has yet to
// be given back. Source: ours, decision 11.
type Grave struct {
	Page       place.Ref
	Live       int
	Persistent int
	gone       *bitmap
}

// Clear walks the numbers from s on, n of them. A cold chunk that lies wholly in them and holds ready messages alone is
// taken off at once and given to whole, with its first number, how many it spans and what was in it; each entry of
// the other chunks is given to one, which may remove it.
func (m *Messages) Clear(s Seq, n uint64, whole func(first Seq, span uint64, g Grave), one func(Seq, *Entry)) {
	if s.lane() >= len(m.lanes) {
		return
	}
	m.Touch()
	l := m.lanes[s.lane()]
	end := s.n() + n
	if end < n || end > l.next {
		end = l.next
	}
	k, _ := l.find(s.n() / chunkLen)
	for k < len(l.slots) && l.slots[k].no*chunkLen < end {
		x := l.slots[k]
		first, last := x.no*chunkLen, min((x.no+1)*chunkLen, l.next)
		switch {
		case x.live == 0:
		case first >= s.n() && last <= end && x.hot == nil && x.handed == 0 && x.others() == 0:
			whole(x.first(), last-first, m.bury(x))
		default:
			m.eachIn(x, s.n(), func(at Seq, e *Entry) bool {
				if at.n() < end {
					one(at, e)
				}
				return at.n() < end
			})
		}
		if k < len(l.slots) && l.slots[k] == x {
			k++
		} else {
			k, _ = l.find(x.no + 1)
		}
	}
}

// Lanes calls fn for the first number of each lane.
func (m *Messages) Lanes(fn func(Seq)) {
	for i := range m.lanes {
		fn(seqOf(i, 0))
	}
}

// bury takes a cold chunk of ready messages off.
func (m *Messages) bury(s *slot) Grave {
	if s.epoch != m.pool.epoch {
		m.pool.save(s)
	}
	g := Grave{Page: s.page, Live: int(s.live), Persistent: int(s.persistent), gone: s.gone()}
	m.counts[Ready] -= int(s.live)
	m.bytes[Ready] -= s.bytes
	l := s.lane
	l.ready -= int(s.ready)
	s.page = place.Ref{} // the grave has it
	if s.extra != nil {
		m.pool.discard(s.extra.kept)
		s.extra = nil
	}
	s.clear()
	l.drop(s)
	return g
}

// Exhume calls fn for each message of a grave, and gives its page up.
func (p *Pool) Exhume(g Grave, fn func(*Entry, Side)) {
	c := p.take(true)
	p.fill(c, g.Page, g.gone)
	for i := range c.entries {
		if e := &c.entries[i]; e.State != Gone {
			var side Side
			if c.sides != nil {
				side = c.sides[i]
			}
			fn(e, side)
		}
	}
	p.put(c)
	p.discard(g.Page)
}

// IsDurable reports whether the page outlives a restart.
func (g Grave) IsDurable() bool { return g.Page.Log.Owner() != place.Volatile }

// Save appends what Rebury wants; false if the page is not durable.
func (g Grave) Save(b []byte) ([]byte, bool) {
	if !g.IsDurable() {
		return b, false
	}
	s := slot{live: uint16(g.Live)}
	return appendSlot(b, &s, g.Page, g.gone), true
}

// Rebury returns a grave as it was saved.
func (p *Pool) Rebury(saved []byte) (Grave, error) {
	var s slot
	if _, ok := s.parse(saved, p.log.Pages()); !ok {
		return Grave{}, errPage
	}
	p.retain(s.page)
	return Grave{Page: s.page, Live: int(s.live), Persistent: int(s.live), gone: s.gone()}, nil
}
