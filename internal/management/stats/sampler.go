package stats

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A Sampler reads the counters of all queues, virtual hosts and connections every samplePeriod, and remembers them for
// a while: rates are made of that.
type Sampler struct {
	engine     *engine.Engine
	roster     Roster
	ctx        context.Context // of readings
	cancel     context.CancelFunc
	keeps      bool // readings are kept over restarts
	log        *slog.Logger
	complained bool   // of a write that failed
	quit       func() // ends Run
	ended      <-chan struct{}
	stopped    chan struct{}

	mu struct {
		sync.Mutex
		ledgers map[uint32]*ledger // by the vhost's LogID: a name may come to mean another vhost
		same    map[uint32]unchanged
		wires   wires
		node    history
		runs    runs
		last    int64 // when all that was read in this run, ms since the Unix epoch; 0: not yet
	}
}

// The figures that count nothing: of queues, exchanges and virtual hosts, and of the node.
var (
	queueGauges = []int{AtReady, AtUnacked, AtAside}
	nodeGauges  = []int{atFiles, atSockets, atGoroutines, atMemory, atDisk}
)

// A ledger is what is remembered of one virtual host.
type ledger struct {
	queues    map[fact.QueueID]*history
	exchanges map[string]*history // to which anything was published
	whole     history
	machine   vhost.Identity          // that was read last
	opened    int64                   // when that was read first, ms since the Unix epoch: it counts since then
	baseline  fact.Books              // when the ledger was begun; what the log remembers is not of this process
	begun     bool                    // there was a reading before: what comes to be known now began at zero
	named     map[fact.QueueID]string // durable queues at the last reading
	kept      bool                    // all of it is of an earlier process
}

// newLedger returns a ledger without readings.
func newLedger() *ledger {
	return &ledger{queues: map[fact.QueueID]*history{}, exchanges: map[string]*history{}}
}

// meet notes which machine is read. One that was opened again counts from 0.
func (l *ledger) meet(now int64, r *hostReading) {
	if l.machine == r.machine {
		return
	}
	l.machine, l.opened = r.machine, now
	if l.kept {
		l.kept, l.baseline = false, r.books
		l.leaveOutOthers(r.named)
	}
	l.whole.restart(queueGauges...)
	for _, h := range l.queues {
		h.restart(queueGauges...)
	}
	for _, h := range l.exchanges {
		h.restart(queueGauges...)
	}
}

// leaveOutOthers forgets queues whose numbers have been given to others, or to none.
func (l *ledger) leaveOutOthers(named map[fact.QueueID]string) {
	maps.DeleteFunc(l.queues, func(id fact.QueueID, _ *history) bool {
		name, there := named[id]
		return !there || name != l.named[id]
	})
}

// forgotten reports whether the readings were given up, and there is none since: nobody knows what died lately. The
// ledger may be nil.
func (l *ledger) forgotten() bool { return l != nil && !l.begun }

// NewSampler takes the first reading. One that keeps readings in the data directory takes over those of the last run.
func NewSampler(e *engine.Engine, roster Roster, keeps bool, log *slog.Logger) *Sampler {
	s := &Sampler{engine: e, roster: roster, stopped: make(chan struct{}), keeps: keeps, log: log}
	ended := make(chan struct{})
	s.ended, s.quit = ended, sync.OnceFunc(func() { close(ended) })
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.ledgers, s.mu.same = map[uint32]*ledger{}, map[uint32]unchanged{}
	now := time.Now()
	s.restore(now.UnixMilli())
	s.Read(now)
	return s
}

// Run reads until the sampler is closed, and has its readings kept.
func (s *Sampler) Run() {
	defer close(s.stopped)
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write()
	}()
	defer func() { <-written }()
	ticker := time.NewTicker(samplePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-s.ended:
			return
		case now := <-ticker.C:
			s.Read(now)
		}
	}
}

// Stop ends Run and waits for its end. Read still works.
func (s *Sampler) Stop() {
	s.quit()
	<-s.stopped
}

// Close ends Run, and what Read waits for. What happened since the last reading is kept, unless the disk hangs.
func (s *Sampler) Close() {
	hangs := s.engine.Waiting() != nil
	if s.keeps && !hangs {
		s.Read(time.Now())
	}
	s.cancel()
	s.Stop()
	if !hangs {
		s.writeNow()
	}
}

