package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// A manifest and a checkpoint must be written for space to be given back: on a full disk they take blocks that are kept
// for them. An allowance is a file of such blocks, named beside what it is for, and of no meaning.
type allowance struct {
	name string
	size int64 // 0: there is none
}

const (
	manifestAllowance   = "manifest.room"
	checkpointAllowance = "checkpoint.room"
	allowanceBytes      = 16 << 10 // beyond what there is now
)

// lacksAllowance reports whether the next manifest, or the next checkpoint, may need more than its allowance.
func (j *Journal) lacksAllowance() bool {
	return j.manifestAllowance.size < j.manifestBytes+manifestSegment ||
		j.checkpointAllowance.size < segment.RoundUp(j.largestCheckpoint, vfs.BlockBytes)
}

// missingAllowance tells which allowance is missing, or too small, and what size it should have; nil: none.
func (j *Journal) missingAllowance() (a *allowance, size int64) {
	largest := j.largestCheckpoint
	switch {
	case j.o.ReserveBytes < 0 || j.allowanceRefused:
	case j.manifestAllowance.size < j.manifestBytes+vfs.BlockBytes:
		return &j.manifestAllowance, segment.RoundUp(2*j.manifestBytes+allowanceBytes, vfs.BlockBytes)
	case j.checkpointAllowance.size < largest+max(largest/4, vfs.BlockBytes):
		return &j.checkpointAllowance, segment.RoundUp(2*largest+allowanceBytes, vfs.BlockBytes)
	}
	return nil, 0
}

// makeAllowances makes an allowance as large as it should be. What there is of it stays if there is no space for more.
func (j *Journal) makeAllowances() error {
	a, size := j.missingAllowance()
	err := j.onDisk(func() error {
		f, err := j.fs.Create(j.path(a.name))
		if errors.Is(err, vfs.ErrExist) {
			f, err = j.fs.Open(j.path(a.name))
		}
		if err != nil {
			return err
		}
		return j.allocate(f, size)
	})
	if err != nil {
		j.allowanceRefused = true // until something is given back
		return noSpace(err)
	}
	a.size = size
	return nil
}

// findAllowances notes those that an earlier run has left.
func (j *Journal) findAllowances(names []string) error {
	for _, a := range []*allowance{&j.manifestAllowance, &j.checkpointAllowance} {
		if !slices.Contains(names, a.name) {
			continue
		}
		f, err := j.fs.Open(j.path(a.name))
		if err != nil {
			return err
		}
		size, err := f.Size()
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		a.size = segment.RoundUp(size, vfs.BlockBytes)
	}
	return nil
}

// keepStray makes an allowance that is missing of a file that a crash has left of it.
func (j *Journal) keepStray(name string) (kept bool, err error) {
	a := &j.checkpointAllowance
	switch {
	case name == manifestTemp:
		a = &j.manifestAllowance
	case !strings.HasSuffix(name, ".checkpoint"):
		return false, nil
	}
	if a.size > 0 || j.o.ReserveBytes < 0 {
		return false, nil
	}
	if err := j.fs.Rename(j.path(name), j.path(a.name)); err != nil {
		return false, err
	}
	return true, j.findAllowances([]string{a.name})
}

// writeWithAllowance writes a small file that must be written for anything to be given back. Where
// the disk has no space for it, it takes the place of its allowance, or else of a spare segment,
// down to least spares: the file itself, for of space that is given up other processes may be
// quicker to make use. took tells that it did.
func (j *Journal) writeWithAllowance(name string, a *allowance, least int,
	write func(name string, space int64) error) (took bool, err error) {
	err = write(name, 0)
	allowed := int64(0)
	if errors.Is(err, vfs.ErrNoSpace) && a.size > 0 {
		allowed, a.size = a.size, 0
		if again := j.onDisk(func() error { return j.fs.Rename(j.path(a.name), j.path(name)) }); again != nil {
			return false, again
		}
		took, err = true, write(name, allowed)
	}
	for first := true; errors.Is(err, vfs.ErrNoSpace); first = false {
		j.stopFilling()
		i := slices.IndexFunc(j.spares, func(s spare) bool { return !s.named && !j.isLeased(s.name()) })
		if i < 0 || len(j.spares) <= least {
			if first && allowed > 0 && j.onDisk(func() error { return j.fs.Rename(j.path(name), j.path(a.name)) }) == nil {
				a.size = allowed // it stays what it was
			}
			return false, fmt.Errorf("%w: %w", ErrNoSpace, err)
		}
		sp := j.spares[i]
		j.spares = slices.Delete(j.spares, i, i+1)
		if !first { // it is larger than the spare whose place it took
			j.discard(sp.name())
		} else if again := j.onDisk(func() error { return j.inPlaceOf(sp, name) }); again != nil {
			j.discard(sp.name())
			return false, again
		}
		took, err = true, write(name, sp.size)
	}
	return took, err
}

// inPlaceOf gives the file of a spare another name, durably: after a crash the manifest must not find a spare of
// another size than it had. A part of the new file that was written before goes.
func (j *Journal) inPlaceOf(sp spare, name string) error {
	if err := j.fs.Rename(j.path(sp.name()), j.path(name)); err != nil {
		return err
	}
	return j.fs.SyncDir(j.o.Dir)
}

// keepAllowance makes the allowance for the next checkpoint of one that no manifest names any more,
// or none yet, if there is no allowance, or a smaller one: that goes. What was written in the place
// of a spare must not be given up for less: on a full disk the next one would take a spare again.
func (j *Journal) keepAllowance(old checkpoint) {
	a, size := &j.checkpointAllowance, segment.RoundUp(old.size, vfs.BlockBytes)
	if a.size < size && j.o.ReserveBytes >= 0 && !j.isLeased(old.name()) &&
		j.onDisk(func() error { return j.fs.Rename(j.path(old.name()), j.path(a.name)) }) == nil {
		a.size = size
		return
	}
	j.discard(old.name())
}
