package lint

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// deadLetterSenders names queues whose dead letters may come to a queue: of each kind the first by
// name, among which are others than the queue itself.
type deadLetterSenders struct {
	all     few
	durable few // durable queues
	holding few // with at-least-once
	loose   few // with at-most-once
}

// fewMax is how many queues a few names: the queue itself, those that a finding names, and one more.
const fewMax = sourcesNamed + 2

// few are the first of some places in Queues, and one more than each; 0 is none.
type few [fewMax]int32

func (f *few) add(q int32) {
	for i := range f {
		if q == 0 || q == f[i] {
			return
		}
		if f[i] == 0 || q < f[i] {
			f[i], q = q, f[i]
		}
	}
}

func (f *few) join(o few) {
	for _, q := range o {
		f.add(q)
	}
}

// but is the first that is not q; ok is false if there is none.
func (f few) but(q int) (i int, ok bool) {
	for _, n := range f {
		if n != 0 && int(n)-1 != q {
			return int(n) - 1, true
		}
	}
	return 0, false
}

// butAll are those that are not q.
func (f few) butAll(q int) (all []int) {
	for _, n := range f {
		if n != 0 && int(n)-1 != q {
			all = append(all, int(n)-1)
		}
	}
	return all
}

func (l *deadLetterSenders) add(i int, q *vhost.SnapshotQueue) {
	n := int32(i) + 1
	l.all.add(n)
	if q.Durable {
		l.durable.add(n)
	}
	if q.Settings.AtLeastOnce {
		l.holding.add(n)
	} else {
		l.loose.add(n)
	}
}

func (l *deadLetterSenders) join(o *deadLetterSenders) {
	l.all.join(o.all)
	l.durable.join(o.durable)
	l.holding.join(o.holding)
	l.loose.join(o.loose)
}

// findSenders finds for each queue from where dead letters come.
func (s *Analysis) findSenders() {
	into := make([]deadLetterSenders, len(s.reached))
	for i := range s.ways {
		for _, r := range s.ways[i].reaches {
			into[r].add(i, &s.Queues[i])
		}
	}
	s.senders = make([]deadLetterSenders, len(s.Queues))
	for r := range s.reached {
		for _, q := range s.reached[r].all() {
			s.senders[q].join(&into[r])
		}
	}
}

// A loop is queues whose dead letters may come back to them.
type loop struct {
	queues []int // places in Queues, in order
	kind   loopKind
	sure   bool     // all dead letters take it
	path   []int    // of queues, the shortest way round from the first of them
	by     []string // the dead-letter exchanges from one to the next, the last leading back to the first
}

type loopKind uint8

const (
	loopRejected loopKind = iota + 1 // only as long as they are rejected: they may go round for ever
	loopReturned                     // also by having come back too often
	loopLimited                      // also for lack of space
	loopExpired                      // of age alone
)

// ages reports whether a message in a queue that has died so often before dies of age there.
func (s *Analysis) ages(i, deaths int) bool {
	o := &s.options
	return s.Queues[i].Settings.TTL >= 0 && (deaths == 0 || o.TTLInDLQ && (o.HopsMax == 0 || int64(deaths) < o.HopsMax))
}

// yields reports whether one dies for lack of space.
func (s *Analysis) yields(i int) bool {
	set := &s.Queues[i].Settings
	return set.Limited() && (set.Overflow.DropsHead() || set.PassesOn())
}

// closes reports whether a dead letter comes all the way round without a rejection, beginning where that is
// best; it dies of age where it must.
func (s *Analysis) closes(path []int, otherwise func(int) bool) bool {
	aging := 0
	for _, q := range path {
		if !otherwise(q) {
			if aging++; !s.ages(q, aging-1) {
				return false
			}
		}
	}
	return true
}

// findLoops finds ways on which dead letters come back. A loop that dead letters take by themselves is one
// finding, that which contains it, and needs rejections, no other. The graphs are where dead letters may go,
// and where all of a queue go.
func (s *Analysis) findLoops(all, sure *DeadLetterGraph) {
	s.inLoop = make([]bool, len(s.Queues))
	in := s.inLoop
	for _, c := range []struct {
		kind      loopKind
		otherwise func(int) bool // than of age
		by        *DeadLetterGraph
	}{
		{loopExpired, func(int) bool { return false }, sure},
		{loopExpired, func(int) bool { return false }, all},
		{loopLimited, s.yields, all},
		{loopReturned, func(i int) bool { return s.yields(i) || s.Queues[i].Settings.ReturnLimit() >= 0 }, all},
		{loopRejected, func(int) bool { return true }, all},
	} {
		for _, queues := range c.by.circles(func(i int) bool { return s.ages(i, 0) || c.otherwise(i) }) {
			l := loop{queues: queues, kind: c.kind, sure: c.by == sure}
			known := slices.ContainsFunc(queues, func(q int) bool { return in[q] })
			if !known {
				l.path = c.by.round(queues)
				if !s.closes(l.path, c.otherwise) {
					continue
				}
				for _, q := range l.path {
					l.by = append(l.by, s.Queues[q].Settings.DeadLetterExchange)
				}
				s.loops = append(s.loops, l)
			}
			for _, q := range queues {
				in[q] = true
			}
		}
	}
	slices.SortFunc(s.loops, func(a, b loop) int { return a.queues[0] - b.queues[0] })
}

// deadLetterGraph is where dead letters may go; sure says that only what all dead letters of a queue take
// counts.
func (s *Analysis) deadLetterGraph(sure bool) *DeadLetterGraph {
	g := &DeadLetterGraph{Queues: make([]DeadLetterNode, len(s.Queues)), Sets: make([][]int, len(s.reached))}
	for i := range s.reached {
		if g.Sets[i] = s.reached[i].sure; !sure {
			g.Sets[i] = s.reached[i].all()
		}
	}
	for i := range s.ways {
		g.Queues[i] = DeadLetterNode{Waits: s.ages(i, 1), Mark: s.Queues[i].Settings.DLQ}
		if w := &s.ways[i]; !sure || len(w.reaches) == 1 {
			g.Queues[i].Ways = w.reaches
		}
	}
	return g
}
