package stats

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A Reader reads the figures of virtual hosts as they are now. It remembers what is dear to find out.
type Reader struct {
	*web.Shared
	sampler *Sampler

	mu struct {
		sync.Mutex
		heads map[headKey]head
		last  map[uint32]VHost  // by log: totals of the last scrape that was answered
		lints map[uint32]linted // likewise
	}
}

// NewReader returns a reader without memories.
func NewReader(common *web.Shared, from *Sampler) *Reader {
	s := &Reader{Shared: common, sampler: from}
	s.mu.heads, s.mu.last, s.mu.lints = map[headKey]head{}, map[uint32]VHost{}, map[uint32]linted{}
	return s
}

// samplePortion is how many queues are read before others are served: a virtual host stands still for less than a
// millisecond.
const samplePortion = 2500

// VHost are those of one virtual host. What is per object is there only if it was asked for.
type VHost struct {
	Name   string
	Labels string // {vhost="…"}, filled in by the package metrics
	Up     bool

	Queues, exchanges int
	Capacity          float64           // of all queues, added up
	Total             vhost.QueueSample // all queues added up; its Stats are of queues that are no more, too
	Types             ByType
	Traffic           vhost.Traffic
	Books             fact.Books
	Lost              vhost.LostCounts
	Time              punctuality
	DeadLetters       DeadLetters
	Jobs              map[string]int // by state
	LargeTables       int64          // bytes of large arguments
	// sum of the rates of running jobs, in messages per second, without those that have no rate
	JobsRate uint64
	Lint     lint.Tally

	Rows         []Queue
	none         vhost.QueueStats // of rows that have counted nothing
	Flows        map[string]vhost.ExchangeStats
	Bindings     map[string]int // by exchange
	ExchangeRows []ExchangeRow
	Channels     []vhost.ChannelView
	Waiting      map[vhost.ChannelID]int // for confirms
}

// Queue is a queue with its labels.
type Queue struct {
	vhost.QueueSample
	Labels  string // filled in by the package metrics
	VHost   string
	Role    lint.Role // for dead letters of other queues
	Oldest  float64   // seconds since the dead letter at the head died, -1 if there is none
	Inflows []inflow
}

// IsDLQ reports whether it is a dead-letter queue.
func (q *Queue) IsDLQ() bool { return q.Role == lint.RoleDeadLetter }

type inflow struct {
	Exchange string
	N        uint64
}

// ExchangeRow is an exchange as metrics see it.
type ExchangeRow struct{ Name, Kind string }

// Detail is what is wanted of single objects.
type Detail struct {
	VHosts                               func(name string) bool // nil: all
	Queue                                func(name string) bool // nil: all
	Queues, Inflows, Exchanges, Channels bool
	Lint                                 bool // what is wrong with settings is counted
}

// GatherWithin is how long virtual hosts have to answer. One that waits for the disk is shown as it was at the last
// scrape: when the disk hangs is when somebody looks.
const GatherWithin = 5 * time.Second

// ReadOrLast reads one virtual host, or what is remembered of it.
func (s *Reader) ReadOrLast(ctx context.Context, h *accounts.VHost, d Detail, now vhost.Instant) *VHost {
	f := &VHost{Name: h.Name, Types: ByType{}}
	err := s.Read(ctx, h, f, d, now)
	if err == nil {
		return s.remember(h.LogID, f)
	}
	s.Log.Debug("cannot read the metrics of a virtual host", "vhost", h.Name, "error", err)
	if last := s.recall(h.LogID); last != nil && errors.Is(err, context.DeadlineExceeded) {
		return last
	}
	return &VHost{Name: h.Name, Types: ByType{}}
}

// Clocks is the time of each virtual host.
func (s *Reader) Clocks() map[string]vhost.Instant {
	now := map[string]vhost.Instant{}
	for _, t := range s.Engine.Time().VHosts {
		now[t.VHost] = vhost.Instant(t.Now.UnixMilli())
	}
	return now
}

// Read reads one virtual host.
func (s *Reader) Read(ctx context.Context, h *accounts.VHost, f *VHost, d Detail, now vhost.Instant) error {
	baseline := s.sampler.baseline(h)
	var ruled [2]uint64
	err := web.Look(ctx, s.Engine, h.Name, func(v vhost.Reader) {
		f.Up, ruled = true, v.ConfigVersion()
		f.Traffic, f.Books, f.Lost = v.Traffic(), v.Books(), v.LostStore()
		f.Jobs, f.JobsRate = jobStates(v), jobsRate(v)
		f.Time = punctualityOf(v, now)
		f.LargeTables, _ = v.LargeTables()
		for x := range v.Topology().Exchanges() {
			f.exchanges++
			if d.Exchanges {
				f.ExchangeRows = append(f.ExchangeRows, ExchangeRow{x.Name, x.Type()})
			}
		}
		if d.Exchanges {
			f.readExchanges(v)
		}
		if d.Channels {
			f.Channels = v.Channels()
		}
	})
	if err == nil && d.Channels {
		f.Waiting, err = s.Engine.Unconfirmed(ctx, h.Name)
	}
	if err == nil {
		err = s.readQueues(ctx, h, f, d)
	}
	if err == nil && d.Lint {
		f.Lint, err = s.tally(ctx, h, ruled)
	}
	f.Books.Made -= min(baseline.Made, f.Books.Made)
	for i := range f.Books.Ended {
		f.Books.Ended[i] -= min(baseline.Ended[i], f.Books.Ended[i])
	}
	return err
}

