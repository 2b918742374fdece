package topology

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// keyed publishes n messages with keys of their own to x and counts what each queue gets; all must go to one queue.
func (v *vhost) keyed(x string, n int) map[string]int {
	v.Helper()
	got := map[string]int{}
	for i := range n {
		ids := v.Route(v.Exchange(x), &Message{Key: fmt.Appendf(nil, "order-%d", i), Entropy: uint64(i)}, nil).Queues
		if len(ids) != 1 {
			v.Fatalf("message %d goes to %d queues", i, len(ids))
		}
		got[v.names[ids[0]]]++
	}
	return got
}

// shares checks counts against parts of the whole; each may be off by a tenth of itself.
func (v *vhost) shares(got map[string]int, want map[string]int) {
	v.Helper()
	whole, total := 0, 0
	for q, n := range want {
		whole += n
		total += got[q]
	}
	for q, n := range want {
		fair := total * n / whole
		if d := got[q] - fair; d*10 > fair || -d*10 > fair {
			v.Errorf("%s got %d, its share is %d", q, got[q], fair)
		}
	}
	if len(got) > len(want) {
		v.Errorf("shared among %v", got)
	}
}

func TestOneOfManyInShares(t *testing.T) {
	// Broken if a queue got more or less than the points, or the bindings, that it has.
	t.Parallel()
	v := newVhost(t, `
		exchange c x-consistent-hash
		exchange m x-modulus-hash
		exchange r x-random
		exchange l x-local-random
		queue a
		queue b
		queue d
		bind c -> queue a 1
		bind c -> queue b 2
		bind c -> queue a 1000
		bind c -> queue d 007
		bind m -> queue a
		bind m -> queue b
		bind m -> queue b again
		bind r -> queue a
		bind r -> queue b any
		bind r -> queue a again
		bind l -> queue a
		bind l -> queue b`)
	v.shares(v.keyed("c", 50_000), map[string]int{"a": 1, "b": 2, "d": 7})
	v.shares(v.keyed("m", 50_000), map[string]int{"a": 1, "b": 2})
	v.shares(v.keyed("r", 50_000), map[string]int{"a": 2, "b": 1})
	v.shares(v.keyed("l", 50_000), map[string]int{"a": 1, "b": 1})
	// When the binding that counted is gone, the next one does.
	v.Unbind(Binding{Source: "c", Destination: "a", ToQueue: true, RoutingKey: "1"})
	v.shares(v.keyed("c", 50_000), map[string]int{"a": 1000, "b": 2, "d": 7})
	v.DeleteQueue("a")
	v.shares(v.keyed("c", 50_000), map[string]int{"b": 2, "d": 7})
	v.shares(v.keyed("m", 50_000), map[string]int{"b": 1})
	for _, x := range []string{"c", "m", "r", "l"} {
		v.DeleteQueue("b")
		v.DeleteQueue("d")
		v.goes(x, message(nil, "k"), "")
	}
}

func TestConsistentHashMovesLittle(t *testing.T) {
	// Broken if a new queue took messages of one old queue to another: then the order of a key's messages is lost.
	t.Parallel()
	v := newVhost(t, "exchange x x-consistent-hash")
	const keys = 2000
	to := make([]QueueID, keys)
	for n := range 12 {
		name := fmt.Sprint("q", n)
		v.queue(name)
		v.Bind(Binding{Source: "x", Destination: name, ToQueue: true, RoutingKey: "10"})
		latest, _ := v.Queue(name)
		moved := 0
		for i := range to {
			route := v.Route(v.Exchange("x"), message(nil, fmt.Sprint(i)), nil)
			ids, byKeys := route.Queues, route.ByKeys
			if len(ids) != 1 || !byKeys {
				t.Fatalf("key %d goes to %v, by keys: %v", i, ids, byKeys)
			}
			if n > 0 && ids[0] != to[i] {
				moved++
				if ids[0] != latest {
					t.Fatalf("key %d moved from an old queue to another", i)
				}
			}
			to[i] = ids[0]
		}
		if fair := keys / (n + 1); n > 0 && (moved < fair*3/4 || moved > fair*5/4) {
			t.Errorf("queue %d took %d keys, its share is %d", n, moved, fair)
		}
	}
}

