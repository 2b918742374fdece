package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Mend is what becomes of a journal with damage.
type Mend struct {
	// Checkpoints are of the logs that cannot be replayed, or refer to what is lost: the state that is to hold from now
	// on, after all batches of theirs that there may have been. What a log had before is forgotten, but for what is in
	// Keep.
	Checkpoints []State
	// Pages are new batches of logs of pages, in order, from Next(log) on.
	Pages []Batch
	// Keep names all records and pages in use, by any log, sorted by log, index and offset. All of them can be read.
	Keep []storage.Ref
	// Drop lists logs that nobody owns.
	Drop []storage.LogID
}

// Mend puts others in the place of the files in which Verify has found damage, without what is lost. Of logs that are
// sound every batch that a restart needs is copied as it is. All that is written is new files; a manifest puts them
// into force in one step, and a crash before it leaves what there was, for Open and for another Look. After Mend the
// journal can only be closed. On a disk that is too full nothing has changed.
func (j *Journal) Mend(m Mend) error {
	if !errors.Is(j.failed, ErrLooking) || j.lenient.damaged == nil {
		return errors.New("journal: only a verified journal can be repaired")
	}
	j.failed = nil
	err := j.mend(&m)
	if err != nil {
		for _, name := range j.lenient.made { // the next start would remove them, too
			_ = j.fs.Remove(j.path(name))
		}
	}
	j.failed = ErrClosed
	return err
}

func (j *Journal) mend(m *Mend) error {
	for _, s := range j.unended {
		if err := s.Disk.Sync(); err != nil {
			return fmt.Errorf("journal: %s: %w", s.Name(), err)
		}
	}
	gone := map[string]bool{}
	for name := range j.lenient.damaged {
		gone[name] = name != manifestName
	}
	for _, log := range m.Drop {
		if l := j.logs[log]; l != nil {
			if l.checkpoint.file != 0 {
				gone[l.checkpoint.name()] = true
			}
			delete(j.logs, log)
			j.dropped[log] = true
		}
	}
	for _, st := range m.Checkpoints {
		if err := j.replaceState(st, gone); err != nil {
			return err
		}
	}
	var segments []*segmentState
	for _, s := range j.segments {
		switch {
		case gone[s.Name()]:
			instead, err := j.instead(s, m.Keep)
			if err != nil {
				return err
			}
			segments = append(segments, instead...)
		case len(s.Spans) > 0:
			segments = append(segments, s)
		case s.Size == j.o.SegmentBytes:
			j.spares = append(j.spares, s.spare())
		default:
			gone[s.Name()] = true
		}
	}
	pages, err := j.newPages(m.Pages)
	if err != nil {
		return err
	}
	j.segments = append(segments, pages...)
	sortSegments(j.segments)
	j.unsyncedNames = true
	if err := j.writeManifest(); err != nil {
		return err
	}
	for name, yes := range gone {
		if yes {
			j.discard(name) // at the latest the next start does
		}
	}
	return nil
}

// replaceState writes the checkpoint from which a log goes on.
func (j *Journal) replaceState(st State, gone map[string]bool) error {
	l := j.log(st.Log)
	if old := l.checkpoint; old.file != 0 {
		gone[old.name()] = true
	}
	c, label := newCheckpoint(st.Log, st.At, j.nextFile, st.Pieces, 0)
	j.nextFile++
	j.lenient.made = append(j.lenient.made, c.name())
	if err := j.writeFile(c.name(), append(slices.Clip(st.Pieces), label)...); err != nil {
		return noSpace(err)
	}
	l.checkpoint, l.fault = c, nil
	return nil
}

// instead makes the segments that take the place of a damaged one: the batches behind their log's checkpoint, whole,
// under its own id, and of all others what is to be kept.
func (j *Journal) instead(s *segmentState, keep []storage.Ref) ([]*segmentState, error) {
	var all []*segmentState
	out := j.plainSegment(s.ID)
	for _, sp := range s.Spans {
		l := j.logs[sp.Log]
		if l == nil || sp.Log.IsPages() || s.Rewritten {
			continue
		}
		for i := max(sp.First, l.checkpoint.at+1); i <= sp.Last(); i++ {
			data, err := j.wholeBatch(sp, i)
			if err == nil {
				err = out.add(Batch{Log: sp.Log, Index: i, Data: data})
			}
			if err != nil {
				return nil, errors.Join(err, out.giveUp())
			}
		}
	}
	plain, err := out.finish()
	if err != nil {
		return nil, err
	}
	if plain != nil {
		all = append(all, plain)
	}
	kept, err := j.kept(s, keep)
	if kept != nil {
		all = append(all, kept)
	}
	return all, err
}

// wholeBatch reads a batch of which nothing is lost but perhaps its header.
func (j *Journal) wholeBatch(sp *segment.Span, index storage.Index) ([]byte, error) {
	e, ok, err := sp.Lookup(index)
	if err != nil {
		return nil, err
	}
	data, holes, err := sp.Seg.DataWithHoles(e)
	if err == nil && (!ok || len(holes) > 0) {
		err = sp.Seg.Fault(sp.Log, int64(e.Pos), fmt.Sprintf("batch %d is needed but damaged", index))
	}
	return data, err
}

