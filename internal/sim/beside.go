package sim

import "github.com/bartleby-mq/bartleby/internal/journal"

// house calls the journal for maintenance, as a task. While the disk works for it, the machine may go on, and
// batches may be written and synced; what fails in that is dealt with when the call is over.
func (w *world) house(call func(*journal.Journal) error) error {
	if w.violation != nil {
		return nil
	}
	w.keeping = true
	task := w.journal.Task(call)
	for task.Plan() {
		w.meanwhile()
		task.Work()
		w.meanwhile()
	}
	w.keeping = false
	if deal := w.deferred; deal != nil && w.violation == nil {
		w.deferred = nil
		deal()
	}
	return task.Err()
}

// meanwhile lets a little happen while house is kept, at times.
func (w *world) meanwhile() {
	if w.step == 0 || !w.keeping || w.besides || w.unfinished || w.vhost == nil || w.torn || w.deferred != nil || w.violation != nil || !w.Chance(6) {
		return
	}
	w.besides = true
	w.result.Besides++
	for n := w.dice.IntN(3); n >= 0 && w.deferred == nil && w.violation == nil; n-- {
		if w.Chance(3) {
			w.work()
		} else if w.write() {
			w.sync()
		}
	}
	w.besides = false
}

// later puts off what must not be done while house is kept, and reports whether it did.
func (w *world) later(deal func()) bool {
	if w.besides {
		w.deferred = deal
	}
	return w.besides
}
