package topology

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// QueueID is the owner's number for a queue.
type QueueID uint32

// Topology is the exchanges, bindings and queue names of one vhost.
type Topology struct {
	exchanges map[string]*Exchange // the default exchange included
	queues    map[string]*queue
	seq       uint64 // of the latest binding
	version   uint64
	moved     int  // see Moved
	bytes     int  // see Bytes
	walk      walk // working memory of Route
}

// queue is a queue as bindings see it.
type queue struct {
	name string
	id   QueueID
	in   bindingList
	pass uint64 // the last Route that came by
}

// Removed is what went with a change.
type Removed struct {
	Bindings []Binding // by source, then in the order of binding
	// Orphans are the auto-delete exchanges that lost their last binding as source, by name. They still exist:
	// the owner deletes them with DeleteExchange, which may orphan further ones.
	Orphans []string
}

// New is a topology with the default exchange alone.
func New() *Topology {
	t := &Topology{exchanges: map[string]*Exchange{}, queues: map[string]*queue{}}
	t.exchanges[""] = &Exchange{Kind: Direct, Durable: true, matcher: byName{t.queues}}
	return t
}

// Version changes with every change that can alter the answer of Route. It is no part of the replicated state: it means
// something only compared with an earlier answer of the same Topology.
func (t *Topology) Version() uint64 { return t.version }

// Declare adds an exchange and returns it. If one of that name exists it is returned as it is; whether the two agree is
// for the owner to judge. x.Kind must be valid.
// Source: AMQP exchange.declare.
func (t *Topology) Declare(x Exchange) *Exchange {
	if old := t.exchanges[x.Name]; old != nil {
		return old
	}
	if !x.Kind.Valid() {
		panic(fmt.Sprintf("topology: exchange %q declared with kind %d", x.Name, x.Kind))
	}
	declared := &Exchange{
		Name: x.Name, Kind: x.Kind, Delayed: x.Delayed, Durable: x.Durable, AutoDelete: x.AutoDelete, Internal: x.Internal,
		Arguments: x.Arguments, Alternate: x.Alternate,
		ids: map[identity]*binding{},
	}
	declared.matcher = kinds[x.Kind].index(declared)
	t.exchanges[x.Name] = declared
	t.bytes += declared.bytes()
	t.version++
	return declared
}

// SetAlternate sets the effective alternate exchange of the named exchange; "" is none. The default exchange has none,
// ever.
// Source: RabbitMQ policies, alternate exchange.
func (t *Topology) SetAlternate(name, alternate string) {
	if x := t.exchanges[name]; x != nil && name != "" && x.Alternate != alternate {
		x.Alternate = alternate
		t.version++
	}
}

// Exchange is the exchange of that name, "" being the default exchange; nil if there is none. It stays valid until it
// is deleted.
func (t *Topology) Exchange(name string) *Exchange { return t.exchanges[name] }

// ExchangeCount is how many exchanges there are, the default one included.
func (t *Topology) ExchangeCount() int { return len(t.exchanges) }

// HasMore reports whether there are more than so many exchanges and bindings.
func (t *Topology) HasMore(most int) bool {
	for _, x := range t.exchanges {
		if most -= 1 + len(x.out); most < 0 {
			return true
		}
	}
	return false
}

// Exchanges is all exchanges by name, the default exchange first. The topology must not change meanwhile.
func (t *Topology) Exchanges() iter.Seq[*Exchange] {
	return func(yield func(*Exchange) bool) {
		for _, name := range slices.Sorted(maps.Keys(t.exchanges)) {
			if !yield(t.exchanges[name]) {
				return
			}
		}
	}
}

// DeleteExchange removes an exchange with its bindings, as source and as destination. A missing exchange and the
// default exchange are left alone.
// Source: AMQP exchange.delete.
func (t *Topology) DeleteExchange(name string) Removed {
	x := t.exchanges[name]
	if x == nil || name == "" {
		return Removed{}
	}
	delete(t.exchanges, name)
	t.bytes -= x.bytes()
	gone := slices.Clone(x.in)
	for _, b := range x.out {
		if b.exchange != x {
			gone = append(gone, b)
		}
	}
	removed := t.removeAll(gone, x)
	x.out, x.in, x.ids, x.matcher = nil, nil, nil, nowhere{} // the owner may keep x for a while
	return removed
}

