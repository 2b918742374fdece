package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// aheadMost is how many segments are named ahead of need: when the open one is full, the next group goes on in the next
// without a manifest. Two, because one may fill during other maintenance.
const aheadMost = 2

// name makes the smallest spare that takes n bytes, of which there must be one, the last of the segments ahead: its
// header is synced, then the manifest names it. ErrNoSpace: nothing has changed.
func (j *Journal) name(n int64) error {
	sp := j.takeSpare(n)
	s := &segmentState{File: segment.File{
		ID: j.nextID, Number: sp.file, Nonce: mix(j.o.Entropy + j.nextID), Size: sp.size, End: segment.HeaderBytes,
	}}
	s.Seed, s.bare = segment.SeedOf(s.Nonce), sp.bare()
	j.nextID++
	if err := j.onDisk(func() error { return j.begin(s) }); err != nil {
		if s.Disk != nil {
			s.Disk.Close()
		}
		j.spares = append(j.spares, sp) // to be tried again after the others: on a full disk there may not be another
		return noSpace(err)
	}
	if err := j.writeManifest(s); err != nil {
		s.Disk.Close()
		sp.named = true
		j.spares = append(j.spares, sp)
		return err
	}
	if s.bare {
		j.removed = max(j.removed-1, 0)
	}
	j.ahead = append(j.ahead, s)
	return nil
}

// begin opens the file of s and writes its header. A file that something else has cut short first gets back its size:
// after a kill, a file that is shorter than the manifest says is damage.
func (j *Journal) begin(s *segmentState) (err error) {
	if s.Disk, err = j.fs.Open(j.path(s.Name())); err != nil {
		return err
	}
	size, err := s.Disk.Size()
	if err != nil {
		return err
	}
	if size < s.Size {
		if err = s.Disk.Allocate(size, s.Size-size); err != nil {
			return err
		}
	}
	header := vfs.Aligned(segment.HeaderBytes)
	segment.PutHeader(header, &s.File)
	if _, err = s.Disk.WriteAt(header, 0); err != nil {
		return err
	}
	return s.Disk.Sync()
}

// unname makes the segments ahead spares again, but for those that a Write underway goes on in: something larger has to
// come before them, or they are needed for something else.
func (j *Journal) unname() error {
	n := min(j.needed, len(j.ahead))
	ahead := j.ahead[n:]
	j.ahead = j.ahead[:n:n]
	if err := j.writeManifest(); err != nil {
		j.ahead = append(j.ahead, ahead...)
		return err
	}
	for _, s := range ahead {
		s.Disk.Close()
		sp := s.spare()
		sp.named = false // that manifest is on the disk
		j.spares = append(j.spares, sp)
	}
	return nil
}

// spare is the file of s, in which nothing counts.
func (s *segmentState) spare() spare {
	sp := spare{file: s.Number, size: s.Size, nonce: s.Nonce, named: true}
	if s.bare {
		sp.nonce = 0
	}
	return sp
}

// roll goes on in the next segment ahead. All of the open one is safe.
func (j *Journal) roll() {
	next := j.ahead[0]
	j.needed = max(j.needed-1, 0)
	if s := j.open; s != nil {
		s.Latest = nil
		j.full = append(j.full, s)
		next.prior = s.End
	}
	j.ahead = slices.Delete(j.ahead, 0, 1)
	j.segments = append(j.segments, next)
	sortSegments(j.segments)
	j.open = next
}

// closeOut gives the first of the full segments its table. One that cannot have it stays as it is: what is in it is
// safe, and known from its groups.
func (j *Journal) closeOut() error {
	s := j.full[0]
	spans := s.Spans
	var t segment.TableAt
	err := j.onDisk(func() (err error) {
		if t, err = s.WriteTable(spans); err == nil {
			err = s.Disk.Sync()
		}
		return err
	})
	j.full = slices.DeleteFunc(j.full, func(f *segmentState) bool { return f == s })
	if err != nil {
		s.distrusted = true
		return fmt.Errorf("journal: table of %s: %w", s.Name(), err)
	}
	j.written.Tables += s.Shape().Bytes(int(t.Spans), t.Entries)
	s.Table = t
	s.placed(spans)
	return nil
}

// closeAll closes all that was written, in the manifest, too, unless there is no space for that.
func (j *Journal) closeAll() error {
	if s := j.open; s != nil {
		j.full, j.open = append(j.full, s), nil
	}
	if len(j.full) == 0 && len(j.ahead) == 0 {
		return nil
	}
	for len(j.full) > 0 {
		if err := j.closeOut(); err != nil {
			return err
		}
	}
	for _, s := range j.ahead {
		s.Disk.Close()
		j.spares = append(j.spares, s.spare())
	}
	j.ahead = nil
	if err := j.writeManifest(); !errors.Is(err, ErrNoSpace) {
		return err
	}
	return nil // the next Open finds the same ends
}
