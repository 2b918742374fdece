package topology

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// workMax bounds the work of one Route, in points, about 50 ms of them: who may bind could else make each message stop
// its virtual host for minutes. A binding that is followed or compared counts for one point, and so does each further
// routing key; an exchange after the first for exchangeWork, a node of a topic exchange for nodeWork, a header for
// headerWork.
const (
	workMax      = 4 << 20
	exchangeWork = 32
	nodeWork     = 16
	headerWork   = 16
)

// sortFrom is how many headers are put in order before they are looked for.
const sortFrom = 16

// Message is what routing looks at. Its slices are lent until Route returns.
type Message struct {
	Key  []byte   // the routing key
	More [][]byte // further routing keys: CC, then BCC

	// Properties is the encoded basic properties, as in a content header; nil is none.
	Properties []byte
	// Headers is the encoded headers table with its 4-octet length, as amqp.PropertyScan leaves it; nil is none. Octets
	// that are no table count as none.
	Headers []byte
	// Extra is header fields that the broker keeps beside the encoded ones, such as x-first-death-queue. They hide
	// encoded ones of the same name.
	Extra interface {
		Get(name string) (amqp.Value, bool)
	}

	// Early says that m is not due yet: a delayed exchange keeps it, and nothing is routed from there.
	Early bool

	// Entropy is fresh bits, for the kinds of exchange that choose by chance.
	Entropy uint64
}

// A Route is the way of a message: the answer of Topology.Route. Its slices of exchanges are lent until the next call.
type Route struct {
	// Queues is the queues that the message goes to, each once, in an order that depends on the history of bindings and
	// on the message alone. If there is none the message is unroutable.
	Queues []QueueID
	// ByKeys reports that the answer depended on nothing of the message but its keys: it holds for every message with
	// the same keys until Version changes.
	ByKeys bool

	Delayed []*Exchange // the delayed exchanges on the way of a message that is not due: they keep it
	Passed  []*Exchange // the delayed exchanges on the way of a message that is due
	Recent  []*Exchange // the exchanges of kind RecentHistory on the way

	Work    int  // points: what counts for how many, workMax tells
	TooMuch bool // they are more than workMax: the message goes nowhere, and Queues is what the caller gave
}

// Route finds where m goes when it is published to x. Its Queues are appended to out.
//
// An exchange whose own bindings m does not satisfy hands it to its alternate exchange, if that exists and was not
// visited; a binding to another exchange counts as satisfied wherever that leads.
//
// A message that takes more work than workMax goes nowhere.
// Source: RabbitMQ, routing; policies, alternate exchange.
func (t *Topology) Route(x *Exchange, m *Message, out []QueueID) Route {
	w := &t.walk
	w.pass++
	w.recent, w.delayed = w.recent[:0], w.delayed[:0]
	w.message, w.queues, w.byKeys = *m, out, true
	w.visit(x)
	w.work = 0 // the first exchange is no detour
	for i := 0; i < len(w.visited) && !w.tooMuch(); i++ {
		x := w.visited[i]
		if x.Delayed {
			w.delayed, w.byKeys = append(w.delayed, x), false
			if m.Early {
				continue
			}
		}
		w.satisfied = false
		x.matcher.match(w)
		if w.satisfied || x.Alternate == "" {
			continue
		}
		if alternate := t.exchanges[x.Alternate]; alternate != nil {
			w.visit(alternate)
		}
	}
	r := Route{Queues: out, Work: w.work, TooMuch: w.tooMuch()}
	if !r.TooMuch {
		r.Queues, r.ByKeys, r.Recent = w.queues, w.byKeys, w.recent
		if m.Early {
			r.Delayed = w.delayed
		} else {
			r.Passed = w.delayed
		}
	}
	w.end()
	return r
}

// walk is one Route under way. What was reached is marked with the number of the pass, which saves a set.
type walk struct {
	pass      uint64
	message   Message // a copy, so that the caller's need not escape to the heap
	queues    []QueueID
	visited   []*Exchange // in the order of visiting; those not matched yet are the work left
	recent    []*Exchange // those of kind RecentHistory among them
	delayed   []*Exchange // those of DelayedType: they keep the message if it is early
	satisfied bool        // a binding of the present exchange
	byKeys    bool        // nothing of the message but its keys was looked at
	headers   amqp.Table  // of message, decoded when first asked for; many are in the order of their names
	decoded   bool
	work      int // points, see workMax
}

// tooMuch reports whether the walk has done more work than a message may take.
func (w *walk) tooMuch() bool { return w.work > workMax }

// reachAll follows bindings that the message satisfies. It stops when they are too much.
func (w *walk) reachAll(list bindingList) {
	w.work += len(list)
	for i := 0; i < len(list) && !w.tooMuch(); i++ {
		for ; i < len(list) && list[i].queue != nil; i++ {
			w.reachQueue(list[i].queue)
		}
		if i < len(list) {
			w.reach(list[i])
		}
	}
}

// reach follows a binding that the message satisfies.
func (w *walk) reach(b *binding) {
	if b.queue != nil {
		w.reachQueue(b.queue)
		return
	}
	w.satisfied = true
	w.visit(b.exchange)
}

func (w *walk) reachQueue(q *queue) {
	w.satisfied = true
	if q.pass != w.pass {
		q.pass = w.pass
		w.queues = append(w.queues, q.id)
	}
}

func (w *walk) visit(x *Exchange) {
	if x.pass != w.pass {
		x.pass = w.pass
		w.work += exchangeWork
		w.visited = append(w.visited, x)
	}
}

// end lets go of what the caller lent.
func (w *walk) end() {
	clear(w.visited)
	w.visited = w.visited[:0]
	w.message, w.queues = Message{}, nil
	w.headers, w.decoded = nil, false
}

// keys is the number of routing keys; key is the i-th of them.
func (w *walk) keys() int { return 1 + len(w.message.More) }

func (w *walk) key(i int) []byte {
	if i == 0 {
		return w.message.Key
	}
	return w.message.More[i-1]
}

// header is the message's header field of that name.
func (w *walk) header(name string) (v amqp.Value, ok bool) {
	w.byKeys = false
	if extra := w.message.Extra; extra != nil {
		if v, ok := extra.Get(name); ok {
			return v, true
		}
	}
	if !w.decoded {
		w.decoded = true
		if len(w.message.Headers) > 0 {
			w.headers, _, _ = amqp.ParseTable(w.message.Headers) // nil on error: as if there were none
		}
		if len(w.headers) >= sortFrom {
			// of equal names the first counts
			slices.SortStableFunc(w.headers, func(a, b amqp.Field) int { return strings.Compare(a.Name, b.Name) })
		}
	}
	if len(w.headers) < sortFrom {
		return w.headers.Get(name)
	}
	i, found := slices.BinarySearchFunc(w.headers, name, func(f amqp.Field, name string) int { return strings.Compare(f.Name, name) })
	if !found {
		return amqp.Value{}, false
	}
	return w.headers[i].Value, true
}

// properties is the message's basic properties; all are absent if they do not decode.
func (w *walk) properties() amqp.Properties {
	w.byKeys = false
	if w.message.Properties == nil {
		return amqp.Properties{}
	}
	p, err := amqp.ParseProperties(w.message.Properties)
	if err != nil {
		return amqp.Properties{}
	}
	return p
}

// draw is one of n by chance, each as likely as the others; n is not zero. Every draw of a walk is another.
func (w *walk) draw(n int) int {
	w.byKeys = false
	w.message.Entropy += spread
	i, _ := bits.Mul64(mix(w.message.Entropy), uint64(n))
	return int(i)
}
