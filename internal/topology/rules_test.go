package topology

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// vhost builds a topology from lines and knows its queues by name:
//
//	exchange NAME KIND [auto-delete] [alternate=NAME]
//	queue NAME
//	bind SOURCE -> queue|exchange NAME [KEY]
type vhost struct {
	*Topology
	testing.TB
	names map[QueueID]string
}

func newVhost(t testing.TB, lines string) *vhost {
	v := &vhost{New(), t, map[QueueID]string{}}
	for line := range strings.Lines(lines) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "exchange":
			k, ok := ParseKind(f[2])
			if !ok {
				t.Fatalf("no kind %q", f[2])
			}
			x := Exchange{Name: f[1], Kind: k}
			for _, o := range f[3:] {
				if name, ok := strings.CutPrefix(o, "alternate="); ok {
					x.Alternate = name
				}
				x.AutoDelete = x.AutoDelete || o == "auto-delete"
			}
			v.Declare(x)
		case "queue":
			v.queue(f[1])
		case "bind":
			key := ""
			if len(f) > 5 {
				key = f[5]
			}
			if !v.Bind(Binding{Source: f[1], Destination: f[4], ToQueue: f[3] == "queue", RoutingKey: key}) {
				t.Fatalf("not bound: %s", line)
			}
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return v
}

func (v *vhost) queue(name string) {
	id := QueueID(len(v.names) + 1)
	v.names[id] = name
	if !v.AddQueue(name, id) {
		v.Fatalf("queue %s exists", name)
	}
}

// goes checks that m, published to x, goes to the queues named in want, in that order.
func (v *vhost) goes(x string, m *Message, want string) {
	v.Helper()
	ids := v.Route(v.Exchange(x), m, nil).Queues
	var got []string
	for _, id := range ids {
		got = append(got, v.names[id])
	}
	if !slices.Equal(got, strings.Fields(want)) {
		v.Errorf("%q with key %q goes to %v, want [%s]", x, m.Key, got, want)
	}
	check(v, v.Topology)
}

func TestDefaultExchange(t *testing.T) {
	// Broken if a queue could not be reached by its name, with no binding or after one was removed.
	t.Parallel()
	v := newVhost(t, `
		exchange x direct
		queue q1
		queue q2
		bind x -> queue q1 k`)
	v.goes("", message(nil, "q1"), "q1")
	v.Unbind(Binding{Source: "x", Destination: "q1", ToQueue: true, RoutingKey: "k"})
	v.goes("", message(nil, "q1"), "q1")
	v.goes("", message(nil, "q2", "q1", "q2"), "q2 q1")
	v.goes("", message(nil, "q3"), "")
	v.goes("", message(nil, ""), "")
	v.DeleteQueue("q1")
	v.goes("", message(nil, "q1"), "")
	for _, b := range []Binding{{Destination: "q2", ToQueue: true, RoutingKey: "k"}, {Source: "x"}} {
		if v.Bind(b) {
			t.Errorf("bound the default exchange: %+v", b)
		}
	}
	if v.DeleteExchange("x"); v.Exchange("x") != nil {
		t.Error("x still exists")
	}
	if v.DeleteExchange(""); v.Exchange("") == nil {
		t.Error("the default exchange was deleted")
	}
	v.SetAlternate("", "amq.fanout")
	if v.Exchange("").Alternate != "" {
		t.Error("the default exchange has an alternate")
	}
}

func TestDirectAndFanout(t *testing.T) {
	// Broken if direct compared keys other than octet by octet, or fanout looked at them, or a queue got two copies.
	t.Parallel()
	v := newVhost(t, `
		exchange d direct
		exchange f fanout
		queue q1
		queue q2
		bind d -> queue q1 k
		bind d -> queue q2 k
		bind d -> queue q1 cc
		bind d -> queue q2 K
		bind d -> queue q2 *
		bind d -> queue q1
		bind f -> queue q2 a
		bind f -> queue q1 b
		bind f -> queue q1 c`)
	v.goes("d", message(nil, "k"), "q1 q2")
	v.goes("d", message(nil, "K"), "q2")
	v.goes("d", message(nil, "*"), "q2")
	v.goes("d", message(nil, ""), "q1")
	v.goes("d", message(nil, "k "), "")
	v.goes("d", message(nil, "none", "cc"), "q1")
	v.goes("d", message(nil, "none", "nor this", "K"), "q2")
	v.goes("d", message(nil, "cc", "k"), "q1 q2")
	v.goes("f", message(nil, "whatever", "else"), "q2 q1")
}

