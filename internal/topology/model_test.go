package topology

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// model is a slow and obvious topology.
type model struct {
	exchanges map[string]Exchange
	queues    map[string]QueueID
	bindings  []Binding
}

func (m *model) route(x string, keys []string, fields amqp.Table) []QueueID {
	found := map[QueueID]bool{}
	m.visit(x, keys, fields, map[string]bool{}, found)
	var ids []QueueID
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (m *model) visit(name string, keys []string, fields amqp.Table, seen map[string]bool, found map[QueueID]bool) {
	x, ok := m.exchanges[name]
	if seen[name] || name != "" && !ok {
		return
	}
	seen[name] = true
	satisfied := false
	for _, key := range keys {
		if id, ok := m.queues[key]; ok && name == "" {
			found[id] = true
		}
	}
	for _, b := range m.chosen(x, keys, fields) {
		satisfied = true
		if b.ToQueue {
			found[m.queues[b.Destination]] = true
		} else {
			m.visit(b.Destination, keys, fields, seen, found)
		}
	}
	if !satisfied && x.Alternate != "" {
		m.visit(x.Alternate, keys, fields, seen, found)
	}
}

// chosen is the bindings of x that a message follows.
func (m *model) chosen(x Exchange, keys []string, fields amqp.Table) []Binding {
	var all, satisfied, points []Binding
	seen := map[string]bool{}
	for _, b := range m.bindings {
		if b.Source != x.Name {
			continue
		}
		all = append(all, b)
		if matches(x.Kind, b, keys, fields) {
			satisfied = append(satisfied, b)
		}
		if n, err := strconv.Atoi(b.RoutingKey); err == nil && !seen[fmt.Sprint(b.ToQueue, b.Destination)] {
			seen[fmt.Sprint(b.ToQueue, b.Destination)] = true
			points = append(points, slices.Repeat([]Binding{b}, n)...)
		}
	}
	switch {
	case len(all) == 0:
		return nil
	case x.Kind == ConsistentHash:
		input := []byte(keys[0])
		if header, ok := x.Arguments.Get("hash-header"); ok {
			if v, ok := fields.Get(header.Str); !ok {
				input = nil
			} else if n, ok := v.Integer(); ok {
				input = amqp.AppendTable(nil, amqp.Table{{Value: amqp.Int64(n)}})
			} else {
				input = amqp.AppendTable(nil, amqp.Table{{Value: v}})
			}
		}
		return []Binding{points[jump(hashOf(input), uint64(len(points)))]}
	case x.Kind == ModulusHash:
		slices.SortStableFunc(all, func(a, b Binding) int {
			return strings.Compare(fmt.Sprint(a.ToQueue, " ", a.Destination), fmt.Sprint(b.ToQueue, " ", b.Destination))
		})
		h := hashOf([]byte(keys[0]))
		for _, k := range keys[1:] {
			h = mix(h + hashOf([]byte(k)))
		}
		return all[h%uint64(len(all)):][:1]
	}
	return satisfied
}

func matches(k ExchangeKind, b Binding, keys []string, fields amqp.Table) bool {
	switch k {
	case Direct:
		return slices.Contains(keys, b.RoutingKey)
	case Topic:
		return slices.ContainsFunc(keys, func(key string) bool { return topicMatches(words(b.RoutingKey), words(key)) })
	case Headers:
		return headersMatch(b.Arguments, fields)
	}
	return k == Fanout
}

func words(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, ".")
}

func topicMatches(pattern, key []string) bool {
	switch {
	case len(pattern) == 0:
		return len(key) == 0
	case pattern[0] == "#":
		return topicMatches(pattern[1:], key) || len(key) > 0 && topicMatches(pattern, key[1:])
	case len(key) == 0:
		return false
	}
	return (pattern[0] == "*" || pattern[0] == key[0]) && topicMatches(pattern[1:], key[1:])
}

func headersMatch(arguments, fields amqp.Table) bool {
	mode, _ := arguments.Get("x-match")
	yes, no := 0, 0
	for _, a := range arguments {
		if a.Name == "x-match" || strings.HasPrefix(a.Name, "x-") && !strings.HasSuffix(mode.Str, "with-x") {
			continue
		}
		v, ok := fields.Get(a.Name)
		if ok && (a.Value.Kind == amqp.KindVoid || a.Value.Equivalent(v)) {
			yes++
		} else {
			no++
		}
	}
	if strings.HasPrefix(mode.Str, "any") {
		return yes > 0
	}
	return no == 0
}

