package lint

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// What keys the dead letters of a queue have is known beforehand where the queue says so. Else they keep their own, of
// which the bindings to the queue tell what they may be: one key, what a pattern finds, or anything.

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

// keysOf tells what keys the messages of a queue may have: those of its bindings; without one its name, by which they
// are published to the default exchange.
func (s *Analysis) keysOf(name string) []keyShape {
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

// firstWords are the bindings of an exchange by the words that their keys begin with, as far as these are no patterns.
type firstWords struct {
	none []int
	one  map[string][]int // one word, and no more or a pattern behind it
	two  map[string][]int // two words at least
	all  map[string][]int // one word at least
}

// beginning cuts off the first word of a key, and the first two; each is "" if it is not there, or a pattern.
func beginning(key string, pattern bool) (one, two string) {
	is := func(word string) bool { return !pattern || word != "*" && word != "#" }
	first, rest, more := strings.Cut(key, ".")
	if !is(first) {
		return "", ""
	}
	one = first + "."
	if second, _, _ := strings.Cut(rest, "."); more && is(second) {
		two = one + second
	}
	return one, two
}

// candidates lists the bindings of an exchange that may be satisfied, going by how keys begin: an exchange may have as
// many bindings as there are keys to be looked at.
func (s *Analysis) candidates(x *vhost.SnapshotExchange, shape keyShape) [3][]int {
	one, two := beginning(shape.text, shape.kind == shapeWords)
	if one == "" || shape.kind == shapeAny || x.Kind != topology.Direct && x.Kind != topology.Topic {
		return [3][]int{s.from[x.Name]}
	}
	f := s.words[x.Name]
	if f == nil {
		f = &firstWords{one: map[string][]int{}, two: map[string][]int{}, all: map[string][]int{}}
		s.words[x.Name] = f
		for _, i := range s.from[x.Name] {
			f.note(i, s.Bindings[i].RoutingKey, x.Kind == topology.Topic)
		}
	}
	if two == "" {
		return [3][]int{f.none, f.all[one]}
	}
	return [3][]int{f.none, f.one[one], f.two[two]}
}

func (f *firstWords) note(i int, key string, pattern bool) {
	one, two := beginning(key, pattern)
	switch {
	case one == "":
		f.none = append(f.none, i)
		return
	case two == "":
		f.one[one] = append(f.one[one], i)
	default:
		f.two[two] = append(f.two[two], i)
	}
	f.all[one] = append(f.all[one], i)
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
func (s *Analysis) meets(kind topology.ExchangeKind, b *topology.Binding, shape keyShape, among int) met {
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
	case shape.kind == shapeAny, kind != topology.Direct && kind != topology.Topic:
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
