package oracle

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// exchange is an exchange as declared; its name is its key in the VHost.
type exchange struct {
	kind      string // direct, fanout, topic, headers
	internal  bool
	arguments amqp.Table
}

// binding leads from an exchange to a queue, or to another exchange.
type binding struct {
	source, destination string
	toExchange          bool
	key                 string
	arguments           amqp.Table
}

func (b *binding) same(o *binding) bool {
	return b.source == o.source && b.destination == o.destination && b.toExchange == o.toExchange && b.key == o.key &&
		showTable(b.arguments) == showTable(o.arguments)
}

// declareExchange decides exchange.declare. Source: AMQP exchange.declare.
func (v *VHost) declareExchange(c *Command) uint16 {
	x := v.exchanges[c.Name]
	switch {
	case c.Name == "":
		return amqp.CodeAccessRefused
	case x == nil:
		v.exchanges[c.Name] = &exchange{kind: c.Type, internal: c.Internal, arguments: c.Arguments}
	case x.kind != c.Type || x.internal != c.Internal || textOf(x.arguments, "alternate-exchange") != textOf(c.Arguments, "alternate-exchange"):
		return amqp.CodePreconditionFailed
	}
	return 0
}

// deleteExchange deletes an exchange with its bindings, as source and as destination.
func (v *VHost) deleteExchange(name string) {
	delete(v.exchanges, name)
	v.bindings = slices.DeleteFunc(v.bindings, func(b binding) bool {
		return b.source == name || b.toExchange && b.destination == name
	})
}

// bind decides queue.bind and exchange.bind; unbind what takes a binding away. Source: AMQP queue.bind.
func (v *VHost) bind(c *Command) uint16 {
	b := binding{c.Exchange, c.Name, c.ToExchange, c.Key, c.Arguments}
	if code := v.checkBinding(&b); code != 0 {
		return code
	}
	if !slices.ContainsFunc(v.bindings, func(o binding) bool { return b.same(&o) }) {
		v.bindings = append(v.bindings, b)
	}
	return 0
}

// unbind decides queue.unbind and exchange.unbind: only the default exchange is refused; what is missing is no error.
func (v *VHost) unbind(c *Command) uint16 {
	b := binding{c.Exchange, c.Name, c.ToExchange, c.Key, c.Arguments}
	if onDefaultExchange(&b) {
		return amqp.CodeAccessRefused
	}
	v.bindings = slices.DeleteFunc(v.bindings, func(o binding) bool { return b.same(&o) })
	return 0
}

func onDefaultExchange(b *binding) bool { return b.source == "" || b.toExchange && b.destination == "" }

func (v *VHost) checkBinding(b *binding) uint16 {
	switch {
	case onDefaultExchange(b):
		return amqp.CodeAccessRefused
	case v.exchanges[b.source] == nil, b.toExchange && v.exchanges[b.destination] == nil, !b.toExchange && v.queue(b.destination) == nil:
		return amqp.CodeNotFound
	}
	return 0
}

// route is the queues that a message goes to from an exchange, each once. An exchange none of whose own bindings the
// message satisfies hands it to its alternate exchange; each exchange is visited once.
// Source: RabbitMQ ae, e2e, sender-selected.
func (v *VHost) route(name string, keys []string, headers amqp.Table) (targets []*queue) {
	visited := []string{name}
	visit := func(x string) {
		if v.exchanges[x] != nil && !slices.Contains(visited, x) {
			visited = append(visited, x)
		}
	}
	reach := func(q *queue) {
		if q != nil && !slices.Contains(targets, q) {
			targets = append(targets, q)
		}
	}
	for i := 0; i < len(visited); i++ {
		x := visited[i]
		if x == "" { // every queue is bound to the default exchange by its name
			for _, k := range keys {
				reach(v.queue(k))
			}
			continue
		}
		satisfied := v.satisfied(x, keys, headers)
		for _, b := range satisfied {
			if b.toExchange {
				visit(b.destination)
			} else {
				reach(v.queue(b.destination))
			}
		}
		if alternate, ok := v.alternate(x); ok && len(satisfied) == 0 {
			visit(alternate)
		}
	}
	return targets
}

