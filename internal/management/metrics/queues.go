package metrics

import (
	"github.com/bartleby-mq/bartleby/internal/vhost"

	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

// queueCoarse is how deep queues are. Source: RabbitMQ prometheus, queue_coarse_metrics.
func (s *scrape) queueCoarse() {
	s.ofQueues([]queueMetric{
		{"queue_messages_ready", gauge, "Messages ready to be delivered to consumers", func(q *vhost.QueueSample) float64 { return float64(q.Ready) }},
		{"queue_messages_unacked", gauge, "Messages delivered to consumers but not yet acknowledged", func(q *vhost.QueueSample) float64 { return float64(q.Unacked) }},
		{"queue_messages", gauge, "Sum of ready and unacknowledged messages - total queue depth; includes messages that wait for a retry or are held", func(q *vhost.QueueSample) float64 { return float64(stats.Depth(q)) }},
	})
	s.queueInfo()
}

// queueInfo tells the type of each queue. Source: RabbitMQ 4.1 prometheus, queue_info.
func (s *scrape) queueInfo() {
	if s.aggregated() || s.once["queue_info"] {
		return
	}
	s.once["queue_info"] = true
	name := s.named("queue_info")
	s.family(name, gauge, "Metadata for an individual queue, value is always 1")
	s.eachQueue(func(q *stats.Queue) {
		s.series(name, more(q.Labels, "queue_type", queueModule(q.Type), "membership", "leader"), 1)
	})
}

// queueModule is a type of queue as RabbitMQ's metrics name it.
func queueModule(kind string) string { return "rabbit_" + kind + "_queue" }

// consumersOfQueues is what two families have. Source: RabbitMQ prometheus, queue_consumer_count, queue_metrics.
func (s *scrape) consumersOfQueues() {
	if s.once["queue_consumers"] {
		return
	}
	s.once["queue_consumers"] = true
	s.ofQueues([]queueMetric{{"queue_consumers", gauge, "Consumers on a queue", func(q *vhost.QueueSample) float64 { return float64(q.Consumers) }}})
}

func (s *scrape) queueConsumerCount() {
	s.consumersOfQueues()
	s.queueInfo()
}

// capacity is that of a queue, or of all of them.
func (s *scrape) capacity(q *vhost.QueueSample) float64 {
	if q == &s.sum.Total {
		return s.sum.Capacity
	}
	return stats.Capacity(q)
}

// queueMetrics is what else there is of queues. What a queue has in memory is not told: messages are there or not,
// virtual host by virtual host. Source: RabbitMQ prometheus, queue_metrics.
func (s *scrape) queueMetrics() {
	s.consumersOfQueues()
	s.ofQueues([]queueMetric{
		{"queue_consumer_capacity", gauge, "Consumer capacity", s.capacity},
		{"queue_consumer_utilisation", gauge, "Same as consumer capacity", s.capacity},
		{"queue_messages_bytes", gauge, "Size in bytes of ready and unacknowledged messages", func(q *vhost.QueueSample) float64 { return float64(stats.DepthBytes(q)) }},
		{"queue_messages_ready_bytes", gauge, "Size in bytes of ready messages", func(q *vhost.QueueSample) float64 { return float64(q.ReadyBytes) }},
		{"queue_messages_unacked_bytes", gauge, "Size in bytes of all unacknowledged messages", func(q *vhost.QueueSample) float64 { return float64(q.UnackedBytes) }},
		{"queue_disk_writes_total", counter, "Total number of times queue wrote messages to disk", func(q *vhost.QueueSample) float64 { return float64(q.Stats.Written) }},
	})
	if s.aggregated() {
		hot, cold := 0, 0
		for i := range s.storage.VHosts {
			hot, cold = hot+s.storage.VHosts[i].Hot, cold+s.storage.VHosts[i].Cold
		}
		one(s.exposition, "rabbitmq_queue_messages_ram", gauge, "Ready and unacknowledged messages stored in memory", hot)
		one(s.exposition, "rabbitmq_queue_messages_paged_out", gauge, "Messages paged out to disk", cold)
	}
	s.queueInfo()
}

// queueDelivery is what was taken out of queues. Source: RabbitMQ 4.1 prometheus, queue_delivery_metrics.
func (s *scrape) queueDelivery() {
	s.ofQueues([]queueMetric{
		{"queue_get_ack_total", counter, "Total number of messages fetched from a queue with basic.get in manual acknowledgement mode", func(q *vhost.QueueSample) float64 { return float64(q.Stats.Got - q.Stats.GotNoAck) }},
		{"queue_get_total", counter, "Total number of messages fetched from a queue with basic.get in automatic acknowledgement mode", func(q *vhost.QueueSample) float64 { return float64(q.Stats.GotNoAck) }},
		{"queue_messages_delivered_ack_total", counter, "Total number of messages delivered from a queue to consumers in manual acknowledgement mode", func(q *vhost.QueueSample) float64 { return float64(q.Stats.Delivered - q.Stats.DeliveredNoAck) }},
		{"queue_messages_delivered_total", counter, "Total number of messages delivered from a queue to consumers in automatic acknowledgement mode", func(q *vhost.QueueSample) float64 { return float64(q.Stats.DeliveredNoAck) }},
		{"queue_messages_redelivered_total", counter, "Total number of messages redelivered from a queue to consumers", func(q *vhost.QueueSample) float64 { return float64(q.Stats.Redelivered) }},
		{"queue_messages_acked_total", counter, "Total number of messages acknowledged by consumers on a queue", func(q *vhost.QueueSample) float64 { return float64(q.Stats.Acked) }},
		{"queue_get_empty_total", counter, "Total number of times basic.get operations fetched no message on a queue", func(q *vhost.QueueSample) float64 { return float64(q.Stats.GotNone) }},
	})
	s.queueInfo()
}

// queueExchange is how queues were reached. Source: RabbitMQ 4.1 prometheus, queue_exchange_metrics.
func (s *scrape) queueExchange() {
	name := s.named("queue_exchange_messages_published_total")
	s.family(name, counter, "Total number of messages published into a queue through an exchange")
	s.eachQueue(func(q *stats.Queue) {
		for _, f := range q.Inflows {
			s.series(name, labelled("vhost", q.VHost, "queue", q.Name, "exchange", f.Exchange), float64(f.N))
		}
	})
}

// exchangeMetrics is what was published to exchanges. Source: RabbitMQ 4.1 prometheus, exchange_metrics.
func (s *scrape) exchangeMetrics() {
	for _, m := range []struct {
		name, help string
		value      func(f vhost.ExchangeStats) uint64
	}{
		{"exchange_messages_published_total", "Total number of messages published into an exchange", func(f vhost.ExchangeStats) uint64 { return f.Published }},
		{"exchange_messages_confirmed_total", "Total number of messages published into an exchange and confirmed", func(f vhost.ExchangeStats) uint64 { return f.Confirmed }},
		{"exchange_messages_unroutable_returned_total", "Total number of messages published as mandatory into an exchange and returned to the publisher as unroutable", func(f vhost.ExchangeStats) uint64 { return f.Returned }},
		{"exchange_messages_unroutable_dropped_total", "Total number of messages published as non-mandatory into an exchange and dropped as unroutable", func(f vhost.ExchangeStats) uint64 { return f.Dropped }},
	} {
		name := s.named(m.name)
		s.family(name, counter, m.help)
		s.eachExchange(func(h *stats.VHost, x stats.ExchangeRow) {
			if f, used := h.Flows[x.Name]; used {
				s.series(name, labelled("vhost", h.Name, "exchange", x.Name), float64(m.value(f)))
			}
		})
	}
}

// eachExchange visits the exchanges, the default one first.
func (s *scrape) eachExchange(visit func(h *stats.VHost, x stats.ExchangeRow)) {
	for _, h := range s.hosts {
		if !h.Up {
			continue
		}
		if len(h.ExchangeRows) == 0 || h.ExchangeRows[0].Name != "" {
			visit(h, stats.ExchangeRow{Kind: "direct"})
		}
		for _, x := range h.ExchangeRows {
			visit(h, x)
		}
	}
}

// vhostStatus tells which virtual hosts may be used. Source: RabbitMQ prometheus, vhost_status.
func (s *scrape) vhostStatus() {
	s.family("rabbitmq_cluster_vhost_status", gauge, "Whether a given vhost is running")
	for _, h := range s.hosts {
		s.series("rabbitmq_cluster_vhost_status", h.Labels, float64(stats.BoolInt(h.Up)))
	}
}

// exchangeBindings counts bindings. Source: RabbitMQ prometheus, exchange_bindings.
func (s *scrape) exchangeBindings() {
	const name = "rabbitmq_cluster_exchange_bindings"
	s.family(name, gauge, "Number of bindings for an exchange. This value is cluster-wide.")
	s.eachExchange(func(h *stats.VHost, x stats.ExchangeRow) {
		if x.Name != "" {
			s.series(name, labelled("vhost", h.Name, "exchange", x.Name, "type", x.Kind), float64(h.Bindings[x.Name]))
		}
	})
}

// exchangeNames lists exchanges. Source: RabbitMQ prometheus, exchange_names.
func (s *scrape) exchangeNames() {
	const name = "rabbitmq_cluster_exchange_name"
	s.family(name, gauge, "Enumerates exchanges without any additional info. This value is cluster-wide. A cheaper alternative to `exchange_bindings`")
	s.eachExchange(func(h *stats.VHost, x stats.ExchangeRow) {
		if x.Name != "" {
			s.series(name, labelled("vhost", h.Name, "exchange", x.Name, "type", x.Kind), 1)
		}
	})
}
