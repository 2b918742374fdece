package lint

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// shapesMax is how many keys of a queue's messages are looked at one by one: beyond that they may be any.
	shapesMax = 32
	// comparesMax bounds how often a key is compared with a binding: beyond that each binding may be satisfied.
	comparesMax = 2_000_000
	// targetsMax bounds how many targets of all ways are remembered: beyond that keys may be any.
	targetsMax = 2_000_000
)

// way is where the dead letters of a queue may go.
type way struct {
	set     bool // there is a dead-letter exchange
	missing bool // but it does not exist
	own     bool // dead letters keep their keys
	shapes  []keyShape
	reaches []int // places in reached, one for each shape
}

// reachKey is an exchange and what is known of a key.
type reachKey struct {
	exchange string
	shape    keyShape
}

// reach is where messages go that are published to an exchange.
type reach struct {
	reachKey
	sure    []int    // places in Queues, in order: they come here
	maybe   []int    // they may come here; none of sure
	misses  bool     // they may come nowhere
	keepers []string // delayed exchanges on the way
}

// none reports whether the messages come nowhere.
func (r *reach) none() bool { return len(r.sure)+len(r.maybe) == 0 }

// all lists where messages may come.
func (r *reach) all() []int {
	if len(r.maybe) == 0 {
		return r.sure
	}
	return append(slices.Clip(r.sure), r.maybe...)
}

// findWays finds where the dead letters of all queues go.
func (s *Analysis) findWays() {
	s.reaches, s.compare = map[reachKey]int{}, comparesMax
	s.ways = make([]way, len(s.Queues))
	for i := range s.Queues {
		q, w := &s.Queues[i], &s.ways[i]
		if w.set = hasDLX(&q.Settings); !w.set {
			continue
		}
		if w.own = !hasDLRK(&q.Settings); w.own {
			w.shapes = s.keysOf(q.Name)
		} else {
			w.shapes = []keyShape{{text: q.Settings.DeadLetterRoutingKey}}
		}
		if w.missing = s.topo.Exchange(q.Settings.DeadLetterExchange) == nil; w.missing {
			continue
		}
		for _, shape := range w.shapes {
			w.reaches = append(w.reaches, s.reachOf(q.Settings.DeadLetterExchange, shape))
		}
	}
	s.passKeysOn()
	s.findSenders()
}

// passKeysOn notes that messages of queues may have the keys of the dead letters that come.
func (s *Analysis) passKeysOn() {
	type known struct{ queue, shape int }
	var work []known
	for i := range s.ways {
		for k := range s.ways[i].reaches {
			work = append(work, known{i, k})
		}
	}
	for left := targetsMax; len(work) > 0 && left > 0; work = work[1:] {
		from := &s.ways[work[0].queue]
		shape := from.shapes[work[0].shape]
		if shape.kind != shapeExact {
			continue
		}
		for _, t := range s.reached[from.reaches[work[0].shape]].all() {
			left--
			to := &s.ways[t]
			if !to.own || len(to.reaches) == 0 || len(to.reaches) > shapesMax || slices.Contains(to.shapes, shape) {
				continue
			}
			if r := s.reachOf(s.Queues[t].Settings.DeadLetterExchange, shape); !slices.Contains(to.reaches, r) || s.reached[r].none() {
				to.shapes, to.reaches = append(to.shapes, shape), append(to.reaches, r)
				work = append(work, known{t, len(to.shapes) - 1})
			}
		}
	}
}

// reachOf finds where an exchange, which exists, leads messages with such a key.
func (s *Analysis) reachOf(exchange string, shape keyShape) int {
	if shape.kind == shapeWords && s.compare < len(s.from[exchange]) || s.targets > targetsMax || s.ignoresKeys(exchange) {
		shape = keyShape{kind: shapeAny}
	}
	key := reachKey{exchange, shape}
	at, known := s.reaches[key]
	if !known {
		at = len(s.reached)
		s.reaches[key] = at
		s.reached = append(s.reached, s.find(key))
		s.targets += len(s.reached[at].sure) + len(s.reached[at].maybe)
	}
	return at
}

