package journal

import (
	"fmt"
	"math"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
)

// scan finds the batches of a segment without a table by reading its groups. Where it does not know the end (the
// segment was the open one) it finds that too: the first bad byte at or above the highest position that any group
// recorded as safe. A bad byte below is damage.
func (j *Journal) scan(s *segmentState, r *Report) error {
	sc := segment.Scanner{File: &s.File, Buf: j.buf}
	limit, ended := s.End, s.End != 0
	size, err := s.Disk.Size()
	if err != nil {
		return err
	}
	if size < s.Size { // it was made whole before anything was written
		sc.Short = fmt.Sprintf("the file is truncated: %d of %d bytes", size, s.Size)
		if !ended {
			limit = s.Size
		}
	}
	s.End = segment.HeaderBytes
	searched := false
	for s.End+segment.GroupHeaderBytes <= s.Size && (!ended || s.End < limit) {
		if err := sc.Read(s.End); err != nil {
			return err
		}
		if sc.Whole {
			j.accept(s, &sc)
			limit = max(limit, sc.Group.Safe)
			s.End += segment.RoundUp(sc.Group.Size, segment.SectorBytes)
			continue
		}
		if !searched && !ended {
			safe, err := sc.Search(s.End + segment.SectorBytes)
			if err != nil {
				return err
			}
			limit, searched = max(limit, safe), true
		}
		if s.End >= limit {
			return j.cutTail(s, &sc, r)
		}
		if err := j.skip(s, &sc, limit); err != nil {
			return err
		}
	}
	if s.damaged && s.End < limit {
		s.End = limit
	}
	return nil
}

// accept notes the batches of a group, readable or not.
func (j *Journal) accept(s *segmentState, sc *segment.Scanner) {
	if sc.Group.Before > sc.Seen {
		j.swallow(sc.Group.Before - sc.Seen)
	}
	for _, b := range sc.Found {
		e := segment.Entry{Pos: uint32(b.Pos), Size: b.Header.Size}
		if s.IsVoid(b.Header.Log, b.Header.Index) {
			s.Batches++
			continue
		}
		if s.Rewritten {
			s.AddPartial(b.Header.Log, b.Header.Index, e, b.Header.Flags&segment.FlagBegins != 0)
			continue
		}
		if b.Header.Flags&segment.FlagCuts != 0 && !j.dropped[b.Header.Log] {
			j.foundCut(j.log(b.Header.Log), b.Header.Index, s)
		}
		if sp := s.Add(b.Header.Log, b.Header.Index, e); sp != nil {
			j.join(sp, b.Pos)
		}
		if b.Bad != 0 && !j.dropped[b.Header.Log] && !b.Header.Log.IsPages() {
			l := j.log(b.Header.Log)
			l.found = append(l.found, finding{at: b.Header.Index, fault: s.Fault(l.id, b.Bad, sc.Harm())})
		}
	}
	sc.Seen = sc.Group.Before + uint64(len(sc.Found))
}

// skip steps over damage at s.end, taking what can still be read of the group there.
func (j *Journal) skip(s *segmentState, sc *segment.Scanner, limit int64) error {
	s.damaged = true
	j.damage = s.Fault(0, s.End, sc.Harm())
	j.damagedAt = position{s.ID, s.End}
	if sc.Header {
		j.damagedAt.at += sc.Group.Size
		count := uint64(sc.Group.Count)
		j.accept(s, sc)
		if n := uint64(len(sc.Found)); n < count {
			j.swallow(count - n)
			sc.Seen += count - n
		}
		s.BreakSpans()
		s.End += segment.RoundUp(sc.Group.Size, segment.SectorBytes)
		return nil
	}
	next, err := sc.Next(s.End + segment.SectorBytes)
	if err != nil {
		return err
	}
	if next == 0 || next > limit {
		j.swallow(math.MaxUint32) // nobody knows what was there
		next = limit
	} else if sc.Head.Before > sc.Seen { // noted now: the group that says so may itself be cut
		j.swallow(sc.Head.Before - sc.Seen)
		sc.Seen = sc.Head.Before
	}
	j.damagedAt.at = next
	s.End = next
	s.BreakSpans()
	return nil
}

func (j *Journal) swallow(n uint64) { j.swallowed += n }

// cutTail ends s where it is, and reports what lies behind.
func (j *Journal) cutTail(s *segmentState, sc *segment.Scanner, r *Report) error {
	behind := sc.Last // end of the last group header known
	if sc.Header {
		behind = max(behind, s.End+sc.Group.Size)
	} else if ours, err := sc.Ours(s.End); err != nil {
		return err
	} else if ours {
		behind = max(behind, s.End+segment.SectorBytes)
	}
	if behind > s.End {
		r.Cut = &Cut{File: s.Name(), Offset: s.End, Bytes: min(behind, s.Size) - s.End}
	}
	return nil
}
