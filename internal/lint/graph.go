package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A Graph is the exchanges and queues of an analysis, or some of them, and the ways between them.
type Graph struct {
	Nodes   []Node // exchanges first, then queues, each by name
	Edges   []Edge // by their nodes
	Partial bool   // there are more nodes or edges than were asked for
}

// A Node is an exchange or a queue.
type Node struct {
	Name string
	// one of the two, or none: an exchange that something names, and that does not exist
	Exchange *vhost.SnapshotExchange
	Queue    *vhost.SnapshotQueue
	Role     Role // of the queue
	Loop     bool // dead letters may come again to the queue
	Hidden   int  // edges from or to it that are not there
}

// EdgeKind is what an edge stands for.
type EdgeKind uint8

// The kinds.
const (
	EdgeBinding    EdgeKind = iota
	EdgeDelayed             // a binding of a delayed exchange: what takes it waits before
	EdgeDeadLetter          // from a queue to its dead-letter exchange
	EdgeAlternate           // from an exchange to its alternate exchange
)

// String names the kind.
func (k EdgeKind) String() string {
	return [...]string{"binding", "delayed", "dead_letter", "alternate"}[k]
}

// An Edge is a way from one node to another; parallel bindings are one.
type Edge struct {
	From, To  int // places in Nodes
	Kind      EdgeKind
	Keys      []string // of bindings, the first edgeKeysMax; the key of dead letters
	OwnKeys   bool     // dead letters keep their keys
	Count     int      // of parallel bindings
	Arguments amqp.Table
	Implicit  bool // of the default exchange, by name
	Loop      bool // dead letters may come back on it
}

// edgeKeysMax is how many keys of parallel bindings are listed.
const edgeKeysMax = 10

// grapher makes a graph.
type grapher struct {
	*Analysis
	nodes     []Node
	exchanges map[string]int // places in nodes
	queues    []int          // likewise, of Queues
	edges     []Edge
	known     map[edgeKey]int // places in edges
}

type edgeKey struct {
	from, to int
	kind     EdgeKind
}

// Graph makes a graph of at most most nodes, and eight times as many edges. With a root, which is the name of a queue
// or an exchange with q: or e: before it, or without, it has the nodes that are no more than depth edges from it, the
// nearest first; ok is false if there is no such.
func (s *Analysis) Graph(root string, depth, most int) (g *Graph, ok bool) {
	w := &grapher{Analysis: s, exchanges: map[string]int{}, known: map[edgeKey]int{}}
	w.draw()
	at := make([][]int, len(w.nodes)) // edges
	for i := range w.edges {
		e := &w.edges[i]
		at[e.From] = append(at[e.From], i)
		if e.To != e.From {
			at[e.To] = append(at[e.To], i)
		}
	}
	g = &Graph{}
	var chosen []int
	if root == "" {
		for i := range w.nodes {
			if len(at[i]) > 0 || !w.predeclared(i) {
				chosen = append(chosen, i)
			}
		}
	} else {
		first, found := w.rooted(root)
		if !found {
			return nil, false
		}
		chosen = w.near(first, depth, most+1, at)
	}
	if g.Partial = len(chosen) > most; g.Partial {
		chosen = chosen[:most]
	}
	w.cut(g, chosen, at, 8*most)
	return g, true
}

// draw makes all nodes and edges.
func (w *grapher) draw() {
	for i := range w.Exchanges {
		w.exchangeNode(w.Exchanges[i].Name)
	}
	for i := range w.Exchanges {
		if x := &w.Exchanges[i]; x.Alternate != "" {
			w.edge(w.exchanges[x.Name], w.exchangeNode(x.Alternate), EdgeAlternate)
		}
	}
	for i := range w.Queues {
		if q := &w.Queues[i]; hasDLX(&q.Settings) { // exchanges that are missing come before queues
			w.exchangeNode(q.Settings.DeadLetterExchange)
		}
	}
	for i := range w.Queues {
		w.queues = append(w.queues, len(w.nodes))
		w.nodes = append(w.nodes, Node{Name: w.Queues[i].Name, Queue: &w.Queues[i], Role: w.roles[i], Loop: w.inLoop[i]})
	}
	for i := range w.Bindings {
		w.binding(i)
	}
	for i := range w.Queues {
		w.deadLetters(i)
	}
}

// exchangeNode finds or makes the node of an exchange.
func (w *grapher) exchangeNode(name string) int {
	i, known := w.exchanges[name]
	if !known {
		i = len(w.nodes)
		w.exchanges[name] = i
		w.nodes = append(w.nodes, Node{Name: name, Exchange: w.exchange(name)})
	}
	return i
}

// edge finds or makes an edge, and counts it. It is lent until the next.
func (w *grapher) edge(from, to int, kind EdgeKind) *Edge {
	key := edgeKey{from, to, kind}
	i, known := w.known[key]
	if !known {
		i = len(w.edges)
		w.known[key] = i
		w.edges = append(w.edges, Edge{From: from, To: to, Kind: kind})
	}
	w.edges[i].Count++
	return &w.edges[i]
}