// nowhere is the matcher of a deleted exchange.
type nowhere struct{}

func (nowhere) add(*binding)           {}
func (nowhere) remove(bindingList) int { return 0 }
func (nowhere) match(*walk)            {}

// Bytes is about how many bytes of memory the exchanges and bindings take.
func (t *Topology) Bytes() int { return t.bytes }

// Moved tells how many entries of lists the changes since the last call have moved, or looked at: it is their work
// beside a few steps for each binding.
func (t *Topology) Moved() int {
	n := t.moved
	t.moved = 0
	return n
}

// AddQueue makes a queue reachable, by its name through the default exchange and by bindings. It reports false, and
// changes nothing, if the name is taken.
func (t *Topology) AddQueue(name string, id QueueID) bool {
	if t.queues[name] != nil {
		return false
	}
	t.queues[name] = &queue{name: name, id: id}
	t.version++
	return true
}

// Queue is the number of the queue of that name; ok is false if there is none.
func (t *Topology) Queue(name string) (id QueueID, ok bool) {
	if q := t.queues[name]; q != nil {
		return q.id, true
	}
	return 0, false
}

// DeleteQueue removes a queue with its bindings. A missing queue is fine.
// Source: AMQP queue.delete.
func (t *Topology) DeleteQueue(name string) Removed {
	q := t.queues[name]
	if q == nil {
		return Removed{}
	}
	delete(t.queues, name)
	return t.removeAll(slices.Clone(q.in), nil)
}

// CheckExchange reports why x's kind refuses x's arguments: an *amqp.Error with code 406, or nil.
func CheckExchange(x Exchange) error {
	if !x.Kind.Valid() || kinds[x.Kind].declare == nil {
		return nil
	}
	return kinds[x.Kind].declare(x)
}

// CheckBinding reports why the source's kind refuses b: an *amqp.Error with code 406, or nil. That both ends exist, and
// that neither is the default exchange, is for the owner to check.
func (t *Topology) CheckBinding(b Binding) error {
	x := t.exchanges[b.Source]
	if x == nil || kinds[x.Kind].check == nil {
		return nil
	}
	return kinds[x.Kind].check(b)
}

// Bind adds a binding that CheckBinding accepts, and reports whether it is new. It changes nothing if the binding
// exists, if either end does not, or if one is the default exchange. b.Arguments is kept, not copied.
// Source: AMQP queue.bind; RabbitMQ exchange.bind.
func (t *Topology) Bind(b Binding) bool {
	x := t.exchanges[b.Source]
	if x == nil || b.Source == "" {
		return false
	}
	b.Source = x.Name // so that bindings share the names of what they bind
	to, exchange := t.queues[b.Destination], t.exchanges[b.Destination]
	switch {
	case b.ToQueue && to != nil:
		exchange, b.Destination = nil, to.name
	case !b.ToQueue && exchange != nil && b.Destination != "":
		to, b.Destination = nil, exchange.Name
	default:
		return false
	}
	added := &binding{Binding: b, id: identify(b), from: x, queue: to, exchange: exchange}
	if x.ids[added.id] != nil {
		return false
	}
	in := added.destinationList()
	t.seq++
	t.version++
	added.seq = t.seq
	t.bytes += added.bytes()
	in.add(added)
	x.out.add(added)
	x.ids[added.id] = added
	x.matcher.add(added)
	return true
}

// Unbind removes a binding. An absent one is fine: then nothing is in the answer.
// Source: AMQP queue.unbind; RabbitMQ exchange.unbind.
func (t *Topology) Unbind(b Binding) Removed {
	if found := t.find(b); found != nil {
		return t.removeAll(bindingList{found}, nil)
	}
	return Removed{}
}

// Bound reports whether the binding exists.
func (t *Topology) Bound(b Binding) bool { return t.find(b) != nil }

func (t *Topology) find(b Binding) *binding {
	if x := t.exchanges[b.Source]; x != nil {
		return x.ids[identify(b)]
	}
	return nil
}

// HasBindingsFrom reports whether the named exchange is the source of a binding, which makes it used in the sense of
// exchange.delete's if-unused.
func (t *Topology) HasBindingsFrom(exchange string) bool {
	x := t.exchanges[exchange]
	return x != nil && len(x.out) > 0
}

