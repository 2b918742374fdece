package vhost

import "iter"

// named visits the queues that clients know, in no order.
func (v *VHost) named() iter.Seq[*queueState] {
	return func(yield func(*queueState) bool) {
		for _, q := range v.queues {
			if q.schedule == nil && !yield(q) {
				return
			}
		}
	}
}

// QueueCount is how many queues there are, schedules not counted.
func (v *VHost) QueueCount() int { return len(v.queues) - len(v.schedules) }

// ConsumersOf visits the consumers of a connection.
func (v *VHost) ConsumersOf(c ConnID, visit func(ch ChannelID, tag, queue string)) {
	n := v.conns[c]
	if n == nil {
		return
	}
	for _, ch := range n.channels {
		for _, x := range ch.consumers {
			if q := v.queues[QueueID(x.Queue)]; q != nil {
				visit(ch.id, x.Tag, q.object.Name)
			}
		}
	}
}
