package management

import (
	"context"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
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
	traffic                      vhost.Traffic
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
	f := figuresOfAll(&all, &t.traffic)
	return messageStats(&f, &t.trend)
}

// sum sums a virtual host up; one that is down has nothing.
func (s *Server) sum(ctx context.Context, h *access.VHost) tally {
	return s.sumOver(ctx, h, spans{})
}

// sumOver is sum, its rates with samples as they are asked for.
func (s *Server) sumOver(ctx context.Context, h *access.VHost, w spans) tally {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	baseline := s.sampler.baseline(h)
	t := newTally()
	t.trend = s.sampler.whole(h, w)
	err := look(ctx, s.engine, h.Name, func(v *vhost.VHost) {
		for range v.Topology().Exchanges() {
			t.exchanges++
		}
		t.traffic, t.books, t.shelf = v.Traffic(), v.Books(), v.Shelf()
	})
	if err == nil {
		var gone byType
		gone, err = eachQueue(ctx, s.engine, h.Name, t.addQueue)
		t.stats.addAll(gone)
	}
	if err != nil {
		s.options.Log.Debug("cannot read the totals of a virtual host", "vhost", h.Name, "error", err)
	}
	t.books.Made -= min(baseline.Made, t.books.Made)
	for i := range t.books.Ended {
		t.books.Ended[i] -= min(baseline.Ended[i], t.books.Ended[i])
	}
	return t
}

func (t *tally) addQueue(q *vhost.QueueSample) {
	t.queues++
	t.consumers += q.Consumers
	t.ready += q.Ready
	t.unacked += q.Unacked
	t.waiting += q.Waiting
	for i, n := range q.HeldBy {
		if n > 0 {
			t.held[vhost.RetriedFor[i]] += n
		}
	}
	t.stats.add(q)
}

// eachQueue visits the queues of a virtual host in portions, between which it serves others, and tells what
// those had counted that are no more. A sample is lent.
func eachQueue(ctx context.Context, e *engine.Engine, name string, visit func(*vhost.QueueSample)) (gone byType, err error) {
	var at vhost.Sampling
	for more := true; more; {
		err := look(ctx, e, name, func(v *vhost.VHost) { more = v.Sample(&at, samplePortion, visit) })
		if err != nil {
			return nil, err
		}
	}
	return at.Gone(), nil
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
	t.traffic.Add(&o.traffic)
	t.trend.add(&o.trend)
	t.books.Made += o.books.Made
	for i, n := range o.books.Ended {
		t.books.Ended[i] += n
	}
}

// byType holds counters by the type of queue that counted.
type byType map[string]vhost.QueueStats

// add adds what a queue has counted.
func (b byType) add(q *vhost.QueueSample) {
	n, known := b[q.Type]
	if known && !q.Counted {
		return
	}
	n.Add(q.Stats)
	b[q.Type] = n
}

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
