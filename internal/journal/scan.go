package journal

import (
	"cmp"
	"fmt"
	"io"
	"math"
)

// scan finds the batches of a segment without a table by reading its groups. Where it does not know the end (the
// segment was the open one) it finds that too: the first bad byte at or above the highest position that any group
// recorded as safe. A bad byte below is damage.
func (j *Journal) scan(s *segment, r *Report) error {
	sc := scanner{s: s, buf: j.buf}
	limit, ended := s.end, s.end != 0
	size, err := s.f.Size()
	if err != nil {
		return err
	}
	if size < s.size { // it was made whole before anything was written
		sc.short = fmt.Sprintf("the file is truncated: %d of %d bytes", size, s.size)
		if !ended {
			limit = s.size
		}
	}
	s.end = segmentHeaderBytes
	searched := false
	for s.end+groupHeaderBytes <= s.size && (!ended || s.end < limit) {
		if err := sc.group(s.end); err != nil {
			return err
		}
		if sc.whole {
			j.accept(s, &sc)
			limit = max(limit, sc.g.safe)
			s.end += roundUp(sc.g.size, sectorBytes)
			continue
		}
		if !searched && !ended {
			safe, err := sc.search(s.end + sectorBytes)
			if err != nil {
				return err
			}
			limit, searched = max(limit, safe), true
		}
		if s.end >= limit {
			return j.cutTail(s, &sc, r)
		}
		if err := j.skip(s, &sc, limit); err != nil {
			return err
		}
	}
	if s.damaged && s.end < limit {
		s.end = limit
	}
	return nil
}

// accept notes the batches of a group, readable or not.
func (j *Journal) accept(s *segment, sc *scanner) {
	if sc.g.before > sc.seen {
		j.swallow(sc.g.before - sc.seen)
	}
	for _, b := range sc.found {
		e := entry{pos: uint32(b.pos), size: b.h.size}
		if s.rewritten {
			s.addPartial(b.h.log, b.h.index, e, b.h.flags&flagBegins != 0)
			continue
		}
		if sp := s.add(b.h.log, b.h.index, e); sp != nil {
			j.join(sp, b.pos)
		}
		if b.bad != 0 && !j.dropped[b.h.log] && !b.h.log.IsPages() {
			l := j.log(b.h.log)
			if l.fault == nil {
				l.fault = s.fault(l.id, b.bad, sc.harm())
			}
		}
	}
	sc.seen = sc.g.before + uint64(len(sc.found))
}

// skip steps over damage at s.end, taking what can still be read of the group there.
func (j *Journal) skip(s *segment, sc *scanner, limit int64) error {
	s.damaged = true
	j.damage = s.fault(0, s.end, sc.harm())
	j.damagedAt = position{s.id, s.end}
	if sc.header {
		j.damagedAt.at += sc.g.size
		count := uint64(sc.g.count)
		j.accept(s, sc)
		if n := uint64(len(sc.found)); n < count {
			j.swallow(count - n)
			sc.seen += count - n
		}
		s.breakSpans()
		s.end += roundUp(sc.g.size, sectorBytes)
		return nil
	}
	next, err := sc.next(s.end + sectorBytes)
	if err != nil {
		return err
	}
	if next == 0 || next > limit {
		j.swallow(math.MaxUint32) // nobody knows what was there
		next = limit
	} else if sc.head.before > sc.seen { // noted now: the group that says so may itself be cut
		j.swallow(sc.head.before - sc.seen)
		sc.seen = sc.head.before
	}
	j.damagedAt.at = next
	s.end = next
	s.breakSpans()
	return nil
}

func (j *Journal) swallow(n uint64) { j.swallowed += n }

// cutTail ends s where it is, and reports what lies behind.
func (j *Journal) cutTail(s *segment, sc *scanner, r *Report) error {
	behind := sc.last // end of the last group header known
	if sc.header {
		behind = max(behind, s.end+sc.g.size)
	} else if ours, err := sc.ours(s.end); err != nil {
		return err
	} else if ours {
		behind = max(behind, s.end+sectorBytes)
	}
	if behind > s.end {
		r.Cut = &Cut{File: s.name(), Offset: s.end, Bytes: min(behind, s.size) - s.end}
	}
	return nil
}

