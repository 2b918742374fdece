package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// Apply folds one fact made earlier or elsewhere. It cannot fail, reads no page and consults nothing but v
// and f. A fact about what is no longer there is void.
func (v *VHost) Apply(f Fact) { v.apply(&f) }

// apply is the switch over facts, and nothing else.
func (v *VHost) apply(f *Fact) {
	switch f.Kind {
	case ExchangeDeclared:
		v.applyPoliciesToExchange(v.topo.Declare(exchangeOf(f.Object)))
	case ExchangeDeleted:
		v.topo.DeleteExchange(f.Object.Name)
		v.forgetRecent(f.Object.Name)
	case QueueDeclared:
		v.addQueue(f)
	case QueueDeleted:
		v.dropQueue(f.Queue)
	case Bound:
		v.topo.Bind(bindingOf(f.Object))
	case Unbound:
		v.topo.Unbind(bindingOf(f.Object))
	case PolicySet:
		v.policies.set(*f.Policy)
		v.applyPolicies()
	case PolicyCleared:
		v.policies.clear(f.Policy.Name, f.Policy.Operator)
		v.applyPolicies()
	case Stored, Remembered:
	case Enqueued:
		if q := v.queueOf(f.Queue); q != nil {
			v.enqueued(q, f)
		}
	case Handed:
		v.eachIn(f, func(q *queueState, s queue.Seq, e *queue.Entry) { e.Flags |= queue.Redelivered | queue.Handed })
	case Returned:
		v.eachIn(f, func(q *queueState, s queue.Seq, e *queue.Entry) { v.returned(q, s, e, f) })
	case Ended:
		v.eachIn(f, func(q *queueState, s queue.Seq, e *queue.Entry) { v.endOne(q, s, f.Cause) })
	case Counted:
		v.books, v.durable = *f.Books, *f.Books
	case Skipped:
		if q := v.queueOf(f.Queue); q != nil {
			q.messages.Skip(f.Seq)
		}
	case Resumed:
		v.eachIn(f, v.resumed)
	case Held:
		v.eachIn(f, func(q *queueState, s queue.Seq, e *queue.Entry) { v.withheld(q, s, e, f) })
	case Kept:
		v.eachIn(f, func(q *queueState, s queue.Seq, e *queue.Entry) {
			v.unschedule(q, s, e)
			e.Flags &^= queue.Ordered
			e.ExpireAt = 0
			if v.mutant == MutantKeepAWhile {
				e.ExpireAt = v.logged + 1000
				v.schedule(q, s, e)
			}
		})
	case Tallied:
		v.eachIn(f, func(q *queueState, s queue.Seq, _ *queue.Entry) {
			side := q.messages.Side(s)
			side.Failed = uint32(f.N)
			q.messages.SetSide(s, side)
		})
	case Noted:
		v.noted(f)
	case Configured:
		v.configured(f.Object.Arguments)
	}
}

// queueOf finds a queue, or the shelf.
func (v *VHost) queueOf(id QueueID) *queueState {
	if id == shelfID {
		return v.shelf
	}
	return v.queues[id]
}

