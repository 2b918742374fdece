package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Traffic counts what came to pass in a vhost since it was opened, beyond what each queue counts for itself. What
// clients publish is counted when it is decided; over HTTP they publish too.
// Source: RabbitMQ prometheus, global counters; docs/compat/metrics.md#3, docs/metrics.md.
type Traffic struct {
	Received         uint64 // messages that clients published
	ReceivedConfirms uint64 // of these, on channels that confirm
	Routed           uint64 // queues, and delayed exchanges, that these were routed to
	Dropped          uint64 // messages that no queue took, and nobody was told
	Returned         uint64 // mandatory ones
	Confirmed        uint64 // messages that were, or will be when they are safe; not those that were refused
	Sizes            Sizes  // of the bodies of Received

	QueuesDeclared, QueuesCreated, QueuesDeleted uint64 // a declaration may find its queue

	Fates      [fact.Reasons][Fates]uint64 // what became of messages that died
	Hops       Attempts                    // deaths in the history of a dead letter that has just died, this one among them
	Placing    [strategies]Waits           // from a dead letter's death until all its targets had it
	Settled    Attempts                    // deliveries that a message took until it was acked; of queues that count them
	Publishers int                         // channels open now on which was published
	Repliers   int                         // consumers of direct replies now

	RepliesDropped uint64 // direct replies for which there was no space on the way to a client that reads too slowly

	Scheduled Scheduled
	Redrives  Redrives
}

// Redrives counts what was done with dead letters by hand.
type Redrives struct {
	Moved     uint64 // sent back
	Refused   uint64 // were to be sent back, and stayed
	CameBack  uint64 // of Moved: have died again
	Discarded uint64
	Took      Waits // jobs, from their beginning to their end
}

// Scheduled counts what happened to messages in delayed exchanges.
type Scheduled struct {
	Published   uint64 // taken for later
	Released    uint64 // due, and gone on into queues
	Lost        uint64 // due, and nothing wanted them
	Cancelled   uint64 // or replaced under their key
	Rescheduled uint64
	Purged      uint64
	Full        uint64 // refused: as many wait as may
	Invalid     uint64 // refused: a delay or key that is none
}

// Fate is what becomes of a message that dies, at once.
type Fate uint8

// The fates.
const (
	FateRouted   Fate = iota // its targets have it
	FateNoDLX                // no dead-letter exchange is set
	FateMissing              // it does not exist
	FateUnrouted             // it leads nowhere
	FateCycle                // it would come to the same queue again
	FateRefused              // a target had no space
	FateHops                 // it went through too many queues
	FateHeld                 // its queue holds it, at-least-once
	FateKept                 // it stays in its queue: it would only come round in a cycle
	Fates
)

// String names the fate as metrics do.
func (f Fate) String() string {
	return [Fates]string{"routed", "no_dlx", "dlx_missing", "unroutable", "cycle_dropped", "refused", "hops", "held", "kept"}[f]
}

// fate is what came of a passage.
func (p *passage) fate() Fate {
	switch {
	case p.missing != 0:
		return FateHeld
	case p.stays:
		return FateKept
	}
	switch p.stored {
	case fact.LostExchange:
		return FateMissing
	case fact.LostRoute:
		return FateUnrouted
	case fact.LostCycle:
		return FateCycle
	case fact.LostRefused:
		return FateRefused
	case fact.LostHops:
		return FateHops
	}
	return FateRouted
}

// SizeBounds are the upper bounds of the buckets of Sizes, bytes. Source: RabbitMQ prometheus, message_size_bytes.
var SizeBounds = [...]int64{100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000, 100_000_000}

// Sizes counts bodies by size; the last bucket has the rest.
type Sizes struct {
	Buckets [len(SizeBounds) + 1]uint64 // not cumulated
	Sum     uint64                      // bytes
}

func (z *Sizes) note(bytes int) {
	i := 0
	for i < len(SizeBounds) && int64(bytes) > SizeBounds[i] {
		i++
	}
	z.Buckets[i]++
	z.Sum += uint64(bytes)
}

// AttemptBounds are the upper bounds of the buckets of Attempts.
var AttemptBounds = [...]int64{1, 2, 3, 5, 8, 13, 20}

// Attempts counts by how many times something took; the last bucket has the rest.
type Attempts struct {
	Buckets [len(AttemptBounds) + 1]uint64 // not cumulated
	Sum     uint64
}

func (a *Attempts) note(n int) {
	i := 0
	for i < len(AttemptBounds) && int64(n) > AttemptBounds[i] {
		i++
	}
	a.Buckets[i]++
	a.Sum += uint64(n)
}

// WaitBounds are the upper bounds of the buckets of Waits, ms.
var WaitBounds = [...]int64{1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000}

// Waits counts by how long something took; the last bucket has the rest.
type Waits struct {
	Buckets [len(WaitBounds) + 1]uint64 // not cumulated
	Sum     int64                       // ms
}

func (w *Waits) note(ms int64) {
	ms, i := max(ms, 0), 0
	for i < len(WaitBounds) && ms > WaitBounds[i] {
		i++
	}
	w.Buckets[i]++
	w.Sum += ms
}

// addAll adds each count of from to that of to.
func addAll[T ~[]uint64](to, from T) {
	for i, n := range from {
		to[i] += n
	}
}

