package vhost

import "github.com/bartleby-mq/bartleby/internal/vhost/fact"

// QueueStats counts what happened in a queue since the vhost was opened.
type QueueStats struct {
	QueueFlow
	QueueFates
}

// QueueFlow counts what comes into a queue and what consumers take.
type QueueFlow struct {
	// Published: copies that came in, dead letters among them
	Published, Delivered, Got, Acked uint64
	DeliveredNoAck, GotNoAck         uint64 // of Delivered and Got, without acknowledgement
	Redelivered                      uint64 // of Delivered and Got
	GotNone                          uint64 // gets that found nothing
	DeadLetters                      uint64 // of Published: dead letters
	// of DeadLetters: clients published them, no death of them is known
	Republished uint64
	Written     uint64 // of Published: copies in the log
	Purged      uint64 // messages that a purge took, or that were cancelled while they waited
}

// QueueFates counts what else becomes of the messages of a queue. Most queues have nothing of it to count.
type QueueFates struct {
	Died [strategies][fact.Reasons]uint64 // by Strategy and Reason
	// dead letters of AtLeastOnce that all their targets have
	Confirmed uint64
	// dead letters of this queue that found no place, by Cause
	Lost [fact.Causes]uint64
	Held uint64 // dead letters that it had to hold
	// messages that stayed because they would have come round in a cycle
	Kept     uint64
	TimedOut uint64                  // consumers that took too long
	Retried  [len(HeldCauses)]uint64 // held dead letters that were tried again in vain, by why
	Waits    uint64                  // returned messages that wait for their retry
	// of Died: messages that had been retried as often as may be
	Exhausted           uint64
	Redriven, Discarded uint64 // messages that were sent back or discarded by hand
	RedrivesRefused     uint64 // messages that were to be sent back, and stayed
	CameBack            uint64 // of Redriven: have died again, wherever that was
}

// fatesOf is where the fates of q are counted, from now on if not before.
func (v *VHost) fatesOf(q *queueState) *QueueFates {
	if q.fates == nil {
		q.fates = &QueueFates{}
		if v.queues[q.id] == q { // else it is not counted itself
			v.queueBytes += fatesBytes
		}
	}
	return q.fates
}

// counts is what q has counted.
func (q *queueState) counts() (s QueueStats) {
	s.QueueFlow = q.flow
	if q.fates != nil {
		s.QueueFates = *q.fates
	}
	return s
}

// hasCounted reports whether q has counted anything.
func (q *queueState) hasCounted() bool { return q.fates != nil || q.flow != QueueFlow{} }

// Strategy is how dead letters leave a queue. Source: RabbitMQ prometheus, dead_letter_strategy.
type Strategy uint8

// The strategies. Disabled is that of a queue whose dead-letter exchange is not set or, if dead letters are
// not held, is not there.
const (
	Disabled Strategy = iota
	AtMostOnce
	AtLeastOnce
	strategies
)

// String names the strategy as metrics do.
func (s Strategy) String() string {
	return [strategies]string{"disabled", "at_most_once", "at_least_once"}[s]
}

// strategyOf is how a dead letter of q that dies now leaves it.
func (v *VHost) strategyOf(q *queueState) Strategy {
	switch {
	case !q.settings.HasDLX:
		return Disabled
	case q.settings.AtLeastOnce:
		return AtLeastOnce
	case v.topo.Exchange(q.settings.DeadLetterExchange) == nil:
		return Disabled
	}
	return AtMostOnce
}

// Add adds what o has counted.
func (s *QueueStats) Add(o *QueueStats) {
	s.Published += o.Published
	s.Delivered += o.Delivered
	s.Got += o.Got
	s.Acked += o.Acked
	s.Confirmed += o.Confirmed
	s.Held += o.Held
	s.Kept += o.Kept
	s.TimedOut += o.TimedOut
	s.DeliveredNoAck += o.DeliveredNoAck
	s.GotNoAck += o.GotNoAck
	s.Redelivered += o.Redelivered
	s.GotNone += o.GotNone
	s.DeadLetters += o.DeadLetters
	s.Republished += o.Republished
	s.Written += o.Written
	s.Purged += o.Purged
	addAll(s.Retried[:], o.Retried[:])
	s.Waits += o.Waits
	s.Exhausted += o.Exhausted
	s.Redriven += o.Redriven
	s.Discarded += o.Discarded
	s.RedrivesRefused += o.RedrivesRefused
	s.CameBack += o.CameBack
	for i := range o.Died {
		for j, n := range o.Died[i] {
			s.Died[i][j] += n
		}
	}
	for i, n := range o.Lost {
		s.Lost[i] += n
	}
}

// keepCounts keeps what a queue has counted that is being deleted.
func (v *VHost) keepCounts(q *queueState) {
	if v.gone == nil {
		v.gone = map[string]*QueueStats{}
	}
	if v.gone[q.object.Type] == nil {
		v.gone[q.object.Type] = &QueueStats{}
	}
	counted := q.counts()
	v.gone[q.object.Type].Add(&counted)
	v.missedBy(q)
}