// scanner reads groups of a segment.
type scanner struct {
	s    *segment
	buf  []byte
	off  int64       // in the segment, of buf[0]
	n    int         // bytes in buf
	head groupHeader // that next found
	last int64       // end of the last one that search found

	short string // what is wrong with the file's size

	g      groupHeader // of the group last read
	header bool        // g is sound
	whole  bool        // so is all of the group
	found  []found     // its batches, up to the first one whose header is bad
	seen   uint64      // batches before the next group, if nothing is missing
}

// harm says what is wrong with bytes that were safe.
func (sc *scanner) harm() string {
	return cmp.Or(sc.short, "checksum mismatch before the last safe position")
}

// found is a batch; bad is the position of the first bad chunk, 0 if there is none.
type found struct {
	h   batchHeader
	pos int64
	bad int64
}

// window returns n bytes at off, fewer at the end of the file.
func (sc *scanner) window(off int64, n int) ([]byte, error) {
	if off < sc.off || off+int64(n) > sc.off+int64(sc.n) {
		k, err := sc.s.f.ReadAt(sc.buf, off)
		if err != nil && err != io.EOF {
			return nil, err
		}
		sc.off, sc.n = off, k
	}
	at := int(off - sc.off)
	return sc.buf[at:min(at+n, sc.n)], nil
}

// group reads the group at off.
func (sc *scanner) group(off int64) error {
	sc.header, sc.whole, sc.found = false, false, sc.found[:0]
	p, err := sc.window(off, groupHeaderBytes)
	if err != nil {
		return err
	}
	if !sc.g.parse(p, sc.s.seed, off) || off+sc.g.size > sc.s.size {
		return nil
	}
	sc.header = true
	end := off + sc.g.size
	sound := true
	for pos := off + groupHeaderBytes; pos < end; {
		b := found{pos: pos}
		if p, err = sc.window(pos, batchHeaderBytes); err != nil {
			return err
		}
		if !b.h.parse(p, sc.s.seed) || pos+batchBytes(int(b.h.size)) > end {
			return nil
		}
		if err := sc.chunks(&b); err != nil {
			return err
		}
		sound = sound && b.bad == 0
		sc.found = append(sc.found, b)
		pos += batchBytes(int(b.h.size))
	}
	sc.whole = sound && len(sc.found) == int(sc.g.count)
	return nil
}

// chunks verifies the data of a batch.
func (sc *scanner) chunks(b *found) error {
	pos := b.pos + batchHeaderBytes
	for left := int(b.h.size); left > 0; {
		n := min(left, chunkBytes)
		p, err := sc.window(pos, n+checksumBytes)
		if err != nil {
			return err
		}
		if len(p) < n+checksumBytes || le.Uint32(p[n:]) != checksum(sc.s.seed, p[:n]) {
			b.bad = pos
			return nil
		}
		pos += int64(n) + checksumBytes
		left -= n
	}
	return nil
}

// next returns the position of the first group header at or behind off, which is head then; 0 if there is none.
func (sc *scanner) next(off int64) (int64, error) {
	for ; off+groupHeaderBytes <= sc.s.size; off += sectorBytes {
		p, err := sc.window(off, groupHeaderBytes)
		if err != nil {
			return 0, err
		}
		if sc.head.parse(p, sc.s.seed, off) {
			return off, nil
		}
	}
	return 0, nil
}

// search returns the highest safe position that any group behind off records.
func (sc *scanner) search(off int64) (safe int64, err error) {
	for {
		at, err := sc.next(off)
		if err != nil || at == 0 {
			return safe, err
		}
		safe = max(safe, sc.head.safe)
		sc.last = max(sc.last, at+sc.head.size)
		off = at + sectorBytes
	}
}

// ours reports whether a batch of this segment's stands where the first of a group at off would: then its header was
// lost, not never written.
func (sc *scanner) ours(off int64) (bool, error) {
	p, err := sc.window(off+groupHeaderBytes, batchHeaderBytes)
	if err != nil {
		return false, err
	}
	var h batchHeader
	return h.parse(p, sc.s.seed), nil
}
