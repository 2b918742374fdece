package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// What an entry of the deadline set belongs to: the queue's number above, one of these below.
const (
	ownMessages    = iota // those of a chunk that are due then; Item is its first Seq
	ownHead               // the message at the head, where only that may expire
	ownQueue              // the queue itself, unused
	ownExcess             // work left over: more messages than the limit
	ownPendingFree        // work left over: what was taken off in whole; of no queue
	// work left over: dead letters that wait for space in the queue, or messages at its head that have
	// expired
	ownSpace
	ownSweep   // all held dead letters; of no queue
	ownChannel // a delivery that is not settled; the number above is a channel's
	ownHanded  // what was handed over and is not in the log yet; of no queue
	ownBacklog // work left over: settlements; of no queue
	ownOne     // one message that is due soon; Item is its Seq
	ownJob     // a job that goes on; the number above is its own
	ownOngoing // work left over: commands in portions; of no queue
	ownWide    // work left over: dead letters on their way to very many queues; of no queue
	ownBits    = 4
)

func owner(q *queueState, kind uint64) uint64 { return ownerOf(q.id, kind) }

func ownerOf(id fact.QueueID, kind uint64) uint64 { return uint64(id)<<ownBits | kind }

// tick handles what is due, tickMax deadlines at the most, or as many as fill a portion.
func (s *step) tick() {
	dig := false
	defer func() {
		if dig { // it is armed again, and would be the first
			s.freeSome()
		}
	}()
	for left := tickMax - s.lookAhead(); left > 0 && !s.full(); left-- {
		d, ok := s.popDue(s.Now)
		if !ok {
			return
		}
		switch kind, of := d.Owner&(1<<ownBits-1), d.Owner>>ownBits; kind {
		case ownPendingFree:
			dig = true
		case ownSweep, ownHanded, ownBacklog, ownOngoing, ownWide:
			if s.goOn(kind) {
				return // it would be the next to be due
			}
		case ownChannel:
			s.timeOut(s.channels[ChannelID(of)])
		case ownJob:
			left -= s.jobDue(s.jobs.find(fact.JobID(of)))
		default:
			left -= s.queueDue(kind, fact.QueueID(of), d, left)
		}
	}
}

// goOn goes on with work that is left over and is of no queue. It reports whether there is still more of it now.
func (s *step) goOn(kind uint64) (more bool) {
	switch kind {
	case ownSweep:
		s.sweep()
		return s.holding.next > 0
	case ownHanded:
		s.handedAt = 0
		s.writeHanded()
	case ownBacklog:
		s.catchUp()
	case ownOngoing:
		if s.doOngoing(); len(s.ongoing) > 0 {
			s.armOngoing()
			return true
		}
	case ownWide:
		s.continueWide()
		return s.full()
	}
	return false
}

// jobDue goes on with a job, or has it wait for space on the disk. It returns for how many deadlines that counts.
func (s *step) jobDue(j *job) (work int) {
	if s.cramped && j != nil {
		j.next = 0
		s.wakeJob(j, s.Now+jobRetryEvery)
		return 0
	}
	return s.runJob(j)
}

// queueDue does what is due in a queue: a part of it, if it is more than most deadlines. It returns for how many more
// deadlines than one that counts.
func (s *step) queueDue(kind uint64, id fact.QueueID, d deadline.Entry, most int) (work int) {
	if kind == ownOne {
		s.near--
	}
	q := s.queueOf(id)
	if q == nil {
		return 0
	}
	switch kind {
	case ownMessages:
		return s.fallDue(q, queue.Seq(d.Item), d.At, most)
	case ownOne:
		q.near--
		s.handleDue(q, queue.Seq(d.Item), d.At)
		q.messages.Passed(queue.Seq(d.Item), d.At)
	case ownHead:
		q.armed = 0
		return s.expireHeads(q, most)
	case ownQueue:
		q.expires = 0
		s.lateness.note(LateExpires, s.Now-d.At)
		s.deleteQueue(q)
	case ownExcess:
		q.excess = 0
		s.markDirty(q, 0)
	case ownSpace:
		q.again = 0
		s.markDirty(q, 0)
	}
	return 0
}

