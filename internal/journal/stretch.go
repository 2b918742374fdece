package journal

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/place"
)

// A Stretch is a piece of a log in memory, as it lies there: part of one batch, or the rest of one and whole batches
// behind it. Its memory is its user's, and says how much is read at once.
type Stretch struct {
	Log    place.LogID
	First  place.Index // batch in which it begins
	Offset uint32      // where in the data of that batch; a multiple of ChunkBytes

	data   []byte   // verified
	starts []uint32 // where in data each batch begins
	rest   bool     // the last batch goes on behind it
	buf    []byte
	table  []entry // scratch: of the batches from First on
}

// ChunkBytes is how much of a batch's data has a checksum of its own; reading less costs as much.
const ChunkBytes = chunkBytes

// NewStretch makes a stretch with n bytes of memory, enough for at least one chunk.
func NewStretch(n int) *Stretch {
	return &Stretch{buf: make([]byte, max(n, batchHeaderBytes+chunkBytes+checksumBytes))}
}

// StretchBytes is how much data of one batch a stretch with n bytes of memory takes, a multiple of ChunkBytes.
func StretchBytes(n int) uint32 {
	return uint32(n-batchHeaderBytes) / (chunkBytes + checksumBytes) * chunkBytes
}

// Batches is of how many batches it holds data; zero: it is empty.
func (s *Stretch) Batches() int { return len(s.starts) }

// Len is how many bytes of data it holds.
func (s *Stretch) Len() int { return len(s.data) }

// Reset empties it.
func (s *Stretch) Reset() { s.data, s.starts, s.rest = nil, s.starts[:0], false }

// Next is where the log goes on behind it: in the batch that is cut short, or at the next, which may not be there.
func (s *Stretch) Next() (index place.Index, offset uint32) {
	last := len(s.starts) - 1
	if last < 0 {
		return s.First, s.Offset
	}
	index = s.First + place.Index(last)
	if !s.rest {
		return index + 1, 0
	}
	return index, s.from(last) + uint32(len(s.data)) - s.starts[last]
}

// from is where in the data of its k-th batch the stretch begins.
func (s *Stretch) from(k int) uint32 {
	if k == 0 {
		return s.Offset
	}
	return 0
}

// Find returns what the stretch holds of the bytes that r, a ref of its log, names, from their first on: all of them,
// fewer if it ends before they do, none if they begin elsewhere. They are the stretch's own.
func (s *Stretch) Find(r place.Ref) []byte {
	k := r.Index - s.First
	if r.Index < s.First || k >= place.Index(len(s.starts)) {
		return nil
	}
	data := s.data[s.starts[k]:]
	if int(k)+1 < len(s.starts) {
		data = s.data[s.starts[k]:s.starts[k+1]]
	}
	from := s.from(int(k))
	if r.Offset < from || int(r.Offset-from) >= len(data) {
		return nil
	}
	at := int(r.Offset - from)
	end := min(at+int(r.Size), len(data))
	return data[at:end:end]
}

// ReadStretch fills s with what lies in log from offset, a multiple of ChunkBytes, of batch index on: as much as it takes
// of that batch and, if that is all, of the batches that come next and lie close by. One look-up and one read serve all
// of it. What is damaged in the first batch's part is an error, and behind it the end of the stretch.
// Errors: ErrGone, a *Fault, or what the disk said; s is empty then. Like ReadAt, it may run beside reads and Sync.
func (j *Journal) ReadStretch(s *Stretch, log place.LogID, index place.Index, offset uint32) error {
	s.Log, s.First, s.Offset = log, index, offset
	s.Reset()
	sp, err := j.neighbours(s)
	if err != nil {
		return err
	}
	first := s.table[0]
	if offset%chunkBytes != 0 || offset > 0 && offset >= first.size {
		return fmt.Errorf("%w: log %d, index %d, offset %d of %d", ErrGone, log, index, offset, first.size)
	}
	const piece = chunkBytes + checksumBytes
	from := int64(first.pos) // of what is read
	if offset > 0 {
		from += batchHeaderBytes + int64(offset/chunkBytes)*piece
	}
	end, n := first.end(), 1
	if room := int64(len(s.buf)-batchHeaderBytes) / piece * piece; end-from > room+batchHeaderBytes {
		end, s.rest = from+room, true
		if offset == 0 {
			end += batchHeaderBytes
		}
	}
	for ; !s.rest && n < len(s.table) && s.table[n].end()-from <= int64(len(s.buf)); n++ {
		end = s.table[n].end()
	}
	raw := s.buf[:end-from]
	if _, err := sp.seg.f.ReadAt(raw, from); err != nil {
		s.rest = false
		return sp.seg.readError(err)
	}
	return s.verify(sp, raw, from, n)
}

// end is where the batch ends in its segment.
func (e entry) end() int64 { return int64(e.pos) + batchBytes(int(e.size)) }

// neighbours looks up the batch in which s begins, and those behind it, as many as the same page of a table tells.
func (j *Journal) neighbours(s *Stretch) (*span, error) {
	sp, err := j.spanOf(s.Log, s.First)
	if err != nil {
		return nil, err
	}
	if sp.seg.rewritten {
		return nil, fmt.Errorf("%w: log %d, index %d may be there in part", ErrGone, s.Log, s.First)
	}
	s.table = s.table[:0]
	i := int(s.First - sp.first)
	if sp.entries != nil {
		s.table = append(s.table, sp.entries[i:min(len(sp.entries), i+entriesPerPage)]...)
		return sp, nil
	}
	q, err := sp.page(s.buf[:pageBytes], s.First)
	for ; err == nil && len(q) >= entryBytes && i < int(sp.count); q, i = q[entryBytes:], i+1 {
		s.table = append(s.table, parseEntry(q))
	}
	return sp, err
}

// verify checks the n batches, the first and the last perhaps in part, that were read at position at, and moves their
// data together.
func (s *Stretch) verify(sp *span, raw []byte, at int64, n int) error {
	to := 0
	for k, e := range s.table[:n] {
		from := int(int64(e.pos) - at)
		size := int(e.size)
		if k == 0 && s.Offset > 0 { // its header was not read
			from, size = 0, size-int(s.Offset)
		} else {
			var h batchHeader
			if !h.parse(raw[from:], sp.seg.seed) || h != (batchHeader{log: s.Log, index: s.First + place.Index(k), size: e.size}) {
				return s.damaged(sp, at+int64(from), k)
			}
			from += batchHeaderBytes
		}
		if s.rest { // there is but this one
			size = (len(raw) - from) / (chunkBytes + checksumBytes) * chunkBytes
		}
		data, bad := unchunk(raw[from:], size, sp.seg.seed)
		if bad >= 0 {
			return s.damaged(sp, at+int64(from+bad), k)
		}
		s.starts = append(s.starts, uint32(to))
		to += copy(raw[to:], data)
		s.data = raw[:to]
	}
	return nil
}

// damaged ends the stretch before its k-th batch, in which the segment is damaged at a position.
func (s *Stretch) damaged(sp *span, at int64, k int) error {
	s.rest = false
	if k > 0 {
		return nil
	}
	return sp.seg.fault(s.Log, at, fmt.Sprintf("batch %d is damaged", s.First))
}