// satisfied is the bindings of an exchange that a message satisfies.
func (v *VHost) satisfied(name string, keys []string, headers amqp.Table) (list []binding) {
	kind := v.exchanges[name].kind
	if kind == "fanout" || kind == "headers" {
		keys = keys[:1]
	}
	for _, key := range keys {
		var of []binding
		for _, b := range v.bindings {
			if b.source == name && (kind == "fanout" || kind == "direct" && b.key == key ||
				kind == "topic" && topicMatches(words(b.key), words(key)) || kind == "headers" && headersMatch(b.arguments, headers)) {
				of = append(of, b)
			}
		}
		if kind == "topic" {
			slices.SortStableFunc(of, func(a, b binding) int { return comparePatterns(words(a.key), words(b.key)) })
		}
		list = append(list, of...)
	}
	return list
}

func words(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, ".")
}

// topicMatches: * is one word, # any number of them. Source: AMQP topic exchange.
func topicMatches(pattern, key []string) bool {
	switch {
	case len(pattern) == 0:
		return len(key) == 0
	case pattern[0] == "#":
		return topicMatches(pattern[1:], key) || len(key) > 0 && topicMatches(pattern, key[1:])
	}
	return len(key) > 0 && (pattern[0] == "*" || pattern[0] == key[0]) && topicMatches(pattern[1:], key[1:])
}

// comparePatterns is the package's convention of order.
func comparePatterns(a, b []string) int {
	rank := func(word string) int {
		switch word {
		case "*":
			return 0
		case "#":
			return 2
		}
		return 1
	}
	for i := 0; i < len(a) && i < len(b); i++ {
		if d := rank(a[i]) - rank(b[i]); d != 0 {
			return d
		}
	}
	return len(a) - len(b)
}

// headersMatch compares a binding's arguments with a message's headers. Source: AMQP headers exchange.
func headersMatch(arguments, headers amqp.Table) bool {
	mode := textOf(arguments, "x-match")
	if mode == "" {
		mode = "all"
	}
	matched, missed := false, false
	for _, f := range arguments {
		if f.Name == "x-match" || strings.HasPrefix(f.Name, "x-") && !strings.HasSuffix(mode, "-with-x") {
			continue
		}
		if value, ok := headers.Get(f.Name); ok && value.Equivalent(f.Value) {
			matched = true
		} else {
			missed = true
		}
	}
	if strings.HasPrefix(mode, "any") {
		return matched
	}
	return !missed
}

// alternate is where an exchange hands what it cannot route: its argument, else a policy's.
// Source: docs/compat/policies-and-permissions.md#12.
func (v *VHost) alternate(name string) (string, bool) {
	if a, ok := v.exchanges[name].arguments.Get("alternate-exchange"); ok {
		return a.Str, a.Str != ""
	}
	if p := v.policyOf(false, name, "all", "exchanges"); p != nil {
		s := textOf(p.Definition, "alternate-exchange")
		return s, s != ""
	}
	return "", false
}

// tooLarge reports whether a command leaves arguments that are larger than a frame of 128 KiB, or have more than 4096
// values.
// Source: ours.
func tooLarge(c *Command) bool {
	switch c.Kind {
	case DeclareExchange, DeclareQueue, Bind, Consume:
		values := 0
		for _, f := range c.Arguments {
			values += valuesOf(f.Value)
		}
		return values > 4096 || len(amqp.AppendTable(nil, c.Arguments)) > 128<<10
	}
	return false
}

// valuesOf counts a value, and those within it.
func valuesOf(v amqp.Value) int {
	n := 1
	for _, f := range v.Table {
		n += valuesOf(f.Value)
	}
	for _, e := range v.Array {
		n += valuesOf(e)
	}
	return n
}
