package stats

import (
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// The figures of queues, exchanges and virtual hosts that are remembered.
const (
	AtPublished = iota // of an exchange: by clients to it
	atConfirmed
	atReturned
	atDropped
	AtDelivered // to be acknowledged, as are those of
	AtGot
	AtDeliveredNoAck
	AtGotNoAck
	AtGotNone
	AtRedelivered
	AtAcked
	atRouted // of an exchange: to queues
	AtReady
	AtUnacked
	AtAside // messages that wait or are held
	shownFigures

	// Those behind are not shown with rates.
	atDied        = shownFigures // the first of those of deaths, in their order: see atDeath
	atDeadLetters = atDied + len(Deaths) - 1
	atNoDLX       = atDeadLetters + 1 // of a virtual host, as is the next
	atCameBack    = atNoDLX + 1
	atRepublished = atCameBack + 1
	queueFigures  = atRepublished + 1 // later versions add figures at the end, so that older readings are continued
)

// atDeath is the figure of one of Deaths.
func atDeath(i int) int {
	if i == len(Deaths)-1 {
		return atRepublished
	}
	return atDied + i
}

// figures are what queueFigures are at one instant.
type figures [queueFigures]uint64

// FiguresOf are those that a queue counts.
func FiguresOf(n *vhost.QueueStats) (f figures) {
	f[AtPublished], f[AtAcked], f[AtGotNone], f[AtRedelivered] = n.Published, n.Acked, n.GotNone, n.Redelivered
	f[AtDelivered], f[AtDeliveredNoAck] = n.Delivered-n.DeliveredNoAck, n.DeliveredNoAck
	f[AtGot], f[AtGotNoAck] = n.Got-n.GotNoAck, n.GotNoAck
	for i := range Deaths {
		f[atDeath(i)] = Deaths[i].Count(n)
	}
	f[atDeadLetters] = n.DeadLetters
	return f
}

// FiguresOfAll are those of a virtual host: what its queues count, those that are no more among them, and what clients
// publish. What becomes dead letters is published once.
func FiguresOfAll(all *vhost.QueueStats, t *vhost.Traffic) figures {
	f := FiguresOf(all)
	f[AtPublished], f[atConfirmed], f[atReturned], f[atDropped] = t.Received, t.Confirmed, t.Returned, t.Dropped
	for _, fates := range t.Fates {
		f[atNoDLX] += fates[vhost.FateNoDLX]
	}
	f[atCameBack] = t.Redrives.CameBack
	return f
}

// ofQueues is the span that a figure of a queue is asked for by.
func (w Spans) ofQueues(figure int) span {
	switch figure {
	case AtReady, AtUnacked, AtAside:
		return w.lengths
	}
	return w.rates
}

// ShowMessageStats renders counters with their rates. Source: RabbitMQ management API, message_stats.
func ShowMessageStats(f *figures, t *Trend) api.MessageStats {
	counter := func(parts ...int) (c api.Counter) {
		for _, x := range parts {
			c.Total += f[x]
		}
		if c.Total > 0 { // it is shown
			c.Rate = t.Of(parts...)
		}
		return c
	}
	return api.MessageStats{
		Publish: counter(AtPublished), Confirm: counter(atConfirmed),
		ReturnUnroutable: counter(atReturned), DropUnroutable: counter(atDropped),
		Deliver: counter(AtDelivered), DeliverNoAck: counter(AtDeliveredNoAck),
		Get: counter(AtGot), GetNoAck: counter(AtGotNoAck), GetEmpty: counter(AtGotNone),
		DeliverGet: counter(AtDelivered, AtDeliveredNoAck, AtGot, AtGotNoAck),
		Redeliver:  counter(AtRedelivered), Ack: counter(AtAcked),
	}
}

// ShowTotals counts messages; aside are those that wait or are held, which only the sum shows.
// Source: RabbitMQ 4.3 quorum-queues, delayed retry; docs/compat/dead-lettering.md#12.
func ShowTotals(ready, unacked, aside int, t *Trend) api.Totals {
	return api.Totals{
		Messages:      int64(ready) + int64(unacked) + int64(aside),
		MessagesReady: int64(ready), MessagesUnacknowledged: int64(unacked),
		MessagesDetails:               t.Of(AtReady, AtUnacked, AtAside),
		MessagesReadyDetails:          t.Of(AtReady),
		MessagesUnacknowledgedDetails: t.Of(AtUnacked),
	}
}
