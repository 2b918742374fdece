package vhost

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/topology"
)

// What keys the dead letters of a queue have is known beforehand where the queue says so. Else they keep their own, of which the
// bindings to the queue tell what they may be: one key, what a pattern finds, or anything.

// keyShape is what is known of a routing key.
type keyShape struct {
	kind shapeKind
	text string
}

type shapeKind uint8

const (
	shapeExact shapeKind = iota // it is text
	shapeWords                  // the pattern of a topic exchange finds it
	shapeAny
)

const (
	// shapesMax is how many keys of a queue's messages are looked at one by one: beyond that they may be any.
	shapesMax = 32
	// comparesMax bounds how often a key is compared with a binding: beyond that each binding may be satisfied.
	comparesMax = 10_000_000
)

// way is where the dead letters of a queue may go.
type way struct {
	set     bool // there is a dead-letter exchange
	missing bool // but it does not exist
	own     bool // letters keep their keys
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

// leads reports whether the messages may come to a queue.
func (r *reach) leads(queue int) bool {
	_, sure := slices.BinarySearch(r.sure, queue)
	_, maybe := slices.BinarySearch(r.maybe, queue)
	return sure || maybe
}

// findWays finds where the dead letters of all queues go.
func (s *Survey) findWays() {
	s.reaches, s.compare = map[reachKey]int{}, comparesMax
	s.ways = make([]way, len(s.Queues))
	for i := range s.Queues {
		q, w := &s.Queues[i], &s.ways[i]
		if w.set = q.Settings.hasDLX; !w.set {
			continue
		}
		if w.own = !q.Settings.hasDLRK; w.own {
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
	s.findSenders()
}

// keysOf tells what keys the messages of a queue may have: those of its bindings; without one its name, by which they are
// published to the default exchange.
func (s *Survey) keysOf(name string) []keyShape {
	var shapes []keyShape
	for _, i := range s.to[name] {
		shape := keyShape{kind: shapeAny}
		b := &s.Bindings[i]
		switch x := s.topo.Exchange(b.Source); x.Kind {
		case topology.Direct:
			shape = keyShape{shapeExact, b.RoutingKey}
		case topology.Topic:
			shape = wordsShape(b.RoutingKey)
		}
		if shape.kind == shapeAny || len(shapes) == shapesMax {
			return []keyShape{{kind: shapeAny}}
		}
		if !slices.Contains(shapes, shape) {
			shapes = append(shapes, shape)
		}
	}
	if shapes == nil {
		return []keyShape{{text: name}}
	}
	slices.SortFunc(shapes, func(a, b keyShape) int { return strings.Compare(a.text, b.text) })
	return shapes
}

// wordsShape is what a topic exchange's pattern tells of a key.
func wordsShape(pattern string) keyShape {
	if pattern == "#" {
		return keyShape{kind: shapeAny}
	}
	for word := range strings.SplitSeq(pattern, ".") {
		if word == "*" || word == "#" {
			return keyShape{shapeWords, pattern}
		}
	}
	return keyShape{shapeExact, pattern}
}

// reachOf finds where an exchange, which exists, leads messages with such a key.
func (s *Survey) reachOf(exchange string, shape keyShape) int {
	if shape.kind == shapeWords && s.compare < len(s.from[exchange]) {
		shape = keyShape{kind: shapeAny}
	}
	key := reachKey{exchange, shape}
	at, known := s.reaches[key]
	if !known {
		at = len(s.reached)
		s.reaches[key] = at
		s.reached = append(s.reached, s.find(key))
	}
	return at
}

func (s *Survey) find(key reachKey) reach {
	r := reach{reachKey: key}
	if key.shape.kind == shapeExact {
		ids, byKeys := s.topo.Route(s.topo.Exchange(key.exchange), &topology.Message{Key: []byte(key.shape.text)}, nil)
		if byKeys {
			for _, id := range ids {
				r.sure = append(r.sure, int(id)-1)
			}
			slices.Sort(r.sure)
			r.misses = len(ids) == 0
			return r
		}
	}
	if key.exchange == "" { // back to where they were published, if that was by name
		r.misses = true
		return r
	}
	w := wayfinder{survey: s, shape: key.shape, exchanges: map[string]bool{}, queues: map[int]bool{}}
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
	survey    *Survey
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
		w.follow(w.survey.exchange(name), w.exchanges[name])
	}
}

// visit notes an exchange to be followed, again if it is sure only now.
func (w *wayfinder) visit(name string, sure bool) {
	was, seen := w.exchanges[name]
	if w.survey.topo.Exchange(name) == nil || seen && (was || !sure) {
		return
	}
	w.exchanges[name] = sure
	w.work = append(w.work, name)
}

func (w *wayfinder) follow(x *SurveyedExchange, sure bool) {
	s := w.survey
	if x.Delayed && !slices.Contains(w.keepers, x.Name) {
		w.keepers = append(w.keepers, x.Name)
	}
	all := s.from[x.Name]
	satisfied := never
	for _, i := range all {
		b := &s.Bindings[i]
		m := s.meets(x.Kind, b, w.shape, len(all))
		if m == never {
			continue
		}
		satisfied = max(satisfied, m)
		to := sure && m == always
		if !b.ToQueue {
			w.visit(b.Destination, to)
		} else if q, ok := s.queues[b.Destination]; ok {
			w.queues[q] = w.queues[q] || to
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

// met is whether a binding is satisfied.
type met uint8

const (
	never met = iota
	perhaps
	always
)

func oneOfSeveral(k topology.ExchangeKind) bool {
	switch k {
	case topology.ConsistentHash, topology.ModulusHash, topology.Random, topology.LocalRandom:
		return true
	}
	return false
}

// meets tells whether a message with such a key satisfies a binding, which is one of so many.
func (s *Survey) meets(kind topology.ExchangeKind, b *topology.Binding, shape keyShape, among int) met {
	s.compare--
	switch {
	case kind == topology.Fanout || kind == topology.RecentHistory:
		return always
	case kind == topology.Headers:
		if len(b.Arguments) == 0 {
			return always
		}
		return perhaps
	case oneOfSeveral(kind):
		if among == 1 {
			return always
		}
		return perhaps
	case kind == topology.Topic && b.RoutingKey == "#":
		return always
	case shape.kind == shapeAny:
		return perhaps
	case kind == topology.Direct && shape.kind == shapeExact:
		if shape.text == b.RoutingKey {
			return always
		}
		return never
	case kind == topology.Direct && overlap(strings.Split(shape.text, "."), literal(b.RoutingKey)):
		return perhaps
	case kind == topology.Direct:
		return never
	case shape.kind == shapeExact && overlap(literal(shape.text), strings.Split(b.RoutingKey, ".")), shape.text == b.RoutingKey:
		return always
	case shape.kind == shapeWords && overlap(strings.Split(shape.text, "."), strings.Split(b.RoutingKey, ".")):
		return perhaps
	}
	return never
}

// literal are the words of a key that is no pattern.
func literal(key string) []string {
	words := strings.Split(key, ".")
	for i, w := range words {
		if w == "*" || w == "#" {
			words[i] = "\x00" + w // which no pattern has
		}
	}
	return words
}

// overlap reports whether there is a key that both patterns find: * is one word, # none or more.
func overlap(a, b []string) bool {
	// row[j] is whether what is left of a from i on, and of b from j on, have a key in common; from the end.
	row := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		corner := false // the row below, one to the right
		for j := len(b); j >= 0; j-- {
			below := row[j]
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i == len(a):
				row[j] = b[j] == "#" && row[j+1]
			case j == len(b):
				row[j] = a[i] == "#" && below
			case a[i] == "#" || b[j] == "#":
				row[j] = below || row[j+1]
			default:
				row[j] = corner && (a[i] == "*" || b[j] == "*" || a[i] == b[j])
			}
			corner = below
		}
	}
	return row[0]
}
