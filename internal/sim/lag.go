package sim

import (
	"bytes"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// With Options.Lag the log is one of a replica that leads: what is on its own disk is safe only when others have it,
// too, some time later. Until then another leader may decide otherwise: then the machine is dropped, and what it has
// decided since is taken back, though the disk has it. The next batch that is written takes its place there.

// commit notes that others have some of what is on the disk: at least what comes up to least.
func (w *world) commit(least storage.Index) {
	before := w.safe
	if w.safe = w.synced; w.o.Lag {
		least = max(before, min(least, w.synced))
		w.safe = least + storage.Index(w.dice.Uint64N(uint64(w.synced-least)+1))
	}
	if w.recorded = max(w.recorded, min(w.marked, w.safe)); w.safe > before || !w.o.Lag {
		w.advanceBase(w.recorded)
		w.release()
	}
}

// agreed waits until others have what comes up to a batch, and reports whether they have it in time.
func (w *world) agreed(to storage.Index) bool {
	if w.safe < to && w.Chance(3) {
		return false
	}
	w.commit(to)
	return w.safe >= to
}

// depose has another leader take over: what others do not have is taken back, all or the end of it.
func (w *world) depose() {
	if w.violation != nil || w.journal == nil {
		return
	}
	w.result.Deposed++
	w.deposed = true
	w.load()
}

// endOfLog is how far the log goes that the machine is made from. Of what is on the disk, and was not known to be
// elsewhere, any part may be; but nothing of what was taken back before.
func (w *world) endOfLog() storage.Index {
	if !w.o.Lag {
		return w.journal.Next(logID) - 1
	}
	end := w.baseAt // a start that was broken off may have gone further than what is safe
	for last := min(w.journal.Safe(logID), w.tried); end < last && w.onDisk(end+1); end++ {
	}
	if first := max(w.safe, w.baseAt); end > first {
		end = first + storage.Index(w.dice.Uint64N(uint64(end-first)+1))
	}
	return end
}

// onDisk reports whether the journal has a batch as it was decided last.
func (w *world) onDisk(i storage.Index) bool {
	at, ok := w.sealed[i]
	if !ok {
		return false
	}
	data, err := w.journal.ReadBatch(nil, logID, i)
	return err != nil || bytes.Equal(data, at.data) // what cannot be read shows when it is applied
}
