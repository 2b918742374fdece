package sim

import (
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// ledger is the slow and obvious version of what queues hold.
type ledger struct {
	lines map[vhost.QueueID]*line
	made  uint64          // durable copies
	ended uint64          // of these
	gone  map[uint64]bool // messages of which a durable copy has ended
}

// line is a queue.
type line struct {
	name    string
	durable bool
	copies  map[queue.Seq]*entry
	last    map[uint64]queue.Seq // by lane, the last ever given, plus 1
}

// entry is a copy of a message in a queue.
type entry struct {
	line        *line
	seq         queue.Seq
	message     uint64
	ref         place.Ref
	history     place.Ref
	deaths      []death
	keys        []string // of its last hop, nil if unknown
	durable     bool
	letter      bool
	unacked     bool
	redelivered bool
	handed      bool // was with a consumer when the machine was opened, and comes back
	zero        int  // the step in which it may be delivered though its TTL is 0
	expireAt    deadline.Instant
	at          place.Index // of the batch that made it
	holder      *delivery
	cause       vhost.Cause // by which it has ended
	returned    int         // times
}

// death is what x-death says, as far as it is compared.
type death struct {
	queue, reason string
	count         int64
}

func laneOf(s queue.Seq) uint64 { return uint64(s) >> 56 }

func newLedger() *ledger {
	return &ledger{lines: map[vhost.QueueID]*line{}, gone: map[uint64]bool{}}
}

// clone copies l as it is after a restart: everything is ready.
func (l *ledger) clone() *ledger {
	c := newLedger()
	c.made, c.ended, c.gone = l.made, l.ended, maps.Clone(l.gone)
	for id, from := range l.lines {
		to := &line{name: from.name, durable: from.durable, copies: map[queue.Seq]*entry{}, last: map[uint64]queue.Seq{}}
		for s, e := range from.copies {
			n := *e
			n.line, n.at = to, 0 // it is safe
			to.copies[s] = &n
			to.last[laneOf(s)] = max(to.last[laneOf(s)], s+1)
		}
		c.lines[id] = to
	}
	return c
}

// find returns the copy at a place, nil if there is none.
func (l *ledger) find(q vhost.QueueID, s queue.Seq) *entry {
	if at := l.lines[q]; at != nil {
		return at.copies[s]
	}
	return nil
}

// durables counts the copies that a restart would find.
func (l *ledger) durables() (n uint64) {
	for _, q := range l.lines {
		for _, e := range q.copies {
			if e.durable {
				n++
			}
		}
	}
	return n
}

// head is the ready copy that is next: the smallest Seq of the highest lane.
func (q *line) head() *entry {
	var best *entry
	for s, e := range q.copies {
		if e.unacked {
			continue
		}
		if best == nil || laneOf(s) > laneOf(best.seq) || laneOf(s) == laneOf(best.seq) && s < best.seq {
			best = e
		}
	}
	return best
}

// seqs lists the copies in order.
func (q *line) seqs() []queue.Seq { return slices.Sorted(maps.Keys(q.copies)) }

func (q *line) ready() (n int) {
	for _, e := range q.copies {
		if !e.unacked {
			n++
		}
	}
	return n
}

// add makes a copy.
func (l *ledger) add(q vhost.QueueID, e *entry) {
	at := l.lines[q]
	if at == nil {
		return
	}
	e.line = at
	at.copies[e.seq] = e
	at.last[laneOf(e.seq)] = max(at.last[laneOf(e.seq)], e.seq+1)
	if e.durable {
		l.made++
	}
}

// remove ends a copy.
func (l *ledger) remove(e *entry) {
	delete(e.line.copies, e.seq)
	if e.durable {
		l.ended++
		l.gone[e.message] = true
	}
}

// structure folds what concerns whole queues.
func (l *ledger) structure(f *vhost.Fact) {
	switch f.Kind {
	case vhost.QueueDeclared:
		l.lines[f.Queue] = &line{
			name: f.Object.Name, durable: f.Object.Durable, copies: map[queue.Seq]*entry{}, last: map[uint64]queue.Seq{},
		}
	case vhost.QueueDeleted:
		if q := l.lines[f.Queue]; q != nil {
			for _, s := range q.seqs() {
				e := q.copies[s]
				if e.holder != nil {
					e.holder.orphan = true
				}
				l.remove(e)
			}
			delete(l.lines, f.Queue)
		}
	}
}

// replay folds a fact of the log. What it cannot mean is void, as for the machine.
func (w *world) replay(l *ledger, f *vhost.Fact, index place.Index) {
	l.structure(f)
	switch f.Kind {
	case vhost.Enqueued:
		l.add(f.Queue, w.entryOf(f, index, true))
	case vhost.Handed:
		for s := f.Seq; s < f.Seq+queue.Seq(f.N); s++ {
			if e := l.find(f.Queue, s); e != nil {
				e.redelivered = true
			}
		}
	case vhost.Returned:
		if e := l.find(f.Queue, f.Seq); e != nil {
			e.redelivered = true
		}
	case vhost.Ended:
		for s := f.Seq; s < f.Seq+queue.Seq(f.N); s++ {
			if e := l.find(f.Queue, s); e != nil {
				l.remove(e)
			}
		}
	}
}

// entryOf is the copy that an Enqueued fact makes.
func (w *world) entryOf(f *vhost.Fact, index place.Index, durable bool) *entry {
	ref := f.Entry.Ref(logID)
	e := &entry{
		seq: f.Seq, ref: ref, history: f.History, message: w.contents[ref], durable: durable, expireAt: f.Entry.ExpireAt,
		letter: f.Entry.Flags&queue.Letter != 0, redelivered: f.Entry.Flags&queue.Redelivered != 0, at: index,
	}
	if e.letter {
		e.deaths = w.deaths[f.History]
	} else if m := w.messages[e.message]; m != nil {
		e.keys = m.keys
	}
	return e
}

// advanceBase folds what has become safe into the base.
func (w *world) advanceBase(to place.Index) {
	for w.baseAt < to {
		delete(w.sealed, w.baseAt)
		w.baseAt++
		facts, err := vhost.Facts(logID, w.baseAt, w.sealed[w.baseAt].data)
		if err != nil {
			w.violate(Replay, "batch %d does not decode: %v", w.baseAt, err)
			return
		}
		for i := range facts {
			w.replay(w.base, &facts[i], w.baseAt)
		}
	}
}
