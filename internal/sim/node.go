package sim

import (
	"errors"
	"maps"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	vhostName = "/"
	logID     = storage.LogID(1)
	// segmentBytes is the least that the journal takes: segments roll and come back within one run.
	segmentBytes = 64 << 10
	// reserveSegments is what settles and moves may take when the disk is full: as many as in production.
	reserveSegments = 4
)

// Record implements storage.Records: from memory, or from the disk.
func (w *world) Record(r storage.Ref) []byte {
	data, ok := w.recent[r.Index]
	if !ok {
		return w.read(r)
	}
	if int(r.Offset+r.Size) > len(data) {
		w.violate(Readable, "record %+v lies beyond its batch of %d bytes", r, len(data))
		panic(storage.Fault{Err: errors.New("beyond its batch")})
	}
	return data[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
}

// Head implements storage.Records.
func (w *world) Head(r storage.Ref, n int) []byte { return w.Record(r.First(n)) }

// stamp is what the engine's clock says: down, up, and the wall.
func (w *world) stamp() vhost.Stamp {
	const ms = 1_000_000
	return vhost.Stamp{
		Now: deadline.Instant(w.clock / ms), From: deadline.Instant((w.clock + ms - 1) / ms),
		Wall: deadline.Instant((w.clock + w.skew) / ms), Index: w.next, Entropy: w.dice.Uint64(), Rights: rights{w},
	}
}

// decide steps one command, passes a refusal on, and lets the checkers look. What the machine leaves to ticks follows
// at once, each portion a batch of its own, which may be the last that is written. It reports whether the machine took
// the command; on a fault of the disk the machine is gone.
func (w *world) decide(c vhost.Command) (ok bool) {
	if k := c.Kind; w.o.Portions > 0 && k != vhost.Tick && k != vhost.Recovered && k != vhost.SetSpace &&
		!w.settleDue() {
		return false
	}
	s, recoveries := w.stamp(), w.result.Recoveries
	st := w.stepOf(s, &c, w.foresee(&c))
	refused, ok := w.portion(st, s, c)
	for most := w.ticksMost(); ok && w.violation == nil && c.Kind != vhost.SetSpace && w.goesOn(); {
		if st.portions > most {
			w.violate(Ends, "%d portions have not done what a command leads to", st.portions)
			return false
		}
		w.unfinished = true
		w.finish()
		w.unfinished = false
		if w.violation != nil || w.result.Recoveries != recoveries {
			return false
		}
		w.result.Portions++
		_, ok = w.portion(st, w.stamp(), vhost.Command{Kind: vhost.Tick})
	}
	if !ok || w.violation != nil {
		return false
	}
	w.audited(st)
	if refused == nil {
		w.result.Succeeded[c.Kind]++
	} else {
		w.result.Refused++
	}
	return refused == nil
}

// portion steps a command, or a tick that goes on with it, and lets the checkers look at what follows. It reports false
// after a fault of the disk.
func (w *world) portion(st *step, s vhost.Stamp, c vhost.Command) (refused *amqp.Error, ok bool) {
	if fault := unwound(func() { refused = w.try(s, c) }); fault != nil {
		w.torn = true
		w.readFailed(fault)
		return nil, false
	}
	if st.portions++; st.portions == 1 {
		st.refused = refused
	}
	st.batch = s.Index
	w.audit(st)
	return refused, true
}

// ticksMost is more ticks than are needed for what is due, of which each takes at least a message on. What ticks make
// is not counted: it could go on for ever.
func (w *world) ticksMost() int {
	n := 1000
	for q := range w.live.All() {
		n += 2 * len(q.Copies)
	}
	return n
}

// settleDue does what is due before a command comes, so that the ticks which go on with it have nothing else to do. It
// reports false if the machine is another one by then.
func (w *world) settleDue() bool {
	recoveries := w.result.Recoveries
	most := w.ticksMost()
	for ticks := 0; w.updateSpace() && w.result.Recoveries == recoveries; ticks++ {
		if ticks > most {
			w.violate(Ends, "%d ticks have not done what is due", ticks)
			return false
		}
		if at, ok := w.vhost.Due(); !ok || at > w.stamp().Now {
			return true
		}
		w.finish()
		if w.decide(vhost.Command{Kind: vhost.Tick}); w.result.Recoveries != recoveries || w.torn {
			return false
		}
	}
	return false
}

// goesOn reports whether the machine has left something to a tick that is due.
func (w *world) goesOn() bool {
	at, due := w.vhost.Due()
	return w.o.Portions > 0 && w.vhost.Unfinished() && due && at <= w.stamp().Now
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
		w.applyToTwin(index)
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
	w.looked.facts, w.looked.effects = 0, 0
	if err := w.unread; err != nil && w.violation == nil {
		w.unread = nil
		w.readFailed(err)
	}
}

// groupBytes is about how much is written as one group.
const groupBytes = 16 << 10

// write hands what is pending to the journal, and reports whether that went well.
func (w *world) write() bool {
	most := groupBytes
	if w.o.Portions > 0 {
		most = 1 << w.dice.IntN(15) // the power goes between two portions, too
	}
	for first := true; first || len(w.pending) > 0; first = false {
		n, bytes := 0, 0
		for n < len(w.pending) && bytes < most {
			bytes += len(w.pending[n].Data) + journal.Overhead
			n++
		}
		if !w.writeGroup(n) {
			return false
		}
	}
	if before := w.result.Recoveries; !w.interleaving && (w.tight || w.full || w.journal.Stats().Spares < 2) {
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
	w.tried = w.written // the group may be all of other logs
	for i := range group {
		b := &group[i]
		if bytes += len(b.Data) + journal.Overhead; b.Log == logID {
			w.tried = b.Index
			b.Cuts = w.tail > 0 && b.Index == w.written+1 // it takes the place of what was taken back
		}
	}
	var err error
	if !w.interleaving { // Reserve is maintenance, too
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
		if w.tried > w.written {
			w.tail = 0
		}
		w.pending, w.written = w.pending[n:], w.tried
		return true
	case w.interleaving && errors.Is(err, journal.ErrUnready): // it has to wait for maintenance
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
	w.synced = w.written
	w.neighbor.safe, w.neighbor.recorded = w.neighbor.written, max(w.neighbor.recorded, w.neighbor.marked)
	w.commit(0)
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
	} else if w.written == w.synced && w.neighbor.written == w.neighbor.safe {
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
	maps.DeleteFunc(w.pages.recent, func(i storage.Index, _ []byte) bool { return i <= w.pages.safe })
}
