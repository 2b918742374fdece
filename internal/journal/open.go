package journal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Report tells what Open found.
type Report struct {
	Created bool    // there was no journal
	Cut     *Cut    // an unfinished tail, nil if there was none
	Faults  []Fault // of each log that has one, in order of the logs; the others are sound
	// Unnamed is damage that may have held all there was of logs that the journal no longer knows; of log 0, nil if
	// there is none. A log that its owner knows and Logs does not list has this fault.
	Unnamed *Fault
}

// Cut describes an unfinished tail: what a crash left of writes that nobody was told were safe.
type Cut struct {
	File   string
	Offset int64 // of the first bad byte's group: the new end
	Bytes  int64 // from there to the last sector that was recognised as written since
}

// Open opens the journal in a file system, or makes one. It locks the directory, reads the manifest, finds the end of
// the segment written last and cuts an unfinished tail there, at the first bad byte, even if valid groups follow. What
// it keeps is safe on return.
//
// Damage below the highest position recorded as safe is a fault of every log with a gap there, and of every log that
// may have had its last batches there. Such logs are reported, refuse Write, Replay and Checkpoint, and stay so until
// they are dropped; the others go on.
//
// With an error the report says what was found until then: a tail that was cut may not be found again.
//
// Errors: vfs.ErrLocked when another broker uses the directory; an unknown format, in words; a damaged manifest or a
// missing file, in words and ErrDamaged; what the disk said.
func Open(fs vfs.FS, o Options) (*Journal, Report, error) {
	if err := o.fill(); err != nil {
		return nil, Report{}, err
	}
	j := newJournal(fs, o, int(min(bufferBytes, o.SegmentBytes)))
	j.manifestAllowance, j.checkpointAllowance = allowance{name: manifestAllowance},
		allowance{name: checkpointAllowance}
	var r Report
	if err := j.load(&r); err != nil {
		if errors.Is(err, vfs.ErrNotExist) {
			err = damagedError{fmt.Errorf("a file that the manifest names is missing: %w", err)}
		}
		return nil, r, errors.Join(fmt.Errorf("journal: open: %w", err), j.release())
	}
	return j, r, nil
}

func (j *Journal) load(r *Report) error {
	err := j.fs.Mkdir(j.o.Dir)
	if err != nil {
		return err
	}
	if j.lock, err = j.fs.Lock(j.o.Dir); err != nil {
		return err
	}
	if err := j.loadManifest(r); err != nil {
		return fmt.Errorf("%s: %w", manifestName, err)
	}
	if err := j.checkNames(); err != nil {
		return err
	}
	if err := j.fs.SyncDir(j.o.Dir); err != nil { // a run that ended in between may have left the manifest in sight, and not safe
		return err
	}
	j.weighStates()
	if err := j.sweep(); err != nil {
		return err
	}
	if err := j.loadLogs(r); err != nil {
		return err
	}
	if err := j.settleUnended(); err != nil {
		return err
	}
	return j.trim()
}

// loadLogs learns from the segments what there is of each log.
func (j *Journal) loadLogs(r *Report) error {
	if err := j.findEnds(); err != nil {
		return err
	}
	if err := j.loadSegments(false, r); err != nil {
		return err
	}
	j.settleFindings()
	j.suspect(r)
	if err := j.loadSegments(true, r); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(j.logs)) {
		l := j.logs[id]
		l.safe = max(l.checkpoint.at, l.reached)
		if n := len(l.spans); n > 0 {
			l.safe = max(l.safe, l.spans[n-1].Last())
		}
		l.next = l.safe + 1
		if l.fault != nil {
			r.Faults = append(r.Faults, *l.fault)
		}
	}
	return nil
}

// loadManifest reads the manifest, or makes the first one.
func (j *Journal) loadManifest(r *Report) error {
	p, err := j.readFile(manifestName)
	if errors.Is(err, vfs.ErrNotExist) {
		names, err := j.fs.List(j.o.Dir)
		if err != nil {
			return err
		}
		if err := unfinished(names); err != nil {
			return err
		}
		if i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, ".segment") }); i >= 0 {
			return damagedError{fmt.Errorf("missing, but there is %s: the copy is incomplete (make another one) or damaged", names[i])}
		}
		r.Created = true
		j.unopened = j.o.SegmentBytes > firstBytes
		return j.writeManifest()
	}
	if err != nil {
		return err
	}
	if err := j.decodeManifest(p); err != nil && !errors.Is(err, errFormat) {
		return damagedError{err}
	} else if err != nil {
		return err
	}
	j.manifestBytes = int64(len(p))
	return nil
}

