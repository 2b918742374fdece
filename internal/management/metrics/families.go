package metrics

import (
	"github.com/bartleby-mq/bartleby/internal/vhost"

	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

// scrape is one page being written.
type scrape struct {
	*exposition
	*gathered
	page *page
	once map[string]bool // what is shown already, of several families
}

// aggregated reports whether single objects are not shown.
func (s *scrape) aggregated() bool { return s.page.endpoint == aggregated }

// named is the name of a series of RabbitMQ's: those of chosen families have a name of their own, so that both may be
// scraped.
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
	reads   func(d *stats.Detail)
	write   func(s *scrape)
}

// metricFamilies are all there are, in the order in which they are shown. Names without an underscore of RabbitMQ's are
// ours.
// Source: RabbitMQ prometheus, metric groups; docs/compat/metrics.md#3 to #5, docs/metrics.md.
func metricFamilies() []family {
	queues := func(d *stats.Detail) { d.Queues = true }
	channels := func(d *stats.Detail) { d.Channels = true }
	exchanges := func(d *stats.Detail) { d.Exchanges = true }
	none := func(*stats.Detail) {}
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
		{"queue_exchange_metrics", true, func(d *stats.Detail) { d.Queues, d.Inflows = true, true }, (*scrape).queueExchange},
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
func detailOf(names []string) (d stats.Detail) {
	known := map[string]func(*stats.Detail){}
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
			s.series(name, "", m.value(&s.sum.Total))
			continue
		}
		s.eachQueue(func(q *stats.Queue) { s.series(name, q.Labels, m.value(&q.QueueSample)) })
	}
}

// eachQueue visits the queues that are shown.
func (s *scrape) eachQueue(visit func(q *stats.Queue)) {
	for _, h := range s.hosts {
		for i := range h.Rows {
			visit(&h.Rows[i])
		}
	}
}

// ofHosts writes a metric of virtual hosts.
func (s *scrape) ofHosts(name, kind, help string, value func(h *stats.VHost) float64) {
	s.family(name, kind, help)
	for _, h := range s.hosts {
		if h.Up {
			s.series(name, h.Labels, value(h))
		}
	}
}

// FamilyNames are the names of all families.
func FamilyNames() (all []string) {
	for _, f := range metricFamilies() {
		all = append(all, f.name)
	}
	return all
}
