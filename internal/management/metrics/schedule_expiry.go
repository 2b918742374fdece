package metrics

import (
	"github.com/bartleby-mq/bartleby/internal/vhost"

	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// expiryMetrics shows what expires, and how late. Source: ours, docs/metrics.md.
func (s *scrape) expiryMetrics() {
	if !s.aggregated() {
		s.ofTargets("bartleby_queue_expired_messages_total", counter, "Messages that expired in a queue", func(*stats.Queue) bool { return true },
			func(q *stats.Queue) float64 { return float64(expired(q.Stats, true) + expired(q.Stats, false)) })
		return
	}
	const name = "bartleby_expired_messages_total"
	s.family(name, counter, "Messages that expired, by outcome")
	for _, h := range s.hosts {
		s.series(name, more(h.Labels, "disposition", "dead_lettered"), float64(expired(h.Total.Stats, true)))
		s.series(name, more(h.Labels, "disposition", "dropped"), float64(expired(h.Total.Stats, false)))
	}
	s.lateness("bartleby_expiry_lateness_seconds", "Delay of expiry after its due time, of messages (message) and unused queues (queue)",
		"scope", []lateKind{{"message", vhost.LateTTL}, {"queue", vhost.LateExpires}})
	s.ofHosts("bartleby_expiry_pending", gauge, "Pending deadlines: one per block of messages with an expiry or a delay, and others",
		func(h *stats.VHost) float64 { return float64(h.Time.Armed) })
	s.family("bartleby_expiry_next_due_seconds", gauge, "Seconds until the next deadline; absent if there is none")
	for _, h := range s.hosts {
		if h.Up && h.Time.Next >= 0 {
			s.series("bartleby_expiry_next_due_seconds", h.Labels, h.Time.Next)
		}
	}
	s.ofHosts("bartleby_overdue_seconds", gauge, "Seconds by which the earliest missed deadline is overdue",
		func(h *stats.VHost) float64 { return h.Time.Overdue })
}

// expired counts the messages that expired and became dead letters, or did not.
func expired(n *vhost.QueueStats, deadLetters bool) uint64 {
	if deadLetters {
		return n.Died[vhost.AtMostOnce][fact.Expired] + n.Died[vhost.AtLeastOnce][fact.Expired]
	}
	return n.Died[vhost.Disabled][fact.Expired]
}

// delayedMetrics shows what waits in delayed exchanges, and what became of what did. Source: ours, docs/metrics.md.
func (s *scrape) delayedMetrics() {
	if !s.aggregated() {
		s.ofDelayed("bartleby_delayed_messages", "Messages that wait in a delayed exchange", func(d *vhost.DelayedSample) float64 { return float64(d.Messages) })
		s.ofDelayed("bartleby_delayed_bytes", "Bodies of the messages that wait in a delayed exchange, bytes", func(d *vhost.DelayedSample) float64 { return float64(d.Bytes) })
		return
	}
	sum := func(value func(d *vhost.DelayedSample) int64) func(h *stats.VHost) float64 {
		return func(h *stats.VHost) float64 {
			n := int64(0)
			for i := range h.Time.Delayed {
				n += value(&h.Time.Delayed[i])
			}
			return float64(n)
		}
	}
	s.ofHosts("bartleby_delayed_messages", gauge, "Messages that wait in delayed exchanges", sum(func(d *vhost.DelayedSample) int64 { return int64(d.Messages) }))
	s.ofHosts("bartleby_delayed_bytes", gauge, "Bodies of the messages that wait in delayed exchanges, bytes", sum(func(d *vhost.DelayedSample) int64 { return d.Bytes }))
	s.ofHosts("bartleby_delayed_orphans", gauge, "Scheduled messages whose delayed exchange was deleted", sum(func(d *vhost.DelayedSample) int64 {
		return int64(d.Messages * stats.BoolInt(d.Orphan))
	}))
	const within = "bartleby_delayed_due_within"
	s.family(within, gauge, "Messages that wait in delayed exchanges by due time, each counted in the first matching window; estimated for large numbers")
	for _, h := range s.hosts {
		for k, n := range h.Time.Horizon {
			if h.Up {
				s.series(within, more(h.Labels, "window", windows[k]), float64(n))
			}
		}
	}
	s.ofHosts("bartleby_delayed_overdue_messages", gauge, "Overdue messages in delayed exchanges", func(h *stats.VHost) float64 { return float64(h.Time.Late) })
	s.lateness("bartleby_delivery_delay_lateness_seconds", "Delay after the due time of scheduled messages (exchange), and of retries and delivery times (retry)",
		"kind", []lateKind{{"exchange", vhost.LateDelay}, {"retry", vhost.LateRetry}})
	s.scheduledMetrics()
}

// scheduledMetrics counts what happened to messages in delayed exchanges.
func (s *scrape) scheduledMetrics() {
	for _, m := range []struct {
		name, help string
		value      func(n *vhost.Scheduled) uint64
	}{
		{"published", "Total number of scheduled messages", func(n *vhost.Scheduled) uint64 { return n.Published }},
		{"released", "Scheduled messages sent to queues", func(n *vhost.Scheduled) uint64 { return n.Released }},
		{"lost", "Scheduled messages that were unroutable when they were due", func(n *vhost.Scheduled) uint64 { return n.Lost }},
		{"cancelled", "Scheduled messages that were cancelled, or replaced under their key", func(n *vhost.Scheduled) uint64 { return n.Cancelled }},
		{"rescheduled", "Scheduled messages that were rescheduled", func(n *vhost.Scheduled) uint64 { return n.Rescheduled }},
		{"purged", "Scheduled messages that were purged", func(n *vhost.Scheduled) uint64 { return n.Purged }},
	} {
		s.ofHosts("bartleby_delayed_"+m.name+"_total", counter, m.help, func(h *stats.VHost) float64 { return float64(m.value(&h.Traffic.Scheduled)) })
	}
	const refused = "bartleby_delayed_rejected_total"
	s.family(refused, counter, "Scheduled messages that were refused, by cause")
	for _, h := range s.hosts {
		if h.Up {
			s.series(refused, more(h.Labels, "cause", "full"), float64(h.Traffic.Scheduled.Full))
			s.series(refused, more(h.Labels, "cause", "invalid"), float64(h.Traffic.Scheduled.Invalid))
		}
	}
}

// ofDelayed writes a metric of single delayed exchanges.
func (s *scrape) ofDelayed(name, help string, value func(d *vhost.DelayedSample) float64) {
	s.family(name, gauge, help)
	for _, h := range s.hosts {
		for i := range h.Time.Delayed {
			d := &h.Time.Delayed[i]
			s.series(name, more(h.Labels, "exchange", d.Exchange), value(d))
		}
	}
}

// windows name what vhost.Horizon counts.
var windows = [len(vhost.HorizonBounds) + 1]string{"1m", "1h", "1d", "30d", "later"}

// lateKind is a kind of deadline under the name that a metric gives it.
type lateKind struct {
	name string
	kind vhost.LateKind
}

// lateness writes a histogram for each virtual host and kind.
func (s *scrape) lateness(name, help, label string, kinds []lateKind) {
	s.family(name, histogram, help)
	bounds := thousandths(vhost.LateBounds[:])
	for _, h := range s.hosts {
		for _, k := range kinds {
			if h.Up {
				l := &h.Time.Lateness
				s.buckets(name, more(h.Labels, label, k.name), bounds, l.Buckets[k.kind][:], float64(l.Sum[k.kind])/1000)
			}
		}
	}
}

// retryMetrics shows what comes back to its queue later. Source: ours, docs/metrics.md.
func (s *scrape) retryMetrics() {
	s.ofBoth("bartleby_retry_waiting_messages", gauge, "Returned messages that wait for their retry", func(q *vhost.QueueSample) float64 { return float64(q.Waiting) })
	s.ofBoth("bartleby_retry_scheduled_total", counter, "Times that a returned message had to wait for its retry", func(q *vhost.QueueSample) float64 { return float64(q.Stats.Waits) })
	s.ofBoth("bartleby_retry_exhausted_total", counter, "Messages that died because they reached the retry limit", func(q *vhost.QueueSample) float64 { return float64(q.Stats.Exhausted) })
	s.nextRetries()
	if !s.aggregated() {
		return
	}
	s.family("bartleby_retry_attempt", histogram, "Deliveries that messages took until they were acknowledged, in queues that count them")
	bounds := wholes(vhost.AttemptBounds[:])
	for _, h := range s.hosts {
		if h.Up {
			s.buckets("bartleby_retry_attempt", h.Labels, bounds, h.Traffic.Settled.Buckets[:], float64(h.Traffic.Settled.Sum))
		}
	}
}

// nextRetries tells when a message is ready again; nothing where none waits.
func (s *scrape) nextRetries() {
	const name = "bartleby_retry_next_due_seconds"
	s.family(name, gauge, "Seconds until the next message is ready for its retry; absent if none waits")
	now := s.server.from.Reader.Clocks()
	seconds := func(h string, at vhost.Instant) float64 { return float64(max(at-now[h], 0)) / 1000 }
	for _, h := range s.hosts {
		if s.aggregated() && h.Total.NextRetry != 0 {
			s.series(name, h.Labels, seconds(h.Name, h.Total.NextRetry))
		}
		for i := range h.Rows {
			if q := &h.Rows[i]; q.NextRetry != 0 {
				s.series(name, q.Labels, seconds(h.Name, q.NextRetry))
			}
		}
	}
}

// ofBoth writes a metric of queues, or of virtual hosts.
func (s *scrape) ofBoth(name, kind, help string, value func(q *vhost.QueueSample) float64) {
	if s.aggregated() {
		s.ofHosts(name, kind, help, func(h *stats.VHost) float64 { return value(&h.Total) })
		return
	}
	s.ofTargets(name, kind, help, func(*stats.Queue) bool { return true }, func(q *stats.Queue) float64 { return value(&q.QueueSample) })
}

// ofTargets writes a metric of the queues that are wanted.
func (s *scrape) ofTargets(name, kind, help string, wanted func(q *stats.Queue) bool, value func(q *stats.Queue) float64) {
	s.family(name, kind, help)
	s.eachQueue(func(q *stats.Queue) {
		if wanted(q) {
			s.series(name, q.Labels, value(q))
		}
	})
}
