package repair

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// Repair makes a sound directory of one that is damaged, keeping what is damaged aside, and checks it again. Of one
// that is sound it changes nothing. Entropy is 64 fresh random bits.
//
// Errors are those of Check, and what kept the disk from taking what is new, ErrNoSpace among them: then the directory
// is what it was, but for what was put aside.
func Repair(fs vfs.FS, entropy uint64) (*Report, error) {
	d, err := diagnose(fs, entropy)
	if err != nil {
		return nil, err
	}
	before := d.report
	if before.State == Sound {
		return before, d.j.Close()
	}
	mend, err := d.prescribe()
	if err != nil {
		return nil, errors.Join(err, d.j.Close())
	}
	aside, err := d.putAside()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copying the damaged files: %w", err), d.j.Close())
	}
	if err := errors.Join(d.j.Mend(mend), d.j.Close()); err != nil {
		return nil, err
	}
	after, err := Check(fs)
	if err != nil {
		return nil, fmt.Errorf("after the repair: %w", err)
	}
	after.Before, after.Aside, after.Steps = before, aside, before.Steps
	if after.State == Sound {
		after.State = Repaired
	}
	return after, nil
}

// plan says what a repair does.
func (d *diagnosis) plan() {
	step := func(format string, args ...any) {
		d.report.Steps = append(d.report.Steps, fmt.Sprintf(format, args...))
	}
	step("copy the damaged files and the manifest to a directory %s1, or the next free number", asidePart)
	if d.seen.Rebuilt {
		step("write a new manifest from the contents of the files")
	}
	if d.people.hurt {
		step("write a new checkpoint of users and virtual hosts, with the readable ones")
	}
	for _, p := range d.vhosts {
		switch {
		case !p.hurt:
		case len(p.salvage.DataLosses()) == 0:
			step("write a new checkpoint of virtual host %q, which has lost nothing", p.name)
		default:
			step("write a new checkpoint of virtual host %q, without the lost data (%d)", p.name, len(p.salvage.DataLosses()))
		}
	}
	for _, s := range d.j.Segments() {
		if slices.ContainsFunc(d.damage, func(x journal.Damage) bool { return x.File == s.File }) {
			step("copy the needed data of %s into new files, and remove it", path.Join(journalDir, s.File))
		}
	}
}

// prescribe says what is to become of the journal.
func (d *diagnosis) prescribe() (journal.Mend, error) {
	var m journal.Mend
	m.Drop = d.orphans
	if d.people.hurt {
		m.Checkpoints = append(m.Checkpoints, journal.State{Log: ownLog, At: d.j.Next(ownLog) - 1, Pieces: [][]byte{d.people.machine.Snapshot(nil)}})
	}
	spans := d.damagedSpans()
	for _, p := range d.vhosts {
		if !p.hurt {
			m.Keep = append(m.Keep, p.salvage.Marks(spans)...)
			continue
		}
		at := d.j.Next(p.log) - 1
		pages := &newPages{log: p.log.Pages(), first: d.j.Next(p.log.Pages())}
		v, err := p.salvage.Rebuild(at, pages)
		if err != nil {
			return m, err
		}
		v.BeginCheckpoint(at)
		for v.SaveCheckpoint(1 << 16) {
		}
		m.Checkpoints = append(m.Checkpoints,
			journal.State{Log: p.log, At: at, Pieces: v.EndCheckpoint()})
		m.Pages = append(m.Pages, pages.batches...)
		v.CheckpointStored(true)
		v.Mark(spans)
		for v.MarkSome(1 << 16) {
		}
		m.Keep = append(m.Keep, v.Marked()...)
	}
	slices.SortFunc(m.Keep, func(a, b storage.Ref) int {
		return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Offset, b.Offset))
	})
	return m, nil
}

// damagedSpans lists the batches that the damaged segments hold.
func (d *diagnosis) damagedSpans() []storage.Span {
	var spans []storage.Span
	for _, s := range d.j.Segments() {
		if !slices.ContainsFunc(d.damage, func(x journal.Damage) bool { return x.File == s.File }) {
			continue
		}
		for _, r := range s.Holds {
			spans = append(spans, storage.Span(r))
		}
	}
	return spans
}
