package management

import (
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// The figures of queues and virtual hosts that are remembered.
const (
	atPublished = iota
	atDelivered
	atGot
	atAcked
	atReady
	atUnacked
	atAside // messages that wait or are held
	queueFigures
)

// figuresOf are those that a queue counts.
func figuresOf(n *vhost.QueueStats) (f [queueFigures]uint64) {
	f[atPublished], f[atDelivered], f[atGot], f[atAcked] = n.Published, n.Delivered, n.Got, n.Acked
	return f
}

// figuresOfAll are those that a virtual host has counted.
func figuresOfAll(v *vhost.VHost) [queueFigures]uint64 {
	all := byType(v.CountsByType()).sum()
	return figuresOf(&all)
}

// ofQueues is the span that a figure of a queue is asked for by.
func (w spans) ofQueues(figure int) span {
	switch figure {
	case atReady, atUnacked, atAside:
		return w.lengths
	}
	return w.rates
}

// messageStats renders counters with their rates.
func messageStats(n *vhost.QueueStats, t *trend) api.MessageStats {
	counter := func(total uint64, figures ...int) api.Counter {
		return api.Counter{Total: total, Rate: t.of(figures...)}
	}
	return api.MessageStats{
		Publish:    counter(n.Published, atPublished),
		Deliver:    counter(n.Delivered, atDelivered),
		Get:        counter(n.Got, atGot),
		DeliverGet: counter(n.Delivered+n.Got, atDelivered, atGot),
		Ack:        counter(n.Acked, atAcked),
	}
}

// totals counts messages; aside are those that wait or are held, which only the sum shows.
// Source: RabbitMQ 4.3 quorum-queues, delayed retry; reference dead-lettering 12.
func totals(ready, unacked, aside int, t *trend) api.Totals {
	return api.Totals{
		Messages:      int64(ready) + int64(unacked) + int64(aside),
		MessagesReady: int64(ready), MessagesUnacknowledged: int64(unacked),
		MessagesDetails:               t.of(atReady, atUnacked, atAside),
		MessagesReadyDetails:          t.of(atReady),
		MessagesUnacknowledgedDetails: t.of(atUnacked),
	}
}