// popDue takes out the earliest deadline, if it is due.
func (v *VHost) popDue(now deadline.Instant) (d deadline.Entry, ok bool) {
	if d, ok = v.deadlines.Min(); ok && d.At <= now {
		if c, some := v.chunks.Min(); !some || d.Compare(c) < 0 {
			return v.deadlines.PopDue(now)
		}
	}
	return v.chunks.PopDue(now)
}

// lookAhead puts messages into the set of deadlines that will be due soon, of chunks in a queue that has such already,
// and tells how much work that was: of a crowd that is due at many instants it is known in good time what comes next.
func (s *step) lookAhead() (n int) {
	for s.near > 0 && n < aheadMax && !s.full() {
		d, ok := s.chunks.Min()
		if !ok || d.At > s.Now+nearHorizon {
			break
		}
		q := s.queueOf(fact.QueueID(d.Owner >> ownBits))
		if q == nil || q.near == 0 {
			break
		}
		s.chunks.PopDue(d.At)
		n += s.fallDue(q, queue.Seq(d.Item), d.At, 0)
	}
	return n
}

// fallDue lets go what is due in a chunk at that instant, so that whatever is due leaves in the order of instants; most
// at the most, and none once the portion is full. The chunk is armed for what comes next. If much of it is due soon, at
// many instants, its messages are put into the set one by one, so that the chunk is not looked through for each.
func (s *step) fallDue(q *queueState, chunk queue.Seq, at deadline.Instant, most int) (n int) {
	var soon [queue.ChunkLen]moment
	// of those that are soon: how many, how often two in a row are due at different instants later than at
	k, later, next := 0, 0, deadline.Instant(0)
	horizon := max(at, s.Now) + nearHorizon
	q.messages.Disarm(chunk, func(seq queue.Seq, e *queue.Entry, side *queue.Side) {
		switch d := s.dueAt(q, e, side); {
		case d == 0 || len(q.zero) > 0 && slices.Contains(q.zero, seq): // what came in this step: consumers are asked first
		case d > horizon:
			next = sooner(next, d)
		default:
			if d > at && (k == 0 || soon[k-1].at != d) {
				later++
			}
			soon[k] = moment{d, seq}
			k++
		}
	})
	if later >= nearLeast || k > 0 && q.near > 0 { // what is in the set already comes in order with the rest
		first, last := soon[0], soon[0]
		for _, m := range soon[:k] {
			if s.deadlines.Add(deadline.Entry{At: m.at, Owner: owner(q, ownOne), Item: uint64(m.seq)}) {
				q.near++
				s.near++
			}
			if m.at < first.at {
				first = m
			}
			if m.at >= last.at { // they come by their numbers
				last = m
			}
		}
		q.messages.Near(first.at, last.at, last.seq)
		s.rearm(q, chunk, next)
		return 1 + k/nearWork
	}
	i := 0
	for ; i < k && n < most && !s.full(); i++ {
		if soon[i].at <= at {
			s.handleDue(q, soon[i].seq, at)
			n++
		} else {
			next = sooner(next, soon[i].at)
		}
	}
	for ; i < k; i++ { // the rest goes with the next tick
		next = sooner(next, max(soon[i].at, at))
	}
	s.rearm(q, chunk, next)
	return max(n, 1)
}

// moment is when a message is due.
type moment struct {
	at  deadline.Instant
	seq queue.Seq
}

// sooner is the earlier of two instants of which the first may be none.
func sooner(a, b deadline.Instant) deadline.Instant {
	if a == 0 || b < a {
		return b
	}
	return a
}

