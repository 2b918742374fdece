// Package segment is a file of the journal's log: its name, its format, and how it is written, read and searched for
// what is whole. Which files there are, and what is safe in them, is the journal's concern.
//
//	GroupHeader, BatchHeader   the bytes of a segment
//	Writer, Stream             assemble a group
//	Scanner                    finds groups, sound or not
//	File, Span, Entry          which batches there are and where, from groups or from the table behind them
//	PieceList                  what is kept of a batch in a rewritten segment
package segment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// File is one file of the log: what its bytes say, and where they are.
type File struct {
	ID     uint64 // order of segments, from 1; never used again
	Number uint64 // of the file; goes to the next user when the segment is recycled
	Nonce  uint64
	Seed   uint32   // of nonce
	Size   int64    // of the file
	Disk   vfs.File // nil until the file is open

	End     int64                   // where the next group begins, or, of a full or closed segment, the last one ended
	Batches uint64                  // in the segment, readable or not
	Table   TableAt                 // zero: the entries are in memory, and Open scans the file
	Spans   []*Span                 // in the order in which they began; in the table, sorted by log and first
	Latest  map[storage.LogID]*Span // by log, while the segment grows
	// Void is, by log, from which index on its batches in this segment do not count: a later segment has others. Spans
	// do not have them.
	Void map[storage.LogID]storage.Index

	// made of the live pieces of others: its spans have holes, its batches are partial
	Rewritten bool
	fences    []storage.Index // of the table of a rewritten segment
}

// Span is a run of batches of one log in one segment: unbroken, but in a rewritten segment, where some of the batches
// from first to through are left.
type Span struct {
	Seg     *File
	Log     storage.LogID
	First   storage.Index
	Count   uint32
	Ordinal uint64  // of the first entry in the segment's table
	Entries []Entry // nil once they are in the table

	through storage.Index   // in a rewritten segment: its last batch
	Indexes []storage.Index // in a rewritten segment: of entries
}

// Last is the last batch of the span.
func (s *Span) Last() storage.Index {
	if s.Seg.Rewritten {
		return s.through
	}
	return s.First + storage.Index(s.Count) - 1
}

// Entry says where a batch is in its segment.
type Entry struct {
	Pos  uint32 // of the batch header
	Size uint32 // of the data
}

// FileName is the name of a file of the journal.
func FileName(number uint64, kind string) string { return fmt.Sprintf("%08d.%s", number, kind) }

// FileNumber is the number in the name of a segment or a checkpoint.
func FileNumber(name string) (number uint64, ok bool) {
	base, _, _ := strings.Cut(name, ".")
	number, err := strconv.ParseUint(base, 10, 64)
	return number, err == nil
}

// Name is the name of the file.
func (s *File) Name() string { return FileName(s.Number, "segment") }

// Add notes a batch at pos. It returns the span if this is its first batch.
func (s *File) Add(log storage.LogID, index storage.Index, e Entry) *Span {
	s.Batches++
	sp := s.Latest[log]
	if sp != nil && sp.Last()+1 == index {
		sp.Entries = append(sp.Entries, e)
		sp.Count++
		return nil
	}
	sp = &Span{Seg: s, Log: log, First: index, Count: 1, Entries: append(make([]Entry, 0, 16), e)}
	s.Spans = append(s.Spans, sp)
	if s.Latest == nil {
		s.Latest = map[storage.LogID]*Span{}
	}
	s.Latest[log] = sp
	return sp
}

// MarkBytes are kept for an empty group that records what is safe behind the last one, and for the padding of that one.
const MarkBytes = 2 * SectorBytes

// Free is how many bytes a group of n more batches may have, header included, if it begins k spans.
func (s *File) Free(k, n int) int64 {
	return s.Size - s.End - PlainTableBytes(len(s.Spans)+k, s.Batches+uint64(n)) - MarkBytes
}

// Cut forgets the batches from position end on.
func (s *File) Cut(end int64) {
	s.End = end
	for _, sp := range s.Spans {
		for len(sp.Entries) > 0 && int64(sp.Entries[len(sp.Entries)-1].Pos) >= end {
			sp.Entries = sp.Entries[:len(sp.Entries)-1]
			sp.Count--
			s.Batches--
		}
	}
	s.Spans = DropEmpty(s.Spans)
}

// Shorten takes the batches from index on out of a span of s, and returns what is left of it, nil if that is nothing.
// The span itself stays as it is, and so does the list that had it: somebody may be writing the table.
func (s *File) Shorten(sp *Span, index storage.Index) (left *Span) {
	spans := make([]*Span, 0, len(s.Spans))
	for _, of := range s.Spans {
		if of == sp {
			if left = sp.before(index); left == nil {
				continue
			}
			of = left
		}
		spans = append(spans, of)
	}
	s.Spans = spans
	if s.Latest[sp.Log] == sp {
		delete(s.Latest, sp.Log)
	}
	return left
}

// before is the part of a span before index, nil if there is none.
func (s *Span) before(index storage.Index) *Span {
	if s.First >= index {
		return nil
	}
	part := *s
	part.Count = uint32(index - s.First)
	if s.Entries != nil {
		part.Entries = slices.Clip(s.Entries[:part.Count])
	}
	return &part
}

// VoidFrom notes that batches of a log from index on do not count.
func (s *File) VoidFrom(log storage.LogID, index storage.Index) {
	if s.Void == nil {
		s.Void = map[storage.LogID]storage.Index{}
	}
	if from, ok := s.Void[log]; !ok || index < from {
		s.Void[log] = index
	}
}

// IsVoid reports whether a batch does not count.
func (s *File) IsVoid(log storage.LogID, index storage.Index) bool {
	from, ok := s.Void[log]
	return ok && index >= from
}

// DropEmpty leaves out the spans that have lost all of their batches.
func DropEmpty(spans []*Span) []*Span {
	return slices.DeleteFunc(spans, func(sp *Span) bool { return sp.Count == 0 })
}

// End is where the batch ends in its segment.
func (e Entry) End() int64 { return int64(e.Pos) + BatchBytes(int(e.Size)) }
