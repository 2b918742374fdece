package management

import (
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// The figures of queues, exchanges and virtual hosts that are remembered.
const (
	atPublished = iota // of an exchange: by clients to it
	atConfirmed
	atReturned
	atDropped
	atDelivered // to be acknowledged, as are those of
	atGot
	atDeliveredNoAck
	atGotNoAck
	atGotNone
	atRedelivered
	atAcked
	atRouted // of an exchange: to queues
	atReady
	atUnacked
	atAside // messages that wait or are held
	shownFigures

	// Those behind are not shown with rates.
	atDied       = shownFigures // the first of those of deaths, in their order
	atLetters    = atDied + len(deaths)
	atNoDLX      = atLetters + 1 // of a virtual host, as is the next
	atCameBack   = atNoDLX + 1
	queueFigures = atCameBack + 1
)

// figures are what queueFigures are at one instant.
type figures [queueFigures]uint64

// figuresOf are those that a queue counts.
func figuresOf(n *vhost.QueueStats) (f figures) {
	f[atPublished], f[atAcked], f[atGotNone], f[atRedelivered] = n.Published, n.Acked, n.GotNone, n.Redelivered
	f[atDelivered], f[atDeliveredNoAck] = n.Delivered-n.DeliveredNoAck, n.DeliveredNoAck
	f[atGot], f[atGotNoAck] = n.Got-n.GotNoAck, n.GotNoAck
	for i := range deaths {
		for _, strategy := range strategies {
			f[atDied+i] += died(n, strategy, deaths[i].reasons)
		}
	}
	f[atLetters] = n.Letters
	return f
}

// figuresOfAll are those of a virtual host: what its queues count, those that are no more among them, and what clients
// publish. What becomes dead letters is published once.
func figuresOfAll(all *vhost.QueueStats, t *vhost.Traffic) figures {
	f := figuresOf(all)
	f[atPublished], f[atConfirmed], f[atReturned], f[atDropped] = t.Received, t.Confirmed, t.Returned, t.Dropped
	for _, fates := range t.Fates {
		f[atNoDLX] += fates[vhost.FateNoDLX]
	}
	f[atCameBack] = t.Redrives.CameBack
	return f
}

// ofQueues is the span that a figure of a queue is asked for by.
func (w spans) ofQueues(figure int) span {
	switch figure {
	case atReady, atUnacked, atAside:
		return w.lengths
	}
	return w.rates
}

// messageStats renders counters with their rates. Source: RabbitMQ management API, message_stats.
func messageStats(f *figures, t *trend) api.MessageStats {
	counter := func(parts ...int) (c api.Counter) {
		for _, x := range parts {
			c.Total += f[x]
		}
		if c.Total > 0 { // it is shown
			c.Rate = t.of(parts...)
		}
		return c
	}
	return api.MessageStats{
		Publish: counter(atPublished), Confirm: counter(atConfirmed),
		ReturnUnroutable: counter(atReturned), DropUnroutable: counter(atDropped),
		Deliver: counter(atDelivered), DeliverNoAck: counter(atDeliveredNoAck),
		Get: counter(atGot), GetNoAck: counter(atGotNoAck), GetEmpty: counter(atGotNone),
		DeliverGet: counter(atDelivered, atDeliveredNoAck, atGot, atGotNoAck),
		Redeliver:  counter(atRedelivered), Ack: counter(atAcked),
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
