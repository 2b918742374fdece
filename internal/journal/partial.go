package journal

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A partial batch is what is kept of a batch when its segment is rewritten: the pieces that are live. It has the header
// of the batch, with flagPartial, and data of its own:
//
//	0  count u32, pieces
//	4  zero  u32
//	8  piece u64 × count: offset in the data of the whole batch u32, place of its bytes in this data u32
//	   bytes of the pieces, in the same order
//
// A piece ends where the next begins, the last one at the end. No two overlap. The rest of the batch is gone.
const (
	partialHeaderBytes = 8
	pieceBytes         = 8

	flagPartial = 1 // of a batch header
	flagBegins  = 2 // it begins a span, within which no other segment has a batch of the log
)

// partialBytes is how much data a partial batch has.
func partialBytes(pieces []storage.Ref) int64 {
	n := partialHeaderBytes + pieceBytes*int64(len(pieces))
	for i := range pieces {
		n += int64(pieces[i].Size)
	}
	return n
}

// piece says where the bytes that r names begin in the data of the batch at e; whole batches have them where r says.
// A reader needs the count and, of a long list, a few chunks: it is searched as it lies there.
func (s *segment) piece(e entry, r storage.Ref) (at uint32, err error) {
	if !s.rewritten {
		if uint64(r.Offset)+uint64(r.Size) > uint64(e.size) {
			return 0, fmt.Errorf("journal: log %d, index %d: %d bytes at %d of %d: %w",
				r.Log, r.Index, r.Size, r.Offset, e.size, io.ErrUnexpectedEOF)
		}
		return r.Offset, nil
	}
	l := pieceList{s: s, e: e, r: r}
	count := int(uint32(l.at(0)))
	i := l.search(count) - 1
	if i < 0 && l.err == nil {
		return 0, l.gone()
	}
	offset, place, end := uint32(l.at(1+i)), uint32(l.at(1+i)>>32), e.size
	if i+1 < count {
		end = uint32(l.at(2+i) >> 32)
	}
	switch {
	case l.err != nil:
		return 0, l.err
	case end < place || end > e.size || uint64(r.Offset-offset)+uint64(r.Size) > uint64(end-place):
		return 0, l.gone()
	}
	return place + r.Offset - offset, nil
}

// pieceList reads the list of pieces of a partial batch, a chunk at a time.
type pieceList struct {
	s   *segment
	e   entry
	r   storage.Ref // what is looked for
	buf [chunkBytes + checksumBytes]byte
	n   int    // chunk in p, from 1; 0: none
	p   []byte // its data
	err error  // of reading; the list is empty then
}

// search finds the first of count pieces that begins behind what is looked for.
func (l *pieceList) search(count int) int {
	return sort.Search(count, func(i int) bool { return uint32(l.at(1+i)) > l.r.Offset })
}

func (l *pieceList) gone() error {
	return fmt.Errorf("%w: log %d, index %d: %d bytes at %d were not kept", ErrGone, l.r.Log, l.r.Index, l.r.Size, l.r.Offset)
}

// at returns the i-th eight bytes of the data.
func (l *pieceList) at(i int) uint64 {
	const per = chunkBytes / pieceBytes
	if l.err == nil && l.n != 1+i/per {
		from := i / per * chunkBytes
		l.p, l.err = l.s.data(l.buf[:], l.e, l.r, from, min(chunkBytes, int(l.e.size)-from))
		l.n = 1 + i/per
	}
	if at := i % per * pieceBytes; l.err == nil && at+pieceBytes <= len(l.p) {
		return le.Uint64(l.p[at:])
	}
	return 0
}

// data returns the bytes at..at+n of the data of the batch at e, verified, in buf if that is large enough. R names the
// batch in errors.
func (s *segment) data(buf []byte, e entry, r storage.Ref, at, n int) ([]byte, error) {
	first, last := at/chunkBytes, (at+n+chunkBytes-1)/chunkBytes
	size := min(last*chunkBytes, int(e.size)) - first*chunkBytes // of the data of those chunks
	if size <= 0 || n <= 0 {
		return nil, nil
	}
	pos := int64(e.pos) + batchHeaderBytes + int64(first)*(chunkBytes+checksumBytes)
	raw := slices.Grow(buf[:0], size+(last-first)*checksumBytes)[:size+(last-first)*checksumBytes]
	if _, err := s.f.ReadAt(raw, pos); err != nil {
		return nil, s.readError(err)
	}
	data, bad := unchunk(raw, size, s.seed)
	if bad >= 0 {
		return nil, s.fault(r.Log, pos+int64(bad), fmt.Sprintf("batch %d is damaged", r.Index))
	}
	at -= first * chunkBytes
	return data[at : at+n : at+n], nil
}

// breakSpans begins new spans behind damage to a rewritten segment: it may have swallowed where one begins.
func (s *segment) breakSpans() {
	if s.rewritten {
		s.latest = nil
	}
}

// insert adds the spans of a rewritten segment to their logs.
func (j *Journal) insert(s *segment) {
	for _, sp := range s.spans {
		if j.dropped[sp.log] {
			continue
		}
		l := j.log(sp.log)
		i, _ := slices.BinarySearchFunc(l.spans, sp.first, func(s *span, first storage.Index) int { return cmp.Compare(s.first, first) })
		l.spans = slices.Insert(l.spans, i, sp)
	}
}

// addPartial notes a partial batch at pos, which begins a span or goes on with the last one of its log.
func (s *segment) addPartial(log storage.LogID, index storage.Index, e entry, begins bool) {
	s.batches++
	sp := s.latest[log]
	if sp == nil || begins {
		sp = &span{seg: s, log: log, first: index}
		s.spans = append(s.spans, sp)
		if s.latest == nil {
			s.latest = map[storage.LogID]*span{}
		}
		s.latest[log] = sp
	}
	sp.entries, sp.indexes = append(sp.entries, e), append(sp.indexes, index)
	sp.count++
	sp.through = index
}
