package management

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// letterMap is where dead letters of a virtual host go: read queue by queue, then looked at.
type letterMap struct {
	targets map[vhost.QueueID]bool
	queues  []targetQueue // all queues: which are targets is known in the end
}

// targetQueue is what is shown of a queue if it is a target.
type targetQueue struct {
	id        vhost.QueueID
	consumers int32
	ready     bool
	messages  int64
	bytes     int64
}

// letterFigures are the figures of the queues that dead letters come to.
type letterFigures struct {
	queues          int
	messages, bytes int64
	oldest          float64 // seconds, of the letters at the heads; -1 if there is none
	forlorn         int     // targets with messages that nobody consumes
}

func (m *letterMap) add(q *vhost.QueueSample) {
	m.queues = append(m.queues, targetQueue{
		q.ID, int32(q.Consumers), q.Ready > 0, int64(q.Ready) + int64(q.Unacked) + int64(q.Waiting) + int64(q.Held),
		q.ReadyBytes + q.UnackedBytes + q.WaitingBytes + q.HeldBytes,
	})
	for _, id := range q.Letters.Targets {
		if m.targets == nil {
			m.targets = map[vhost.QueueID]bool{}
		}
		m.targets[id] = true
	}
}

// full lists the targets in which something is ready.
func (m *letterMap) full() (ids []vhost.QueueID) {
	for i := range m.queues {
		if q := &m.queues[i]; q.ready && m.targets[q.id] {
			ids = append(ids, q.id)
		}
	}
	return ids
}

func (m *letterMap) figures(ages map[vhost.QueueID]float64) letterFigures {
	f := letterFigures{queues: len(m.targets), oldest: -1}
	for i := range m.queues {
		q := &m.queues[i]
		if !m.targets[q.id] {
			continue
		}
		f.messages += q.messages
		f.bytes += q.bytes
		if q.consumers == 0 && q.messages > 0 {
			f.forlorn++
		}
		if age, known := ages[q.id]; known {
			f.oldest = max(f.oldest, age)
		}
	}
	return f
}

// scraper is what is remembered between scrapes.
type scraper struct {
	answers answers
	turns   chan struct{} // the pages with single objects that are made; others wait
	totals  chan struct{} // the other pages that are made

	mu struct {
		sync.Mutex
		pages  map[string]*sharedPage // that will be made, by their keys
		heads  map[headKey]head
		octets octetTotals
		last   map[uint32]hostFigures // by log: totals of the last scrape that was answered
		lints  map[uint32]linted      // likewise
	}
}

// remember keeps the totals of a virtual host, and returns f.
func (c *scraper) remember(log uint32, f *hostFigures) *hostFigures {
	last := *f
	last.rows, last.flows, last.bindings, last.routers, last.channels, last.waiting = nil, nil, nil, nil, nil, nil
	last.types = maps.Clone(f.types)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.last[log] = last
	return f
}

// recall returns the totals of a virtual host at the last scrape, nil if there was none. They are the caller's.
func (c *scraper) recall(log uint32) *hostFigures {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.mu.last[log]
	if !ok {
		return nil
	}
	last.types = maps.Clone(last.types)
	return &last
}

// forget forgets the virtual hosts that are not among those.
func (c *scraper) forget(live []*access.VHost) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for log := range c.mu.last {
		if !slices.ContainsFunc(live, func(h *access.VHost) bool { return h.LogID == log }) {
			delete(c.mu.last, log)
			delete(c.mu.lints, log)
		}
	}
}

// headKey names a queue for as long as the broker runs.
type headKey struct {
	log   uint32
	queue vhost.QueueID
}

// head is the letter at the head of a queue when it was looked at last.
type head struct {
	seq  uint64
	died int64 // seconds since the Unix epoch
	used time.Time
}

const (
	// scrapesMax is how many pages with single objects are made at a time, and how many others.
	scrapesMax = 1
	// headsMax bounds of how many queues it is told how old their oldest letter is, and headsPortion how many are looked at before
	// others are served: each may cost a read of the disk.
	headsMax, headsPortion = 4096, 32
)

func newScraper() *scraper {
	c := &scraper{turns: make(chan struct{}, scrapesMax), totals: make(chan struct{}, scrapesMax)}
	c.mu.pages = map[string]*sharedPage{}
	c.mu.heads, c.mu.last, c.mu.lints = map[headKey]head{}, map[uint32]hostFigures{}, map[uint32]linted{}
	c.mu.octets.seen = map[octetKey]octets{}
	return c
}

// ages tells for queues in which letters may wait how long ago the one at the head died, in seconds.
func (c *scraper) ages(ctx context.Context, s *Server, h *access.VHost, ids []vhost.QueueID) (map[vhost.QueueID]float64, error) {
	ages := map[vhost.QueueID]float64{}
	now := s.engine.Now()
	for portion := range slices.Chunk(ids[:min(len(ids), headsMax)], headsPortion) {
		known := c.known(h.LogID, portion)
		fresh := make([]head, len(portion))
		err := look(ctx, s.engine, h.Name, func(v *vhost.VHost) {
			for i, id := range portion {
				if seq, died, ok := v.OldestLetter(id, known[i].seq); ok && seq == known[i].seq {
					fresh[i] = known[i]
				} else if ok {
					fresh[i] = head{seq: seq, died: died}
				}
			}
		})
		if err != nil {
			return ages, err
		}
		c.note(h.LogID, portion, fresh)
		for i, id := range portion {
			if fresh[i].seq != 0 {
				ages[id] = max(float64(now.UnixMilli())/1000-float64(fresh[i].died), 0)
			}
		}
	}
	return ages, nil
}

func (c *scraper) known(log uint32, ids []vhost.QueueID) []head {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := make([]head, len(ids))
	for i, id := range ids {
		known[i] = c.mu.heads[headKey{log, id}]
	}
	return known
}

// note remembers heads, and forgets those of queues that have not had a letter for a while.
func (c *scraper) note(log uint32, ids []vhost.QueueID, heads []head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for i, id := range ids {
		heads[i].used = now
		c.mu.heads[headKey{log, id}] = heads[i]
	}
	if len(c.mu.heads) > 2*headsMax {
		for k, h := range c.mu.heads {
			if now.Sub(h.used) > time.Hour {
				delete(c.mu.heads, k)
			}
		}
	}
}
