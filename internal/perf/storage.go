package perf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"
)

const (
	// sparedBytes is what Bartleby may occupy beside its share of the live bytes: four segments of 64 MiB.
	sparedBytes = 4 * 64 << 20

	// A broker rests when for restPeriod its directory is as large as before and it writes less than restBytes.
	restPeriod = 25 * time.Second // Bartleby makes a checkpoint up to 20 s after the one before, and begins then
	restBytes  = 1 << 20
)

// Storage is what the broker occupies at one instant, and what it wrote since the look before.
type Storage struct {
	Phase     string  `json:"phase"`
	Seconds   float64 `json:"seconds"` // since the run began
	Directory float64 `json:"directory_mib"`
	Live      float64 `json:"live_mib"` // bodies of the messages that are published and not settled
	Written   float64 `json:"written_mib"`
	Published float64 `json:"published_per_second"`
}

func (s *Storage) print(w io.Writer) {
	fmt.Fprintf(w, "  %s\t%.1f s\tdirectory %.0f MiB\tlive %.0f MiB\tfactor %.2f\twrote %.0f MiB\tpublished %.0f/s\n",
		s.Phase, s.Seconds, s.Directory, s.Live, ratio(s.Directory, s.Live), s.Written, s.Published)
}

// beyond returns the directory's size per live octet, not counting what is spared.
func (s *Storage) beyond() float64 {
	return ratio(max(0, s.Directory-mebibytes(sparedBytes)), s.Live)
}

// watch looks at the broker's directory and process from time to time.
type watch struct {
	r    *run
	rows []Storage
	last sample
}

// look adds a row.
func (w *watch) look(phase string) error {
	at, err := w.r.sample(w.r.consumers)
	if err != nil {
		return err
	}
	directory, err := occupies(w.r.o.data)
	if err != nil {
		return err
	}
	w.rows = append(w.rows, Storage{
		Phase: phase, Seconds: float64(at.at) / 1e9,
		Directory: mebibytes(directory), Live: mebibytes(int64(w.r.backlog.held()) * int64(w.r.o.size)),
		Written:   mebibytes(at.broker.written - w.last.broker.written),
		Published: ratio(float64(at.published-w.last.published), float64(at.at-w.last.at)/1e9),
	})
	w.last = at
	return nil
}

// during looks again and again for a time, and at its end.
func (w *watch) during(phase string, d time.Duration) error {
	for end := now() + int64(d); ; {
		left := time.Duration(end - now())
		if left <= 0 {
			return nil
		}
		if err := w.r.wait(min(left, w.r.o.sample)); err != nil {
			return err
		}
		if err := w.look(phase); err != nil {
			return err
		}
	}
}

// rest looks until the broker rests, but no longer than -calm.
func (w *watch) rest() error {
	quiet := time.Duration(0)
	for end := now() + int64(w.r.o.calm); now() < end && quiet < restPeriod; {
		before := w.rows[len(w.rows)-1]
		if err := w.during("rest", w.r.o.sample); err != nil {
			return err
		}
		after := w.rows[len(w.rows)-1]
		if after.Directory == before.Directory && after.Written < mebibytes(restBytes) {
			quiet += w.r.o.sample
		} else {
			quiet = 0
		}
	}
	return nil
}

// occupies returns how many octets of its disk a directory takes; 0 if it has no name.
func occupies(directory string) (n int64, err error) {
	if directory == "" {
		return 0, nil
	}
	err = filepath.WalkDir(directory, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				n += allocated(info)
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // the broker has just removed it
			return nil
		}
		return err
	})
	return n, err
}
