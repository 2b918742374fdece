package topology

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

func TestComparisonsAreBounded(t *testing.T) {
	// Broken if bindings could make the routing of one message take seconds: its virtual host stands still meanwhile.
	t.Parallel()
	v := newVhost(t, "exchange t topic\nexchange h headers\nexchange d direct\nqueue q")
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 { // distinct patterns, all of whose nodes match
		words := []string{"#"}
		for len(words) < 120 {
			words = append(words, []string{"*", "#"}[r.IntN(2)])
		}
		v.Bind(Binding{Source: "t", Destination: "q", ToQueue: true, RoutingKey: strings.Join(words, ".")})
	}
	arguments := amqp.Table{{Name: "x-match", Value: amqp.Value{Kind: amqp.KindString, Str: "any"}}}
	for i := range 4000 {
		arguments = append(arguments, amqp.Field{Name: fmt.Sprint("a", i)})
	}
	for i := range 300 {
		v.Bind(Binding{Source: "h", Destination: "q", ToQueue: true, RoutingKey: fmt.Sprint(i), Arguments: arguments})
		v.Bind(Binding{Source: "d", Destination: "q", ToQueue: true, RoutingKey: "k", Arguments: amqp.Table{{Name: fmt.Sprint(i)}}})
	}
	var many amqp.Table
	for i := range 8000 {
		many = append(many, amqp.Field{Name: fmt.Sprint("b", i)})
	}
	keys := slices.Repeat([][]byte{[]byte("k")}, 20_000)
	for _, m := range []struct {
		exchange string
		message  Message
	}{
		{"t", Message{Key: []byte(strings.Repeat("a.", 119) + "a")}},
		{"h", Message{Key: []byte("a"), Headers: amqp.AppendTable(nil, many)}},
		{"d", Message{Key: keys[0], More: keys[1:]}},
	} {
		r := v.Route(v.Exchange(m.exchange), &m.message, nil)
		if !r.TooMuch || r.Queues != nil || r.ByKeys {
			t.Errorf("exchange %s: too much %v, %d queues, by keys %v", m.exchange, r.TooMuch, len(r.Queues), r.ByKeys)
		}
		if r.Work > workMax+workMax/2 {
			t.Errorf("exchange %s: %d comparisons", m.exchange, r.Work)
		}
	}
	v.goes("d", message(nil, "k"), "q")
	if v.Route(v.Exchange("d"), message(nil, "k"), nil).TooMuch {
		t.Error("the next message is too much as well")
	}
}

func TestAllThatAMessageVisitsIsCounted(t *testing.T) {
	// Broken if a message could lead through any number of exchanges, bindings or rules that count for nothing: whoever
	// publishes such messages would keep all others of its virtual host waiting, and have their turns.
	t.Parallel()
	const n = 1000
	v := newVhost(t, "exchange f fanout\nexchange to-one fanout\nexchange h headers\nexchange t topic\nqueue q\nqueue only")
	v.Declare(Exchange{Name: "a0", Kind: Direct, Alternate: "a1"})
	for i := range n {
		x := fmt.Sprint("x", i)
		v.Declare(Exchange{Name: x, Kind: Direct})
		v.Declare(Exchange{Name: fmt.Sprint("a", i+1), Kind: Direct, Alternate: fmt.Sprint("a", i+2)})
		v.Bind(Binding{Source: "f", Destination: x})
		for _, source := range []string{"to-one", "h", "t"} {
			v.Bind(Binding{Source: source, Destination: "q", ToQueue: true, RoutingKey: "k", Arguments: amqp.Table{{Name: "x-n", Value: amqp.Int64(int64(i))}}})
		}
	}
	v.Bind(Binding{Source: "f", Destination: "only", ToQueue: true})
	for _, c := range []struct {
		what, exchange string
		message        *Message
		least, queues  int
	}{
		{"exchanges behind a fanout exchange", "f", message(nil, "k"), n * exchangeWork, 1},
		{"alternate exchanges", "a0", message(nil, "k"), n * exchangeWork, 0},
		{"bindings to one queue", "to-one", message(nil, "k"), n, 1},
		{"bindings of a headers exchange without headers", "h", message(nil, "k"), n, 1},
		{"bindings of a pattern", "t", message(nil, "k"), n, 1},
		{"keys of the default exchange", "", &Message{Key: []byte("q"), More: slices.Repeat([][]byte{[]byte("none")}, n)}, n, 1},
	} {
		r := v.Route(v.Exchange(c.exchange), c.message, nil)
		if r.Work < c.least || r.TooMuch || len(r.Queues) != c.queues {
			t.Errorf("%s: %d points, at least %d; too much %t, %d queues", c.what, r.Work, c.least, r.TooMuch, len(r.Queues))
		}
	}
	if r := v.Route(v.Exchange(""), message(nil, "q"), nil); r.Work != 0 {
		t.Errorf("a message for one queue counts for %d points", r.Work)
	}
}

func TestExchangesOfAMessageAreBounded(t *testing.T) {
	// Broken if a message could lead through any number of exchanges.
	t.Parallel()
	v := newVhost(t, "exchange f fanout")
	v.Declare(Exchange{Name: "a0", Kind: Direct, Alternate: "a1"})
	for i := range workMax/exchangeWork + 1000 {
		v.Declare(Exchange{Name: fmt.Sprint("a", i+1), Kind: Direct, Alternate: fmt.Sprint("a", i+2)})
		v.Bind(Binding{Source: "f", Destination: fmt.Sprint("a", i)})
	}
	for _, x := range []string{"a0", "f"} {
		if r := v.Route(v.Exchange(x), message(nil, "k"), nil); !r.TooMuch || r.Work > workMax+workMax/2 {
			t.Errorf("exchange %s: too much %t, %d points", x, r.TooMuch, r.Work)
		}
	}
}

func TestManyHeaders(t *testing.T) {
	// Broken if one of many headers were not found, or another than the first of a name.
	t.Parallel()
	v := newVhost(t, "exchange h headers\nqueue q")
	want := amqp.Value{Kind: amqp.KindString, Str: "first"}
	v.Bind(Binding{Source: "h", Destination: "q", ToQueue: true, Arguments: amqp.Table{{Name: "n7", Value: want}}})
	headers := amqp.Table{}
	for i := range 3 * sortFrom {
		headers = append(headers, amqp.Field{Name: fmt.Sprint("n", i), Value: want})
	}
	headers = append(headers, amqp.Field{Name: "n7", Value: amqp.Value{Kind: amqp.KindString, Str: "second"}})
	v.goes("h", &Message{Headers: amqp.AppendTable(nil, headers)}, "q")
	slices.Reverse(headers)
	v.goes("h", &Message{Headers: amqp.AppendTable(nil, headers)}, "")
}