// Bindings is all bindings by name of the source, then in the order of binding: bound again in this order, they make an
// equal topology. The implicit ones of the default exchange are not among them. The topology must not change meanwhile.
func (t *Topology) Bindings() iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for x := range t.Exchanges() {
			for _, b := range x.out {
				if !yield(b.Binding) {
					return
				}
			}
		}
	}
}

// BindingsFrom is the bindings whose source is the named exchange, in the order of binding. The topology must not
// change meanwhile.
func (t *Topology) BindingsFrom(exchange string) iter.Seq[Binding] {
	if x := t.exchanges[exchange]; x != nil {
		return x.out.all()
	}
	return bindingList(nil).all()
}

// BindingsAfter visits at most n of the bindings from an exchange that were made after the one numbered
// after, in the order of binding. Numbers begin with 1 and are never given again, so a list that is read in
// pieces has each binding once that was there all the while. It returns the number of the last one visited,
// and whether there are more.
func (t *Topology) BindingsAfter(exchange string, after uint64, n int, visit func(seq uint64, b Binding)) (last uint64, more bool) {
	x := t.exchanges[exchange]
	if x == nil {
		return after, false
	}
	i, _ := slices.BinarySearchFunc(x.out, after+1, func(b *binding, seq uint64) int { return cmp.Compare(b.seq, seq) })
	end := i + min(n, len(x.out)-i)
	for _, b := range x.out[i:end] {
		visit(b.seq, b.Binding)
		after = b.seq
	}
	return after, end < len(x.out)
}

// BindingNumbered is the binding from an exchange with the number that BindingsAfter told; ok is false if it
// is gone.
func (t *Topology) BindingNumbered(exchange string, seq uint64) (b Binding, ok bool) {
	t.BindingsAfter(exchange, seq-1, 1, func(found uint64, x Binding) {
		if ok = found == seq; ok {
			b = x
		}
	})
	return b, ok
}

// BindingsTo is the bindings to the named queue, or exchange, by name of the source, then in the order of binding.
func (t *Topology) BindingsTo(destination string, isQueue bool) iter.Seq[Binding] {
	var in bindingList
	if q := t.queues[destination]; isQueue && q != nil {
		in = q.in
	} else if x := t.exchanges[destination]; !isQueue && x != nil {
		in = x.in
	}
	return in.bySource().all()
}

// removeAll takes bindings out of all lists and says so. dying is an exchange that goes as well, or nil. It goes
// through each list once, however many leave it.
func (t *Topology) removeAll(gone bindingList, dying *Exchange) Removed {
	t.version++
	sorted := gone.bySource()
	r := Removed{Bindings: make([]Binding, 0, len(sorted))}
	fewer := map[*bindingList]bindingList{}
	for _, b := range sorted {
		r.Bindings = append(r.Bindings, b.Binding)
		b.gone = true
		t.bytes -= b.bytes()
		fewer[b.destinationList()] = append(fewer[b.destinationList()], b)
	}
	for l, some := range fewer {
		t.moved += l.removeAll(some)
	}
	for len(sorted) > 0 {
		from, n := sorted[0].from, 1
		for n < len(sorted) && sorted[n].from == from {
			n++
		}
		if from != dying { // its own lists go with it
			t.moved += from.removeAll(sorted[:n])
			if from.AutoDelete && len(from.out) == 0 {
				r.Orphans = append(r.Orphans, from.Name) // in order, as the bindings are
			}
		}
		sorted = sorted[n:]
	}
	return r
}

// removeAll takes bindings out of x, their source, and tells how many entries of lists that has moved. They are in the
// order of binding.
func (x *Exchange) removeAll(gone bindingList) (moved int) {
	moved = x.out.removeAll(gone)
	for _, b := range gone {
		delete(x.ids, b.id)
	}
	return moved + x.matcher.remove(gone)
}

// destinationList is the list of the destination that b is to be in; nil if there is no destination.
func (b *binding) destinationList() *bindingList {
	switch {
	case b.queue != nil:
		return &b.queue.in
	case b.exchange != nil:
		return &b.exchange.in
	}
	return nil
}

func (l bindingList) all() iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		for _, b := range l {
			if !yield(b.Binding) {
				return
			}
		}
	}
}
