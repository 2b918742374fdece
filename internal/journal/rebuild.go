package journal

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
)

// rebuild makes up for a manifest that cannot be read: what segments there are, in which order, and whose the
// checkpoints are, the files say themselves. What they do not say: which segments were spares again (what is in them is
// covered by a checkpoint, and does no harm), where the last ones end (reading them tells), and which logs were dropped
// (their owner knows).
func (j *Journal) rebuild(seen *Sight) error {
	names, err := j.fs.List(j.o.Dir)
	if err != nil {
		return err
	}
	j.rebuilt, j.pagesFrom = true, pagesSkipped
	for _, name := range names {
		number, ok := segment.FileNumber(name)
		switch {
		case ok && strings.HasSuffix(name, ".segment"):
			err = j.findSegment(number, seen)
		case ok && strings.HasSuffix(name, ".checkpoint"):
			err = j.findCheckpoint(number, seen)
		}
		if err != nil {
			return err
		}
	}
	sortSegments(j.segments)
	return j.dropSuperseded()
}

// findSegment takes a file for the segment that its header says it is.
func (j *Journal) findSegment(number uint64, seen *Sight) error {
	s := &segmentState{File: segment.File{Number: number}}
	f, err := j.fs.Open(j.path(s.Name()))
	if err != nil {
		return err
	}
	defer f.Close() // only read
	h, err := segment.ReadHeader(f)
	if err != nil {
		return err
	}
	if h == nil {
		blank, err := j.isBlank(f)
		if err == nil && !blank {
			seen.Damage = append(seen.Damage, Damage{
				Part: InFile, File: s.Name(), Bytes: 40, What: "the header of the segment is damaged: without a manifest it cannot be read",
			})
			j.swallow(1 << 32)
			j.damage, j.damagedAt = s.Fault(0, 0, "the header of the segment is damaged"), position{segment: math.MaxUint64}
		}
		return err // a spare, if it is blank
	}
	s.ID, s.Nonce, s.Size, s.Rewritten = h.ID, h.Nonce, h.Size, h.Rewritten
	s.Seed = segment.SeedOf(s.Nonce)
	j.nextID = max(j.nextID, s.ID+1)
	j.segments = append(j.segments, s)
	return nil
}

// isBlank reports whether a file was never used.
func (j *Journal) isBlank(f io.ReaderAt) (bool, error) {
	for at := int64(0); ; {
		n, err := f.ReadAt(j.buf, at)
		if err != nil && err != io.EOF {
			return false, err
		}
		if slices.ContainsFunc(j.buf[:n], func(b byte) bool { return b != 0 }) {
			return false, nil
		}
		if at += int64(n); n < len(j.buf) {
			return true, nil
		}
	}
}

// findCheckpoint takes a file for the checkpoint that its label says it is, if it is the newest of its log.
func (j *Journal) findCheckpoint(number uint64, seen *Sight) error {
	name := checkpoint{file: number}.name()
	p, err := j.readFile(name)
	if err != nil {
		return err
	}
	_, log, c, ok := cutLabel(p)
	if !ok {
		seen.Damage = append(seen.Damage, Damage{
			Part: InFile, File: name, Bytes: int64(len(p)), What: "the file does not name its log: without a manifest it cannot be used",
		})
		return nil
	}
	c.file = number
	if l := j.log(log); l.checkpoint.file == 0 || l.checkpoint.at <= c.at {
		l.checkpoint = c
	}
	return nil
}