func (m *model) unbind(gone func(Binding) bool) (orphans []string) {
	before := map[string]bool{}
	for _, b := range m.bindings {
		before[b.Source] = true
	}
	m.bindings = slices.DeleteFunc(m.bindings, gone)
	for _, b := range m.bindings {
		delete(before, b.Source)
	}
	for name := range before {
		if x, ok := m.exchanges[name]; ok && x.AutoDelete {
			orphans = append(orphans, name)
		}
	}
	slices.Sort(orphans)
	return orphans
}

func (m *model) bind(b Binding) bool {
	if m.bound(b) {
		return false
	}
	_, source := m.exchanges[b.Source]
	_, destination := m.exchanges[b.Destination]
	if b.ToQueue {
		_, destination = m.queues[b.Destination]
	}
	if !source || !destination {
		return false
	}
	m.bindings = append(m.bindings, b)
	return true
}

func (m *model) bound(b Binding) bool {
	return slices.ContainsFunc(m.bindings, func(o Binding) bool { return sameBinding(o, b) })
}

func sameBinding(a, b Binding) bool {
	return a.Source == b.Source && a.Destination == b.Destination && a.ToQueue == b.ToQueue &&
		a.RoutingKey == b.RoutingKey && a.Arguments.Equal(b.Arguments)
}

// check holds the invariants of the package comment against t.
func check(tb testing.TB, t *Topology) {
	tb.Helper()
	ordered := func(what string, l bindingList) {
		for i := 1; i < len(l); i++ {
			if l[i-1].seq >= l[i].seq {
				tb.Fatalf("%s: bindings out of order", what)
			}
		}
	}
	ends, bytes := 0, 0
	for name, q := range t.queues {
		ordered("queue "+name, q.in)
		ends += len(q.in)
	}
	total := 0
	for name, x := range t.exchanges {
		ordered("from "+name, x.out)
		ordered("to "+name, x.in)
		ends += len(x.in)
		total += len(x.out)
		if name != "" {
			bytes += x.bytes()
		}
		if len(x.ids) != len(x.out) {
			tb.Fatalf("exchange %q: %d identities for %d bindings", name, len(x.ids), len(x.out))
		}
		for _, b := range x.out {
			bytes += b.bytes()
			switch {
			case x.ids[b.id] != b || b.from != x:
				tb.Fatalf("exchange %q: a binding that it does not know", name)
			case !slices.Contains(*b.destinationList(), b):
				tb.Fatalf("exchange %q: a binding that its destination does not know", name)
			case b.queue != nil && t.queues[b.Destination] != b.queue, b.exchange != nil && t.exchanges[b.Destination] != b.exchange:
				tb.Fatalf("exchange %q: a binding to something deleted", name)
			}
		}
		if topic, ok := x.matcher.(*topic); ok && len(x.out) == 0 && (len(topic.words) > 0 || topic.root.star != nil || topic.root.hash != nil) {
			tb.Fatalf("exchange %q: its trie has nodes but no bindings", name)
		}
	}
	if bytes != t.bytes {
		tb.Fatalf("exchanges and bindings take %d bytes, %d are counted", bytes, t.bytes)
	}
	if ends != total {
		tb.Fatalf("%d bindings by source, %d by destination", total, ends)
	}
}

// rebuilt is a topology made of what t lists.
func rebuilt(t *Topology) *Topology {
	n := New()
	for x := range t.Exchanges() {
		n.Declare(Exchange{Name: x.Name, Kind: x.Kind, AutoDelete: x.AutoDelete, Alternate: x.Alternate, Arguments: x.Arguments})
	}
	for name, q := range t.queues {
		n.AddQueue(name, q.id)
	}
	for b := range t.Bindings() {
		n.Bind(b)
	}
	return n
}

func TestRandomTopologiesAgainstModel(t *testing.T) {
	// Broken if after any mix of changes a message went elsewhere than the plain rules say, a removal reported the
	// wrong exchanges, or a topology rebuilt from its own lists answered in another order.
	t.Parallel()
	for _, seed := range []uint64{1, 2, 3, rand.Uint64()} {
		t.Logf("seed %d", seed)
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), t: New(), seen: map[string]int{}}
		g.m = &model{exchanges: map[string]Exchange{}, queues: map[string]QueueID{}}
		for step := range 6000 {
			g.change(t, step)
			if step%4 == 0 {
				g.compare(t, step, nil)
			}
			if step%200 == 0 {
				check(t, g.t)
				n := rebuilt(g.t)
				check(t, n)
				for range 20 {
					g.compare(t, step, n)
				}
			}
		}
		for _, outcome := range []string{"declared", "deleted", "bound", "not bound", "unbound", "not unbound", "queue gone", "orphan", "routed", "unroutable", "keyed", "not keyed"} {
			if g.seen[outcome] == 0 {
				t.Errorf("the walk never saw the outcome %q", outcome)
			}
		}
	}
}

