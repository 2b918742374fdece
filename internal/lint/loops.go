package lint

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// letterSenders names queues whose dead letters may come to a queue: of each kind the first two by name, one of which
// is another than the queue itself.
type letterSenders struct {
	all     few
	durable few // durable queues
	holding few // with at-least-once
	loose   few // with at-most-once
}

// few are the first two of some places in Queues, and one more than each; 0 is none.
type few [2]int32

func (f *few) add(q int32) {
	switch {
	case q == 0 || q == f[0] || q == f[1]:
	case f[0] == 0 || q < f[0]:
		f[0], f[1] = q, f[0]
	case f[1] == 0 || q < f[1]:
		f[1] = q
	}
}

func (f *few) join(o few) {
	f.add(o[0])
	f.add(o[1])
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

func (l *letterSenders) add(i int, q *vhost.SnapshotQueue) {
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

func (l *letterSenders) join(o *letterSenders) {
	l.all.join(o.all)
	l.durable.join(o.durable)
	l.holding.join(o.holding)
	l.loose.join(o.loose)
}

// findSenders finds for each queue from where dead letters come.
func (s *Analysis) findSenders() {
	into := make([]letterSenders, len(s.reached))
	for i := range s.ways {
		for _, r := range s.ways[i].reaches {
			into[r].add(i, &s.Queues[i])
		}
	}
	s.senders = make([]letterSenders, len(s.Queues))
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
	sure   bool     // all letters take it
	path   []int    // of queues, the shortest way round from the first of them
	by     []string // the dead-letter exchanges from one to the next, the last leading back to the first
}

type loopKind uint8

const (
	loopRejected loopKind = iota + 1 // only as long as they are rejected: they may go round for ever
	loopReturned                     // also by having come back too often
	loopLimited                      // also for want of room
	loopExpired                      // of age alone
)

// ages reports whether a message in a queue that has died so often before dies of age there.
func (s *Analysis) ages(i, deaths int) bool {
	o := &s.options
	return s.Queues[i].Settings.TTL >= 0 && (deaths == 0 || o.TTLInDLQ && (o.HopsMax == 0 || int64(deaths) < o.HopsMax))
}

// yields reports whether one dies for want of room.
func (s *Analysis) yields(i int) bool {
	set := &s.Queues[i].Settings
	return set.Limited() && (set.Overflow.DropsHead() || set.PassesOn())
}

// closes reports whether a letter comes all the way round without a rejection, beginning where that is best; it dies of
// age where it must.
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

// findLoops finds ways on which dead letters come back. A loop that letters take by themselves is one finding, that
// which contains it, and needs rejections, no other.
func (s *Analysis) findLoops() {
	s.inLoop = make([]bool, len(s.Queues))
	in := s.inLoop
	for _, c := range []struct {
		kind      loopKind
		otherwise func(int) bool // than of age
		sure      bool
	}{
		{loopExpired, func(int) bool { return false }, true},
		{loopExpired, func(int) bool { return false }, false},
		{loopLimited, s.yields, false},
		{loopReturned, func(i int) bool { return s.yields(i) || s.Queues[i].Settings.ReturnLimit() >= 0 }, false},
		{loopRejected, func(int) bool { return true }, false},
	} {
		for _, queues := range s.circles(func(i int) bool { return s.ages(i, 0) || c.otherwise(i) }, c.sure) {
			l := loop{queues: queues, kind: c.kind, sure: c.sure}
			known := slices.ContainsFunc(queues, func(q int) bool { return in[q] })
			if !known {
				if l.path, l.by = s.round(queues, c.sure); !s.closes(l.path, c.otherwise) {
					continue
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

// circles finds sets of queues, of those that pass, each of which leads to each other; sure says whether only by ways
// that letters take for sure.
func (s *Analysis) circles(passes func(int) bool, sure bool) [][]int {
	nodes := len(s.Queues) + len(s.reached)
	t := &circleSearch{
		Analysis: s, passes: passes, sure: sure,
		index: make([]int32, nodes), low: make([]int32, nodes), onStack: make([]bool, nodes),
	}
	for root := range s.Queues {
		if t.index[root] == 0 && t.enters(root) {
			t.search(root)
		}
	}
	return t.found
}

// circleSearch is Tarjan's search for what is strongly connected, without recursion. Its nodes are queues, and behind
// these the reaches that they have: what many queues share is walked once.
type circleSearch struct {
	*Analysis
	passes     func(int) bool
	sure       bool
	index, low []int32 // of nodes, from 1
	onStack    []bool
	stack      []int
	under      []walked // nodes that are not done
	count      int32
	found      [][]int
}

// walked is a node of which the first ways were walked.
type walked struct{ node, next int }

// enters reports whether the search goes on to a node.
func (t *circleSearch) enters(node int) bool {
	return node >= len(t.Queues) || t.ways[node].set && t.passes(node)
}

func (t *circleSearch) push(node int) {
	t.count++
	t.index[node], t.low[node], t.onStack[node] = t.count, t.count, true
	t.stack = append(t.stack, node)
	t.under = append(t.under, walked{node: node})
}

func (t *circleSearch) search(root int) {
	t.push(root)
	for len(t.under) > 0 {
		at := &t.under[len(t.under)-1]
		to, more := t.onward(at.node, at.next, t.sure)
		at.next++
		switch {
		case !more:
			t.leave()
		case !t.enters(to):
		case t.index[to] == 0:
			t.push(to)
		case t.onStack[to]:
			t.low[at.node] = min(t.low[at.node], t.index[to])
		}
	}
}

// leave is done with the last node, and takes off the stack what is strongly connected with it, if it was the first of
// that.
func (t *circleSearch) leave() {
	node := t.under[len(t.under)-1].node
	if t.under = t.under[:len(t.under)-1]; len(t.under) > 0 {
		before := t.under[len(t.under)-1].node
		t.low[before] = min(t.low[before], t.low[node])
	}
	if t.low[node] != t.index[node] {
		return
	}
	var circle []int
	for last := -1; last != node; {
		last = t.stack[len(t.stack)-1]
		t.stack, t.onStack[last] = t.stack[:len(t.stack)-1], false
		if last < len(t.Queues) {
			circle = append(circle, last)
		}
	}
	if len(circle) > 0 && (node >= len(t.Queues) || t.returns(circle, t.sure)) {
		slices.Sort(circle)
		t.found = append(t.found, circle)
	}
}

// returns reports whether what is strongly connected is a circle, and not one queue alone.
func (s *Analysis) returns(circle []int, sure bool) bool {
	if len(circle) > 1 {
		return true
	}
	for k := 0; ; k++ {
		r, ok := s.onward(circle[0], k, sure)
		if !ok {
			return false
		}
		reach := &s.reached[r-len(s.Queues)]
		if _, found := slices.BinarySearch(reach.sure, circle[0]); found || !sure && reach.leads(circle[0]) {
			return true
		}
	}
}

// onward is the next node behind one: queues come first, then reaches.
func (s *Analysis) onward(node, next int, sure bool) (to int, ok bool) {
	n := len(s.Queues)
	if node < n {
		w := &s.ways[node]
		if next >= len(w.reaches) || sure && len(w.reaches) > 1 {
			return 0, false
		}
		return n + w.reaches[next], true
	}
	r := &s.reached[node-n]
	if next < len(r.sure) {
		return r.sure[next], true
	}
	if next -= len(r.sure); sure || next >= len(r.maybe) {
		return 0, false
	}
	return r.maybe[next], true
}

// round finds the shortest way from the first of some queues, of a circle, back to it.
func (s *Analysis) round(circle []int, sure bool) (path []int, by []string) {
	type step struct{ before, queue int }
	inside := map[int]bool{}
	for _, q := range circle {
		inside[q] = true
	}
	steps := []step{{-1, circle[0]}}
	passed := map[int]bool{} // reaches
	for i := 0; i < len(steps); i++ {
		at := steps[i].queue
		for k := 0; ; k++ {
			node, ok := s.onward(at, k, sure)
			if !ok {
				break
			}
			if passed[node] {
				continue
			}
			passed[node] = true
			for j := 0; ; j++ {
				to, ok := s.onward(node, j, sure)
				if !ok {
					break
				}
				if to == circle[0] {
					for b := i; b >= 0; b = steps[b].before {
						path = append(path, steps[b].queue)
					}
					slices.Reverse(path)
					for _, q := range path {
						by = append(by, s.Queues[q].Settings.DeadLetterExchange)
					}
					return path, by
				}
				if inside[to] {
					inside[to] = false
					steps = append(steps, step{i, to})
				}
			}
		}
	}
	return circle, nil // cannot be: each of a circle leads to each other
}
