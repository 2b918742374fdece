package sim

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// whatRots is what becomes of bytes that lie on a disk; whatGoes may become of a file, too, while no broker runs.
var (
	whatRots = []vfs.HarmKind{vfs.HarmBit, vfs.HarmBit, vfs.HarmZeros, vfs.HarmNoise}
	whatGoes = append(whatRots, vfs.HarmAbsent)
)

// spoil lets the disk change what lies on it. Nobody is told.
func (w *world) spoil(kinds []vfs.HarmKind) {
	if w.step == 0 || w.harm != nil || w.o.Fault != FaultNone || w.recorded < w.baseAt {
		return // on a full disk, what was found by a start may not be recorded: the ledger knows no way back behind it
	}
	names, err := w.disk.List("journal")
	if w.Chance(2) {
		names = slices.DeleteFunc(names, func(n string) bool { return kindOf(n) != "segment" })
	}
	if err != nil || len(names) == 0 {
		return
	}
	name := "journal/" + names[w.dice.IntN(len(names))]
	if w.safe > w.recorded && w.Chance(2) { // nothing but what was written last says that it is safe
		name = ""
	}
	kind := kinds[w.dice.IntN(len(kinds))]
	if w.harm = w.disk.Spoil(name, kind, w.dice); w.harm != nil {
		w.result.Harmed[kind.String()+" "+kindOf(w.harm.Name)]++
		w.note("%s of %d bytes at %d of %s", kind, w.harm.Len, w.harm.Off, w.harm.Name)
	}
}

// mend undoes what spoil did: somebody has brought the file back. Found is how it was noticed.
func (w *world) mend(found string) {
	if w.harm != nil {
		w.result.Found[found]++
		// a file that nobody missed stays away: its name may be given anew
		if w.harm.Kind != vfs.HarmAbsent || found != "never" {
			w.harm.Mend()
		} else {
			w.missing = true
		}
		w.harm, w.cut = nil, nil
	}
}

// kindOf is what a file is for.
func kindOf(name string) string {
	base := strings.TrimSuffix(path.Base(name), ".new")
	if k := path.Ext(base); k != "" {
		return k[1:]
	}
	return base
}

// spoilt reports whether an error tells of damage. If it does not say where the damage is, that is a violation.
func (w *world) spoilt(err error) bool {
	var f *journal.Fault
	if !errors.As(err, &f) {
		return false
	}
	w.checkNamed(f)
	return true
}

// checkNamed makes sure that a fault was made by somebody, and names the file, and no place behind the damage.
func (w *world) checkNamed(f *journal.Fault) {
	switch {
	case w.harm == nil:
		w.violate(Sound, "damage that nobody has done: %v", f)
	case f.File != path.Base(w.harm.Name):
		w.violate(Damage, "%s was damaged at %d, and the fault is %v", w.harm.Name, w.harm.Off, f)
	case f.Offset >= w.harm.Off+w.harm.Len:
		w.violate(Damage, "%s was damaged at %d, and the fault is behind it: %v", w.harm.Name, w.harm.Off, f)
	}
}

// refused reports whether opening failed because of damage, and says so.
func (w *world) refused(err error) bool {
	if w.harm == nil || err == nil || w.planned(err) || errors.Is(err, vfs.ErrNoSpace) {
		return false
	}
	if !strings.Contains(err.Error(), path.Base(w.harm.Name)) {
		w.violate(Damage, "%s was damaged at %d, and opening says: %v", w.harm.Name, w.harm.Off, err)
	}
	return true
}

// damaged looks at a journal that has found damage when it was opened: it names it, finds it each time, and the logs
// that it does not blame are whole.
func (w *world) damaged(j *journal.Journal, r *journal.Report) {
	faults := r.Faults
	if r.Unnamed != nil {
		faults = append(faults, *r.Unnamed)
	}
	for i := range faults {
		w.checkNamed(&faults[i])
	}
	blamed := map[storage.LogID]bool{}
	for _, f := range r.Faults {
		blamed[f.Log] = true
	}
	for _, log := range []storage.LogID{logID, neighborLog} {
		err := j.Replay(log, func(storage.Index, []byte) error { return nil })
		switch {
		case w.violation != nil || w.planned(err):
		case blamed[log] && err == nil:
			w.violate(Damage, "log %d has a fault, and can be read through", log)
		case !blamed[log] && err != nil && !w.spoilt(err):
			w.violate(Damage, "log %d has no fault, and cannot be read: %v", log, err)
		}
	}
	if err := j.Close(); w.violation != nil || w.planned(err) {
		return
	}
	w.opened++
	j, again, err := journal.Open(w.faulty, w.journalOptions())
	if err != nil {
		if !w.planned(err) && !errors.Is(err, vfs.ErrNoSpace) {
			w.violate(Damage, "damage was found, and opening again says: %v", err)
		}
		return
	}
	if len(again.Faults) != len(r.Faults) || again.Cut != nil {
		w.violate(Damage, "faults %v were found, and opening again finds %v, cut %v", r.Faults, again.Faults, again.Cut)
	}
	if err := j.Close(); err != nil && !w.planned(err) && !w.spoilt(err) {
		w.violate(Sound, "close: %v", err)
	}
}

// excused reports whether what was safe may be missing, for a log that ends at end and is known to be safe up to
// recorded: it was damaged where nothing on the disk said that it was safe, and what was cut has been reported.
func (w *world) excused(end, recorded storage.Index) bool {
	switch {
	case w.harm == nil:
		return false
	case end < recorded:
		w.violate(Damage, "%s was damaged at %d, and what was recorded as safe up to batch %d is cut at %d", w.harm.Name, w.harm.Off, recorded, end)
	case w.cut == nil && w.harm.Kind != vfs.HarmBit: // a group of which a whole sector is gone may look as if it was never written
	case w.cut == nil || w.cut.File != path.Base(w.harm.Name) || w.cut.Offset >= w.harm.Off+w.harm.Len:
		w.violate(Damage, "%s was damaged at %d, and the log ends at %d without a report: cut %+v", w.harm.Name, w.harm.Off, end, w.cut)
	}
	return true
}

// unlike is the law that is broken by bytes that are not those that were stored.
func (w *world) unlike() Checker {
	if w.harm != nil {
		return Damage
	}
	return Readable
}
