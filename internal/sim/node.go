package sim

import (
	"errors"

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
)

// readFault is a read that failed in the middle of a step: it unwinds to decide.
type readFault struct{ err error }

// Record implements place.Records: from memory, or from the disk.
func (w *world) Record(r place.Ref) []byte {
	data, err := w.batch(r.Index)
	if err != nil {
		panic(readFault{err})
	}
	if int(r.Offset+r.Size) > len(data) {
		w.violate(Readable, "record %+v lies beyond its batch of %d bytes", r, len(data))
		panic(readFault{errors.New("beyond its batch")})
	}
	return data[r.Offset : r.Offset+r.Size : r.Offset+r.Size]
}

func (w *world) batch(i place.Index) ([]byte, error) {
	if data, ok := w.recent[i]; ok {
		return data, nil
	}
	return w.journal.ReadBatch(nil, logID, i)
}

// stamp is what the engine's clock says: down, up, and the wall.
func (w *world) stamp() vhost.Stamp {
	const ms = 1_000_000
	return vhost.Stamp{
		Now: deadline.Instant(w.clock / ms), From: deadline.Instant((w.clock + ms - 1) / ms),
		Wall: deadline.Instant((w.clock + w.skew) / ms), Index: w.next, Entropy: w.dice.Uint64(),
	}
}

// decide steps one command, passes a refusal on, and lets the checkers look. It reports whether the machine took
// the command; on a fault of the disk the machine is gone.
func (w *world) decide(c vhost.Command) (ok bool) {
	s := w.stamp()
	x := w.foresee(&c)
	err, fault := w.try(s, c)
	if fault != nil {
		w.readFailed(fault)
		return false
	}
	w.audit(s, &c, x, err)
	if err == nil {
		w.result.Succeeded[c.Kind]++
	} else {
		w.result.Refused++
	}
	return err == nil
}

// try steps one command, or refuses it.
func (w *world) try(s vhost.Stamp, c vhost.Command) (refused *amqp.Error, fault error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case readFault:
			fault = p.err
		default:
			panic(p)
		}
	}()
	batch, effects, facts := len(w.out.Batch), len(w.out.Effects), len(w.out.Facts)
	err := w.vhost.Step(s, c, &w.out)
	if err == nil {
		return nil, nil
	}
	if !errors.As(err, &refused) {
		w.violate(Refusals, "%v is no refusal", err)
		return amqp.InternalError("%v", err), nil
	}
	if len(w.out.Batch) != batch || len(w.out.Effects) != effects || len(w.out.Facts) != facts {
		w.violate(Refusals, "command %d was refused (%v) and left a trace", c.Kind, refused)
	}
	w.vhost.Refuse(s, c, refused, &w.out)
	return refused, nil
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

// write hands what is pending to the journal, as one group, and reports whether that went well.
func (w *world) write() bool {
	group := append(w.pending[:len(w.pending):len(w.pending)], w.neighbor.more(w)...)
	if len(group) == 0 {
		return true
	}
	bytes := 0
	for _, b := range group {
		bytes += len(b.Data) + journal.Overhead
	}
	w.tried, w.marked, w.neighbor.marked = w.next-1, w.safe, w.neighbor.safe
	err := w.journal.Reserve(bytes, journal.Draining)
	if err == nil {
		err = w.journal.Write(group)
	}
	if err != nil {
		if errors.Is(err, journal.ErrNoSpace) {
			w.result.Full++
			w.full = true
			return false
		}
		return w.survive(err)
	}
	w.full = false
	w.neighbor.wrote()
	w.pending, w.written = nil, w.next-1
	return true
}

// sync makes safe what was written, and lets effects go.
func (w *world) sync() {
	if err := w.journal.Sync(); err != nil {
		w.survive(err)
		return
	}
	w.becameSafe()
}

func (w *world) becameSafe() {
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

// frozen is a state on its way into a checkpoint: while it is written, the machine goes on.
type frozen struct {
	at     place.Index
	state  []byte
	live   []place.Index
	stored bool
}

// checkpoint does one of its steps: freeze, store, reclaim.
func (w *world) checkpoint() {
	switch z := w.frozen; {
	case z == nil:
		w.finish()
		w.frozen = &frozen{at: w.next - 1, state: w.vhost.Snapshot(nil), live: w.vhost.LiveBatches()}
		w.checkSnapshot()
	case !z.stored:
		if z.at > w.safe && !w.settle() {
			return
		}
		if w.markSafe(); w.frozen != z {
			return
		}
		err := w.journal.Checkpoint(logID, z.at, z.state)
		if err == nil {
			w.frozen.stored = true
			err = w.neighbor.checkpoint(w)
		}
		if err != nil && !errors.Is(err, journal.ErrNoSpace) {
			w.survive(err)
		}
	default:
		w.frozen = nil
		n, err := w.journal.Reclaim(func(log place.LogID, first, last place.Index) (batches int64) {
			if log != logID {
				return 0
			}
			for _, i := range z.live {
				if first <= i && i <= last {
					batches++
				}
			}
			return batches
		})
		w.result.Reclaimed += n
		if err != nil {
			w.survive(err)
		}
	}
}

func (w *world) prepare() {
	_, err := w.journal.Prepare()
	if err != nil && !errors.Is(err, journal.ErrNoSpace) {
		w.survive(err)
	}
}

func (w *world) markSafe() {
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
}
