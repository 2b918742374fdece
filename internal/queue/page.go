package queue

import (
	"encoding/binary"
	"errors"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A page is the entries of a chunk as differences: most messages resemble the one before, and take one octet or two.
//
//	format(1) count(uvarint) { what(1) fields }*
//
// What says which fields follow, in this order; the others are as in the entry before, the position the next one, and
// the record as far behind the one before as that was behind its own predecessor. Source: docs/format/vhost.md.
const pageFormat = 1

const (
	pagePosition = 1 << iota // how many positions are passed over, uvarint
	pageIndex                // batch: difference, varint; then offset, uvarint
	pageGap                  // octets between the end of the record before and this one, varint
	pageSize                 // size of the record, uvarint
	pageBody                 // size of the body, uvarint
	pageKind                 // flags, state, priority: one octet each
	pageExpires              // difference, varint
	pageSide                 // see appendSide
)

const (
	sideHistory  = 1 << iota // batch, offset, size follow, uvarints
	sideVolatile             // the history is in memory
	sideAcquired             // uvarint
	sideFailed               // uvarint
	sideUntil                // uvarint
	sideArrived              // uvarint
)

var (
	errPage = errors.New("queue: page is malformed")
	errSlot = errors.New("queue: page does not hold what it should")
)

// pageState predicts an entry from the one before.
type pageState struct {
	position int
	gap      int64
	entry    Entry
}

// appendPage encodes those entries of a chunk that are there and have all flags of with.
func appendPage(b []byte, c *chunk, with Flags) []byte {
	n := 0
	for i := range c.entries {
		if e := &c.entries[i]; e.State != Gone && e.Flags&with == with {
			n++
		}
	}
	b = append(b, pageFormat)
	b = binary.AppendUvarint(b, uint64(n))
	p := pageState{position: -1}
	for i := range c.entries {
		e := &c.entries[i]
		if e.State == Gone || e.Flags&with != with {
			continue
		}
		var side *Side
		if c.sides != nil && c.sides[i] != (Side{}) {
			side = &c.sides[i]
		}
		b = p.append(b, c.off+i, e, side)
	}
	return b
}

func (p *pageState) append(b []byte, position int, e *Entry, side *Side) []byte {
	last := &p.entry
	at := len(b)
	b = append(b, 0)
	what := byte(0)
	if position != p.position+1 {
		what |= pagePosition
		b = binary.AppendUvarint(b, uint64(position-p.position-1))
	}
	gap := int64(e.Offset) - int64(last.Offset) - int64(last.Size)
	switch {
	case e.Index != last.Index:
		what |= pageIndex
		b = binary.AppendVarint(b, int64(e.Index-last.Index))
		b = binary.AppendUvarint(b, uint64(e.Offset))
	case gap != p.gap:
		what |= pageGap
		b = binary.AppendVarint(b, gap)
		p.gap = gap
	}
	if e.Size != last.Size {
		what |= pageSize
		b = binary.AppendUvarint(b, uint64(e.Size))
	}
	if e.BodyBytes != last.BodyBytes {
		what |= pageBody
		b = binary.AppendUvarint(b, uint64(e.BodyBytes))
	}
	if e.Flags != last.Flags || e.State != last.State || e.Priority != last.Priority {
		what |= pageKind
		b = append(b, byte(e.Flags), byte(e.State), e.Priority)
	}
	if e.ExpireAt != last.ExpireAt {
		what |= pageExpires
		b = binary.AppendVarint(b, int64(e.ExpireAt-last.ExpireAt))
	}
	if side != nil {
		what |= pageSide
		b = appendSide(b, side)
	}
	b[at] = what
	p.position, p.entry = position, *e
	return b
}

func appendSide(b []byte, s *Side) []byte {
	at := len(b)
	b = append(b, 0)
	what := byte(0)
	if !s.History.IsZero() {
		what |= sideHistory
		if s.History.Log == storage.Volatile {
			what |= sideVolatile
		}
		b = binary.AppendUvarint(b, uint64(s.History.Index))
		b = binary.AppendUvarint(b, uint64(s.History.Offset))
		b = binary.AppendUvarint(b, uint64(s.History.Size))
	}
	if s.Acquired != 0 {
		what |= sideAcquired
		b = binary.AppendUvarint(b, uint64(s.Acquired))
	}
	if s.Failed != 0 {
		what |= sideFailed
		b = binary.AppendUvarint(b, uint64(s.Failed))
	}
	if s.Until != 0 {
		what |= sideUntil
		b = binary.AppendUvarint(b, uint64(s.Until))
	}
	if s.Arrived != 0 {
		what |= sideArrived
		b = binary.AppendUvarint(b, uint64(s.Arrived))
	}
	b[at] = what
	return b
}

// pageReader takes a page apart; err is kept until the end.
type pageReader struct {
	rest []byte
	bad  bool
}

func (r *pageReader) octet() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *pageReader) uint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		n := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(n)
	}
	n, k := binary.Uvarint(r.rest)
	if k <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[k:]
	return n
}