func (f *VHost) readExchanges(v vhost.Reader) {
	f.Flows, f.Bindings = map[string]vhost.ExchangeStats{}, map[string]int{}
	v.ExchangeStats(func(name string, n vhost.ExchangeStats) { f.Flows[name] = n })
	for b := range v.Topology().Bindings() {
		f.Bindings[b.Source]++
	}
	slices.SortFunc(f.ExchangeRows, func(a, b ExchangeRow) int { return strings.Compare(a.Name, b.Name) })
}

// readQueues reads the queues of a virtual host, and where their dead letters go.
func (s *Reader) readQueues(ctx context.Context, h *accounts.VHost, f *VHost, d Detail) error {
	var at vhost.Sampling
	var deadLetters deadLetterQueues
	for again := true; again; {
		err := web.Look(ctx, s.Engine, h.Name, func(v vhost.Reader) {
			again = v.Sample(&at, samplePortion, func(q *vhost.QueueSample) {
				f.addQueue(q)
				deadLetters.add(q)
				if d.Queues && (d.Queue == nil || d.Queue(q.Name)) {
					row := Queue{QueueSample: *q, VHost: f.Name, Oldest: -1}
					if row.Stats = &f.none; q.Counted {
						counted := *q.Stats
						row.Stats = &counted
					}
					if f.Rows == nil && d.Queue == nil {
						f.Rows = make([]Queue, 0, v.QueueCount())
					}
					if d.Inflows {
						v.Inflows(q.Name, func(exchange string, n uint64) { row.Inflows = append(row.Inflows, inflow{exchange, n}) })
					}
					f.Rows = append(f.Rows, row)
				}
			})
		})
		if err != nil {
			return err
		}
	}
	f.Types.AddAll(at.Gone())
	slices.SortFunc(f.Rows, func(a, b Queue) int { return strings.Compare(a.Name, b.Name) })
	deadLetters.findRoles()
	ages, err := s.ages(ctx, h, deadLetters.full())
	f.DeadLetters = deadLetters.figures(ages)
	for i := range f.Rows {
		r := &f.Rows[i]
		r.Role = deadLetters.role(r.ID)
		if age, known := ages[r.ID]; known {
			r.Oldest = age
		}
	}
	return err
}

// addQueue adds a queue to the sums.
func (f *VHost) addQueue(q *vhost.QueueSample) {
	f.Queues++
	f.Capacity += Capacity(q)
	addSample(&f.Total, q)
	f.Types.add(q)
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

// Add adds a virtual host to the sums, and completes its own.
func (f *VHost) Add(o *VHost) {
	sum := o.Types.Sum()
	o.Total.Stats = &sum
	f.Queues += o.Queues
	f.Capacity += o.Capacity
	f.exchanges += o.exchanges
	addSample(&f.Total, &o.Total)
	f.Types.AddAll(o.Types)
	f.Traffic.Add(&o.Traffic)
	f.Channels = append(f.Channels, o.Channels...)
}

// Depth is the depth of a queue, whatever its messages wait for.
func Depth(q *vhost.QueueSample) int { return q.Ready + q.Unacked + q.Waiting + q.Held }

func DepthBytes(q *vhost.QueueSample) int64 {
	return q.ReadyBytes + q.UnackedBytes + q.WaitingBytes + q.HeldBytes
}

// Capacity is whether a message that came now would be delivered at once. Source: RabbitMQ consumers#capacity.
func Capacity(q *vhost.QueueSample) float64 { return float64(BoolInt(q.Consumers > 0 && q.Ready == 0)) }

// jobStates counts the jobs of a virtual host by state.
func jobStates(v vhost.Reader) map[string]int {
	states := map[string]int{}
	for _, j := range v.Redrives() {
		states[j.State.String()]++
	}
	return states
}

// jobsRate adds up the rates of the jobs of a virtual host that go on.
func jobsRate(v vhost.Reader) (n uint64) {
	for _, j := range v.Redrives() {
		if j.State == vhost.JobRunning || j.State == vhost.JobWatching {
			n += j.Progress.Rate
		}
	}
	return n
}

// BoolInt is a truth as a number.
func BoolInt(is bool) int {
	if is {
		return 1
	}
	return 0
}

// punctuality is how well a virtual host keeps its deadlines, and what waits in its delayed exchanges.
type punctuality struct {
	Lateness vhost.Lateness
	Overdue  float64 // seconds
	Next     float64 // seconds until the next deadline, -1 if there is none
	Armed    int     // deadlines
	Late     int     // messages in delayed exchanges that are due
	Delayed  []vhost.DelayedSample
	Horizon  [len(vhost.HorizonBounds) + 1]int
}

func punctualityOf(v vhost.Reader, now vhost.Instant) punctuality {
	p := punctuality{Next: -1, Armed: v.Armed(), Late: v.Overdue(now), Lateness: v.Lateness(), Horizon: v.Horizon(now)}
	if due, ok := v.Due(); ok {
		p.Overdue, p.Next = float64(max(now-due, 0))/1000, float64(max(due-now, 0))/1000
	}
	v.Delayed(func(d vhost.DelayedSample) { p.Delayed = append(p.Delayed, d) })
	return p
}