func TestTopicPatterns(t *testing.T) {
	// Broken if a topic pattern matched a key it must not, or missed one.
	t.Parallel()
	for _, c := range []struct{ pattern, yes, no string }{
		// Keys are separated by a space; ~ is the empty key.
		{"a.b", "a.b", "~ a b a.b.c a.c a.b. .a.b a..b A.B"},
		{"~", "~", "a . a.b"},
		{"*", "a * ab", "~ a.b . a. .a"},
		{"#", "~ a a.b . .. a..b", ""},
		{"*.*", "a.b . a. .b", "~ a a.b.c .."},
		{"a.*", "a.b a. a.*", "~ a a.b.c b.a"},
		{"*.a", "b.a .a", "a b.a.c ~"},
		{"a.#", "a a.b a.b.c a. a..", "~ ab b.a .a"},
		{"#.a", "a b.a c.b.a .a ..a", "~ a.b a."},
		{"a.#.b", "a.b a.c.b a.c.d.b a..b a.b.b", "~ a b a.b.c"},
		{"#.a.#", "a b.a a.b c.a.d .a. a.a", "~ b . b.c"},
		{"*.#", "a a.b . .a", "~"},
		{"#.*", "a a.b . a.", "~"},
		{"#.#", "~ a a.b .", ""},
		{"*.#.*", "a.b . a.b.c", "~ a"},
		{"a.#.#.b", "a.b a.c.b a.b.b", "a b"},
		{"#.a.#.a.#", "a.a a.b.a b.a.c.a.d", "a a.b ~"},
		{"a*", "a*", "a ab a.b aa"},
		{"#a", "#a", "a b.a ~"},
		{"a.*b", "a.*b", "a.b a.cb"},
		{"a..b", "a..b", "a.b a.c.b"},
		{"a.*.b", "a..b a.c.b", "a.b a...b"},
		{".", ".", "~ a .. a."},
		{".a", ".a", "a b.a ..a"},
		{"a.", "a.", "a a.b"},
		{"quick.*.rabbit", "quick.orange.rabbit", "quick.orange.male.rabbit lazy.orange.rabbit"},
	} {
		v := newVhost(t, "exchange x topic\nqueue q")
		b := Binding{Source: "x", Destination: "q", ToQueue: true, RoutingKey: strings.Trim(c.pattern, "~")}
		if !v.Bind(b) {
			t.Fatalf("%q cannot be bound", c.pattern)
		}
		for _, key := range strings.Fields(c.yes) {
			if ids := v.Route(v.Exchange("x"), message(nil, strings.Trim(key, "~")), nil).Queues; len(ids) != 1 {
				t.Errorf("%q does not match %q", c.pattern, key)
			}
		}
		for _, key := range strings.Fields(c.no) {
			if ids := v.Route(v.Exchange("x"), message(nil, strings.Trim(key, "~")), nil).Queues; len(ids) != 0 {
				t.Errorf("%q matches %q", c.pattern, key)
			}
		}
		v.Unbind(b)
		check(t, v.Topology)
	}
}

func TestTopicManyWildcards(t *testing.T) {
	// Broken if a few # could make the matching of one key exponential: then this does not end.
	t.Parallel()
	v := newVhost(t, "exchange x topic\nqueue q")
	v.Bind(Binding{Source: "x", Destination: "q", ToQueue: true, RoutingKey: strings.Repeat("#.*.", 60) + "b"})
	v.goes("x", message(nil, strings.Repeat("a.", 126)+"a"), "")
	v.goes("x", message(nil, strings.Repeat("a.", 126)+"b"), "q")
}

