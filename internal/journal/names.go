package journal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal/segment"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// A segment's file says which segment it is. Where the manifest expects another one in the file, somebody has renamed
// files: all is there, but under wrong names.

// misnamed finds the segments that are in other files than those that the manifest names, and the numbers of those
// files.
func (j *Journal) misnamed() (map[*segmentState]uint64, error) {
	var absent []*segmentState
	for _, s := range j.segments {
		h, err := j.headerOf(s.Number)
		if err != nil && !errors.Is(err, vfs.ErrNotExist) {
			return nil, err
		}
		if !h.Names(&s.File) {
			absent = append(absent, s)
		}
	}
	if absent == nil {
		return nil, nil
	}
	names, err := j.fs.List(j.o.Dir)
	if err != nil {
		return nil, err
	}
	found := map[*segmentState]uint64{}
	for _, name := range names {
		number, ok := segment.FileNumber(name)
		if !ok || !strings.HasSuffix(name, ".segment") {
			continue
		}
		h, err := j.headerOf(number)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(absent, func(s *segmentState) bool { return h.Names(&s.File) }); i >= 0 {
			found[absent[i]] = number
		}
	}
	return found, nil
}

// headerOf reads the header of a segment's file; nil if it is damaged.
func (j *Journal) headerOf(number uint64) (*segment.Header, error) {
	f, err := j.fs.Open(j.path(segment.FileName(number, "segment")))
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return segment.ReadHeader(f)
}

// inOrder lists misnamed segments by their ids.
func inOrder(found map[*segmentState]uint64) []*segmentState {
	return slices.SortedFunc(maps.Keys(found), func(a, b *segmentState) int { return cmp.Compare(a.ID, b.ID) })
}

func misnamedText(s *segmentState, file uint64) string {
	return fmt.Sprintf("segment %d is in %s but belongs in %s: files were renamed", s.ID, segment.FileName(file, "segment"), s.Name())
}

// checkNames refuses a journal of which files were renamed, before anything in it is changed.
func (j *Journal) checkNames() error {
	found, err := j.misnamed()
	if err != nil {
		return err
	}
	for _, s := range inOrder(found) {
		return damagedError{errors.New(misnamedText(s, found[s]))}
	}
	return nil
}

// lookAtNames takes segments from the files in which they are.
func (j *Journal) lookAtNames(seen *Sight) error {
	found, err := j.misnamed()
	if err != nil {
		return err
	}
	for _, s := range inOrder(found) {
		seen.Renamed = true
		seen.Damage = append(seen.Damage, Damage{Part: InManifest, File: manifestName, What: misnamedText(s, found[s])})
	}
	for s, file := range found {
		s.Number = file
		j.spares = slices.DeleteFunc(j.spares, func(x spare) bool { return x.file == file })
	}
	return nil
}