// sweep removes what the manifest does not name, and the mark of a copy, which is complete: there is a manifest. If a
// checkpoint is missing nothing is removed: it may be there under another name.
func (j *Journal) sweep() error {
	unnamed, err := j.unnamed()
	if err != nil {
		return err
	}
	names, err := j.fs.List(j.o.Dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(j.checkpoints(), func(l *logState) bool { return !slices.Contains(names, l.checkpoint.name()) }) {
		for _, n := range unnamed { // what stays keeps its name
			if number, ok := segment.FileNumber(n); ok {
				j.nextFile = max(j.nextFile, number+1)
			}
		}
		return nil
	}
	for _, n := range unnamed {
		if kept, err := j.keepStray(n); kept || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if kept, err := j.keepSpare(n); kept || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := j.fs.Remove(j.path(n)); err != nil {
			return err
		}
	}
	return nil
}

// keepSpare makes a spare of a segment file that the manifest does not name: it was made since. Of space that is given
// up other processes may be quicker to make use.
func (j *Journal) keepSpare(name string) (kept bool, err error) {
	number, ok := segment.FileNumber(name)
	_, most, _ := j.stocked()
	if !ok || !strings.HasSuffix(name, ".segment") || j.o.ReserveBytes < 0 || j.ready() >= most {
		return false, nil
	}
	f, err := j.fs.Open(j.path(name))
	if err != nil {
		return false, err
	}
	size, err := f.Size()
	if err = errors.Join(err, f.Close()); err != nil || size != j.o.SegmentBytes {
		return false, err
	}
	if err := j.keepWhole(name, size); err != nil {
		if errors.Is(err, vfs.ErrNoSpace) {
			err = nil
		}
		return false, err
	}
	j.spares = append(j.spares, spare{file: number, size: size})
	j.nextFile = max(j.nextFile, number+1)
	return true, nil
}

// strays lists what unnamed does, but for the mark of a copy, which says nothing where there is a manifest.
func (j *Journal) strays() ([]string, error) {
	names, err := j.unnamed()
	return slices.DeleteFunc(names, func(n string) bool { return n == unfinishedName }), err
}

// unnamed lists the files that the manifest does not name: those of unfinished steps, and of finished ones whose last
// call failed. Spares that are missing were given up for the manifest's own sake.
func (j *Journal) unnamed() (strays []string, err error) {
	names, err := j.fs.List(j.o.Dir)
	if err != nil {
		return nil, err
	}
	if err := j.findAllowances(names); err != nil {
		return nil, err
	}
	j.spares = slices.DeleteFunc(j.spares, func(s spare) bool { return !slices.Contains(names, s.name()) })
	named := map[string]bool{}
	for _, s := range j.segments {
		named[s.Name()] = true
	}
	for _, s := range j.spares {
		named[s.name()] = true
	}
	for _, l := range j.checkpoints() {
		named[l.checkpoint.name()] = true
	}
	for _, n := range names {
		ours := strings.HasSuffix(n, ".segment") || strings.HasSuffix(n, ".checkpoint") || n == manifestTemp || n == unfinishedName
		if ours && !named[n] {
			strays = append(strays, n)
		}
	}
	return strays, nil
}

// loadSegments learns what batches there are. Those of rewritten segments come last: they lie among the others', below
// the checkpoints, where nobody counts them.
func (j *Journal) loadSegments(rewritten bool, r *Report) error {
	for _, s := range j.segments {
		if s.Rewritten != rewritten {
			continue
		}
		if err := j.loadSegment(s, r); err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
		if rewritten {
			j.insert(s)
		}
	}
	return nil
}

// loadSegment learns what batches s holds: from its table, or by reading all of it.
func (j *Journal) loadSegment(s *segmentState, r *Report) (err error) {
	if s.Disk == nil {
		if s.Disk, err = j.fs.Open(j.path(s.Name())); err != nil {
			return err
		}
	}
	if s.Table.At != 0 {
		err := s.ReadDirectory()
		if err == nil {
			for _, sp := range s.Spans {
				if !s.Rewritten {
					j.join(sp, 0)
				}
			}
			return nil
		}
		if !errors.Is(err, segment.ErrTable) {
			return err
		}
		s.Table, s.Spans, s.Batches = segment.TableAt{}, nil, 0 // what it said can be learnt from the groups
	}
	return j.scan(s, r)
}

// join adds a span to its log, and notes a fault if batches are missing before it.
func (j *Journal) join(sp *segment.Span, at int64) {
	if j.dropped[sp.Log] {
		return
	}
	l := j.log(sp.Log)
	if sp.Log.IsPages() {
		j.joinPages(l, sp, at)
		return
	}
	if n := len(l.spans); j.rebuilt && n > 0 && sp.First <= l.spans[n-1].Last() {
		j.cutFrom(l, sp.First, func(in *segment.File) { in.VoidFrom(l.id, sp.First) }) // as the manifest would say
	}
	expected, gap := l.checkpoint.at+1, false
	if n := len(l.spans); n > 0 {
		before := l.spans[n-1]
		expected = before.Last() + 1
		// a segment is reclaimed whole: in one, nothing goes missing
		gap = sp.First < expected || sp.First > expected && before.Seg == sp.Seg
		if !gap {
			expected = max(expected, l.checkpoint.at+1)
		}
	}
	if gap || sp.First > expected {
		missing := uint64(0)
		what := fmt.Sprintf("batch %d follows batch %d", sp.First, expected-1)
		if sp.First > expected {
			missing = uint64(sp.First - expected)
			what = fmt.Sprintf("batches %d to %d are missing", expected, sp.First-1)
		}
		l.found = append(l.found, finding{sp.First, j.faultOf(l, sp.Seg, at, what), missing})
	}
	l.spans = append(l.spans, sp)
}

// A finding is what is wrong at a batch, unless a later one cuts it.
type finding struct {
	at      storage.Index
	fault   *Fault
	missing uint64 // batches before it
}

// settleFindings makes the first finding of each log its fault, once all batches are known that may cut.
func (j *Journal) settleFindings() {
	for _, l := range j.logs {
		for _, f := range l.found {
			if j.explained += f.missing; l.fault == nil {
				l.fault = f.fault
			}
		}
		l.found = nil
	}
}

// joinPages adds a span to a log of pages, of which segments are given back one by one: who misses a page finds out
// when he reads it.
func (j *Journal) joinPages(l *logState, sp *segment.Span, at int64) {
	if n := len(l.spans); n > 0 {
		switch before := l.spans[n-1]; {
		case sp.First <= before.Last():
			j.blame(l, sp.Seg, at, fmt.Sprintf("batch %d follows batch %d", sp.First, before.Last()))
		case before.Seg == sp.Seg:
			j.explained += uint64(sp.First - before.Last() - 1)
		}
	}
	l.spans = append(l.spans, sp)
}

// blame notes a fault of l; the first one counts. Known damage is named rather than the place where it shows.
func (j *Journal) blame(l *logState, s *segment.File, at int64, what string) {
	if l.fault == nil {
		l.fault = j.faultOf(l, s, at, what)
	}
}

// faultOf is the fault that blame notes.
func (j *Journal) faultOf(l *logState, s *segment.File, at int64, what string) *Fault {
	if j.damage != nil {
		return &Fault{Log: l.id, File: j.damage.File, Offset: j.damage.Offset, What: what}
	}
	return s.Fault(l.id, at, what)
}

// suspect blames, if damage swallowed batches that no gap accounts for, every log that has no batch behind it: its last
// ones may have been there. A log of pages goes on far behind what it may have had, so that who names a lost page does
// not find another one.
func (j *Journal) suspect(r *Report) {
	if !j.mayMissBatches() {
		return
	}
	r.Unnamed = j.damage
	j.pagesFrom += pagesSkipped
	for _, id := range slices.Sorted(maps.Keys(j.logs)) {
		l := j.logs[id]
		n := len(l.spans)
		if n > 0 && endsBehind(l.spans[n-1], j.damagedAt) {
			continue
		}
		if !id.IsPages() {
			j.blame(l, nil, 0, j.damage.What)
			l.doubted = true
			continue
		}
		if n > 0 {
			l.reached = max(l.reached, l.spans[n-1].Last())
		}
		l.reached += pagesSkipped
	}
}

// mayMissBatches reports whether damage swallowed batches that no gap accounts for.
func (j *Journal) mayMissBatches() bool { return j.damage != nil && j.swallowed > j.explained }

// pagesSkipped is more than damage can have swallowed of a log of pages.
const pagesSkipped = 1 << 32

// position is a place in the journal as a whole.
type position struct {
	segment uint64 // id
	at      int64
}

// endsBehind reports whether the last batch of s is behind p.
func endsBehind(s *segment.Span, p position) bool {
	if s.Seg.ID != p.segment {
		return s.Seg.ID > p.segment
	}
	return int64(s.Entries[len(s.Entries)-1].Pos) > p.at
}

// findEnds looks at the segments of which the manifest gives no end: they were being written, or named ahead, when the
// run before ended. A group in one of them tells where the one before it ended, and that all of that was safe.
func (j *Journal) findEnds() (err error) {
	var before *segmentState
	for _, s := range j.segments {
		if s.End != 0 {
			continue
		}
		j.unended = append(j.unended, s)
		if s.Disk, err = j.fs.Open(j.path(s.Name())); err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
		if before != nil && !j.rebuilt {
			sc := segment.Scanner{File: &s.File, Buf: j.buf}
			at, err := sc.Next(segment.HeaderBytes)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name(), err)
			}
			if at != 0 {
				before.End = sc.Head.Prior
			}
		}
		before = s
	}
	return nil
}

// settleUnended makes safe what was found in the segments that an earlier run left without an end, and records where
// they end. Those in which there is nothing become spares again. All others that have no table will get one.
func (j *Journal) settleUnended() error {
	for _, s := range j.unended {
		if err := s.Disk.Sync(); err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
		if len(s.Spans) > 0 || s.damaged {
			continue
		}
		if err := j.giveUp(s); err != nil {
			return err
		}
	}
	if err := j.resume(); err != nil {
		return err
	}
	for _, s := range j.segments {
		if s.Table.At == 0 && !s.damaged && s != j.open {
			j.full = append(j.full, s)
		}
	}
	if len(j.unended) == 0 {
		return nil
	}
	j.unended = nil
	if err := j.writeManifest(); err != nil && !errors.Is(err, ErrNoSpace) {
		return err
	}
	return nil // on a full disk the next Open finds the same ends again
}
