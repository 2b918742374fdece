package sim

import (
	"bytes"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A checkpoint is a state on its way into a checkpoint, and the space that is given back behind it.
// While it is on its way, the machine goes on.
type checkpoint struct {
	at         storage.Index
	projection []byte // of the machine at that moment; nil: nobody looks
	use        vhost.Use
	state      [][]byte // nil until all is saved
	stored     bool
	reclaimed  bool
	journal    *journal.Journal
	rewriting  *journal.Rewriting // nil: none is underway
	marked     bool               // all that is live there has been named
	copied     bool
	took       bool // the rewriting has taken a spare
	victims    int  // when it began: what turns out to be live may leave fewer
}

// advanceCheckpoint does one of its steps: begin, save a portion, store, reclaim, mark a portion,
// copy a portion, adopt.
func (w *world) advanceCheckpoint() {
	j := w.journal
	var next func(z *checkpoint) error
	switch z := w.checkpoint; {
	case z == nil:
		if fault := unwound(w.beginCheckpoint); fault != nil {
			w.readFailed(fault)
		}
		return
	case z.state == nil:
		next = w.saveCheckpoint
	case !z.stored:
		next = w.store
	case !z.reclaimed:
		next = w.reclaim
	case z.rewriting == nil:
		next = w.sparse
	case !z.marked:
		next = w.mark
	case !z.copied:
		next = w.copy
	default:
		next = w.adopt
	}
	var err error
	if fault := unwound(func() { err = next(w.checkpoint) }); fault != nil {
		w.readFailed(fault)
		return
	}
	if w.journal == j && w.violation == nil && err != nil && !errors.Is(err, journal.ErrNoSpace) {
		w.survive(err)
	}
}

// keepHouse does a few of these steps, mostly with nothing between them.
func (w *world) keepHouse() {
	recoveries := w.result.Recoveries
	for n := w.dice.IntN(6); n >= 0 && w.violation == nil && w.result.Recoveries == recoveries; n-- {
		w.advanceCheckpoint()
		if z := w.checkpoint; z != nil && z.copied && w.Chance(2) {
			return // messages may end before the rest goes
		}
	}
}

// forsake forgets the checkpoint in the making: its machine is gone.
func (w *world) forsake() {
	if z := w.checkpoint; z != nil && z.rewriting != nil && z.journal == w.journal {
		w.journal.Abandon(z.rewriting)
	}
	w.checkpoint = nil
}

// beginCheckpoint begins a checkpoint of the state between two batches.
func (w *world) beginCheckpoint() {
	recoveries := w.result.Recoveries
	w.finish()
	if w.violation != nil || w.result.Recoveries != recoveries {
		return
	}
	if w.vhost.Ruling() && !w.Chance(8) { // the engine waits, but not for ever
		return
	}
	z := &checkpoint{at: w.next - 1}
	if w.Chance(3) { // it is looked at
		w.look(func() { z.projection = w.vhost.Projection() })
	}
	w.vhost.BeginCheckpoint(z.at)
	z.use = w.vhost.Use()
	w.checkpoint = z
}

// saveCheckpoint saves a portion of the state; the machine has gone on since the last one.
func (w *world) saveCheckpoint(z *checkpoint) error {
	if w.vhost.SaveCheckpoint(1 + w.dice.IntN(4)) {
		return nil
	}
	z.state = w.vhost.EndCheckpoint()
	w.pages.flush()
	w.vhost.UsePages(&z.use, w.pages.next)
	if z.projection != nil {
		w.look(func() { w.checkSaved(z) })
	}
	return nil
}

// checkSaved makes sure that a checkpoint leads to the state that it was begun in.
func (w *world) checkSaved(z *checkpoint) {
	v := vhost.New(vhostName, logID, w, &spare{node: &w.pages})
	if err := v.ApplyCheckpoint(slices.Concat(z.state...)); err != nil {
		w.violate(Replay, "a checkpoint cannot be applied: %v", err)
		return
	}
	if !bytes.Equal(v.Projection(), z.projection) {
		w.violate(Replay, "a checkpoint after batch %d leads to another state", z.at)
	}
}

// store makes the checkpoint count: the pages that it names, and the batches that it covers, are safe before.
func (w *world) store(z *checkpoint) error {
	if !w.settle() || w.checkpoint != z {
		return nil
	}
	if w.markSafe(); w.checkpoint != z {
		return nil
	}
	if !w.agreed(z.at) {
		w.vhost.CheckpointStored(false)
		w.checkpoint = nil
		return nil
	}
	states := append(w.neighbor.state(), journal.State{Log: logID, At: z.at, Pieces: z.state})
	var errs []error
	err := w.maintain(func(j *journal.Journal) error {
		errs = j.Checkpoints(states)
		return errors.Join(errs...)
	})
	switch {
	case w.checkpoint != z: // the broker was opened again meanwhile
		return nil
	case errs != nil && errs[len(errs)-1] == nil:
		z.stored = true
		w.vhost.CheckpointStored(true)
	case w.Chance(2): // it is given up; else it is tried again
		w.vhost.CheckpointStored(false)
		w.checkpoint = nil
	}
	return err
}

// reclaim gives back the segments of which nothing is needed.
func (w *world) reclaim(z *checkpoint) error {
	var n int
	err := w.maintain(func(j *journal.Journal) (err error) {
		n, err = j.Reclaim(z.live)
		return err
	})
	w.result.Reclaimed += n
	if w.checkpoint != z {
		return nil
	}
	if z.reclaimed = true; n > 0 {
		w.checkKept()
	}
	return err
}

// live tells how many bytes of some batches are referred to. Of the neighbor's, its checkpoint has all.
func (z *checkpoint) live(log storage.LogID, first, last storage.Index) int64 {
	if log.Owner() != logID {
		return 0
	}
	return z.use.Bytes(log, first, last)
}

// sparse begins to gather what is live in sparse segments in a new one; without any, the checkpoint is done.
func (w *world) sparse(z *checkpoint) error {
	if w.Chance(2) { // what ends now may be lost again
		if w.work(); w.checkpoint != z {
			return nil
		}
	}
	share := []float64{journal.SparseShare, 0.9}[w.dice.IntN(2)]
	var rewriting *journal.Rewriting
	took := false
	z.journal = w.journal
	err := w.maintain(func(j *journal.Journal) (err error) {
		before := j.Stats()
		defer func() {
			after := j.Stats()
			took = after.Spares+after.Segments < before.Spares+before.Segments
		}()
		rewriting, err = j.Sparse(z.live, share)
		z.rewriting = rewriting // whoever forsakes the checkpoint behind this call abandons it
		return err
	})
	if w.checkpoint != z {
		return nil
	}
	if rewriting == nil {
		w.checkpoint = nil
		return err
	}
	z.took, z.victims = took, rewriting.Victims()
	var spans []storage.Span
	for _, r := range rewriting.Ranges() {
		spans = append(spans, storage.Span(r))
	}
	w.vhost.Mark(spans)
	return nil
}

// mark finds a portion of what is live there.
func (w *world) mark(z *checkpoint) error {
	if w.vhost.MarkSome(1 + w.dice.IntN(8)) {
		return nil
	}
	z.rewriting.Keep(w.vhost.Marked())
	z.marked = true
	return nil
}

// copy copies a portion of it. A victim that is damaged is left alone.
func (w *world) copy(z *checkpoint) error {
	done, err := z.rewriting.Step(1 + w.dice.IntN(8<<(4*w.dice.IntN(5))))
	switch {
	case err == nil:
		z.copied = done
	case w.spoilt(err):
		w.mend("copy")
		return nil
	default:
		w.journal.Abandon(z.rewriting)
		w.checkpoint = nil
	}
	return err
}

// adopt puts the new segment in the place of the sparse ones, once all is safe that has ended meanwhile, and the disk
// says so.
func (w *world) adopt(z *checkpoint) error {
	if !w.settle() || w.checkpoint != z {
		return nil
	}
	if w.markSafe(); w.checkpoint != z {
		return nil
	}
	if !w.agreed(w.synced) {
		w.journal.Abandon(z.rewriting)
		w.checkpoint = nil
		return nil
	}
	var n int
	err := w.maintain(func(j *journal.Journal) (err error) {
		n, err = j.Adopt(z.rewriting)
		return err
	})
	if w.checkpoint != z {
		return nil
	}
	if errors.Is(err, journal.ErrNoSpace) { // it is tried again
		return err
	}
	w.checkpoint = nil
	if err == nil {
		if z.took && n == 1 && z.victims == 1 && w.harm == nil {
			w.violate(Drains, "on a full disk a rewriting took a segment, and gave one back")
		}
		w.result.Reclaimed += n
		if w.result.Rewritten += n; n > 0 {
			w.checkKept()
		}
		if w.o.Fault == FaultNone && w.step > 0 && !w.ending && w.Chance(8) { // is all that the disk says now enough?
			w.powerCut()
		}
	}
	return err
}

// checkKept reads, after segments were given back, every record and every page that the machine refers to.
func (w *world) checkKept() {
	w.look(func() {
		w.vhost.Mark([]storage.Span{{Log: logID, First: 1, Last: w.written}, {Log: pagesLog, First: 1, Last: w.pages.next}})
		for w.vhost.MarkSome(1 << 20) {
		}
		for _, r := range w.vhost.Marked() {
			switch {
			case w.recent[r.Index] == nil && r.Log == logID:
				if maphash.Bytes(sumSeed, w.read(r)) != w.contents[r].sum {
					w.violate(w.unlike(), "other bytes at %+v than stored", r)
				}
			case r.Log == pagesLog:
				w.pages.Get(r)
			}
		}
	})
}
