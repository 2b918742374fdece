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
	bindings  []topology.Binding
	matched   bool // what applies where can be told: no change of policies is in force on a part alone
	begun     bool
	done      bool
}

func (v *VHost) newDefinitions() *definitions {
	return &definitions{v: v, logged: v.queueLogged, matched: !v.ruling.on}
}

// append adds the facts of about n definitions more, and begins with none: that lists them.
func (d *definitions) append(b []byte, n int) []byte {
	if !d.begun {
		d.list()
		id := d.logged
		if q := d.v.queues[id]; id > 0 && (q == nil || !q.object.Durable) {
			b = fact.Append(b, &fact.Fact{Kind: fact.QueueDeleted, Queue: id}, 0)
		}
		if d.matched {
			b = fact.Append(b, &fact.Fact{Kind: fact.Matched, Object: &fact.Object{}, Policy: &Policy{}}, 0)
		}
		if n < len(d.bindings) {
			return b
		}
	}
	for ; n > 0 && len(d.exchanges) > 0; n-- {
		x := d.exchanges[0]
		d.exchanges = d.exchanges[1:]
		if x.Durable && x.Name != "" && !isPredeclared(x.Name) {
			b = fact.Append(b, &fact.Fact{Kind: fact.ExchangeDeclared, Object: &fact.Object{
				Name: x.Name, Type: x.Type(), Durable: true, AutoDelete: x.AutoDelete, Internal: x.Internal, Arguments: x.Arguments,
			}}, 0)
		}
		if x.Durable && d.matched {
			b = appendMatched(b, 0, x.Name, false, d.v.ruledBy[x.Name])
		}
	}
	for ; n > 0 && len(d.queues) > 0; n-- {
		q := d.queues[0]
		d.queues = d.queues[1:]
		if q.object.Durable {
			b = fact.Append(b, &fact.Fact{Kind: fact.QueueDeclared, Queue: q.id, Object: &q.object}, 0)
			if d.matched {
				b = appendMatched(b, q.id, "", false, q.policy)
				b = appendMatched(b, q.id, "", true, q.operator)
			}
			if x := q.schedule; x != nil && x.remembers() {
				b = fact.Append(b, &fact.Fact{Kind: fact.Cancellations, Queue: q.id, Seq: x.below, Bytes: x.save()}, 0)
			}
			if x := q.schedule; x != nil {
				for _, seq := range x.keys.sorted() {
					b = fact.Append(b, &fact.Fact{Kind: fact.Keyed, Queue: q.id, Seq: seq, N: x.keys.hashes[seq]}, 0)
				}
			}
		}
	}
	for ; n > 0 && len(d.bindings) > 0; n-- {
		bound := &d.bindings[0]
		d.bindings = d.bindings[1:]
		o := fact.Object{
			Name: bound.Destination, Source: bound.Source, RoutingKey: bound.RoutingKey, ToExchange: !bound.ToQueue,
			Durable: true, Arguments: bound.Arguments,
		}
		if d.v.durableBinding(&o) {
			b = fact.Append(b, &fact.Fact{Kind: fact.Bound, Object: &o}, 0)
		}
	}
	if n > 0 && !d.done {
		b = d.v.appendSettings(b)
		d.done = true
	}
	return b
}

// list notes what there is.
func (d *definitions) list() {
	d.begun = true
	for x := range d.v.topo.Exchanges() {
		d.exchanges = append(d.exchanges, x)
	}
	d.queues = d.v.sortedQueues()
	for bound := range d.v.topo.Bindings() {
		d.bindings = append(d.bindings, bound)
	}
}

// appendSettings lists policies, what exchanges keep, and options.
func (v *VHost) appendSettings(b []byte) []byte {
	for _, operator := range [2]bool{false, true} {
		for _, p := range v.Reader().Policies(operator) {
			b = fact.Append(b, &fact.Fact{Kind: fact.PolicySet, Policy: &p}, 0)
		}
	}
	for x := range v.topo.Exchanges() {
		if r := v.recents[x.Name]; r != nil {
			for _, m := range r.durable.messages {
				b = fact.Append(b, &fact.Fact{Kind: fact.Noted, Object: &fact.Object{Name: x.Name}, Entry: fact.EntryAt(m.record), History: m.history}, 0)
			}
		}
	}
	if len(v.optionTable) > 0 {
		b = fact.Append(b, &fact.Fact{Kind: fact.Configured, Object: &fact.Object{Arguments: v.optionTable}}, 0)
	}
	return b
}
