package stats

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A Sampler reads the counters of all queues, virtual hosts and connections every samplePeriod, and remembers them for
// a while: rates are made of that.
type Sampler struct {
	engine  *engine.Engine
	roster  Roster
	ctx     context.Context // of readings
	cancel  context.CancelFunc
	quit    func() // ends Run
	ended   <-chan struct{}
	stopped chan struct{}

	mu struct {
		sync.Mutex
		ledgers map[uint32]*ledger // by the vhost's LogID: a name may come to mean another vhost
		wires   wires
		node    history
		last    int64 // when all that was read, ms since the Unix epoch
	}
}

// A ledger is what is remembered of one virtual host.
type ledger struct {
	queues    map[fact.QueueID]*history
	exchanges map[string]*history // to which anything was published
	whole     history
	baseline  fact.Books // when the ledger was begun; what the log remembers is not of this process
	begun     bool       // there was a reading before: what comes to be known now began at zero
}

// forgotten reports whether the readings were given up, and there is none since: nobody knows what died lately. The
// ledger may be nil.
func (l *ledger) forgotten() bool { return l != nil && !l.begun }

// NewSampler takes the first reading.
func NewSampler(e *engine.Engine, roster Roster) *Sampler {
	s := &Sampler{engine: e, roster: roster, stopped: make(chan struct{})}
	ended := make(chan struct{})
	s.ended, s.quit = ended, sync.OnceFunc(func() { close(ended) })
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.ledgers = map[uint32]*ledger{}
	s.Read(time.Now())
	return s
}

// Run reads until the sampler is closed.
func (s *Sampler) Run() {
	defer close(s.stopped)
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

// Close ends Run, and what Read waits for.
func (s *Sampler) Close() {
	s.cancel()
	s.Stop()
}

// Read takes one reading of everything; a virtual host that is down keeps its last.
func (s *Sampler) Read(now time.Time) {
	alive := map[uint32]bool{}
	at := now.UnixMilli()
	for _, h := range s.engine.Accounts().VHosts() {
		alive[h.LogID] = true
		if r, err := s.readHost(h.Name); err == nil {
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
		}
	}
	s.mu.last = at
	s.mu.wires.note(at, connections)
	s.mu.node.note(at, node.figures[:], WholeKept)
}

// A hostReading is what a virtual host has counted at an instant.
type hostReading struct {
	whole  figures
	books  fact.Books
	all    []fact.QueueID           // queues
	queues map[fact.QueueID]figures // those whose figures are not all 0
	flows  map[string]*figures      // of exchanges to which anything was published
}

// readHost reads one virtual host, its queues in portions.
func (s *Sampler) readHost(name string) (*hostReading, error) {
	// one whose disk hangs must not keep the others from being read
	ctx, cancel := context.WithTimeout(s.ctx, samplePeriod)
	defer cancel()
	r := &hostReading{queues: map[fact.QueueID]figures{}, flows: map[string]*figures{}}
	var all vhost.QueueStats
	var traffic vhost.Traffic
	var known []string // queues that messages came to
	err := web.Look(ctx, s.engine, name, func(v vhost.Reader) {
		traffic, r.books = v.Traffic(), v.Books()
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
}

func (s *Sampler) note(h *accounts.VHost, now int64, r *hostReading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.ledgers[h.LogID]
	if l == nil {
		l = &ledger{queues: map[fact.QueueID]*history{}, exchanges: map[string]*history{}, baseline: r.books, begun: s.mu.last > 0}
		l.whole.fromZero = l.begun
		s.mu.ledgers[h.LogID] = l
	}
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

// whole is the trend of a virtual host.
func (s *Sampler) whole(h *accounts.VHost, w Spans) Trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil {
		return l.whole.trend(shownFigures, w.ofQueues)
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
			all[i] = q.trend(shownFigures, w.ofQueues)
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
	none := history{last: s.mu.last}
	return none.trend(shownFigures, w.ofQueues)
}

// TrendOf is the trend of one queue.
func (s *Sampler) TrendOf(h *accounts.VHost, id fact.QueueID, w Spans) Trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil && l.queues[id] != nil {
		return l.queues[id].trend(shownFigures, w.ofQueues)
	}
	return s.fresh(w)
}

// FlowTrend is the trend of an exchange.
func (s *Sampler) FlowTrend(h *accounts.VHost, exchange string, w Spans) Trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil && l.exchanges[exchange] != nil {
		return l.exchanges[exchange].trend(shownFigures, w.ofQueues)
	}
	return Trend{}
}
