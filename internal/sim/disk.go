package sim

import (
	"errors"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// errBroken is what a call of the disk answers when it fails on purpose.
var errBroken = errors.New("broken on purpose")

// plan draws what the disk will do next: lose power at some call, fail one, or nothing.
func (w *world) plan() {
	at := w.faulty.Calls() + 1 + w.dice.IntN(60)
	switch w.dice.IntN(6) {
	case 0, 1, 2:
		w.cutPowerAt(at)
	case 3, 4:
		w.failNext(at)
	default:
		w.faulty.Before(nil)
	}
}

// cutPowerAt fails call n and all after it.
func (w *world) cutPowerAt(n int) {
	w.faulty.Before(func(c vfs.Call) error {
		if c.N < n {
			return nil
		}
		if c.N == n {
			w.result.CutAt[c.Op]++
		}
		return vfs.ErrCrashed
	})
}

// failNext fails one call from number at on: any, or the next write or sync.
func (w *world) failNext(at int) {
	op := []string{"", "write", "sync", "sync"}[w.dice.IntN(4)]
	done := false
	w.faulty.Before(func(c vfs.Call) error {
		if done || c.N < at || op != "" && c.Op != op {
			return nil
		}
		done = true
		w.result.FailedAt[c.Op]++
		return errBroken
	})
}

// heal takes all plans back.
func (w *world) heal() {
	w.faulty.Before(nil)
	w.faulty.Budget(-1)
	w.tight, w.full = false, false
}

// squeeze lets the disk run full soon, or gives it room again.
func (w *world) squeeze() {
	w.tight = !w.tight
	if w.tight {
		w.faulty.Budget(int64(w.dice.IntN(3 * segmentBytes)))
		return
	}
	w.faulty.Budget(-1)
	w.full = false
}

// survive does what an error of the journal asks for, and reports whether things go on as they were.
func (w *world) survive(err error) bool {
	switch {
	case err == nil:
		return true
	case errors.Is(err, vfs.ErrCrashed):
		w.powerCut()
	case errors.Is(err, journal.ErrFailed):
		if !errors.Is(err, errBroken) && !errors.Is(err, vfs.ErrNoSpace) {
			w.violate(Sound, "%v", err)
		}
		w.result.Failures++
		again := w.journal.Recover()
		if again != nil {
			w.powerCut() // the process ends; what the disk makes of that is its own affair
			return false
		}
		w.load()
	case errors.Is(err, errBroken):
		return false // nothing has changed
	default:
		w.violate(Sound, "%v", err)
	}
	return false
}

// readFailed is a read that failed in the middle of a step: what was decided in the batch is dropped, the vhost
// is opened again behind what was sealed.
func (w *world) readFailed(err error) {
	switch {
	case errors.Is(err, vfs.ErrCrashed):
		w.powerCut()
	case errors.Is(err, errBroken):
		w.dropBatch()
	case w.spoilt(err):
		w.mend("read")
		w.dropBatch()
	default:
		w.violate(Readable, "%v", err)
	}
}

// dropBatch drops what was decided in the open batch.
func (w *world) dropBatch() {
	recoveries := w.result.Recoveries
	for _, next := range [3]func(){func() { w.write() }, w.sync, w.load} {
		if w.violation == nil && w.result.Recoveries == recoveries {
			next()
		}
	}
}

// powerCut ends everything at once, and opens what the disk has kept.
func (w *world) powerCut() {
	w.result.Crashes++
	w.journal = nil
	w.disk.Crash()
	w.faulty.Before(nil)
	if w.chance(3) {
		w.cutPowerAt(w.faulty.Calls() + 1 + w.dice.IntN(25))
	}
	if w.chance(4) {
		w.spoil()
	}
	w.open()
}

// restart stops cleanly and starts again; if the way there fails, that was a start of its own.
func (w *world) restart() {
	if w.violation != nil {
		return
	}
	if w.full {
		w.heal()
	}
	if !w.settle() {
		return
	}
	if err := w.journal.Close(); errors.Is(err, vfs.ErrCrashed) {
		w.powerCut()
		return
	} else if err == nil {
		w.record()
	}
	if w.chance(4) {
		w.spoil()
	}
	w.open()
}

func (w *world) journalOptions() journal.Options {
	return journal.Options{
		Entropy: w.o.Seed<<16 + w.opened, SegmentBytes: segmentBytes, ReserveBytes: segmentBytes, Mutant: w.o.Journal,
	}
}

// open opens the journal, as often as it takes, and then the machine.
func (w *world) open() {
	for w.violation == nil {
		w.opened++
		j, r, err := journal.Open(w.faulty, w.journalOptions())
		switch {
		case err == nil && (len(r.Faults) > 0 || r.Unnamed != nil):
			w.damaged(j, &r)
			w.mend("open")
		case err == nil:
			w.journal, w.cut = j, r.Cut
			w.load()
			return
		case w.refused(err):
			w.mend("refused")
		case errors.Is(err, vfs.ErrCrashed):
			w.result.Crashes++
			w.disk.Crash()
			w.faulty.Before(nil)
		case errors.Is(err, errBroken):
		case errors.Is(err, vfs.ErrNoSpace):
			w.heal()
		default:
			w.violate(Sound, "open: %v", err)
		}
	}
}

// load makes the machine from the log, and compares it with what it must be.
func (w *world) load() {
	w.result.Recoveries++
	w.note("opening again: safe %d, written %d, the log ends at %d", w.safe, w.written, w.journal.Next(logID)-1)
	w.leave()
	w.frozen, w.vhost = nil, nil
	w.recent = map[place.Index][]byte{}
	w.disconnectAll()
	w.out = vhost.Outcome{Trace: true}
	w.audited.facts, w.audited.effects, w.tallies = 0, 0, nil
	v := vhost.New(vhostName, logID, w)
	v.Plant(w.o.VHost)
	if err := w.fold(v); err != nil {
		w.reload(err)
		return
	}
	end := w.journal.Next(logID) - 1
	w.vhost = v
	err := w.neighbor.opened(w)
	if err == nil {
		err = w.compare(end)
	}
	if err != nil || w.violation != nil {
		w.reload(err)
		return
	}
	w.clock = max(w.clock-int64(w.dice.IntN(3))*w.dice.Int64N(2_000_000_000), int64(v.Logged())*1_000_000)
	w.pending, w.written, w.tried, w.next = nil, end, end, end+1
	w.safe, w.marked, w.neighbor.marked = end, 0, 0
	if w.neighbor.safe = w.neighbor.written; !w.tight {
		w.record()
	}
	if w.harm != nil && w.chance(2) {
		w.mend("never")
	}
	w.decide(vhost.Command{Kind: vhost.Recovered})
	if w.violation == nil && w.journal != nil {
		w.finish()
	}
}

// reload tries again after an error in load.
func (w *world) reload(err error) {
	if w.violation == nil {
		w.vhost = nil // it never lived
	}
	switch {
	case w.violation != nil:
	case errors.Is(err, vfs.ErrCrashed):
		w.powerCut()
	case errors.Is(err, errBroken):
		w.load()
	case w.spoilt(err):
		w.mend("load")
		w.journal.Close()
		w.open()
	default:
		w.violate(Sound, "%v", err)
	}
}

// fold loads the checkpoint and what came after it.
func (w *world) fold(v *vhost.VHost) error {
	at, state, err := w.journal.LoadCheckpoint(logID)
	switch {
	case errors.Is(err, journal.ErrNoCheckpoint):
	case err != nil:
		return err
	default:
		if err := v.Fold(0, state); err != nil {
			return fmt.Errorf("checkpoint at %d: %w", at, err)
		}
	}
	return w.journal.Replay(logID, v.Fold)
}
