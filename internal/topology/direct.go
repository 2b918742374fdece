package topology

// byName is the default exchange: every queue is bound to it by its name, and nothing else can be.
// Source: AMQP default exchange.
type byName struct{ queues map[string]*queue }

func (byName) add(*binding)    {}
func (byName) remove(*binding) {}

func (d byName) match(w *walk) {
	for i := range w.keys() {
		if q := d.queues[string(w.key(i))]; q != nil {
			w.reachQueue(q)
		}
	}
}

// direct compares keys octet by octet.
// Source: AMQP direct exchange.
type direct struct{ byKey map[string]bindingList }

func newDirect(*Exchange) matcher { return direct{map[string]bindingList{}} }

func (d direct) add(b *binding) { d.byKey[b.RoutingKey] = append(d.byKey[b.RoutingKey], b) }

func (d direct) remove(b *binding) {
	l := d.byKey[b.RoutingKey]
	if l.remove(b); len(l) == 0 {
		delete(d.byKey, b.RoutingKey)
		return
	}
	d.byKey[b.RoutingKey] = l
}

func (d direct) match(w *walk) {
	for i := range w.keys() {
		found := d.byKey[string(w.key(i))]
		if w.work += 1 + len(found); w.tooMuch() {
			return
		}
		for _, b := range found {
			w.reach(b)
		}
	}
}

// fanout looks at neither keys nor headers; the exchange's own list of bindings is all it needs.
// Source: AMQP fanout exchange.
type fanout struct{ x *Exchange }

func newFanout(x *Exchange) matcher { return fanout{x} }

func (fanout) add(*binding)    {}
func (fanout) remove(*binding) {}

func (f fanout) match(w *walk) {
	for _, b := range f.x.out {
		w.reach(b)
	}
}
