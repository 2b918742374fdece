package segment

import (
	"fmt"
	"io"
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
	PartialHeaderBytes = 8
	PieceBytes         = 8

	FlagPartial = 1 // of a batch header
	FlagBegins  = 2 // it begins a span, within which no other segment has a batch of the log
)

// PartialBytes is how much data a partial batch has.
func PartialBytes(pieces []storage.Ref) int64 {
	n := PartialHeaderBytes + PieceBytes*int64(len(pieces))
	for i := range pieces {
		n += int64(pieces[i].Size)
	}
	return n
}

// Piece says where the bytes that r names begin in the data of the batch at e; whole batches have them where r says.
// A reader needs the count and, of a long list, a few chunks: it is searched as it lies there.
func (s *File) Piece(e Entry, r storage.Ref) (at uint32, err error) {
	if !s.Rewritten {
		if uint64(r.Offset)+uint64(r.Size) > uint64(e.Size) {
			return 0, fmt.Errorf("journal: log %d, index %d: %d bytes at %d of %d: %w",
				r.Log, r.Index, r.Size, r.Offset, e.Size, io.ErrUnexpectedEOF)
		}
		return r.Offset, nil
	}
	l := PieceList{File: s, Entry: e, Ref: r}
	count := int(uint32(l.At(0)))
	i := l.Search(count) - 1
	if i < 0 && l.Err == nil {
		return 0, l.Gone()
	}
	offset, place, end := uint32(l.At(1+i)), uint32(l.At(1+i)>>32), e.Size
	if i+1 < count {
		end = uint32(l.At(2+i) >> 32)
	}
	switch {
	case l.Err != nil:
		return 0, l.Err
	case end < place || end > e.Size || uint64(r.Offset-offset)+uint64(r.Size) > uint64(end-place):
		return 0, l.Gone()
	}
	return place + r.Offset - offset, nil
}

// PieceList reads the list of pieces of a partial batch, a chunk at a time.
type PieceList struct {
	File  *File
	Entry Entry
	Ref   storage.Ref // what is looked for
	buf   [ChunkBytes + ChecksumBytes]byte
	n     int    // chunk in p, from 1; 0: none
	p     []byte // its data
	Err   error  // of reading; the list is empty then
}

// Search finds the first of count pieces that begins behind what is looked for.
func (l *PieceList) Search(count int) int {
	return sort.Search(count, func(i int) bool { return uint32(l.At(1+i)) > l.Ref.Offset })
}

// Gone says that what is looked for was not kept.
func (l *PieceList) Gone() error {
	return fmt.Errorf("%w: log %d, index %d: %d bytes at %d were not kept",
		ErrGone, l.Ref.Log, l.Ref.Index, l.Ref.Size, l.Ref.Offset)
}

// At returns the i-th eight bytes of the data.
func (l *PieceList) At(i int) uint64 {
	const per = ChunkBytes / PieceBytes
	if l.Err == nil && l.n != 1+i/per {
		from := i / per * ChunkBytes
		l.p, l.Err = l.File.Data(l.buf[:], l.Entry, l.Ref, from, min(ChunkBytes, int(l.Entry.Size)-from))
		l.n = 1 + i/per
	}
	if at := i % per * PieceBytes; l.Err == nil && at+PieceBytes <= len(l.p) {
		return le.Uint64(l.p[at:])
	}
	return 0
}

// BreakSpans begins new spans behind damage to a rewritten segment: it may have swallowed where one begins.
func (s *File) BreakSpans() {
	if s.Rewritten {
		s.Latest = nil
	}
}

// AddPartial notes a partial batch at pos, which begins a span or goes on with the last one of its log.
func (s *File) AddPartial(log storage.LogID, index storage.Index, e Entry, begins bool) {
	s.Batches++
	sp := s.Latest[log]
	if sp == nil || begins {
		sp = &Span{Seg: s, Log: log, First: index}
		s.Spans = append(s.Spans, sp)
		if s.Latest == nil {
			s.Latest = map[storage.LogID]*Span{}
		}
		s.Latest[log] = sp
	}
	sp.Entries, sp.Indexes = append(sp.Entries, e), append(sp.Indexes, index)
	sp.Count++
	sp.through = index
}
