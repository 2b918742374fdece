package journal

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Sight is what Look finds beside the journal itself.
type Sight struct {
	Report
	Rebuilt bool     // there is no manifest to be trusted: what the files themselves say counts
	Renamed bool     // segments are in other files than the manifest names: they are taken from there
	Damage  []Damage // of the manifest and of tables; Verify finds the rest
	Strays  []string // files that the manifest does not name; the next start removes them
}

// Look opens a journal of which no broker makes use, for a check or a repair: it changes nothing on the disk, and goes
// on where Open refuses. A segment that is missing is taken for one of which every byte is lost, a sector that the disk
// refuses to read for zeros, and if the manifest cannot be used the files are asked themselves. What Open would cut is
// not there.
//
// Such a journal reads: ReadBatch, Read, LoadCheckpoint, Logs, Stats, and what is said to be for it alone. Mend changes
// it; everything else that would is refused with ErrLooking.
//
// Errors: vfs.ErrLocked when a broker uses the directory; vfs.ErrNotExist if there is no journal; a format that is
// newer than this version, or a backup that was broken off, in words; what the disk said.
func Look(fs vfs.FS, o Options) (*Journal, Sight, error) {
	if err := o.fill(); err != nil {
		return nil, Sight{}, err
	}
	lenient := newLenientFS(fs)
	j := newJournal(lenient, o, bufferBytes)
	j.lenient = lenient
	var seen Sight
	if err := j.look(&seen); err != nil {
		return nil, Sight{}, errors.Join(fmt.Errorf("journal: look: %w", err), j.release())
	}
	j.failed = ErrLooking
	return j, seen, nil
}

func (j *Journal) look(seen *Sight) error {
	names, err := j.fs.List(j.o.Dir)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(names, func(n string) bool { return n == manifestName || strings.HasSuffix(n, ".segment") }) {
		return fmt.Errorf("%s: %w: there is no journal", j.o.Dir, vfs.ErrNotExist)
	}
	if j.lock, err = j.fs.Lock(j.o.Dir); err != nil {
		return err
	}
	if err := j.lookAtManifest(seen); err != nil {
		return err
	}
	if seen.Strays, err = j.strays(); err != nil {
		return err
	}
	for _, n := range names { // Mend makes none that is there: an earlier one may have been cut off
		if number, ok := segment.FileNumber(n); ok {
			j.nextFile = max(j.nextFile, number+1)
		}
	}
	for _, s := range j.segments {
		if err := j.lookAtTable(s, seen); err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
	}
	if err := j.loadLogs(&seen.Report); err != nil || !seen.Rebuilt {
		return err
	}
	for _, l := range j.pageLogs() { // nobody knows how far they had come
		l.reached = l.safe + pagesSkipped
		l.next, l.unnamed = l.reached+1, 0
	}
	return nil
}

// lookAtManifest reads the manifest, or asks the files if that is not possible.
func (j *Journal) lookAtManifest(seen *Sight) error {
	p, err := j.readFile(manifestName)
	bad := Damage{Part: InManifest, File: manifestName, Bytes: int64(len(p))}
	switch {
	case errors.Is(err, vfs.ErrNotExist):
		names, err := j.fs.List(j.o.Dir)
		if err == nil {
			err = unfinished(names)
		}
		if err != nil {
			return err
		}
		bad.Part, bad.What = InFile, "the manifest is missing"
	case err != nil:
		return err
	default:
		err := j.decodeManifest(p)
		switch {
		case err == nil:
			return j.lookAtNames(seen)
		case errors.Is(err, errFormat):
			return fmt.Errorf("%s: %w", manifestName, err)
		}
		bad.What = err.Error()
	}
	seen.Damage = append(seen.Damage, bad)
	seen.Rebuilt = true
	return j.rebuild(seen)
}