// ignoresKeys reports whether an exchange leads all messages to the same queues: then it is looked at once.
func (s *Analysis) ignoresKeys(exchange string) bool {
	ignores, known := s.keyless[exchange]
	if !known {
		all := s.from[exchange]
		ignores = s.exchange(exchange).Kind == topology.Fanout && len(all) > 0 &&
			!slices.ContainsFunc(all, func(i int) bool { return !s.Bindings[i].ToQueue })
		s.keyless[exchange] = ignores
	}
	return ignores
}

func (s *Analysis) find(key reachKey) reach {
	r := reach{reachKey: key}
	if key.shape.kind == shapeExact {
		route := s.topo.Route(s.topo.Exchange(key.exchange), &topology.Message{Key: []byte(key.shape.text)}, nil)
		if route.ByKeys {
			for _, id := range route.Queues {
				r.sure = append(r.sure, int(id)-1)
			}
			slices.Sort(r.sure)
			r.misses = len(r.sure) == 0
			return r
		}
	}
	if key.exchange == "" { // back to where they were published, if that was by name
		r.misses = true
		return r
	}
	w := wayfinder{analysis: s, shape: key.shape, exchanges: map[string]bool{}, queues: map[int]bool{}}
	w.walk(key.exchange)
	for q, sure := range w.queues {
		if sure {
			r.sure = append(r.sure, q)
		} else {
			r.maybe = append(r.maybe, q)
		}
	}
	slices.Sort(r.sure)
	slices.Sort(r.maybe)
	r.misses, r.keepers = len(r.sure) == 0 && !w.oneOf, w.keepers
	return r
}

// wayfinder goes through exchanges as a message does of which not all is known.
type wayfinder struct {
	analysis  *Analysis
	shape     keyShape
	exchanges map[string]bool // that were reached, and whether for sure
	queues    map[int]bool    // likewise
	work      []string
	keepers   []string
	oneOf     bool // one of several queues gets it for sure
}

func (w *wayfinder) walk(exchange string) {
	w.visit(exchange, true)
	for len(w.work) > 0 {
		name := w.work[0]
		w.work = w.work[1:]
		w.follow(w.analysis.exchange(name), w.exchanges[name])
	}
}

// visit notes an exchange to be followed, again if it is sure only now.
func (w *wayfinder) visit(name string, sure bool) {
	was, seen := w.exchanges[name]
	if w.analysis.topo.Exchange(name) == nil || seen && (was || !sure) {
		return
	}
	w.exchanges[name] = sure
	w.work = append(w.work, name)
}

func (w *wayfinder) follow(x *vhost.SnapshotExchange, sure bool) {
	s := w.analysis
	if x.Delayed && !slices.Contains(w.keepers, x.Name) {
		w.keepers = append(w.keepers, x.Name)
	}
	all := s.from[x.Name]
	satisfied := never
	for _, list := range s.candidates(x, w.shape) {
		for _, i := range list {
			b := &s.Bindings[i]
			m := s.meets(x.Kind, b, w.shape, len(all))
			satisfied = max(satisfied, m)
			w.take(b, m, sure && m == always)
		}
	}
	if oneOfSeveral(x.Kind) && len(all) > 0 {
		satisfied = always
		w.oneOf = w.oneOf || sure
	}
	if satisfied < always && x.Alternate != "" {
		w.visit(x.Alternate, sure && satisfied == never)
	}
}

// take goes on along a binding.
func (w *wayfinder) take(b *topology.Binding, m met, sure bool) {
	if m == never {
		return
	}
	if !b.ToQueue {
		w.visit(b.Destination, sure)
	} else if q, ok := w.analysis.queues[b.Destination]; ok {
		w.queues[q] = w.queues[q] || sure
	}
}
