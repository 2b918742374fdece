package vhost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
	"github.com/bartleby-mq/bartleby/internal/vhost/oracle"
)

// record finds bytes that may lie in the batch in the making.
func (d *duel) record(r storage.Ref) []byte {
	w := d.world
	if r.Index == w.next() && r.Log != storage.Volatile {
		return w.out.Batch[r.Offset : r.Offset+r.Size]
	}
	if r.Log == storage.Volatile {
		return w.v.record(r)
	}
	return w.log.Record(r)
}

// state is what the machine holds, in the oracle's words.
func (d *duel) state() *oracle.State {
	v := d.world.v
	s := &oracle.State{Made: v.books.Made, Ended: map[string]uint64{}, Lost: map[string]uint64{}}
	for c, n := range v.books.Ended {
		if n > 0 {
			s.Ended[fact.Cause(c).String()] = n
		}
	}
	for _, q := range v.queues {
		m := q.messages
		s.Queues = append(s.Queues, oracle.QueueState{
			Name: q.object.Name, Settings: settingsOf(q.settings), Consumers: q.consumers.Len(),
			Ready: int64(m.Ready()), Unacked: int64(m.Unacked()), Waiting: int64(m.Count(queue.Waiting)), Held: int64(m.Count(queue.Held)),
			Copies: d.copies(q),
		})
	}
	for _, q := range v.queues {
		for c, n := range q.counts().Lost {
			if n > 0 {
				s.Lost[q.object.Name+" "+fact.Cause(c).String()] = n
			}
		}
	}
	slices.SortFunc(s.Queues, func(a, b oracle.QueueState) int { return strings.Compare(a.Name, b.Name) })
	s.LostStore = d.copies(v.lost)
	return s
}

func (d *duel) copies(q *queueState) []oracle.CopyState {
	var list []oracle.CopyState
	q.messages.Each(0, func(seq queue.Seq, e *queue.Entry) bool {
		c, err := fact.ParseRecord(d.record(e.Ref(testLog)))
		if err != nil {
			panic(err)
		}
		side := q.messages.Side(seq)
		x := oracle.CopyState{
			Body: string(c.Body), Place: places[e.State], Level: int(seq >> 56), ExpireAt: int64(e.ExpireAt),
			Redelivered: e.Flags&queue.Redelivered != 0, Acquired: int(side.Acquired), Failed: int(side.Failed),
		}
		if e.State == queue.Waiting {
			x.Until = int64(side.Until)
		}
		if held, ok := q.held[seq]; ok {
			x.Cause = held.cause.String()
			for _, id := range held.took {
				x.Took = append(x.Took, d.names[id])
			}
			slices.Sort(x.Took)
		}
		if e.Flags&queue.HasHistory != 0 {
			x.History = d.history(q, side.History, e.Ref(testLog), &x)
		}
		list = append(list, x)
		return true
	})
	slices.SortStableFunc(list, func(a, b oracle.CopyState) int { return b.Level - a.Level })
	return list
}

var places = map[queue.State]oracle.Place{
	queue.Ready: oracle.Ready, queue.Unacked: oracle.Unacked, queue.Waiting: oracle.Waiting, queue.Held: oracle.Held,
}

// deadLetter is a dead letter that comes to a queue.
func (d *duel) deadLetter(f *fact.Fact) string {
	if r := f.Entry.Ref(testLog); r.Log == storage.Volatile && d.world.v.volatile.chunk(r.Index) == nil {
		return "" // it came from the lost store, and was gone again in the same step
	}
	c, err := fact.ParseRecord(d.record(f.Entry.Ref(testLog)))
	if err != nil {
		panic(err)
	}
	return string(c.Body) + " " + d.history(d.world.v.queues[f.Queue], f.History, f.Entry.Ref(testLog), nil).String()
}

// history reads the history of a dead letter with that record; for one in the lost store, why it is there too.
func (d *duel) history(q *queueState, at, record storage.Ref, x *oracle.CopyState) *oracle.History {
	var h fact.History
	var err error
	if q == d.world.v.lost {
		var s lostInfo
		h, s, err = parseLostInfo(d.record(at))
		x.Cause = s.cause.String()
		if x.Origin = h.Last.Queue; originOf(h.Last.Queue) != uint32(x.Acquired) {
			x.Origin = "somebody else"
		}
		x.Acquired = 0 // the number that was there is the origin
	} else {
		h, err = fact.ParseHistory(d.record(at))
	}
	if err != nil {
		panic(err)
	}
	c, err := fact.ParseRecord(d.record(record))
	if err != nil {
		panic(err)
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(c.Properties); err != nil {
		panic(err)
	}
	h.Complete(scan.Expiration)
	m := &oracle.History{Exchange: h.Exchange, Keys: h.Keys, First: origin(h.First), Last: origin(h.Last)}
	for _, o := range h.Deaths {
		m.Deaths = append(m.Deaths, oracle.Death{
			Queue: o.Queue, Reason: reasonOf(o.Reason), Count: o.Count, Time: o.Time, Exchange: o.Exchange, Keys: o.Keys, Expiration: o.Expiration,
		})
	}
	return m
}

func origin(o fact.Origin) oracle.Death {
	return oracle.Death{Queue: o.Queue, Reason: reasonOf(o.Reason), Exchange: o.Exchange}
}

func reasonOf(r fact.Reason) oracle.Reason {
	if r == fact.Nacked {
		return "nacked"
	}
	return oracle.Reason(r.String())
}

func settingsOf(s *Settings) oracle.Settings {
	x := oracle.Settings{
		TTL: s.TTL, Expires: s.Expires, MaxLength: s.MaxLength, MaxLengthBytes: s.MaxLengthBytes, DeliveryLimit: s.DeliveryLimit,
		AtLeastOnce: s.AtLeastOnce && s.HasDLX, CountFailed: s.CountFailed, Counts: s.Counts, HeadOnly: s.ExpiryHead, CycleKeep: s.CycleKeep,
		ConsumerTimeout: s.ConsumerTimeout,
	}
	x.Overflow = s.Overflow.String()
	if s.HasDLX {
		x.DLX = fmt.Sprintf("%q", s.DeadLetterExchange)
	}
	if s.HasDLRK {
		x.DLRK = fmt.Sprintf("%q", s.DeadLetterRoutingKey)
	}
	if s.RetryType != RetryDisabled && s.RetryMin > 0 {
		x.RetryType, x.RetryMin, x.RetryMax = s.RetryType.String(), s.RetryMin, s.RetryMax
		if x.RetryMax <= 0 {
			x.RetryMax = x.RetryMin
		}
	}
	return x
}
