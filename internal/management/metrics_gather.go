package management

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// samplePortion is how many queues are read before others are served: a virtual host stands still for less than a millisecond.
const samplePortion = 2500

// gathered is what a page of metrics shows.
type gathered struct {
	server  *Server
	hosts   []*hostFigures // by name
	sum     hostFigures    // of all, and of virtual hosts that are no more
	churn   engine.Churn
	live    []Connection
	storage engine.Storage
}

// hostFigures are those of one virtual host. What is per object is there only if it was asked for.
type hostFigures struct {
	name   string
	labels string // {vhost="…"}
	up     bool

	queues, exchanges int
	capacity          float64           // of all queues, added up
	total             vhost.QueueSample // all queues added up; its Stats are of queues that are no more, too
	types             byType
	traffic           vhost.Traffic
	books             vhost.Books
	shelf             vhost.Shelf
	time              punctuality
	letters           letterFigures
	jobs              map[string]int // by state
	largeTables       int64          // bytes of large arguments
	jobsRate          uint64         // letters per second that those which go on may send together, but for those without a rate
	lint              vhost.Tally

	rows     []queueSeries
	none     vhost.QueueStats // of rows that have counted nothing
	flows    map[string]vhost.ExchangeStats
	bindings map[string]int // by exchange
	routers  []exchangeRow
	channels []vhost.ChannelView
	waiting  map[vhost.ChannelID]int // for confirms
}

// queueSeries is a queue with its labels.
type queueSeries struct {
	vhost.QueueSample
	labels  string
	name    string  // of its virtual host
	target  bool    // dead letters of other queues come here
	oldest  float64 // seconds since the letter at the head died, -1 if there is none
	inflows []inflow
}

type inflow struct {
	exchange string
	n        uint64
}

// exchangeRow is an exchange as metrics see it.
type exchangeRow struct{ name, kind string }

// detail is what is wanted of single objects.
type detail struct {
	vhosts                               func(name string) bool // nil: all
	queue                                func(name string) bool // nil: all
	queues, inflows, exchanges, channels bool
	lint                                 bool // what is wrong with settings is counted
}

// gather reads all that a page may show, virtual host by virtual host and in portions.
func (s *Server) gather(ctx context.Context, d detail) *gathered {
	g := &gathered{server: s, churn: s.engine.Churn(), live: s.options.Roster.Connections()}
	soon, cancel := context.WithTimeout(ctx, gatherWithin)
	defer cancel()
	g.storage = s.engine.Storage(soon)
	retired := s.engine.Retired()
	g.sum.traffic, g.sum.types = retired.Traffic, byType{}
	g.sum.types.addAll(retired.Queues)
	clock := s.clocks()
	for _, h := range s.engine.Access().VHosts() {
		if d.vhosts != nil && !d.vhosts(h.Name) {
			continue
		}
		f := s.figuresSoon(soon, h, d, clock[h.Name])
		g.hosts = append(g.hosts, f)
		g.sum.add(f)
	}
	s.scraper.forget(s.engine.Access().VHosts())
	slices.SortFunc(g.hosts, func(a, b *hostFigures) int { return strings.Compare(a.name, b.name) })
	sum := g.sum.types.sum()
	g.sum.total.Stats = &sum
	return g
}

// gatherWithin is how long virtual hosts have to answer. One that waits for the disk is shown as it was at the last scrape: when the
// disk hangs is when somebody looks.
const gatherWithin = 5 * time.Second

// figuresSoon reads one virtual host, or what is remembered of it.
func (s *Server) figuresSoon(ctx context.Context, h *access.VHost, d detail, now vhost.Instant) *hostFigures {
	f := &hostFigures{name: h.Name, labels: labelled("vhost", h.Name), types: byType{}}
	err := s.figures(ctx, h, f, d, now)
	if err == nil {
		return s.scraper.remember(h.LogID, f)
	}
	s.options.Log.Debug("cannot read the metrics of a virtual host", "vhost", h.Name, "error", err)
	if last := s.scraper.recall(h.LogID); last != nil && errors.Is(err, context.DeadlineExceeded) {
		return last
	}
	return &hostFigures{name: h.Name, labels: f.labels, types: byType{}}
}

// clocks is the time of each virtual host.
func (s *Server) clocks() map[string]vhost.Instant {
	now := map[string]vhost.Instant{}
	for _, t := range s.engine.Time().VHosts {
		now[t.VHost] = vhost.Instant(t.Now.UnixMilli())
	}
	return now
}

