package journal

import (
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// segment is one file of the log. It is ahead until something is written to it, open while groups are appended, then
// full, and closed once its table is written. Everything below end of a segment that is not the open one is safe.
type segment struct {
	id    uint64 // order of segments, from 1; never used again
	file  uint64 // number of the file; goes to the next user when the segment is recycled
	nonce uint64
	seed  uint32 // of nonce
	size  int64  // of the file
	f     vfs.File

	prior   int64   // end of the segment written before it; 0: the manifest gives it
	end     int64   // where the next group begins; of a full or closed segment: where the last one ended
	safe    int64   // open segment: everything below is safe; 0: nothing
	marked  int64   // open segment: the highest safe position that a group of it records
	batches uint64  // in the segment, readable or not
	table   tableAt // zero: the entries are in memory, and Open scans the file
	spans   []*span // in the order in which they began; in the table, sorted by log and first
	latest  map[storage.LogID]*span
	damaged bool // holds a fault: never given a table, so that each Open finds the fault again

	distrusted bool // a write or sync of it failed in this run: never written again

	bare bool // its file was only allocated when it was named
	// made of the live pieces of others (rewrite.go): its spans have holes, its batches are partial
	rewritten bool
	fences    []storage.Index // of the table of a rewritten segment
	victim    bool            // a Rewriting reads it
	refused   bool            // rewriting it failed or gave nothing back, when it was
	said      int64           // to have so many live bytes
}

// span is a run of batches of one log in one segment: unbroken, but in a rewritten segment, where some of the batches
// from first to through are left.
type span struct {
	seg     *segment
	log     storage.LogID
	first   storage.Index
	count   uint32
	ordinal uint64  // of the first entry in the segment's table
	entries []entry // nil once they are in the table

	through storage.Index   // in a rewritten segment: its last batch
	indexes []storage.Index // in a rewritten segment: of entries
}

func (s *span) last() storage.Index {
	if s.seg.rewritten {
		return s.through
	}
	return s.first + storage.Index(s.count) - 1
}

// entry says where a batch is in its segment.
type entry struct {
	pos  uint32 // of the batch header
	size uint32 // of the data
}

func fileName(number uint64, kind string) string { return fmt.Sprintf("%08d.%s", number, kind) }

func (s *segment) name() string { return fileName(s.file, "segment") }

// add notes a batch at pos. It returns the span if this is its first batch.
func (s *segment) add(log storage.LogID, index storage.Index, e entry) *span {
	s.batches++
	sp := s.latest[log]
	if sp != nil && sp.last()+1 == index {
		sp.entries = append(sp.entries, e)
		sp.count++
		return nil
	}
	sp = &span{seg: s, log: log, first: index, count: 1, entries: append(make([]entry, 0, 16), e)}
	s.spans = append(s.spans, sp)
	if s.latest == nil {
		s.latest = map[storage.LogID]*span{}
	}
	s.latest[log] = sp
	return sp
}

// markBytes are kept for an empty group that records what is safe behind the last one, and for the padding of that one.
const markBytes = 2 * sectorBytes

// room is how many bytes a group of n more batches may have, header included, if it begins k spans.
func (s *segment) room(k, n int) int64 {
	return s.size - s.end - tableBytes(len(s.spans)+k, s.batches+uint64(n)) - markBytes
}

// logState is what the journal knows of one logical log.
type logState struct {
	id         storage.LogID
	next       storage.Index // of the batch to be written
	safe       storage.Index // last batch that is safe
	want       storage.Index // scratch of a check
	dirty      bool          // has batches written since the last sync
	spans      []*span       // sorted by first; across segments
	checkpoint checkpoint
	used       int64         // bytes of the checkpoint that this run has written, without what fills up its file
	reached    storage.Index // a log of pages: the last batch it had when the manifest was written, reclaimed or not
	fault      *Fault
	doubted    bool // damage may have held batches behind the last one
}

// find returns the span with the batch, nil if there is none.
func (l *logState) find(index storage.Index) *span {
	i, found := slices.BinarySearchFunc(l.spans, index, func(s *span, at storage.Index) int {
		switch {
		case s.last() < at:
			return -1
		case s.first > at:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return l.spans[i]
}