// dropSuperseded leaves out segments of which a rewritten one has all that was live, rewritten ones that were not
// finished, and of files that say to be the same segment all but the last.
func (j *Journal) dropSuperseded() error {
	all := slices.Clone(j.segments)
	all = slices.DeleteFunc(all, func(s *segmentState) bool {
		return slices.ContainsFunc(j.segments, func(o *segmentState) bool {
			return o.ID == s.ID && o.Number > s.Number
		})
	})
	outlines := map[*segmentState][]Range{}
	var kept []*segmentState
	for _, s := range all {
		ranges, whole, err := j.outline(s)
		if err != nil {
			return err
		}
		outlines[s] = ranges
		if s.Rewritten {
			shares := func(o *segmentState) bool { return shareBatches(outlines[o], ranges) }
			if !whole && slices.ContainsFunc(kept, shares) {
				continue // its victims are there
			}
			kept = slices.DeleteFunc(kept, shares)
		}
		kept = append(kept, s)
	}
	j.segments = kept
	return j.findPriors()
}

// findPriors finds the ends that a segment tells of the one before it: of its neighbour, where no other was between.
func (j *Journal) findPriors() error {
	var before *segmentState
	next := uint64(0) // id, if no segment is missing
	for _, s := range j.segments {
		if s.Rewritten {
			if s.ID == next {
				next++
			}
			continue
		}
		if before != nil && s.ID == next {
			prior, err := j.prior(s)
			if err != nil {
				return err
			}
			before.End = prior
		}
		before, next = s, s.ID+1
	}
	return nil
}

// prior is what the first group of s says of where the segment before it ended; 0: nothing.
func (j *Journal) prior(s *segmentState) (int64, error) {
	f, err := j.fs.Open(j.path(s.Name()))
	if err != nil {
		return 0, err
	}
	defer f.Close() // only read
	p := make([]byte, segment.GroupHeaderBytes)
	if _, err := f.ReadAt(p, segment.HeaderBytes); err != nil && err != io.EOF {
		return 0, err
	}
	var g segment.GroupHeader
	g.Parse(p, s.Seed, segment.HeaderBytes)
	return g.Prior, nil
}

// shareBatches reports whether there are batches in both.
func shareBatches(a, b []Range) bool {
	return slices.ContainsFunc(a, func(a Range) bool {
		return slices.ContainsFunc(b, func(b Range) bool { return a.Log == b.Log && a.First <= b.Last && b.First <= a.Last })
	})
}

// outline tells which batches a segment has, as ranges, and, of a rewritten one, whether it is complete: its table is
// the last that is written.
func (j *Journal) outline(s *segmentState) (ranges []Range, whole bool, err error) {
	f, err := j.fs.Open(j.path(s.Name()))
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // only read
	o := &segment.File{
		ID: s.ID, Number: s.Number, Nonce: s.Nonce, Seed: s.Seed, Size: s.Size, Rewritten: s.Rewritten, Disk: f,
	}
	sc := segment.Scanner{File: o, Buf: j.buf}
	at := int64(segment.HeaderBytes)
	for at < o.Size {
		if err := sc.Read(at); err != nil {
			return nil, false, err
		}
		if !sc.Header {
			if next, err := sc.Next(at + segment.SectorBytes); err != nil {
				return nil, false, err
			} else if next != 0 {
				at = next
				continue
			}
			break
		}
		for _, b := range sc.Found {
			e := segment.Entry{Pos: uint32(b.Pos), Size: b.Header.Size}
			if s.Rewritten {
				o.AddPartial(b.Header.Log, b.Header.Index, e, b.Header.Flags&segment.FlagBegins != 0)
			} else {
				o.Add(b.Header.Log, b.Header.Index, e)
			}
		}
		at += segment.RoundUp(sc.Group.Size, segment.SectorBytes)
	}
	for _, sp := range o.Spans {
		ranges = append(ranges, Range{sp.Log, sp.First, sp.Last()})
	}
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.First, b.First)) })
	if s.Rewritten {
		t := segment.File{Disk: f, Seed: s.Seed, Size: s.Size, Rewritten: true, Table: segment.TableAt{At: at, Spans: uint32(len(o.Spans)), Entries: o.Batches}}
		whole = at < o.Size && t.ReadDirectory() == nil
		if whole {
			s.End, s.Table = at, t.Table
		}
	}
	return ranges, whole, nil
}
