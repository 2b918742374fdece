package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// aheadMost is how many segments are named ahead of need: when the open one is full, the next group goes on in the next
// without a manifest. Two, because one may fill during other maintenance.
const aheadMost = 2

// name makes the smallest spare that takes n bytes, of which there must be one, the last of the segments ahead: its
// header is synced, then the manifest names it. ErrNoSpace: nothing has changed.
func (j *Journal) name(n int64) error {
	sp := j.takeSpare(n)
	s := &segment{id: j.nextID, file: sp.file, nonce: mix(j.o.Entropy + j.nextID), size: sp.size, end: segmentHeaderBytes}
	s.seed, s.bare = seedOf(s.nonce), sp.bare()
	j.nextID++
	if err := j.onDisk(func() error { return j.begin(s) }); err != nil {
		if s.f != nil {
			s.f.Close()
		}
		j.spares = append(j.spares, sp) // to be tried again after the others: on a full disk there may not be another
		return noSpace(err)
	}
	if err := j.writeManifest(s); err != nil {
		s.f.Close()
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

// begin opens the file of s and writes its header.
func (j *Journal) begin(s *segment) (err error) {
	if s.f, err = j.fs.Open(j.path(s.name())); err != nil {
		return err
	}
	header := vfs.Aligned(segmentHeaderBytes)
	putSegmentHeader(header, s)
	if _, err = s.f.WriteAt(header, 0); err != nil {
		return err
	}
	return s.f.Sync()
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
		s.f.Close()
		sp := s.spare()
		sp.named = false // that manifest is on the disk
		j.spares = append(j.spares, sp)
	}
	return nil
}

// spare is the file of s, in which nothing counts.
func (s *segment) spare() spare {
	sp := spare{file: s.file, size: s.size, nonce: s.nonce, named: true}
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
		s.latest = nil
		j.full = append(j.full, s)
		next.prior = s.end
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
	var t tableAt
	err := j.onDisk(func() (err error) {
		if t, err = s.writeTable(); err == nil {
			err = s.f.Sync()
		}
		return err
	})
	j.full = slices.DeleteFunc(j.full, func(f *segment) bool { return f == s })
	if err != nil {
		s.distrusted = true
		return fmt.Errorf("journal: table of %s: %w", s.name(), err)
	}
	j.written.Tables += s.shape().bytes(int(t.spans), t.entries)
	s.table = t
	for _, sp := range s.spans {
		sp.entries, sp.indexes = nil, nil
	}
	return nil
}

// closeAll closes all that was written, in the manifest, too, unless there is no room for that.
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
		s.f.Close()
		j.spares = append(j.spares, s.spare())
	}
	j.ahead = nil
	if err := j.writeManifest(); !errors.Is(err, ErrNoSpace) {
		return err
	}
	return nil // the next Open finds the same ends
}
