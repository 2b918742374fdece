package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// drain lets the disk run full with the reserve complete, and then takes everything out of the queues: that must go,
// and give the space back.
func (w *world) drain() {
	if w.o.Fault != FaultNone {
		return
	}
	w.mend("never")
	w.heal()
	recoveries := w.result.Recoveries
	alive := func() bool { return w.violation == nil && w.result.Recoveries == recoveries }
	for more := true; more && alive(); {
		w.prepare()
		more = w.journal.Stats().Spares < reserveSegments+2
	}
	if !alive() {
		return
	}
	// The reserve of this life is small, and so must be what is written for want of memory.
	w.vhost.KeepHot(1<<20, 1<<20)
	defer func() {
		if w.vhost != nil {
			w.vhost.KeepHot(w.hot())
		}
	}()
	w.tight = true
	w.faulty.Budget(0)
	// One step has made more than a broker lets be under way, and takes the reserve before anybody is told to wait.
	overdone := func() bool { return w.underWay() > reserveSegments*segmentBytes/4 }
	for n := 0; n < 400 && !w.full && alive(); n++ {
		if w.work(); overdone() {
			return
		}
		if alive() {
			w.write()
		}
	}
	if !alive() || !w.full || overdone() { // before the disk ran full
		return
	}
	for _, n := range append([]*clients.Connection(nil), w.Connections...) {
		if alive() {
			w.decide(vhost.Command{Kind: vhost.Disconnect, Conn: n.ID})
		}
	}
	for round, tries := 0, 0; alive() && w.undrained(); round, tries = round+1, tries+1 {
		large := func(b journal.Batch) bool { return len(b.Data) > segmentBytes/2 }
		if round > 300 || slices.ContainsFunc(w.pending, large) {
			return // there was too much of it, or too much at once for segments as small as these
		}
		if w.take(); alive() && w.settle() {
			tries = 0
		}
		if w.full || w.Chance(4) {
			w.keepAllHouse(alive)
		}
		if tries > patience && alive() {
			w.violate(Drains, "the disk is full, and what drains it finds no space: %+v", w.journal.Stats())
		}
	}
	w.regain(alive)
}

// underWay counts the bytes that are not written yet.
func (w *world) underWay() (n int) {
	for _, b := range w.pending {
		n += len(b.Data)
	}
	return n
}

// undrained reports whether queues, or lost letters, are left.
func (w *world) undrained() bool {
	return w.live.Queues()+w.live.Scheduled()+len(w.live.LostStore.Copies)+len(w.pending) > 0
}

// take has a client take some messages out of a queue and ack them, and delete it once it is short.
func (w *world) take() {
	if len(w.Connections) == 0 {
		w.decide(w.Connect())
	}
	n := w.Connections[0]
	if len(n.Channels) == 0 {
		w.decide(w.OpenChannel(n))
	}
	ch := n.Channels[0]
	ask := func(c vhost.Command) {
		if c.Conn, c.Channel = n.ID, ch.ID; w.violation == nil && w.Channels[ch.ID] == ch && !ch.Dead {
			w.decide(c)
		}
	}
	if there := w.live.LostStore.Seqs(); len(there) > 0 {
		s := &vhost.Selection{}
		for _, seq := range there[:min(len(there), 50)] {
			s.IDs = append(s.IDs, uint64(seq)+1)
		}
		ask(vhost.Command{Kind: vhost.Discard, Selection: s})
	}
	for q := range w.live.All() {
		if q.ID == ledger.LostStoreID {
			return
		}
		if q.Kept != nil {
			if len(q.Copies) > 0 {
				ask(vhost.Command{Kind: vhost.PurgeSchedule, Definition: &vhost.Definition{Name: q.Name}})
			}
			continue
		}
		// it lets nobody get
		if view, ok := w.vhost.Reader().Queue(q.Name); ok && view.Settings.SingleActive && view.Type == "quorum" {
			ask(vhost.Command{Kind: vhost.DeleteQueue, Definition: &vhost.Definition{Name: q.Name}})
			break
		}
		for range min(q.Counts[queue.Ready], 20) {
			ask(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: q.Name}})
		}
		ask(vhost.Command{Kind: vhost.Ack, Multiple: true})
		if q.Counts[queue.Ready] < 20 {
			ask(vhost.Command{Kind: vhost.DeleteQueue, Definition: &vhost.Definition{Name: q.Name}})
		}
		break
	}
}

// keepAllHouse takes a checkpoint, and gives back what it lets go.
func (w *world) keepAllHouse(alive func() bool) {
	for n := 0; alive() && (n == 0 || w.checkpoint != nil) && n < 1000; n++ {
		w.advanceCheckpoint()
	}
}

// completions is how many calls complete a reserve: each makes or fills a file, and about half of them do nothing.
const completions = 100

// regain makes sure that a disk from which everything was taken has space for more.
func (w *world) regain(alive func() bool) {
	for range 2 { // one may have been under way
		w.keepAllHouse(alive)
	}
	if !alive() {
		return
	}
	if err := w.journal.Reserve(journal.Overhead, journal.Growing); err != nil {
		w.violate(Drains, "everything was taken from a full disk, and there is no space: %v, %+v", err,
			w.journal.Stats())
	}
	w.result.Drained++
	w.unlimitSpace()
	for n := 0; n < completions && w.full && alive(); n++ {
		w.prepare()
	}
	if w.full && alive() {
		w.violate(Drains, "the disk has space again, and publishers wait")
	}
}