// figures reads one virtual host.
func (s *Server) figures(ctx context.Context, h *access.VHost, f *hostFigures, d detail, now vhost.Instant) error {
	baseline := s.sampler.baseline(h)
	var ruled [2]uint64
	err := look(ctx, s.engine, h.Name, func(v *vhost.VHost) {
		f.up, ruled = true, v.Ruled()
		f.traffic, f.books, f.shelf = v.Traffic(), v.Books(), v.Shelf()
		f.jobs, f.jobsRate = jobStates(v), jobsRate(v)
		f.time = punctualityOf(v, now)
		f.largeTables, _ = v.LargeTables()
		for x := range v.Topology().Exchanges() {
			f.exchanges++
			if d.exchanges {
				f.routers = append(f.routers, exchangeRow{x.Name, x.Type()})
			}
		}
		if d.exchanges {
			f.readExchanges(v)
		}
		if d.channels {
			f.channels = v.Channels()
		}
	})
	if err == nil && d.channels {
		f.waiting, err = s.engine.Unconfirmed(ctx, h.Name)
	}
	if err == nil {
		err = s.readQueues(ctx, h, f, d)
	}
	if err == nil && d.lint {
		f.lint, err = s.tally(ctx, h, ruled)
	}
	f.books.Made -= min(baseline.Made, f.books.Made)
	for i := range f.books.Ended {
		f.books.Ended[i] -= min(baseline.Ended[i], f.books.Ended[i])
	}
	return err
}

func (f *hostFigures) readExchanges(v *vhost.VHost) {
	f.flows, f.bindings = map[string]vhost.ExchangeStats{}, map[string]int{}
	v.ExchangeStats(func(name string, n vhost.ExchangeStats) { f.flows[name] = n })
	for b := range v.Topology().Bindings() {
		f.bindings[b.Source]++
	}
	slices.SortFunc(f.routers, func(a, b exchangeRow) int { return strings.Compare(a.name, b.name) })
}

// readQueues reads the queues of a virtual host, and where their dead letters go.
func (s *Server) readQueues(ctx context.Context, h *access.VHost, f *hostFigures, d detail) error {
	var at vhost.Sampling
	var letters letterMap
	for again := true; again; {
		err := look(ctx, s.engine, h.Name, func(v *vhost.VHost) {
			again = v.Sample(&at, samplePortion, func(q *vhost.QueueSample) {
				f.addQueue(q)
				letters.add(q)
				if d.queues && (d.queue == nil || d.queue(q.Name)) {
					row := queueSeries{QueueSample: *q, name: f.name, oldest: -1}
					if row.Stats = &f.none; q.Counted {
						counted := *q.Stats
						row.Stats = &counted
					}
					if f.rows == nil && d.queue == nil {
						f.rows = make([]queueSeries, 0, v.QueueCount())
					}
					if d.inflows {
						v.Inflows(q.Name, func(exchange string, n uint64) { row.inflows = append(row.inflows, inflow{exchange, n}) })
					}
					f.rows = append(f.rows, row)
				}
			})
		})
		if err != nil {
			return err
		}
	}
	f.types.addAll(at.Gone())
	slices.SortFunc(f.rows, func(a, b queueSeries) int { return strings.Compare(a.Name, b.Name) })
	for i := range f.rows {
		f.rows[i].labels = labelled("vhost", f.name, "queue", f.rows[i].Name)
	}
	ages, err := s.scraper.ages(ctx, s, h, letters.full())
	f.letters = letters.figures(ages)
	for i := range f.rows {
		r := &f.rows[i]
		r.target = letters.targets[r.ID]
		if age, known := ages[r.ID]; known {
			r.oldest = age
		}
	}
	return err
}

// addQueue adds a queue to the sums.
func (f *hostFigures) addQueue(q *vhost.QueueSample) {
	f.queues++
	f.capacity += capacity(q)
	addSample(&f.total, q)
	f.types.add(q)
}

func addSample(to, q *vhost.QueueSample) {
	to.Ready += q.Ready
	to.Unacked += q.Unacked
	to.Waiting += q.Waiting
	to.Held += q.Held
	to.ReadyBytes += q.ReadyBytes
	to.UnackedBytes += q.UnackedBytes
	to.WaitingBytes += q.WaitingBytes
	to.HeldBytes += q.HeldBytes
	to.Consumers += q.Consumers
	for i, n := range q.HeldBy {
		to.HeldBy[i] += n
	}
	if q.NextRetry != 0 && (to.NextRetry == 0 || q.NextRetry < to.NextRetry) {
		to.NextRetry = q.NextRetry
	}
}

// add adds a virtual host to the sums, and completes its own.
func (f *hostFigures) add(o *hostFigures) {
	sum := o.types.sum()
	o.total.Stats = &sum
	f.queues += o.queues
	f.capacity += o.capacity
	f.exchanges += o.exchanges
	addSample(&f.total, &o.total)
	f.types.addAll(o.types)
	f.traffic.Add(&o.traffic)
	f.channels = append(f.channels, o.channels...)
}
