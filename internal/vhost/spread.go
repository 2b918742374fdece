package vhost

import (
	"bytes"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A message for more queues than a step reaches is a staged transaction of one step, which names the queues: it is
// committed at once, and delivered in portions, each in one batch with how many queues have it. So each queue has it
// once, over any restart. The confirm comes behind the last, and the publisher's next command waits until then. What no
// durable queue takes is not in the log.

// spreads reports whether a message goes to more queues than a step reaches. One of a transaction does not: that has
// steps of its own.
func (v *VHost) spreads(ch *channel, targets []*queueState) bool {
	return len(targets) > v.itemsPerStep() && ch.tx == nil
}

// spread delivers a message in portions, and calls then at the end with what deliverTo would have told.
func (s *step) spread(ch *channel, targets []*queueState, m *message, then func(s *step, refused, durable bool)) {
	own := *m
	c := &own.content
	c.Exchange, c.Key, c.Properties = bytes.Clone(c.Exchange), bytes.Clone(c.Key), bytes.Clone(c.Properties)
	own.body.octets = bytes.Clone(m.body.octets)
	for i := range c.CC {
		c.CC[i] = bytes.Clone(c.CC[i])
	}
	for i := range c.BCC {
		c.BCC[i] = bytes.Clone(c.BCC[i])
	}
	own.scanned = false
	rest := slices.Clone(targets)
	id := uint64(0)
	if slices.ContainsFunc(rest, func(q *queueState) bool { return q.object.Durable && (m.persistent || q.quorum) }) {
		id = s.nextTx()
		step := txStep{record: s.recordOf(&own, true)}
		for _, q := range rest {
			step.targets = append(step.targets, q.id)
		}
		s.emit(&fact.Fact{Kind: fact.TxStaged, Durable: true, N: id, Bytes: appendStep(nil, &step)})
		s.emit(&fact.Fact{Kind: fact.TxCommitted, Durable: true, N: id})
	}
	refused, durable := false, false
	s.inPortions(ongoing{conn: ch.conn, portion: func(s *step) bool {
		n := 0
		for ; n < len(rest) && !s.full(); n++ {
			if !rest[n].deleted {
				r, d := s.deliverTo(rest[n:n+1], &own, 0)
				refused, durable = refused || r, durable || d
			}
		}
		rest = rest[n:]
		if id != 0 {
			s.reached(id, n, len(rest))
		}
		if len(rest) > 0 {
			return true
		}
		then(s, refused, durable)
		return false
	}})
}

// reached notes that n queues more have a message, and so many have not.
func (s *step) reached(id uint64, n, rest int) {
	f := fact.Fact{Kind: fact.TxReached, Durable: true, N: id, Seq: queue.Seq(n)}
	if rest == 0 {
		f = fact.Fact{Kind: fact.TxApplied, Durable: true, N: id, Seq: 1}
	}
	s.emit(&f)
}

// resumeSpread goes on with a message for many queues after a restart, and reports whether there are more.
func (s *step) resumeSpread(id uint64, step *txStep) (more bool) {
	n := 0
	for ; n < len(step.targets) && !s.full(); n++ {
		if q := s.queues[step.targets[n]]; q != nil {
			m := s.readStaged(step.record)
			s.deliverTo([]*queueState{q}, &m, 0)
		}
	}
	rest := len(step.targets) - n
	s.reached(id, n, rest)
	return rest > 0
}

// readStaged reads a message of a staged transaction as it was published.
func (s *step) readStaged(record storage.Ref) message {
	m := s.readBack(record, storage.Ref{}, true)
	m.applyExpiration(&s.Stamp)
	if headers := m.scan().Headers; headers != nil {
		m.readFailure(headers)
	}
	return m
}

// txReached applies TxReached.
func (v *VHost) txReached(id, n uint64) {
	if x := v.txOf(id); x != nil && len(x.steps) > 0 {
		step := &x.steps[0]
		step.targets = step.targets[min(n, uint64(len(step.targets))):]
	}
}
