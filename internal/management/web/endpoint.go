package web

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/authz"
)

// A Handler serves a request.
type Handler func(r *Request) (Answer, error)

// An Endpoint serves one method of one path. It is declared beside its handler; the router, the OpenAPI document, the
// audit log and the tests read the declaration.
type Endpoint struct {
	Pattern string    // method and path below /api, such as GET queues/{vhost}/{queue}
	Tag     authz.Tag // the tag that a user needs; without one everybody is denied
	Serve   Handler
	Scope   Scope

	// What the OpenAPI document says: a sentence, and the shapes of the request's body and of the answer; nil for none.
	Summary string
	In, Out any

	// it reads many messages, or a whole virtual host: it shares a processor with others, see Request.BeginTask
	Slow     bool
	Body     BodySize // the most that is read of the request's body
	Relieves bool     // its body names what is to leave memory: it is read while a memory alarm holds
	Media    string   // media type of the answer; empty: JSON, which the client has to accept
	Audit    Audit    // when the audit log has a record of it
}

// A Scope says which nodes of a cluster an endpoint concerns. Nothing reads it as long as there is one node.
type Scope uint8

const (
	// the node that is asked, or the one that the path names; and what all nodes know, such as users
	ThisNode Scope = iota
	Leader         // the node that leads the virtual host in the path
	AllNodes       // all nodes, whose answers are one
)

// A BodySize says how large the body of a request may be.
type BodySize uint8

const (
	SmallBody   BodySize = iota // smallBytesMax
	BindingBody                 // bindingBytesMax: of a binding, which is kept in memory
	LargeBody                   // as large as the operator allows: messages, or definitions
)

// max is the bound in bytes. The operator allows large.
func (b BodySize) max(large int64) int64 {
	switch b {
	case LargeBody:
		return large
	case BindingBody:
		return min(BindingBytesMax, large)
	}
	return min(SmallBytesMax, large)
}

// An Audit says when the audit log has a record of a request. Whether a handler changed something, it says itself: see
// Request.Unchanged.
type Audit uint8

const (
	AuditChanges Audit = iota // after it, unless its method is GET, it was refused, or it changed nothing
	// likewise; it changes users, permissions, virtual hosts or limits only, and what those are shows whether it did
	AuditAccounts
	AuditBefore    // before it: the answer carries everything away, and may be cut off
	AuditByHandler // when the handler writes it
	// never: it moves single messages, as clients do over AMQP, or changes nothing in spite of its method
	Unaudited
)

// Method is the HTTP method.
func (e *Endpoint) Method() string {
	method, _, _ := strings.Cut(e.Pattern, " ")
	return method
}

// Path is the path below /api, with names for its variable segments.
func (e *Endpoint) Path() string {
	_, path, _ := strings.Cut(e.Pattern, " ")
	return path
}

// variables are the variable segments of a path.
var variables = regexp.MustCompile(`\{\w+\}`)

// Route is the path with * for each variable segment, as metrics show it.
func (e *Endpoint) Route() string { return variables.ReplaceAllString(e.Path(), "*") }

// Has reports whether the path has a variable segment of that name.
func (e *Endpoint) Has(name string) bool {
	return e != nil && slices.Contains(strings.Split(e.Path(), "/"), "{"+name+"}")
}

// Changes reports whether the method is one that may change something.
func (e *Endpoint) Changes() bool { return e.Method() != http.MethodGet }
