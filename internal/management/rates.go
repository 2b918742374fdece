package management

import (
	"context"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A sampler reads the counters of all queues every samplePeriod: two readings give a rate.
type sampler struct {
	engine  *engine.Engine
	ctx     context.Context // ends the run
	cancel  context.CancelFunc
	stopped chan struct{}

	mu struct {
		sync.Mutex
		ledgers map[uint32]*ledger // by the vhost's LogID: a name may come to mean another vhost
	}
}

// A ledger is what is remembered of one virtual host.
type ledger struct {
	queues   map[vhost.QueueID]*track
	baseline vhost.Books // when the ledger was begun; what the log remembers is not of this process
}

// A track is the last two readings of a queue.
type track struct{ before, last reading }

type reading struct {
	at     time.Time
	counts vhost.QueueCounts
}

func newSampler(e *engine.Engine) *sampler {
	s := &sampler{engine: e, stopped: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.ledgers = map[uint32]*ledger{}
	s.read(time.Now())
	return s
}

// run reads until the sampler is closed.
func (s *sampler) run() {
	defer close(s.stopped)
	ticker := time.NewTicker(samplePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-ticker.C:
			s.read(now)
		}
	}
}

// close ends run and waits for its end.
func (s *sampler) close() {
	s.cancel()
	<-s.stopped
}

// read takes one reading of every virtual host; one that is down keeps its last.
func (s *sampler) read(now time.Time) {
	alive := map[uint32]bool{}
	for _, h := range s.engine.Access().VHosts() {
		alive[h.LogID] = true
		counts := make([]vhost.QueueCounts, 0, s.known(h)+queuesSpare)
		var books vhost.Books
		err := s.engine.Look(s.ctx, h.Name, func(v *vhost.VHost) {
			v.Counts(func(c vhost.QueueCounts) { counts = append(counts, c) })
			books = v.Books()
		})
		if err == nil {
			s.note(h, now, counts, books)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.mu.ledgers {
		if !alive[id] {
			delete(s.mu.ledgers, id)
		}
	}
}

// reset forgets all readings; the next one begins anew.
func (s *sampler) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.mu.ledgers {
		clear(l.queues)
	}
}

// known is how many queues a virtual host had when it was read last.
func (s *sampler) known(h *access.VHost) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil {
		return len(l.queues)
	}
	return 0
}

func (s *sampler) note(h *access.VHost, now time.Time, counts []vhost.QueueCounts, books vhost.Books) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.ledgers[h.LogID]
	if l == nil {
		l = &ledger{queues: map[vhost.QueueID]*track{}, baseline: books}
		s.mu.ledgers[h.LogID] = l
	}
	for _, c := range counts {
		t := l.queues[c.ID]
		if t == nil {
			t = &track{}
			l.queues[c.ID] = t
		}
		t.before, t.last = t.last, reading{now, c}
	}
	for id, t := range l.queues {
		if t.last.at != now {
			delete(l.queues, id)
		}
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

// baseline is the books at the beginning.
func (s *sampler) baseline(h *access.VHost) vhost.Books {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil {
		return l.baseline
	}
	return vhost.Books{}
}

// pace is how fast things go, per second. Set aside is what waits or is held.
type pace struct{ published, delivered, got, acked, ready, unacked, aside float64 }

func (p *pace) add(o pace) {
	p.published += o.published
	p.delivered += o.delivered
	p.got += o.got
	p.acked += o.acked
	p.ready += o.ready
	p.unacked += o.unacked
	p.aside += o.aside
}

// paces are those of the queues of a virtual host; a queue that was read less than twice has none.
func (s *sampler) paces(h *access.VHost) map[vhost.QueueID]pace {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.ledgers[h.LogID]
	if l == nil {
		return nil
	}
	paces := make(map[vhost.QueueID]pace, len(l.queues))
	for id, t := range l.queues {
		seconds := t.last.at.Sub(t.before.at).Seconds()
		if t.before.at.IsZero() || seconds <= 0 {
			continue
		}
		a, b := &t.before.counts, &t.last.counts
		per := func(from, to uint64) float64 { return float64(to-min(from, to)) / seconds }
		paces[id] = pace{
			per(a.Stats.Published, b.Stats.Published), per(a.Stats.Delivered, b.Stats.Delivered),
			per(a.Stats.Got, b.Stats.Got), per(a.Stats.Acked, b.Stats.Acked),
			float64(b.Ready-a.Ready) / seconds, float64(b.Unacked-a.Unacked) / seconds,
			float64(b.Waiting+b.Held-a.Waiting-a.Held) / seconds,
		}
	}
	return paces
}

// messageStats renders counters with their rates.
func messageStats(n *vhost.QueueStats, p pace) api.MessageStats {
	counter := func(total uint64, rate float64) api.Counter {
		return api.Counter{Total: total, Rate: api.Rate{Rate: rate}}
	}
	return api.MessageStats{
		Publish:    counter(n.Published, p.published),
		Deliver:    counter(n.Delivered, p.delivered),
		Get:        counter(n.Got, p.got),
		DeliverGet: counter(n.Delivered+n.Got, p.delivered+p.got),
		Ack:        counter(n.Acked, p.acked),
	}
}

// totals counts messages; aside are those that wait or are held, which only the sum shows.
// Source: RabbitMQ 4.3 quorum-queues, delayed retry; reference dead-lettering 12.
func totals(ready, unacked, aside int, p pace) api.Totals {
	return api.Totals{
		Messages:      int64(ready) + int64(unacked) + int64(aside),
		MessagesReady: int64(ready), MessagesUnacknowledged: int64(unacked),
		MessagesDetails:               api.Rate{Rate: p.ready + p.unacked + p.aside},
		MessagesReadyDetails:          api.Rate{Rate: p.ready},
		MessagesUnacknowledgedDetails: api.Rate{Rate: p.unacked},
	}
}

// A tally is a virtual host summed up, as of now.
type tally struct {
	queues, exchanges, consumers int
	ready, unacked               int
	waiting                      int
	held                         causes
	shelf                        vhost.Shelf
	stats                        byType
	pace                         pace
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
	return totals(t.ready, t.unacked, t.waiting+t.held.sum(), t.pace)
}

func (t *tally) messageStats() api.MessageStats {
	all := t.stats.sum()
	return messageStats(&all, t.pace)
}

// sum sums a virtual host up; one that is down has nothing.
func (s *Server) sum(ctx context.Context, h *access.VHost) tally {
	baseline := s.sampler.baseline(h)
	t := newTally()
	for _, p := range s.sampler.paces(h) { // those of queues deleted a moment ago, too
		t.pace.add(p)
	}
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
	t.pace.add(o.pace)
	t.books.Made += o.books.Made
	for i, n := range o.books.Ended {
		t.books.Ended[i] += n
	}
}
