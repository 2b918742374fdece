package stats

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// headsMax bounds of how many queues it is told how old their oldest dead letter is, and headsPortion how
// many are looked at before others are served: each may cost a read of the disk.
const headsMax, headsPortion = 4096, 32

// deadLetterQueues finds the dead-letter queues of a virtual host: queues are read one by one, then looked at.
type deadLetterQueues struct {
	graph  lint.DeadLetterGraph
	queues []sampledQueue // as in graph
	sets   map[*fact.QueueID]int
	ways   [][]fact.QueueID     // as graph.Sets
	places map[fact.QueueID]int // in queues
	roles  []lint.Role
}

// sampledQueue is what is shown of a queue: of its messages if it is a dead-letter queue.
type sampledQueue struct {
	id          fact.QueueID
	consumers   int32
	ready       bool
	messages    int64
	bytes       int64
	deadLetters int64 // dead letters
}

// DeadLetters are the figures of dead letters, and then of the dead-letter queues.
type DeadLetters struct {
	InQueues        int64 // in all queues
	Retrying        int64 // of these: in retry queues
	Queues          int
	Messages, Bytes int64
	Oldest          float64 // seconds, of the dead letters at the heads; -1 if there is none
	WithoutConsumer int     // of those with messages
}

func (m *deadLetterQueues) add(q *vhost.QueueSample) {
	if m.sets == nil {
		m.sets, m.places = map[*fact.QueueID]int{}, map[fact.QueueID]int{}
	}
	m.places[q.ID] = len(m.queues)
	m.queues = append(m.queues, sampledQueue{
		q.ID, int32(q.Consumers), q.Ready > 0, int64(q.Ready) + int64(q.Unacked) + int64(q.Waiting) + int64(q.Held),
		q.ReadyBytes + q.UnackedBytes + q.WaitingBytes + q.HeldBytes, int64(q.DeadLetters),
	})
	node := lint.DeadLetterNode{Waits: q.DeadLetterWay.Waits, Mark: q.DeadLetterWay.Mark}
	if all := q.DeadLetterWay.Targets; len(all) > 0 {
		set, known := m.sets[&all[0]]
		if !known {
			set = len(m.ways)
			m.sets[&all[0]] = set
			m.ways = append(m.ways, all)
		}
		node.Ways = []int{set}
	}
	m.graph.Queues = append(m.graph.Queues, node)
}

// findRoles finds the dead-letter queues when all queues are known.
func (m *deadLetterQueues) findRoles() {
	for _, ids := range m.ways {
		set := make([]int, 0, len(ids))
		for _, id := range ids {
			if at, known := m.places[id]; known {
				set = append(set, at)
			}
		}
		m.graph.Sets = append(m.graph.Sets, set)
	}
	m.roles = m.graph.Roles()
}

// role is what a queue is for dead letters.
func (m *deadLetterQueues) role(id fact.QueueID) lint.Role {
	at, known := m.places[id]
	if !known {
		return lint.RoleNone
	}
	return m.roles[at]
}

// DeadLetterQueues returns those of the named queues of a virtual host that are dead-letter queues, in the same order.
// It reads all queues of the virtual host, in portions.
func (s *Reader) DeadLetterQueues(ctx context.Context, h *accounts.VHost, names []string) (found []string, err error) {
	var at vhost.Sampling
	var all deadLetterQueues
	ids := make(map[string]fact.QueueID, len(names))
	for again := true; again; {
		err := web.Look(ctx, s.Engine, h.Name, func(v vhost.Reader) {
			again = v.Sample(&at, samplePortion, func(q *vhost.QueueSample) {
				all.add(q)
				if slices.Contains(names, q.Name) {
					ids[q.Name] = q.ID
				}
			})
		})
		if err != nil {
			return nil, err
		}
	}
	all.findRoles()
	for _, name := range names {
		if id, known := ids[name]; known && all.role(id) == lint.RoleDeadLetter {
			found = append(found, name)
		}
	}
	return found, nil
}

