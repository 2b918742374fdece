package journal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// SparseShare is the live share below which a segment is worth rewriting while traffic flows: where each message is as
// likely as any other to be settled next, it costs 1/(1-0.4) = 1.67 bytes of writing per byte that is new, and the log
// takes ln(1/0.4)/(1-0.4) = 1.53 times what is live. Where nothing else is written a higher one takes less space.
const SparseShare = 0.4

// Range is a run of batches of a log.
type Range struct {
	Log         storage.LogID
	First, Last storage.Index
}

// Rewriting gathers what is live in sparse segments, its victims, in a new one, so that they can be given back. There
// is one at a time. Its owner goes through
//
//	Sparse ─▶ Keep, as often as needed ─▶ Step, until done ─▶ Adopt
//	                                                       └▶ Abandon, at any time
//
// Keep and Step touch nothing but the victims, which stay as they are, and a file that nothing names yet: they may run
// beside writing, syncing and reading. A crash before Adopt leaves a file that Open removes.
type Rewriting struct {
	limit   int64           // for the size of the new segment, unless there is but one victim
	victims []*segmentState // sparsest first
	left    []*segmentState // victims that are left as they are
	refused []*segmentState // of these, because they cannot be read, or gave nothing back
	sources []source        // the victims' spans, by log and first
	refs    []storage.Ref
	out     *segmentState
	copier  *copier // nil until all refs are known
	done    bool
	broken  error // of writing; final
	written int64 // to out
	urgent  bool  // what is sparse beside the victims is much of the log
	took    spare // in the place of which out is written; of size 0: none, the disk has space
}

// Urgent reports whether rewriting has fallen behind what is settled: else it may take its time.
func (w *Rewriting) Urgent() bool { return w.urgent }

// Victims is how many segments it is to give back.
func (w *Rewriting) Victims() int { return len(w.victims) }

// source is a span of a victim.
type source struct {
	*segment.Span
	apart bool // batches of another segment are between it and the one before
	run   int  // sources with the same number become one span
}

// Sparse begins a rewriting of those closed segments of which the smallest share is live, below share, as many as fill
// one segment; nil if there is none. They are sound, and covered as for Reclaim. Small segments are taken along to fill
// it up.
//
// On a disk that is all but full the new segment takes the space of a spare one, as Draining may. Errors: as of a
// manifest that cannot be written or a file that cannot be made; nothing has changed.
func (j *Journal) Sparse(live Live, share float64) (*Rewriting, error) {
	if j.failed != nil {
		return nil, j.failed
	}
	if j.rewriting != nil {
		return nil, errors.New("journal: a compaction is already running")
	}
	victims, out, urgent, err := j.sparse(live, share)
	if err != nil || len(victims) == 0 {
		return nil, err
	}
	for _, s := range victims {
		s.victim = true
	}
	w := &Rewriting{limit: j.o.SegmentBytes, victims: victims, sources: j.sources(victims), urgent: urgent, took: out.took}
	w.out = &segmentState{File: segment.File{ID: j.nextID, Number: out.number, Disk: out.f, Rewritten: true}}
	w.out.Nonce = mix(j.o.Entropy + w.out.ID)
	j.nextID++
	w.number()
	j.rewriting = w
	return w, nil
}

// number gives each run of sources a number.
func (w *Rewriting) number() {
	run := 0
	for i := range w.sources {
		s := &w.sources[i]
		if i == 0 || s.apart || s.Log != w.sources[i-1].Log {
			run++
		}
		s.run = run
	}
}

// Ranges are the batches of which Keep is to name the live records, in order.
func (w *Rewriting) Ranges() []Range {
	var ranges []Range
	for i, s := range w.sources {
		if i == 0 || s.run != w.sources[i-1].run {
			ranges = append(ranges, Range{Log: s.Log, First: s.First})
		}
		ranges[len(ranges)-1].Last = s.Last()
	}
	return ranges
}

// source returns the number of the source that has a batch, at or behind from; if there is none, of the next one.
func (w *Rewriting) source(from int, log storage.LogID, index storage.Index) (i int, found bool) {
	i, found = slices.BinarySearchFunc(w.sources[from:], index, func(s source, index storage.Index) int {
		switch {
		case s.Log != log:
			return cmp.Compare(s.Log, log)
		case s.Last() < index:
			return -1
		case s.First > index:
			return 1
		}
		return 0
	})
	return from + i, found
}

// Keep names records to be kept, and sorts them; they may overlap, or be named before. What is in none of the Ranges is
// ignored. Everything live there must be named before the first Step: what is not is gone after Adopt.
func (w *Rewriting) Keep(refs []storage.Ref) {
	slices.SortFunc(refs, compareRefs)
	from := 0
	for _, r := range refs {
		n := len(w.refs)
		if n > 0 && join(&w.refs[n-1], r) {
			continue
		}
		i, found := w.source(from, r.Log, r.Index)
		if from = i; found && r.Size > 0 {
			w.refs = append(w.refs, r)
		}
	}
}

