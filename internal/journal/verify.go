package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
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
			return nil, fmt.Errorf("journal: %s: %w", s.Name(), err)
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
		if err := j.lenient.failed[j.path(merged[i].File)]; err != nil {
			merged[i].What += fmt.Sprintf(" (disk error: %v)", err)
		}
	}
	j.lenient.damaged = map[string]bool{}
	for _, d := range merged {
		j.lenient.damaged[d.File] = true
	}
	return merged, nil
}

// merge joins damages that touch each other.
func merge(all []Damage) []Damage {
	merged := all[:0]
	for _, d := range all {
		if n := len(merged); n > 0 && strings.HasSuffix(d.File, ".segment") {
			last := &merged[n-1]
			if last.File == d.File && d.Offset <= last.Offset+last.Bytes+segment.SectorBytes && d.Part != InEnd {
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

func (v *verifier) note(s *segmentState, d Damage) {
	d.File = s.Name()
	v.all = append(v.all, d)
}

// segment verifies one segment.
func (v *verifier) segment(s *segmentState) error {
	size, err := s.Disk.Size()
	if err != nil {
		return err
	}
	var held []Range
	for _, sp := range s.Spans {
		held = append(held, Range{sp.Log, sp.First, sp.Last()})
	}
	end := max(s.End, s.Table.At+s.TableBytes())
	switch {
	case v.j.lenient.missing[v.j.path(s.Name())]:
		v.note(s, Damage{Part: InFile, Bytes: s.Size, What: "the file is missing", Batches: held})
		return nil
	case size < end:
		v.note(s, Damage{Part: InEnd, Offset: size, Bytes: s.Size - size, What: fmt.Sprintf("the file is truncated: %d of %d bytes exist", size, s.Size)})
	}
	if err := v.header(s); err != nil {
		return err
	}
	found, err := v.groups(s, min(s.End, size))
	if err != nil {
		return err
	}
	return v.unfound(s, found)
}

// header verifies the header of a segment.
func (v *verifier) header(s *segmentState) error {
	h, err := segment.ReadHeader(s.Disk)
	if err != nil {
		return err
	}
	if h == nil || h.ID != s.ID || h.Nonce != s.Nonce {
		v.note(s, Damage{Part: InHeader, Bytes: 40, What: "checksum mismatch in the header of the segment"})
	}
	return nil
}

// groups verifies what can be found by reading the groups up to end, and returns where sound batch headers are.
func (v *verifier) groups(s *segmentState, end int64) (found map[int64]bool, err error) {
	found = map[int64]bool{}
	sc := segment.Scanner{File: &s.File, Buf: v.buf}
	for at := int64(segment.HeaderBytes); at < end; {
		if err := sc.Read(at); err != nil {
			return nil, err
		}
		pos := at + segment.GroupHeaderBytes
		for _, b := range sc.Found {
			found[b.Pos] = true
			pos = b.Pos + segment.BatchBytes(int(b.Header.Size))
			if b.Bad != 0 {
				e := segment.Entry{Pos: uint32(b.Pos), Size: b.Header.Size}
				if err := v.data(s, b.Header.Log, b.Header.Index, e); err != nil {
					return nil, err
				}
			}
		}
		next := at + segment.RoundUp(sc.Group.Size, segment.SectorBytes)
		switch {
		case !sc.Header:
			if next, err = sc.Next(at + segment.SectorBytes); err != nil {
				return nil, err
			}
			if next == 0 || next > end {
				next = end
			}
			v.note(s, Damage{Part: InGroup, Offset: at, Bytes: next - at, What: "checksum mismatch in the header of a group"})
		case len(sc.Found) < int(sc.Group.Count):
			v.note(s, Damage{Part: InBatch, Offset: pos, Bytes: min(next, end) - pos, What: "checksum mismatch in the header of a batch"})
		}
		at = next
	}
	return found, nil
}

// data notes what is damaged of the data of a batch.
func (v *verifier) data(s *segmentState, log storage.LogID, index storage.Index, e segment.Entry) error {
	_, holes, err := s.DataWithHoles(e)
	if err != nil {
		return err
	}
	for _, h := range holes {
		at := func(o int) int64 {
			return int64(e.Pos) + segment.BatchHeaderBytes + int64(o+o/segment.ChunkBytes*segment.ChecksumBytes)
		}
		v.note(s, Damage{
			Part: InData, Offset: at(h.From), Bytes: at(h.To) + segment.ChecksumBytes - at(h.From), What: "checksum mismatch in the data of a batch",
			Batches: []Range{{log, index, index}},
		})
	}
	return nil
}

// unfound verifies the batches that the table tells of and that reading the groups did not find.
func (v *verifier) unfound(s *segmentState, found map[int64]bool) error {
	for _, sp := range s.Spans {
		err := sp.Each(func(index storage.Index, e segment.Entry) error {
			if found[int64(e.Pos)] {
				return nil
			}
			p := make([]byte, segment.BatchHeaderBytes)
			if _, err := s.Disk.ReadAt(p, int64(e.Pos)); err != nil && err != io.EOF {
				return err
			}
			var h segment.BatchHeader
			if !h.Parse(p, s.Seed) || h.Log != sp.Log || h.Index != index {
				v.note(s, Damage{
					Part: InBatch, Offset: int64(e.Pos), Bytes: segment.BatchHeaderBytes, What: "checksum mismatch in the header of a batch",
					Batches: []Range{{sp.Log, index, index}},
				})
			}
			return v.data(s, sp.Log, index, e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
