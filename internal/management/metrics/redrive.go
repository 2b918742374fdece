package metrics

import (
	"github.com/bartleby-mq/bartleby/internal/vhost"

	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

// redriveMetrics shows redrive and discard jobs, and the outcomes of messages that users handled.
// Source: ours, docs/metrics.md.
func (s *scrape) redriveMetrics() {
	const messages = "bartleby_redrive_messages_total"
	const help = "Dead letters redriven (moved), not redriven (refused), died again (came_back), or discarded by users"
	if !s.aggregated() {
		s.family(messages, counter, help)
		s.eachQueue(func(q *stats.Queue) {
			if n := q.Stats; q.IsDLQ() || n.Redriven+n.Discarded+n.RedrivesRefused > 0 {
				s.results(messages, q.Labels, n.Redriven, n.RedrivesRefused, n.CameBack, n.Discarded)
			}
		})
		return
	}
	const jobs = "bartleby_redrive_jobs"
	s.family(jobs, gauge, "Redrive and discard jobs by state, including ended jobs in the history")
	for _, h := range s.hosts {
		for state := vhost.JobRunning; state <= vhost.JobFailed && h.Up; state++ {
			s.series(jobs, more(h.Labels, "state", state.String()), float64(h.Jobs[state.String()]))
		}
	}
	s.family(messages, counter, help)
	for _, h := range s.hosts {
		n := &h.Traffic.Redrives
		s.results(messages, h.Labels, n.Moved, n.Refused, n.CameBack, n.Discarded)
	}
	const limit = "bartleby_redrive_rate_limit"
	s.family(limit, gauge, "Sum of the rate limits of running jobs, in messages per second; 0 if none has a limit")
	for _, h := range s.hosts {
		if h.Up {
			s.series(limit, h.Labels, float64(h.JobsRate))
		}
	}
	const seconds = "bartleby_redrive_seconds"
	s.family(seconds, histogram, "Duration of redrive and discard jobs")
	bounds := thousandths(vhost.WaitBounds[:])
	for _, h := range s.hosts {
		if h.Up {
			took := &h.Traffic.Redrives.Took
			s.buckets(seconds, h.Labels, bounds, took.Buckets[:], float64(took.Sum)/1000)
		}
	}
}

// results writes the outcomes of messages.
func (s *scrape) results(name, labels string, moved, refused, cameBack, discarded uint64) {
	for _, r := range []struct {
		result string
		n      uint64
	}{{"moved", moved}, {"refused", refused}, {"came_back", cameBack}, {"discarded", discarded}} {
		s.series(name, more(labels, "result", r.result), float64(r.n))
	}
}