// kept copies records that are to be kept from a damaged segment to a rewritten one, nil if there are none: what
// Rewriting does, of one victim that need not be sparse.
func (j *Journal) kept(s *segmentState, keep []storage.Ref) (*segmentState, error) {
	w := &Rewriting{victims: []*segmentState{s}, sources: j.sources([]*segmentState{s})}
	w.number()
	covered := slices.DeleteFunc(slices.Clone(keep), func(r storage.Ref) bool {
		l := j.logs[r.Log]
		return l == nil || !r.Log.IsPages() && r.Index > l.checkpoint.at
	})
	w.Keep(covered)
	if len(w.refs) == 0 {
		return nil, nil
	}
	w.out = &segmentState{File: segment.File{
		ID: j.nextID, Number: j.nextFile, Rewritten: true, Nonce: mix(j.o.Entropy + j.nextID),
	}}
	j.nextID++
	j.nextFile++
	var err error
	if w.out.Disk, err = j.create(w.out); err != nil {
		return nil, err
	}
	w.out.Size = w.measure()
	w.copier = newCopier(w)
	w.copier.gap = -1 // what lies between may be damaged
	for done := false; !done; {
		if done, err = w.Step(bufferBytes); err != nil {
			return nil, errors.Join(err, w.out.Disk.Close())
		}
	}
	return w.out, nil
}

// create makes the file of a new segment.
func (j *Journal) create(s *segmentState) (vfs.File, error) {
	j.lenient.made = append(j.lenient.made, s.Name())
	f, err := j.fs.Create(j.path(s.Name()))
	return f, noSpace(err)
}

// newPages writes batches of logs of pages.
func (j *Journal) newPages(pages []Batch) (all []*segmentState, err error) {
	for len(pages) > 0 {
		out := j.plainSegment(j.nextID)
		j.nextID++
		for len(pages) > 0 && out.size+segment.BatchBytes(len(pages[0].Data)) < j.o.SegmentBytes || out.batches == 0 {
			l := j.log(pages[0].Log)
			l.reached = max(l.reached, pages[0].Index)
			if err := out.add(pages[0]); err != nil {
				return nil, errors.Join(err, out.giveUp())
			}
			pages = pages[1:]
		}
		s, err := out.finish()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// plainSegment writes a closed segment that is not rewritten, group by group; without batches it leaves no file.
type plainSegment struct {
	j       *Journal
	s       *segmentState
	group   []Batch
	bytes   int64 // of group
	size    int64 // of all
	batches int
}

func (j *Journal) plainSegment(id uint64) *plainSegment {
	s := &segmentState{File: segment.File{ID: id, Number: j.nextFile, End: segment.HeaderBytes}}
	s.Nonce = mix(j.o.Entropy + mix(id+s.Number))
	s.Seed = segment.SeedOf(s.Nonce)
	j.nextFile++
	return &plainSegment{j: j, s: s, bytes: segment.GroupHeaderBytes, size: segment.HeaderBytes}
}

// add appends a batch, whose data is kept until the group is written.
func (p *plainSegment) add(b Batch) (err error) {
	if p.s.Disk == nil {
		if p.s.Disk, err = p.j.create(p.s); err != nil {
			return err
		}
	}
	n := segment.BatchBytes(len(b.Data))
	if len(p.group) > 0 && p.bytes+n > groupBytes {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.group, p.bytes, p.size, p.batches = append(p.group, b), p.bytes+n, p.size+n, p.batches+1
	return nil
}

func (p *plainSegment) flush() error {
	s := p.s
	h := segment.GroupHeader{At: s.End, Size: p.bytes, Before: s.Batches, Count: uint32(len(p.group))}
	if err := p.j.put(s, h, p.group); err != nil {
		return noSpace(err)
	}
	pos := s.End + segment.GroupHeaderBytes
	for i := range p.group {
		b := &p.group[i]
		s.Add(b.Log, b.Index, segment.Entry{Pos: uint32(pos), Size: uint32(len(b.Data))})
		pos += segment.BatchBytes(len(b.Data))
	}
	s.End += segment.RoundUp(p.bytes, segment.SectorBytes)
	p.group, p.bytes = nil, segment.GroupHeaderBytes
	return nil
}

// finish writes what is left, the table and the header, and makes the segment safe; nil if there is nothing in it.
func (p *plainSegment) finish() (*segmentState, error) {
	s := p.s
	if s.Disk == nil {
		return nil, nil
	}
	err := p.flush()
	if err == nil {
		s.Table, err = s.WriteTable(s.Spans)
	}
	if err == nil {
		s.Size = segment.RoundUp(s.Table.At+s.TableBytes(), vfs.BlockBytes)
		err = s.Disk.Truncate(s.Size)
	}
	if err == nil {
		header := vfs.Aligned(segment.HeaderBytes)
		segment.PutHeader(header, &s.File)
		_, err = s.Disk.WriteAt(header, 0)
	}
	if err == nil {
		err = s.Disk.Sync()
	}
	if err != nil {
		return nil, errors.Join(noSpace(err), p.giveUp())
	}
	return s, nil
}

// giveUp closes the file, which nothing names.
func (p *plainSegment) giveUp() error {
	if p.s.Disk == nil {
		return nil
	}
	return p.s.Disk.Close()
}
