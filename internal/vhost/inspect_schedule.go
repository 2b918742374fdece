package vhost

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// ScheduleView is what waits in a delayed exchange.
type ScheduleView struct {
	ID       QueueID
	Exchange string
	Orphan   bool // the exchange is gone, or is no delayed one any more
	Messages int
	Bytes    int64            // of bodies
	Next     deadline.Instant // before that nothing fires, 0: nothing waits
}

// Schedules lists what waits in delayed exchanges, by the exchanges' names; an exchange with nothing may be missing.
func (v *VHost) Schedules() []ScheduleView {
	all := make([]ScheduleView, 0, len(v.schedules))
	for _, q := range v.schedules {
		all = append(all, v.scheduleView(q))
	}
	slices.SortFunc(all, func(a, b ScheduleView) int { return strings.Compare(a.Exchange, b.Exchange) })
	return all
}

// Schedule shows what waits in one delayed exchange; ok is false if nothing ever did, or the exchange and all is gone.
func (v *VHost) Schedule(exchange string) (view ScheduleView, ok bool) {
	q := v.schedules[exchange]
	if q == nil {
		return ScheduleView{Exchange: exchange}, false
	}
	return v.scheduleView(q), true
}

func (v *VHost) scheduleView(q *queueState) ScheduleView {
	view := ScheduleView{
		ID: q.id, Exchange: q.object.Name, Messages: q.waiting(), Bytes: q.messages.Bytes(queue.Waiting),
	}
	x := v.topo.Exchange(q.object.Name)
	view.Orphan = x == nil || !x.Delayed
	q.messages.Armed(func(_ queue.Seq, at deadline.Instant) {
		if view.Next == 0 || at < view.Next {
			view.Next = at
		}
	})
	if view.Next != 0 && view.Next <= v.logged { // something has fired since, of what the chunk had
		v.byInstant(q, ScheduledMessage{}, func(m ScheduledMessage) bool {
			view.Next = m.At
			return false
		})
	}
	return view
}

// ScheduleNamed finds the schedule of a delayed exchange; ok is false if there is none.
func (v *VHost) ScheduleNamed(exchange string) (id QueueID, messages int, ok bool) {
	q := v.schedules[exchange]
	if q == nil {
		return 0, 0, false
	}
	return q.id, q.waiting(), true
}

// ScheduledUnder finds what waits in a delayed exchange under a key.
func (v *VHost) ScheduledUnder(exchange, key string) (ScheduledID, bool) {
	q := v.schedules[exchange]
	seq, ok := v.keyed(q, key)
	if !ok {
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
	Size     uint32           // of its record, bytes
	Body     uint32           // bytes
	Returns  uint32           // of a message that waits in a queue
	Failures uint32           // of these
}

// dueBefore is the order in which messages fire: by instant, then as they came.
func (m *ScheduledMessage) dueBefore(o *ScheduledMessage) bool {
	return cmp.Or(cmp.Compare(m.At, o.At), cmp.Compare(m.ID.Number, o.ID.Number)) < 0
}

// ScheduledIn visits what waits in a delayed exchange in the order in which it will fire, from behind after on, which need
// not be there any more; the zero value is the beginning. It reads the chunks of messages that have something due before
// the last one visited.
func (v *VHost) ScheduledIn(exchange string, after ScheduledMessage, visit func(ScheduledMessage) bool) {
	if q := v.schedules[exchange]; q != nil {
		v.byInstant(q, after, visit)
	}
}

// WaitingIn is ScheduledIn for what waits in a queue.
func (v *VHost) WaitingIn(name string, after ScheduledMessage, visit func(ScheduledMessage) bool) {
	if q := v.queueNamed(name); q != nil {
		v.byInstant(q, after, visit)
	}
}

func (v *VHost) byInstant(q *queueState, after ScheduledMessage, visit func(ScheduledMessage) bool) {
	var chunks, near dueHeap
	q.messages.Armed(func(chunk queue.Seq, at deadline.Instant) {
		chunks = append(chunks, ScheduledMessage{ID: ScheduledID{q.id, uint64(chunk)}, At: at})
	})
	heap.Init(&chunks)
	for len(chunks)+len(near) > 0 {
		if len(near) > 0 && (len(chunks) == 0 || near[0].At < chunks[0].At) {
			if m := heap.Pop(&near).(ScheduledMessage); !visit(m) {
				return
			}
			continue
		}
		chunk := heap.Pop(&chunks).(ScheduledMessage)
		q.messages.Look(queue.Seq(chunk.ID.Number), func(seq queue.Seq, e *queue.Entry, side *queue.Side) {
			if e.State != queue.Waiting {
				return
			}
			m := ScheduledMessage{
				ID: ScheduledID{q.id, uint64(seq)}, At: side.Until, Size: e.Size, Body: e.BodyBytes, Returns: side.Acquired, Failures: side.Failed,
			}
			if after.dueBefore(&m) {
				heap.Push(&near, m)
			}
		})
	}
}

// dueHeap is messages, or chunks by their first, with the next one on top.
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

// ScheduledAt shows one message that waits, with its content, which is a copy; where names its exchange or queue. Outcome
// tells what became of one that does not wait: cancelled, already_fired or unknown.
func (v *VHost) ScheduledAt(id ScheduledID) (m ScheduledMessage, where string, content View, outcome string) {
	q, seq, outcome := v.waits(id)
	if q == nil {
		return m, "", content, outcome
	}
	e, side := q.messages.Entry(seq), q.messages.Side(seq)
	m = ScheduledMessage{ID: id, At: side.Until, Size: e.Size, Body: e.BodyBytes, Returns: side.Acquired, Failures: side.Failed}
	d := v.delivered(q, seq, e)
	d.Record = append([]byte(nil), v.record(d.Ref)...)
	if !d.HistoryRef.IsZero() {
		d.History = append([]byte(nil), v.record(d.HistoryRef)...)
	}
	content, err := d.View()
	if err != nil {
		panic(err) // our own bytes
	}
	return m, q.object.Name, content, ""
}

// HorizonBounds are within how many ms messages are due that Horizon counts apart: a minute, an hour, a day, thirty days.
// What is due later is in the last count.
var HorizonBounds = [...]deadline.Instant{60_000, 3_600_000, 86_400_000, 30 * 86_400_000}

// Horizon tells of all delayed exchanges together how many messages are due within each of HorizonBounds from now on, and
// not within the one before. Where more than horizonChunks chunks of messages wait in an exchange, it looks at so many,
// spread over all, and the counts are estimates.
func (v *VHost) Horizon(now deadline.Instant) (counts [len(HorizonBounds) + 1]int) {
	for _, q := range v.schedules {
		var chunks []queue.Seq
		q.messages.Armed(func(chunk queue.Seq, _ deadline.Instant) { chunks = append(chunks, chunk) })
		step := max(1, (len(chunks)+horizonChunks-1)/horizonChunks)
		var found [len(HorizonBounds) + 1]int
		all := 0
		for i := 0; i < len(chunks); i += step {
			q.messages.Look(chunks[i], func(_ queue.Seq, _ *queue.Entry, side *queue.Side) {
				k := 0
				for k < len(HorizonBounds) && side.Until-now > HorizonBounds[k] {
					k++
				}
				found[k]++
				all++
			})
		}
		for k, n := range found {
			if all > 0 {
				counts[k] += int(int64(n) * int64(q.waiting()) / int64(all))
			}
		}
	}
	return counts
}

// horizonChunks bounds how many chunks Horizon looks at in an exchange: reading one that is cold takes some 20 µs.
const horizonChunks = 64
