package management

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// A node is a place in the tree of paths. The router of net/http cannot be used: it takes a segment that decodes to
// "/", which is how the default virtual host is written, for the end of a path.
type node struct {
	literal map[string]*node
	any     *node
	methods map[string]*web.Endpoint
}

func (n *node) add(e *web.Endpoint) {
	for segment := range strings.SplitSeq(e.Path(), "/") {
		variable := strings.HasPrefix(segment, "{")
		next := n.literal[segment]
		if variable {
			next = n.any
		}
		if next == nil {
			next = &node{}
		}
		if variable {
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
		n.methods = map[string]*web.Endpoint{}
	}
	n.methods[e.Method()] = e
}

// find follows segments that are unescaped already; nil if they lead nowhere. A literal wins over a name.
func (n *node) find(segments []string) *node {
	if len(segments) == 0 {
		if n.methods == nil {
			return nil
		}
		return n
	}
	if next := n.literal[segments[0]]; next != nil {
		if found := next.find(segments[1:]); found != nil {
			return found
		}
	}
	if n.any == nil {
		return nil
	}
	return n.any.find(segments[1:])
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
