package topology

import (
	"bytes"
	"strings"
)

// topic finds patterns in a trie over their words. A message walks down with the set of all nodes it may be at, one
// word at a time, so the cost is bounded by words times patterns alike, never exponential in the number of #.
//
//	a.*.c   root ─a─▶ ○ ─*─▶ ○ ─c─▶ ● bindings
//	a.#     root ─a─▶ ○ ─#─▶ ●           a # node is entered together with its parent, and stays in the set
//
// Words are separated by dots; the empty key has none. Two dots in a row enclose an empty word. Only a whole word can
// be a wildcard.
// Source: RabbitMQ, routing: topic.
type topic struct {
	literal direct         // the bindings whose patterns have no wildcards: one look for all words
	root    *node          // of the others
	words   map[edge]*node // the children by literal word, of all nodes: one map is smaller than one per node
	at      []*node        // working memory: the set of nodes before and after a word
	next    []*node
	stamp   uint64 // number of the set being filled
}

// node is a prefix of patterns.
type node struct {
	parent     *node
	word       string // by which the parent leads here
	star, hash *node  // the children by wildcard
	literals   int    // number of children in words
	repeats    bool   // the node is its parent's hash
	bindings   bindingList
	stamp      uint64 // the last set it was put into
}

func (n *node) isLeaf() bool { return n.star == nil && n.hash == nil && n.literals == 0 }

type edge struct {
	from *node
	word string
}

func newTopic(*Exchange) matcher {
	return &topic{literal: direct{map[string]bindingList{}}, root: &node{}, words: map[edge]*node{}}
}

// isLiteral reports whether a pattern has no wildcard.
func isLiteral(pattern string) bool {
	for word := range strings.SplitSeq(pattern, ".") {
		if word == "*" || word == "#" {
			return false
		}
	}
	return true
}

func (t *topic) add(b *binding) {
	if isLiteral(b.RoutingKey) {
		t.literal.add(b)
		return
	}
	t.node(b.RoutingKey).bindings.add(b)
}

func (t *topic) remove(gone bindingList) (moved int) {
	for literal, some := range groups(gone, func(b *binding) bool { return isLiteral(b.RoutingKey) }) {
		if literal {
			moved += t.literal.remove(some)
		} else {
			moved += t.removePatterns(some)
		}
	}
	return moved
}

func (t *topic) removePatterns(gone bindingList) (moved int) {
	for n, some := range groups(gone, func(b *binding) *node { return t.node(b.RoutingKey) }) {
		moved += n.bindings.removeAll(some)
		t.prune(n)
	}
	clear(t.at[:cap(t.at)]) // so that the last match does not keep pruned nodes alive
	clear(t.next[:cap(t.next)])
	return moved
}

// prune takes a node out that leads to no binding any more, and its parents likewise.
func (t *topic) prune(n *node) {
	for n != t.root && len(n.bindings) == 0 && n.isLeaf() {
		switch p := n.parent; n {
		case p.star:
			p.star = nil
		case p.hash:
			p.hash = nil
		default:
			p.literals--
			delete(t.words, edge{p, n.word})
		}
		n = n.parent
	}
}

// node is the node of a pattern, made if need be.
func (t *topic) node(pattern string) *node {
	n := t.root
	for more := pattern != ""; more; {
		var word string
		word, pattern, more = strings.Cut(pattern, ".")
		n = t.child(n, word)
	}
	return n
}

func (t *topic) child(n *node, word string) *node {
	switch word {
	case "*":
		if n.star == nil {
			n.star = &node{parent: n, word: word}
		}
		return n.star
	case "#":
		if n.hash == nil {
			n.hash = &node{parent: n, word: word, repeats: true}
		}
		return n.hash
	}
	c := t.words[edge{n, word}]
	if c == nil {
		c = &node{parent: n, word: strings.Clone(word)}
		t.words[edge{n, c.word}] = c
		n.literals++
	}
	return c
}

func (t *topic) match(w *walk) {
	if len(t.literal.byKey) > 0 {
		if t.literal.match(w); w.tooMuch() {
			return
		}
	}
	if t.root.isLeaf() {
		return
	}
	for i := range w.keys() {
		t.stamp++
		t.next = t.next[:0]
		t.enter(t.root)
		t.at, t.next = t.next, t.at
		key := w.key(i)
		for more := len(key) > 0; more && len(t.at) > 0; {
			word := key
			dot := bytes.IndexByte(key, '.')
			if more = dot >= 0; more {
				word, key = key[:dot], key[dot+1:]
			}
			if w.work += nodeWork * len(t.at); w.tooMuch() {
				return
			}
			t.step(word)
		}
		for _, n := range t.at {
			w.reachAll(n.bindings)
		}
	}
}

// step moves the set on by one word.
func (t *topic) step(word []byte) {
	t.stamp++
	t.next = t.next[:0]
	for _, n := range t.at {
		if n.repeats {
			t.enter(n)
		}
		if n.star != nil {
			t.enter(n.star)
		}
		if n.literals > 0 {
			if c := t.words[edge{n, string(word)}]; c != nil {
				t.enter(c)
			}
		}
	}
	t.at, t.next = t.next, t.at
}

// enter puts n into the set, with the # nodes that follow it, for # may be no word at all.
func (t *topic) enter(n *node) {
	for ; n != nil && n.stamp != t.stamp; n = n.hash {
		n.stamp = t.stamp
		t.next = append(t.next, n)
	}
}