// handleDue does what is due with a message at an instant, if it still is.
func (s *step) handleDue(q *queueState, seq queue.Seq, at deadline.Instant) {
	e := q.messages.Entry(seq)
	if e == nil || q.deleted || slices.Contains(q.zero, seq) {
		return
	}
	waits := e.State == queue.Waiting
	until := deadline.Instant(0)
	if waits {
		until = q.messages.Side(seq).Until
	}
	switch {
	case q.schedule != nil:
		switch {
		case until > at:
		case s.cramped:
			s.putOffDue(q, seq, until)
		default:
			s.lateness.note(LateDelay, s.Now-at)
			s.fire(q, seq)
		}
	case e.ExpireAt != 0 && e.ExpireAt <= at && (waits || e.State == queue.Ready && !q.settings.ExpiryHead):
		if s.putsOff(q, fact.Expired) {
			s.putOffDue(q, seq, e.ExpireAt)
			return
		}
		s.lateness.note(LateTTL, s.Now-at)
		s.deadLetter(q, seq, fact.Expired, 0)
		if e := q.messages.Entry(seq); e != nil { // kept in place, it may go on waiting
			s.schedule(q, seq, e)
		}
	case waits && until <= at:
		s.lateness.note(LateRetry, s.Now-at)
		s.resume(q, seq)
	}
}

// lookAgain arms the chunk of a message for what is next in it, if it was armed for that message, which is gone or due
// later.
func (v *VHost) lookAgain(q *queueState, seq queue.Seq, was deadline.Instant) {
	chunk := seq &^ (queue.ChunkLen - 1)
	if q.deleted || q.messages.ArmedFor(chunk) != was {
		return
	}
	next := deadline.Instant(0)
	v.disarmed(q.messages, chunk, was)
	q.messages.Disarm(chunk, func(_ queue.Seq, e *queue.Entry, side *queue.Side) {
		if d := v.dueAt(q, e, side); d != 0 {
			next = sooner(next, d)
		}
	})
	v.rearm(q, chunk, next)
}

// recovered begins the life of queues that are unused after a restart. What was with a consumer when the log
// ended has come back, which counts as a return where returns are counted: so a message that kills the broker
// meets its delivery limit. Source: ours, docs/compat/differences.md#expiry; docs/compat/expiry-and-limits.md#5.
func (s *step) recovered() {
	s.resumeTx()
	s.resumeRules()
	s.resumeOrphans()
	for _, q := range s.sortedQueues() {
		if q.schedule != nil {
			s.closeSchedule(q.object.Name) // a transient exchange is gone
			continue
		}
		s.requeueAfterRestart(q)
		s.armExpiry(q)
		s.markDirty(q, 0)
	}
	s.markDirty(s.lost, 0)
	s.resumeWide()
	s.sweepSoon()
	s.resumeJobs()
}

// requeueAfterRestart returns what a crash left in the hands of consumers.
func (s *step) requeueAfterRestart(q *queueState) {
	var handed []queue.Seq
	q.messages.EachHanded(func(seq queue.Seq, _ *queue.Entry) bool {
		handed = append(handed, seq)
		return true
	})
	if !q.settings.Counts {
		for _, seq := range handed {
			e := q.messages.Change(seq)
			e.Flags &^= queue.Handed
			s.schedule(q, seq, e)
		}
		return
	}
	for _, seq := range handed {
		if s.full() {
			q.messages.Change(seq).Flags &^= queue.Handed
			q.messages.Take(seq) // nobody gets it before it was counted
			s.later(task{queue: q, seq: seq, requeue: true, failed: true})
			continue
		}
		s.returnOne(q, seq, true)
	}
}

// rearm arms a chunk for an instant, 0 for none, if it is not armed for a sooner one.
func (v *VHost) rearm(q *queueState, chunk queue.Seq, at deadline.Instant) {
	if at == 0 || q.deleted {
		return
	}
	if was, earlier := q.messages.Rearm(chunk, at); earlier {
		v.armed(q, chunk, was, at)
	}
}