// Add adds what o has counted; what is a count of now is added too.
func (t *Traffic) Add(o *Traffic) {
	t.Received += o.Received
	t.ReceivedConfirms += o.ReceivedConfirms
	t.Routed += o.Routed
	t.Dropped += o.Dropped
	t.Returned += o.Returned
	t.Confirmed += o.Confirmed
	addAll(t.Sizes.Buckets[:], o.Sizes.Buckets[:])
	t.Sizes.Sum += o.Sizes.Sum
	t.QueuesDeclared += o.QueuesDeclared
	t.QueuesCreated += o.QueuesCreated
	t.QueuesDeleted += o.QueuesDeleted
	for i := range o.Fates {
		addAll(t.Fates[i][:], o.Fates[i][:])
	}
	addAll(t.Hops.Buckets[:], o.Hops.Buckets[:])
	t.Hops.Sum += o.Hops.Sum
	for i := range o.Placing {
		addAll(t.Placing[i].Buckets[:], o.Placing[i].Buckets[:])
		t.Placing[i].Sum += o.Placing[i].Sum
	}
	addAll(t.Settled.Buckets[:], o.Settled.Buckets[:])
	t.Settled.Sum += o.Settled.Sum
	t.Publishers += o.Publishers
	t.Repliers += o.Repliers
	t.RepliesDropped += o.RepliesDropped
	s, p := &t.Scheduled, &o.Scheduled
	s.Published += p.Published
	s.Released += p.Released
	s.Lost += p.Lost
	s.Cancelled += p.Cancelled
	s.Rescheduled += p.Rescheduled
	s.Purged += p.Purged
	s.Full += p.Full
	s.Invalid += p.Invalid
	t.Redrives.Moved += o.Redrives.Moved
	t.Redrives.Refused += o.Redrives.Refused
	t.Redrives.CameBack += o.Redrives.CameBack
	t.Redrives.Discarded += o.Redrives.Discarded
	addAll(t.Redrives.Took.Buckets[:], o.Redrives.Took.Buckets[:])
	t.Redrives.Took.Sum += o.Redrives.Took.Sum
}

// ExchangeStats counts what clients published to an exchange since the vhost was opened.
type ExchangeStats struct {
	Published, Confirmed, Returned, Dropped uint64
}

// flow is what an exchange has counted. Channels know the flow of their last route.
type flow struct {
	name string
	gone bool // the exchange is
	ExchangeStats
}

// inflow counts what a queue got by way of an exchange that clients published to.
type inflow struct {
	from *flow
	n    uint64
}

// flowOf finds the flow of an exchange, which is made if need be.
func (v *VHost) flowOf(exchange []byte) *flow {
	f := v.flows[string(exchange)]
	if f == nil {
		f = &flow{name: string(exchange)}
		v.flows[f.name] = f
	}
	return f
}

// inflowsMax is from how many exchanges a queue counts messages. The one that comes after is counted in the place of
// the one of which it got least, about.
const inflowsMax = 32

// inflowFrom finds what q got by way of an exchange. What it got most is found first.
func (q *queueState) inflowFrom(f *flow) *inflow {
	for i, x := range q.inflows {
		if x.from != f {
			continue
		}
		if i > 0 && x.n > q.inflows[i-1].n {
			q.inflows[i-1], q.inflows[i] = x, q.inflows[i-1]
		}
		return x
	}
	q.inflows = slices.DeleteFunc(q.inflows, func(x *inflow) bool { return x.from.gone })
	if n := len(q.inflows); n == inflowsMax {
		*q.inflows[n-1] = inflow{from: f}
		return q.inflows[n-1]
	}
	x := &inflow{from: f}
	q.inflows = append(q.inflows, x)
	return x
}

// received counts a message that a client publishes, and where it goes.
func (v *VHost) received(ch *channel, c *Command, f *flow, targets []*queueState, kept int) {
	t := &v.traffic
	t.Received++
	if ch.confirms {
		t.ReceivedConfirms++
	}
	t.Routed += uint64(len(targets) + kept)
	t.Sizes.note(len(c.Body))
	f.Published++
	for _, q := range targets {
		q.inflowFrom(f).n++
	}
	if !ch.publishes {
		ch.publishes = true
		t.Publishers++
	}
}

// nowhereTo counts a message that no queue took.
func (v *VHost) nowhereTo(f *flow, mandatory bool) {
	if mandatory {
		v.traffic.Returned++
		f.Returned++
	} else {
		v.traffic.Dropped++
		f.Dropped++
	}
}

// confirmed counts a confirm.
func (v *VHost) confirmed(f *flow) {
	v.traffic.Confirmed++
	f.Confirmed++
}

// forgetFlow forgets an exchange that is gone: one that is declared anew begins with nothing.
func (v *VHost) forgetFlow(exchange string) {
	if f := v.flows[exchange]; f != nil {
		f.gone = true
		delete(v.flows, exchange)
	}
}

// delivered counts a message that is handed to a consumer.
func (s *QueueFlow) delivered(e *queue.Entry, noAck bool) {
	s.Delivered++
	if noAck {
		s.DeliveredNoAck++
	}
	if e.Flags&queue.Redelivered != 0 {
		s.Redelivered++
	}
}

// fetched counts a message that a get has fetched.
func (s *QueueFlow) fetched(e *queue.Entry, noAck bool) {
	s.Got++
	if noAck {
		s.GotNoAck++
	}
	if e.Flags&queue.Redelivered != 0 {
		s.Redelivered++
	}
}

// acked counts a message that a consumer has settled, and in queues that count them at which delivery.
func (v *VHost) acked(q *queueState, seq queue.Seq) {
	q.flow.Acked++
	if !q.settings.Counts {
		return
	}
	attempt := 1
	if e := q.messages.Entry(seq); e != nil && e.Flags&queue.Redelivered != 0 {
		attempt += int(q.messages.Side(seq).Acquired)
	}
	v.traffic.Settled.note(attempt)
}

// HeldCauses are why dead letters are held, in the order in which QueueStats counts by them: their numbers follow one
// another.
var HeldCauses = [...]fact.Cause{fact.LostExchange, fact.LostRoute, fact.LostCycle, fact.LostRefused, fact.LostHops}
