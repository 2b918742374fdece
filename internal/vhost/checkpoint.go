package vhost

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A checkpoint is the durable state of one moment as a list of facts, of which those about messages name pages. It is
// saved in portions between the steps of the vhost: what changes is saved first. Source: ours, decision 12.
type checkpoint struct {
	txs         []byte // staged transactions, orphans
	begin       pieces // what was declared and set, as far as defined has come
	rest        pieces
	queues      []*queue.Messages // to be visited
	defined     *definitions
	pendingFree []queue.PendingFree
	held        []deadLetterAt               // dead letters held at that moment, transient ones too
	was         map[deadLetterAt]heldInfo    // what has changed since of those
	deleted     map[fact.QueueID]*queueState // queues with held dead letters that were deleted since
	saving      *queue.Checkpoint
	books       fact.Books
	use         []storage.UseRange
	newest      storage.Index
}

// PrepareCheckpoint frees up to n chunks that a checkpoint could not save: those that were removed
// as a whole and of which a restart would not know what they hold, and what is left of deleted
// queues. It reports whether there are more.
func (v *VHost) PrepareCheckpoint(n int) (later bool) {
	kept := v.pendingFree[:0]
	for i, g := range v.pendingFree {
		if n == 0 {
			kept = append(kept, v.pendingFree[i:]...)
			later = true
			break
		}
		if g.Persistent > 0 && !g.IsDurable() {
			n--
			v.freeChunk(g)
		} else {
			kept = append(kept, g)
		}
	}
	clear(v.pendingFree[len(kept):])
	v.pendingFree = kept
	return v.freeDeleted(n) || later
}

// BeginCheckpoint begins a checkpoint of the durable state as it is now: all batches so far, the open batch included.
// SaveCheckpoint saves it in portions, EndCheckpoint returns it, CheckpointStored says what became of it; then the next
// one may begin. While v is Ruling it is better to wait: afterwards the change applies to all queues, and no fact has
// to say so.
func (v *VHost) BeginCheckpoint(newest storage.Index) {
	v.endRuling()
	for v.PrepareCheckpoint(math.MaxInt) {
	}
	c := &checkpoint{books: v.durable, use: v.use.Ranges(), newest: newest, pendingFree: slices.Clone(v.pendingFree)}
	c.held, c.was, c.deleted = v.holding.all(), map[deadLetterAt]heldInfo{}, map[fact.QueueID]*queueState{}
	c.txs = v.appendOrphans(v.appendTxs(nil))
	c.begin.last = v.appendJobs(binary.AppendUvarint([]byte{fact.FormatVersion}, uint64(v.logged)))
	c.defined = v.newDefinitions()
	for _, q := range append(v.sortedQueues(), v.lost) {
		c.queues = append(c.queues, q.messages)
	}
	v.saving = c
	c.saving = v.pool.BeginCheckpoint(func(m *queue.Messages) {
		v.saveQueue(c, m)
	}, func(m *queue.Messages, first queue.Seq, saved []byte) {
		c.rest.add(&fact.Fact{Kind: fact.Paged, Queue: fact.QueueID(m.ID()), Seq: first, Bytes: saved})
	})
}

// saveQueue saves what is known of a queue beside its chunks.
func (v *VHost) saveQueue(c *checkpoint, m *queue.Messages) {
	id := fact.QueueID(m.ID())
	m.Logged(func(s queue.Seq) {
		c.rest.add(&fact.Fact{Kind: fact.Skipped, Queue: id, Seq: s})
	})
}

// heldChanges saves what is known of a held dead letter before that changes.
func (v *VHost) heldChanges(q *queueState, s queue.Seq) {
	if c := v.saving; c != nil {
		at := deadLetterAt{q.id, s}
		if _, saved := c.was[at]; !saved {
			c.was[at] = q.held[s]
		}
	}
}

// saveHeld saves what is known of some held dead letters and chunks pending free, and returns what is left of n.
func (v *VHost) saveHeld(c *checkpoint, n int) int {
	for ; n > 0 && len(c.held) > 0; n-- {
		at := c.held[0]
		c.held = c.held[1:]
		x, changed := c.was[at]
		q := v.queues[at.queue]
		if q == nil {
			q = c.deleted[at.queue]
		}
		if !changed && q != nil {
			x = q.held[at.seq]
		}
		if x.durable {
			c.rest.add(&fact.Fact{Kind: fact.HeldNoted, Queue: at.queue, Seq: at.seq, Cause: x.cause, Took: x.took})
		}
	}
	for ; n > 0 && len(c.pendingFree) > 0; n-- {
		if saved, ok := c.pendingFree[0].Save(nil); ok {
			c.rest.add(&fact.Fact{Kind: fact.PendingFree, Bytes: saved})
		}
		c.pendingFree = c.pendingFree[1:]
	}
	return n
}

