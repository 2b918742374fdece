package topology

// byName is the default exchange: every queue is bound to it by its name, and nothing else can be.
// Source: AMQP default exchange.
type byName struct{ queues map[string]*queue }

func (byName) add(*binding)           {}
func (byName) remove(bindingList) int { return 0 }

func (d byName) match(w *walk) {
	if w.work += len(w.message.More); w.tooMuch() {
		return
	}
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

func (d direct) remove(gone bindingList) (moved int) {
	return removeFrom(d.byKey, gone, func(b *binding) string { return b.RoutingKey })
}

func (d direct) match(w *walk) {
	for i := range w.keys() {
		w.work++
		w.reachAll(d.byKey[string(w.key(i))])
		if w.tooMuch() {
			return
		}
	}
}

// fanout looks at neither keys nor headers; the exchange's own list of bindings is all it needs.
// Source: AMQP fanout exchange.
type fanout struct{ x *Exchange }

func newFanout(x *Exchange) matcher { return fanout{x} }

func (fanout) add(*binding)           {}
func (fanout) remove(bindingList) int { return 0 }

func (f fanout) match(w *walk) { w.reachAll(f.x.out) }
