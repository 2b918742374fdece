package vhost

import (
	"cmp"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Apply applies one fact made earlier or elsewhere. It decides nothing; a page that it cannot read unwinds. It consults
// nothing but v and f. A fact about what is no longer there is void.
func (v *VHost) Apply(f fact.Fact) { v.apply(&f) }

// apply is the switch over facts, and nothing else.
func (v *VHost) apply(f *fact.Fact) {
	if v.saving != nil {
		v.beforeChange(f.Kind)
	}
	switch f.Kind {
	case fact.ExchangeDeclared:
		if v.topo.Exchange(f.Object.Name) == nil {
			v.extra += extraOf(f.Object.Arguments)
			v.addExchange(fact.ExchangeOf(f.Object))
		}
	case fact.ExchangeDeleted:
		x := v.topo.Exchange(f.Object.Name)
		v.unbound(v.topo.DeleteExchange(f.Object.Name))
		if x != nil && !v.isThere(x) {
			v.extra -= extraOf(x.Arguments)
			x.Arguments = nil // it stays in v.exchanges for a while
		}
		delete(v.ruledBy, f.Object.Name)
		v.forgetRecent(f.Object.Name)
		v.forgetFlow(f.Object.Name)
	case fact.QueueDeclared:
		v.addQueue(f)
	case fact.QueueDeleted:
		v.number(f.Queue, f.Durable)
		v.dropQueue(f.Queue)
	case fact.Bound:
		if v.topo.Bind(bindingOf(f.Object)) {
			v.extra += extraOf(f.Object.Arguments)
		}
	case fact.Unbound:
		v.unbound(v.topo.Unbind(bindingOf(f.Object)))
	case fact.PolicySet:
		before := v.policies.Set(*f.Policy)
		v.extra += extraOf(f.Policy.Definition) - extraOfPolicy(before)
		v.applyPolicy(f.Policy, before)
	case fact.PolicyCleared:
		before := v.policies.Clear(f.Policy.Name, f.Policy.Operator)
		v.extra -= extraOfPolicy(before)
		v.applyPolicy(f.Policy, before)
	case fact.Stored, fact.Remembered:
	case fact.Enqueued:
		if q := v.queueOf(f.Queue); q != nil {
			v.enqueued(q, f)
		}
	case fact.Handed:
		v.eachIn(f, func(q *queueState, s queue.Seq, _ *queue.Entry) {
			q.messages.Change(s).Flags |= queue.Redelivered | queue.Handed
		})
	case fact.Returned:
		v.eachIn(f, func(q *queueState, s queue.Seq, _ *queue.Entry) { v.returned(q, s, f) })
	case fact.Ended:
		if q := v.queueOf(f.Queue); q != nil {
			v.ended(q, f.Seq, max(f.N, 1), f.Cause)
		}
	case fact.Counted:
		v.books, v.durable = *f.Books, *f.Books
	case fact.Skipped:
		if q := v.queueOf(f.Queue); q != nil {
			q.messages.Skip(f.Seq)
		}
	case fact.Resumed:
		v.eachIn(f, v.resumed)
	case fact.Held:
		v.eachIn(f, func(q *queueState, s queue.Seq, e *queue.Entry) { v.applyHeld(q, s, e, f) })
	case fact.Kept:
		v.eachIn(f, func(q *queueState, s queue.Seq, _ *queue.Entry) {
			q.messages.Change(s).ExpireAt = 0
		})
	case fact.Tallied:
		v.eachIn(f, func(q *queueState, s queue.Seq, _ *queue.Entry) {
			side := q.messages.Side(s)
			side.Failed = uint32(f.N)
			q.messages.SetSide(s, side)
		})
	case fact.Noted:
		v.noted(f)
	case fact.Configured:
		v.configured(f.Object.Arguments)
	case fact.Paged:
		v.paged(f)
	case fact.PendingFree:
		v.applyPendingFree(f)
	case fact.HeldNoted:
		if q := v.queueOf(f.Queue); q != nil {
			v.noteHeld(q, f.Seq, f.Cause, f.Took, true)
		}
	case fact.Deferred:
		v.eachIn(f, func(q *queueState, s queue.Seq, _ *queue.Entry) { v.deferred(q, s, f.At) })
	case fact.Arrived:
		v.eachIn(f, func(q *queueState, s queue.Seq, _ *queue.Entry) {
			side := q.messages.Side(s)
			side.Arrived = f.At
			q.messages.SetSide(s, side)
		})
	case fact.Cancellations:
		v.applyCancellations(f)
	case fact.Keyed:
		if q := v.queues[f.Queue]; q != nil && q.schedule != nil {
			q.schedule.keys.set(f.N, f.Seq)
		}
	case fact.JobBegun:
		v.begun(f)
	case fact.JobProgressed:
		v.progressed(f)
	case fact.JobForgotten:
		v.forgotten(fact.JobID(f.N))
	case fact.TxStaged:
		v.txStaged(f)
	case fact.TxCommitted:
		if x := v.txOf(f.N); x != nil {
			x.committed = true
		}
	case fact.TxApplied:
		v.txApplied(f.N, uint64(f.Seq))
	case fact.TxReached:
		v.txReached(f.N, uint64(f.Seq))
	case fact.Ruled:
		v.ruled(f)
	case fact.Orphaned:
		v.orphaned(f)
	case fact.Matched:
		v.matched(f)
	case fact.TxDropped:
		v.txDropped(f.N)
	case fact.Used:
		v.use.Restore(f.Use, f.Index)
	}
}

// queueOf finds a queue, or the lost store.
func (v *VHost) queueOf(id fact.QueueID) *queueState {
	if id == lostID {
		return v.lost
	}
	return v.queues[id]
}

// eachIn calls fn for every copy in f's range that is there.
func (v *VHost) eachIn(f *fact.Fact, fn func(*queueState, queue.Seq, *queue.Entry)) {
	q := v.queueOf(f.Queue)
	if q == nil {
		return
	}
	if f.N <= 1 || f.Kind == fact.Tallied {
		if e := q.messages.Entry(f.Seq); e != nil {
			fn(q, f.Seq, e)
		}
		return
	}
	q.messages.Each(f.Seq, func(s queue.Seq, e *queue.Entry) bool {
		within := uint64(s-f.Seq) < f.N
		if within {
			fn(q, s, e)
		}
		return within
	})
}

// enqueued makes a copy.
func (v *VHost) enqueued(q *queueState, f *fact.Fact) {
	v.books.Made++
	if q == v.lost {
		v.lostBy[fact.Cause(f.Entry.Priority)]++
		v.shares.add(uint32(f.N), f.Seq, f.Entry.BodyBytes)
	}
	if f.Entry.Flags&queue.Persistent != 0 {
		v.durable.Made++
	}
	e := q.messages.Push(f.Seq, f.Entry)
	durable := f.Entry.Flags&queue.Persistent != 0
	v.retain(e.Ref(v.log), durable)
	if f.Entry.Flags&queue.HasHistory != 0 {
		v.retain(f.History, durable)
		q.messages.SetSide(f.Seq, queue.Side{History: f.History})
	}
	if f.N > 0 { // in the lost store, its origin; else from a snapshot: returns so far
		side := q.messages.Side(f.Seq)
		side.Acquired = uint32(f.N)
		q.messages.SetSide(f.Seq, side)
	}
	if f.At != 0 {
		v.wait(q, f.Seq, e, f.At)
		return
	}
	v.schedule(q, f.Seq, e)
}

// wait lets a copy wait until at.
func (v *VHost) wait(q *queueState, s queue.Seq, e *queue.Entry, at deadline.Instant) {
	side := q.messages.Side(s)
	side.Until = at
	q.messages.SetSide(s, side)
	q.messages.Wait(s)
	v.schedule(q, s, e)
}

// resumed ends the wait of a copy.
func (v *VHost) resumed(q *queueState, s queue.Seq, e *queue.Entry) {
	if e.State == queue.Waiting {
		side := q.messages.Side(s)
		side.Until = 0
		q.messages.SetSide(s, side)
	}
	q.messages.Resume(s)
	v.schedule(q, s, q.messages.Entry(s))
}

// endOne forgets a copy.
func (v *VHost) endOne(q *queueState, s queue.Seq, cause fact.Cause) {
	q.messages.Touch()
	e := q.messages.Entry(s)
	v.books.Ended[cause]++
	durable := e.Flags&queue.Persistent != 0
	if durable {
		v.durable.Ended[cause]++
	}
	var side queue.Side
	if e.Flags&queue.HasHistory != 0 || q == v.lost {
		side = q.messages.Side(s)
	}
	history := side.History
	v.releaseCopy(e, history)
	switch {
	case q.schedule != nil:
		v.noteOutcome(q, s, cause)
	case q == v.lost:
		v.lostBy[fact.Cause(e.Priority)]--
		v.shares.remove(side.Acquired, s, e.BodyBytes)
	case e.State == queue.Held:
		v.heldChanges(q, s)
		q.heldBy[q.held[s].cause]--
		if delete(q.held, s); len(q.held) == 0 {
			v.noteUnpaused(q)
		}
	}
	q.messages.Remove(s)
}

// returned makes a copy ready again, or lets it wait. In a replay it never left: what is not logged is who held it.
func (v *VHost) returned(q *queueState, s queue.Seq, f *fact.Fact) {
	if q.settings.Counts {
		side := q.messages.Side(s)
		side.Return(f.Failed)
		q.messages.SetSide(s, side)
	}
	e := q.messages.Change(s)
	e.Flags = e.Flags&^queue.Handed | queue.Redelivered
	if f.At != 0 {
		v.wait(q, s, e, f.At)
		return
	}
	if e.State == queue.Unacked {
		q.messages.Return(s)
	}
	v.schedule(q, s, e)
}

func (v *VHost) addQueue(f *fact.Fact) {
	q := &queueState{
		id: f.Queue, object: *f.Object, owner: f.Owner, quorum: f.Object.Type == "quorum",
		messages: queue.NewMessages(v.pool, uint32(f.Queue), f.Object.Durable, settings.PriorityMax(f.Object.Type, f.Object.Arguments)),
	}
	if _, asks := q.object.Arguments.Get("x-max-priority"); q.quorum && !asks {
		q.ranked = true
	}
	v.queues[q.id] = q
	v.extra += extraOf(q.object.Arguments)
	v.queueBytes += q.bytes()
	v.order(q)
	v.number(f.Queue, f.Durable)
	if q.object.Type == scheduleType {
		v.addSchedule(q)
		return
	}
	v.topo.AddQueue(q.object.Name, q.id)
	v.applyPoliciesTo(q)
	q.consumers.SetSingle(q.settings.SingleActive, q.quorum)
}

// number notes that the number of a queue was given: no other has it, for messages that wait are known by it. logged
// says that a durable fact names it, though the queue may be transient.
func (v *VHost) number(id fact.QueueID, logged bool) {
	v.queueMax = max(v.queueMax, id)
	if logged {
		v.queueLogged = max(v.queueLogged, id)
	}
}

// numbers notes that a fact names queues, which may be transient: no other gets their numbers, after a restart neither.
func (v *VHost) numbers(list []fact.QueueID, logged bool) {
	for _, id := range list {
		v.number(id, logged)
	}
}

// byNumber compares a queue with a number.
func byNumber(q *queueState, id fact.QueueID) int { return cmp.Compare(q.id, id) }

// order puts a queue where its number is; the newest has the greatest, but where a log was mended.
func (v *VHost) order(q *queueState) {
	i, _ := slices.BinarySearchFunc(v.ordered, q.id, byNumber)
	v.ordered = slices.Insert(v.ordered, i, q)
}

// addExchange declares an exchange that is not there.
func (v *VHost) addExchange(x topology.Exchange) {
	if n := v.topo.ExchangeCount(); !v.ruling.on && len(v.exchanges) > 64 && len(v.exchanges) > 2*n {
		v.exchanges = slices.DeleteFunc(v.exchanges, func(x *topology.Exchange) bool { return !v.isThere(x) })
	}
	declared := v.topo.Declare(x)
	v.exchanges = append(v.exchanges, declared)
	v.applyPoliciesToExchange(declared)
}

// isThere reports whether an exchange was not deleted.
func (v *VHost) isThere(x *topology.Exchange) bool { return v.topo.Exchange(x.Name) == x }

func (v *VHost) dropQueue(id fact.QueueID) {
	q := v.queues[id]
	if q == nil {
		return
	}
	v.endDeleted(q)
	v.disarm(q)
	v.forgetAddresses(q)
	q.deleted = true
	if i, found := slices.BinarySearchFunc(v.ordered, id, byNumber); found {
		v.ordered[i] = &queueState{id: id, deleted: true} // keeps the place, and nothing of what the queue had
	}
	if len(v.ordered) > 64 && len(v.ordered) > 2*(len(v.queues)-1) {
		v.forgetDeleted()
	}
	v.dropped++
	v.extra -= extraOf(q.object.Arguments)
	v.queueBytes -= q.bytes()
	if delete(v.queues, id); q.schedule != nil {
		v.keyCount -= len(q.schedule.keys.hashes)
		delete(v.schedules, q.object.Name)
		return
	}
	v.keepCounts(q)
	v.unbound(v.topo.DeleteQueue(q.object.Name))
}

// forgetDeleted gives back the places of queues that are deleted, in a new slice: the queues are perhaps gone through.
func (v *VHost) forgetDeleted() {
	left := make([]*queueState, 0, len(v.queues))
	for _, q := range v.ordered {
		if !q.deleted {
			left = append(left, q)
		}
	}
	v.ordered = left
}

func bindingOf(o *fact.Object) topology.Binding {
	return topology.Binding{
		Source: o.Source, Destination: o.Name, ToQueue: !o.ToExchange, RoutingKey: o.RoutingKey, Arguments: o.Arguments,
	}
}
