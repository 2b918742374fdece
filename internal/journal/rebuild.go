package journal

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// segmentHeader is what a segment's file says of itself.
type segmentHeader struct {
	id, nonce uint64
	size      int64
	rewritten bool
}

// readHeader reads the header of a segment; nil if there is none, or it is damaged.
func (j *Journal) readHeader(f io.ReaderAt) (*segmentHeader, error) {
	p := make([]byte, 40)
	if n, err := f.ReadAt(p, 0); err != nil && !isEnd(err) {
		return nil, err
	} else if n < len(p) || le.Uint32(p) != segmentMagic {
		return nil, nil
	}
	h := &segmentHeader{
		nonce: le.Uint64(p[16:]), id: le.Uint64(p[24:]), size: int64(le.Uint64(p[32:])), rewritten: le.Uint32(p[12:])&flagRewritten != 0,
	}
	if n := le.Uint32(p[8:]); le.Uint32(p[4:]) != checksum(seedOf(h.nonce), p[8:40]) || n < formatOldest || n > formatNumber {
		return nil, nil
	}
	return h, nil
}

func isEnd(err error) bool { return err == io.EOF }

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
		number, ok := fileNumber(name)
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

// fileNumber is the number in the name of a segment or a checkpoint.
func fileNumber(name string) (number uint64, ok bool) {
	base, _, _ := strings.Cut(name, ".")
	number, err := strconv.ParseUint(base, 10, 64)
	return number, err == nil
}

// findSegment takes a file for the segment that its header says it is.
func (j *Journal) findSegment(number uint64, seen *Sight) error {
	s := &segment{file: number}
	f, err := j.fs.Open(j.path(s.name()))
	if err != nil {
		return err
	}
	defer f.Close() // only read
	h, err := j.readHeader(f)
	if err != nil {
		return err
	}
	if h == nil {
		blank, err := j.isBlank(f)
		if err == nil && !blank {
			seen.Damage = append(seen.Damage, Damage{
				Part: InFile, File: s.name(), Bytes: 40, What: "the header of the segment is damaged: without a manifest it cannot be read",
			})
			j.swallow(1 << 32)
			j.damage, j.damagedAt = s.fault(0, 0, "the header of the segment is damaged"), position{segment: math.MaxUint64}
		}
		return err // a spare, if it is blank
	}
	s.id, s.nonce, s.size, s.rewritten = h.id, h.nonce, h.size, h.rewritten
	s.seed = seedOf(s.nonce)
	j.nextID = max(j.nextID, s.id+1)
	j.segments = append(j.segments, s)
	return nil
}

// isBlank reports whether a file was never used.
func (j *Journal) isBlank(f io.ReaderAt) (bool, error) {
	for at := int64(0); ; {
		n, err := f.ReadAt(j.buf, at)
		if err != nil && !isEnd(err) {
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
	all = slices.DeleteFunc(all, func(s *segment) bool {
		return slices.ContainsFunc(j.segments, func(o *segment) bool { return o.id == s.id && o.file > s.file })
	})
	outlines := map[*segment][]Range{}
	var kept []*segment
	for _, s := range all {
		ranges, whole, err := j.outline(s)
		if err != nil {
			return err
		}
		outlines[s] = ranges
		if s.rewritten {
			shares := func(o *segment) bool { return shareBatches(outlines[o], ranges) }
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
	var before *segment
	next := uint64(0) // id, if no segment is missing
	for _, s := range j.segments {
		if s.rewritten {
			if s.id == next {
				next++
			}
			continue
		}
		if before != nil && s.id == next {
			prior, err := j.prior(s)
			if err != nil {
				return err
			}
			before.end = prior
		}
		before, next = s, s.id+1
	}
	return nil
}

// prior is what the first group of s says of where the segment before it ended; 0: nothing.
func (j *Journal) prior(s *segment) (int64, error) {
	f, err := j.fs.Open(j.path(s.name()))
	if err != nil {
		return 0, err
	}
	defer f.Close() // only read
	p := make([]byte, groupHeaderBytes)
	if _, err := f.ReadAt(p, segmentHeaderBytes); err != nil && !isEnd(err) {
		return 0, err
	}
	var g groupHeader
	g.parse(p, s.seed, segmentHeaderBytes)
	return g.prior, nil
}

// shareBatches reports whether there are batches in both.
func shareBatches(a, b []Range) bool {
	return slices.ContainsFunc(a, func(a Range) bool {
		return slices.ContainsFunc(b, func(b Range) bool { return a.Log == b.Log && a.First <= b.Last && b.First <= a.Last })
	})
}

// outline tells which batches a segment has, as ranges, and, of a rewritten one, whether it is complete: its table is
// the last that is written.
func (j *Journal) outline(s *segment) (ranges []Range, whole bool, err error) {
	f, err := j.fs.Open(j.path(s.name()))
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // only read
	o := &segment{id: s.id, file: s.file, nonce: s.nonce, seed: s.seed, size: s.size, rewritten: s.rewritten, f: f}
	sc := scanner{s: o, buf: j.buf}
	at := int64(segmentHeaderBytes)
	for at < o.size {
		if err := sc.group(at); err != nil {
			return nil, false, err
		}
		if !sc.header {
			if next, err := sc.next(at + sectorBytes); err != nil {
				return nil, false, err
			} else if next != 0 {
				at = next
				continue
			}
			break
		}
		for _, b := range sc.found {
			e := entry{pos: uint32(b.pos), size: b.h.size}
			if s.rewritten {
				o.addPartial(b.h.log, b.h.index, e, b.h.flags&flagBegins != 0)
			} else {
				o.add(b.h.log, b.h.index, e)
			}
		}
		at += roundUp(sc.g.size, sectorBytes)
	}
	for _, sp := range o.spans {
		ranges = append(ranges, Range{sp.log, sp.first, sp.last()})
	}
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.First, b.First)) })
	if s.rewritten {
		t := segment{f: f, seed: s.seed, size: s.size, rewritten: true, table: tableAt{at: at, spans: uint32(len(o.spans)), entries: o.batches}}
		whole = at < o.size && t.readDirectory() == nil
		if whole {
			s.end, s.table = at, t.table
		}
	}
	return ranges, whole, nil
}