// lookAtTable reads all of a segment's table. One that is damaged is forgotten: what it says can be learnt from the
// groups.
func (j *Journal) lookAtTable(s *segmentState, seen *Sight) (err error) {
	if s.Disk, err = j.fs.Open(j.path(s.Name())); err != nil || s.Table.At == 0 {
		return err
	}
	h := s.Shape()
	directory := h.Directory(int(s.Table.Spans), s.Table.Entries)
	if s.Table.Entries > uint64(s.Size) || directory > s.Size { // it was found out of nothing
		s.Table = segment.TableAt{}
		return nil
	}
	p := make([]byte, h.Bytes(int(s.Table.Spans), s.Table.Entries))
	n, err := s.Disk.ReadAt(p, s.Table.At)
	if err != nil && err != io.EOF {
		return err
	}
	bad := int64(-1)
	if int64(n) < directory || le.Uint32(p) != segment.Checksum(s.Seed, p[4:directory]) {
		bad = 0
	}
	for at := directory; bad < 0 && at < int64(len(p)); at += segment.PageBytes {
		end := at + segment.PageBytes
		if end > int64(n) || le.Uint32(p[at:]) != segment.Checksum(s.Seed, p[at+4:end]) {
			bad = at
		}
	}
	if bad < 0 {
		return nil
	}
	seen.Damage = append(seen.Damage, Damage{
		Part: InTable, File: s.Name(), Offset: s.Table.At + bad, Bytes: int64(len(p)) - bad,
		What: segment.ErrTable.Error(),
	})
	s.Table = segment.TableAt{}
	return nil
}

// ReadHoles returns the data of a batch with what is lost of it. Errors: ErrGone, also for a batch of which only pieces
// were kept, a *Fault if nothing of it can be read, or what the disk said. It is for a journal that Look has opened.
func (j *Journal) ReadHoles(log storage.LogID, index storage.Index) (data []byte, holes []Hole, err error) {
	sp, e, err := j.locate(log, index)
	if err != nil {
		return nil, nil, err
	}
	if sp.Seg.Rewritten {
		return nil, nil, fmt.Errorf("%w: log %d, index %d is only partly stored", ErrGone, log, index)
	}
	if data, holes, err = sp.Seg.DataWithHoles(e); err != nil {
		return nil, nil, err
	}
	if len(data) > 0 && len(holes) == 1 && holes[0] == (Hole{From: 0, To: len(data)}) {
		return nil, nil, sp.Seg.Fault(log, int64(e.Pos), fmt.Sprintf("batch %d is damaged", index))
	}
	return data, holes, nil
}

// DamagedCheckpoint returns what is in the file of a log's checkpoint, sound or not, and which batch it covers. Errors:
// ErrNoCheckpoint, vfs.ErrNotExist, or what the disk said. It is for a journal that Look has opened.
func (j *Journal) DamagedCheckpoint(log storage.LogID) (at storage.Index, state []byte, err error) {
	l := j.logs[log]
	if l == nil || l.checkpoint.file == 0 {
		return 0, nil, fmt.Errorf("%w: log %d", ErrNoCheckpoint, log)
	}
	p, err := j.readFile(l.checkpoint.name())
	if err != nil {
		return l.checkpoint.at, nil, err
	}
	if state, of, c, ok := cutLabel(p); ok && of == log && c.at == l.checkpoint.at {
		return c.at, state, nil
	}
	return l.checkpoint.at, p[:max(0, min(len(p), int(l.checkpoint.size)-labelBytes))], nil
}

// First returns the first batch of log that the journal has whole, zero if there is none.
func (j *Journal) First(log storage.LogID) storage.Index {
	if l := j.logs[log]; l != nil {
		for _, sp := range l.spans {
			if !sp.Seg.Rewritten {
				return sp.First
			}
		}
	}
	return 0
}

// SegmentStat describes a segment.
type SegmentStat struct {
	File        string
	Bytes, Used int64 // of the file; up to the end of what was written
	Batches     uint64
	Rewritten   bool
	Holds       []Range
}

// Segments describes the segments in order.
func (j *Journal) Segments() []SegmentStat {
	var all []SegmentStat
	for _, s := range j.segments {
		st := SegmentStat{File: s.Name(), Bytes: s.Size, Used: s.End, Batches: s.Batches, Rewritten: s.Rewritten}
		for _, sp := range s.Spans {
			st.Holds = append(st.Holds, Range{sp.Log, sp.First, sp.Last()})
		}
		all = append(all, st)
	}
	return all
}

// Dropped lists the logs that were dropped and of which segments may still hold batches.
func (j *Journal) Dropped() []storage.LogID { return j.droppedLogs() }
