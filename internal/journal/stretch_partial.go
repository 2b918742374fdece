package journal

import (
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// readPartial fills s from a rewritten segment.
func (s *Stretch) readPartial(sp *span) error {
	if err := s.partials(sp); err != nil {
		return err
	}
	if len(s.table) == 0 {
		return fmt.Errorf("%w: log %d, nothing from index %d to %d", ErrGone, s.Log, s.First, sp.last())
	}
	first := s.table[0]
	if first.index != s.First {
		s.First, s.Offset = first.index, 0
	}
	from := int64(first.pos)
	if first.end()-from > int64(len(s.buf)) {
		return s.readPieces(sp, first)
	}
	s.Offset = 0 // all of it is read
	n, end := s.fits(from)
	raw := s.buf[:end-from]
	if _, err := sp.seg.f.ReadAt(raw, from); err != nil {
		return sp.seg.readError(err)
	}
	to := 0
	for k, e := range s.table[:n] {
		at := int(int64(e.pos) - from)
		var h batchHeader
		if !h.parse(raw[at:], sp.seg.seed) || h.log != s.Log || h.index != e.index || h.size != e.size || h.flags&flagPartial == 0 {
			return s.damaged(sp, from+int64(at), k)
		}
		at += batchHeaderBytes
		data, bad := unchunk(raw[at:], int(e.size), sp.seg.seed)
		if bad >= 0 {
			return s.damaged(sp, from+int64(at+bad), k)
		}
		copy(raw[to:], data)
		s.data = raw[:to+len(data)]
		if !s.addPieces(e.index, uint32(to)) {
			return s.damaged(sp, int64(e.pos), k)
		}
		to += len(data)
	}
	return nil
}

// partials looks up the first batch that the span has from s.First on, and those behind it, as many as the same page of
// the table tells; none: the span has none.
func (s *Stretch) partials(sp *span) error {
	s.table = s.table[:0]
	if sp.entries != nil {
		i, _ := slices.BinarySearch(sp.indexes, s.First)
		for ; i < len(sp.indexes) && len(s.table) < entriesPerPage; i++ {
			s.table = append(s.table, placed{sp.indexes[i], sp.entries[i]})
		}
		return nil
	}
	p := s.buf[:pageBytes]
	n, err := sp.seek(p, s.First)
	last := (sp.ordinal + uint64(sp.count) - 1) / sp.seg.shape().perPage()
	for err == nil {
		for index, e := range sp.ofPage(p, n) {
			if index >= s.First {
				s.table = append(s.table, placed{index, e})
			}
		}
		if n++; len(s.table) > 0 || n > last {
			break
		}
		err = sp.readPage(p, n)
	}
	return err
}

// addPieces makes parts of the pieces of a partial batch, which is whole at a place of data. It reports false if its
// list makes no sense, which a checksum would have told.
func (s *Stretch) addPieces(index storage.Index, at uint32) bool {
	list := s.data[at:]
	if len(list) < partialHeaderBytes {
		return false
	}
	count := int(le.Uint32(list))
	if count > (len(list)-partialHeaderBytes)/pieceBytes {
		return false
	}
	for i := range count {
		q := list[partialHeaderBytes+i*pieceBytes:]
		from, end := le.Uint32(q[4:]), uint32(len(list))
		if i+1 < count {
			end = le.Uint32(q[pieceBytes+4:])
		}
		if from > end || end > uint32(len(list)) {
			return false
		}
		s.addPart(part{index: index, offset: le.Uint32(q), at: at + from, size: end - from})
	}
	return true
}

// addPart adds a part, to the last one if it goes on there.
func (s *Stretch) addPart(p part) {
	if n := len(s.parts); n > 0 {
		last := &s.parts[n-1]
		if last.index == p.index && last.offset+last.size == p.offset && last.at+last.size == p.at {
			last.size += p.size
			return
		}
	}
	s.parts = append(s.parts, p)
}

// readPieces fills s from a partial batch that its memory does not take in whole: with the pieces from s.Offset on.
func (s *Stretch) readPieces(sp *span, e placed) error {
	l := pieceList{s: sp.seg, e: e.entry, r: storage.Ref{Log: s.Log, Index: e.index, Offset: s.Offset}}
	count := int(uint32(l.at(0)))
	i := l.search(count)
	if i > 0 { // the one before may reach beyond the offset
		i--
	}
	start, to := uint32(0), uint32(0) // in the data of the partial batch: of what is read, and its end
	room := StretchBytes(len(s.buf))
	for ; i < count && l.err == nil; i++ {
		p := part{index: e.index, offset: uint32(l.at(1 + i)), at: uint32(l.at(1+i) >> 32)}
		end := e.size
		if i+1 < count {
			end = uint32(l.at(2+i) >> 32)
		}
		if p.at > end || end > e.size {
			return s.damaged(sp, int64(e.pos), 0)
		}
		p.size = end - p.at
		if p.offset < s.Offset {
			skip := min(s.Offset-p.offset, p.size)
			p.offset, p.at, p.size = p.offset+skip, p.at+skip, p.size-skip
		}
		if p.size == 0 {
			continue
		}
		if len(s.parts) == 0 {
			start = p.at / chunkBytes * chunkBytes
		}
		if p.at-start >= room {
			s.rest = true
			break
		}
		if p.at-start+p.size > room {
			p.size, s.rest = room-(p.at-start), true
		}
		to = p.at + p.size
		p.at -= start
		s.addPart(p)
		if s.rest {
			break
		}
	}
	err := l.err
	if err == nil && len(s.parts) == 0 {
		err = l.gone()
	}
	if err == nil {
		s.data, err = sp.seg.data(s.buf, e.entry, l.r, int(start), int(to-start))
	}
	if err != nil {
		s.Reset()
	}
	return err
}
