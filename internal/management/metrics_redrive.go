package management

import "github.com/bartleby-mq/bartleby/internal/vhost"

// redriveMetrics shows the jobs that send letters back or discard them, and what became of letters by hand.
// Source: ours, reference metrics 6.
func (s *scrape) redriveMetrics() {
	const messages = "bartleby_redrive_messages_total"
	const help = "Letters that were sent back (moved), stayed where they were (refused), died again (came_back), or were discarded by hand"
	if !s.aggregated() {
		s.family(messages, counter, help)
		s.eachQueue(func(q *queueSeries) {
			if n := &q.Stats; q.target || n.Redriven+n.Discarded > 0 {
				s.series(messages, more(q.labels, "result", "moved"), float64(n.Redriven))
				s.series(messages, more(q.labels, "result", "discarded"), float64(n.Discarded))
			}
		})
		return
	}
	const jobs = "bartleby_redrive_jobs"
	s.family(jobs, gauge, "Jobs that send letters back or discard them, by state; those that have ended as long as they are remembered")
	for state := vhost.JobRunning; state <= vhost.JobFailed; state++ {
		n := 0
		for _, h := range s.hosts {
			n += h.jobs[state.String()]
		}
		s.series(jobs, labelled("state", state.String()), float64(n))
	}
	s.family(messages, counter, help)
	for _, h := range s.hosts {
		n := &h.traffic.Redrives
		for _, r := range []struct {
			result string
			n      uint64
		}{{"moved", n.Moved}, {"refused", n.Refused}, {"came_back", n.CameBack}, {"discarded", n.Discarded}} {
			s.series(messages, more(h.labels, "result", r.result), float64(r.n))
		}
	}
}
