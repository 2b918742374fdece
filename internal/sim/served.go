package sim

import "github.com/bartleby-mq/bartleby/internal/sim/clients"

// takers finds the consumer of each queue that may take a message now, and has credit for it.
func (w *world) takers() map[string]*clients.Consumer {
	first := map[string]*clients.Consumer{} // of each queue, the one that attached first
	open := map[string]*clients.Consumer{}
	for _, ch := range w.Channels {
		for _, x := range ch.Consumers {
			if f := first[x.Queue]; f == nil || x.Attached < f.Attached {
				first[x.Queue] = x
			}
			if o := open[x.Queue]; ch.HasCredit(x) && (o == nil || x.Attached < o.Attached) {
				open[x.Queue] = x
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

// checkServed makes sure that no message and no consumer wait for each other.
func (w *world) checkServed() {
	takers := w.takers()
	for _, q := range w.live.Lines {
		if x := takers[q.Name]; x != nil && q.Ready() > 0 && !w.offFull(q) {
			w.violate(Served, "%d messages are ready in %q, and consumer %q has space", q.Ready(), q.Name, x.Tag)
		}
	}
}

// checkActive makes sure that of a queue with one active consumer nobody else is served.
func (w *world) checkActive(to *clients.Consumer) {
	q, ok := w.vhost.Reader().Queue(to.Queue)
	if !ok || !q.Settings.SingleActive || q.Type == "quorum" {
		return
	}
	for _, ch := range w.Channels {
		for _, x := range ch.Consumers {
			if !ch.Dead && x.Queue == to.Queue && x.Attached < to.Attached {
				w.violate(Served, "consumer %q of %q was served, and %q is the active one", to.Tag, to.Queue, x.Tag)
			}
		}
	}
}
