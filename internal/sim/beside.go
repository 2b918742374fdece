package sim

// house makes a call of the journal that keeps house. While the disk works for it, the machine may go on, and batches
// may be written and synced; what fails in that is dealt with when the call is over.
func (w *world) house(call func() error) error {
	if w.violation != nil {
		return nil
	}
	w.keeping = true
	err := call()
	w.keeping = false
	if deal := w.deferred; deal != nil && w.violation == nil {
		w.deferred = nil
		deal()
	}
	return err
}

// beside is what the journal calls for slow work on the disk.
func (w *world) beside(io func() error) error {
	w.meanwhile()
	err := io()
	w.meanwhile()
	return err
}

// meanwhile lets a little happen while house is kept, at times.
func (w *world) meanwhile() {
	if w.step == 0 || !w.keeping || w.besides || w.vhost == nil || w.torn || w.deferred != nil || w.violation != nil || !w.chance(6) {
		return
	}
	w.besides = true
	w.result.Besides++
	for n := w.dice.IntN(3); n >= 0 && w.deferred == nil && w.violation == nil; n-- {
		if w.chance(3) {
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
