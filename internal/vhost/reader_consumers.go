package vhost

import (
	"iter"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

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
func (r Reader) QueueCount() int { return len(r.v.queues) - len(r.v.schedules) }

// ConsumersOf visits the consumers of a connection.
func (r Reader) ConsumersOf(c fact.ConnID, visit func(ch ChannelID, tag, queue string)) {
	n := r.v.conns[c]
	if n == nil {
		return
	}
	for _, ch := range n.channels {
		for _, x := range ch.consumers {
			if q := r.v.queues[fact.QueueID(x.Queue)]; q != nil {
				visit(ch.id, x.Tag, q.object.Name)
			}
		}
	}
}

// A ConsumerMark is a place in the list of a queue's consumers; the zero mark is before all.
type ConsumerMark = queue.ConsumerMark

// ConsumersAfter visits at most n of the consumers of a queue, in the order in which they are served, from a
// mark on: the zero one is before the first. It tells where to go on, and whether there are more.
func (r Reader) ConsumersAfter(name string, m ConsumerMark, n int, visit func(*ConsumerView)) (next ConsumerMark, more bool) {
	q := r.v.queueNamed(name)
	if q == nil {
		return m, false
	}
	some, next, more := q.consumers.After(m, n)
	for _, x := range some {
		view := r.consumerView(q, x)
		visit(&view)
	}
	return next, more
}

// ChannelsOf lists the open channels of the connections that are wanted, by connection and number.
func (r Reader) ChannelsOf(wanted func(connection string) bool) []ChannelView {
	var all []ChannelView
	for _, n := range r.v.conns {
		if wanted(n.name) {
			for _, ch := range n.channels {
				all = append(all, viewChannel(ch))
			}
		}
	}
	slices.SortFunc(all, func(a, b ChannelView) int {
		if c := strings.Compare(a.Connection, b.Connection); c != 0 {
			return c
		}
		return int(a.Number) - int(b.Number)
	})
	return all
}

func viewChannel(ch *channel) ChannelView {
	view := ChannelView{
		ID: ch.id, Connection: ch.conn.name, User: ch.conn.user, Number: ch.number, Consumers: len(ch.consumers),
		Unacked: ch.unacked.open, Prefetch: ch.prefetch, GlobalPrefetch: ch.shared.Max, Confirms: ch.confirms,
	}
	if ch.tx != nil {
		view.Unsettled = ch.tx.count
		for i := range ch.tx.held {
			if ch.tx.held[i].command.Kind == Publish {
				view.Uncommitted++
			}
		}
	}
	return view
}

// LastDeclared names the queue that an empty name means on a channel, "" if none.
func (r Reader) LastDeclared(c ChannelID) string {
	if ch := r.v.channels[c]; ch != nil {
		return ch.lastQueue
	}
	return ""
}
