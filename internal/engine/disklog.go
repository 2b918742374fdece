package engine

import (
	"errors"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A Log is one logical log: it fixes the order of its batches and says when they can no longer be lost. One
// log of the node's journal is one; a Raft group over it will be another. A runner is its only writer.
//
// Boot, following and losing a leadership are one path: Restore, then commands until the listener hears that
// what was not safe is lost; then the machine is dropped and a new one begins with Restore.
type Log interface {
	// ID names the log in Refs.
	ID() storage.LogID
	// Restore hands out the newest checkpoint, which covers batch at, if there is one, and the batches after it
	// in order. Data is lent for the call. Afterwards everything restored is safe.
	Restore(checkpoint func(at storage.Index, state []byte) error, batch func(storage.Index, []byte) error) error
	// Has reports whether a batch for that use can be appended now: it is asked before anything is decided.
	Has(use journal.Use) bool
	// Next returns the index that the next Append gives. The machine decides with it, so it stays the same until then:
	// whatever else takes an index of the log is done by the runner, between two batches.
	Next() storage.Index
	// Append gives a batch away: its place is fixed on return. Then the listener hears that it became safe, or was
	// lost. Urgent: somebody waits. It waits while too much is under way.
	Append(batch []byte, urgent bool) storage.Index
	// NextPages tells which batch of the log of pages comes next. AppendPages gives one away, and returns its index:
	// what is appended later is not safe before it.
	NextPages() storage.Index
	AppendPages(batch []byte) storage.Index
	// Settled reports whether the batches up to i are safe, and on the disk of this node: only then anything that they
	// ended may be removed from it.
	Settled(i storage.Index) bool
	// Urge asks for what was appended to become safe soon.
	Urge()
	// ReadBatch returns a batch of the log, verified. The result is the caller's.
	ReadBatch(i storage.Index) ([]byte, error)
}

// A Listener is told what becomes of a log's batches, on a goroutine of the log's.
type Listener interface {
	becameSafe(i storage.Index) // batches up to i can no longer be lost
	lost(err error)             // what is not safe is lost, for good: the log must be opened anew
}

// diskLog is one logical log of the node's journal.
type diskLog struct {
	writer *logWriter
	id     storage.LogID
	next   storage.Index

	nextPages storage.Index
}

func (l *diskLog) ID() storage.LogID { return l.id }

// Restore implements Log. The functions may read pages and records meanwhile.
func (l *diskLog) Restore(checkpoint func(storage.Index, []byte) error, batch func(storage.Index, []byte) error) error {
	at, state, next, err := l.writer.recovery(l.id)
	if err != nil {
		return err
	}
	l.next = next
	if state != nil {
		if err := checkpoint(at, state); err != nil {
			return err
		}
	}
	for i := at + 1; i < next; i++ {
		data, err := l.ReadBatch(i)
		if err != nil {
			return err
		}
		if err := batch(i, data); err != nil {
			return err
		}
	}
	return nil
}

// NextPages implements Log.
func (l *diskLog) NextPages() storage.Index {
	l.writer.tables.RLock()
	defer l.writer.tables.RUnlock()
	l.nextPages = l.writer.journal.Next(l.id.Pages())
	return l.nextPages
}

// AppendPages implements Log.
func (l *diskLog) AppendPages(batch []byte) storage.Index {
	i := l.nextPages
	l.nextPages++
	l.writer.append(journal.Batch{Log: l.id.Pages(), Index: i, Data: batch}, false)
	return i
}

// Has implements Log. Space is kept by the log writer ahead of need; it says here when what is left is for other uses.
func (l *diskLog) Has(use journal.Use) bool { return use >= l.writer.spaceFor() }

func (l *diskLog) Next() storage.Index { return l.next }

func (l *diskLog) Append(batch []byte, urgent bool) storage.Index {
	i := l.next
	l.next++
	l.writer.append(journal.Batch{Log: l.id, Index: i, Data: batch}, urgent)
	return i
}

// Settled implements Log.
func (l *diskLog) Settled(i storage.Index) bool {
	l.writer.tables.RLock()
	defer l.writer.tables.RUnlock()
	return l.writer.journal.Safe(l.id) >= i
}

func (l *diskLog) Urge() { l.writer.urge(l.id) }

func (l *diskLog) ReadBatch(i storage.Index) ([]byte, error) { return l.writer.readBatch(l.id, i) }

// recovery returns the newest checkpoint of a log, nil if there is none, the batch that it covers, and the batch that
// comes next.
func (w *logWriter) recovery(log storage.LogID) (at storage.Index, state []byte, next storage.Index, err error) {
	w.tables.RLock()
	defer w.tables.RUnlock()
	at, state, err = w.journal.LoadCheckpoint(log)
	if err != nil && !errors.Is(err, journal.ErrNoCheckpoint) {
		return 0, nil, 0, err
	}
	if fault := w.journal.FaultOf(log); fault != nil {
		return 0, nil, 0, fault
	}
	return at, state, w.journal.Next(log), nil
}
