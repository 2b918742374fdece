package management

import "github.com/bartleby-mq/bartleby/internal/vhost"

// scrape is one page being written.
type scrape struct {
	*exposition
	*gathered
	page *page
	once map[string]bool // what is shown already, of several families
}

// aggregated reports whether single objects are not shown.
func (s *scrape) aggregated() bool { return s.page.endpoint == aggregated }

// named is the name of a series of RabbitMQ's: those of chosen families have a name of their own, so that both may be scraped.
// Source: RabbitMQ prometheus, /metrics/detailed.
func (s *scrape) named(name string) string {
	if s.page.endpoint == detailed {
		return "rabbitmq_detailed_" + name
	}
	return "rabbitmq_" + name
}

// family is a group of metrics that a query may ask for.
type family struct {
	name    string
	objects bool // it shows single objects alone, and is not among the totals
	reads   func(d *detail)
	write   func(s *scrape)
}

// metricFamilies are all there are, in the order in which they are shown. Names without an underscore of RabbitMQ's are ours.
// Source: RabbitMQ prometheus, metric groups; reference metrics 3 to 6.
func metricFamilies() []family {
	queues := func(d *detail) { d.queues = true }
	channels := func(d *detail) { d.channels = true }
	exchanges := func(d *detail) { d.exchanges = true }
	none := func(*detail) {}
	return []family{
		{"node_alarms", false, none, (*scrape).alarms},
		{"connection_churn_metrics", false, none, (*scrape).churnMetrics},
		{"node_coarse_metrics", false, none, (*scrape).nodeCoarse},
		{"node_metrics", false, none, (*scrape).nodeMetrics},
		{"node_persister_metrics", false, none, (*scrape).persister},
		{"auth_attempt_metrics", false, none, (*scrape).logins},
		{"totals", false, none, (*scrape).totals},
		{"global_metrics", false, none, (*scrape).global},
		{"message_size_metrics", false, none, (*scrape).sizes},
		{"dead_letter_totals", false, none, (*scrape).deadLetterTotals},
		{"queue_coarse_metrics", false, queues, (*scrape).queueCoarse},
		{"queue_consumer_count", true, queues, (*scrape).queueConsumerCount},
		{"queue_metrics", false, queues, (*scrape).queueMetrics},
		{"queue_delivery_metrics", false, queues, (*scrape).queueDelivery},
		{"queue_exchange_metrics", true, func(d *detail) { d.queues, d.inflows = true, true }, (*scrape).queueExchange},
		{"exchange_metrics", true, exchanges, (*scrape).exchangeMetrics},
		{"channel_metrics", false, channels, (*scrape).channelMetrics},
		{"channel_exchange_metrics", false, none, (*scrape).channelExchange},
		{"channel_queue_metrics", false, none, (*scrape).channelQueue},
		{"channel_queue_exchange_metrics", false, none, (*scrape).channelQueueExchange},
		{"connection_coarse_metrics", false, none, (*scrape).connectionCoarse},
		{"connection_metrics", false, none, (*scrape).connectionMetrics},
		{"vhost_status", true, none, (*scrape).vhostStatus},
		{"exchange_bindings", true, exchanges, (*scrape).exchangeBindings},
		{"exchange_names", true, exchanges, (*scrape).exchangeNames},
		{"dead_letter_metrics", false, queues, (*scrape).deadLetterMetrics},
		{"expiry_metrics", false, queues, (*scrape).expiryMetrics},
		{"delayed_metrics", false, queues, (*scrape).delayedMetrics},
		{"retry_metrics", false, queues, (*scrape).retryMetrics},
		{"redrive_metrics", false, queues, (*scrape).redriveMetrics},
		{"lost_letter_metrics", false, none, (*scrape).lostLetters},
		{"storage_metrics", false, none, (*scrape).storageMetrics},
		{"http_metrics", false, none, (*scrape).answers},
		{"console_metrics", false, none, (*scrape).consoleStreams},
		{"runtime_metrics", false, none, (*scrape).runtimeMetrics},
	}
}

// detailOf is what must be read for some families. Names that nobody knows mean nothing, as with RabbitMQ.
func detailOf(names []string) (d detail) {
	known := map[string]func(*detail){}
	for _, f := range metricFamilies() {
		known[f.name] = f.reads
	}
	for _, name := range names {
		if reads := known[name]; reads != nil {
			reads(&d)
		}
	}
	return d
}

// queueMetric is a metric of single queues, or of all together.
type queueMetric struct {
	name, kind, help string
	value            func(q *vhost.QueueSample) float64
}

// ofQueues writes metrics of queues: one series each, or the sum.
func (s *scrape) ofQueues(metrics []queueMetric) {
	for i := range metrics {
		m := &metrics[i]
		name := s.named(m.name)
		s.family(name, m.kind, m.help)
		if s.aggregated() {
			s.series(name, "", m.value(&s.sum.total))
			continue
		}
		s.eachQueue(func(q *queueSeries) { s.series(name, q.labels, m.value(&q.QueueSample)) })
	}
}

// eachQueue visits the queues that are shown.
func (s *scrape) eachQueue(visit func(q *queueSeries)) {
	for _, h := range s.hosts {
		for i := range h.rows {
			visit(&h.rows[i])
		}
	}
}

// ofHosts writes a metric of virtual hosts.
func (s *scrape) ofHosts(name, kind, help string, value func(h *hostFigures) float64) {
	s.family(name, kind, help)
	for _, h := range s.hosts {
		if h.up {
			s.series(name, h.labels, value(h))
		}
	}
}
