package sim

import (
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// inFlight is how many bytes may be on their way to the journal.
const inFlight = segmentBytes / 2

// segmentsLeast is what is left of a log from which everything was taken: one that is open, one that was before the
// last checkpoint, one with what is live of others, the state's pages, and one with what was ended without a look at
// it.
const segmentsLeast = 4

// fullLife makes a disk that is full most of the time: of a few segments beyond the reserve, with a small reserve in
// some lives. Another process takes space and gives it back, in some lives all of it at once.
func (w *world) fullLife() {
	w.reserve = int64(1+w.dice.IntN(10)) * segmentBytes
	w.greedy, w.squeezed = w.Chance(3), !w.Chance(3)
	w.tight = true
	w.faulty.InBlocks(vfs.BlockBytes)
	w.faulty.Budget(int64(8+w.dice.IntN(24)) * segmentBytes)
}

// fullDisk is what happens beside clients in a full life: another process takes space, or gives some back; and with
// Outages the power goes while a broker is short of space, with something on its way.
func (w *world) fullDisk() {
	switch {
	case w.squeezed && w.Chance(4):
		w.neighborTakesMost()
	case w.Chance(40):
		w.neighborTakes()
	}
	if w.o.Outages && w.violation == nil && w.full && w.Chance(60) {
		w.write()
		if w.violation == nil && w.journal != nil {
			w.powerCut()
		}
	}
}

// neighborTakes lets another process take space, or give some back.
func (w *world) neighborTakes() {
	switch left := w.faulty.Left(); {
	case left < 0 || w.looking:
	case w.Chance(3):
		w.faulty.Budget(left + w.dice.Int64N(3*segmentBytes))
	default:
		w.faulty.Budget(left - w.dice.Int64N(left+1))
	}
}

// neighborTakesMost lets another process take almost all space that there is, again and again.
func (w *world) neighborTakesMost() {
	if left := w.faulty.Left(); left > 0 && !w.looking {
		w.faulty.Budget(min(left, w.dice.Int64N(segmentBytes)))
	}
}

// takeAll lets a greedy process take what was given up.
func (w *world) takeAll() {
	if w.o.FullDisk && w.greedy && w.tight && w.faulty.Left() > 0 {
		w.faulty.Budget(0)
	}
}

// countStock counts the files that the journal has, before the power goes: segments, and those that wait to be written.
func (w *world) countStock() {
	if w.stock = 0; w.o.FullDisk && w.journal != nil {
		s := w.journal.Stats()
		w.stock = s.Segments + s.Spares
	}
}

// checkStock makes sure that the start behind that has found them again. Of the last step one may be missing: what was
// to take the place of others. Where the disk has harmed something, a start may leave what it cannot judge.
func (w *world) checkStock() {
	if s := w.journal.Stats(); s.Segments+s.Spares < w.stock-1 && !w.ailing && w.harm == nil && !w.missing {
		w.violate(Drains, "the journal had %d files of segments before a power cut, and after it %+v", w.stock, s)
	}
	w.stock = 0
}

// pace writes what is on its way as soon as it is much, as a broker's runners wait then. It notes if a single step has
// made more than that.
func (w *world) pace() {
	if !w.o.FullDisk || w.violation != nil || w.interleaving || w.torn {
		return
	}
	use := w.spaceFor()
	w.result.Space[use]++
	if n := w.underWay(); n > inFlight {
		w.overdone = w.overdone || n > 2*inFlight && w.full
		w.write()
	}
}

// drainFull is the end of a full life: publishers stop, nobody gives space back or takes any,
// clients ack, purge and delete everything. From whatever state, that must go on until nothing is
// left, and then there is space for publishing.
func (w *world) drainFull() {
	w.repair()
	w.mend("never")
	w.forced, w.ending = false, true
	recoveries := w.result.Recoveries
	alive := func() bool { return w.violation == nil && w.result.Recoveries == recoveries }
	for _, n := range append([]*clients.Connection(nil), w.Connections...) {
		if alive() {
			w.decide(vhost.Command{Kind: vhost.Disconnect, Conn: n.ID})
		}
	}
	for idle := 0; alive() && w.undrained(); idle++ {
		if w.overdone {
			w.result.Excused++
			return
		}
		before := w.remaining()
		if w.updateSpace() {
			w.take()
		}
		if alive() && w.settle() && w.remaining() < before {
			idle = 0
		}
		if w.full || w.Chance(4) {
			w.keepAllHouse(alive)
		}
		w.takeAll()
		if alive() {
			w.prepare()
		}
		if idle > 60 && alive() && w.spaceFor() == journal.Growing {
			break // there is space; what is left, clients have to settle otherwise
		}
		if idle > 60 && alive() {
			w.violate(Drains,
				"the disk is full, there is space for use %d, and what drains it goes no further: %d are left; %+v",
				w.spaceFor(), w.remaining(), w.journal.Stats())
		}
	}
	for n := 0; n < 8 && alive() && w.spaceFor() != journal.Growing; n++ {
		w.updateSpace()
		w.settle()
		w.keepAllHouse(alive)
		w.takeAll()
		if alive() {
			w.prepare()
		}
	}
	if !alive() {
		return
	}
	// A disk that is smaller than the reserve never has space for publishing; then the log is as short as it can be.
	if s := w.journal.Stats(); !w.overdone && w.journal.SpaceFor() != journal.Growing && s.Segments > segmentsLeast {
		w.violate(Drains, "everything was taken from a full disk, and there is space for use %d only: %+v",
			w.journal.SpaceFor(), s)
		return
	}
	w.result.Drained++
}

// begunAgain takes a checkpoint, as a broker does that starts on a full disk.
func (w *world) begunAgain() {
	recoveries := w.result.Recoveries
	w.keepAllHouse(func() bool { return w.violation == nil && w.result.Recoveries == recoveries && w.deferred == nil })
}

// remaining counts what is left to be drained.
func (w *world) remaining() (n int) {
	for q := range w.live.All() {
		n += 1 + len(q.Copies)
	}
	return n + len(w.pending)
}
