package vhost

import (
	"cmp"
	"container/heap"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// ScheduleView is what waits in a delayed exchange.
type ScheduleView struct {
	ID       fact.QueueID
	Exchange string
	Orphan   bool // the exchange is gone, or is no delayed one any more
	Messages int
	Bytes    int64            // of bodies
	Next     deadline.Instant // before that nothing fires, 0: nothing waits
}

// Schedules lists what waits in delayed exchanges, by the exchanges' names; an exchange with nothing may be missing.
func (r Reader) Schedules() []ScheduleView {
	all := make([]ScheduleView, 0, len(r.v.schedules))
	for _, q := range r.v.schedules {
		all = append(all, r.v.scheduleView(q))
	}
	slices.SortFunc(all, func(a, b ScheduleView) int { return strings.Compare(a.Exchange, b.Exchange) })
	return all
}

// ScheduleNames lists the exchanges in which anything waits, and all delayed ones, by name.
func (r Reader) ScheduleNames() []string {
	all := slices.AppendSeq(make([]string, 0, len(r.v.schedules)), maps.Keys(r.v.schedules))
	for x := range r.v.topo.Exchanges() {
		if _, has := r.v.schedules[x.Name]; x.Delayed && !has {
			all = append(all, x.Name)
		}
	}
	slices.Sort(all)
	return all
}

// Schedule shows what waits in one delayed exchange; ok is false if nothing ever did, or the exchange and all is gone.
func (r Reader) Schedule(exchange string) (view ScheduleView, ok bool) {
	q := r.v.schedules[exchange]
	if q == nil {
		return ScheduleView{Exchange: exchange}, false
	}
	return r.v.scheduleView(q), true
}

func (v *VHost) scheduleView(q *queueState) ScheduleView {
	view := ScheduleView{
		ID: q.id, Exchange: q.object.Name, Messages: q.waiting(), Bytes: q.messages.Bytes(queue.Waiting),
	}
	x := v.topo.Exchange(q.object.Name)
	view.Orphan = x == nil || !x.Delayed
	view.Next = q.messages.NextDue()
	if view.Next != 0 && view.Next <= v.logged { // something has fired since, of what the chunk had
		l := newListing(q, ScheduledMessage{}, math.MaxInt64, 1)
		if more := v.Reader().ListSome(l, nextChunks); more {
			view.Next = max(l.next.At, v.logged)
		} else if first := l.Messages(); len(first) > 0 {
			view.Next = first[0].At
		}
	}
	return view
}

// ScheduleNamed finds the schedule of a delayed exchange; ok is false if there is none.
func (r Reader) ScheduleNamed(exchange string) (id fact.QueueID, messages int, ok bool) {
	q := r.v.schedules[exchange]
	if q == nil {
		return 0, 0, false
	}
	return q.id, q.waiting(), true
}

// ScheduleName is the name of the delayed exchange, or of the queue, in which messages with such IDs wait; "" if it is
// gone.
func (r Reader) ScheduleName(id fact.QueueID) (name string, queue bool) {
	q := r.v.queues[id]
	if q == nil {
		return "", false
	}
	return q.object.Name, q.schedule == nil
}

// ScheduledUnder finds the message that a key means in a delayed exchange: what waits under it, or the last that did,
// as far as that is remembered.
func (r Reader) ScheduledUnder(exchange, key string) (ScheduledID, bool) {
	q := r.v.schedules[exchange]
	seq, outcome := r.v.underKey(q, key)
	if outcome == outcomeUnknown {
		return ScheduledID{}, false
	}
	return ScheduledID{q.id, uint64(seq)}, true
}

// Instant is a moment of vhost time, ms since the Unix epoch.
type Instant = deadline.Instant

// ScheduledMessage is a message that waits for its instant.
type ScheduledMessage struct {
	ID       ScheduledID
	At       deadline.Instant // vhost time
	Size     uint32           // of its record and its history, bytes
	Body     uint32           // bytes
	Returns  uint32           // of a message that waits in a queue
	Failures uint32           // of these
	Retry    bool             // it was delivered before, and cannot be cancelled
}

func scheduledMessage(id ScheduledID, e *queue.Entry, side *queue.Side) ScheduledMessage {
	return ScheduledMessage{
		ID: id, At: side.Until, Size: e.Size + side.History.Size, Body: e.BodyBytes, Returns: side.Acquired, Failures: side.Failed,
		Retry: e.Flags&queue.Redelivered != 0,
	}
}

// dueBefore reports whether m fires before o.
func (m *ScheduledMessage) dueBefore(o *ScheduledMessage) bool { return m.compare(o) < 0 }

// compare is the order in which messages fire: by instant, then as they came.
func (m *ScheduledMessage) compare(o *ScheduledMessage) int {
	return cmp.Or(cmp.Compare(m.At, o.At), cmp.Compare(m.ID.Number, o.ID.Number))
}

// A Listing collects the first messages of those that wait in a delayed exchange or a queue, in portions between which
// the virtual host serves others. It goes through the chunks of messages by what is due next in them, and keeps no more
// messages than it was made for, and which chunks it has read. What comes, moves or leaves meanwhile may be in it or
// not; what waits all the while is.
type Listing struct {
	queue  fact.QueueID // 0: nothing is listed
	after  ScheduledMessage
	until  deadline.Instant
	most   int
	next   ScheduledMessage // the chunk to go on at; what none of its messages is due before
	stands uint64           // of the queue, when the walk through its chunks began
	read   map[queue.Seq]struct{}
	kept   lastHeap
}

// ListScheduled begins to list what waits in a delayed exchange, in the order in which it will fire: up to most
// messages, from behind after on, which need not be there any more and whose zero value is the beginning, that are due
// before until.
func (r Reader) ListScheduled(exchange string, after ScheduledMessage, until Instant, most int) *Listing {
	return newListing(r.v.schedules[exchange], after, until, most)
}

// ListWaiting is ListScheduled for what waits in a queue.
func (r Reader) ListWaiting(name string, after ScheduledMessage, until Instant, most int) *Listing {
	return newListing(r.v.queueNamed(name), after, until, most)
}

// newListing begins before the first chunk; q may be nil.
func newListing(q *queueState, after ScheduledMessage, until deadline.Instant, most int) *Listing {
	l := &Listing{after: after, until: until, most: most}
	if q == nil || most <= 0 || q.waiting() == 0 {
		return l
	}
	l.queue, l.stands, l.read = q.id, q.messages.Stands(), map[queue.Seq]struct{}{}
	return l
}

// ListSome goes on with a listing: it reads up to so many chunks of messages, those with the earliest deadlines first.
// It reports whether there is more to read.
func (r Reader) ListSome(l *Listing, chunks int) (more bool) {
	q := r.v.queues[l.queue]
	if q == nil {
		return false
	}
	left := r.listUpTo(l, q, chunks)
	for left >= 0 && l.stands != q.messages.Stands() { // chunks that are not read may stand before the end by now
		l.next, l.stands = ScheduledMessage{}, q.messages.Stands()
		left = r.listUpTo(l, q, left)
	}
	return left < 0
}

// listUpTo reads those chunks of q from where l is that were not read and may have a message that belongs into the
// listing, and tells how many more it might have read, -1 if there were more.
func (r Reader) listUpTo(l *Listing, q *queueState, chunks int) (left int) {
	q.messages.Due(l.next.At, queue.Seq(l.next.ID.Number), func(chunk queue.Seq, at deadline.Instant) bool {
		l.next = ScheduledMessage{ID: ScheduledID{q.id, uint64(chunk)}, At: at}
		if _, read := l.read[chunk]; read {
			return true
		}
		if at >= l.until || l.kept.Len() == l.most && l.kept.dueHeap[0].dueBefore(&l.next) {
			return false
		}
		if chunks--; chunks < 0 {
			return false
		}
		l.read[chunk] = struct{}{}
		q.messages.Look(chunk, func(seq queue.Seq, e *queue.Entry, side *queue.Side) {
			if e.State == queue.Waiting && side.Until < l.until {
				l.keep(scheduledMessage(ScheduledID{q.id, uint64(seq)}, e, side))
			}
		})
		return true
	})
	return chunks
}

func (l *Listing) keep(m ScheduledMessage) {
	switch {
	case !l.after.dueBefore(&m):
	case l.kept.Len() < l.most:
		heap.Push(&l.kept, m)
	case m.dueBefore(&l.kept.dueHeap[0]):
		l.kept.dueHeap[0] = m
		heap.Fix(&l.kept, 0)
	}
}

// Messages ends a listing of which all was read, and returns its messages in order. They are the caller's.
func (l *Listing) Messages() []ScheduledMessage {
	kept := l.kept.dueHeap
	*l = Listing{}
	slices.SortFunc(kept, func(a, b ScheduledMessage) int { return a.compare(&b) })
	return kept
}

// dueHeap is messages with the next one on top.
type dueHeap []ScheduledMessage

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].dueBefore(&h[j]) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(ScheduledMessage)) }
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// lastHeap is messages with the last one on top.
type lastHeap struct{ dueHeap }

