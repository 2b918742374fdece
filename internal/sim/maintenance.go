package sim

import "github.com/bartleby-mq/bartleby/internal/journal"

// maintain calls the journal for maintenance, as a task. While the disk works for it, the machine may go on, and
// batches may be written and synced; what fails in that is dealt with when the call is over.
func (w *world) maintain(call func(*journal.Journal) error) error {
	if w.violation != nil {
		return nil
	}
	w.maintaining = true
	task := w.journal.Task(call)
	for task.Plan() {
		w.interleave()
		task.Work()
		w.interleave()
	}
	w.maintaining = false
	if deal := w.deferred; deal != nil && w.violation == nil {
		w.deferred = nil
		deal()
	}
	return task.Err()
}

// interleave lets a little happen between the portions of maintenance, at times.
func (w *world) interleave() {
	if w.step == 0 || !w.maintaining || w.interleaving || w.unfinished || w.vhost == nil || w.torn || w.deferred != nil || w.violation != nil || !w.Chance(6) {
		return
	}
	w.interleaving = true
	w.result.Interleaved++
	for n := w.dice.IntN(3); n >= 0 && w.deferred == nil && w.violation == nil; n-- {
		if w.Chance(3) {
			w.work()
		} else if w.write() {
			w.sync()
		}
	}
	w.interleaving = false
}

// afterMaintenance puts off what must not be done during maintenance, and reports whether it did.
func (w *world) afterMaintenance(deal func()) bool {
	if w.interleaving {
		w.deferred = deal
	}
	return w.interleaving
}