func TestHashesStay(t *testing.T) {
	// Broken if a new version of the broker sent the messages of a key to another queue than the one before.
	t.Parallel()
	for input, want := range map[string]uint64{"": 0xf52a15e9a9b5e89b, "a": 0x2c0bdbf481420f8, "order-1": 0xedf23fc2e07fa9d3} {
		if got := hashOf([]byte(input)); got != want {
			t.Errorf("hash of %q is %#x, was %#x", input, got, want)
		}
	}
	var got []uint64
	for _, n := range []uint64{1, 2, 3, 10, 1000, math.MaxInt32, math.MaxUint64} {
		got = append(got, jump(hashOf([]byte("a")), n))
	}
	if want := []uint64{0, 1, 1, 9, 572, 993672499, 9699444540700762140}; !slices.Equal(got, want) {
		t.Errorf("points are %v, were %v", got, want)
	}
}

func TestHashInput(t *testing.T) {
	// Broken if a consistent hash exchange told to look at a header or property looked elsewhere, or told apart what is
	// equal.
	t.Parallel()
	const queues = 50
	build := func(arguments amqp.Table) *vhost {
		v := newVhost(t, "")
		v.Declare(Exchange{Name: "x", Kind: ConsistentHash, Arguments: arguments})
		for i := range queues {
			v.queue(fmt.Sprint(i))
			v.Bind(Binding{Source: "x", Destination: fmt.Sprint(i), ToQueue: true, RoutingKey: "1"})
		}
		return v
	}
	header := func(name string, value amqp.Value) *Message { return message(amqp.Table{field(name, value)}, "k") }
	properties := func(p amqp.Properties) *Message {
		return &Message{Key: []byte("k"), Properties: amqp.AppendProperties(nil, &p)}
	}
	h := amqp.Table{field("hash-header", amqp.String("h"))}
	property := func(name string) amqp.Table { return amqp.Table{field("hash-property", amqp.String(name))} }
	broken := header("h", amqp.Int32(1))
	broken.Headers = broken.Headers[:5]
	extra := message(nil, "k")
	extra.Extra = amqp.Table{field("h", amqp.String("1"))}
	for name, c := range map[string]struct {
		arguments amqp.Table
		one, two  *Message
		same      bool
	}{
		"key":                    {nil, message(nil, "a"), message(nil, "b"), false},
		"key, not CC":            {nil, message(nil, "a"), message(nil, "a", "b"), true},
		"key, not headers":       {nil, header("h", amqp.Int32(1)), header("h", amqp.Int32(2)), true},
		"header":                 {h, header("h", amqp.String("1")), header("h", amqp.String("2")), false},
		"header, not key":        {h, message(nil, "a"), message(nil, "b"), true},
		"integers of any size":   {h, header("h", amqp.Int32(1)), header("h", amqp.Int64(1)), true},
		"integer and string":     {h, header("h", amqp.Int32(1)), header("h", amqp.String("1")), false},
		"no such header":         {h, header("i", amqp.Int32(1)), message(nil, "k"), true},
		"headers that are none":  {h, broken, message(nil, "k"), true},
		"header of the broker":   {h, extra, header("h", amqp.String("1")), true},
		"message id":             {property("message_id"), properties(amqp.Properties{Has: amqp.FlagMessageID, MessageID: "1"}), properties(amqp.Properties{Has: amqp.FlagMessageID, MessageID: "2"}), false},
		"message id, equal":      {property("message_id"), properties(amqp.Properties{Has: amqp.FlagMessageID, MessageID: "1"}), properties(amqp.Properties{Has: amqp.FlagMessageID | amqp.FlagAppID, MessageID: "1", AppID: "a"}), true},
		"message id, not key":    {property("message_id"), message(nil, "a"), message(nil, "b"), true},
		"correlation id":         {property("correlation_id"), properties(amqp.Properties{Has: amqp.FlagCorrelationID, CorrelationID: "1"}), properties(amqp.Properties{Has: amqp.FlagCorrelationID, CorrelationID: "2"}), false},
		"timestamp":              {property("timestamp"), properties(amqp.Properties{Has: amqp.FlagTimestamp, Timestamp: 1}), properties(amqp.Properties{Has: amqp.FlagTimestamp, Timestamp: 2}), false},
		"timestamp, none and 0":  {property("timestamp"), properties(amqp.Properties{}), properties(amqp.Properties{Has: amqp.FlagTimestamp}), false},
		"properties not decoded": {property("timestamp"), &Message{Key: []byte("k"), Properties: []byte{0xff}}, message(nil, "k"), true},
	} {
		v := build(c.arguments)
		route := v.Route(v.Exchange("x"), c.one, nil)
		one, byKeys := route.Queues, route.ByKeys
		two := v.Route(v.Exchange("x"), c.two, nil).Queues
		if slices.Equal(one, two) != c.same {
			t.Errorf("%s: queues %v and %v", name, one, two)
		}
		if byKeys != (c.arguments == nil) {
			t.Errorf("%s: by keys alone is %v", name, byKeys)
		}
	}
}

