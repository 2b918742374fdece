package engine

import (
	"errors"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
)

// A Log is one logical log: it fixes the order of its batches and says when they can no longer be lost. One
// log of the node's journal is one; a Raft group over it will be another. A runner is its only writer.
//
// Boot, following and losing a leadership are one path: Restore, then commands until the listener hears that
// what was not safe is lost; then the machine is dropped and a new one begins with Restore.
type Log interface {
	// ID names the log in Refs.
	ID() place.LogID
	// Restore hands out the newest checkpoint, which covers batch at, if there is one, and the batches after it
	// in order. Data is lent for the call. Afterwards everything restored is safe.
	Restore(checkpoint func(at place.Index, state []byte) error, batch func(place.Index, []byte) error) error
	// Reserve comes before the machine decides: the index that the next Append will give. ErrNotLeader and a
	// log without room for growing are told here, when nothing has happened yet.
	Reserve(use journal.Use) (place.Index, error)
	// Append gives a batch away, with nothing appended since Reserve: its place is fixed on return. Then the
	// listener hears that it became safe, or was lost. Urgent: somebody waits. It waits while too much is
	// under way.
	Append(batch []byte, urgent bool) place.Index
	// Urge asks for what was appended to become safe soon.
	Urge()
	// ReadBatch returns a batch of the log, verified. The result is the caller's.
	ReadBatch(i place.Index) ([]byte, error)
}

// A Listener is told what becomes of a log's batches, on a goroutine of the log's.
type Listener interface {
	becameSafe(i place.Index) // batches up to i can no longer be lost
	lost(err error)           // what is not safe is lost, for good: the log must be opened anew
}

// diskLog is one logical log of the node's journal.
type diskLog struct {
	scribe *scribe
	id     place.LogID
	next   place.Index
}

func (l *diskLog) ID() place.LogID { return l.id }

// Restore implements Log. It runs on the scribe's goroutine, or before that is started.
func (l *diskLog) Restore(checkpoint func(place.Index, []byte) error, batch func(place.Index, []byte) error) error {
	s := l.scribe
	s.tables.Lock()
	defer s.tables.Unlock()
	at, state, err := s.journal.LoadCheckpoint(l.id)
	switch {
	case errors.Is(err, journal.ErrNoCheckpoint):
	case err != nil:
		return err
	default:
		if err := checkpoint(at, state); err != nil {
			return err
		}
	}
	if err := s.journal.Replay(l.id, batch); err != nil {
		return err
	}
	l.next = s.journal.Next(l.id)
	return nil
}

// Reserve implements Log. Room is kept by the scribe ahead of need; it says here when only the reserve is left.
func (l *diskLog) Reserve(use journal.Use) (place.Index, error) {
	if use == journal.Growing && l.scribe.noRoom.Load() {
		return 0, journal.ErrNoSpace
	}
	return l.next, nil
}

func (l *diskLog) Append(batch []byte, urgent bool) place.Index {
	i := l.next
	l.next++
	l.scribe.append(journal.Batch{Log: l.id, Index: i, Data: batch}, urgent)
	return i
}

func (l *diskLog) Urge() { l.scribe.urge() }

func (l *diskLog) ReadBatch(i place.Index) ([]byte, error) { return l.scribe.readBatch(l.id, i) }
