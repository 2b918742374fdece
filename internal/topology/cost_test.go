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
		queues, byKeys := v.Route(v.Exchange(m.exchange), &m.message, nil)
		if !v.TooMuch() || queues != nil || byKeys {
			t.Errorf("exchange %s: too much %v, %d queues, by keys %v", m.exchange, v.TooMuch(), len(queues), byKeys)
		}
		if w := v.walk.work; w > workMax+workMax/2 {
			t.Errorf("exchange %s: %d comparisons", m.exchange, w)
		}
	}
	v.goes("d", message(nil, "k"), "q")
	if v.TooMuch() {
		t.Error("the next message is too much as well")
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
