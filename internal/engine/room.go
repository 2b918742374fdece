package engine

import (
	"errors"
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
)

// On a disk that fills up the uses of the log stop one after the other (journal.Use): publishers wait, then dead letters
// stay where they are, then nothing is decided any more until a checkpoint has given space back. Only if even that finds
// no room the scribe waits. Source: ours, decision 19.

// ErrNoRoom refuses what would have to wait until the disk has room.
var ErrNoRoom = errors.New("the log waits for disk space")

// Waiting says that nothing can be written, and so nothing be confirmed, because the disk has no room at all.
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

// setWaiting notes what the scribe waits for; nil: nothing.
func (s *scribe) setWaiting(err error) {
	was := s.waiting.Load()
	switch {
	case err == nil && was != nil:
		s.waiting.Store(nil)
		if s.full.Load() {
			s.lookForRoom()
		} else {
			s.noRoomFor(journal.Growing)
		}
		s.slog.Warn("disk has free space again", "waited", time.Since(was.Since).Round(time.Millisecond).String())
	case err != nil && was == nil:
		s.waiting.Store(&Waiting{time.Now(), err})
		s.slog.Error("disk is full: no message is confirmed until there is free space", "error", err)
		s.mu.Lock()
		s.room.Broadcast()
		s.mu.Unlock()
		s.onSpace(s.roomFor()) // who only wants to see how things stand is answered
	}
}

// endWaiting has nothing wait for room from now on: what cannot be written, and so was not confirmed, is lost.
func (s *scribe) endWaiting() {
	s.ending.Store(true)
	s.kick()
}

// waitForRoom waits until it is worth trying again, and reports false if the engine is being closed.
func (s *scribe) waitForRoom() bool {
	again := time.NewTimer(noSpaceRetry)
	defer again.Stop()
	for {
		if s.ending.Load() {
			return false
		}
		select {
		case <-again.C:
			return true
		case <-s.wake: // by close, or by what has to wait, too
		}
	}
}

// roomFor is the first use for which there is room.
func (s *scribe) roomFor() journal.Use { return journal.Use(s.use.Load()) }

// short reports whether there is no room for something.
func (s *scribe) short() bool { return s.roomFor() != journal.Growing }

// lookForRoom finds out for what there is room, while no file can be made: what was written has taken some.
func (s *scribe) lookForRoom() {
	if !s.full.Load() {
		return
	}
	s.tables.RLock()
	use := s.journal.Room()
	s.tables.RUnlock()
	s.noRoomFor(max(use, s.fullUse()))
}

// becomeFull notes that a file cannot be made: what there is of the reserve says what may go on.
func (s *scribe) becomeFull() {
	s.full.Store(true)
	s.lookForRoom()
}

// makeReserve completes the reserve before anything is decided. If that cannot be, what grows has to wait.
func (s *scribe) makeReserve() {
	for s.journal.LacksReserve() {
		err := s.call(func(j *journal.Journal) error {
			_, err := j.Prepare(true)
			return err
		})
		if err != nil {
			s.slog.Warn("cannot allocate the reserve of the log: not enough disk space", "error", err)
			s.becomeFull()
			return
		}
	}
}

// fullUse is what may go on at the most while no file can be made, where no reserve is kept.
func (s *scribe) fullUse() journal.Use {
	if s.noReserve {
		return journal.Moving
	}
	return journal.Growing
}

// noRoomFor takes note of the first use for which there is room; Growing: for all.
func (s *scribe) noRoomFor(use journal.Use) {
	if s.waiting.Load() != nil { // a batch finds no room, whatever is left for smaller ones
		use = journal.Committed
	}
	if was := journal.Use(s.use.Swap(uint32(use))); was != use {
		s.onSpace(use)
		if use > was {
			s.askCheckpoint()
		}
	}
}