func (h lastHeap) Less(i, j int) bool { return h.dueHeap.Less(j, i) }

// ScheduledAt shows one message that waits, with its content, which is a copy and has so many octets of the body at the
// most; where names its exchange or queue. Outcome tells what became of one that does not wait: cancelled,
// already_fired or unknown.
func (r Reader) ScheduledAt(id ScheduledID, most int) (m ScheduledMessage, where string, content View, outcome string) {
	q, seq, outcome := r.v.waits(id)
	if q == nil {
		return m, "", content, outcome
	}
	e, side := q.messages.Entry(seq), q.messages.Side(seq)
	m = scheduledMessage(id, e, &side)
	x := r.v.seen(q, seq, e)
	return m, q.object.Name, x.copy(most), ""
}

// WhereTo tells to which queues a message that waits in a delayed exchange would go if it were due now, by name, and if
// there is none, why: SkipNoExchange or SkipNoRoute. An exchange that chooses among queues may choose others then.
// Nothing is changed.
func (r Reader) WhereTo(id ScheduledID) (queues []string, why SkipReason) {
	q, seq, _ := r.v.waits(id)
	if q == nil || q.schedule == nil {
		return nil, SkipUnknown
	}
	x := r.v.topo.Exchange(q.object.Name)
	if x == nil {
		return nil, SkipNoExchange
	}
	defer r.keepDraws()()
	m := r.v.loadMessage(q, seq)
	var route topology.Route
	if m.history != nil {
		route = r.v.try(Stamp{}).routeByHistory(x, &m)
	} else {
		route = r.v.routeBy(x, &m, uint64(seq))
	}
	for _, to := range route.Queues {
		queues = append(queues, r.v.queues[to].object.Name)
	}
	if len(queues) == 0 {
		return nil, SkipNoRoute
	}
	slices.Sort(queues)
	return queues, 0
}

