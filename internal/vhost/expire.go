package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// What an entry of the deadline set belongs to: the queue's number above, one of these below.
const (
	ownMessages = iota // those of a chunk that are due then; Item is its first Seq
	ownHead            // the message at the head, where only that may expire
	ownQueue           // the queue itself, unused
	ownExcess          // work left over: more messages than the limit
	ownGraves          // work left over: what was taken off in whole; of no queue
	ownRoom            // work left over: letters that wait for room in the queue, or messages at its head that have expired
	ownSweep           // all held letters; of no queue
	ownChannel         // a delivery that is not settled; the number above is a channel's
	ownHanded          // what was handed over and is not in the log yet; of no queue
	ownBacklog         // work left over: settlements; of no queue
	ownOne             // one message that is due soon; Item is its Seq
	ownJob             // a job that goes on; the number above is its own
	ownOngoing         // work left over: commands in portions; of no queue
	ownWide            // work left over: letters on their way to very many queues; of no queue
	ownBits     = 4
)

func owner(q *queueState, kind uint64) uint64 { return ownerOf(q.id, kind) }

func ownerOf(id QueueID, kind uint64) uint64 { return uint64(id)<<ownBits | kind }

// tick handles what is due, tickMax deadlines at the most, or as many as fill a portion.
func (v *VHost) tick(s *Stamp, out *Outcome) {
	dig := false
	defer func() {
		if dig { // it is armed again, and would be the first
			v.exhume()
		}
	}()
	for left := tickMax - v.lookAhead(s, out); left > 0 && !v.isLong(); left-- {
		d, ok := v.popDue(s.Now)
		if !ok {
			return
		}
		kind := d.Owner & (1<<ownBits - 1)
		switch kind {
		case ownSweep:
			v.sweep(s, out)
			continue
		case ownHanded:
			v.handedAt = 0
			v.writeHanded(s, out)
			continue
		case ownBacklog:
			v.catchUp(s, out)
			continue
		case ownOngoing:
			if v.doOngoing(s, out); len(v.ongoing) > 0 {
				v.armOngoing(s)
				return // it would be the next to be due
			}
			continue
		case ownWide:
			if v.goOnWide(s, out); v.full() {
				return // it would be the next to be due
			}
			continue
		case ownGraves:
			dig = true
			continue
		case ownChannel:
			v.timeOut(s, v.channels[ChannelID(d.Owner>>ownBits)], out)
			continue
		case ownJob:
			if j := v.jobs.find(JobID(d.Owner >> ownBits)); v.cramped && j != nil {
				j.next = 0
				v.wakeJob(j, s.Now+sweepEvery)
				continue
			}
			left -= v.goOn(s, v.jobs.find(JobID(d.Owner>>ownBits)), out)
			continue
		}
		q := v.queueOf(QueueID(d.Owner >> ownBits))
		if kind == ownOne {
			v.near--
		}
		if q == nil {
			continue
		}
		switch kind {
		case ownMessages:
			left -= v.fallDue(s, q, queue.Seq(d.Item), d.At, left, out)
		case ownOne:
			q.near--
			v.happen(s, q, queue.Seq(d.Item), d.At, out)
			q.messages.Passed(queue.Seq(d.Item), d.At)
		case ownHead:
			q.armed = 0
			left -= v.expireHeads(s, q, left, out)
		case ownQueue:
			q.expires = 0
			v.lateness.note(LateExpires, s.Now-d.At)
			v.deleteQueue(s, q, out)
		case ownExcess:
			q.excess = 0
			v.touch(q, 0)
		case ownRoom:
			q.again = 0
			v.touch(q, 0)
		}
	}
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

// lookAhead puts messages into the set of deadlines that will be due soon, of chunks in a queue that has such already, and
// tells how much work that was: of a crowd that is due at many instants it is known in good time what comes next.
func (v *VHost) lookAhead(s *Stamp, out *Outcome) (n int) {
	for v.near > 0 && n < aheadMax && !v.full() {
		d, ok := v.chunks.Min()
		if !ok || d.At > s.Now+nearHorizon {
			break
		}
		q := v.queueOf(QueueID(d.Owner >> ownBits))
		if q == nil || q.near == 0 {
			break
		}
		v.chunks.PopDue(d.At)
		n += v.fallDue(s, q, queue.Seq(d.Item), d.At, 0, out)
	}
	return n
}

// fallDue lets go what is due in a chunk at that instant, so that whatever is due leaves in the order of instants; most
// at the most, and none once the portion is full. The chunk is armed for what comes next. If much of it is due soon, at
// many instants, its messages are put into the set one by one, so that the chunk is not looked through for each.
func (v *VHost) fallDue(s *Stamp, q *queueState, chunk queue.Seq, at deadline.Instant, most int, out *Outcome) (n int) {
	var soon [queue.ChunkLen]moment
	k, later, next := 0, 0, deadline.Instant(0) // of those that are soon, how many later than at
	horizon := max(at, s.Now) + nearHorizon
	q.messages.Disarm(chunk, func(seq queue.Seq, e *queue.Entry, side *queue.Side) {
		switch d := v.dueAt(q, e, side); {
		case d == 0 || len(q.zero) > 0 && slices.Contains(q.zero, seq): // what came in this step: consumers are asked first
		case d > horizon:
			next = sooner(next, d)
		default:
			if d > at {
				later++
			}
			soon[k] = moment{d, seq}
			k++
		}
	})
	if later >= nearLeast || k > 0 && q.near > 0 { // what is in the set already comes in order with the rest
		first, last := soon[0], soon[0]
		for _, m := range soon[:k] {
			if v.deadlines.Add(deadline.Entry{At: m.at, Owner: owner(q, ownOne), Item: uint64(m.seq)}) {
				q.near++
				v.near++
			}
			if m.at < first.at {
				first = m
			}
			if m.at >= last.at { // they come by their numbers
				last = m
			}
		}
		q.messages.Near(first.at, last.at, last.seq)
		v.rearm(q, chunk, next)
		return 1 + k/nearWork
	}
	i := 0
	for ; i < k && n < most && !v.isLong(); i++ {
		if soon[i].at <= at {
			v.happen(s, q, soon[i].seq, at, out)
			n++
		} else {
			next = sooner(next, soon[i].at)
		}
	}
	for ; i < k; i++ { // the rest goes with the next tick
		next = sooner(next, max(soon[i].at, at))
	}
	v.rearm(q, chunk, next)
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

// happen does what is due with a message at an instant, if it still is.
func (v *VHost) happen(s *Stamp, q *queueState, seq queue.Seq, at deadline.Instant, out *Outcome) {
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
		case v.cramped:
			v.putOffDue(q, seq, until)
		default:
			v.lateness.note(LateDelay, s.Now-at)
			v.fire(s, q, seq, out)
		}
	case e.ExpireAt != 0 && e.ExpireAt <= at && (waits || e.State == queue.Ready && !q.settings.ExpiryHead):
		if v.putsOff(q, Expired) {
			v.putOffDue(q, seq, e.ExpireAt)
			return
		}
		v.lateness.note(LateTTL, s.Now-at)
		v.die(s, q, seq, Expired, 0, out)
		if e := q.messages.Entry(seq); e != nil { // kept in place, it may go on waiting
			v.schedule(q, seq, e)
		}
	case waits && until <= at:
		v.lateness.note(LateRetry, s.Now-at)
		v.resume(s, q, seq, out)
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

// lookAgain arms the chunk of a message for what is next in it, if it was armed for that message, which is gone or due later.
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

// resume makes a message that has waited ready again.
func (v *VHost) resume(s *Stamp, q *queueState, seq queue.Seq, out *Outcome) {
	durable := q.messages.Entry(seq).Flags&queue.Persistent != 0
	v.emit(s, &Fact{Kind: Resumed, Queue: q.id, Seq: seq, Durable: durable}, out)
	v.touch(q, 0)
}

// expireHeads lets the messages of q go, head by head, where only the head may expire, and tells how many; most at the
// most, and none once the portion is full.
func (v *VHost) expireHeads(s *Stamp, q *queueState, most int, out *Outcome) (n int) {
	for ; n < most && !v.isLong() && !v.putsOff(q, Expired); n++ {
		seq, e, ok := q.messages.Head()
		if !ok || !due(e, s.Now) || !q.settings.ExpiryHead {
			break
		}
		if slices.Contains(q.zero, seq) {
			return n
		}
		v.die(s, q, seq, Expired, 0, out)
	}
	v.arm(q)
	return n
}

// arm puts the deadline of q's head into the set, where only the head may expire.
func (v *VHost) arm(q *queueState) {
	v.disarmHead(q)
	if !q.settings.ExpiryHead || q.deleted || v.putsOff(q, Expired) {
		return
	}
	if _, e, ok := q.messages.Head(); ok && e.ExpireAt != 0 {
		q.armed = e.ExpireAt
		v.deadlines.Add(deadline.Entry{At: q.armed, Owner: owner(q, ownHead)})
	}
}

// armExpiry starts the life of an unused queue anew. Source: RabbitMQ ttl#queue-ttl.
func (v *VHost) armExpiry(s *Stamp, q *queueState) {
	v.disarmExpiry(q)
	if q.settings.Expires > 0 && q.consumers.Len() == 0 {
		q.expires = s.From + deadline.Instant(q.settings.Expires)
		v.deadlines.Add(deadline.Entry{At: q.expires, Owner: owner(q, ownQueue)})
	}
}

func (v *VHost) disarmExpiry(q *queueState) {
	if q.expires != 0 {
		v.deadlines.Remove(deadline.Entry{At: q.expires, Owner: owner(q, ownQueue)})
		q.expires = 0
	}
}

// used notes a use of q that renews its life: a get, a declare.
func (v *VHost) used(s *Stamp, q *queueState) {
	if q.expires != 0 {
		v.armExpiry(s, q)
	}
}

// disarm takes everything of q out of the set, when it is deleted.
func (v *VHost) disarm(q *queueState) {
	v.disarmExpiry(q)
	v.disarmHead(q)
	if q.again != 0 {
		v.deadlines.Remove(deadline.Entry{At: q.again, Owner: owner(q, ownRoom)})
		q.again = 0
	}
	if q.excess != 0 {
		v.deadlines.Remove(deadline.Entry{At: q.excess, Owner: owner(q, ownExcess)})
		q.excess = 0
	}
}

func (v *VHost) disarmHead(q *queueState) {
	if q.armed != 0 {
		v.deadlines.Remove(deadline.Entry{At: q.armed, Owner: owner(q, ownHead)})
		q.armed = 0
	}
}

// enforce makes q obey its length limits, dropping from the head; a message with TTL 0 that nobody took is
// due already. Source: RabbitMQ maxlength, ttl; reference expiry-and-limits 4, 6.
func (v *VHost) enforce(s *Stamp, q *queueState, depth int, out *Outcome) {
	for _, seq := range q.zero {
		if e := q.messages.Entry(seq); e != nil && e.State == queue.Ready && due(e, s.Now) && !q.settings.ExpiryHead {
			v.die(s, q, seq, Expired, depth, out)
		}
	}
	q.zero = q.zero[:0]
	set := q.settings
	if !set.Overflow.dropsHead() || v.putsOff(q, MaxLen) || q.excess != 0 || v.mutant == MutantKeepExcess || q == v.shelf && v.mutant == MutantShelfGrows {
		return
	}
	for n := 0; q.over(set); n++ {
		seq, _, ok := q.messages.Head()
		switch {
		case q == v.shelf:
			seq, ok = v.loser()
		case set.Overflow == DropLowest:
			seq, _, ok = q.messages.LowestHead()
		}
		if !ok {
			return // what is over the limit waits
		}
		if q != v.shelf && (n == excessMax || v.work >= v.calmMax || v.moves >= movesMax/2) { // to give up a letter is next to no work
			q.excess = s.Now
			v.deadlines.Add(deadline.Entry{At: q.excess, Owner: owner(q, ownExcess)})
			return
		}
		reason := MaxLen
		if due(q.messages.Entry(seq), s.Now) { // what has expired says so. Source: reference dead-lettering 2
			reason = Expired
		}
		v.die(s, q, seq, reason, depth, out)
		if n == 0 {
			v.work += workOfQueue // its head may lie in a page
		}
	}
}

func (q *queueState) over(set *Settings) bool { return q.overWith(set, queue.Gone, 0, 0) }

// recovered begins the life of queues that are unused after a restart. What was with a consumer when the log
// ended has come back, which counts as a return where returns are counted: so a message that kills the broker
// meets its delivery limit. Source: ours, design §2; reference expiry-and-limits 5.
func (v *VHost) recovered(s *Stamp, out *Outcome) {
	v.resumeTx(s, out)
	v.resumeRules(s, out)
	for _, q := range v.sortedQueues() {
		if q.schedule != nil {
			v.closeSchedule(s, q.object.Name, out) // a transient exchange is gone
			continue
		}
		v.comeBack(s, q, out)
		v.armExpiry(s, q)
		v.touch(q, 0)
	}
	v.touch(v.shelf, 0)
	v.resumeWide(s)
	v.sweepSoon(s)
	v.resumeJobs(s)
}

// comeBack returns what a crash left in the hands of consumers.
func (v *VHost) comeBack(s *Stamp, q *queueState, out *Outcome) {
	var handed []queue.Seq
	q.messages.EachHanded(func(seq queue.Seq, _ *queue.Entry) bool {
		handed = append(handed, seq)
		return true
	})
	if !q.settings.Counts {
		for _, seq := range handed {
			e := q.messages.Change(seq)
			e.Flags &^= queue.Handed
			v.schedule(q, seq, e)
		}
		return
	}
	for _, seq := range handed {
		if v.full() {
			q.messages.Change(seq).Flags &^= queue.Handed
			q.messages.Take(seq) // nobody gets it before it was counted
			v.later(s, task{queue: q, seq: seq, requeue: true, failed: true})
			continue
		}
		v.returnOne(s, q, seq, v.mutant != MutantForgetFailure, out)
	}
}
