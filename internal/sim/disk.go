package sim

import (
	"errors"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// survive does what an error of the journal asks for, and reports whether things go on as they were.
func (w *world) survive(err error) bool {
	switch {
	case err == nil:
		return true
	case w.afterMaintenance(func() { w.survive(err) }):
	case errors.Is(err, vfs.ErrCrashed):
		w.powerCut()
	case errors.Is(err, journal.ErrFailed):
		if !errors.Is(err, errBroken) && !errors.Is(err, vfs.ErrNoSpace) {
			w.violate(Sound, "%v", err)
		}
		w.result.Failures++
		w.leave()
		if again := w.journal.Recover(); again != nil {
			w.powerCut() // the process ends; what the disk makes of that is its own affair
			return false
		}
		if w.lost() {
			w.load()
		}
		w.left = false
	case errors.Is(err, errBroken):
		return false // nothing has changed
	default:
		w.violate(Sound, "%v", err)
	}
	return false
}

// lost reports whether the journal has lost what the machine has built on: a group that it could not write, or sync.
func (w *world) lost() bool {
	return w.tearing || w.journal.Next(logID) != max(w.written, w.tail)+1 || w.journal.Next(neighborLog) != w.neighbor.written+1 ||
		w.journal.Next(pagesLog) != w.pages.written()+1
}

// readFailed is a read that failed in the middle of a step: what was decided in the batch is dropped, the vhost
// is opened again behind what was sealed.
func (w *world) readFailed(err error) {
	switch {
	case w.afterMaintenance(func() { w.readFailed(err) }):
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
	w.leave()
	w.countStock()
	w.journal = nil
	w.disk.Crash()
	w.atRest()
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
	w.leave()
	if err := w.journal.Close(); errors.Is(err, vfs.ErrCrashed) {
		w.powerCut()
		return
	} else if err == nil {
		w.record()
	}
	w.atRest()
	w.open()
}

// atRest is what may happen to the disk while no broker runs, and what waits for the next one.
func (w *world) atRest() {
	if w.o.Fault != FaultNone {
		if w.starts++; w.starts > patience {
			w.repair()
		}
		return
	}
	if !w.ailing || w.Chance(2) {
		w.repair()
	}
	at := w.faulty.Calls() + 1 + w.dice.IntN(25)
	switch w.dice.IntN(12) {
	case 0, 1, 2:
		w.fail(FaultPower, w.target(), at)
	case 3:
		w.fail(FaultOnce, w.target(), at)
	case 4:
		w.fail(FaultAlways, w.target(), at)
	case 5, 6, 7:
		w.spoil(whatGoes)
	}
}

func (w *world) journalOptions() journal.Options {
	return journal.Options{
		Entropy: w.o.Seed<<16 + w.opened, SegmentBytes: segmentBytes, ReserveBytes: w.reserve, InFlight: inFlight,
	}
}

// open opens the journal, as often as it takes, and then the machine.
func (w *world) open() {
	for w.violation == nil {
		w.opened++
		j, r, err := journal.Open(w.faulty, w.journalOptions())
		if r.Cut != nil {
			w.cut = r.Cut // the next start may not tell again, if this one fails on its way
		}
		switch {
		case err == nil && (len(r.Faults) > 0 || r.Unnamed != nil):
			w.damaged(j, &r)
			w.mend("open")
		case err == nil:
			w.journal = j
			if w.o.Lag && w.opened == 1 {
				if err := j.AllowCuts(); err != nil {
					w.violate(Sound, "%v", err)
				}
			}
			w.deposed = false
			w.checkStock()
			w.load()
			return
		case w.refused(err):
			w.mend("refused")
		case errors.Is(err, vfs.ErrCrashed):
			w.result.Crashes++
			w.disk.Crash()
			w.repair()
		case errors.Is(err, errBroken):
			w.ail()
		case errors.Is(err, vfs.ErrNoSpace):
			w.unlimitSpace()
		default:
			w.violate(Sound, "open: %v", err)
		}
		w.stock = 0 // who tries again may find less
	}
}

// load makes the machine from the log, and compares it with what it must be. What a start has found, the disk says of
// itself from then on.
func (w *world) load() {
	w.result.Recoveries++
	w.ail()
	w.note("opening again: safe %d, written %d, the log ends at %d", w.safe, w.written, w.journal.Next(logID)-1)
	w.leave()
	w.forsake()
	w.left, w.torn, w.tearing = false, false, false
	w.recent = map[storage.Index][]byte{}
	w.disconnectAll()
	w.out = vhost.Outcome{Trace: true}
	w.looked.facts, w.looked.effects, w.tallies = 0, 0, nil
	w.pending = nil
	w.pages.reopen()
	v := vhost.New(vhostName, logID, w, &w.pages)
	v.CountBy(segmentBytes / 64) // as the engine does
	v.KeepHot(w.hot())
	v.BoundHeads(w.heads())
	v.BoundPutOff(putOffMax)
	v.BoundOvergrown(overgrownMax)
	if w.o.Portions > 0 {
		v.BoundSteps(w.o.Portions)
	}
	var err error
	end := w.endOfLog()
	if fault := unwound(func() { err = w.replay(v, end) }); fault != nil {
		err = fault
	}
	if err != nil {
		w.reload(err)
		return
	}
	w.vhost = v
	err = w.neighbor.opened(w)
	if err == nil {
		err = w.compare(end)
	}
	if err != nil || w.violation != nil {
		w.reload(err)
		return
	}
	w.clock = max(w.clock-int64(w.dice.IntN(3))*w.dice.Int64N(2_000_000_000), int64(v.Logged())*1_000_000)
	w.written, w.tried, w.next = end, end, end+1
	w.synced, w.safe, w.marked, w.neighbor.marked = end, end, 0, 0
	if w.tail = 0; w.journal.Next(logID) > w.next {
		w.tail = w.journal.Next(logID) - 1
		w.result.TakenBack += int(w.tail - end)
	}
	if !w.tight && !w.deposed {
		w.record()
	}
	w.deposed = false
	if w.cut = nil; w.harm != nil && w.Chance(2) {
		w.mend("never")
	}
	if err := w.makeReserve(); err != nil {
		w.reload(err)
		return
	}
	w.cramped, w.lowMemory = false, false
	if w.updateSpace(); w.violation != nil || w.vhost != v {
		return
	}
	recoveries := w.result.Recoveries
	w.decide(vhost.Command{Kind: vhost.Recovered})
	if w.violation != nil || w.journal == nil {
		return
	}
	if w.finish(); w.full && w.result.Recoveries == recoveries {
		w.begunAgain()
	}
}

// hot is how much the machine of this life keeps in memory: messages, and bytes of transient records.
func (w *world) hot() (messages, bytes int) {
	return []int{1, 40, 300, 2000, 1 << 20}[w.o.Seed%5], []int{1, 300, 20_000, 1 << 20}[w.o.Seed%4]
}

// heads is how much the machine of this life reads of a record for its head at first.
func (w *world) heads() int { return []int{1, 60, vhost.HeadBytes}[w.o.Seed%3] }

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
	case w.refused(err):
		w.mend("missed")
		w.journal.Close()
		w.open()
	default:
		w.violate(Sound, "%v", err)
	}
}

// replay loads the checkpoint and what came after it.
func (w *world) replay(v *vhost.VHost, end storage.Index) error {
	at, state, err := w.journal.LoadCheckpoint(logID)
	switch {
	case errors.Is(err, journal.ErrNoCheckpoint):
	case err != nil:
		return err
	default:
		if err := v.ApplyCheckpoint(state); err != nil {
			return fmt.Errorf("checkpoint at %d: %w", at, err)
		}
	}
	return w.journal.Replay(logID, func(i storage.Index, data []byte) error {
		if i > end { // it is taken back
			return nil
		}
		return v.ApplyBatch(i, data)
	})
}
