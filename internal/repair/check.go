package repair

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	journalDir = "journal"
	spillDir   = "spill"
	asidePart  = "damaged-" // of the name of a directory that a repair has made
)

// Check reads a data directory that no broker uses, all of it, and changes nothing.
//
// Errors say why it could not look: vfs.ErrLocked if a broker uses it, vfs.ErrNotExist if there is no journal, a format
// of a later version, or what the disk said.
func Check(fs vfs.FS) (*Report, error) {
	d, err := diagnose(fs, 0)
	if err != nil {
		return nil, err
	}
	return d.report, d.j.Close()
}

// diagnosis is what is known of a directory.
type diagnosis struct {
	fs      vfs.FS
	j       *journal.Journal
	seen    journal.Sight
	damage  []journal.Damage
	people  *people
	vhosts  []*patient
	orphans []storage.LogID // of which nobody is the owner
	report  *Report
}

// diagnose finds out all that there is to know. The journal stays open.
func diagnose(fs vfs.FS, entropy uint64) (d *diagnosis, err error) {
	d = &diagnosis{fs: fs, report: &Report{State: Sound}}
	if d.j, d.seen, err = journal.Look(fs, journal.Options{Dir: journalDir, Entropy: entropy}); err != nil {
		return nil, err
	}
	if err := d.examine(); err != nil {
		return nil, errors.Join(err, d.j.Close())
	}
	return d, nil
}

func (d *diagnosis) examine() (err error) {
	if d.damage, err = d.j.Verify(&d.seen); err != nil {
		return err
	}
	if d.people, err = replayAccounts(d.j, d.doubtOf(ownLog)); err != nil {
		return err
	}
	d.orphans = d.people.reconcile(d.j)
	for _, h := range d.people.machine.View().VHosts() {
		log := storage.LogID(h.LogID)
		p, err := replayVHost(d.j, h.Name, log, d.doubtOf(log))
		if err != nil {
			return fmt.Errorf("virtual host %q: %w", h.Name, err)
		}
		d.vhosts = append(d.vhosts, p)
	}
	return d.tell()
}

// doubtOf says why batches may have been lost at the end of a log, "" if none can have been.
func (d *diagnosis) doubtOf(log storage.LogID) string {
	f := d.seen.Unnamed
	for _, l := range d.j.Logs() {
		if l.Log == log {
			if f = nil; l.Doubted {
				f = l.Fault
			}
			break
		}
	}
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%s, offset %d: %s", f.File, f.Offset, f.What)
}

// tell writes the report.
func (d *diagnosis) tell() error {
	r := d.report
	stats := d.j.Stats()
	r.Journal = Journal{
		Segments: stats.Segments, SegmentBytes: stats.SegmentBytes, Rewritten: stats.Rewritten, Spares: stats.Spares, SpareBytes: stats.SpareBytes,
		CheckpointBytes: stats.CheckpointBytes, Rebuilt: d.seen.Rebuilt,
	}
	r.Users = Users{State: Sound, Users: len(d.people.machine.View().Users()), Lost: d.people.lost}
	if d.people.hurt {
		r.Users.State = Damaged
	}
	r.Starts = d.starts()
	for _, p := range d.vhosts {
		h := p.describe(d.j)
		h.Starts = h.Starts && r.Starts
		r.VHosts = append(r.VHosts, h)
	}
	for _, x := range d.damage {
		r.Damage = append(r.Damage, d.explain(x))
	}
	d.tellSegments()
	if len(d.damage) > 0 || d.people.hurt || slices.ContainsFunc(d.vhosts, func(p *patient) bool { return p.hurt }) {
		r.State = Damaged
		d.plan()
	}
	return d.tellFiles()
}

// starts reports whether a broker would start.
func (d *diagnosis) starts() bool {
	return !d.seen.Rebuilt && !d.seen.Renamed && !d.people.stops && !slices.ContainsFunc(d.damage, func(x journal.Damage) bool {
		return x.Part == journal.InFile && x.Log == 0
	})
}

// tellSegments describes the segments.
func (d *diagnosis) tellSegments() {
	uses := map[storage.LogID]vhost.Use{}
	for _, p := range d.vhosts {
		v := p.salvage.VHost()
		use := v.Use()
		v.UsePages(&use, d.j.Next(p.log.Pages()))
		uses[p.log] = use
	}
	for _, s := range d.j.Segments() {
		out := Segment{File: path.Join(journalDir, s.File), Kind: "written", Bytes: s.Bytes, UsedBytes: s.Used, Batches: s.Batches, State: Sound}
		if s.Rewritten {
			out.Kind = "rewritten"
		}
		for _, h := range s.Holds {
			if use, ok := uses[h.Log.Owner()]; ok {
				out.LiveBytes += use.Bytes(h.Log, h.First, h.Last)
			}
		}
		out.LiveBytes = min(out.LiveBytes, out.UsedBytes)
		if slices.ContainsFunc(d.damage, func(x journal.Damage) bool { return x.File == s.File }) {
			out.State = Damaged
		}
		d.report.Journal.LiveBytes += out.LiveBytes
		d.report.Segments = append(d.report.Segments, out)
	}
}

