package journal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Part is what of a journal's files is damaged.
type Part string

// The parts.
const (
	InFile       Part = "file"       // all of it
	InEnd        Part = "end"        // the file is shorter than it was made
	InManifest   Part = "manifest"   //
	InHeader     Part = "header"     // of a segment: it matters where the manifest is lost or files were renamed
	InGroup      Part = "group"      // the header of a group: only who reads a segment without a table needs it
	InBatch      Part = "batch"      // the header of a batch
	InData       Part = "data"       // of a batch
	InTable      Part = "table"      // of a segment: it repeats what the groups say
	InCheckpoint Part = "checkpoint" //
)

// Damage is bytes on the disk that are not what was written.
type Damage struct {
	Part          Part
	File          string // in the journal's directory
	Offset, Bytes int64  // in the file; what lies between two damaged places close to each other may be sound
	What          string // in words
	Log           storage.LogID
	Batches       []Range // that had bytes there, as far as that is known; in order
}

// Verify reads every byte of a journal that Look has opened, and lists what is damaged, Look's findings among it, by
// file and offset. Spares and padding say nothing, and are not looked at. Mend replaces the files that it names.
func (j *Journal) Verify(seen *Sight) ([]Damage, error) {
	v := verifier{j: j, all: slices.Clone(seen.Damage), buf: vfs.Aligned(bufferBytes)}
	for _, s := range j.segments {
		if err := v.segment(s); err != nil {
			return nil, fmt.Errorf("journal: %s: %w", s.name(), err)
		}
	}
	for _, l := range j.checkpoints() {
		if _, _, err := j.LoadCheckpoint(l.id); err != nil {
			d := Damage{Part: InCheckpoint, File: l.checkpoint.name(), Bytes: l.checkpoint.size, What: "checksum mismatch", Log: l.id}
			var fault *Fault
			switch {
			case errors.Is(err, vfs.ErrNotExist):
				d.Part, d.What = InFile, "the file is missing"
			case !errors.As(err, &fault):
				return nil, err
			}
			v.all = append(v.all, d)
		}
	}
	slices.SortStableFunc(v.all, func(a, b Damage) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
	merged := merge(v.all)
	for i := range merged {
		if err := j.patient.failed[j.path(merged[i].File)]; err != nil {
			merged[i].What += fmt.Sprintf(" (disk error: %v)", err)
		}
	}
	j.patient.damaged = map[string]bool{}
	for _, d := range merged {
		j.patient.damaged[d.File] = true
	}
	return merged, nil
}

// merge joins damages that touch each other.
func merge(all []Damage) []Damage {
	merged := all[:0]
	for _, d := range all {
		if n := len(merged); n > 0 && strings.HasSuffix(d.File, ".segment") {
			last := &merged[n-1]
			if last.File == d.File && d.Offset <= last.Offset+last.Bytes+sectorBytes && d.Part != InEnd {
				last.Bytes = max(last.Bytes, d.Offset+d.Bytes-last.Offset)
				last.Batches = append(last.Batches, d.Batches...)
				continue
			}
		}
		merged = append(merged, d)
	}
	for i := range merged {
		merged[i].Batches = joinRanges(merged[i].Batches)
	}
	return merged
}

// joinRanges sorts ranges of batches and makes one of neighbours.
func joinRanges(all []Range) []Range {
	slices.SortFunc(all, func(a, b Range) int { return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.First, b.First)) })
	joined := all[:0]
	for _, r := range all {
		if n := len(joined); n > 0 && joined[n-1].Log == r.Log && r.First <= joined[n-1].Last+1 {
			joined[n-1].Last = max(joined[n-1].Last, r.Last)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// verifier goes through the files.
type verifier struct {
	j   *Journal
	all []Damage
	buf []byte
}

func (v *verifier) note(s *segment, d Damage) {
	d.File = s.name()
	v.all = append(v.all, d)
}

// segment verifies one segment.
func (v *verifier) segment(s *segment) error {
	size, err := s.f.Size()
	if err != nil {
		return err
	}
	var held []Range
	for _, sp := range s.spans {
		held = append(held, Range{sp.log, sp.first, sp.last()})
	}
	end := max(s.end, s.table.at+s.tableBytes())
	switch {
	case v.j.patient.missing[v.j.path(s.name())]:
		v.note(s, Damage{Part: InFile, Bytes: s.size, What: "the file is missing", Batches: held})
		return nil
	case size < end:
		v.note(s, Damage{Part: InEnd, Offset: size, Bytes: s.size - size, What: fmt.Sprintf("the file is truncated: %d of %d bytes exist", size, s.size)})
	}
	if err := v.header(s); err != nil {
		return err
	}
	found, err := v.groups(s, min(s.end, size))
	if err != nil {
		return err
	}
	return v.unfound(s, found)
}

// tableBytes is what the table of s takes.
func (s *segment) tableBytes() int64 {
	if s.table.at == 0 {
		return 0
	}
	return s.shape().bytes(int(s.table.spans), s.table.entries)
}

// header verifies the header of a segment.
func (v *verifier) header(s *segment) error {
	h, err := v.j.readHeader(s.f)
	if err != nil {
		return err
	}
	if h == nil || h.id != s.id || h.nonce != s.nonce {
		v.note(s, Damage{Part: InHeader, Bytes: 40, What: "checksum mismatch in the header of the segment"})
	}
	return nil
}

// groups verifies what can be found by reading the groups up to end, and returns where sound batch headers are.
func (v *verifier) groups(s *segment, end int64) (found map[int64]bool, err error) {
	found = map[int64]bool{}
	sc := scanner{s: s, buf: v.buf}
	for at := int64(segmentHeaderBytes); at < end; {
		if err := sc.group(at); err != nil {
			return nil, err
		}
		pos := at + groupHeaderBytes
		for _, b := range sc.found {
			found[b.pos] = true
			pos = b.pos + batchBytes(int(b.h.size))
			if b.bad != 0 {
				if err := v.data(s, b.h.log, b.h.index, entry{pos: uint32(b.pos), size: b.h.size}); err != nil {
					return nil, err
				}
			}
		}
		next := at + roundUp(sc.g.size, sectorBytes)
		switch {
		case !sc.header:
			if next, err = sc.next(at + sectorBytes); err != nil {
				return nil, err
			}
			if next == 0 || next > end {
				next = end
			}
			v.note(s, Damage{Part: InGroup, Offset: at, Bytes: next - at, What: "checksum mismatch in the header of a group"})
		case len(sc.found) < int(sc.g.count):
			v.note(s, Damage{Part: InBatch, Offset: pos, Bytes: min(next, end) - pos, What: "checksum mismatch in the header of a batch"})
		}
		at = next
	}
	return found, nil
}

// data notes what is damaged of the data of a batch.
func (v *verifier) data(s *segment, log storage.LogID, index storage.Index, e entry) error {
	_, holes, err := s.dataWithHoles(e)
	if err != nil {
		return err
	}
	for _, h := range holes {
		at := func(o int) int64 {
			return int64(e.pos) + batchHeaderBytes + int64(o) + int64(o/chunkBytes)*checksumBytes
		}
		v.note(s, Damage{
			Part: InData, Offset: at(h.From), Bytes: at(h.To) + checksumBytes - at(h.From), What: "checksum mismatch in the data of a batch",
			Batches: []Range{{log, index, index}},
		})
	}
	return nil
}

// unfound verifies the batches that the table tells of and that reading the groups did not find.
func (v *verifier) unfound(s *segment, found map[int64]bool) error {
	for _, sp := range s.spans {
		err := sp.each(func(index storage.Index, e entry) error {
			if found[int64(e.pos)] {
				return nil
			}
			p := make([]byte, batchHeaderBytes)
			if _, err := s.f.ReadAt(p, int64(e.pos)); err != nil && !isEnd(err) {
				return err
			}
			var h batchHeader
			if !h.parse(p, s.seed) || h.log != sp.log || h.index != index {
				v.note(s, Damage{
					Part: InBatch, Offset: int64(e.pos), Bytes: batchHeaderBytes, What: "checksum mismatch in the header of a batch",
					Batches: []Range{{sp.log, index, index}},
				})
			}
			return v.data(s, sp.log, index, e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls fn for each batch of the span.
func (s *span) each(fn func(storage.Index, entry) error) error {
	if s.entries != nil || s.count == 0 {
		for i, e := range s.entries {
			index := s.first + storage.Index(i)
			if s.seg.rewritten {
				index = s.indexes[i]
			}
			if err := fn(index, e); err != nil {
				return err
			}
		}
		return nil
	}
	h := s.seg.shape()
	p := make([]byte, pageBytes)
	for i, read := uint64(0), false; i < uint64(s.count); i++ {
		n := s.ordinal + i
		if !read || n%h.perPage() == 0 {
			if err := s.readPage(p, n/h.perPage()); err != nil {
				return err
			}
			read = true
		}
		q := p[pageHeaderBytes+n%h.perPage()*uint64(h.entry):]
		index := s.first + storage.Index(i)
		if s.seg.rewritten {
			index, q = storage.Index(le.Uint64(q)), q[8:]
		}
		if err := fn(index, parseEntry(q)); err != nil {
			return err
		}
	}
	return nil
}
