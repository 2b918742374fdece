package queue

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Pool is what the queues of a vhost share: the memory of hot chunks, the pages of cold ones, and the saving of both
// for a checkpoint. Source: ours, decisions 11 and 12.
type Pool struct {
	pages    storage.Pages
	log      storage.LogID // the vhost's own
	budget   int           // entries that may be hot
	disarmed func(q *Messages, chunk Seq, at deadline.Instant)

	ring    []*chunk // hot
	hand    int      // of the clock
	entries int      // that the hot chunks have space for
	spared  int      // of them, those that stayed beyond the budget when Trim looked last
	trims   uint     // since then
	free    []*chunk // of chunkLen entries each
	buf     []byte

	due deadline.ByOwner // chunks that have something due, by queue, each with an instant before which nothing is

	use     storage.Use   // of the log of pages
	dropped []storage.Ref // pages of that log that no slot names any more, but the last checkpoint may

	epoch   uint32      // raised by each BeginCheckpoint
	saving  *Checkpoint // nil: no checkpoint is in the making
	storing *Checkpoint // one of which all is saved, and that does not count yet
}

// freeMax bounds the chunks that are kept for the next use.
const freeMax = 64

// nearMax is how many entries stay in memory beyond the budget because they are due soon, and trimsPerLook after how
// many trims they are checked again.
const (
	nearMax      = 1 << 20
	trimsPerLook = 256
)

// NewPool returns a pool for the queues of the vhost with that log. Budget is how many entries may be hot at the end of
// a step, 32 octets each. Disarmed is told when a chunk with an armed deadline is no more.
func NewPool(pages storage.Pages, log storage.LogID, budget int, disarmed func(q *Messages, chunk Seq, at deadline.Instant)) *Pool {
	return &Pool{pages: pages, log: log, budget: budget, disarmed: disarmed}
}

// SetBudget sets how many entries may be hot at the end of a step.
func (p *Pool) SetBudget(entries int) { p.budget = entries }

// CountBy sets how many bytes of pages are counted together for PageUse.
func (p *Pool) CountBy(bytes int64) { p.use.Grain = bytes }

// Hot counts the entries that are in memory.
func (p *Pool) Hot() int { return p.entries }

// warm makes the chunk of s hot, if it is not, and saves s first if a checkpoint is being taken that needs it as it is.
func (p *Pool) warm(s *slot) *chunk {
	if s.epoch != p.epoch {
		p.save(s)
	}
	c := s.hot
	if c == nil {
		c = p.load(s)
	}
	c.used = true
	return c
}

// load makes a cold chunk hot.
func (p *Pool) load(s *slot) *chunk {
	c := p.take(s.no > 0 || s.live > 4)
	if !s.page.IsZero() {
		p.read(s, c)
	}
	c.slot, c.dirty, c.at = s, false, len(p.ring)
	if s.restored {
		c.dirty = c.revive()
		s.restored = false
	}
	s.hot = c
	p.ring = append(p.ring, c)
	p.entries += cap(c.entries)
	return c
}

// revive makes ready what was unacked when the page was written, and reports whether anything was: the channels that
// had it are no more.
func (c *chunk) revive() (some bool) {
	for i := range c.entries {
		if e := &c.entries[i]; e.State == Unacked {
			e.State = Ready
			e.Flags |= Redelivered | Handed
			some = true
		}
	}
	return some
}

// read fills c with the page of s, which must hold what is known of s.
func (p *Pool) read(s *slot, c *chunk) {
	p.fill(c, s.page, s.gone())
	if !s.agrees(c) {
		p.fault(s.page, errSlot)
	}
	if s.address != 0 {
		for i := range c.entries {
			if e := &c.entries[i]; e.State != Gone {
				e.Address = s.address
			}
		}
	}
}

// fill fills c with the entries of a page, those of gone left out.
func (p *Pool) fill(c *chunk, page storage.Ref, gone *bitmap) {
	if err := readPage(c, p.pages.Get(page), gone, p.log); err != nil {
		p.fault(page, err)
	}
}

// fault unwinds: nothing may be decided without that page.
func (p *Pool) fault(page storage.Ref, err error) {
	panic(storage.Fault{Err: fmt.Errorf("page of log %d at index %d, offset %d: %w", page.Log, page.Index, page.Offset, err)})
}

// agrees reports whether c has as many entries, and as many ready ones, as s says.
func (s *slot) agrees(c *chunk) bool {
	live, ready := uint16(0), uint16(0)
	for i := range c.entries {
		switch c.entries[i].State {
		case Gone:
			continue
		case Ready:
			ready++
		case Unacked:
			if s.restored {
				ready++
			}
		}
		live++
	}
	return live == s.live && ready == s.ready
}

// look returns a chunk to read from: the hot one, or a copy of a cold one, which the caller gives back with put.
func (p *Pool) look(s *slot) (c *chunk, copied bool) {
	if s.hot != nil {
		return s.hot, false
	}
	c = p.take(true)
	c.slot = s
	p.read(s, c)
	if s.restored {
		c.revive()
	}
	return c, true
}