// Read takes one reading of everything; a virtual host that is down keeps its last.
func (s *Sampler) Read(now time.Time) {
	alive, named := map[uint32]bool{}, map[string]bool{"": true} // connections begin without a virtual host
	at := now.UnixMilli()
	for _, h := range s.engine.Accounts().VHosts() {
		alive[h.LogID], named[h.Name] = true, true
		if r, err := s.reading(h); err == nil {
			s.note(h, at, r)
		}
	}
	connections := s.roster.Connections()
	node := ReadNode(s.ctx, s.engine, s.roster)
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.mu.ledgers {
		if !alive[id] {
			delete(s.mu.ledgers, id)
			delete(s.mu.same, id)
		}
	}
	s.mu.runs.note(at, s.mu.last == 0)
	s.mu.runs.thin(at - WholeKept[len(WholeKept)-1].age)
	s.mu.last = at
	s.mu.wires.note(at, connections)
	maps.DeleteFunc(s.mu.wires.vhosts, func(name string, _ *hostWire) bool { return !named[name] })
	s.mu.node.note(at, node.figures[:], WholeKept)
}

// A hostReading is what a virtual host has counted at an instant.
type hostReading struct {
	machine vhost.Identity
	whole   figures
	books   fact.Books
	all     []fact.QueueID           // queues
	named   map[fact.QueueID]string  // of these, durable ones
	queues  map[fact.QueueID]figures // those whose figures are not all 0
	flows   map[string]*figures      // of exchanges to which anything was published
}

// unchanged is the last reading of a virtual host, which holds as long as nothing happens there: as long as Changed of
// the engine is the same.
type unchanged struct {
	since   uint64
	reading *hostReading
}

// unchangedQueues is how many queues a virtual host has at the most of which the last reading is remembered: reading
// more takes longer, but there are fewer such virtual hosts, and the reading takes memory.
const unchangedQueues = 32

// reading is that of one virtual host now. Thousands without traffic need not be looked at.
func (s *Sampler) reading(h *accounts.VHost) (*hostReading, error) {
	now := s.engine.Changed(h.Name)
	s.mu.Lock()
	last := s.mu.same[h.LogID]
	s.mu.Unlock()
	if last.reading != nil && last.since == now {
		return last.reading, nil
	}
	r, err := s.readHost(h.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.same, h.LogID)
	if err == nil && now != 0 && len(r.all) <= unchangedQueues {
		s.mu.same[h.LogID] = unchanged{now, r}
	}
	return r, err
}

// readHost reads one virtual host, its queues in portions.
func (s *Sampler) readHost(name string) (*hostReading, error) {
	// one whose disk hangs must not keep the others from being read
	ctx, cancel := context.WithTimeout(s.ctx, samplePeriod)
	defer cancel()
	r := &hostReading{
		queues: map[fact.QueueID]figures{}, named: map[fact.QueueID]string{}, flows: map[string]*figures{},
	}
	var all vhost.QueueStats
	var traffic vhost.Traffic
	var known []string // queues that messages came to
	err := web.Look(ctx, s.engine, name, func(v vhost.Reader) {
		r.machine, traffic, r.books = v.Identity(), v.Traffic(), v.Books()
		v.ExchangeStats(func(name string, n vhost.ExchangeStats) {
			f := flowOf(&n)
			r.flows[name] = &f
		})
	})
	if err != nil {
		return nil, err
	}
	var aside figures
	gone, err := EachQueue(ctx, s.engine, name, func(q *vhost.QueueSample) {
		var f figures
		if q.Counted {
			all.Add(q.Stats)
			f = FiguresOf(q.Stats)
		}
		f[AtReady], f[AtUnacked], f[AtAside] = uint64(q.Ready), uint64(q.Unacked), uint64(q.Waiting+q.Held)
		r.all = append(r.all, q.ID)
		if s.keeps && q.Durable {
			r.named[q.ID] = q.Name
		}
		if f == (figures{}) {
			return
		}
		r.queues[q.ID] = f
		for _, x := range []int{AtReady, AtUnacked, AtAside} {
			aside[x] += f[x]
		}
		if q.Stats.Published > 0 && len(r.flows) > 0 {
			known = append(known, q.Name)
		}
	})
	ended := gone.Sum()
	all.Add(&ended)
	r.whole = FiguresOfAll(&all, &traffic)
	for _, x := range []int{AtReady, AtUnacked, AtAside} {
		r.whole[x] = aside[x]
	}
	if err == nil {
		err = EachInflow(ctx, s.engine, name, known, func(_, exchange string, n uint64) {
			if f := r.flows[exchange]; f != nil {
				f[atRouted] += n
			}
		})
	}
	return r, err
}

// Reset forgets all readings; the next one begins anew.
func (s *Sampler) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.mu.ledgers {
		clear(l.queues)
		clear(l.exchanges)
		l.whole, l.begun = history{}, false
	}
	s.mu.wires.forget()
	s.mu.node = history{}
	s.mu.runs = nil
}