// explain says what a damage means.
func (d *diagnosis) explain(x journal.Damage) Damage {
	out := Damage{File: path.Join(journalDir, x.File), Offset: x.Offset, Bytes: x.Bytes, What: x.What}
	for _, r := range x.Batches {
		out.Batches = append(out.Batches, d.nameRange(r))
	}
	switch x.Part {
	case journal.InManifest:
		out.Meaning = append(out.Meaning, "the broker does not start; the other files of the journal contain the same information")
	case journal.InHeader:
		out.Meaning = append(out.Meaning, "nothing is lost: it is read only if the manifest is lost too")
	case journal.InTable:
		out.Meaning = append(out.Meaning, "nothing is lost: it repeats data of the groups")
	case journal.InCheckpoint:
		out.Meaning = append(out.Meaning, d.nameLog(x.Log)+" does not start")
	case journal.InFile:
		if x.Log == 0 {
			out.Meaning = append(out.Meaning, "the broker does not start")
		} else {
			out.Meaning = append(out.Meaning, d.nameLog(x.Log)+" does not start")
		}
	}
	for _, p := range d.vhosts {
		out.Meaning = append(out.Meaning, d.consequences(p, &x)...)
	}
	if len(out.Meaning) == 0 {
		out.Meaning = append(out.Meaning, "no needed data is lost")
	}
	out.Meaning = slices.Compact(out.Meaning)
	return out
}

// consequences says what a damage means for a virtual host.
func (d *diagnosis) consequences(p *patient, x *journal.Damage) (all []string) {
	touches := func(log storage.LogID, index storage.Index) bool {
		return slices.ContainsFunc(x.Batches, func(r journal.Range) bool { return r.Log == log && r.First <= index && index <= r.Last })
	}
	if strings.Contains(p.stops, path.Base(x.File)) || slices.ContainsFunc(x.Batches, func(r journal.Range) bool {
		return r.Log == p.log && r.Last > d.checkpointOf(p.log)
	}) {
		all = append(all, fmt.Sprintf("virtual host %q does not start", p.name))
	}
	n := 0
	for _, l := range p.salvage.DataLosses() {
		if l.Ref.IsZero() || !touches(l.Ref.Log, l.Ref.Index) {
			continue
		}
		n++
		if n <= explainedMost {
			all = append(all, fmt.Sprintf("virtual host %q has lost %s", p.name, lostOf(&l).Text))
		}
	}
	if n > explainedMost {
		all = append(all, fmt.Sprintf("and %d more in virtual host %q", n-explainedMost, p.name))
	}
	return all
}

// explainedMost is how many messages one damage names; all are in the list of what is lost.
const explainedMost = 3

func (d *diagnosis) checkpointOf(log storage.LogID) storage.Index {
	for _, l := range d.j.Logs() {
		if l.Log == log {
			return l.Checkpoint
		}
	}
	return 0
}

// nameLog says whose log it is.
func (d *diagnosis) nameLog(log storage.LogID) string {
	for _, p := range d.vhosts {
		switch log {
		case p.log:
			return fmt.Sprintf("virtual host %q", p.name)
		case p.log.Pages():
			return fmt.Sprintf("the pages of virtual host %q", p.name)
		}
	}
	if log == ownLog {
		return "the node with its users and virtual hosts"
	}
	return fmt.Sprintf("log %d, which belongs to no virtual host,", log.Owner())
}

func (d *diagnosis) nameRange(r journal.Range) string {
	batches := fmt.Sprintf("batch %d", r.First)
	if r.Last > r.First {
		batches = fmt.Sprintf("batches %d to %d", r.First, r.Last)
	}
	return batches + " of " + strings.TrimSuffix(d.nameLog(r.Log), ",")
}

// tellFiles notes what is no damage and worth knowing.
func (d *diagnosis) tellFiles() error {
	r := d.report
	if d.seen.Rebuilt {
		r.Notes = append(r.Notes, "without a manifest, missing files of the journal cannot be detected")
	}
	if c := d.seen.Cut; c != nil {
		r.Notes = append(r.Notes, fmt.Sprintf(
			"%s ends with an unfinished write at offset %d, %d bytes: it was never confirmed, the next start removes it",
			path.Join(journalDir, c.File), c.Offset, c.Bytes))
	}
	for _, s := range d.seen.Strays {
		r.Notes = append(r.Notes, fmt.Sprintf("%s is not in use: the next start removes it", path.Join(journalDir, s)))
	}
	for _, o := range d.orphans {
		r.Notes = append(r.Notes, fmt.Sprintf("log %d belongs to a deleted virtual host: the next start removes it", o))
	}
	spilled, err := d.fs.List(spillDir)
	if err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return err
	}
	if len(spilled) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf(
			"%s has %d files of transient messages, of a broker that did not stop cleanly: the next start removes them", spillDir, len(spilled)))
	}
	names, err := d.fs.List(".")
	if err != nil {
		return err
	}
	slices.SortFunc(names, cmp.Compare)
	for _, n := range names {
		if strings.HasPrefix(n, asidePart) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s has files that a repair moved aside; the broker does not need it", n))
		}
	}
	return nil
}