// beforeChange saves the definitions before one changes.
func (v *VHost) beforeChange(k fact.Kind) {
	if c := v.saving; k.Defines() && !c.defined.done {
		c.defined.append(&c.begin, math.MaxInt)
	}
}

// SaveCheckpoint saves a portion of the running checkpoint, about n small things, and reports whether there is more.
func (v *VHost) SaveCheckpoint(n int) (more bool) {
	c := v.saving
	if !c.defined.done {
		c.defined.append(&c.begin, n)
		return true
	}
	n = v.saveHeld(c, n)
	for ; n > 0 && len(c.queues) > 0; n-- {
		c.saving.Queue(c.queues[0])
		c.queues = c.queues[1:]
	}
	return n <= 0 || c.saving.Some(n)
}

// EndCheckpoint ends the running checkpoint and returns it, in pieces. ApplyCheckpoint of them together leads to the
// state at BeginCheckpoint. It counts once it and the pages that it names are durable.
func (v *VHost) EndCheckpoint() [][]byte {
	c := v.saving
	end := fact.Append(c.txs, &fact.Fact{Kind: fact.Counted, Books: &c.books}, 0)
	end = fact.Append(end, &fact.Fact{Kind: fact.Used, Use: c.use, Index: c.newest}, 0)
	c.saving.End()
	v.saving, v.unstored = nil, c.saving
	return append(append(c.begin.all(), c.rest.all()...), end)
}

// CheckpointStored takes note that the checkpoint that EndCheckpoint has returned counts now, or never will.
func (v *VHost) CheckpointStored(ok bool) {
	v.unstored.Stored(ok)
	v.unstored = nil
}

// InCheckpoint reports whether a checkpoint has begun for which CheckpointStored was not called yet.
func (v *VHost) InCheckpoint() bool { return v.saving != nil || v.unstored != nil }

// Use is what of a vhost's log, and of its log of pages, is referred to.
type Use struct {
	durable, borrowed, pages []storage.UseRange
	newPages                 storage.Index
}

// Use tells how much of the log is referred to by what the batches so far have led to.
func (v *VHost) Use() Use { return Use{durable: v.use.Ranges(), borrowed: v.borrowed.Ranges()} }

// UsePages adds which pages are referred to, by a checkpoint or by the vhost; next is the batch of pages in the making.
func (v *VHost) UsePages(u *Use, next storage.Index) { u.pages, u.newPages = v.pool.PageUse(), next }

// Bytes tells how many bytes of batches first to last of a log, the vhost's own or that of its pages, are referred to,
// at most; zero only if none is.
func (u *Use) Bytes(log storage.LogID, first, last storage.Index) int64 {
	switch {
	case log.IsPages() && last >= u.newPages:
		return 1 + storage.Bytes(u.pages, first, last) // made since
	case log.IsPages():
		return storage.Bytes(u.pages, first, last)
	}
	return storage.Bytes(u.durable, first, last) + storage.Bytes(u.borrowed, first, last)
}

// Mark begins to find every record and page in those spans that is in use. Source: ours, decision 10.
func (v *VHost) Mark(spans []storage.Span) {
	queues := []*queue.Messages{v.lost.messages}
	for _, q := range v.sortedQueues() {
		queues = append(queues, q.messages)
	}
	queues = append(queues, v.deletedMessages...)
	v.marker = v.pool.NewMarker(spans, queues)
	for _, r := range v.recents {
		for _, m := range append(slices.Clone(r.durable.messages), r.volatile.messages...) {
			v.marker.Note(m.record)
			v.marker.Note(m.history)
		}
	}
	for _, x := range v.txs {
		for i := range x.steps {
			v.marker.Note(x.steps[i].record)
		}
	}
}

// MarkSome goes on for about n chunks, and reports whether there is more.
func (v *VHost) MarkSome(n int) (more bool) { return v.marker.Some(n) }

// Marked ends the mark, and returns what was found, in no order and some of it twice.
func (v *VHost) Marked() []storage.Ref {
	for _, g := range v.pendingFree {
		v.marker.Note(g.Page)
	}
	refs := v.marker.Refs()
	v.marker = nil
	return refs
}

// CountBy sets how many bytes of the log are counted together for Use: a small part of what is given back at once.
func (v *VHost) CountBy(bytes int64) {
	v.use.Grain, v.borrowed.Grain = bytes, bytes
	v.pool.CountBy(bytes)
}

// KeepHot sets how many messages may be in memory at the end of a step, and how many bytes of transient records; zero
// leaves it as it is.
func (v *VHost) KeepHot(messages int, bytes int) {
	if messages > 0 {
		v.pool.SetBudget(messages)
	}
	if bytes > 0 {
		v.volatile.bytesMax = bytes
	}
}