type generator struct {
	*rand.Rand
	t    *Topology
	m    *model
	seen map[string]int
}

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) exchange() string { return fmt.Sprint("x", g.IntN(8)) }
func (g *generator) queue() string    { return fmt.Sprint("q", g.IntN(6)) }

func (g *generator) key(wild bool) string {
	alphabet := []string{"a", "b", "", "q1", "a*"}
	if wild {
		alphabet = append(alphabet, "*", "#", "#", "*")
	}
	w := make([]string, g.IntN(5))
	for i := range w {
		w[i] = g.pick(alphabet...)
	}
	return strings.Join(w, ".")
}

func (g *generator) fields(binding bool) amqp.Table {
	var f amqp.Table
	for _, name := range []string{"a", "b", "x-c"} {
		if g.IntN(2) == 0 {
			continue
		}
		vs := []amqp.Value{amqp.Int32(1), amqp.Int64(1), amqp.String("1"), amqp.Void(), amqp.Float64(1), amqp.Bool(true)}
		f = append(f, amqp.Field{Name: name, Value: vs[g.IntN(len(vs))]})
	}
	if mode := g.pick("", "all", "any", "all-with-x", "any-with-x"); binding && mode != "" {
		f = append(f, amqp.Field{Name: "x-match", Value: amqp.String(mode)})
	}
	return f
}

func (g *generator) binding() Binding {
	b := Binding{Source: g.exchange(), Destination: g.exchange(), RoutingKey: g.key(true), Arguments: g.fields(true)}
	if b.ToQueue = g.IntN(3) > 0; b.ToQueue {
		b.Destination = g.queue()
	}
	if g.m.exchanges[b.Source].Kind == ConsistentHash {
		b.RoutingKey = fmt.Sprint(1 + g.IntN(4))
	}
	return b
}

func (g *generator) change(t *testing.T, step int) {
	version := g.t.Version()
	changed := false
	var removed Removed
	var orphans []string
	before := len(g.m.bindings)
	switch k := g.IntN(100); {
	case k < 8:
		x := Exchange{Name: g.exchange(), Kind: ExchangeKind(1 + g.IntN(int(ModulusHash))), AutoDelete: g.IntN(2) == 0, Alternate: g.pick("", g.exchange())}
		if x.Kind == ConsistentHash && g.IntN(2) == 0 {
			x.Arguments = amqp.Table{field("hash-header", amqp.String("a"))}
		}
		if _, exists := g.m.exchanges[x.Name]; !exists {
			g.m.exchanges[x.Name] = x
			changed = true
			g.seen["declared"]++
		}
		g.t.Declare(x)
	case k < 10:
		name := g.exchange()
		_, changed = g.m.exchanges[name]
		delete(g.m.exchanges, name)
		orphans = g.m.unbind(func(b Binding) bool { return b.Source == name || !b.ToQueue && b.Destination == name })
		removed = g.t.DeleteExchange(name)
		g.seen["deleted"]++
	case k < 14:
		name := g.queue()
		_, exists := g.m.queues[name]
		if changed = !exists; changed {
			g.m.queues[name] = QueueID(step + 1)
		}
		if g.t.AddQueue(name, QueueID(step+1)) != changed {
			t.Fatalf("step %d: AddQueue(%s) is not %v", step, name, changed)
		}
	case k < 15:
		name := g.queue()
		_, changed = g.m.queues[name]
		delete(g.m.queues, name)
		orphans = g.m.unbind(func(b Binding) bool { return b.ToQueue && b.Destination == name })
		removed = g.t.DeleteQueue(name)
		g.seen["queue gone"]++
	case k < 18:
		name, alternate := g.exchange(), g.pick("", g.exchange())
		if x, ok := g.m.exchanges[name]; ok {
			changed = x.Alternate != alternate
			x.Alternate = alternate
			g.m.exchanges[name] = x
		}
		g.t.SetAlternate(name, alternate)
	case k < 35:
		b := g.binding()
		if len(g.m.bindings) > 0 && g.IntN(4) > 0 {
			b = g.m.bindings[g.IntN(len(g.m.bindings))]
		}
		if changed = g.m.bound(b); changed {
			g.seen["unbound"]++
		} else {
			g.seen["not unbound"]++
		}
		if g.t.Bound(b) != changed {
			t.Fatalf("step %d: Bound(%v) is not %v", step, b, changed)
		}
		orphans = g.m.unbind(func(o Binding) bool { return sameBinding(o, b) })
		removed = g.t.Unbind(b)
	default:
		b := g.binding()
		if changed = g.m.bind(b); changed {
			g.seen["bound"]++
		} else {
			g.seen["not bound"]++
		}
		if g.t.Bind(b) != changed {
			t.Fatalf("step %d: Bind(%v) is not %v", step, b, changed)
		}
	}
	if !slices.Equal(removed.Orphans, orphans) {
		t.Fatalf("step %d: orphans %v, want %v", step, removed.Orphans, orphans)
	}
	if gone := before - len(g.m.bindings); gone > 0 && len(removed.Bindings) != gone {
		t.Fatalf("step %d: %d bindings removed, want %d", step, len(removed.Bindings), gone)
	}
	if changed != (g.t.Version() != version) {
		t.Fatalf("step %d: changed is %v, version went from %d to %d", step, changed, version, g.t.Version())
	}
	g.seen["orphan"] += len(orphans)
	g.compareLists(t, step)
}