func TestTopicCopies(t *testing.T) {
	// Broken if several patterns or several keys brought a queue more than one copy, or CC keys were not matched.
	t.Parallel()
	v := newVhost(t, `
		exchange x topic
		queue q1
		queue q2
		bind x -> queue q1 a.#
		bind x -> queue q1 #.b
		bind x -> queue q1 a.b
		bind x -> queue q2 c`)
	v.goes("x", message(nil, "a.b"), "q1")
	v.goes("x", message(nil, "a.x", "z.b"), "q1")
	v.goes("x", message(nil, "none", "c", "a"), "q2 q1")
}

func field(name string, v amqp.Value) amqp.Field { return amqp.Field{Name: name, Value: v} }

func TestHeadersMatching(t *testing.T) {
	// Broken if a headers binding was satisfied by the wrong message, or not by the right one.
	t.Parallel()
	mode := func(s string) amqp.Field { return field("x-match", amqp.String(s)) }
	a, b := field("a", amqp.String("1")), field("b", amqp.Int32(2))
	x := field("x-first-death-queue", amqp.String("q1"))
	type table = amqp.Table
	for name, c := range map[string]struct {
		arguments, headers table
		want               bool
	}{
		"no x-match is all":                 {table{a, b}, table{a}, false},
		"all with all":                      {table{mode("all"), a, b}, table{b, field("c", amqp.Void()), a}, true},
		"all with some":                     {table{mode("all"), a, b}, table{b}, false},
		"any with some":                     {table{mode("any"), a, b}, table{b}, true},
		"any with none":                     {table{mode("any"), a, b}, table{field("a", amqp.String("2"))}, false},
		"all of nothing":                    {nil, table{a}, true},
		"all of nothing, no headers":        {nil, nil, true},
		"any of nothing":                    {table{mode("any")}, table{a}, false},
		"any of x- alone is any of nothing": {table{mode("any"), x}, table{x}, false},
		"all skips x-":                      {table{mode("all"), x, a}, table{a}, true},
		"any skips x-":                      {table{mode("any"), x, a}, table{x}, false},
		"all-with-x looks at x-":            {table{mode("all-with-x"), x, a}, table{a}, false},
		"all-with-x satisfied":              {table{mode("all-with-x"), x, a}, table{a, x}, true},
		"any-with-x looks at x-":            {table{mode("any-with-x"), x, a}, table{x}, true},
		"with-x skips x-match":              {table{mode("any-with-x")}, table{mode("any-with-x")}, false},
		"x without a dash is no exception":  {table{field("xa", amqp.String("1"))}, nil, false},
		"no headers":                        {table{a}, nil, false},
		"void asks for presence":            {table{field("a", amqp.Void())}, table{a}, true},
		"void and absent":                   {table{field("a", amqp.Void())}, table{b}, false},
		"void header and a value":           {table{a}, table{field("a", amqp.Void())}, false},
		"void header is present":            {table{field("a", amqp.Void())}, table{field("a", amqp.Void())}, true},
		"integers by value":                 {table{b}, table{field("b", amqp.Int64(2))}, true},
		"integers of any tag":               {table{b}, table{field("b", amqp.Value{Kind: amqp.KindUint8, Int: 2})}, true},
		"another integer":                   {table{b}, table{field("b", amqp.Int64(3))}, false},
		"integer and string":                {table{b}, table{field("b", amqp.String("2"))}, false},
		"string and integer":                {table{a}, table{field("a", amqp.Int32(1))}, false},
		"integer and float":                 {table{b}, table{field("b", amqp.Float64(2))}, false},
		"floats":                            {table{field("f", amqp.Float64(0.5))}, table{field("f", amqp.Value{Kind: amqp.KindFloat32, Int: int64(math.Float32bits(0.5))})}, true},
		"bools":                             {table{field("t", amqp.Bool(true))}, table{field("t", amqp.Bool(true))}, true},
		"bool and integer":                  {table{field("t", amqp.Bool(true))}, table{field("t", amqp.Int32(1))}, false},
		"names by octets":                   {table{a}, table{field("A", amqp.String("1"))}, false},
		"the first of equal names":          {table{a}, table{field("a", amqp.String("0")), a}, false},
	} {
		v := newVhost(t, "exchange x headers\nqueue q")
		bind := Binding{Source: "x", Destination: "q", ToQueue: true, RoutingKey: "ignored", Arguments: c.arguments}
		if err := v.CheckBinding(bind); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v.Bind(bind)
		ids := v.Route(v.Exchange("x"), message(c.headers, "k"), nil).Queues
		if got := len(ids) == 1; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHeadersKeptByTheBroker(t *testing.T) {
	// Broken if a headers exchange as dead-letter exchange could not tell deaths apart, or believed a publisher's
	// forged death, or stumbled over headers that are no table.
	t.Parallel()
	v := newVhost(t, "exchange dlx headers\nqueue q")
	v.Bind(Binding{Source: "dlx", Destination: "q", ToQueue: true, Arguments: amqp.Table{
		field("x-match", amqp.String("all-with-x")),
		field("x-first-death-reason", amqp.String("expired")),
		field("x-first-death-queue", amqp.String("q1")),
	}})
	death := func(queue string) amqp.Table {
		return amqp.Table{field("x-first-death-reason", amqp.String("expired")), field("x-first-death-queue", amqp.String(queue))}
	}
	m := message(nil, "k")
	m.Extra = death("q1")
	v.goes("dlx", m, "q")
	m.Extra = death("q2")
	v.goes("dlx", m, "")
	m = message(death("q1"), "k")
	m.Extra = death("q2")
	v.goes("dlx", m, "")
	m = message(death("q2"), "k")
	m.Extra = death("q1")
	v.goes("dlx", m, "q")
	m.Extra, m.Headers = nil, []byte{0, 0, 0, 9, 1}
	v.goes("dlx", m, "")
	m.Extra = death("q1")
	v.goes("dlx", m, "q")
}

func TestBindingArgumentsRefused(t *testing.T) {
	// Broken if an x-match that nothing can satisfy were accepted, or the text were not the one clients know.
	t.Parallel()
	v := newVhost(t, "exchange h headers\nexchange t topic\nqueue q")
	for _, c := range []struct {
		xMatch amqp.Value
		want   string
	}{
		{amqp.String("some"), `PRECONDITION_FAILED - Invalid x-match field value <<"some">>; expected all, any, all-with-x, or any-with-x`},
		{amqp.String(""), `PRECONDITION_FAILED - Invalid x-match field value <<>>; expected all, any, all-with-x, or any-with-x`},
		{amqp.Int32(5), `PRECONDITION_FAILED - Invalid x-match field type signedint (value 5); expected longstr`},
		{amqp.Bool(true), `PRECONDITION_FAILED - Invalid x-match field type bool (value true); expected longstr`},
		{amqp.Void(), `PRECONDITION_FAILED - Invalid x-match field type void (value undefined); expected longstr`},
	} {
		b := Binding{Source: "h", Destination: "q", ToQueue: true, Arguments: amqp.Table{field("x-match", c.xMatch)}}
		err := v.CheckBinding(b)
		var refusal *amqp.Error
		if !errors.As(err, &refusal) || refusal.Code != amqp.CodePreconditionFailed || refusal.Text != c.want {
			t.Errorf("x-match %v: %v, want %s", c.xMatch, err, c.want)
		}
		b.Source = "t"
		if err := v.CheckBinding(b); err != nil {
			t.Errorf("a topic exchange refuses x-match %v: %v", c.xMatch, err)
		}
	}
}

func TestBindingIdentity(t *testing.T) {
	// Broken if binding the same again made a second binding, or if two that differ were taken for one.
	t.Parallel()
	v := newVhost(t, "exchange x direct\nexchange q direct\nqueue q")
	one, two := field("a", amqp.Int32(1)), field("b", amqp.String("2"))
	b := Binding{Source: "x", Destination: "q", ToQueue: true, RoutingKey: "k", Arguments: amqp.Table{one, two}}
	if !v.Bind(b) || v.Bind(b) {
		t.Error("binding is not idempotent")
	}
	b.Arguments = amqp.Table{two, one}
	if v.Bind(b) {
		t.Error("the order of arguments makes another binding")
	}
	for name, change := range map[string]func(*Binding){
		"key":         func(b *Binding) { b.RoutingKey = "K" },
		"arguments":   func(b *Binding) { b.Arguments = amqp.Table{one} },
		"tag":         func(b *Binding) { b.Arguments = amqp.Table{field("a", amqp.Int64(1)), two} },
		"destination": func(b *Binding) { b.ToQueue = false },
	} {
		other := b
		change(&other)
		if v.Bound(other) || len(v.Unbind(other).Bindings) != 0 {
			t.Errorf("another %s: taken for the same", name)
		}
		if !v.Bind(other) || len(v.Unbind(other).Bindings) != 1 {
			t.Errorf("another %s: not a binding of its own", name)
		}
	}
	if len(v.Unbind(b).Bindings) != 1 || len(v.Unbind(b).Bindings) != 0 {
		t.Error("unbinding twice does not remove once")
	}
	for _, missing := range []Binding{{Source: "none", Destination: "q", ToQueue: true}, {Source: "x", Destination: "none", ToQueue: true}, {Source: "x", Destination: "none"}} {
		if v.Bind(missing) {
			t.Errorf("bound to nothing: %+v", missing)
		}
	}
	check(t, v.Topology)
}

func TestExchangeToExchange(t *testing.T) {
	// Broken if a message did not follow bindings between exchanges, went round in circles, or doubled on two paths.
	t.Parallel()
	v := newVhost(t, `
		exchange a topic
		exchange b direct
		exchange c fanout
		queue q1
		queue q2
		bind a -> exchange b #
		bind a -> exchange c x.*
		bind b -> queue q1 x.y
		bind c -> queue q1
		bind c -> queue q2
		bind c -> exchange a
		bind c -> exchange c`)
	v.goes("a", message(nil, "x.y"), "q1 q2")
	v.goes("a", message(nil, "x.z"), "q1 q2")
	v.goes("b", message(nil, "x.y"), "q1")
	v.goes("b", message(nil, "x.z"), "")
	v.goes("c", message(nil, "none"), "q1 q2")
}

func TestAlternateExchange(t *testing.T) {
	// Broken if an unroutable message missed the alternate, a routable one went there, or a circle of alternates ran
	// on.
	t.Parallel()
	v := newVhost(t, `
		exchange x direct alternate=y
		exchange y direct alternate=z
		exchange z fanout alternate=x
		exchange lost direct alternate=missing
		exchange p fanout
		exchange blind fanout alternate=z
		queue q1
		queue q2
		bind x -> queue q1 k
		bind x -> exchange blind deaf
		bind y -> queue q1 cc
		bind p -> exchange x
		bind z -> queue q2`)
	v.goes("x", message(nil, "k"), "q1")
	v.goes("x", message(nil, "other"), "q2")
	v.goes("x", message(nil, "other", "k"), "q1")
	v.goes("x", message(nil, "cc"), "q1")
	v.goes("lost", message(nil, "k"), "")
	v.goes("p", message(nil, "other"), "q2") // the alternate of an exchange reached by a binding counts too
	v.goes("x", message(nil, "deaf"), "q2")  // by way of blind, which has no bindings
	v.Unbind(Binding{Source: "z", Destination: "q2", ToQueue: true})
	v.goes("x", message(nil, "other"), "")
	v.SetAlternate("lost", "x")
	v.goes("lost", message(nil, "k"), "q1")
	v.SetAlternate("lost", "")
	v.goes("lost", message(nil, "k"), "")
	// A binding that leads to an exchange is a route, even if nothing comes of it there.
	v = newVhost(t, `
		exchange x direct alternate=ae
		exchange empty fanout
		exchange ae fanout
		queue q
		bind x -> exchange empty k
		bind ae -> queue q`)
	v.goes("x", message(nil, "k"), "")
	v.goes("x", message(nil, "other"), "q")
}

func TestAutoDeleteExchanges(t *testing.T) {
	// Broken if an auto-delete exchange outlived its last binding, or was reported before that.
	t.Parallel()
	v := newVhost(t, `
		exchange b fanout auto-delete
		exchange a fanout auto-delete
		exchange keep fanout
		exchange never fanout auto-delete
		queue q
		queue r
		bind b -> queue q
		bind b -> queue q k
		bind a -> queue q
		bind a -> queue r
		bind keep -> queue q
		bind keep -> exchange b
		bind b -> exchange b`)
	orphans := func(what string, r Removed, want string) {
		t.Helper()
		if !slices.Equal(r.Orphans, strings.Fields(want)) {
			t.Errorf("%s orphans %v, want [%s]", what, r.Orphans, want)
		}
		check(t, v.Topology)
	}
	orphans("a first binding", v.Unbind(Binding{Source: "b", Destination: "b"}), "")
	orphans("an absent binding", v.Unbind(Binding{Source: "never", Destination: "q", ToQueue: true}), "")
	r := v.DeleteQueue("q")
	orphans("the queue", r, "b")
	var from []string
	for _, b := range r.Bindings {
		from = append(from, b.Source)
	}
	if want := []string{"a", "b", "b", "keep"}; !slices.Equal(from, want) {
		t.Errorf("removed bindings from %v, want %v", from, want)
	}
	orphans("the last binding", v.Unbind(Binding{Source: "a", Destination: "r", ToQueue: true}), "a")
	orphans("a missing queue", v.DeleteQueue("q"), "")
	if !v.HasBindingsFrom("keep") || v.HasBindingsFrom("b") || v.HasBindingsFrom("none") {
		t.Error("HasBindingsFrom is wrong")
	}
	v.Bind(Binding{Source: "a", Destination: "b"})
	orphans("the exchange", v.DeleteExchange("b"), "a")
	if v.HasBindingsFrom("keep") {
		t.Error("a binding to a deleted exchange is left")
	}
}

func TestPredeclaredAndKinds(t *testing.T) {
	// Broken if an exchange every client may rely on were missing, or a kind could not be named.
	t.Parallel()
	v := New()
	for _, x := range Predeclared() {
		if !x.Durable || x.AutoDelete || v.Declare(x).Name != x.Name {
			t.Errorf("%+v", x)
		}
	}
	var got []string
	for x := range v.Exchanges() {
		got = append(got, x.Name+"/"+x.Kind.String())
	}
	want := "/direct amq.direct/direct amq.fanout/fanout amq.headers/headers amq.match/headers amq.rabbitmq.trace/topic amq.topic/topic"
	if strings.Join(got, " ") != want {
		t.Errorf("exchanges are %v", got)
	}
	for _, name := range []string{"", "none", "Direct", "x-stream"} {
		if _, ok := ParseKind(name); ok {
			t.Errorf("%q is a kind", name)
		}
	}
	for number, name := range []string{"none", "direct", "fanout", "topic", "headers", "x-consistent-hash", "x-modulus-hash", "x-random", "x-local-random"} {
		if k := ExchangeKind(number); k.String() != name {
			t.Errorf("kind %d is %s, and was %s before", number, k, name)
		}
	}
	x := v.Declare(Exchange{Name: "x", Kind: Fanout})
	if v.Declare(Exchange{Name: "x", Kind: Topic, AutoDelete: true}) != x || x.Kind != Fanout || x.AutoDelete {
		t.Error("declaring again changed the exchange")
	}
}