// HorizonBounds are within how many ms messages are due that Horizon counts apart: a minute, an hour, a day, thirty
// days. What is due later is in the last count.
var HorizonBounds = [...]deadline.Instant{60_000, 3_600_000, 86_400_000, 30 * 86_400_000}

// Horizon tells of all delayed exchanges together how many messages are due within each of HorizonBounds from now on,
// and not within the one before. Where more than horizonChunks chunks of messages wait, it looks at so many, spread
// over all, and the counts are estimates.
func (r Reader) Horizon(now deadline.Instant) (counts [len(HorizonBounds) + 1]int) {
	schedules := slices.SortedFunc(maps.Values(r.v.schedules), func(a, b *queueState) int { return cmp.Compare(a.id, b.id) })
	chunks, waiting := 0, 0
	for _, q := range schedules {
		chunks += q.messages.Chunks()
		waiting += q.waiting()
	}
	step := max(1, (chunks+horizonChunks-1)/horizonChunks)
	var found [len(HorizonBounds) + 1]int
	all, i := 0, step-1
	for _, q := range schedules {
		for ; i < q.messages.Chunks(); i += step {
			q.messages.Look(q.messages.Chunk(i), func(_ queue.Seq, _ *queue.Entry, side *queue.Side) {
				k := 0
				for k < len(HorizonBounds) && side.Until-now > HorizonBounds[k] {
					k++
				}
				found[k]++
				all++
			})
		}
		i -= q.messages.Chunks()
	}
	for k, n := range found {
		if all > 0 {
			counts[k] = int(int64(n) * int64(waiting) / int64(all))
		}
	}
	return counts
}

// horizonChunks bounds how many chunks Horizon looks at: reading one that is cold takes some 20 µs. nextChunks is how
// many are read to tell when the next message fires.
const horizonChunks, nextChunks = 64, 16
