package metrics

import (
	"github.com/bartleby-mq/bartleby/internal/vhost"

	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

// channelSum is all channels together.
type channelSum struct {
	consumers, unacked, unconfirmed, uncommitted, unsettled int
	prefetch, shared                                        int64
}

func (n *channelSum) add(v *vhost.ChannelView, waiting int) {
	n.consumers += v.Consumers
	n.unacked += v.Unacked
	n.unconfirmed += waiting
	n.uncommitted += v.Uncommitted
	n.unsettled += v.Unsettled
	n.prefetch += v.Prefetch
	n.shared += v.GlobalPrefetch
}

// channelMetrics is how channels stand. Source: RabbitMQ prometheus, channel_metrics.
func (s *scrape) channelMetrics() {
	var sum channelSum
	s.eachChannel(func(h *stats.VHost, v *vhost.ChannelView) { sum.add(v, h.Waiting[v.ID]) })
	for _, m := range []struct {
		name, help string
		value      func(n *channelSum) int64
	}{
		{"channel_consumers", "Consumers on a channel", func(n *channelSum) int64 { return int64(n.consumers) }},
		{"channel_messages_unacked", "Delivered but not yet acknowledged messages", func(n *channelSum) int64 { return int64(n.unacked) }},
		{"channel_messages_unconfirmed", "Published but not yet confirmed messages", func(n *channelSum) int64 { return int64(n.unconfirmed) }},
		{"channel_messages_uncommitted", "Messages received in a transaction but not yet committed", func(n *channelSum) int64 { return int64(n.uncommitted) }},
		{"channel_acks_uncommitted", "Message acknowledgements in a transaction not yet committed", func(n *channelSum) int64 { return int64(n.unsettled) }},
		{"consumer_prefetch", "Limit of unacknowledged messages for each consumer", func(n *channelSum) int64 { return n.prefetch }},
		{"channel_prefetch", "Total limit of unacknowledged messages for all consumers on a channel", func(n *channelSum) int64 { return n.shared }},
	} {
		name := s.named(m.name)
		s.family(name, gauge, m.help)
		if s.aggregated() {
			s.series(name, "", float64(m.value(&sum)))
			continue
		}
		s.eachChannel(func(h *stats.VHost, v *vhost.ChannelView) {
			var n channelSum
			n.add(v, h.Waiting[v.ID])
			s.series(name, labelled("channel", stats.ChannelName(v.Connection, v.Number), "vhost", h.Name), float64(m.value(&n)))
		})
	}
}

// eachChannel visits the channels of clients.
func (s *scrape) eachChannel(visit func(h *stats.VHost, v *vhost.ChannelView)) {
	known := map[string]bool{}
	for i := range s.live {
		known[s.live[i].Name] = true
	}
	for _, h := range s.hosts {
		for i := range h.Channels {
			if v := &h.Channels[i]; known[v.Connection] {
				visit(h, v)
			}
		}
	}
}

// The next three are what single channels did to exchanges and queues with RabbitMQ. Here exchanges and queues count
// themselves, so that nothing is forgotten when a channel closes: there are totals, and the families exchange_metrics,
// queue_delivery_metrics and queue_exchange_metrics.

// channelExchange is what was published. Source: RabbitMQ prometheus, channel_exchange_metrics.
func (s *scrape) channelExchange() {
	if !s.aggregated() {
		return
	}
	t := &s.sum.Traffic
	one(s.exposition, "rabbitmq_channel_messages_published_total", counter, "Total number of messages published into an exchange on a channel", t.Received)
	one(s.exposition, "rabbitmq_channel_messages_confirmed_total", counter, "Total number of messages published into an exchange and confirmed on the channel", t.Confirmed)
	one(s.exposition, "rabbitmq_channel_messages_unroutable_returned_total", counter, "Total number of messages published as mandatory into an exchange and returned to the publisher as unroutable", t.Returned)
	one(s.exposition, "rabbitmq_channel_messages_unroutable_dropped_total", counter, "Total number of messages published as non-mandatory into an exchange and dropped as unroutable", t.Dropped)
}

// channelQueue is what was taken out. Source: RabbitMQ prometheus, channel_queue_metrics.
func (s *scrape) channelQueue() {
	if !s.aggregated() {
		return
	}
	n := s.sum.Total.Stats
	one(s.exposition, "rabbitmq_channel_get_ack_total", counter, "Total number of messages fetched with basic.get in manual acknowledgement mode", n.Got-n.GotNoAck)
	one(s.exposition, "rabbitmq_channel_get_total", counter, "Total number of messages fetched with basic.get in automatic acknowledgement mode", n.GotNoAck)
	one(s.exposition, "rabbitmq_channel_messages_delivered_ack_total", counter, "Total number of messages delivered to consumers in manual acknowledgement mode", n.Delivered-n.DeliveredNoAck)
	one(s.exposition, "rabbitmq_channel_messages_delivered_total", counter, "Total number of messages delivered to consumers in automatic acknowledgement mode", n.DeliveredNoAck)
	one(s.exposition, "rabbitmq_channel_messages_redelivered_total", counter, "Total number of messages redelivered to consumers", n.Redelivered)
	one(s.exposition, "rabbitmq_channel_messages_acked_total", counter, "Total number of messages acknowledged by consumers", n.Acked)
	one(s.exposition, "rabbitmq_channel_get_empty_total", counter, "Total number of times basic.get operations fetched no message", n.GotNone)
}

// channelQueueExchange is what was published to queues. Source: RabbitMQ prometheus, channel_queue_exchange_metrics.
func (s *scrape) channelQueueExchange() {
	if s.aggregated() {
		one(s.exposition, "rabbitmq_queue_messages_published_total", counter, "Total number of messages published to queues", s.sum.Traffic.Routed)
	}
}

// octets is what went over a connection, in bytes, with the packets that carried it: reads and writes of the socket.
type octets struct{ received, sent, reads, writes uint64 }

func (o *octets) add(p octets) {
	o.received, o.sent, o.reads, o.writes = o.received+p.received, o.sent+p.sent, o.reads+p.reads, o.writes+p.writes
}

// octetKey names a connection.
type octetKey struct {
	name string
	at   int64 // ns since the Unix epoch
}

// octetTotals are those of all connections: what was seen last of those that have closed stays in them.
type octetTotals struct {
	seen map[octetKey]octets
	gone octets
}

// update takes note of the connections that live, and returns the totals, which never go back.
func (t *octetTotals) update(live []stats.Connection) (total octets) {
	now := make(map[octetKey]octets, len(live))
	for i := range live {
		c := &live[i]
		w := octets{c.Received, c.Sent, c.Reads, c.Writes}
		now[octetKey{c.Name, c.ConnectedAt.UnixNano()}] = w
		total.add(w)
	}
	for key, w := range t.seen {
		if _, lives := now[key]; !lives {
			t.gone.add(w)
		}
	}
	t.seen = now
	total.add(t.gone)
	return total
}

// octets is what went over all connections so far. The roster is read under the lock: an older reading would count
// connections twice.
func (c *scraper) octets(r stats.Roster) octets {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.octets.update(r.Connections())
}

// connectionCoarse is what went over connections. Source: RabbitMQ prometheus, connection_coarse_metrics.
func (s *scrape) connectionCoarse() {
	total := s.server.scraper.octets(s.server.from.Roster)
	s.ofConnections("connection_incoming_bytes_total", counter, "Total number of bytes received on a connection", float64(total.received),
		func(c *stats.Connection) float64 { return float64(c.Received) })
	s.ofConnections("connection_outgoing_bytes_total", counter, "Total number of bytes sent on a connection", float64(total.sent),
		func(c *stats.Connection) float64 { return float64(c.Sent) })
	s.ofConnections("connection_incoming_packets_total", counter, "Total number of packets received on a connection", float64(total.reads),
		func(c *stats.Connection) float64 { return float64(c.Reads) })
	s.ofConnections("connection_outgoing_packets_total", counter, "Total number of packets sent on a connection", float64(total.writes),
		func(c *stats.Connection) float64 { return float64(c.Writes) })
	pending := 0
	for i := range s.live {
		pending += s.live[i].Pending
	}
	s.ofConnections("connection_pending_packets", gauge, "Number of packets waiting to be sent on a connection", float64(pending),
		func(c *stats.Connection) float64 { return float64(c.Pending) })
}

// connectionMetrics is what else there is of connections. Source: RabbitMQ prometheus, connection_metrics.
func (s *scrape) connectionMetrics() {
	s.ofConnections("connection_channels", gauge, "Channels on a connection", float64(openChannels(s.live)),
		func(c *stats.Connection) float64 { return float64(c.Channels) })
}

// openChannels counts the channels of connections.
func openChannels(live []stats.Connection) (n int) {
	for i := range live {
		n += live[i].Channels
	}
	return n
}

func (s *scrape) ofConnections(name, kind, help string, total float64, value func(c *stats.Connection) float64) {
	name = s.named(name)
	s.family(name, kind, help)
	if s.aggregated() {
		s.series(name, "", total)
		return
	}
	for i := range s.live {
		c := &s.live[i]
		if s.page.detail.VHosts == nil || s.page.detail.VHosts(c.VHost) {
			s.series(name, labelled("channel", c.Name, "connection", c.Name, "user", c.User, "vhost", c.VHost), value(c))
		}
	}
}
