package queue

import (
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// PendingFree is a chunk whose messages were all ended without a look at them: what their records count for has yet to
// be given back. Source: ours, decision 11.
type PendingFree struct {
	Page       storage.Ref // zero if the chunk is in memory
	Live       int
	Persistent int
	gone       *bitmap
	hot        *chunk // nil if the chunk is in a page
}

// Clear walks the numbers from s on, n of them. A chunk that lies wholly in them and holds ready messages alone is
// taken off at once and given to whole, with its first number, how many it spans and what was in it; each entry of
// the other chunks is given to one, which may remove it.
func (m *Messages) Clear(s Seq, n uint64, whole func(first Seq, span uint64, g PendingFree), one func(Seq, *Entry)) {
	m.ClearSome(s, n, func() bool { return true }, whole, one)
}

// ClearSome is Clear for as long as goOn says so, asked before each chunk; next is where to go on if there is more.
func (m *Messages) ClearSome(s Seq, n uint64, goOn func() bool, whole func(first Seq, span uint64, g PendingFree), one func(Seq, *Entry)) (next Seq, more bool) {
	if s.lane() >= len(m.lanes) {
		return 0, false
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
		if !goOn() {
			return max(s, x.first()), true
		}
		first, last := x.no*chunkLen, min((x.no+1)*chunkLen, l.next)
		switch {
		case x.live == 0:
		case first >= s.n() && last <= end && x.isReady():
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
	return 0, false
}

// isReady reports whether all entries of a chunk are ready, and none comes back from a restart.
func (s *slot) isReady() bool {
	if s.hot == nil {
		return s.handed == 0 && s.others() == 0
	}
	return s.ready == s.live && !s.hot.hasHanded()
}

// hasHanded reports whether an entry was with a consumer when the log ended.
func (c *chunk) hasHanded() bool {
	for i := range c.entries {
		if e := &c.entries[i]; e.State != Gone && e.Flags&Handed != 0 {
			return true
		}
	}
	return false
}

// Lanes calls fn for the first number of each lane.
func (m *Messages) Lanes(fn func(Seq)) {
	for i := range m.lanes {
		fn(seqOf(i, 0))
	}
}

// bury takes a chunk of ready messages off.
func (m *Messages) bury(s *slot) PendingFree {
	if s.epoch != m.pool.epoch {
		m.pool.save(s)
	}
	g := PendingFree{hot: s.hot}
	if s.hot != nil {
		s.count(s.hot)
		m.pool.release(s.hot)
		m.pool.forget(s)
	} else {
		g.Page, g.gone = s.page, s.gone()
		s.page = storage.Ref{} // the chunk pending free has it
	}
	g.Live, g.Persistent = int(s.live), int(s.persistent)
	m.counts[Ready] -= int(s.live)
	m.bytes[Ready] -= s.bytes
	m.persistent -= int(s.persistent)
	m.deadLetters -= int(s.deadLetters)
	l := s.lane
	l.ready -= int(s.ready)
	if s.extra != nil {
		m.pool.discard(s.extra.kept)
		s.extra = nil
	}
	s.clear()
	l.drop(s)
	return g
}

// Exhume calls fn for each message of a chunk pending free, and gives its page up.
func (p *Pool) Exhume(g PendingFree, fn func(*Entry, Side)) {
	c := g.hot
	if c == nil {
		c = p.take(true)
		p.fill(c, g.Page, g.gone)
	}
	c.each(fn)
	p.put(c)
	p.discard(g.Page)
}

// each calls fn for each entry of a chunk.
func (c *chunk) each(fn func(*Entry, Side)) {
	for i := range c.entries {
		if e := &c.entries[i]; e.State != Gone {
			var side Side
			if i < len(c.sides) {
				side = c.sides[i]
			}
			fn(e, side)
		}
	}
}

// Dig takes up to n chunks off a queue that is deleted, calls fn for each of their messages, and reports whether there
// are more. Nothing else may be done with the queue.
func (m *Messages) Dig(n int, fn func(*Entry, Side)) (more bool) {
	m.Touch()
	for _, l := range m.lanes {
		for ; len(l.slots) > 0; n-- {
			if n <= 0 {
				return true
			}
			last := len(l.slots) - 1
			s := l.slots[last]
			if s.live > 0 {
				c, copied := m.pool.look(s)
				c.each(fn)
				if copied {
					m.pool.put(c)
				}
			}
			s.clear()
			l.slots[last] = nil
			l.slots = l.slots[:last]
		}
	}
	return false
}

// IsDurable reports whether the page outlives a restart.
func (g PendingFree) IsDurable() bool { return g.hot == nil && g.Page.Log.Owner() != storage.Volatile }

// Save appends what Rebury wants; false if the page is not durable.
func (g PendingFree) Save(b []byte) ([]byte, bool) {
	if !g.IsDurable() {
		return b, false
	}
	s := slot{live: uint16(g.Live)}
	return appendSlot(b, &s, g.Page, g.gone), true
}

// Rebury returns a chunk pending free as it was saved.
func (p *Pool) Rebury(saved []byte) (PendingFree, error) {
	var s slot
	if _, ok := s.parse(saved, p.log.Pages()); !ok {
		return PendingFree{}, errPage
	}
	p.retain(s.page)
	return PendingFree{Page: s.page, Live: int(s.live), Persistent: int(s.live), gone: s.gone()}, nil
}
