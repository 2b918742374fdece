package journal

import (
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// readPartial fills s from a rewritten segment.
func (s *Stretch) readPartial(sp *segment.Span) error {
	if err := s.partials(sp); err != nil {
		return err
	}
	if len(s.table) == 0 {
		return fmt.Errorf("%w: log %d, nothing from index %d to %d", ErrGone, s.Log, s.First, sp.Last())
	}
	first := s.table[0]
	if first.index != s.First {
		s.First, s.Offset = first.index, 0
	}
	from := int64(first.Pos)
	if first.End()-from > int64(len(s.buf)) {
		return s.readPieces(sp, first)
	}
	s.Offset = 0 // all of it is read
	n, end := s.fits(from)
	raw := s.buf[:end-from]
	if _, err := sp.Seg.Disk.ReadAt(raw, from); err != nil {
		return sp.Seg.ReadError(err)
	}
	to := 0
	for k, e := range s.table[:n] {
		at := int(int64(e.Pos) - from)
		var h segment.BatchHeader
		if !h.Parse(raw[at:], sp.Seg.Seed) || h.Log != s.Log || h.Index != e.index || h.Size != e.Size || h.Flags&segment.FlagPartial == 0 {
			return s.damaged(sp, from+int64(at), k)
		}
		at += segment.BatchHeaderBytes
		data, bad := segment.Unchunk(raw[at:], int(e.Size), sp.Seg.Seed)
		if bad >= 0 {
			return s.damaged(sp, from+int64(at+bad), k)
		}
		copy(raw[to:], data)
		s.data = raw[:to+len(data)]
		if !s.addPieces(e.index, uint32(to)) {
			return s.damaged(sp, int64(e.Pos), k)
		}
		to += len(data)
	}
	return nil
}

// partials looks up the first batch that the span has from s.First on, and those behind it, as many as the same page of
// the table tells; none: the span has none.
func (s *Stretch) partials(sp *segment.Span) error {
	s.table = s.table[:0]
	if sp.Entries != nil {
		i, _ := slices.BinarySearch(sp.Indexes, s.First)
		for ; i < len(sp.Indexes) && len(s.table) < segment.EntriesPerPage; i++ {
			s.table = append(s.table, placed{sp.Indexes[i], sp.Entries[i]})
		}
		return nil
	}
	p := s.buf[:segment.PageBytes]
	n, err := sp.Seek(p, s.First)
	last := (sp.Ordinal + uint64(sp.Count) - 1) / sp.Seg.Shape().PerPage()
	for err == nil {
		for index, e := range sp.OfPage(p, n) {
			if index >= s.First {
				s.table = append(s.table, placed{index, e})
			}
		}
		if n++; len(s.table) > 0 || n > last {
			break
		}
		err = sp.ReadPage(p, n)
	}
	return err
}

// addPieces makes parts of the pieces of a partial batch, which is whole at a place of data. It reports false if its
// list makes no sense, which a checksum would have told.
func (s *Stretch) addPieces(index storage.Index, at uint32) bool {
	list := s.data[at:]
	if len(list) < segment.PartialHeaderBytes {
		return false
	}
	count := int(le.Uint32(list))
	if count > (len(list)-segment.PartialHeaderBytes)/segment.PieceBytes {
		return false
	}
	for i := range count {
		q := list[segment.PartialHeaderBytes+i*segment.PieceBytes:]
		from, end := le.Uint32(q[4:]), uint32(len(list))
		if i+1 < count {
			end = le.Uint32(q[segment.PieceBytes+4:])
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
func (s *Stretch) readPieces(sp *segment.Span, e placed) error {
	l := segment.PieceList{File: sp.Seg, Entry: e.Entry, Ref: storage.Ref{Log: s.Log, Index: e.index, Offset: s.Offset}}
	count := int(uint32(l.At(0)))
	i := l.Search(count)
	if i > 0 { // the one before may reach beyond the offset
		i--
	}
	start, to := uint32(0), uint32(0) // in the data of the partial batch: of what is read, and its end
	space := StretchBytes(len(s.buf))
	for ; i < count && l.Err == nil; i++ {
		p := part{index: e.index, offset: uint32(l.At(1 + i)), at: uint32(l.At(1+i) >> 32)}
		end := e.Size
		if i+1 < count {
			end = uint32(l.At(2+i) >> 32)
		}
		if p.at > end || end > e.Size {
			return s.damaged(sp, int64(e.Pos), 0)
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
			start = p.at / segment.ChunkBytes * segment.ChunkBytes
		}
		if p.at-start >= space {
			s.rest = true
			break
		}
		if p.at-start+p.size > space {
			p.size, s.rest = space-(p.at-start), true
		}
		to = p.at + p.size
		p.at -= start
		s.addPart(p)
		if s.rest {
			break
		}
	}
	err := l.Err
	if err == nil && len(s.parts) == 0 {
		err = l.Gone()
	}
	if err == nil {
		s.data, err = sp.Seg.Data(s.buf, e.Entry, l.Ref, int(start), int(to-start))
	}
	if err != nil {
		s.Reset()
	}
	return err
}