// eachIn calls fn for every copy in f's range that is there.
func (v *VHost) eachIn(f *Fact, fn func(*queueState, queue.Seq, *queue.Entry)) {
	q := v.queueOf(f.Queue)
	if q == nil {
		return
	}
	if f.N <= 1 || f.Kind == Tallied {
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
func (v *VHost) enqueued(q *queueState, f *Fact) {
	v.books.Made++
	if q == v.shelf {
		v.shelved[Cause(f.Entry.Priority)]++
	}
	if f.Entry.Flags&queue.Persistent != 0 {
		v.durable.Made++
	}
	e := q.messages.Push(f.Seq, f.Entry)
	v.retain(e.Ref(v.log))
	if f.Entry.Flags&queue.Letter != 0 {
		v.retain(f.History)
		q.messages.SetSide(f.Seq, queue.Side{History: f.History})
	}
	if f.N > 0 { // from a snapshot: returns so far
		side := q.messages.Side(f.Seq)
		side.Acquired = uint32(f.N)
		q.messages.SetSide(f.Seq, side)
	}
	if f.At != 0 { // from a snapshot: it waits
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
	if v.mutant != MutantForgetResume {
		v.deadlines.Add(deadline.Entry{At: at, Owner: owner(q, ownWaiting), Item: uint64(s)})
	}
	v.schedule(q, s, e)
}

// resumed ends the wait of a copy.
func (v *VHost) resumed(q *queueState, s queue.Seq, e *queue.Entry) {
	v.unwait(q, s, e)
	q.messages.Return(s)
}

// unwait takes the instant of a waiting copy out of the set.
func (v *VHost) unwait(q *queueState, s queue.Seq, e *queue.Entry) {
	if e.State != queue.Waiting {
		return
	}
	side := q.messages.Side(s)
	v.deadlines.Remove(deadline.Entry{At: side.Until, Owner: owner(q, ownWaiting), Item: uint64(s)})
	side.Until = 0
	q.messages.SetSide(s, side)
}

// schedule sees to it that e's deadline is in the set, its own or that of its queue's ordered entries.
func (v *VHost) schedule(q *queueState, s queue.Seq, e *queue.Entry) {
	switch {
	case e.ExpireAt == 0, q.settings.ExpiryHead && e.State != queue.Waiting:
	case e.Flags&queue.Ordered != 0:
		if q.armed == 0 || e.ExpireAt < q.armed { // of another lane, or back from a consumer
			v.disarmOrdered(q)
			q.armed = e.ExpireAt
			v.deadlines.Add(deadline.Entry{At: e.ExpireAt, Owner: owner(q, ownOrdered)})
		}
	case e.Flags&queue.Indexed == 0 && v.mutant != MutantForgetExpiry:
		e.Flags |= queue.Indexed
		v.deadlines.Add(deadline.Entry{At: e.ExpireAt, Owner: owner(q, ownMessage), Item: uint64(s)})
	}
}

// unschedule takes e's own deadline out of the set.
func (v *VHost) unschedule(q *queueState, s queue.Seq, e *queue.Entry) {
	if e.Flags&queue.Indexed != 0 {
		e.Flags &^= queue.Indexed
		v.deadlines.Remove(deadline.Entry{At: e.ExpireAt, Owner: owner(q, ownMessage), Item: uint64(s)})
	}
}

// endOne forgets a copy.
func (v *VHost) endOne(q *queueState, s queue.Seq, cause Cause) {
	e := q.messages.Entry(s)
	v.books.Ended[cause]++
	if v.mutant == MutantDoubleCount {
		v.books.Ended[cause]++
	}
	if e.Flags&queue.Persistent != 0 {
		v.durable.Ended[cause]++
	}
	v.unschedule(q, s, e)
	v.unwait(q, s, e)
	v.release(e.Ref(v.log))
	if e.Flags&queue.Letter != 0 {
		v.release(q.messages.Side(s).History)
	}
	switch {
	case q == v.shelf:
		v.shelved[Cause(e.Priority)]--
	case e.State == queue.Held:
		q.heldBy[q.held[s].cause]--
		delete(q.held, s)
	}
	q.messages.Remove(s)
}

// returned makes a copy ready again, or lets it wait. In a replay it never left: what is not logged is who held it.
func (v *VHost) returned(q *queueState, s queue.Seq, e *queue.Entry, f *Fact) {
	if q.settings.Counts && v.mutant != MutantForgetReturn {
		side := q.messages.Side(s)
		side.Return(f.Failed)
		q.messages.SetSide(s, side)
	}
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

func (v *VHost) addQueue(f *Fact) {
	q := &queueState{
		id: f.Queue, object: *f.Object, owner: f.Owner, quorum: f.Object.Type == "quorum",
		messages: queue.NewMessages(priorityMax(f.Object)),
	}
	if _, asks := q.object.Arguments.Get("x-max-priority"); q.quorum && !asks {
		q.ranked = true
	}
	if v.mutant == MutantRequeueLast {
		q.messages.PlantRequeueLast()
	}
	v.queues[q.id] = q
	v.queueMax = max(v.queueMax, q.id)
	v.topo.AddQueue(q.object.Name, q.id)
	v.applyPoliciesTo(q)
	q.consumers.SetSingle(q.settings.SingleActive, q.quorum)
}

func (v *VHost) dropQueue(id QueueID) {
	q := v.queues[id]
	if q == nil {
		return
	}
	var all []queue.Seq
	q.messages.Each(0, func(s queue.Seq, e *queue.Entry) bool {
		all = append(all, s)
		return true
	})
	for _, s := range all {
		v.endOne(q, s, GoneDeleted)
	}
	v.disarm(q)
	v.keepCounts(q)
	q.deleted = true
	v.topo.DeleteQueue(q.object.Name)
	delete(v.queues, id)
}

func exchangeOf(o *Object) topology.Exchange {
	kind, _ := topology.ParseKind(o.Type)
	return topology.Exchange{
		Name: o.Name, Kind: kind, Durable: o.Durable, AutoDelete: o.AutoDelete, Internal: o.Internal, Arguments: o.Arguments,
	}
}

func bindingOf(o *Object) topology.Binding {
	return topology.Binding{
		Source: o.Source, Destination: o.Name, ToQueue: !o.ToExchange, RoutingKey: o.RoutingKey, Arguments: o.Arguments,
	}
}
