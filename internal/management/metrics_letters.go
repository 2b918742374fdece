package management

import "github.com/bartleby-mq/bartleby/internal/vhost"

// deaths are why messages die, in RabbitMQ's words. Consumers that take too long return their messages: that is no death.
var deaths = [...]struct {
	word    string
	help    string
	reasons []vhost.Reason
}{
	{"expired", "Total number of messages dead-lettered due to message TTL exceeded", []vhost.Reason{vhost.Expired}},
	{"rejected", "Total number of messages dead-lettered due to basic.reject or basic.nack", []vhost.Reason{vhost.Rejected, vhost.Nacked}},
	{"maxlen", "Total number of messages dead-lettered due to overflow drop-head or reject-publish-dlx", []vhost.Reason{vhost.MaxLen}},
	{"delivery_limit", "Total number of messages dead-lettered due to delivery-limit exceeded", []vhost.Reason{vhost.DeliveryLimit}},
}

// strategies are how dead letters leave.
var strategies = []vhost.Strategy{vhost.Disabled, vhost.AtMostOnce, vhost.AtLeastOnce}

// deadLetterTotals counts the deaths of all virtual hosts by reason, queue type and strategy, in RabbitMQ's words,
// and what is beyond its.
// Source: RabbitMQ prometheus; reference dead-lettering 14, metrics 3.
func (s *scrape) deadLetterTotals() {
	if s.page.endpoint == detailed {
		return
	}
	const prefix = "rabbitmq_global_messages_dead_lettered_"
	for _, d := range deaths {
		name := prefix + d.word + "_total"
		s.family(name, counter, d.help)
		for _, kind := range queueTypes[:2] {
			n := s.sum.types[kind]
			for _, strategy := range strategies {
				add(s.exposition, name, died(&n, strategy, d.reasons), "queue_type", queueModule(kind), "dead_letter_strategy", strategy.String())
			}
		}
	}
	s.family(prefix+"confirmed_total", counter, "Total number of messages dead-lettered and confirmed by target queues")
	for _, kind := range queueTypes[:2] {
		add(s.exposition, prefix+"confirmed_total", s.sum.types[kind].Confirmed, "queue_type", queueModule(kind), "dead_letter_strategy", vhost.AtLeastOnce.String())
	}
	s.discards()
	const ended = "bartleby_copies_ended_total"
	s.family(ended, counter, "Copies of messages that left their queues, by cause")
	for _, h := range s.hosts {
		for _, c := range []vhost.Cause{vhost.Acked, vhost.Moved, vhost.GonePurged, vhost.GoneDeleted, vhost.Redriven, vhost.Fired, vhost.Unscheduled} {
			s.series(ended, more(h.labels, "cause", c.String()), float64(h.books.Ended[c]))
		}
	}
}

// died counts the messages that died of some reasons.
func died(n *vhost.QueueStats, strategy vhost.Strategy, reasons []vhost.Reason) (sum uint64) {
	for _, r := range reasons {
		sum += n.Died[strategy][r]
	}
	return sum
}

// discards counts what RabbitMQ would have dropped. Source: ours, reference dead-lettering 14.
func (s *scrape) discards() {
	const name = "rabbitmq_global_messages_dead_lettered_discarded_total"
	s.family(name, counter, "Dead letters that no queue took; all but those of a queue without a dead-letter exchange are lost letters")
	unset, all := uint64(0), s.sum.total.Stats
	for _, n := range all.Died[vhost.Disabled] {
		unset += n
	}
	add(s.exposition, name, unset, "cause", "no_dlx") // not set, or not there
	for _, d := range []struct {
		word  string
		cause vhost.Cause
	}{{"no_route", vhost.LostRoute}, {"cycle", vhost.LostCycle}, {"target_full", vhost.LostRefused}, {"hops", vhost.LostHops}} {
		add(s.exposition, name, all.Lost[d.cause], "cause", d.word)
	}
}

// deadLetterMetrics shows what dies, what comes of it, and the queues that dead letters come to.
// Source: ours, reference metrics 6.
func (s *scrape) deadLetterMetrics() {
	if s.aggregated() {
		s.fates()
		s.placing()
		s.misconfigured()
		s.lint()
	} else {
		s.deathsOfQueues()
	}
	s.targets()
	s.heldLetters()
}

