package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// enforce makes q obey its length limits, dropping from the head; a message with TTL 0 that nobody took is
// due already. Source: RabbitMQ maxlength, ttl; docs/compat/expiry-and-limits.md#4, #6.
func (s *step) enforce(q *queueState, depth int) {
	for i, seq := range q.zero {
		if s.work >= s.drainMax {
			s.leaveToTick(q, q.zero[i:])
			break
		}
		if e := q.messages.Entry(seq); e != nil && e.State == queue.Ready && due(e, s.Now) && !q.settings.ExpiryHead {
			s.deadLetter(q, seq, fact.Expired, depth)
		}
	}
	q.zero = q.zero[:0]
	set := q.settings
	if !set.Overflow.DropsHead() || s.putsOff(q, fact.MaxLen) || q.excess != 0 {
		return
	}
	for n := 0; q.over(set); n++ {
		seq, _, ok := q.messages.Head()
		switch {
		case q == s.lost:
			seq, ok = s.loser()
		case set.Overflow == DropLowest:
			seq, _, ok = q.messages.LowestHead()
		}
		if !ok {
			return // what is over the limit waits
		}
		// to give up a dead letter is next to no work
		if q != s.lost && (n == excessMax || s.work >= s.drainMax || s.moves >= movesMax/2) {
			q.excess = s.Now
			s.deadlines.Add(deadline.Entry{At: q.excess, Owner: owner(q, ownExcess)})
			return
		}
		reason := fact.MaxLen
		if due(q.messages.Entry(seq), s.Now) { // what has expired says so. Source: docs/compat/dead-lettering.md#2
			reason = fact.Expired
		}
		s.deadLetter(q, seq, reason, depth)
		if n == 0 {
			s.work += workOfQueue // its head may lie in a page
		}
	}
}

// leaveToTick lets the next tick take messages that are due already: the step has done enough.
func (s *step) leaveToTick(q *queueState, due []queue.Seq) {
	for _, seq := range due {
		if e := q.messages.Entry(seq); e != nil {
			s.schedule(q, seq, e) // a tick may have disarmed its chunk in this step, without it
		}
	}
}

func (q *queueState) over(set *Settings) bool { return q.overWith(set, queue.Gone, 0, 0) }

// overWith reports whether q has more than it may with n messages more, of so many octets of bodies together; held is
// as for counted.
func (q *queueState) overWith(set *Settings, held queue.State, n, octets int64) bool {
	return set.MaxLength >= 0 && int64(q.counted(held))+n > set.MaxLength ||
		set.MaxLengthBytes >= 0 && q.countedBytes(held)+octets > set.MaxLengthBytes
}
