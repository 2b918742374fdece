package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// On a disk that is all but full, what is left is for settling, purging and deleting. Whoever runs the vhost says so by
// SetSpace; then nothing moves. A copy that would become a dead letter stays in its queue, unacked and with nobody, and
// dies when there is space again, in the order in which it would have died. What is due to expire, to fire, or to be
// tried again stays where it is until then. Nothing of this is in the log: after a crash such a copy was not settled.
// Source: ours, decision 19.

// lateChunk is a chunk with messages that were due while there was no space.
type lateChunk struct {
	queue fact.QueueID
	chunk queue.Seq
}

// setSpace decides SetSpace.
func (s *step) setSpace(space bool) {
	if s.cramped = !space; s.cramped {
		return
	}
	off, late := s.off, s.late
	s.off, s.late, s.isLate = nil, nil, nil
	for _, t := range off {
		t.queue.off--
		s.later(t)
	}
	for _, c := range late {
		if q := s.queueOf(c.queue); q != nil {
			if at := q.messages.ArmedFor(c.chunk); at != 0 {
				s.armed(q, c.chunk, 0, at)
			}
		}
	}
	for _, q := range s.sortedQueues() {
		s.markDirty(q, 0)
	}
	s.armWide()
	s.sweepSoon()
	s.resumeJobs()
}

// goesOn reports whether a message of q that dies for reason goes elsewhere.
func (v *VHost) goesOn(q *queueState, reason fact.Reason) bool {
	return q != v.lost && (q.settings.HasDLX || reason == fact.DeliveryLimit && v.options.LostLettersMaxBytes != 0)
}

// putsOff reports whether a message of q that dies for reason has to stay until there is space.
func (v *VHost) putsOff(q *queueState, reason fact.Reason) bool {
	return v.cramped && v.goesOn(q, reason)
}

// suspend keeps a copy that was to die, or to return, until there is space. One that has expired at the head of its
// queue is out of the way of others as if it had been handed over, and comes back then.
func (s *step) suspend(q *queueState, seq queue.Seq, t task) {
	e := q.messages.Entry(seq)
	ready := e.State == queue.Ready
	if ready && e.Flags&queue.Handed == 0 {
		t.requeue = true
	}
	s.work += workOfEnd
	t.queue, t.seq = q, seq
	s.off = append(s.off, t)
	q.off++
	if s.out.Trace {
		s.out.Facts = append(s.out.Facts, fact.Fact{Kind: fact.PutOff, Queue: q.id, Seq: seq, Failed: t.failed})
	}
	switch {
	case ready && e.Flags&queue.Handed == 0:
		s.hand(q, seq, e)
	case ready: // a crash found it handed over
		q.messages.Take(seq)
	}
}

// putOffDue leaves what is due in the chunk of a message until there is space. The chunk is armed for it, which a
// checkpoint knows, but not in the set.
func (v *VHost) putOffDue(q *queueState, seq queue.Seq, due deadline.Instant) {
	c := lateChunk{q.id, seq &^ (queue.ChunkLen - 1)}
	if was, earlier := q.messages.Rearm(c.chunk, due); earlier && was != 0 {
		v.chunks.Remove(deadline.Entry{At: was, Owner: owner(q, ownMessages), Item: uint64(c.chunk)})
	}
	if v.isLate[c] {
		return
	}
	if v.isLate == nil {
		v.isLate = map[lateChunk]bool{}
	}
	v.isLate[c] = true
	v.late = append(v.late, c)
}

// purgeOff ends the copies of q that were put off, and tells how many there were.
func (s *step) purgeOff(q *queueState) (n uint64) {
	if q.off == 0 {
		return 0
	}
	kept := s.off[:0]
	for _, t := range s.off {
		if t.queue != q {
			kept = append(kept, t)
			continue
		}
		if e := q.messages.Entry(t.seq); e != nil && e.State == queue.Unacked {
			s.end(q, t.seq, fact.GonePurged)
			n++
		}
	}
	clear(s.off[len(kept):])
	s.off, q.off = kept, 0
	return n
}

// refuseGrowth refuses what would stay in the log while there is no space for it. What is there
// already may be declared.
func (v *VHost) refuseGrowth(ch *channel, c *Command) *amqp.Error {
	d, grows := c.Definition, false
	switch c.Kind {
	case DeclareExchange:
		grows = d.Durable && !d.Passive && v.topo.Exchange(d.Name) == nil
	case DeclareQueue:
		grows = d.Durable && !d.Passive && v.queueNamed(d.Name) == nil
	case BindExchange, BindQueue:
		o, err := ch.binding(c)
		if err != nil {
			return err
		}
		if _, _, err = v.ends(ch, o); err != nil {
			return err
		}
		grows = o.Durable && !v.topo.Bound(bindingOf(o))
	case Republish, FireNow, Resend, BeginRedrive:
		grows = true
	}
	if !grows {
		return nil
	}
	full := amqp.PreconditionFailed("the disk is full: no space for this in vhost '%s' until messages are acknowledged, purged or deleted", v.name)
	full.Later = true
	return full
}

// Grows reports whether a command may make the log hold more, however little is left to be consumed: a publish, the
// commit of one, the announcement of one, whose body would be waited with, or a new binding that is given messages of
// a recent history.
func (v *VHost) Grows(c *Command) bool {
	switch c.Kind {
	case Publish, Announce:
		return true
	case BindQueue, BindExchange:
		if r := v.recents[c.Definition.Source]; r != nil && !r.empty() {
			return v.adds(c)
		}
	case CommitTx:
		if ch := v.channels[c.Channel]; ch != nil && ch.tx != nil {
			for i := range ch.tx.held {
				if ch.tx.held[i].command.Kind == Publish {
					return true
				}
			}
		}
	}
	return false
}
