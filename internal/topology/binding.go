package topology

import (
	"cmp"
	"iter"
	"maps"
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

// destination is a queue or an exchange.
type destination struct {
	queue    *queue
	exchange *Exchange
}

func (b *binding) to() destination { return destination{b.queue, b.exchange} }

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

// remove takes b out, and tells how many entries that has moved.
func (l *bindingList) remove(b *binding) (moved int) {
	i, found := slices.BinarySearchFunc(*l, b.seq, func(o *binding, seq uint64) int { return cmp.Compare(o.seq, seq) })
	if found {
		*l = slices.Delete(*l, i, i+1)
		moved = len(*l) - i
	}
	return moved
}

// removeAll removes bindings that are gone: no others in l are. It tells how many entries that has moved.
func (l *bindingList) removeAll(gone bindingList) (moved int) {
	if len(gone) <= removeFew {
		for _, b := range gone {
			moved += l.remove(b)
		}
		return moved
	}
	moved = lookWork * len(*l)
	*l = slices.DeleteFunc(*l, func(b *binding) bool { return b.gone })
	return moved
}

// removeFrom removes bindings that are gone from the lists that they are in: it goes through each once, however many
// leave it. An empty list is not kept.
func removeFrom[K comparable](lists map[K]bindingList, gone bindingList, in func(b *binding) K) (moved int) {
	for k, some := range groups(gone, in) {
		l := lists[k]
		if moved += l.removeAll(some); len(l) == 0 {
			delete(lists, k)
		} else {
			lists[k] = l
		}
	}
	return moved
}

// groups puts bindings together, in no order, those of a group in the order of binding.
func groups[K comparable](l bindingList, of func(b *binding) K) iter.Seq2[K, bindingList] {
	return func(yield func(K, bindingList) bool) {
		if len(l) == 1 {
			yield(of(l[0]), l)
			return
		}
		m := make(map[K]bindingList, len(l))
		for _, b := range l {
			k := of(b)
			m[k] = append(m[k], b)
		}
		maps.All(m)(yield)
	}
}

// removeFew is how many bindings leave a list one by one; of more it is gone through once. To look at an entry takes as
// long as to move lookWork of them.
const (
	removeFew = 8
	lookWork  = 8
)

// bySource is l by name of the source, then in the order of binding: an order that survives a restart, unlike that of
// bindings from different sources among each other.
func (l bindingList) bySource() bindingList {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, func(a, b *binding) int { return cmp.Compare(a.Source, b.Source) })
	return sorted
}
