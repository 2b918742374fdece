package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// LossCauses are why a dead letter finds no place, in the order in which lists show them.
func LossCauses() []fact.Cause {
	return []fact.Cause{fact.LostExchange, fact.LostRoute, fact.LostCycle, fact.LostRefused, fact.LostHops, fact.GoneLimit, fact.Discarded}
}

// NewestLostLetter is the greatest ID that a lost letter ever had, 0 if there was none.
func (r Reader) NewestLostLetter() MessageID { return idOf(r.v.lost.messages.Next(0) - 1) }

// LostIDs lists the lost letters with IDs greater than after and at most last, oldest first: those of one
// cause or, if it is 0, all; at most most of them, found among the first scan. Next is what to go on after, 0 at the
// end. It reads no record.
func (r Reader) LostIDs(after, last MessageID, cause fact.Cause, most, scan int) (ids []MessageID, next MessageID) {
	r.v.lost.messages.Each(seqOf(after)+1, func(seq queue.Seq, e *queue.Entry) bool {
		id := idOf(seq)
		switch {
		case id > last:
			return false
		case len(ids) >= most || scan <= 0:
			next = id - 1
			return false
		}
		scan--
		if cause == 0 || fact.Cause(e.Priority) == cause {
			ids = append(ids, id)
		}
		return true
	})
	return ids, next
}

// Delays tells when the first and the last message that waits in a queue will be ready again. It looks through the
// first scan messages: ok is false if they were not all that wait, or none waits.
func (r Reader) Delays(name string, scan int) (next, last deadline.Instant, ok bool) {
	q := r.v.queueNamed(name)
	if q == nil {
		return 0, 0, false
	}
	waiting := q.messages.Count(queue.Waiting)
	if waiting == 0 {
		return 0, 0, false
	}
	q.messages.Each(0, func(seq queue.Seq, e *queue.Entry) bool {
		if scan--; scan < 0 {
			return false
		}
		if e.State != queue.Waiting {
			return true
		}
		waiting--
		until := q.messages.Side(seq).Until
		if next == 0 || until < next {
			next = until
		}
		last = max(last, until)
		return waiting > 0
	})
	return next, last, waiting == 0
}

// LostKeys tells with which keys a lost letter goes on, nil if there is none.
func (r Reader) LostKeys(id MessageID) []string {
	seq, ok := r.v.lostSeq(id)
	if !ok {
		return nil
	}
	return r.v.lostLetter(seq).History.Keys
}

// LostCounts counts what is in the lost store.
type LostCounts struct {
	Messages int
	Bytes    int64
	ByCause  [fact.Causes]uint64
	Evicted  uint64 // since the vhost was opened
}

// LostStore counts the lost letters.
func (r Reader) LostStore() LostCounts {
	m := r.v.lost.messages
	return LostCounts{Messages: m.Ready(), Bytes: m.Bytes(queue.Ready), ByCause: r.v.lostBy, Evicted: r.v.books.Ended[fact.GoneEvicted]}
}

// LostLetters visits the lost letters with an ID greater than after, oldest first, until visit returns
// false. Each costs a read of its info.
func (r Reader) LostLetters(after MessageID, visit func(LostLetter) bool) {
	r.v.lost.messages.Each(seqOf(after)+1, func(seq queue.Seq, _ *queue.Entry) bool { return visit(r.v.lostLetter(seq)) })
}

// LostLetter shows one lost letter with its content, which is a copy and has so many octets of the body at
// the most; all is how many the body has.
func (r Reader) LostLetter(id MessageID, most int) (l LostLetter, content View, all int64, ok bool) {
	x, ok := r.Find(Where{Lost: true}, id)
	if !ok {
		return l, content, 0, false
	}
	return r.v.lostLetter(x.seq), x.copy(most), x.BodyBytes(), true
}

func (v *VHost) lostLetter(seq queue.Seq) LostLetter {
	e := v.lost.messages.Entry(seq)
	h, x, err := parseLostInfo(v.record(v.lost.messages.Side(seq).History))
	if err != nil {
		panic(err) // our own bytes, under a checksum
	}
	return LostLetter{
		ID: idOf(seq), Cause: x.cause, At: x.at, Target: x.target, History: h, Size: e.Size,
		Persistent: e.Flags&queue.Persistent != 0,
	}
}

// HeldDeadLetter is a held dead letter as lists show it.
type HeldDeadLetter struct {
	ID      MessageID // of the message in its queue
	Cause   fact.Cause
	History fact.History // the newest death is why it is a dead letter
	Took    []string
	Size    uint32
	Ref     storage.Ref
}

// HeldDeadLetters lists the held dead letters of a queue with an ID greater than after, in queue order: most
// at the most, and as many as their histories and the names of queues fit into so many bytes, at least one.
// More reports whether there are others behind them. Each costs a read of its history; beside that the held
// dead letters of the queue are looked through once.
func (r Reader) HeldDeadLetters(name string, after MessageID, most int, bytes int64) (all []HeldDeadLetter, more bool) {
	q := r.v.queueNamed(name)
	if q == nil {
		return nil, false
	}
	for _, seq := range q.heldFrom(seqOf(after)+1, most+1) {
		history := q.messages.Side(seq).History
		bytes -= int64(history.Size)
		for _, id := range q.held[seq].took {
			if t := r.v.queues[id]; t != nil {
				bytes -= int64(len(t.object.Name))
			}
		}
		if len(all) == most || len(all) > 0 && bytes < 0 {
			return all, true
		}
		e := q.messages.Entry(seq)
		x := HeldDeadLetter{
			ID: idOf(seq), Cause: q.held[seq].cause, History: r.v.historyAt(history), Size: e.Size, Ref: e.Ref(r.v.log),
		}
		for _, id := range q.held[seq].took {
			if t := r.v.queues[id]; t != nil {
				x.Took = append(x.Took, t.object.Name)
			}
		}
		all = append(all, x)
	}
	return all, false
}
