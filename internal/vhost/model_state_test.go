package vhost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/model"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// record finds bytes that may lie in the batch in the making.
func (d *duel) record(r place.Ref) []byte {
	w := d.world
	if r.Index == w.next() && r.Log != place.Volatile {
		return w.out.Batch[r.Offset : r.Offset+r.Size]
	}
	if r.Log == place.Volatile {
		return w.v.record(r)
	}
	return w.log.Record(r)
}

// state is what the machine holds, in the model's words.
func (d *duel) state() *model.State {
	v := d.world.v
	s := &model.State{Made: v.books.Made, Ended: map[string]uint64{}, Lost: map[string]uint64{}}
	for c, n := range v.books.Ended {
		if n > 0 {
			s.Ended[Cause(c).String()] = n
		}
	}
	for _, q := range v.queues {
		m := q.messages
		s.Queues = append(s.Queues, model.QueueState{
			Name: q.object.Name, Settings: settingsOf(q.settings), Consumers: q.consumers.Len(),
			Ready: int64(m.Ready()), Unacked: int64(m.Unacked()), Waiting: int64(m.Count(queue.Waiting)), Held: int64(m.Count(queue.Held)),
			Copies: d.copies(q),
		})
	}
	for _, q := range v.queues {
		for c, n := range q.counters().Lost {
			if n > 0 {
				s.Lost[q.object.Name+" "+Cause(c).String()] = n
			}
		}
	}
	slices.SortFunc(s.Queues, func(a, b model.QueueState) int { return strings.Compare(a.Name, b.Name) })
	s.Shelf = d.copies(v.shelf)
	return s
}

func (d *duel) copies(q *queueState) []model.CopyState {
	var list []model.CopyState
	q.messages.Each(0, func(seq queue.Seq, e *queue.Entry) bool {
		c, err := parseRecord(d.record(e.Ref(testLog)))
		if err != nil {
			panic(err)
		}
		side := q.messages.Side(seq)
		x := model.CopyState{
			Body: string(c.body), Place: places[e.State], Level: int(seq >> 56), ExpireAt: int64(e.ExpireAt),
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
		if e.Flags&queue.Letter != 0 {
			x.History = d.history(q, side.History, &x)
		}
		list = append(list, x)
		return true
	})
	slices.SortStableFunc(list, func(a, b model.CopyState) int { return b.Level - a.Level })
	return list
}

var places = map[queue.State]model.Place{
	queue.Ready: model.Ready, queue.Unacked: model.Unacked, queue.Waiting: model.Waiting, queue.Held: model.Held,
}

// letter is a letter that comes to a queue.
func (d *duel) letter(f *Fact) string {
	if r := f.Entry.Ref(testLog); r.Log == place.Volatile && d.world.v.volatile.chunk(r.Index) == nil {
		return "" // it came from the shelf, and was gone again in the same step
	}
	c, err := parseRecord(d.record(f.Entry.Ref(testLog)))
	if err != nil {
		panic(err)
	}
	return string(c.body) + " " + d.history(d.world.v.queues[f.Queue], f.History, nil).String()
}

// history reads a letter's history; for one on the shelf, why it is there too.
func (d *duel) history(q *queueState, at place.Ref, x *model.CopyState) *model.History {
	var h History
	var err error
	if q == d.world.v.shelf {
		var s slip
		h, s, err = parseSlip(d.record(at))
		x.Cause = s.cause.String()
		if x.Origin = h.Last.Queue; originOf(h.Last.Queue) != uint32(x.Acquired) {
			x.Origin = "somebody else"
		}
		x.Acquired = 0 // the number that was there is the origin
	} else {
		h, err = parseHistory(d.record(at))
	}
	if err != nil {
		panic(err)
	}
	m := &model.History{Exchange: h.Exchange, Keys: h.Keys, First: origin(h.First), Last: origin(h.Last)}
	for _, o := range h.Deaths {
		m.Deaths = append(m.Deaths, model.Death{
			Queue: o.Queue, Reason: reasonOf(o.Reason), Count: o.Count, Time: o.Time, Exchange: o.Exchange, Keys: o.Keys, Expiration: o.Expiration,
		})
	}
	return m
}

func origin(o Origin) model.Death {
	return model.Death{Queue: o.Queue, Reason: reasonOf(o.Reason), Exchange: o.Exchange}
}

func reasonOf(r Reason) model.Reason {
	if r == Nacked {
		return "nacked"
	}
	return model.Reason(r.String())
}

func settingsOf(s *Settings) model.Settings {
	x := model.Settings{
		TTL: s.TTL, Expires: s.Expires, MaxLength: s.MaxLength, MaxLengthBytes: s.MaxLengthBytes, DeliveryLimit: s.DeliveryLimit,
		AtLeastOnce: s.AtLeastOnce && s.hasDLX, CountFailed: s.CountFailed, Counts: s.Counts, HeadOnly: s.ExpiryHead, CycleKeep: s.CycleKeep,
		ConsumerTimeout: s.ConsumerTimeout,
	}
	for word, o := range overflows {
		if o == s.Overflow {
			x.Overflow = word
		}
	}
	if s.hasDLX {
		x.DLX = fmt.Sprintf("%q", s.DeadLetterExchange)
	}
	if s.hasDLRK {
		x.DLRK = fmt.Sprintf("%q", s.DeadLetterRoutingKey)
	}
	for word, r := range retryTypes {
		if r == s.RetryType && r != RetryDisabled && s.RetryMin > 0 {
			x.RetryType, x.RetryMin, x.RetryMax = word, s.RetryMin, s.RetryMax
			if x.RetryMax <= 0 {
				x.RetryMax = x.RetryMin
			}
		}
	}
	return x
}
