package journal

import (
	"fmt"
	"sort"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A Stretch is a piece of a log in memory, as it lies there: part of one batch, or the rest of one and batches behind
// it. Of a segment that was rewritten it holds the pieces that were kept. Its memory is its user's, and says how much
// is read at once.
type Stretch struct {
	Log    storage.LogID
	First  storage.Index // batch in which it begins
	Offset uint32        // where in the data of that batch

	data    []byte   // verified
	parts   []part   // of the log, in order
	rest    bool     // the last batch goes on behind it
	partial bool     // of a rewritten segment
	buf     []byte   // of data
	table   []placed // scratch: the batches from First on
}

// part is bytes of one batch that are together.
type part struct {
	index    storage.Index
	offset   uint32 // in the data of the batch
	at, size uint32 // in data
}

// placed is where a batch is.
type placed struct {
	index storage.Index
	segment.Entry
}

// ChunkBytes is how much of a batch's data has a checksum of its own; reading less costs as much.
const ChunkBytes = segment.ChunkBytes

// NewStretch makes a stretch with n bytes of memory, enough for at least one chunk.
func NewStretch(n int) *Stretch {
	return &Stretch{buf: make([]byte, max(n, segment.BatchHeaderBytes+segment.ChunkBytes+segment.ChecksumBytes))}
}

// StretchBytes is how much data of one batch a stretch with n bytes of memory takes, a multiple of ChunkBytes.
func StretchBytes(n int) uint32 {
	return uint32(n-segment.BatchHeaderBytes) / (segment.ChunkBytes + segment.ChecksumBytes) * segment.ChunkBytes
}

// Batches is over how many batches it reaches, those that are gone included; zero: it is empty.
func (s *Stretch) Batches() int {
	if len(s.parts) == 0 {
		return 0
	}
	return int(s.parts[len(s.parts)-1].index-s.First) + 1
}

// Len is how many bytes of data it holds.
func (s *Stretch) Len() int { return len(s.data) }

// Reset empties it.
func (s *Stretch) Reset() { s.data, s.parts, s.rest = nil, s.parts[:0], false }

// Next is where the log goes on behind it: in the batch that is cut short, or at the next, which may not be there.
func (s *Stretch) Next() (index storage.Index, offset uint32) {
	if len(s.parts) == 0 {
		return s.First, s.Offset
	}
	last := &s.parts[len(s.parts)-1]
	if !s.rest {
		return last.index + 1, 0
	}
	return last.index, last.offset + last.size
}

// Find returns what the stretch holds of the bytes that r, a ref of its log, names, from their first on: all of them,
// fewer if it ends before they do, none if they begin elsewhere. They are the stretch's own.
func (s *Stretch) Find(r storage.Ref) []byte {
	k := int(r.Index - s.First) // whole batches are without gaps
	if s.partial {
		k = sort.Search(len(s.parts), func(i int) bool {
			p := &s.parts[i]
			return p.index > r.Index || p.index == r.Index && p.offset > r.Offset
		}) - 1
	}
	if r.Index < s.First || k < 0 || k >= len(s.parts) {
		return nil
	}
	p := &s.parts[k]
	if p.index != r.Index || r.Offset < p.offset || r.Offset-p.offset >= p.size {
		return nil
	}
	at := p.at + (r.Offset - p.offset)
	end := min(at+r.Size, p.at+p.size)
	return s.data[at:end:end]
}

// ReadStretch fills s with what lies in log from offset, of a whole batch a multiple of ChunkBytes, of batch index on:
// as much as it takes of that batch and, if that is all, of the batches that come next and lie close by. One look-up
// and one read serve all of it, or few. If what is there was not kept, it begins with what is left behind that place.
// What is damaged in the first batch's part is an error, and behind it the end of the stretch. Errors: ErrGone, a
// *Fault, or what the disk said; s is empty then. Like ReadAt, it may run beside reads and Sync.
func (j *Journal) ReadStretch(s *Stretch, log storage.LogID, index storage.Index, offset uint32) error {
	s.Log, s.First, s.Offset = log, index, offset
	s.Reset()
	sp, err := j.spanFrom(log, index)
	if err != nil {
		return err
	}
	if index < sp.First { // what is between was not kept
		s.First, s.Offset = sp.First, 0
	}
	if s.partial = sp.Seg.Rewritten; s.partial {
		return s.readPartial(sp)
	}
	if err := s.neighbours(sp); err != nil {
		return err
	}
	first := s.table[0]
	if offset = s.Offset; offset%segment.ChunkBytes != 0 || offset > 0 && offset >= first.Size {
		return fmt.Errorf("%w: log %d, index %d, offset %d of %d", ErrGone, log, index, offset, first.Size)
	}
	const piece = segment.ChunkBytes + segment.ChecksumBytes
	from := int64(first.Pos) // of what is read
	if offset > 0 {
		from += segment.BatchHeaderBytes + int64(offset/segment.ChunkBytes)*piece
	}
	end, n := first.End(), 1
	if space := int64(len(s.buf)-segment.BatchHeaderBytes) / piece * piece; end-from > space+segment.BatchHeaderBytes {
		end, s.rest = from+space, true
		if offset == 0 {
			end += segment.BatchHeaderBytes
		}
	}
	if !s.rest {
		n, end = s.fits(from)
	}
	raw := s.buf[:end-from]
	if _, err := sp.Seg.Disk.ReadAt(raw, from); err != nil {
		s.rest = false
		return sp.Seg.ReadError(err)
	}
	return s.verify(sp, raw, from, n)
}

// fits is how many of the batches of table, at least one, are in the memory of s if it is read from a position of the
// file, and where the last of them ends.
func (s *Stretch) fits(from int64) (n int, end int64) {
	for n, end = 1, s.table[0].End(); n < len(s.table) && s.table[n].End()-from <= int64(len(s.buf)); n++ {
		end = s.table[n].End()
	}
	return n, end
}

// neighbours looks up the batch in which s begins, and those behind it, as many as the same page of a table tells.
func (s *Stretch) neighbours(sp *segment.Span) (err error) {
	s.table = s.table[:0]
	i := int(s.First - sp.First)
	if sp.Entries != nil {
		for k, e := range sp.Entries[i:min(len(sp.Entries), i+segment.EntriesPerPage)] {
			s.table = append(s.table, placed{s.First + storage.Index(k), e})
		}
		return nil
	}
	q, err := sp.Page(s.buf[:segment.PageBytes], s.First)
	for ; err == nil && len(q) >= segment.EntryBytes && i < int(sp.Count); q, i = q[segment.EntryBytes:], i+1 {
		s.table = append(s.table, placed{sp.First + storage.Index(i), segment.ParseEntry(q)})
	}
	return err
}

// verify checks the n batches, the first and the last perhaps in part, that were read at position at, and moves their
// data together.
func (s *Stretch) verify(sp *segment.Span, raw []byte, at int64, n int) error {
	to := 0
	for k, e := range s.table[:n] {
		from := int(int64(e.Pos) - at)
		size := int(e.Size)
		p := part{index: e.index, at: uint32(to)}
		if k == 0 && s.Offset > 0 { // its header was not read
			from, size, p.offset = 0, size-int(s.Offset), s.Offset
		} else {
			var h segment.BatchHeader
			if !h.Parse(raw[from:], sp.Seg.Seed) || !h.IsWhole(s.Log, e.index, e.Size) {
				return s.damaged(sp, at+int64(from), k)
			}
			from += segment.BatchHeaderBytes
		}
		if s.rest { // there is but this one
			size = (len(raw) - from) / (segment.ChunkBytes + segment.ChecksumBytes) * segment.ChunkBytes
		}
		data, bad := segment.Unchunk(raw[from:], size, sp.Seg.Seed)
		if bad >= 0 {
			return s.damaged(sp, at+int64(from+bad), k)
		}
		to += copy(raw[to:], data)
		p.size = uint32(to) - p.at
		s.parts = append(s.parts, p)
		s.data = raw[:to]
	}
	return nil
}

// damaged ends the stretch before its k-th batch, in which the segment is damaged at a position.
func (s *Stretch) damaged(sp *segment.Span, at int64, k int) error {
	s.rest = false
	if k > 0 {
		return nil
	}
	s.Reset()
	return sp.Seg.Fault(s.Log, at, fmt.Sprintf("batch %d is damaged", s.table[0].index))
}