func (s *Sampler) note(h *accounts.VHost, now int64, r *hostReading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.ledgers[h.LogID]
	if l == nil {
		l = newLedger()
		l.baseline, l.begun = r.books, s.mu.last > 0
		l.whole.fromZero = l.begun
		s.mu.ledgers[h.LogID] = l
	}
	l.meet(now, r)
	l.named = r.named
	l.whole.note(now, r.whole[:], WholeKept)
	for _, id := range r.all {
		f := r.queues[id]
		noteIn(l.queues, id, now, f[:], l.begun)
	}
	maps.DeleteFunc(l.queues, func(_ fact.QueueID, q *history) bool { return q.last != now })
	for name, f := range r.flows {
		noteIn(l.exchanges, name, now, f[:], l.begun)
	}
	maps.DeleteFunc(l.exchanges, func(_ string, x *history) bool { return x.last != now })
	l.begun = true
}

// noteIn adds to the history of one of many, which begins if it was not known. They are not all thinned out at once.
func noteIn[K comparable](all map[K]*history, of K, now int64, figures []uint64, fromZero bool) {
	h := all[of]
	if h == nil {
		h = &history{fromZero: fromZero, thinned: now - int64(len(all))*samplePeriod.Milliseconds()%thinEvery}
		all[of] = h
	}
	h.note(now, figures, WholeKept)
}

// baseline is the books at the beginning.
func (s *Sampler) baseline(h *accounts.VHost) fact.Books {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil {
		return l.baseline
	}
	return fact.Books{}
}

// Readings say of what time there are none, in the longest of some spans.
func (s *Sampler) Readings(w Spans) (r api.Readings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := max(w.lengths.age, w.rates.age, w.data.age, w.node.age)
	if age == 0 || s.mu.last == 0 {
		return r
	}
	from, to := s.mu.last-age, s.mu.last
	r.CountedSince = web.FormatMS(s.mu.runs.since(from, to))
	for _, g := range s.mu.runs.gaps(from, to) {
		r.Gaps = append(r.Gaps, api.Gap{From: g.from, To: g.to})
	}
	return r
}

// Opened is since when a virtual host counts, as of its first reading.
func (s *Sampler) Opened(h *accounts.VHost) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil && l.opened > 0 {
		return time.UnixMilli(l.opened)
	}
	return time.Now()
}

// whole is the trend of a virtual host.
func (s *Sampler) whole(h *accounts.VHost, w Spans) Trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil {
		return l.whole.trend(shownFigures, s.mu.runs, w.ofQueues)
	}
	return s.fresh(w)
}

// Trends are those of some queues of a virtual host, one by one.
func (s *Sampler) Trends(h *accounts.VHost, of []vhost.QueueView, w Spans) []Trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.ledgers[h.LogID]
	asked := w.lengths.incr > 0 || w.rates.incr > 0
	fresh := s.fresh(w)
	all := make([]Trend, len(of))
	for i := range of {
		var q *history
		if l != nil {
			q = l.queues[of[i].ID]
		}
		switch {
		case q == nil:
			all[i] = fresh
		case asked || q.moved():
			all[i] = q.trend(shownFigures, s.mu.runs, w.ofQueues)
		case q.before > 0:
			all[i] = Trend{Since: q.from}
		}
	}
	return all
}

// Rates is how fast figures of the queues of a virtual host change, all of them together. Queues whose figures stay are
// left out.
func (s *Sampler) Rates(h *accounts.VHost, figures ...int) map[fact.QueueID]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[fact.QueueID]float64{}
	if l := s.mu.ledgers[h.LogID]; l != nil {
		for id, q := range l.queues {
			if rate := q.rate(figures...); rate != 0 {
				all[id] = rate
			}
		}
	}
	return all
}

// fresh is the trend of what was not there at the last reading: its samples are zero. The lock is held.
func (s *Sampler) fresh(w Spans) Trend {
	none := history{last: s.mu.last, fromZero: true}
	return none.trend(shownFigures, s.mu.runs, w.ofQueues)
}

// TrendOf is the trend of one queue.
func (s *Sampler) TrendOf(h *accounts.VHost, id fact.QueueID, w Spans) Trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil && l.queues[id] != nil {
		return l.queues[id].trend(shownFigures, s.mu.runs, w.ofQueues)
	}
	return s.fresh(w)
}

// FlowTrend is the trend of an exchange.
func (s *Sampler) FlowTrend(h *accounts.VHost, exchange string, w Spans) Trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil && l.exchanges[exchange] != nil {
		return l.exchanges[exchange].trend(shownFigures, s.mu.runs, w.ofQueues)
	}
	return Trend{}
}
