package journal

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A batch that cuts takes the place of the batch with its index, and of all behind it: what a replica has stored of one
// leader, and another leader has decided otherwise. The batches that it replaces are void: nobody finds them, they are
// neither live nor covered, and no compaction copies them. A crash before the cut is safe brings them back, all of
// them, or leaves the cut.
//
// Two places on the disk say what is void. The batch's own header does for whoever reads the groups of its segment. For
// the segments before, of which the table lists what is void as well, the manifest does: it still says so when the
// segment with the batch is gone.

// AllowCuts lets batches cut from now on: the manifest gets a format that versions before refuse to open. Errors: as of
// a manifest that cannot be written; nothing has changed after ErrNoSpace.
func (j *Journal) AllowCuts() error {
	if j.failed != nil {
		return j.failed
	}
	if j.cuts {
		return nil
	}
	j.cuts = true
	err := j.writeManifest()
	if err != nil {
		j.cuts = false
	}
	return err
}

// mayCut reports whether a batch with that index may cut l. What a checkpoint covers stays.
func (j *Journal) mayCut(l *logState, index storage.Index) bool {
	return j.cuts && !l.id.IsPages() && index <= l.want && index > max(l.checkpoint.at, l.covering)
}

// cutFrom makes the batches of l from index on void, and tells in which segments there were any.
func (j *Journal) cutFrom(l *logState, index storage.Index, in func(*segment.File)) {
	for n := len(l.spans); n > 0 && l.spans[n-1].Last() >= index; n = len(l.spans) {
		sp := l.spans[n-1]
		in(sp.Seg)
		l.spans = l.spans[:n-1]
		if left := sp.Seg.Shorten(sp, index); left != nil {
			l.spans = append(l.spans, left)
		}
	}
	l.found = slices.DeleteFunc(l.found, func(f finding) bool { return f.at >= index })
}

// A cut was written and is not safe. Until then no manifest, and no table, may say of a segment that batches in it are
// void: without the cut, they count.
type cut struct {
	in   *segment.File
	log  storage.LogID
	from storage.Index
}

// cutBy takes note of a batch that was written to the open segment, and cuts.
func (j *Journal) cutBy(l *logState, index storage.Index) {
	j.cutFrom(l, index, func(in *segment.File) { j.unsafeCuts = append(j.unsafeCuts, cut{in, l.id, index}) })
	l.safe = min(l.safe, index-1)
}

// foundCut takes note of a batch that cuts and was found in s.
func (j *Journal) foundCut(l *logState, index storage.Index, s *segmentState) {
	j.cutFrom(l, index, func(in *segment.File) {
		if in != &s.File { // what is before it in s is found before it each time
			in.VoidFrom(l.id, index)
		}
	})
}

// isBeingCut reports whether a cut that is not safe makes batches in s void: a crash may bring them back.
func (j *Journal) isBeingCut(s *segmentState) bool {
	return slices.ContainsFunc(j.unsafeCuts, func(c cut) bool { return c.in == &s.File })
}

// cutsAreSafe takes note that all that was written is safe.
func (j *Journal) cutsAreSafe() {
	for _, c := range j.unsafeCuts {
		if c.in != &j.open.File {
			c.in.VoidFrom(c.log, c.from)
		}
	}
	j.unsafeCuts = nil
}

// cutsAreLost makes void what was cut, by batches that are lost: the log goes on in its place all the same.
func (j *Journal) cutsAreLost() {
	for _, c := range j.unsafeCuts {
		c.in.VoidFrom(c.log, j.Next(c.log))
	}
	j.unsafeCuts = nil
}

// placed takes note that the table of s is written, with these spans: from there on it says where their entries are.
// What is left of a span that was cut meanwhile begins where the span did.
func (s *segmentState) placed(spans []*segment.Span) {
	for _, sp := range s.Spans {
		if len(s.Void) > 0 && !slices.Contains(spans, sp) {
			sp.Ordinal = spans[slices.IndexFunc(spans, func(of *segment.Span) bool {
				return of.Log == sp.Log && of.First == sp.First
			})].Ordinal
		}
		sp.Entries, sp.Indexes = nil, nil
	}
}