// fates counts what became of messages that died.
func (s *scrape) fates() {
	const name = "bartleby_dead_letters_total"
	s.family(name, counter, "Messages that died, by reason and outcome")
	for _, h := range s.hosts {
		for _, d := range deaths {
			for f := range vhost.Fates {
				n := uint64(0)
				for _, r := range d.reasons {
					n += h.traffic.Fates[r][f]
				}
				if h.up {
					s.series(name, more(h.labels, "reason", d.word, "outcome", f.String()), float64(n))
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
		if h.up {
			s.buckets("bartleby_dead_letter_hops", h.labels, bounds, h.traffic.Hops.Buckets[:], float64(h.traffic.Hops.Sum))
		}
	}
	s.family("bartleby_dead_letter_route_seconds", histogram, "Time from the death of a message until all its target queues had it")
	for _, strategy := range strategies[1:] {
		w := &s.sum.traffic.Placing[strategy]
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
		}{{"missing_dlx", h.lint.Missing}, {"no_binding", h.lint.Unbound}, {"loop", h.lint.Loops}, {"no_consumer", h.letters.forlorn}} {
			if h.up {
				s.series(name, more(h.labels, "problem", p.word), float64(p.n))
			}
		}
	}
}

// lint counts what is wrong with settings.
func (s *scrape) lint() {
	const name = "bartleby_lint_findings"
	s.family(name, gauge, "Lint findings: settings that will lose, delay or circulate messages")
	for _, h := range s.hosts {
		for severity, n := range h.lint.Findings {
			if h.up {
				s.series(name, more(h.labels, "severity", vhost.Severity(severity).String()), float64(n))
			}
		}
	}
}

// deathsOfQueues counts what died in single queues.
func (s *scrape) deathsOfQueues() {
	const name = "bartleby_queue_dead_letters_total"
	s.family(name, counter, "Messages that died in a queue, by reason")
	s.eachQueue(func(q *queueSeries) {
		for _, d := range deaths {
			n := uint64(0)
			for _, strategy := range strategies {
				n += died(q.Stats, strategy, d.reasons)
			}
			s.series(name, more(q.labels, "reason", d.word), float64(n))
		}
	})
}

// targets shows the queues that dead letters come to.
func (s *scrape) targets() {
	const messages, size, oldest, arrivals = "bartleby_dlq_messages", "bartleby_dlq_bytes", "bartleby_dlq_oldest_message_age_seconds", "bartleby_dlq_arrivals_total"
	const ageHelp = "Seconds since the dead letter at the head of a queue died; absent if there is none"
	if s.aggregated() {
		s.ofHosts("bartleby_dlq_queues", gauge, "Queues that are targets of a dead-letter exchange", func(h *hostFigures) float64 { return float64(h.letters.queues) })
		s.ofHosts(messages, gauge, "Messages in queues that are targets of a dead-letter exchange", func(h *hostFigures) float64 { return float64(h.letters.messages) })
		s.ofHosts(size, gauge, "Body bytes of messages in queues that are targets of a dead-letter exchange", func(h *hostFigures) float64 { return float64(h.letters.bytes) })
		s.ofHosts(arrivals, counter, "Dead letters that arrived in queues", func(h *hostFigures) float64 { return float64(h.total.Stats.Letters) })
		s.family(oldest, gauge, ageHelp)
		for _, h := range s.hosts {
			if h.letters.oldest >= 0 && h.up {
				s.series(oldest, h.labels, h.letters.oldest)
			}
		}
		return
	}
	target := func(q *queueSeries) bool { return q.target }
	s.ofTargets(messages, gauge, "Messages in queues that are targets of a dead-letter exchange", target, func(q *queueSeries) float64 { return float64(all(&q.QueueSample)) })
	s.ofTargets(size, gauge, "Body bytes of messages in queues that are targets of a dead-letter exchange", target, func(q *queueSeries) float64 { return float64(allBytes(&q.QueueSample)) })
	s.ofTargets(oldest, gauge, ageHelp, func(q *queueSeries) bool { return q.oldest >= 0 }, func(q *queueSeries) float64 { return q.oldest })
	s.ofTargets(arrivals, counter, "Dead letters that arrived in queues", func(q *queueSeries) bool { return q.target || q.Stats.Letters > 0 },
		func(q *queueSeries) float64 { return float64(q.Stats.Letters) })
	s.departures()
}

// departures counts how messages left the queues that dead letters come to.
func (s *scrape) departures() {
	const name = "bartleby_dlq_departures_total"
	s.family(name, counter, "Messages that left queues that are targets of a dead-letter exchange, by outcome")
	s.eachQueue(func(q *queueSeries) {
		if !q.target {
			return
		}
		n := q.Stats
		counts := map[string]uint64{"consumed": n.Acked + n.DeliveredNoAck + n.GotNoAck, "redriven": n.Redriven, "discarded": n.Purged + n.Discarded}
		for _, d := range deaths {
			for _, strategy := range strategies {
				counts[d.word] += died(n, strategy, d.reasons)
			}
		}
		for _, how := range []string{"consumed", "redriven", "discarded", "expired", "rejected", "maxlen", "delivery_limit"} {
			s.series(name, more(q.labels, "how", how), float64(counts[how]))
		}
	})
}

// heldLetters shows the dead letters that wait in their queues for a target.
func (s *scrape) heldLetters() {
	held := func(q *vhost.QueueSample) float64 { return float64(q.Held) }
	const tries = "bartleby_dead_letter_retries_total"
	s.ofBoth("bartleby_dead_letter_pending", gauge, "Dead letters held by their queues until all targets accept them", held)
	s.family(tries, counter, "Failed retries of held dead letters, by cause")
	write := func(labels string, n *vhost.QueueStats) {
		for i, c := range vhost.RetriedFor {
			s.series(tries, more(labels, "cause", c.String()), float64(n.Retried[i]))
		}
	}
	const name = "bartleby_held_messages"
	if !s.aggregated() {
		s.eachQueue(func(q *queueSeries) {
			if q.Held > 0 || q.Stats.Held > 0 {
				write(q.labels, q.Stats)
			}
		})
		s.family(name, gauge, "Dead letters held by their queues, by cause")
		s.eachQueue(func(q *queueSeries) {
			for i, c := range vhost.RetriedFor {
				if q.Held > 0 || q.Stats.Held > 0 {
					s.series(name, more(q.labels, "reason", c.String()), float64(q.HeldBy[i]))
				}
			}
		})
		return
	}
	for _, h := range s.hosts {
		write(h.labels, h.total.Stats)
	}
	s.family(name, gauge, "Dead letters held by their queues, by cause")
	for _, h := range s.hosts {
		for i, c := range vhost.RetriedFor {
			if h.up {
				s.series(name, more(h.labels, "reason", c.String()), float64(h.total.HeldBy[i]))
			}
		}
	}
}

// lostLetters shows the shelf of each virtual host. Source: ours, reference metrics 6.
func (s *scrape) lostLetters() {
	if s.page.endpoint == detailed {
		return
	}
	byCause := func(name, kind, help string, value func(h *hostFigures, c vhost.Cause) uint64) {
		s.family(name, kind, help)
		for _, h := range s.hosts {
			for _, c := range vhost.LossCauses() {
				if h.up {
					s.series(name, more(h.labels, "cause", c.String()), float64(value(h, c)))
				}
			}
		}
	}
	byCause("bartleby_lost_letters", gauge, "Lost letters currently kept, by cause", func(h *hostFigures, c vhost.Cause) uint64 { return h.shelf.ByCause[c] })
	byCause("bartleby_letters_lost_total", counter, "Dead letters that could not be delivered, by cause", func(h *hostFigures, c vhost.Cause) uint64 { return h.total.Stats.Lost[c] })
	s.ofHosts("bartleby_lost_letters_bytes", gauge, "Size of the lost letters currently kept, limited by lost-letters-max-bytes", func(h *hostFigures) float64 { return float64(h.shelf.Bytes) })
	s.ofHosts("bartleby_lost_letters_evicted_total", counter, "Lost letters deleted because of the size or age limit", func(h *hostFigures) float64 { return float64(h.books.Ended[vhost.GoneShelf]) })
	s.ofHosts("bartleby_dead_letters_held_total", counter, "Total number of dead letters held by their queues", func(h *hostFigures) float64 { return float64(h.total.Stats.Held) })
	s.ofHosts("bartleby_cycles_kept_total", counter, "Expired messages kept in place without TTL because of a dead-letter cycle", func(h *hostFigures) float64 { return float64(h.total.Stats.Kept) })
	s.ofHosts("bartleby_consumer_timeouts_total", counter, "Consumers cancelled because of the consumer timeout", func(h *hostFigures) float64 { return float64(h.total.Stats.TimedOut) })
}
