package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
)

// checkpointAll checkpoints what has changed, and gives back what nobody needs.
func (e *Engine) checkpointAll(runners map[string]*runner) error {
	began := time.Now()
	var states []machineState
	for _, r := range runners {
		if st, ok := r.takeCheckpoint(); ok {
			states = append(states, st)
		}
	}
	if st, ok := e.accounts.Load().takeCheckpoint(); ok {
		states = append(states, st)
	}
	err := e.writer.settleAndMark() // what a checkpoint covers must never look like an unfinished tail
	if err != nil {
		giveUp(states)
	} else {
		maintenance, done := e.writer.maintenance, make(chan error, 1)
		states = settledOf(states)
		maintenance.do(func() { done <- e.store(maintenance, states) })
		err = <-done
	}
	e.writer.statistics.checkpointed(e.Now(), time.Since(began), err)
	return err
}

// giveUp ends checkpoints that will not be stored.
func giveUp(states []machineState) {
	for _, st := range changedOf(states) {
		st.stored(false)
	}
}

// settlePatience is how long is waited until what a checkpoint covers, or rewriting leaves out, can no longer be
// replaced: no time at all, where a log is this node's alone.
const settlePatience, settlePause = 5 * time.Second, time.Millisecond

// settles waits until asked answers true, and reports whether it did before the end.
func settles(asked func() bool, end time.Time) bool {
	for ; !asked(); time.Sleep(settlePause) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// settledOf gives up the checkpoints of logs whose batches may still be replaced by others: what they have ended is
// needed again then.
func settledOf(states []machineState) (settled []machineState) {
	end := time.Now().Add(settlePatience)
	for _, st := range states {
		if settles(st.settled, end) {
			settled = append(settled, st)
		} else {
			giveUp([]machineState{st})
		}
	}
	return settled
}

// checkpointSoon is told by the log writer that the journal has grown. It reports whether a checkpoint was begun.
func (e *Engine) checkpointSoon() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.mu.closed || !e.storing.CompareAndSwap(false, true) {
		return false
	}
	e.jobs.Go(func() {
		defer e.storing.Store(false)
		runners := map[string]*runner{}
		for _, r := range e.allRunners() {
			runners[r.name] = r
		}
		if err := e.checkpointAll(runners); err != nil {
			e.slog.Error("checkpoint failed", "error", err)
			return
		}
		e.compactor.kick()
	})
	return true
}

// store writes checkpoints on the maintenance goroutine, when everything that they cover is safe.
func (e *Engine) store(k *maintenance, states []machineState) error {
	var errs []error
	for due := changedOf(states); len(due) > 0; {
		n := portionOf(due)
		errs = append(errs, storePortion(k, due[:n]))
		due = due[n:]
	}
	live := liveLogs{}
	for _, st := range states {
		live[st.log] = st.use
	}
	e.live.Store(&live)
	errs = append(errs, k.reclaim(live.bytes))
	return errors.Join(errs...)
}

// While the files of a portion of states are written, no file is made ready for traffic: a portion takes some ten
// milliseconds, but for a state that is large by itself.
const (
	portionStates = 16
	portionBytes  = 1 << 20
)

// changedOf leaves out states that have not changed: of them the checkpoint before still holds.
func changedOf(states []machineState) (changed []machineState) {
	for _, st := range states {
		if st.pieces != nil {
			changed = append(changed, st)
		}
	}
	return changed
}

// portionOf is how many of states, at least one, are stored at once.
func portionOf(states []machineState) (n int) {
	bytes := 0
	for n < min(len(states), portionStates) && (n == 0 || bytes < portionBytes) {
		for _, p := range states[n].pieces {
			bytes += len(p)
		}
		n++
	}
	return n
}

// storePortion stores states with one manifest, and tells each whether it is stored.
func storePortion(k *maintenance, states []machineState) error {
	var sound []machineState
	var portion []journal.State
	for _, st := range states {
		if !st.sound() {
			st.stored(false)
			continue
		}
		sound = append(sound, st)
		portion = append(portion, journal.State{Log: st.log, At: st.at, Pieces: st.pieces})
	}
	if len(portion) == 0 {
		return nil
	}
	errs := k.checkpoints(portion)
	for i, st := range sound {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("log %d: %w", st.log, errs[i])
		}
		st.stored(errs[i] == nil)
	}
	return errors.Join(errs...)
}
