package management

import (
	"context"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A tally is a virtual host summed up, as of now.
type tally struct {
	queues, exchanges, consumers int
	ready, unacked               int
	waiting                      int
	held                         causes
	shelf                        vhost.Shelf
	stats                        byType
	trend                        trend
	books                        vhost.Books // since the server began
}

// causes counts by vhost.Cause.
type causes map[vhost.Cause]int

func (c causes) sum() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}

func newTally() tally { return tally{stats: byType{}, held: causes{}} }

func (t *tally) totals() api.Totals {
	return totals(t.ready, t.unacked, t.waiting+t.held.sum(), &t.trend)
}

func (t *tally) messageStats() api.MessageStats {
	all := t.stats.sum()
	return messageStats(&all, &t.trend)
}

// sum sums a virtual host up; one that is down has nothing.
func (s *Server) sum(ctx context.Context, h *access.VHost) tally {
	return s.sumOver(ctx, h, spans{})
}

// sumOver is sum, its rates with samples as they are asked for.
func (s *Server) sumOver(ctx context.Context, h *access.VHost, w spans) tally {
	baseline := s.sampler.baseline(h)
	t := newTally()
	t.trend = s.sampler.whole(h, w)
	err := s.engine.Look(ctx, h.Name, func(v *vhost.VHost) {
		v.Counts(func(c vhost.QueueCounts) {
			t.queues++
			t.consumers += c.Consumers
			t.ready += c.Ready
			t.unacked += c.Unacked
			t.waiting += c.Waiting
			if c.Held > 0 {
				for cause, n := range c.HeldBy {
					t.held[vhost.Cause(cause)] += n
				}
			}
		})
		for range v.Topology().Exchanges() {
			t.exchanges++
		}
		t.stats, t.books, t.shelf = v.CountsByType(), v.Books(), v.Shelf()
	})
	if err != nil {
		s.options.Log.Debug("virtual host not summed up", "vhost", h.Name, "error", err)
	}
	t.books.Made -= min(baseline.Made, t.books.Made)
	for i := range t.books.Ended {
		t.books.Ended[i] -= min(baseline.Ended[i], t.books.Ended[i])
	}
	return t
}

func (t *tally) add(o tally) {
	t.queues += o.queues
	t.exchanges += o.exchanges
	t.consumers += o.consumers
	t.ready += o.ready
	t.unacked += o.unacked
	t.waiting += o.waiting
	for cause, n := range o.held {
		t.held[cause] += n
	}
	t.stats.addAll(o.stats)
	t.trend.add(&o.trend)
	t.books.Made += o.books.Made
	for i, n := range o.books.Ended {
		t.books.Ended[i] += n
	}
}

// byType holds counters by the type of queue that counted.
type byType map[string]vhost.QueueStats

func (b byType) addAll(from byType) {
	for kind, n := range from {
		t := b[kind]
		t.Add(&n)
		b[kind] = t
	}
}

// sum adds the types up.
func (b byType) sum() (all vhost.QueueStats) {
	for _, n := range b {
		all.Add(&n)
	}
	return all
}
