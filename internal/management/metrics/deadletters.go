package metrics

import (
	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/vhost"

	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// deadLetterTotals counts the deaths of all virtual hosts by reason, queue type and strategy, in RabbitMQ's words,
// and what is beyond its.
// Source: RabbitMQ prometheus; docs/compat/dead-lettering.md#14, docs/compat/metrics.md#3.
func (s *scrape) deadLetterTotals() {
	if s.page.endpoint == detailed {
		return
	}
	const prefix = "rabbitmq_global_messages_dead_lettered_"
	for _, d := range stats.ByBroker {
		name := prefix + d.Word + "_total"
		s.family(name, counter, d.Help)
		for _, kind := range queueTypes[:2] {
			n := s.sum.Types[kind]
			for _, strategy := range stats.Strategies {
				add(s.exposition, name, stats.Died(&n, strategy, d.Reasons), "queue_type", queueModule(kind), "dead_letter_strategy", strategy.String())
			}
		}
	}
	s.family(prefix+"confirmed_total", counter, "Total number of messages dead-lettered and confirmed by target queues")
	for _, kind := range queueTypes[:2] {
		add(s.exposition, prefix+"confirmed_total", s.sum.Types[kind].Confirmed, "queue_type", queueModule(kind), "dead_letter_strategy", vhost.AtLeastOnce.String())
	}
	s.discards()
	const ended = "bartleby_copies_ended_total"
	s.family(ended, counter, "Copies of messages that left their queues, by cause")
	for _, h := range s.hosts {
		for _, c := range []fact.Cause{fact.Acked, fact.Moved, fact.GonePurged, fact.GoneDeleted, fact.Redriven, fact.Fired, fact.Unscheduled} {
			s.series(ended, more(h.Labels, "cause", c.String()), float64(h.Books.Ended[c]))
		}
	}
}

// discards counts what RabbitMQ would have dropped. Source: ours, docs/compat/dead-lettering.md#14.
func (s *scrape) discards() {
	const name = "rabbitmq_global_messages_dead_lettered_discarded_total"
	s.family(name, counter, "Dead letters that no queue took; all but those of a queue without a dead-letter exchange are lost letters")
	unset, all := uint64(0), s.sum.Total.Stats
	for _, n := range all.Died[vhost.Disabled] {
		unset += n
	}
	add(s.exposition, name, unset, "cause", "no_dlx") // not set, or not there
	for _, d := range []struct {
		word  string
		cause fact.Cause
	}{{"no_route", fact.LostRoute}, {"cycle", fact.LostCycle}, {"target_full", fact.LostRefused}, {"hops", fact.LostHops}} {
		add(s.exposition, name, all.Lost[d.cause], "cause", d.word)
	}
}

// deadLetterMetrics shows what dies, what comes of it, and the queues that dead letters come to.
// Source: ours, docs/metrics.md.
func (s *scrape) deadLetterMetrics() {
	if s.aggregated() {
		s.fates()
		s.placing()
		s.misconfigured()
		s.lint()
	} else {
		s.deathsOfQueues()
	}
	s.deadLettersNow()
	s.targets()
	s.heldDeadLetters()
}

// fates counts what became of messages that died.
func (s *scrape) fates() {
	const name = "bartleby_dead_letters_total"
	s.family(name, counter, "Messages that died, by reason and outcome")
	for _, h := range s.hosts {
		for _, d := range stats.Deaths {
			for f := range vhost.Fates {
				n := uint64(0)
				for _, r := range d.Reasons {
					n += h.Traffic.Fates[r][f]
				}
				if d.Reasons == nil && f == vhost.FateRouted {
					n = d.Count(h.Total.Stats)
				}
				if h.Up {
					s.series(name, more(h.Labels, "reason", d.Word, "outcome", f.String()), float64(n))
				}
			}
		}
	}
}

// placing shows how far dead letters have come, and how long that took.
func (s *scrape) placing() {
	s.family("bartleby_dead_letter_hops", histogram, "Number of entries in the x-death header of messages when they die")
	bounds := wholes(vhost.AttemptBounds[:])
	for _, h := range s.hosts {
		if h.Up {
			s.buckets("bartleby_dead_letter_hops", h.Labels, bounds, h.Traffic.Hops.Buckets[:], float64(h.Traffic.Hops.Sum))
		}
	}
	s.family("bartleby_dead_letter_route_seconds", histogram, "Time from the death of a message until all its target queues had it")
	for _, strategy := range stats.Strategies[1:] {
		w := &s.sum.Traffic.Placing[strategy]
		s.buckets("bartleby_dead_letter_route_seconds", labelled("strategy", strategy.String()), thousandths(vhost.WaitBounds[:]), w.Buckets[:], float64(w.Sum)/1000)
	}
}

// misconfigured counts the queues whose dead letters will go wrong.
func (s *scrape) misconfigured() {
	const name = "bartleby_dlx_misconfigured"
	s.family(name, gauge, "Queues with dead-letter problems: the exchange does not exist, routes to no queue, or routes in a cycle without a rejection; or the dead letters have no consumer")
	for _, h := range s.hosts {
		for _, p := range []struct {
			word string
			n    int
		}{{"missing_dlx", h.Lint.Missing}, {"no_binding", h.Lint.Unbound}, {"loop", h.Lint.Loops}, {"no_consumer", h.DeadLetters.WithoutConsumer}} {
			if h.Up {
				s.series(name, more(h.Labels, "problem", p.word), float64(p.n))
			}
		}
	}
}

// lint counts what is wrong with settings.
func (s *scrape) lint() {
	const name = "bartleby_lint_findings"
	s.family(name, gauge, "Lint findings: settings that will lose, delay or circulate messages")
	for _, h := range s.hosts {
		for severity, n := range h.Lint.Findings {
			if h.Up {
				s.series(name, more(h.Labels, "severity", lint.Severity(severity).String()), float64(n))
			}
		}
	}
}

// deathsOfQueues counts what died in single queues.
func (s *scrape) deathsOfQueues() {
	const name = "bartleby_queue_dead_letters_total"
	s.family(name, counter, "Messages that died in a queue, by reason")
	s.eachQueue(func(q *stats.Queue) {
		for _, d := range stats.Deaths {
			s.series(name, more(q.Labels, "reason", d.Word), float64(d.Count(q.Stats)))
		}
	})
}

// deadLettersNow shows how many dead letters are in queues, of any role.
func (s *scrape) deadLettersNow() {
	const name, help = "bartleby_dead_letter_messages", "Dead letters in queues"
	if s.aggregated() {
		s.ofHosts(name, gauge, help, func(h *stats.VHost) float64 { return float64(h.DeadLetters.InQueues) })
		return
	}
	s.ofTargets(name, gauge, help, func(q *stats.Queue) bool { return q.IsDLQ() || q.DeadLetters > 0 },
		func(q *stats.Queue) float64 { return float64(q.DeadLetters) })
}

// targets shows the dead-letter queues.
func (s *scrape) targets() {
	const (
		messages, messagesHelp = "bartleby_dlq_messages", "Messages in dead-letter queues"
		size, sizeHelp         = "bartleby_dlq_bytes", "Body bytes of messages in dead-letter queues"
		arrivals, arrivalsHelp = "bartleby_dlq_arrivals_total", "Dead letters that arrived in queues"
		oldest                 = "bartleby_dlq_oldest_message_age_seconds"
		oldestHelp             = "Seconds since the dead letter at the head of a queue died; absent if there is none"
	)
	if s.aggregated() {
		s.ofHosts("bartleby_dlq_queues", gauge, "Dead-letter queues", func(h *stats.VHost) float64 { return float64(h.DeadLetters.Queues) })
		s.ofHosts(messages, gauge, messagesHelp, func(h *stats.VHost) float64 { return float64(h.DeadLetters.Messages) })
		s.ofHosts(size, gauge, sizeHelp, func(h *stats.VHost) float64 { return float64(h.DeadLetters.Bytes) })
		s.ofHosts(arrivals, counter, arrivalsHelp, func(h *stats.VHost) float64 { return float64(h.Total.Stats.DeadLetters) })
		s.family(oldest, gauge, oldestHelp)
		for _, h := range s.hosts {
			if h.DeadLetters.Oldest >= 0 && h.Up {
				s.series(oldest, h.Labels, h.DeadLetters.Oldest)
			}
		}
		return
	}
	s.ofTargets(messages, gauge, messagesHelp, (*stats.Queue).IsDLQ,
		func(q *stats.Queue) float64 { return float64(stats.Depth(&q.QueueSample)) })
	s.ofTargets(size, gauge, sizeHelp, (*stats.Queue).IsDLQ,
		func(q *stats.Queue) float64 { return float64(stats.DepthBytes(&q.QueueSample)) })
	s.ofTargets(oldest, gauge, oldestHelp, func(q *stats.Queue) bool { return q.IsDLQ() && q.Oldest >= 0 },
		func(q *stats.Queue) float64 { return q.Oldest })
	s.ofTargets(arrivals, counter, arrivalsHelp, func(q *stats.Queue) bool { return q.IsDLQ() || q.Stats.DeadLetters > 0 },
		func(q *stats.Queue) float64 { return float64(q.Stats.DeadLetters) })
	s.departures()
}

// departures counts how messages left dead-letter queues.
func (s *scrape) departures() {
	const name = "bartleby_dlq_departures_total"
	s.family(name, counter, "Messages that left dead-letter queues, by outcome")
	s.eachQueue(func(q *stats.Queue) {
		if !q.IsDLQ() {
			return
		}
		n := q.Stats
		counts := map[string]uint64{"consumed": n.Acked + n.DeliveredNoAck + n.GotNoAck, "redriven": n.Redriven, "discarded": n.Purged + n.Discarded}
		for _, d := range stats.ByBroker {
			counts[d.Word] = d.Count(n)
		}
		for _, how := range []string{"consumed", "redriven", "discarded", "expired", "rejected", "maxlen", "delivery_limit"} {
			s.series(name, more(q.Labels, "how", how), float64(counts[how]))
		}
	})
}

// heldDeadLetters shows the dead letters that wait in their queues for a target.
func (s *scrape) heldDeadLetters() {
	held := func(q *vhost.QueueSample) float64 { return float64(q.Held) }
	const tries = "bartleby_dead_letter_retries_total"
	s.ofBoth("bartleby_dead_letter_pending", gauge, "Dead letters held by their queues until all targets accept them", held)
	s.family(tries, counter, "Failed retries of held dead letters, by cause")
	write := func(labels string, n *vhost.QueueStats) {
		for i, c := range vhost.HeldCauses {
			s.series(tries, more(labels, "cause", c.String()), float64(n.Retried[i]))
		}
	}
	const name = "bartleby_held_messages"
	if !s.aggregated() {
		s.eachQueue(func(q *stats.Queue) {
			if q.Held > 0 || q.Stats.Held > 0 {
				write(q.Labels, q.Stats)
			}
		})
		s.family(name, gauge, "Dead letters held by their queues, by cause")
		s.eachQueue(func(q *stats.Queue) {
			for i, c := range vhost.HeldCauses {
				if q.Held > 0 || q.Stats.Held > 0 {
					s.series(name, more(q.Labels, "reason", c.String()), float64(q.HeldBy[i]))
				}
			}
		})
		return
	}
	for _, h := range s.hosts {
		write(h.Labels, h.Total.Stats)
	}
	s.family(name, gauge, "Dead letters held by their queues, by cause")
	for _, h := range s.hosts {
		for i, c := range vhost.HeldCauses {
			if h.Up {
				s.series(name, more(h.Labels, "reason", c.String()), float64(h.Total.HeldBy[i]))
			}
		}
	}
}

// lostLetters shows the lost store of each virtual host. Source: ours, docs/metrics.md.
func (s *scrape) lostLetters() {
	if s.page.endpoint == detailed {
		return
	}
	byCause := func(name, kind, help string, value func(h *stats.VHost, c fact.Cause) uint64) {
		s.family(name, kind, help)
		for _, h := range s.hosts {
			for _, c := range vhost.LossCauses() {
				if h.Up {
					s.series(name, more(h.Labels, "cause", c.String()), float64(value(h, c)))
				}
			}
		}
	}
	byCause("bartleby_lost_letters", gauge, "Lost letters currently kept, by cause", func(h *stats.VHost, c fact.Cause) uint64 { return h.Lost.ByCause[c] })
	byCause("bartleby_letters_lost_total", counter, "Dead letters that could not be delivered, by cause", func(h *stats.VHost, c fact.Cause) uint64 { return h.Total.Stats.Lost[c] })
	s.ofHosts("bartleby_lost_letters_bytes", gauge, "Size of the lost letters currently kept, limited by lost-letters-max-bytes", func(h *stats.VHost) float64 { return float64(h.Lost.Bytes) })
	s.ofHosts("bartleby_lost_letters_evicted_total", counter, "Lost letters deleted because of the size or age limit", func(h *stats.VHost) float64 { return float64(h.Books.Ended[fact.GoneEvicted]) })
	s.ofHosts("bartleby_dead_letters_held_total", counter, "Total number of dead letters held by their queues", func(h *stats.VHost) float64 { return float64(h.Total.Stats.Held) })
	s.ofHosts("bartleby_cycles_kept_total", counter, "Expired messages kept in place without TTL because of a dead-letter cycle", func(h *stats.VHost) float64 { return float64(h.Total.Stats.Kept) })
	s.ofHosts("bartleby_consumer_timeouts_total", counter, "Consumers cancelled because of the consumer timeout", func(h *stats.VHost) float64 { return float64(h.Total.Stats.TimedOut) })
}