// join adds the bytes of r to those of the piece to, if they are in one batch and there is nothing between.
func join(to *storage.Ref, r storage.Ref) bool {
	end := to.Offset + to.Size
	if to.Log != r.Log || to.Index != r.Index || r.Offset < to.Offset || r.Offset > end {
		return false
	}
	to.Size = max(end, r.Offset+r.Size) - to.Offset
	return true
}

// compareRefs orders refs by where they are.
func compareRefs(a, b storage.Ref) int {
	return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Offset, b.Offset))
}

// Step copies about max bytes of live pieces, verified, into the new segment; done tells that it is complete and
// synced.
//
// A *Fault, or what the disk said, names a victim that cannot be read: it is left as it is, and Step goes on with the
// others when it is called again. Every other error, ErrNoSpace among them, is final for this rewriting: Abandon it.
func (w *Rewriting) Step(max int) (done bool, err error) {
	if w.done || w.broken != nil {
		return w.done, w.broken
	}
	if w.copier == nil {
		w.begin()
	}
	for copied := 0; copied < max; {
		n, bad, err := w.copier.group()
		if bad != nil {
			w.leave(bad)
			w.copier = nil
			return false, err
		}
		if err != nil {
			w.broken = noSpace(err)
			return false, w.broken
		}
		if n == 0 {
			w.broken = noSpace(w.finish())
			w.done = w.broken == nil
			return w.done, w.broken
		}
		copied += n
	}
	return false, nil
}

// begin plans the new segment: it leaves out victims until the rest fits.
func (w *Rewriting) begin() {
	slices.SortFunc(w.refs, compareRefs)
	pieces := w.refs[:0]
	for _, r := range w.refs {
		if n := len(pieces); n == 0 || !join(&pieces[n-1], r) {
			pieces = append(pieces, r)
		}
	}
	w.refs = pieces
	for {
		size := w.measure()
		if size > w.limit && len(w.victims) > 1 {
			w.leave(w.victims[len(w.victims)-1])
			continue
		}
		before := int64(0)
		for _, s := range w.victims {
			before += s.Size
		}
		if size > before-before/16 && len(w.victims) > 0 { // they are not as sparse as they were said to be
			w.refused = append(w.refused, w.victims...)
			w.leave(w.victims...)
			continue
		}
		w.out.Size = size
		break
	}
	w.copier = newCopier(w)
}

// measure is the size of the new segment, from its header to the end of its table.
func (w *Rewriting) measure() int64 {
	end, spans, batches := int64(segment.HeaderBytes), 0, uint64(0)
	for c := (cursor{w: w}); ; {
		g := c.group()
		if g.count == 0 {
			return end + segment.RewrittenShape.Bytes(spans, batches)
		}
		end += segment.RoundUp(g.size, segment.SectorBytes)
		spans += g.spans
		batches += uint64(g.count)
	}
}

// victim returns the victim that a span is of.
func (w *Rewriting) victim(f *segment.File) *segmentState {
	return w.victims[slices.IndexFunc(w.victims, func(s *segmentState) bool { return &s.File == f })]
}

// leave takes victims out of the rewriting.
func (w *Rewriting) leave(victims ...*segmentState) {
	of := func(s *segmentState) bool { return slices.Contains(victims, s) }
	left := false
	var sources []source
	for i, s := range w.sources {
		if i > 0 && s.Log != w.sources[i-1].Log {
			left = false
		}
		if slices.ContainsFunc(victims, func(v *segmentState) bool { return &v.File == s.Seg }) {
			left = true
			continue
		}
		s.apart = s.apart || left
		sources, left = append(sources, s), false
	}
	w.sources = sources
	w.left = append(w.left, victims...)
	w.victims = slices.DeleteFunc(slices.Clone(w.victims), of)
	w.number()
}

// finish writes the table and makes the segment safe.
func (w *Rewriting) finish() error {
	s := w.out
	if s.Batches == 0 {
		return nil
	}
	var err error
	if s.Table, err = s.WriteTable(s.Spans); err != nil {
		return err
	}
	w.written += s.Size - s.End
	err = w.makeSafe()
	s.Latest = nil
	for _, sp := range s.Spans {
		sp.Entries, sp.Indexes = nil, nil
	}
	return err
}

// makeSafe cuts off what the file has beyond the new segment, and syncs it.
func (w *Rewriting) makeSafe() error {
	size, err := w.out.Disk.Size()
	if err == nil && size > w.out.Size {
		err = w.out.Disk.Truncate(w.out.Size)
	}
	if err != nil {
		return err
	}
	return w.out.Disk.Sync()
}

// unreadable says why a victim is left alone.
func (w *Rewriting) unreadable(s *segmentState, err error) error {
	w.refused = append(w.refused, s)
	var fault *Fault
	if errors.As(err, &fault) {
		return err
	}
	return fmt.Errorf("journal: compacting %s: %w", s.Name(), err)
}
