package engine

import (
	"errors"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
)

// On a disk that fills up the uses of the log stop one after the other (journal.Use): publishers wait, then dead
// letters stay where they are, then nothing is decided any more until a checkpoint has given space back. Only if even
// that finds no space the log writer waits. Source: ours, decision 19.

// ErrNoSpace refuses what would have to wait until the disk has space.
var ErrNoSpace = errors.New("the log waits for disk space")

// Waiting says that nothing can be written, and so nothing be confirmed, because the disk has no space at all.
type Waiting struct {
	Since time.Time
	Err   error
}

// inFlight is how many bytes may be on their way to a journal with those options: they must fit into the reserve.
func inFlight(o *journal.Options) int64 {
	if o.ReserveBytes > 0 {
		return min(max(o.ReserveBytes/pendingShare, pendingBytesLeast), pendingBytesMax)
	}
	return pendingBytesMax
}

// setWaiting notes what the log writer waits for; nil: nothing.
func (w *logWriter) setWaiting(err error) {
	was := w.waiting.Load()
	switch {
	case err == nil && was != nil:
		w.waiting.Store(nil)
		if w.full.Load() {
			w.checkSpace()
		} else {
			w.setSpaceFor(journal.Growing)
		}
		w.slog.Warn("disk has free space again", "waited", time.Since(was.Since).Round(time.Millisecond).String())
	case err != nil && was == nil:
		w.waiting.Store(&Waiting{time.Now(), err})
		w.slog.Error("disk is full: no message is confirmed until there is free space", "error", err)
		w.mu.Lock()
		w.changed.Broadcast()
		w.mu.Unlock()
		w.onSpace(w.spaceFor()) // who only wants to see how things stand is answered
	}
}

// endWaiting has nothing wait for space from now on: what cannot be written, and so was not confirmed, is lost.
func (w *logWriter) endWaiting() {
	w.ending.Store(true)
	w.kick()
}

// waitForSpace waits until it is worth trying again, and reports false if the engine is being closed.
func (w *logWriter) waitForSpace() bool {
	again := time.NewTimer(noSpaceRetry)
	defer again.Stop()
	for {
		if w.ending.Load() {
			return false
		}
		select {
		case <-again.C:
			return true
		case <-w.wake: // by close, or by what has to wait, too
		}
	}
}

// spaceFor is the first use for which there is space.
func (w *logWriter) spaceFor() journal.Use { return journal.Use(w.use.Load()) }

// short reports whether there is no space for something.
func (w *logWriter) short() bool { return w.spaceFor() != journal.Growing }

// checkSpace finds out for what there is space, while no file can be made: what was written has taken some.
func (w *logWriter) checkSpace() {
	if !w.full.Load() {
		return
	}
	w.tables.RLock()
	use := w.journal.SpaceFor()
	w.tables.RUnlock()
	w.setSpaceFor(max(use, w.fullUse()))
	if !w.full.Load() { // files were made since SpaceFor, and nobody would look again
		w.setSpaceFor(journal.Growing)
	}
}

// becomeFull notes that a file cannot be made: what there is of the reserve says what may go on.
func (w *logWriter) becomeFull() {
	w.full.Store(true)
	w.checkSpace()
}

// makeReserve completes the reserve before anything is decided. If that cannot be, what grows has to wait.
func (w *logWriter) makeReserve() {
	for w.journal.LacksReserve() {
		err := w.call(func(j *journal.Journal) error {
			_, err := j.Prepare(true)
			return err
		})
		if err != nil {
			w.slog.Warn("cannot allocate the reserve of the log: not enough disk space", "error", err)
			w.becomeFull()
			return
		}
	}
}

// fullUse is what may go on at the most while no file can be made, where no reserve is kept.
func (w *logWriter) fullUse() journal.Use {
	if w.noReserve {
		return journal.Moving
	}
	return journal.Growing
}

// setSpaceFor takes note of the first use for which there is space; Growing: for all.
func (w *logWriter) setSpaceFor(use journal.Use) {
	for {
		waits, first := w.waiting.Load() != nil, use
		if waits { // a batch finds no space, whatever is left for smaller ones
			first = journal.Committed
		}
		if was := journal.Use(w.use.Swap(uint32(first))); was != first {
			w.onSpace(first)
			if first > was {
				w.askCheckpoint()
			}
		}
		if waits == (w.waiting.Load() != nil) { // else it has begun or ended meanwhile
			return
		}
	}
}
