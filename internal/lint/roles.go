package lint

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A Role is what a queue is for dead letters of others.
type Role uint8

// The roles.
const (
	RoleNone       Role = iota
	RoleDeadLetter      // a dead-letter queue: they stay there until somebody handles them
	RoleRetry           // a retry queue: they wait there and return, by expiry, to where they died
)

// String names the role in JSON, "" for none.
func (r Role) String() string { return [...]string{"", "dead_letter", "retry"}[r] }

// A DeadLetterGraph is queues, and where their dead letters may go.
type DeadLetterGraph struct {
	Queues []DeadLetterNode
	Sets   [][]int // places in Queues that dead letters reach together
}

// A DeadLetterNode is a queue of the graph.
type DeadLetterNode struct {
	Ways  []int // places in Sets
	Waits bool  // dead letters that come expire in the queue
	Mark  vhost.Mark
}

// Roles finds the role of each queue. A queue in which dead letters expire, and return to a queue that they had come
// from, directly or through others, is a retry queue. A queue that gets dead letters of another one, which is no retry
// queue, is a dead-letter queue; what expires in a retry queue is on its way to be tried again. The mark of a
// queue overrides this, for the queue alone.
func (g *DeadLetterGraph) Roles() []Role {
	roles := make([]Role, len(g.Queues))
	for _, circle := range g.circles(func(int) bool { return true }) {
		for _, q := range circle {
			if len(circle) > 1 && g.Queues[q].Waits {
				roles[q] = RoleRetry
			}
		}
	}
	senders := make([]few, len(g.Sets))
	for q := range g.Queues {
		if roles[q] == RoleRetry {
			continue
		}
		for _, set := range g.Queues[q].Ways {
			senders[set].add(int32(q) + 1)
		}
	}
	for set, from := range senders {
		for _, q := range g.Sets[set] {
			if _, others := from.but(q); others && roles[q] == RoleNone {
				roles[q] = RoleDeadLetter
			}
		}
	}
	for q := range g.Queues {
		switch mark := g.Queues[q].Mark; {
		case mark == vhost.Marked:
			roles[q] = RoleDeadLetter
		case mark == vhost.MarkedNot && roles[q] == RoleDeadLetter:
			roles[q] = RoleNone
		}
	}
	return roles
}

// circles finds sets of queues, of those that pass, each of which leads to each other, or one queue that leads to
// itself.
func (g *DeadLetterGraph) circles(passes func(int) bool) [][]int {
	nodes := len(g.Queues) + len(g.Sets)
	t := &circleSearch{
		DeadLetterGraph: g, passes: passes,
		index: make([]int32, nodes), low: make([]int32, nodes), onStack: make([]bool, nodes),
	}
	for root := range g.Queues {
		if t.index[root] == 0 && t.enters(root) {
			t.search(root)
		}
	}
	return t.found
}

// circleSearch is Tarjan's search for what is strongly connected, without recursion. Its nodes are queues, and behind
// these the sets: what many queues share is walked once.
type circleSearch struct {
	*DeadLetterGraph
	passes     func(int) bool
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
	return node >= len(t.Queues) || len(t.Queues[node].Ways) > 0 && t.passes(node)
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
		to, more := t.onward(at.node, at.next)
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
// that. A queue alone is a circle only with a set that has it.
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
	nodes := 0
	for last := -1; last != node; nodes++ {
		last = t.stack[len(t.stack)-1]
		t.stack, t.onStack[last] = t.stack[:len(t.stack)-1], false
		if last < len(t.Queues) {
			circle = append(circle, last)
		}
	}
	if nodes > 1 {
		slices.Sort(circle)
		t.found = append(t.found, circle)
	}
}

// onward is the next node behind one: queues come first, then sets.
func (g *DeadLetterGraph) onward(node, next int) (to int, ok bool) {
	n := len(g.Queues)
	if node < n {
		if ways := g.Queues[node].Ways; next < len(ways) {
			return n + ways[next], true
		}
		return 0, false
	}
	if set := g.Sets[node-n]; next < len(set) {
		return set[next], true
	}
	return 0, false
}

// round finds the shortest way from the first of some queues, of a circle, back to it.
func (g *DeadLetterGraph) round(circle []int) (path []int) {
	type step struct{ before, queue int }
	inside := map[int]bool{}
	for _, q := range circle {
		inside[q] = true
	}
	steps := []step{{-1, circle[0]}}
	passed := map[int]bool{} // sets
	for i := 0; i < len(steps); i++ {
		for _, set := range g.Queues[steps[i].queue].Ways {
			if passed[set] {
				continue
			}
			passed[set] = true
			for _, to := range g.Sets[set] {
				if to == circle[0] {
					for b := i; b >= 0; b = steps[b].before {
						path = append(path, steps[b].queue)
					}
					slices.Reverse(path)
					return path
				}
				if inside[to] {
					inside[to] = false
					steps = append(steps, step{i, to})
				}
			}
		}
	}
	return circle // cannot be: each of a circle leads to each other
}
