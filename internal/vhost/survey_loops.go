package vhost

import "slices"

// letterSenders names queues whose dead letters may come to a queue: of each kind the first two by name, one of which is another
// than the queue itself.
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

func (l *letterSenders) add(i int, q *SurveyedQueue) {
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
func (s *Survey) findSenders() {
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
func (s *Survey) ages(i, deaths int) bool {
	o := &s.rules.options
	return s.Queues[i].Settings.TTL >= 0 && (deaths == 0 || o.TTLInDLQ && (o.HopsMax == 0 || int64(deaths) < o.HopsMax))
}

// yields reports whether one dies for want of room.
func (s *Survey) yields(i int) bool {
	set := &s.Queues[i].Settings
	return set.limited() && (set.Overflow.dropsHead() || set.passesOn())
}

// closes reports whether a letter comes all the way round without a rejection, beginning where that is best; it dies of age where
// it must.
func (s *Survey) closes(path []int, otherwise func(int) bool) bool {
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

// limited reports whether there is a limit of length.
func (s *Settings) limited() bool { return s.MaxLength >= 0 || s.MaxLengthBytes >= 0 }

// findLoops finds ways on which dead letters come back. A loop that letters take by themselves is one finding, that which
// contains it, and needs rejections, no other.
func (s *Survey) findLoops() {
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
		{loopReturned, func(i int) bool { return s.yields(i) || s.Queues[i].Settings.limit() >= 0 }, false},
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

// circles finds sets of queues, of those that pass, each of which leads to each other: what Tarjan's algorithm calls strongly
// connected. The ways are walked from a queue to its reaches, and from these to queues; sure says whether only by those that
// letters take for sure.
func (s *Survey) circles(passes func(int) bool, sure bool) (all [][]int) {
	n := len(s.Queues)
	index, low := make([]int32, n+len(s.reached)), make([]int32, n+len(s.reached))
	onStack := make([]bool, n+len(s.reached))
	var stack []int
	type frame struct{ node, next int }
	var frames []frame
	count := int32(0)
	push := func(node int) {
		count++
		index[node], low[node], onStack[node] = count, count, true
		stack = append(stack, node)
		frames = append(frames, frame{node: node})
	}
	for root := range n {
		if index[root] != 0 || !s.ways[root].set || !passes(root) {
			continue
		}
		push(root)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if to, ok := s.onward(f.node, f.next, sure); ok {
				f.next++
				switch {
				case to < n && (!s.ways[to].set || !passes(to)):
				case index[to] == 0:
					push(to)
				case onStack[to]:
					low[f.node] = min(low[f.node], index[to])
				}
				continue
			}
			node := f.node
			if frames = frames[:len(frames)-1]; len(frames) > 0 {
				below := frames[len(frames)-1].node
				low[below] = min(low[below], low[node])
			}
			if low[node] != index[node] {
				continue
			}
			var circle []int
			for {
				last := stack[len(stack)-1]
				stack, onStack[last] = stack[:len(stack)-1], false
				if last < n {
					circle = append(circle, last)
				}
				if last == node {
					break
				}
			}
			if len(circle) > 0 && (node >= n || s.returns(circle, sure)) {
				slices.Sort(circle)
				all = append(all, circle)
			}
		}
	}
	return all
}

// returns reports whether what is strongly connected is a circle, and not one queue alone.
func (s *Survey) returns(circle []int, sure bool) bool {
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
func (s *Survey) onward(node, next int, sure bool) (to int, ok bool) {
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
func (s *Survey) round(circle []int, sure bool) (path []int, by []string) {
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