// full lists the queues in which dead letters may be ready, and stay.
func (m *deadLetterQueues) full() (ids []fact.QueueID) {
	for i := range m.queues {
		if q := &m.queues[i]; q.ready && q.deadLetters > 0 && m.roles[i] != lint.RoleRetry {
			ids = append(ids, q.id)
		}
	}
	return ids
}

func (m *deadLetterQueues) figures(ages map[fact.QueueID]float64) DeadLetters {
	f := DeadLetters{Oldest: -1}
	for i := range m.queues {
		q := &m.queues[i]
		f.InQueues += q.deadLetters
		if m.roles[i] == lint.RoleRetry {
			f.Retrying += q.deadLetters
		}
		if m.roles[i] != lint.RoleDeadLetter {
			continue
		}
		f.Queues++
		f.Messages += q.messages
		f.Bytes += q.bytes
		if q.consumers == 0 && q.messages > 0 {
			f.WithoutConsumer++
		}
		if age, known := ages[q.id]; known {
			f.Oldest = max(f.Oldest, age)
		}
	}
	return f
}

// remember keeps the totals of a virtual host, and returns f.
func (s *Reader) remember(log uint32, f *VHost) *VHost {
	last := *f
	last.Rows, last.Flows, last.Bindings, last.ExchangeRows, last.Channels, last.Waiting = nil, nil, nil, nil, nil, nil
	last.Types = maps.Clone(f.Types)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.last[log] = last
	return f
}

// recall returns the totals of a virtual host at the last scrape, nil if there was none. They are the caller's.
func (s *Reader) recall(log uint32) *VHost {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.mu.last[log]
	if !ok {
		return nil
	}
	last.Types = maps.Clone(last.Types)
	return &last
}

// Forget forgets the virtual hosts that are not among those.
func (s *Reader) Forget(live []*accounts.VHost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for log := range s.mu.last {
		if !slices.ContainsFunc(live, func(h *accounts.VHost) bool { return h.LogID == log }) {
			delete(s.mu.last, log)
			delete(s.mu.lints, log)
		}
	}
}

// headKey names a queue for as long as the broker runs.
type headKey struct {
	log   uint32
	queue fact.QueueID
}

// A head is the dead letter at the head of a queue at the last query.
type head struct {
	seq  uint64
	died int64 // seconds since the Unix epoch
	used time.Time
}

// ages returns, for queues that may have dead letters, the seconds since the one at the head died.
func (s *Reader) ages(ctx context.Context, h *accounts.VHost, ids []fact.QueueID) (map[fact.QueueID]float64, error) {
	ages := map[fact.QueueID]float64{}
	now := s.Engine.Now()
	for portion := range slices.Chunk(ids[:min(len(ids), headsMax)], headsPortion) {
		known := s.known(h.LogID, portion)
		fresh := make([]head, len(portion))
		err := web.Look(ctx, s.Engine, h.Name, func(v vhost.Reader) {
			for i, id := range portion {
				if seq, died, ok := v.OldestDeadLetter(id, known[i].seq); ok && seq == known[i].seq {
					fresh[i] = known[i]
				} else if ok {
					fresh[i] = head{seq: seq, died: died}
				}
			}
		})
		if err != nil {
			return ages, err
		}
		s.note(h.LogID, portion, fresh)
		for i, id := range portion {
			if fresh[i].died != 0 {
				ages[id] = max(float64(now.UnixMilli())/1000-float64(fresh[i].died), 0)
			}
		}
	}
	return ages, nil
}

func (s *Reader) known(log uint32, ids []fact.QueueID) []head {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make([]head, len(ids))
	for i, id := range ids {
		known[i] = s.mu.heads[headKey{log, id}]
	}
	return known
}

// note remembers heads, and forgets those of queues without dead letters for a while.
func (s *Reader) note(log uint32, ids []fact.QueueID, heads []head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i, id := range ids {
		heads[i].used = now
		s.mu.heads[headKey{log, id}] = heads[i]
	}
	if len(s.mu.heads) > 2*headsMax {
		for k, h := range s.mu.heads {
			if now.Sub(h.used) > time.Hour {
				delete(s.mu.heads, k)
			}
		}
	}
}
