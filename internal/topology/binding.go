package topology

import (
	"cmp"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Binding leads from an exchange to a queue or to another exchange. All its fields together are its identity; the order
// of Arguments is not part of it.
// Source: RabbitMQ, queue.bind.
type Binding struct {
	Source      string // an exchange
	Destination string // a queue or an exchange
	ToQueue     bool   // Destination is a queue
	RoutingKey  string // the binding key
	Arguments   amqp.Table
}

// binding is a Binding in its place.
type binding struct {
	Binding
	id       identity
	seq      uint64    // order of binding
	from     *Exchange // the source
	queue    *queue    // the destination, one of the two
	exchange *Exchange
	gone     bool // it leaves all lists
}

// identity tells the bindings of one source apart.
type identity struct {
	destination string
	toQueue     bool
	key         string
	arguments   string // encoded, sorted by name
}

func identify(b Binding) identity {
	id := identity{destination: b.Destination, toQueue: b.ToQueue, key: b.RoutingKey}
	if len(b.Arguments) > 0 {
		sorted := slices.Clone(b.Arguments)
		slices.SortStableFunc(sorted, func(a, b amqp.Field) int { return cmp.Compare(a.Name, b.Name) })
		id.arguments = string(amqp.AppendTable(nil, sorted))
	}
	return id
}

// bindingList is bindings in the order of binding.
type bindingList []*binding

// add puts b, the latest binding of all, at the end.
func (l *bindingList) add(b *binding) { *l = append(*l, b) }

func (l *bindingList) remove(b *binding) {
	i, found := slices.BinarySearchFunc(*l, b.seq, func(o *binding, seq uint64) int { return cmp.Compare(o.seq, seq) })
	if found {
		*l = slices.Delete(*l, i, i+1)
	}
}

// removeAll removes bindings that are gone: no others in l are.
func (l *bindingList) removeAll(gone bindingList) {
	if len(gone) == 1 {
		l.remove(gone[0])
		return
	}
	*l = slices.DeleteFunc(*l, func(b *binding) bool { return b.gone })
}

// bySource is l by name of the source, then in the order of binding: an order that survives a restart, unlike that of
// bindings from different sources among each other.
func (l bindingList) bySource() bindingList {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, func(a, b *binding) int { return cmp.Compare(a.Source, b.Source) })
	return sorted
}