func (g *generator) compareLists(t *testing.T, step int) {
	x, q := g.exchange(), g.queue()
	for what, list := range map[string]struct {
		got  iter.Seq[Binding]
		want func(Binding) bool
	}{
		"all":       {g.t.Bindings(), func(Binding) bool { return true }},
		"from " + x: {g.t.BindingsFrom(x), func(b Binding) bool { return b.Source == x }},
		"to " + x:   {g.t.BindingsTo(x, false), func(b Binding) bool { return !b.ToQueue && b.Destination == x }},
		"to " + q:   {g.t.BindingsTo(q, true), func(b Binding) bool { return b.ToQueue && b.Destination == q }},
	} {
		var want []Binding
		for _, b := range g.m.bindings {
			if list.want(b) {
				want = append(want, b)
			}
		}
		slices.SortStableFunc(want, func(a, b Binding) int { return strings.Compare(a.Source, b.Source) })
		if got := slices.Collect(list.got); !slices.EqualFunc(got, want, sameBinding) {
			t.Fatalf("step %d: bindings %s are %v, want %v", step, what, got, want)
		}
	}
	if got, want := g.t.HasBindingsFrom(x), slices.ContainsFunc(g.m.bindings, func(b Binding) bool { return b.Source == x }); got != want {
		t.Fatalf("step %d: HasBindingsFrom(%s) is %v", step, x, got)
	}
}

// compare routes one message by the model and by the topology, and by n in exactly the same order if that is given.
func (g *generator) compare(t *testing.T, step int, n *Topology) {
	x := g.pick("", g.exchange())
	if g.t.Exchange(x) == nil {
		return
	}
	keys := []string{g.key(false)}
	for g.IntN(3) == 0 {
		keys = append(keys, g.pick(g.key(false), g.queue()))
	}
	fields := g.fields(false)
	m := message(fields, keys...)
	route := g.t.Route(g.t.Exchange(x), m, nil)
	got, keyed := route.Queues, route.ByKeys
	if n != nil {
		if again := n.Route(n.Exchange(x), m, nil).Queues; !slices.Equal(got, again) {
			t.Fatalf("step %d: %q %q goes to %v, in a rebuilt topology to %v", step, x, keys, got, again)
		}
	}
	slices.Sort(got)
	if want := g.m.route(x, keys, fields); !slices.Equal(got, want) {
		t.Fatalf("step %d: %q %q %v goes to %v, want %v", step, x, keys, fields, got, want)
	}
	if other := g.t.Route(g.t.Exchange(x), message(g.fields(false), keys...), nil).Queues; keyed {
		slices.Sort(other)
		if !slices.Equal(got, other) {
			t.Fatalf("step %d: %q %q was said to go by keys alone", step, x, keys)
		}
	}
	g.seen[map[bool]string{true: "routed", false: "unroutable"}[len(got) > 0]]++
	g.seen[map[bool]string{true: "keyed", false: "not keyed"}[keyed]]++
}

// message is one with these headers and keys.
func message(fields amqp.Table, keys ...string) *Message {
	m := &Message{Key: []byte(keys[0])}
	for _, k := range keys[1:] {
		m.More = append(m.More, []byte(k))
	}
	if fields != nil {
		m.Headers = amqp.AppendTable(nil, fields)
	}
	return m
}
