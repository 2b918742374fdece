package queue

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// chunkLen is the number of entries in a full chunk: large enough that the summary of a cold one is small beside
// its entries, small enough that looking for one message reads little.
const chunkLen = 256

// ChunkLen bounds what Disarm and Look show.
const ChunkLen = chunkLen

// A chunk is the entries of a hot slot: those numbered slot.no*chunkLen+off onwards.
type chunk struct {
	slot    *slot
	entries []Entry
	sides   []Side // parallel to entries, or nil: no entry has a side
	off     int    // of entries[0] in the chunk: what was before it is gone
	dirty   bool   // differs from the slot's page in more than that entries are gone
	used    bool   // since the pool's hand came by
	at      int    // in the pool's ring
}

func (c *chunk) setSide(i int, s Side) {
	if c.sides == nil {
		c.sides = make([]Side, len(c.entries), cap(c.entries))
	}
	c.growSides()
	c.sides[i] = s
}

// growSides makes the sides as many as the entries.
func (c *chunk) growSides() {
	for len(c.sides) < len(c.entries) {
		c.sides = append(c.sides, Side{})
	}
}

// slot is what is known of a chunk, hot or cold.
type slot struct {
	no       uint64 // of the chunk in its lane
	lane     *lane
	hot      *chunk           // nil: the chunk is cold
	page     storage.Ref      // the newest page of the chunk; zero: none was written
	extra    *slotExtra       // what few slots have
	at       deadline.Instant // armed in the vhost's set, 0: nothing is
	near     deadline.Instant // since then entries are in the set by themselves, 0: none are
	nearTo   deadline.Instant // when the last of them is due: nearLast
	live     uint16           // entries that are there
	ready    uint16           // of these
	epoch    uint32           // of the pool when the slot was saved last
	nearLast uint8            // position in the chunk
	restored bool             // the page is from before a restart: who was unacked then is ready

	coldStats // of a cold slot
}

// coldStats is what replay and reclaim need of a chunk whose entries are not in memory.
type coldStats struct {
	persistent  uint16 // entries of that kind
	handed      uint16 // with consumers; restored: that were so when the log ended
	deadLetters uint16
	address     uint8 // of all entries, 0 if they have different ones: pages do not say it
	records     span  // of the log, where records lie
	bytes       int64 // bodies of all entries
}

// slotExtra is what only few slots have.
type slotExtra struct {
	gone      bitmap       // entries that went since the page was written
	some      bool         // gone is not empty
	histories span         // of the log
	kept      storage.Ref  // the page of the persistent entries alone, where page has transient ones too
	others    [2]stateStat // waiting and held entries
}

// stateStat counts entries of one state, and their bodies.
type stateStat struct {
	n     uint16
	bytes int64
}

// span is a range of batches; empty if last is 0.
type span struct{ first, last storage.Index }

func (s *span) add(i storage.Index) {
	if s.last == 0 || i < s.first {
		s.first = i
	}
	s.last = max(s.last, i)
}

func (s span) meets(first, last storage.Index) bool {
	return s.last >= first && s.first <= last && s.last > 0
}

// more returns the slot's extra, made if need be.
func (s *slot) more() *slotExtra {
	if s.extra == nil {
		s.extra = &slotExtra{}
	}
	return s.extra
}

// gone is the bitmap of entries that went since the page was written, nil if none did.
func (s *slot) gone() *bitmap {
	if s.extra == nil || !s.extra.some {
		return nil
	}
	return &s.extra.gone
}

// histories is where histories of its dead letters lie.
func (s *slot) histories() span {
	if s.extra == nil {
		return span{}
	}
	return s.extra.histories
}

// others counts waiting and held entries.
func (s *slot) others() (n uint16) {
	if s.extra != nil {
		n = s.extra.others[0].n + s.extra.others[1].n
	}
	return n
}

// first is the Seq of the chunk's first number.
func (s *slot) first() Seq { return seqOf(s.lane.number, s.no*chunkLen) }

// count fills in what is known of the slot when its chunk goes cold or is saved.
func (s *slot) count(c *chunk) {
	s.coldStats = coldStats{}
	if s.extra != nil {
		s.extra.histories, s.extra.others = span{}, [2]stateStat{}
	}
	first := true
	for i := range c.entries {
		e := &c.entries[i]
		if e.State == Gone {
			continue
		}
		if first {
			s.address, first = e.Address, false
		} else if e.Address != s.address {
			s.address = 0
		}
		s.bytes += int64(e.BodyBytes)
		if e.Flags&Persistent != 0 {
			s.persistent++
		}
		if e.Flags.DeadLetter() {
			s.deadLetters++
		}
		if e.Flags&Volatile == 0 {
			s.records.add(e.Index)
		}
		if c.sides != nil && c.sides[i].History.Log != storage.Volatile && !c.sides[i].History.IsZero() {
			s.more().histories.add(c.sides[i].History.Index)
		}
		switch e.State {
		case Unacked:
			s.handed++
		case Waiting, Held:
			o := &s.more().others[e.State-Waiting]
			o.n++
			o.bytes += int64(e.BodyBytes)
		default:
			if e.Flags&Handed != 0 {
				s.handed++
			}
		}
	}
}
