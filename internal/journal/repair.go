package journal

import (
	"errors"
	"fmt"
	"slices"

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

// State is the state of a log after the batch At.
type State struct {
	Log   storage.LogID
	At    storage.Index
	Bytes []byte
}

// Mend puts others in the place of the files in which Verify has found damage, without what is lost. Of logs that are
// sound every batch that a restart needs is copied as it is. All that is written is new files; a manifest puts them
// into force in one step, and a crash before it leaves what there was, for Open and for another Look. After Mend the
// journal can only be closed. On a disk that is too full nothing has changed.
func (j *Journal) Mend(m Mend) error {
	if !errors.Is(j.failed, ErrLooking) || j.patient.damaged == nil {
		return errors.New("journal: only a verified journal can be repaired")
	}
	j.failed = nil
	err := j.mend(&m)
	if err != nil {
		for _, name := range j.patient.made { // the next start would remove them, too
			_ = j.fs.Remove(j.path(name))
		}
	}
	j.failed = ErrClosed
	return err
}

func (j *Journal) mend(m *Mend) error {
	for _, s := range j.unended {
		if err := s.f.Sync(); err != nil {
			return fmt.Errorf("journal: %s: %w", s.name(), err)
		}
	}
	gone := map[string]bool{}
	for name := range j.patient.damaged {
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
	var segments []*segment
	for _, s := range j.segments {
		switch {
		case gone[s.name()]:
			instead, err := j.instead(s, m.Keep)
			if err != nil {
				return err
			}
			segments = append(segments, instead...)
		case len(s.spans) > 0:
			segments = append(segments, s)
		case s.size == j.o.SegmentBytes:
			j.spares = append(j.spares, s.spare())
		default:
			gone[s.name()] = true
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
	c, label := newCheckpoint(st.Log, st.At, j.nextFile, st.Bytes, 0)
	j.nextFile++
	j.patient.made = append(j.patient.made, c.name())
	if err := j.writeFile(c.name(), st.Bytes, label); err != nil {
		return noSpace(err)
	}
	l.checkpoint, l.fault = c, nil
	return nil
}

// instead makes the segments that take the place of a damaged one: the batches behind their log's checkpoint, whole,
// under its own id, and of all others what is to be kept.
func (j *Journal) instead(s *segment, keep []storage.Ref) ([]*segment, error) {
	var all []*segment
	out := j.plainSegment(s.id)
	for _, sp := range s.spans {
		l := j.logs[sp.log]
		if l == nil || sp.log.IsPages() || s.rewritten {
			continue
		}
		for i := max(sp.first, l.checkpoint.at+1); i <= sp.last(); i++ {
			data, err := j.wholeBatch(sp, i)
			if err == nil {
				err = out.add(Batch{Log: sp.log, Index: i, Data: data})
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
func (j *Journal) wholeBatch(sp *span, index storage.Index) ([]byte, error) {
	e, ok, err := sp.lookup(index)
	if err != nil {
		return nil, err
	}
	data, holes, err := sp.seg.dataWithHoles(e)
	if err == nil && (!ok || len(holes) > 0) {
		err = sp.seg.fault(sp.log, int64(e.pos), fmt.Sprintf("batch %d is needed but damaged", index))
	}
	return data, err
}

// kept copies records that are to be kept from a damaged segment to a rewritten one, nil if there are none: what
// Rewriting does, of one victim that need not be sparse.
func (j *Journal) kept(s *segment, keep []storage.Ref) (*segment, error) {
	s.victim = true
	w := &Rewriting{victims: []*segment{s}, sources: j.sources([]*segment{s})}
	s.victim = false
	w.number()
	covered := slices.DeleteFunc(slices.Clone(keep), func(r storage.Ref) bool {
		l := j.logs[r.Log]
		return l == nil || !r.Log.IsPages() && r.Index > l.checkpoint.at
	})
	w.Keep(covered)
	if len(w.refs) == 0 {
		return nil, nil
	}
	w.out = &segment{id: j.nextID, file: j.nextFile, rewritten: true, nonce: mix(j.o.Entropy + j.nextID)}
	j.nextID++
	j.nextFile++
	var err error
	if w.out.f, err = j.create(w.out); err != nil {
		return nil, err
	}
	w.out.size = w.measure()
	w.copier = newCopier(w)
	w.copier.gap = -1 // what lies between may be damaged
	for done := false; !done; {
		if done, err = w.Step(bufferBytes); err != nil {
			return nil, errors.Join(err, w.out.f.Close())
		}
	}
	return w.out, nil
}

// create makes the file of a new segment.
func (j *Journal) create(s *segment) (vfs.File, error) {
	j.patient.made = append(j.patient.made, s.name())
	f, err := j.fs.Create(j.path(s.name()))
	return f, noSpace(err)
}

// newPages writes batches of logs of pages.
func (j *Journal) newPages(pages []Batch) (all []*segment, err error) {
	for len(pages) > 0 {
		out := j.plainSegment(j.nextID)
		j.nextID++
		for len(pages) > 0 && out.size+batchBytes(len(pages[0].Data)) < j.o.SegmentBytes || out.batches == 0 {
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
	s       *segment
	group   []Batch
	bytes   int64 // of group
	size    int64 // of all
	batches int
}

func (j *Journal) plainSegment(id uint64) *plainSegment {
	s := &segment{id: id, file: j.nextFile, end: segmentHeaderBytes}
	s.nonce = mix(j.o.Entropy + mix(id+s.file))
	s.seed = seedOf(s.nonce)
	j.nextFile++
	return &plainSegment{j: j, s: s, bytes: groupHeaderBytes, size: segmentHeaderBytes}
}

// add appends a batch, whose data is kept until the group is written.
func (p *plainSegment) add(b Batch) (err error) {
	if p.s.f == nil {
		if p.s.f, err = p.j.create(p.s); err != nil {
			return err
		}
	}
	n := batchBytes(len(b.Data))
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
	h := groupHeader{at: s.end, size: p.bytes, before: s.batches, count: uint32(len(p.group))}
	if err := p.j.put(s, h, p.group); err != nil {
		return noSpace(err)
	}
	pos := s.end + groupHeaderBytes
	for i := range p.group {
		b := &p.group[i]
		s.add(b.Log, b.Index, entry{pos: uint32(pos), size: uint32(len(b.Data))})
		pos += batchBytes(len(b.Data))
	}
	s.end += roundUp(p.bytes, sectorBytes)
	p.group, p.bytes = nil, groupHeaderBytes
	return nil
}

// finish writes what is left, the table and the header, and makes the segment safe; nil if there is nothing in it.
func (p *plainSegment) finish() (*segment, error) {
	s := p.s
	if s.f == nil {
		return nil, nil
	}
	err := p.flush()
	if err == nil {
		s.table, err = s.writeTable()
	}
	if err == nil {
		s.size = roundUp(s.table.at+s.tableBytes(), vfs.BlockBytes)
		err = s.f.Truncate(s.size)
	}
	if err == nil {
		header := vfs.Aligned(segmentHeaderBytes)
		putSegmentHeader(header, s)
		_, err = s.f.WriteAt(header, 0)
	}
	if err == nil {
		err = s.f.Sync()
	}
	if err != nil {
		return nil, errors.Join(noSpace(err), p.giveUp())
	}
	return s, nil
}

// giveUp closes the file, which nothing names.
func (p *plainSegment) giveUp() error {
	if p.s.f == nil {
		return nil
	}
	return p.s.f.Close()
}
