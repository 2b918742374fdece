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
//
// While memory is short, a queue that holds dead letters puts off in the same way what it would have to hold beside
// them, for each held one takes memory, and the queue itself may be many times as large as the memory. Its held dead
// letters are tried as ever. When it holds none any more, it goes on. Source: ours, decision 20.

// lateChunk is a chunk with messages that were due while there was no space.
type lateChunk struct {
	queue fact.QueueID
	chunk queue.Seq
}

// setSpace decides SetSpace.
func (s *step) setSpace(space, memory bool) {
	was := s.cramped
	s.cramped, s.lowMemory = !space, !memory
	if space {
		s.resumePutOff()
	}
	all := was && space
	for _, q := range s.ordered { // for want of memory only those that hold dead letters pause
		if !q.deleted && (all || len(q.held) > 0) {
			s.markDirty(q, 0)
		}
	}
	if all {
		s.armWide()
		s.sweepSoon()
		s.resumeJobs()
	}
}

// resumePutOff has what was put off die, return or expire with the ticks to come, in its order, except in queues that
// still put it off.
func (s *step) resumePutOff() {
	off, late := s.off, s.late
	s.off, s.late, s.isLate = nil, nil, nil
	for _, t := range off {
		if s.pauses(t.queue) {
			s.off = append(s.off, t)
			continue
		}
		t.queue.off--
		s.later(t)
	}
	for _, c := range late {
		q := s.queueOf(c.queue)
		switch {
		case q == nil:
		case s.pauses(q):
			s.keepLate(c)
		default:
			if at := q.messages.ArmedFor(c.chunk); at != 0 {
				s.armed(q, c.chunk, 0, at)
			}
		}
	}
}

// goOnUnpaused resumes, at the end of a step, what was put off in queues that pause no more.
func (s *step) goOnUnpaused() {
	if len(s.unpaused) == 0 {
		return
	}
	for _, q := range s.unpaused {
		s.lookLater(q)
	}
	clear(s.unpaused)
	s.unpaused = s.unpaused[:0]
	if !s.cramped {
		s.resumePutOff()
	}
}

// noteUnpaused notes that q may pause no more, while memory is short: it holds no dead letters now, or has other
// settings.
func (v *VHost) noteUnpaused(q *queueState) {
	if v.lowMemory {
		v.unpaused = append(v.unpaused, q)
	}
}

// pauses reports whether no message of q may go elsewhere for now.
func (v *VHost) pauses(q *queueState) bool {
	return v.cramped || v.lowMemory && q.settings.AtLeastOnce && len(q.held) > 0 && !q.deleted
}

// BoundPutOff sets how many messages a queue puts off before it hands over nothing, while memory is short. Tests set it
// low.
func (v *VHost) BoundPutOff(n int) { v.offMax = n }

// offFull reports whether q hands over nothing for now: it pauses because memory is short, and what consumers reject
// is kept in memory, too. On a full disk they go on, for their acks free space.
func (v *VHost) offFull(q *queueState) bool {
	return int(q.off) >= v.offMax && !v.cramped && v.pauses(q)
}

// goesOn reports whether a message of q that dies for reason goes elsewhere.
func (v *VHost) goesOn(q *queueState, reason fact.Reason) bool {
	return q != v.lost && (q.settings.HasDLX || reason == fact.DeliveryLimit && v.options.LostLettersMaxBytes != 0)
}

// putsOff reports whether a message of q that dies for reason has to stay for now.
func (v *VHost) putsOff(q *queueState, reason fact.Reason) bool {
	return v.pauses(q) && v.goesOn(q, reason)
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
	v.keepLate(c)
}

// keepLate notes a chunk with messages that are due.
func (v *VHost) keepLate(c lateChunk) {
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
