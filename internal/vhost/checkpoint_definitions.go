package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// definitions is a walk over all that was declared or set, and over what exchanges keep, in the order in which facts
// lead to it. The vhost's definitions must not change before its end.
type definitions struct {
	v         *VHost
	logged    fact.QueueID // queueLogged when the walk was asked for: facts that define nothing raise it
	exchanges []*topology.Exchange
	queues    []*queueState
	sources   []*topology.Exchange // of bindings
	bound     uint64               // the number of the last binding of the first of them, 0: none yet
	matched   bool                 // what applies where can be told: no change of policies is in force on a part alone
	begun     bool
	done      bool
}

func (v *VHost) newDefinitions() *definitions {
	return &definitions{v: v, logged: v.queueLogged, matched: !v.ruling.on}
}

// append adds the facts of about n definitions more, and begins with none: that lists them.
func (d *definitions) append(to *pieces, n int) {
	if !d.begun {
		d.list()
		id := d.logged
		if q := d.v.queues[id]; id > 0 && (q == nil || !q.object.Durable) {
			to.add(&fact.Fact{Kind: fact.QueueDeleted, Queue: id})
		}
		if d.matched {
			to.add(&fact.Fact{Kind: fact.Matched, Object: &fact.Object{}, Policy: &Policy{}})
		}
		if n < len(d.queues) {
			return
		}
	}
	for ; n > 0 && len(d.exchanges) > 0; n-- {
		x := d.exchanges[0]
		d.exchanges = d.exchanges[1:]
		if x.Durable && x.Name != "" && !isPredeclared(x.Name) {
			to.add(&fact.Fact{Kind: fact.ExchangeDeclared, Object: &fact.Object{
				Name: x.Name, Type: x.Type(), Durable: true, AutoDelete: x.AutoDelete, Internal: x.Internal, Arguments: x.Arguments,
			}})
		}
		if x.Durable && d.matched {
			to.matched(0, x.Name, false, d.v.ruledBy[x.Name])
		}
	}
	for ; n > 0 && len(d.queues) > 0; n-- {
		q := d.queues[0]
		d.queues = d.queues[1:]
		if q.object.Durable {
			to.add(&fact.Fact{Kind: fact.QueueDeclared, Queue: q.id, Object: &q.object})
			if d.matched {
				to.matched(q.id, "", false, q.policy)
				to.matched(q.id, "", true, q.operator)
			}
			if x := q.schedule; x != nil && x.remembers() {
				to.add(&fact.Fact{Kind: fact.Cancellations, Queue: q.id, Seq: x.below, Bytes: x.save()})
			}
			if x := q.schedule; x != nil {
				for _, seq := range x.keys.sorted() {
					to.add(&fact.Fact{Kind: fact.Keyed, Queue: q.id, Seq: seq, N: x.keys.hashes[seq]})
				}
			}
		}
	}
	for n > 0 && len(d.sources) > 0 {
		n -= d.appendBindings(to, n)
	}
	if n > 0 && !d.done {
		d.v.appendSettings(to)
		d.done, d.exchanges, d.queues, d.sources = true, nil, nil, nil
	}
}

// appendBindings adds up to n bindings of the first source, and returns how many things that were.
func (d *definitions) appendBindings(to *pieces, n int) (visited int) {
	visited = 1 // the source
	last, more := d.v.topo.BindingsAfter(d.sources[0].Name, d.bound, n, func(_ uint64, bound topology.Binding) {
		visited++
		o := fact.Object{
			Name: bound.Destination, Source: bound.Source, RoutingKey: bound.RoutingKey, ToExchange: !bound.ToQueue,
			Durable: true, Arguments: bound.Arguments,
		}
		if d.v.durableBinding(&o) {
			to.add(&fact.Fact{Kind: fact.Bound, Object: &o})
		}
	})
	if d.bound = last; !more {
		d.sources, d.bound = d.sources[1:], 0
	}
	return visited
}

// list notes what there is.
func (d *definitions) list() {
	d.begun = true
	for x := range d.v.topo.Exchanges() {
		d.exchanges = append(d.exchanges, x)
	}
	d.queues, d.sources = d.v.sortedQueues(), d.exchanges
}

// appendSettings lists policies, what exchanges keep, and options.
func (v *VHost) appendSettings(to *pieces) {
	for _, operator := range [2]bool{false, true} {
		for _, p := range v.Reader().Policies(operator) {
			to.add(&fact.Fact{Kind: fact.PolicySet, Policy: &p})
		}
	}
	for x := range v.topo.Exchanges() {
		if r := v.recents[x.Name]; r != nil {
			for _, m := range r.durable.messages {
				to.add(&fact.Fact{Kind: fact.Noted, Object: &fact.Object{Name: x.Name}, Entry: fact.EntryAt(m.record), History: m.history})
			}
		}
	}
	if len(v.optionTable) > 0 {
		to.add(&fact.Fact{Kind: fact.Configured, Object: &fact.Object{Arguments: v.optionTable}})
	}
}
