package sim

import (
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// entryOf is the copy that an Enqueued fact makes.
func (w *world) entryOf(f *fact.Fact, index storage.Index, durable bool) *ledger.Entry {
	ref := f.Entry.Ref(logID)
	e := &ledger.Entry{
		Seq: f.Seq, Ref: ref, History: f.History, Message: w.contents[ref].message, Durable: durable, ExpireAt: f.Entry.ExpireAt,
		HasHistory: f.Entry.Flags&queue.HasHistory != 0, Redelivered: f.Entry.Flags&queue.Redelivered != 0, At: index,
		Bytes: int64(f.Entry.BodyBytes), Until: f.At,
	}
	if f.Queue == ledger.LostStoreID {
		e.Lost, e.Origin = fact.Cause(f.Entry.Priority), uint32(f.N)
	}
	if e.HasHistory {
		c := w.contents[f.History]
		e.Deaths, e.Resent, e.First, e.Way = c.deaths, c.resent, c.first, w.ways[f.History]
	} else if m := w.Messages[e.Message]; m != nil && !w.contents[ref].edited { // an edited one came as it was sent
		e.Way = ledger.Way{Exchange: m.Exchange, Keys: m.Keys}
	}
	return e
}

// advanceBase applies what has become safe into the base.
func (w *world) advanceBase(to storage.Index) {
	for w.baseAt < to {
		delete(w.sealed, w.baseAt)
		w.baseAt++
		batch := w.sealed[w.baseAt]
		if err := w.past.ApplyBatch(w.baseAt, batch.data); err != nil {
			w.violate(Replay, "batch %d cannot be applied: %v", w.baseAt, err)
			return
		}
		facts, err := fact.All(logID, w.baseAt, batch.data)
		if err != nil {
			w.violate(Replay, "batch %d does not decode: %v", w.baseAt, err)
			return
		}
		for i := range facts {
			f := &facts[i]
			made := func() *ledger.Entry { return w.entryOf(f, w.baseAt, true) }
			w.base.Replay(f, made, w.contents[f.History].deaths)
		}
		for _, t := range batch.tallies {
			if e := w.base.Find(t.Queue, t.Seq); e != nil {
				e.Acquired, e.Failed = t.Acquired, t.Failed
			}
		}
	}
}
