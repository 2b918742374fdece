package management

import (
	"context"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A sampler reads the counters of all queues, virtual hosts and connections every samplePeriod, and remembers them for a
// while: rates are made of that.
type sampler struct {
	engine  *engine.Engine
	roster  Roster
	ctx     context.Context // ends the run
	cancel  context.CancelFunc
	stopped chan struct{}

	mu struct {
		sync.Mutex
		ledgers map[uint32]*ledger // by the vhost's LogID: a name may come to mean another vhost
		wires   wires
	}
}

// A ledger is what is remembered of one virtual host.
type ledger struct {
	queues   map[vhost.QueueID]*history
	whole    history     // of all that its queues count, those that are no more among them
	baseline vhost.Books // when the ledger was begun; what the log remembers is not of this process
}

func newSampler(e *engine.Engine, roster Roster) *sampler {
	s := &sampler{engine: e, roster: roster, stopped: make(chan struct{})}
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

// counts are a queue's counters as they were read.
type counts struct {
	id      vhost.QueueID
	figures [queueFigures]uint64
}

// read takes one reading of everything; a virtual host that is down keeps its last.
func (s *sampler) read(now time.Time) {
	alive := map[uint32]bool{}
	at := now.UnixMilli()
	for _, h := range s.engine.Access().VHosts() {
		alive[h.LogID] = true
		all := make([]counts, 0, s.known(h)+queuesSpare)
		var whole [queueFigures]uint64
		var books vhost.Books
		err := s.engine.Look(s.ctx, h.Name, func(v *vhost.VHost) {
			v.Counts(func(c vhost.QueueCounts) {
				f := figuresOf(&c.Stats)
				f[atReady], f[atUnacked], f[atAside] = uint64(c.Ready), uint64(c.Unacked), uint64(c.Waiting+c.Held)
				all = append(all, counts{c.ID, f})
			})
			whole, books = figuresOfAll(v), v.Books()
		})
		if err == nil {
			for i := range all {
				for _, f := range []int{atReady, atUnacked, atAside} {
					whole[f] += all[i].figures[f]
				}
			}
			s.note(h, at, all, &whole, books)
		}
	}
	connections := s.roster.Connections()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.mu.ledgers {
		if !alive[id] {
			delete(s.mu.ledgers, id)
		}
	}
	s.mu.wires.note(at, connections)
}

// reset forgets all readings; the next one begins anew.
func (s *sampler) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.mu.ledgers {
		clear(l.queues)
		l.whole = history{}
	}
	s.mu.wires.forget()
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

func (s *sampler) note(h *access.VHost, now int64, all []counts, whole *[queueFigures]uint64, books vhost.Books) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.ledgers[h.LogID]
	if l == nil {
		l = &ledger{queues: map[vhost.QueueID]*history{}, baseline: books}
		s.mu.ledgers[h.LogID] = l
	}
	l.whole.note(now, whole[:], wholeKept)
	for i := range all {
		q := l.queues[all[i].id]
		if q == nil {
			q = &history{}
			l.queues[all[i].id] = q
		}
		q.note(now, all[i].figures[:], queueKept)
	}
	for id, q := range l.queues {
		if q.last != now {
			delete(l.queues, id)
		}
	}
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

// whole is the trend of a virtual host.
func (s *sampler) whole(h *access.VHost, w spans) trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil {
		return l.whole.trend(queueFigures, w.ofQueues)
	}
	return trend{}
}

// trends are those of the queues of a virtual host. Queues at which nothing moves are not among them, unless samples are
// asked for.
func (s *sampler) trends(h *access.VHost, w spans) map[vhost.QueueID]trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.ledgers[h.LogID]
	if l == nil {
		return nil
	}
	asked := w.lengths.incr > 0 || w.rates.incr > 0
	trends := map[vhost.QueueID]trend{}
	for id, q := range l.queues {
		if asked || q.moved() {
			trends[id] = q.trend(queueFigures, w.ofQueues)
		}
	}
	return trends
}

// trendOf is the trend of one queue.
func (s *sampler) trendOf(h *access.VHost, id vhost.QueueID, w spans) trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.ledgers[h.LogID]; l != nil && l.queues[id] != nil {
		return l.queues[id].trend(queueFigures, w.ofQueues)
	}
	return trend{}
}
