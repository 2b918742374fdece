package management

import (
	"github.com/bartleby-mq/bartleby/internal/authz"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// An endpoint serves one method of one path.
type endpoint func(r *request) (answer, error)

// A route is a path below /api, its variable segments written as *, with what serves a method there.
type route struct {
	method string
	path   string
	need   authz.Tag
	serve  endpoint
}

// A node is a place in the tree of paths. The router of net/http cannot be used: it takes a segment that decodes to
// "/", which is how the default virtual host is written, for the end of a path.
type node struct {
	literal map[string]*node
	any     *node
	methods map[string]route
}

// found is where a path led, with the names in its variable segments.
type found struct {
	node  *node
	names []string
}

func (n *node) add(r route) {
	for segment := range strings.SplitSeq(r.path, "/") {
		next := n.literal[segment]
		if segment == "*" {
			next = n.any
		}
		if next == nil {
			next = &node{}
		}
		if segment == "*" {
			n.any = next
		} else {
			if n.literal == nil {
				n.literal = map[string]*node{}
			}
			n.literal[segment] = next
		}
		n = next
	}
	if n.methods == nil {
		n.methods = map[string]route{}
	}
	n.methods[r.method] = r
}

// find follows segments that are unescaped already; nil if they lead nowhere. A literal wins over a name.
func (n *node) find(segments, names []string) *found {
	if len(segments) == 0 {
		if n.methods == nil {
			return nil
		}
		return &found{n, names}
	}
	if next := n.literal[segments[0]]; next != nil {
		if f := next.find(segments[1:], names); f != nil {
			return f
		}
	}
	if n.any == nil {
		return nil
	}
	return n.any.find(segments[1:], append(slices.Clone(names), segments[0]))
}

// allowed lists the methods for the header Allow.
func (n *node) allowed() string {
	methods := slices.Collect(maps.Keys(n.methods))
	if slices.Contains(methods, http.MethodGet) {
		methods = append(methods, http.MethodHead)
	}
	methods = append(methods, http.MethodOptions)
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}
