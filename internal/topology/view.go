package topology

import "iter"

// A View is a Topology for reading: who has one can change nothing.
type View struct{ t *Topology }

// View is the topology for reading.
func (t *Topology) View() View { return View{t} }

// Version is Topology.Version.
func (v View) Version() uint64 { return v.t.Version() }

// Exchange finds an exchange by its name, nil if there is none. It is a copy; its arguments are shared: do not change
// them.
func (v View) Exchange(name string) *Exchange {
	x := v.t.exchanges[name]
	if x == nil {
		return nil
	}
	shown := x.shown()
	return &shown
}

// Exchanges lists copies of all exchanges, by name, the default exchange first.
func (v View) Exchanges() iter.Seq[Exchange] {
	return func(yield func(Exchange) bool) {
		for x := range v.t.Exchanges() {
			if !yield(x.shown()) {
				return
			}
		}
	}
}

// shown is what was declared, without what its Topology keeps beside it.
func (x *Exchange) shown() Exchange {
	return Exchange{
		Name: x.Name, Kind: x.Kind, Delayed: x.Delayed, Durable: x.Durable, AutoDelete: x.AutoDelete, Internal: x.Internal,
		Arguments: x.Arguments, Alternate: x.Alternate,
	}
}

// Queue is Topology.Queue.
func (v View) Queue(name string) (id QueueID, ok bool) { return v.t.Queue(name) }

// Bindings is Topology.Bindings.
func (v View) Bindings() iter.Seq[Binding] { return v.t.Bindings() }

// BindingsFrom is Topology.BindingsFrom.
func (v View) BindingsFrom(exchange string) iter.Seq[Binding] { return v.t.BindingsFrom(exchange) }

// BindingsAfter is Topology.BindingsAfter.
func (v View) BindingsAfter(exchange string, after uint64, n int, visit func(seq uint64, b Binding)) (last uint64, more bool) {
	return v.t.BindingsAfter(exchange, after, n, visit)
}

// BindingNumbered is Topology.BindingNumbered.
func (v View) BindingNumbered(exchange string, seq uint64) (b Binding, ok bool) {
	return v.t.BindingNumbered(exchange, seq)
}

// BindingsTo is Topology.BindingsTo.
func (v View) BindingsTo(destination string, isQueue bool) iter.Seq[Binding] {
	return v.t.BindingsTo(destination, isQueue)
}
