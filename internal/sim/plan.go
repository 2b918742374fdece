package sim

import (
	"errors"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// errBroken is what a call of the disk answers when it fails on purpose.
var errBroken = errors.New("broken on purpose")

// Fault is what becomes of a call of the disk.
type Fault uint8

// The faults.
const (
	FaultNone   Fault = iota
	FaultPower        // the power goes in the middle of it
	FaultOnce         // it fails
	FaultAlways       // it fails, and so does every one like it until somebody sees to the disk
)

// target is a kind of call: by method, and by what the file is for. Empty is any.
type target struct{ op, kind string }

func (t target) String() string { return strings.TrimSpace(t.op + " " + t.kind) }

// targets are the calls that a fault may wait for: those that are rare would else seldom meet one.
var targets = []target{
	{"write", "segment"}, {"sync", "segment"}, {"create", "segment"}, {"preallocate", "segment"}, {"open", "segment"},
	{"read", "segment"}, {"close", "segment"}, {"remove", "segment"},
	{"write", "checkpoint"}, {"sync", "checkpoint"}, {"create", "checkpoint"}, {"read", "checkpoint"}, {"remove", "checkpoint"},
	{"write", "manifest"}, {"sync", "manifest"}, {"create", "manifest"}, {"rename", "manifest"}, {"read", "manifest"},
	{"syncdir", ""}, {"list", ""}, {"lock", ""}, {"mkdir", ""},
}

// meets reports whether a call is one that t waits for.
func (t target) meets(c vfs.Call) bool {
	return (t.op == "" || t.op == c.Op) && (t.kind == "" || t.kind == kindOf(c.Name))
}

// targetOf is the kind of a call.
func targetOf(c vfs.Call) string {
	kind := kindOf(c.Name)
	if strings.HasPrefix(kind, "journal") { // the directory
		kind = ""
	}
	return target{c.Op, kind}.String()
}

// plan draws what the disk will do next: a fault at some call, damage, or nothing.
func (w *world) plan() {
	if w.o.Fault != FaultNone {
		return
	}
	at := w.faulty.Calls() + 1 + w.dice.IntN(60)
	switch w.dice.IntN(8) {
	case 0, 1, 2:
		w.fail(FaultPower, w.target(), at)
	case 3, 4:
		w.fail(FaultOnce, w.target(), at)
	case 5:
		w.fail(FaultAlways, w.target(), at)
	case 6:
		w.spoil(whatRots)
	default:
		w.faulty.Before(nil)
	}
}

// target draws what a fault waits for.
func (w *world) target() target {
	if w.Chance(2) {
		return target{}
	}
	return targets[w.dice.IntN(len(targets))]
}

// fail lets a call meet a fault: the first that t waits for, from number at on.
func (w *world) fail(f Fault, t target, at int) {
	met := false
	w.ailing = f == FaultAlways
	w.faulty.Before(func(c vfs.Call) error {
		if w.looking {
			return nil
		}
		if !met && (c.N < at || !t.meets(c)) {
			return nil
		}
		first := !met
		switch met = true; f {
		case FaultPower:
			if first {
				w.result.CutAt[targetOf(c)]++
			}
			return vfs.ErrCrashed
		case FaultOnce:
			if first {
				w.result.FailedAt[targetOf(c)]++
				return errBroken
			}
		case FaultAlways:
			if first {
				t.op = c.Op
				w.result.BrokenAt[targetOf(c)]++
			}
			if t.meets(c) {
				return errBroken
			}
		}
		return nil
	})
}

// patience is how often a broker is started on a disk that does not work before somebody sees to that.
const patience = 3

// ail counts a start on a disk on which some call always fails. At last somebody sees to the disk.
func (w *world) ail() {
	if w.starts++; w.ailing && w.starts >= patience {
		w.repair()
	}
}

// repair lets every call succeed.
func (w *world) repair() {
	w.faulty.Before(nil)
	w.ailing, w.starts = false, 0
}

// heal takes all plans back, and makes space.
func (w *world) heal() {
	w.repair()
	w.unlimitSpace()
}

// unlimitSpace gives the disk space without end. The other process of a full life gives some back.
func (w *world) unlimitSpace() {
	if w.o.FullDisk && !w.ending {
		w.faulty.Budget(w.faulty.Left() + int64(4+w.dice.IntN(8))*segmentBytes)
		return
	}
	w.faulty.Budget(-1)
	w.tight = false
}

// squeeze lets the disk run full soon, or gives it space again: enough, or a little.
func (w *world) squeeze() {
	if w.o.FullDisk {
		w.neighborTakes()
		return
	}
	if w.tight && !w.Chance(4) {
		w.unlimitSpace()
		return
	}
	w.stockUp()
	w.tight = true
	w.faulty.Budget(int64(w.dice.IntN(6 * segmentBytes)))
}

// stockUp completes the reserve. A disk that has space without end does not run full at once: that
// there is less is seen in time.
func (w *world) stockUp() {
	if w.tight {
		return
	}
	for more := true; more && w.violation == nil; {
		j := w.journal
		err := w.maintain(func(j *journal.Journal) (err error) {
			more, err = j.Prepare(true)
			return err
		})
		if err != nil || w.journal != j {
			if w.journal == j {
				w.survive(err)
			}
			return
		}
	}
}

// prepare makes space ahead of need, and finds out whether there is any: publishers wait while there is not.
func (w *world) prepare() {
	var more bool
	j, make := w.journal, w.tight || w.Chance(2)
	err := w.maintain(func(j *journal.Journal) (err error) {
		more, err = j.Prepare(make)
		return err
	})
	switch {
	case w.journal != j:
	case errors.Is(err, journal.ErrNoSpace):
		if !w.full {
			w.result.Full++
		}
		w.full = true
	case err != nil:
		w.survive(err)
	case !more && make:
		w.full = false
	}
}
