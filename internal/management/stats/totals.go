package stats

import (
	"context"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A Totals is a virtual host summed up, as of now.
type Totals struct {
	Queues, Exchanges, Consumers int
	Ready, Unacked               int
	Waiting                      int
	DeadLetters                  int // in queues
	Held                         causes
	Lost                         vhost.LostCounts
	Stats                        ByType
	Traffic                      vhost.Traffic
	trend                        Trend
	Books                        fact.Books // since the server began
}

// causes counts by vhost.Cause.
type causes map[fact.Cause]int

func (c causes) Sum() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}

func NewTotals() Totals { return Totals{Stats: ByType{}, Held: causes{}} }

func (t *Totals) Totals() api.Totals {
	return ShowTotals(t.Ready, t.Unacked, t.Waiting+t.Held.Sum(), &t.trend)
}

func (t *Totals) MessageStats() api.MessageStats {
	all := t.Stats.Sum()
	f := FiguresOfAll(&all, &t.Traffic)
	return ShowMessageStats(&f, &t.trend)
}

// Sum sums a virtual host up; one that is down has nothing.
func (s *Reader) Sum(ctx context.Context, h *accounts.VHost) Totals {
	return s.SumOver(ctx, h, Spans{})
}

// SumOver is sum, its rates with samples as they are asked for.
func (s *Reader) SumOver(ctx context.Context, h *accounts.VHost, w Spans) Totals {
	ctx, cancel := context.WithTimeout(ctx, web.LookPatience)
	defer cancel()
	baseline := s.sampler.baseline(h)
	t := NewTotals()
	t.trend = s.sampler.whole(h, w)
	err := web.Look(ctx, s.Engine, h.Name, func(v vhost.Reader) {
		for range v.Topology().Exchanges() {
			t.Exchanges++
		}
		t.Traffic, t.Books, t.Lost = v.Traffic(), v.Books(), v.LostStore()
	})
	if err == nil {
		var gone ByType
		gone, err = EachQueue(ctx, s.Engine, h.Name, t.addQueue)
		t.Stats.AddAll(gone)
	}
	if err != nil {
		s.Log.Debug("cannot read the totals of a virtual host", "vhost", h.Name, "error", err)
	}
	t.Books.Made -= min(baseline.Made, t.Books.Made)
	for i := range t.Books.Ended {
		t.Books.Ended[i] -= min(baseline.Ended[i], t.Books.Ended[i])
	}
	return t
}

func (t *Totals) addQueue(q *vhost.QueueSample) {
	t.Queues++
	t.Consumers += q.Consumers
	t.Ready += q.Ready
	t.Unacked += q.Unacked
	t.Waiting += q.Waiting
	t.DeadLetters += q.DeadLetters
	for i, n := range q.HeldBy {
		if n > 0 {
			t.Held[vhost.HeldCauses[i]] += n
		}
	}
	t.Stats.add(q)
}

// EachQueue visits the queues of a virtual host in portions, between which it serves others, and tells what
// those had counted that are no more. A sample is lent.
func EachQueue(ctx context.Context, e *engine.Engine, name string, visit func(*vhost.QueueSample)) (gone ByType, err error) {
	var at vhost.Sampling
	for more := true; more; {
		err := web.Look(ctx, e, name, func(v vhost.Reader) { more = v.Sample(&at, samplePortion, visit) })
		if err != nil {
			return nil, err
		}
	}
	return at.Gone(), nil
}

func (t *Totals) Add(o Totals) {
	t.Queues += o.Queues
	t.Exchanges += o.Exchanges
	t.Consumers += o.Consumers
	t.Ready += o.Ready
	t.Unacked += o.Unacked
	t.Waiting += o.Waiting
	t.DeadLetters += o.DeadLetters
	for cause, n := range o.Held {
		t.Held[cause] += n
	}
	t.Stats.AddAll(o.Stats)
	t.Traffic.Add(&o.Traffic)
	t.trend.add(&o.trend)
	t.Books.Made += o.Books.Made
	for i, n := range o.Books.Ended {
		t.Books.Ended[i] += n
	}
}

// ByType holds counters by the type of queue that counted.
type ByType map[string]vhost.QueueStats

// add adds what a queue has counted.
func (b ByType) add(q *vhost.QueueSample) {
	n, known := b[q.Type]
	if known && !q.Counted {
		return
	}
	n.Add(q.Stats)
	b[q.Type] = n
}

func (b ByType) AddAll(from ByType) {
	for kind, n := range from {
		t := b[kind]
		t.Add(&n)
		b[kind] = t
	}
}

// Sum adds the types up.
func (b ByType) Sum() (all vhost.QueueStats) {
	for _, n := range b {
		all.Add(&n)
	}
	return all
}