func (r *pageReader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

// readPage fills an empty chunk with the entries of a page, those of gone left out. Log is that of histories.
func readPage(c *chunk, page []byte, gone *bitmap, log storage.LogID) error {
	r := pageReader{rest: page}
	if r.octet() != pageFormat {
		return errPage
	}
	n := r.uint()
	if n > chunkLen {
		return errPage
	}
	p := pageState{position: -1}
	for ; n > 0 && !r.bad; n-- {
		var side Side
		what := p.read(&r, &side, log)
		if r.bad || p.position >= chunkLen || p.entry.State == Gone || p.entry.State >= states {
			return errPage
		}
		if gone != nil && gone.has(p.position) {
			continue
		}
		if len(c.entries) == 0 {
			c.off = p.position
		}
		for len(c.entries) < p.position-c.off {
			c.entries = append(c.entries, Entry{})
		}
		c.entries = append(c.entries, p.entry)
		if what&pageSide != 0 {
			c.setSide(len(c.entries)-1, side)
		}
	}
	if r.bad || len(r.rest) > 0 {
		return errPage
	}
	if c.sides != nil {
		c.growSides()
	}
	return nil
}

// read advances p to the next entry.
func (p *pageState) read(r *pageReader, side *Side, log storage.LogID) (what byte) {
	e := &p.entry
	what = r.octet()
	p.position++
	if what&pagePosition != 0 {
		p.position += int(min(r.uint(), chunkLen))
	}
	end := int64(e.Offset) + int64(e.Size)
	switch {
	case what&pageIndex != 0:
		e.Index += storage.Index(r.int())
		e.Offset = uint32(r.uint())
	default:
		if what&pageGap != 0 {
			p.gap = r.int()
		}
		e.Offset = uint32(end + p.gap)
	}
	if what&pageSize != 0 {
		e.Size = uint32(r.uint())
	}
	if what&pageBody != 0 {
		e.BodyBytes = uint32(r.uint())
	}
	if what&pageKind != 0 {
		e.Flags, e.State, e.Priority = Flags(r.octet()), State(r.octet()), r.octet()
	}
	if what&pageExpires != 0 {
		e.ExpireAt += deadline.Instant(r.int())
	}
	if what&pageSide != 0 {
		side.read(r, log)
	}
	return what
}

func (s *Side) read(r *pageReader, log storage.LogID) {
	what := r.octet()
	if what&sideHistory != 0 {
		if what&sideVolatile != 0 {
			log = storage.Volatile
		}
		s.History = storage.Ref{Log: log, Index: storage.Index(r.uint()), Offset: uint32(r.uint()), Size: uint32(r.uint())}
	}
	if what&sideAcquired != 0 {
		s.Acquired = uint32(r.uint())
	}
	if what&sideFailed != 0 {
		s.Failed = uint32(r.uint())
	}
	if what&sideUntil != 0 {
		s.Until = deadline.Instant(r.uint())
	}
	if what&sideArrived != 0 {
		s.Arrived = deadline.Instant(r.uint())
	}
}

// bitmap marks positions of a chunk.
type bitmap [chunkLen / 64]uint64

func (m *bitmap) has(i int) bool { return m[i/64]&(1<<(i%64)) != 0 }
func (m *bitmap) set(i int)      { m[i/64] |= 1 << (i % 64) }