// take returns an empty chunk, a large one if it is about to be filled.
func (p *Pool) take(large bool) *chunk {
	if n := len(p.free); large && n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c
	}
	if large {
		return &chunk{entries: make([]Entry, 0, chunkLen)}
	}
	return &chunk{}
}

// put gives the memory of a chunk back.
func (p *Pool) put(c *chunk) {
	if cap(c.entries) >= chunkLen && len(p.free) < freeMax {
		*c = chunk{entries: c.entries[:0]}
		p.free = append(p.free, c)
	}
}

// grow appends an entry to a hot chunk.
func (p *Pool) grow(c *chunk, e Entry) {
	before := cap(c.entries)
	c.entries = append(c.entries, e)
	p.entries += cap(c.entries) - before
	if c.sides != nil {
		c.sides = append(c.sides, Side{})
	}
}

// Trim makes chunks cold until no more entries are hot than the budget allows, the least recently used first. Chunks of
// which entries are in the vhost's set by themselves, so due soon, stay as well, up to nearMax entries: what is due is
// the earliest deadline of the set. No pointer to an entry is good after it.
func (p *Pool) Trim(due deadline.Instant) {
	if p.entries <= p.budget {
		p.spared = 0
		return
	}
	if p.trims++; p.entries <= p.budget+p.spared && p.trims%trimsPerLook != 0 {
		return
	}
	p.spared = 0
	for _, c := range p.ring {
		if c.isNear(due) {
			p.spared = min(p.spared+cap(c.entries), nearMax)
		}
	}
	if p.entries <= p.budget+p.spared {
		return
	}
	goal := p.budget - p.budget/16 + p.spared
	for tries := 2 * len(p.ring); tries > 0 && p.entries > goal && len(p.ring) > 0; tries-- {
		if p.hand >= len(p.ring) {
			p.hand = 0
		}
		c := p.ring[p.hand]
		switch {
		case c.used:
			c.used = false
			p.hand++
		case p.spared < nearMax && c.isNear(due):
			p.hand++
		case !p.chill(c):
			return // no space for pages: it stays as it is
		}
	}
}

// isNear reports whether entries of c are in the vhost's set by themselves, of which due is the earliest deadline.
func (c *chunk) isNear(due deadline.Instant) bool { return c.slot.nearTo >= due && c.slot.live > 0 }

// chill makes a chunk cold, and reports whether it could.
func (p *Pool) chill(c *chunk) bool {
	s := c.slot
	if s.epoch != p.epoch {
		p.save(s)
	}
	if s.live == 0 {
		p.cool(c)
		return true
	}
	s.count(c)
	if c.dirty || s.page.IsZero() {
		if !p.write(s, c) {
			return false
		}
	}
	p.cool(c)
	return true
}

// write gives s a page that says what c holds.
func (p *Pool) write(s *slot, c *chunk) bool {
	p.buf = appendPage(p.buf[:0], c, 0)
	transient := int(s.persistent) < int(s.live)
	r := p.pages.Put(p.buf, transient)
	if r.IsZero() {
		return false
	}
	p.forget(s)
	s.page = r
	c.dirty = false
	p.retain(r)
	return true
}

// retain counts a page that a slot names.
func (p *Pool) retain(r storage.Ref) {
	if r.Log == p.log.Pages() {
		p.use.Retain(r)
	}
}

// forget lets go of the pages of s, which are no longer what its chunk holds.
func (p *Pool) forget(s *slot) {
	p.discard(s.page)
	s.page = storage.Ref{}
	if x := s.extra; x != nil {
		p.discard(x.kept)
		x.kept, x.gone, x.some = storage.Ref{}, bitmap{}, false
	}
}

// discard lets go of a page.
func (p *Pool) discard(r storage.Ref) {
	switch {
	case r.IsZero():
	case r.Log == p.log.Pages():
		p.dropped = append(p.dropped, r)
	default:
		p.pages.Drop(r)
	}
}

// cool takes a chunk out of memory.
func (p *Pool) cool(c *chunk) {
	p.release(c)
	p.put(c)
}

// release takes a chunk off its slot. Its memory is the caller's.
func (p *Pool) release(c *chunk) {
	c.slot.hot = nil
	p.entries -= cap(c.entries)
	last := len(p.ring) - 1
	p.ring[c.at] = p.ring[last]
	p.ring[c.at].at = c.at
	p.ring[last] = nil
	p.ring = p.ring[:last]
}

// clear lets go of all that a slot without entries holds.
func (s *slot) clear() {
	p := s.lane.queue.pool
	if s.epoch != p.epoch {
		p.save(s)
	}
	p.forget(s)
	if s.hot != nil {
		p.cool(s.hot)
	}
	s.disarm()
	s.live, s.ready = 0, 0
}
