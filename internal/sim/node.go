package sim

import (
	"errors"
	"maps"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	vhostName = "/"
	logID     = place.LogID(1)
	// segmentBytes is the least that the journal takes: segments roll and come back within one run.
	segmentBytes = 64 << 10
	// reserveSegments is what settles and moves may take when the disk is full: as many as in production.
	reserveSegments = 4
)

// Record implements place.Records: from memory, or from the disk.
func (w *world) Record(r place.Ref) []byte {
	data, ok := w.recent[r.Index]
	if !ok {
		return w.read(r)
	}
	if int(r.Offset+r.Size) > len(data) {
		w.violate(Readable, "record %+v lies beyond its batch of %d bytes", r, len(data))
		panic(place.Fault{Err: errors.New("beyond its batch")})
	}
	return data[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
}

// stamp is what the engine's clock says: down, up, and the wall.
func (w *world) stamp() vhost.Stamp {
	const ms = 1_000_000
	return vhost.Stamp{
		Now: deadline.Instant(w.clock / ms), From: deadline.Instant((w.clock + ms - 1) / ms),
		Wall: deadline.Instant((w.clock + w.skew) / ms), Index: w.next, Entropy: w.dice.Uint64(), Rights: rights{w},
	}
}

// decide steps one command, passes a refusal on, and lets the checkers look. It reports whether the machine took
// the command; on a fault of the disk the machine is gone.
func (w *world) decide(c vhost.Command) (ok bool) {
	s := w.stamp()
	x := w.foresee(&c)
	var refused *amqp.Error
	if fault := unwound(func() { refused = w.try(s, c) }); fault != nil {
		w.torn = true
		w.readFailed(fault)
		return false
	}
	w.audit(s, &c, x, refused)
	if refused == nil {
		w.result.Succeeded[c.Kind]++
	} else {
		w.result.Refused++
	}
	return refused == nil
}

// try steps one command, or refuses it.
func (w *world) try(s vhost.Stamp, c vhost.Command) (refused *amqp.Error) {
	batch, effects, facts := len(w.out.Batch), len(w.out.Effects), len(w.out.Facts)
	err := w.vhost.Step(s, c, &w.out)
	if err == nil {
		return nil
	}
	if !errors.As(err, &refused) {
		w.violate(Refusals, "%v is no refusal", err)
		return amqp.InternalError("%v", err)
	}
	if len(w.out.Batch) != batch || len(w.out.Effects) != effects || len(w.out.Facts) != facts {
		w.violate(Refusals, "command %d was refused (%v) and left a trace", c.Kind, refused)
	}
	w.vhost.Refuse(s, c, refused, &w.out)
	return refused
}

// finish seals the batch, as the engine does: it is the log's, and effects leave or wait.
func (w *world) finish() {
	data, _ := w.out.Seal()
	if data != nil {
		index := w.next
		w.next++
		w.pending = append(w.pending, journal.Batch{Log: logID, Index: index, Data: data})
		w.recent[index] = data
		w.sealed[index] = sealed{data, w.tallies}
		w.tallies = nil
		w.hash.Write(data)
		w.foldTwin(index)
	}
	for i := range w.out.Effects {
		w.emit(&w.out.Effects[i])
	}
	if data != nil {
		w.out.Next(nil)
	} else {
		w.out.Next(w.out.Batch)
	}
	if w.looks++; w.looks%lookEvery == 0 {
		w.checkTwin()
	}
	w.audited.facts, w.audited.effects = 0, 0
	if err := w.unread; err != nil && w.violation == nil {
		w.unread = nil
		w.readFailed(err)
	}
}

// groupBytes is about how much is written as one group.
const groupBytes = 16 << 10

// write hands what is pending to the journal, and reports whether that went well.
func (w *world) write() bool {
	for first := true; first || len(w.pending) > 0; first = false {
		n, bytes := 0, 0
		for n < len(w.pending) && bytes < groupBytes {
			bytes += len(w.pending[n].Data) + journal.Overhead
			n++
		}
		if !w.writeGroup(n) {
			return false
		}
	}
	if before := w.result.Recoveries; !w.besides && w.o.Mutant != MutantSpendReserve && (w.tight || w.full || w.journal.Stats().Spares < 2) {
		w.prepare()
		return w.violation == nil && w.result.Recoveries == before
	}
	return true
}

// writeGroup writes the first n of the batches that are pending, as one group.
func (w *world) writeGroup(n int) bool {
	group := append(w.pending[:n:n], w.neighbor.more(w)...)
	if len(group) == 0 || w.violation != nil {
		return w.violation == nil
	}
	if before := w.result.Recoveries; !w.keepReserve() || w.violation != nil || w.result.Recoveries != before {
		return false
	}
	bytes := 0
	for _, b := range group {
		if bytes += len(b.Data) + journal.Overhead; b.Log == logID {
			w.tried = b.Index
		}
	}
	var err error
	if !w.besides { // that keeps house, too
		err = w.journal.Reserve(bytes, journal.Committed)
	}
	if err == nil {
		err = w.journal.Write(group)
		w.tearing = err != nil && !errors.Is(err, journal.ErrNoSpace) && !errors.Is(err, journal.ErrUnready)
	}
	switch {
	case err == nil: // else nothing on the disk says more than before
		w.marked, w.neighbor.marked = w.safe, w.neighbor.safe
		w.neighbor.wrote()
		w.pending, w.written = w.pending[n:], w.tried
		return true
	case w.besides && errors.Is(err, journal.ErrUnready): // it has to wait until house is kept
		return false
	case errors.Is(err, journal.ErrNoSpace):
		w.result.Stuck++
		w.overdone = w.overdone || w.underWay() > 2*inFlight
		w.full = true
		return false
	}
	return w.survive(err)
}

// sync makes safe what was written, and lets effects go.
func (w *world) sync() {
	if w.violation != nil {
		return
	}
	if err := w.journal.Sync(); err != nil {
		w.survive(err)
		return
	}
	w.becameSafe()
}

func (w *world) becameSafe() {
	w.pages.safe = w.pages.written()
	w.safe, w.recorded = w.written, max(w.recorded, w.marked)
	w.neighbor.safe, w.neighbor.recorded = w.neighbor.written, max(w.neighbor.recorded, w.neighbor.marked)
	w.advanceBase(w.recorded)
	w.release()
}

// record notes that the disk itself says what is safe.
func (w *world) record() { w.recorded, w.neighbor.recorded = w.safe, w.neighbor.safe }

// settle writes and syncs everything, and reports whether that went well.
func (w *world) settle() bool {
	w.finish()
	if w.violation != nil || !w.write() {
		return false
	}
	before := w.result.Recoveries
	w.sync()
	return w.result.Recoveries == before
}

func (w *world) markSafe() {
	if w.violation != nil {
		return
	}
	if err := w.journal.MarkSafe(); err != nil {
		w.survive(err)
	} else if w.written == w.safe && w.neighbor.written == w.neighbor.safe {
		w.record()
	}
}

// forget drops batches from memory: what they hold is read from the disk from now on.
func (w *world) forget() {
	for i := range w.recent {
		if i <= w.written {
			delete(w.recent, i)
		}
	}
	maps.DeleteFunc(w.pages.recent, func(i place.Index, _ []byte) bool { return i <= w.pages.safe })
}
