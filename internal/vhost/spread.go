package vhost

import (
	"bytes"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// A message for more queues than a step reaches is a staged transaction of one step, which names the queues: it is committed at
// once, and delivered in portions, each in one batch with how many queues have it. So each queue has it once, over any restart. The
// confirm comes behind the last, and the publisher's next command waits until then. What no durable queue takes is not in the log.

// spreads reports whether a message goes to more queues than a step reaches. One of a transaction does not: that has steps of its
// own.
func (v *VHost) spreads(ch *channel, targets []*queueState) bool {
	return len(targets) > v.reach() && ch.tx == nil
}

// spread delivers a message in portions, and calls then at the end with what deliverTo would have told.
func (v *VHost) spread(s *Stamp, ch *channel, targets []*queueState, m *message, out *Outcome, then func(s *Stamp, refused, durable bool, out *Outcome)) {
	own := *m
	c := &own.content
	c.exchange, c.key, c.properties, c.body = bytes.Clone(c.exchange), bytes.Clone(c.key), bytes.Clone(c.properties), bytes.Clone(c.body)
	for i := range c.cc {
		c.cc[i] = bytes.Clone(c.cc[i])
	}
	for i := range c.bcc {
		c.bcc[i] = bytes.Clone(c.bcc[i])
	}
	own.scanned = false
	rest := slices.Clone(targets)
	id := uint64(0)
	if slices.ContainsFunc(rest, func(q *queueState) bool { return q.object.Durable && (m.persistent || q.quorum) }) {
		id = v.nextTx()
		step := txStep{record: v.recordOf(s, &own, true, out)}
		for _, q := range rest {
			step.targets = append(step.targets, q.id)
		}
		v.emit(s, &Fact{Kind: TxStaged, Durable: true, N: id, Bytes: appendStep(nil, &step)}, out)
		v.emit(s, &Fact{Kind: TxCommitted, Durable: true, N: id}, out)
	}
	refused, durable := false, false
	v.inPortions(s, ongoing{conn: ch.conn, portion: func(s Stamp, out *Outcome) bool {
		n := 0
		for ; n < len(rest) && !v.full(); n++ {
			if !rest[n].deleted {
				r, d := v.deliverTo(&s, rest[n:n+1], &own, 0, out)
				refused, durable = refused || r, durable || d
			}
		}
		rest = rest[n:]
		if id != 0 && (v.mutant != MutantForgetApplied || len(rest) == 0) {
			v.reached(&s, id, n, len(rest), out)
		}
		if len(rest) > 0 {
			return true
		}
		then(&s, refused, durable, out)
		return false
	}}, out)
}

// reached notes that n queues more have a message, and so many have not.
func (v *VHost) reached(s *Stamp, id uint64, n, rest int, out *Outcome) {
	f := Fact{Kind: TxReached, Durable: true, N: id, Seq: queue.Seq(n)}
	if rest == 0 {
		f = Fact{Kind: TxApplied, Durable: true, N: id, Seq: 1}
	}
	v.emit(s, &f, out)
}

// resumeSpread goes on with a message for many queues after a restart, and reports whether there are more.
func (v *VHost) resumeSpread(s *Stamp, id uint64, step *txStep, out *Outcome) (more bool) {
	n := 0
	for ; n < len(step.targets) && !v.full(); n++ {
		if q := v.queues[step.targets[n]]; q != nil {
			m := v.readStaged(s, step.record)
			v.deliverTo(s, []*queueState{q}, &m, 0, out)
		}
	}
	rest := len(step.targets) - n
	v.reached(s, id, n, rest, out)
	return rest > 0
}

// readStaged reads a message of a staged transaction as it was published.
func (v *VHost) readStaged(s *Stamp, record place.Ref) message {
	m := v.readBack(record, place.Ref{}, true)
	m.wishes(s)
	return m
}

// txReached folds TxReached.
func (v *VHost) txReached(id, n uint64) {
	if x := v.txOf(id); x != nil && len(x.steps) > 0 {
		step := &x.steps[0]
		step.targets = step.targets[min(n, uint64(len(step.targets))):]
	}
}