func (w *grapher) binding(i int) {
	b := &w.Bindings[i]
	to, ok := w.exchanges[b.Destination]
	if b.ToQueue {
		var q int
		if q, ok = w.Analysis.queues[b.Destination]; ok {
			to = w.queues[q]
		}
	}
	if !ok { // it has gone while the snapshot was made
		return
	}
	kind := EdgeBinding
	if w.exchange(b.Source).Delayed {
		kind = EdgeDelayed
	}
	e := w.edge(w.exchanges[b.Source], to, kind)
	if e.Count == 1 {
		e.Arguments = b.Arguments
	}
	if len(e.Keys) < edgeKeysMax {
		e.Keys = append(e.Keys, b.RoutingKey)
	}
}

// deadLetters draws the way of a queue's dead letters, and marks the bindings by which they come back.
func (w *grapher) deadLetters(i int) {
	set, way := &w.Queues[i].Settings, &w.ways[i]
	if !way.set {
		return
	}
	x := w.exchangeNode(set.DeadLetterExchange)
	e := w.edge(w.queues[i], x, EdgeDeadLetter)
	e.Loop = w.inLoop[i]
	if e.OwnKeys = way.own; !way.own {
		e.Keys = []string{set.DeadLetterRoutingKey}
	}
	for _, r := range way.reaches {
		for _, q := range w.reached[r].all() {
			to := w.queues[q]
			if set.DeadLetterExchange == "" {
				if b := w.edge(x, to, EdgeBinding); b.Count == 1 {
					b.Keys, b.Implicit = []string{w.Queues[q].Name}, true
				}
			}
			if w.inLoop[i] && w.inLoop[q] {
				for _, kind := range []EdgeKind{EdgeBinding, EdgeDelayed} {
					if at, known := w.known[edgeKey{x, to, kind}]; known {
						w.edges[at].Loop = true
					}
				}
			}
		}
	}
}

// predeclared reports whether a node is there in every vhost.
func (w *grapher) predeclared(i int) bool {
	n := &w.nodes[i]
	return n.Exchange != nil && (n.Name == "" || strings.HasPrefix(n.Name, "amq."))
}

// rooted finds the node that is called so.
func (w *grapher) rooted(root string) (i int, ok bool) {
	if name, marked := strings.CutPrefix(root, "e:"); marked {
		if i, ok = w.exchanges[name]; ok {
			return i, true
		}
	}
	name, _ := strings.CutPrefix(root, "q:")
	for _, name := range []string{name, root} {
		if q, found := w.Analysis.queues[name]; found {
			return w.queues[q], true
		}
	}
	i, ok = w.exchanges[root]
	return i, ok
}

// hubEdges is how many edges a node has beyond which what is near it is not near to what leads there: nearly everything
// would be.
const hubEdges = 20

// near lists the nodes that are no more than depth edges from one, the nearest first. Behind an exchange to which very
// much is bound only the queues are near to which dead letters of a queue that is near go.
func (w *grapher) near(first, depth, most int, at [][]int) []int {
	far := map[int]int{first: 0}
	all := []int{first}
	add := func(n, distance int) {
		if _, seen := far[n]; !seen && len(all) < most {
			far[n] = distance
			all = append(all, n)
		}
	}
	for i := 0; i < len(all) && len(all) < most; i++ {
		n, distance := all[i], far[all[i]]+1
		if distance > depth {
			break
		}
		if n != first && w.nodes[n].Queue == nil && len(at[n]) > hubEdges {
			for _, q := range w.deadLettersBehind(n, all) {
				add(q, distance)
			}
			continue
		}
		for _, e := range at[n] {
			add(w.edges[e].To, distance)
			add(w.edges[e].From, distance)
		}
	}
	return all
}

// deadLettersBehind lists the first queues to which some queues' dead letters go through an exchange.
func (w *grapher) deadLettersBehind(exchange int, some []int) (nodes []int) {
	for _, n := range some {
		q := w.nodes[n].Queue
		if q == nil || !hasDLX(&q.Settings) || w.exchanges[q.Settings.DeadLetterExchange] != exchange {
			continue
		}
		for _, r := range w.ways[w.Analysis.queues[q.Name]].reaches {
			targets := w.reached[r].all()
			for _, t := range targets[:min(len(targets), hubEdges)] {
				nodes = append(nodes, w.queues[t])
			}
		}
	}
	return nodes
}

// cut makes a graph of some nodes, and of at most so many edges between them.
func (w *grapher) cut(g *Graph, chosen []int, at [][]int, edges int) {
	slices.SortFunc(chosen, func(a, b int) int {
		x, y := &w.nodes[a], &w.nodes[b]
		if isQueue := x.Queue != nil; isQueue != (y.Queue != nil) {
			if isQueue {
				return 1
			}
			return -1
		}
		return strings.Compare(x.Name, y.Name)
	})
	place := make(map[int]int, len(chosen))
	for i, n := range chosen {
		place[n] = i
	}
	for i, n := range chosen {
		node := w.nodes[n]
		for _, k := range at[n] {
			e := w.edges[k]
			from, hasFrom := place[e.From]
			to, hasTo := place[e.To]
			switch {
			case !hasFrom || !hasTo:
				node.Hidden++
			case from != i: // it is drawn from there
			case len(g.Edges) == edges:
				g.Partial = true
			default:
				e.From, e.To = from, to
				g.Edges = append(g.Edges, e)
			}
		}
		g.Nodes = append(g.Nodes, node)
	}
	slices.SortFunc(g.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
	})
}
