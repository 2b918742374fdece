package sim

// takers finds the consumer of each queue that may take a message now, and has room for it.
func (w *world) takers() map[string]*consumer {
	first := map[string]*consumer{} // of each queue, the one that attached first
	open := map[string]*consumer{}
	for _, ch := range w.channels {
		for _, x := range ch.consumers {
			if f := first[x.queue]; f == nil || x.attached < f.attached {
				first[x.queue] = x
			}
			if o := open[x.queue]; ch.room(x) && (o == nil || x.attached < o.attached) {
				open[x.queue] = x
			}
		}
	}
	for name, x := range open {
		if q, ok := w.vhost.Reader().Queue(name); ok && q.Settings.SingleActive && (first[name] != x || q.Type == "quorum" && q.Consumers > 1) {
			delete(open, name) // others wait behind the first, or behind one of a higher priority
		}
	}
	return open
}

// room reports whether one more message may be handed to x.
func (ch *channel) room(x *consumer) bool {
	if ch.dead || ch.conn.used >= ch.conn.window {
		return false
	}
	return (ch.shared == 0 || ch.used < ch.shared) && (x.noAck || x.prefetch == 0 || x.used < x.prefetch)
}

// checkServed makes sure that no message and no consumer wait for each other.
func (w *world) checkServed() {
	takers := w.takers()
	for _, q := range w.live.Lines {
		if x := takers[q.Name]; x != nil && q.Ready() > 0 {
			w.violate(Served, "%d messages are ready in %q, and consumer %q has room", q.Ready(), q.Name, x.tag)
		}
	}
}

// checkActive makes sure that of a queue with one active consumer nobody else is served.
func (w *world) checkActive(to *consumer) {
	q, ok := w.vhost.Reader().Queue(to.queue)
	if !ok || !q.Settings.SingleActive || q.Type == "quorum" {
		return
	}
	for _, ch := range w.channels {
		for _, x := range ch.consumers {
			if !ch.dead && x.queue == to.queue && x.attached < to.attached {
				w.violate(Served, "consumer %q of %q was served, and %q is the active one", to.tag, to.queue, x.tag)
			}
		}
	}
}