func TestChanceComesFromOutside(t *testing.T) {
	// Broken if equal entropy led to another choice, which no replay could follow, or if exchanges behind each other
	// all chose alike, or if a choice by chance were remembered for a key.
	t.Parallel()
	v := newVhost(t, `
		exchange x fanout
		exchange r1 x-random
		exchange r2 x-random
		bind x -> exchange r1
		bind x -> exchange r2`)
	for i := range 10 {
		for _, r := range []string{"r1", "r2"} {
			name := fmt.Sprint(r, "-", i)
			v.queue(name)
			v.Bind(Binding{Source: r, Destination: name, ToQueue: true})
		}
	}
	n := rebuilt(v.Topology)
	alike := 0
	for i := range uint64(1000) {
		m := Message{Key: []byte("k"), Entropy: i}
		route := v.Route(v.Exchange("x"), &m, nil)
		ids, byKeys := route.Queues, route.ByKeys
		again := n.Route(n.Exchange("x"), &m, nil).Queues
		if len(ids) != 2 || byKeys || !slices.Equal(ids, again) {
			t.Fatalf("entropy %d: %v, then %v, by keys: %v", i, ids, again, byKeys)
		}
		if strings.TrimPrefix(v.names[ids[0]], "r1") == strings.TrimPrefix(v.names[ids[1]], "r2") {
			alike++
		}
	}
	if alike < 50 || alike > 150 {
		t.Errorf("of 1000 pairs of choices among ten %d are alike", alike)
	}
}

func TestOneOfManyRefusals(t *testing.T) {
	// Broken if a binding or exchange that cannot work were accepted, or the text were not the one clients know.
	t.Parallel()
	v := newVhost(t, "exchange c x-consistent-hash\nexchange l x-local-random\nexchange m x-modulus-hash\nqueue q")
	refused := func(what string, err error, want string) {
		t.Helper()
		var refusal *amqp.Error
		switch {
		case want == "" && err == nil:
		case !errors.As(err, &refusal) || refusal.Code != amqp.CodePreconditionFailed || refusal.Text != "PRECONDITION_FAILED - "+want:
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	for _, c := range []struct{ source, key, want string }{
		{"c", "1", ""}, {"c", "+5", ""}, {"c", "007", ""}, {"c", "2147483647", ""},
		{"c", "0", "The binding key must be greater than 0"},
		{"c", "-1", "The binding key must be greater than 0"},
		{"c", "-99999999999999999999", "The binding key must be greater than 0"},
		{"c", "2147483648", "The binding key must be at most 2147483647"},
		{"c", "99999999999999999999", "The binding key must be at most 2147483647"},
		{"c", "", "The binding key must be an integer: <<>>"},
		{"c", "abc", `The binding key must be an integer: <<"abc">>`},
		{"c", " 1", `The binding key must be an integer: <<" 1">>`},
		{"c", "1.5", `The binding key must be an integer: <<"1.5">>`},
		{"c", "a\x01b", "The binding key must be an integer: <<97,1,98>>"},
		{"l", "", ""}, {"l", "k", "Non empty binding 'k' key not permitted"},
		{"m", "k", ""},
	} {
		refused(c.source+" "+c.key, v.CheckBinding(Binding{Source: c.source, Destination: "q", ToQueue: true, RoutingKey: c.key}), c.want)
	}
	refused("exchange", v.CheckBinding(Binding{Source: "l", Destination: "m"}), "Destination not found")
	h, p := amqp.String("h"), amqp.String("message_id")
	for name, c := range map[string]struct {
		arguments amqp.Table
		want      string
	}{
		"none":             {nil, ""},
		"header":           {amqp.Table{field("hash-header", h)}, ""},
		"property":         {amqp.Table{field("hash-property", p)}, ""},
		"both":             {amqp.Table{field("hash-header", h), field("hash-property", p)}, "hash-header and hash-property are mutually exclusive"},
		"unknown property": {amqp.Table{field("hash-property", amqp.String("app_id"))}, "Unsupported property: app_id"},
		"no name":          {amqp.Table{field("hash-header", amqp.Int32(1))}, "invalid type 'signedint' for arg 'hash-header'"},
		"no property":      {amqp.Table{field("hash-property", amqp.Bool(true))}, "invalid type 'bool' for arg 'hash-property'"},
	} {
		refused(name, CheckExchange(Exchange{Name: "x", Kind: ConsistentHash, Arguments: c.arguments}), c.want)
		refused(name, CheckExchange(Exchange{Name: "x", Kind: Direct, Arguments: c.arguments}), "")
	}
}
