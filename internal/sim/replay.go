package sim

import (
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// tally is what a copy's returns were counted to: whether a queue counts depends on its settings, which the log's
// facts about messages do not tell.
type tally struct {
	queue            vhost.QueueID
	seq              queue.Seq
	acquired, failed uint32
}

// replay folds a fact of the log. What it cannot mean is void, as for the machine.
func (w *world) replay(l *ledger, f *vhost.Fact, index storage.Index) {
	l.structure(f)
	each := func(fn func(*entry)) {
		for s := f.Seq; s < f.Seq+queue.Seq(max(f.N, 1)); s++ {
			if e := l.find(f.Queue, s); e != nil {
				fn(e)
			}
		}
	}
	switch f.Kind {
	case vhost.Enqueued:
		l.add(f.Queue, w.entryOf(f, index, true))
	case vhost.Handed:
		each(func(e *entry) {
			if e.state != queue.Held { // a lazy fact may come after what has become of it
				e.redelivered, e.handed = true, true
			}
		})
	case vhost.Returned:
		each(func(e *entry) { e.comeBack(f.At) })
	case vhost.Resumed:
		each((*entry).resume)
	case vhost.Deferred:
		each(func(e *entry) { e.until = f.At })
	case vhost.Keyed:
		if e := l.find(f.Queue, f.Seq); e != nil { // N is a hash
			e.keyed = true
		}
	case vhost.Held:
		each(func(e *entry) { e.hold(f, w.contents[f.History].deaths) })
	case vhost.Kept:
		each((*entry).keep)
	case vhost.Ended:
		each(func(e *entry) {
			e.cause = f.Cause
			l.remove(e)
		})
	}
}

// entryOf is the copy that an Enqueued fact makes.
func (w *world) entryOf(f *vhost.Fact, index storage.Index, durable bool) *entry {
	ref := f.Entry.Ref(logID)
	e := &entry{
		seq: f.Seq, ref: ref, history: f.History, message: w.contents[ref].message, durable: durable, expireAt: f.Entry.ExpireAt,
		letter: f.Entry.Flags&queue.Letter != 0, redelivered: f.Entry.Flags&queue.Redelivered != 0, at: index,
		bytes: int64(f.Entry.BodyBytes), until: f.At,
	}
	if f.Queue == shelfID {
		e.lost, e.origin = vhost.Cause(f.Entry.Priority), uint32(f.N)
	}
	if e.letter {
		c := w.contents[f.History]
		e.deaths, e.resent, e.first, e.way = c.deaths, c.resent, c.first, w.ways[f.History]
	} else if m := w.messages[e.message]; m != nil {
		e.way = way{exchange: m.exchange, keys: m.keys}
	}
	return e
}

// advanceBase folds what has become safe into the base.
func (w *world) advanceBase(to storage.Index) {
	for w.baseAt < to {
		delete(w.sealed, w.baseAt)
		w.baseAt++
		batch := w.sealed[w.baseAt]
		if err := w.past.Fold(w.baseAt, batch.data); err != nil {
			w.violate(Replay, "batch %d does not fold: %v", w.baseAt, err)
			return
		}
		facts, err := vhost.Facts(logID, w.baseAt, batch.data)
		if err != nil {
			w.violate(Replay, "batch %d does not decode: %v", w.baseAt, err)
			return
		}
		for i := range facts {
			w.replay(w.base, &facts[i], w.baseAt)
		}
		for _, t := range batch.tallies {
			if e := w.base.find(t.queue, t.seq); e != nil {
				e.acquired, e.failed = t.acquired, t.failed
			}
		}
	}
}
