package journal

import (
	"cmp"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// segmentState is a segment, and what the journal makes of it. It is ahead until something is written to it,
// open while groups are appended, then full, and closed once its table is written. Everything below the end of
// a segment that is not the open one is safe.
type segmentState struct {
	segment.File

	prior  int64 // end of the segment written before it; 0: the manifest gives it
	safe   int64 // open segment: everything below is safe; 0: nothing
	marked int64 // open segment: the highest safe position that a group of it records

	damaged    bool // holds a fault: never given a table, so that each Open finds the fault again
	distrusted bool // a write or sync of it failed in this run: never written again
	bare       bool // its file was only allocated when it was named

	victim  bool  // a Rewriting reads it
	refused bool  // rewriting it failed or gave nothing back, when it was
	said    int64 // to have so many live bytes
}

// logState is what the journal knows of one logical log.
type logState struct {
	id         storage.LogID
	next       storage.Index   // of the batch to be written
	safe       storage.Index   // last batch that is safe
	want       storage.Index   // scratch of a check
	dirty      bool            // has batches written since the last sync
	spans      []*segment.Span // sorted by first; across segments
	checkpoint checkpoint
	used       int64         // bytes of the checkpoint that this run has written, without what fills up its file
	reached    storage.Index // a log of pages: the last batch it had when the manifest was written, reclaimed or not
	unnamed    storage.Index // a log of pages: from here on, no checkpoint names a page; 0: not known
	fault      *Fault
	found      []finding     // by Open, until settleFindings
	covering   storage.Index // a checkpoint of it is being written; 0: none is
	doubted    bool          // damage may have held batches behind the last one
}

// find returns the span with the batch, nil if there is none.
func (l *logState) find(index storage.Index) *segment.Span {
	i, found := slices.BinarySearchFunc(l.spans, index, func(s *segment.Span, at storage.Index) int {
		switch {
		case s.Last() < at:
			return -1
		case s.First > at:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return l.spans[i]
}

// insert adds the spans of a rewritten segment to their logs.
func (j *Journal) insert(s *segmentState) {
	for _, sp := range s.Spans {
		if j.dropped[sp.Log] {
			continue
		}
		l := j.log(sp.Log)
		i, _ := slices.BinarySearchFunc(l.spans, sp.First, func(s *segment.Span, first storage.Index) int {
			return cmp.Compare(s.First, first)
		})
		l.spans = slices.Insert(l.spans, i, sp)
	}
}
