package journal

import (
	"errors"
	"slices"
)

// trim makes spares of another Open, which are larger than a segment is now, as large as one: on a small disk the rest
// is sorely missed. The manifest forgets them meanwhile; after a crash they are removed. Without space for a manifest
// all stays as it is.
func (j *Journal) trim() error {
	larger := func(s spare) bool { return s.size > j.o.SegmentBytes }
	if !slices.ContainsFunc(j.spares, larger) {
		return nil
	}
	before := j.spares
	j.spares = slices.DeleteFunc(slices.Clone(before), larger)
	if err := j.writeManifest(); err != nil {
		j.spares = before
		return ignoreNoSpace(err)
	}
	for _, s := range before {
		if !larger(s) {
			continue
		}
		if err := j.shorten(s.name()); err != nil {
			j.discard(s.name())
			continue
		}
		j.spares = append(j.spares, spare{file: s.file, size: j.o.SegmentBytes, nonce: s.nonce})
	}
	return ignoreNoSpace(j.writeManifest())
}

// shorten makes a file as large as a segment.
func (j *Journal) shorten(name string) error {
	f, err := j.fs.Open(j.path(name))
	if err != nil {
		return err
	}
	if err := f.Truncate(j.o.SegmentBytes); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// ignoreNoSpace takes ErrNoSpace for no error: nothing has changed then.
func ignoreNoSpace(err error) error {
	if errors.Is(err, ErrNoSpace) {
		return nil
	}
	return err
}
