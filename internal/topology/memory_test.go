package topology

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/liveheap"
)

func TestBytesAreAboutMemory(t *testing.T) {
	// Broken if what exchanges and bindings are said to take is not what they take: a limit of it would come too late,
	// or refuse what has space. The margin is for lists and maps, which grow by doubling. Not parallel: it measures
	// the heap.
	const n = 20_000
	long := strings.Repeat("x", 240)
	key := func(i, words int) string {
		return strings.Repeat(fmt.Sprintf("%07d.", i), words-1) + fmt.Sprintf("%07d", i)
	}
	header := func(i int) amqp.Table {
		return amqp.Table{{Name: "x-match", Value: amqp.String("all")}, {Name: "id", Value: amqp.String(key(i, 1))}}
	}
	fields := func(i int) (t amqp.Table) {
		for n := range 9 {
			t = append(t, amqp.Field{Name: fmt.Sprint("field", n), Value: amqp.Int64(int64(i))})
		}
		return t
	}
	for what, c := range map[string]struct {
		kind      ExchangeKind
		words     int
		arguments func(i int) amqp.Table
	}{
		"exchanges":              {},
		"direct":                 {Direct, 1, nil},
		"fanout":                 {Fanout, 1, nil},
		"topic, 1 word":          {Topic, 1, nil},
		"topic, 10 words":        {Topic, 10, nil},
		"topic, a wildcard":      {Topic, 2, nil},
		"topic, 9 wildcards":     {Topic, 11, nil},
		"headers":                {Headers, 1, header},
		"headers, 9 fields":      {Headers, 1, fields},
		"hash":                   {ConsistentHash, 1, nil},
		"direct, with arguments": {Direct, 1, header},
	} {
		v := New()
		if c.kind != 0 {
			v.Declare(Exchange{Name: "x" + long, Kind: c.kind})
			v.AddQueue("q"+long, 1)
		}
		before, counted := liveheap.Bytes(), v.Bytes()
		for i := range n {
			if c.kind == 0 {
				v.Declare(Exchange{Name: key(i, 1), Kind: Topic})
				continue
			}
			b := Binding{
				Source: strings.Clone("x" + long), Destination: strings.Clone("q" + long), ToQueue: true,
				RoutingKey: strings.Clone(key(i, c.words)),
			}
			if strings.Contains(what, "wildcard") {
				b.RoutingKey = strings.ReplaceAll(b.RoutingKey, ".", ".*.")
			}
			if c.arguments != nil {
				b.Arguments = c.arguments(i)
			}
			v.Bind(b)
		}
		took, said := (liveheap.Bytes()-before)/n, (v.Bytes()-counted)/n
		if said < took || said > 2*took {
			t.Errorf("%s: %d bytes each are counted, %d are taken", what, said, took)
		}
		t.Logf("%s: %d of %d", what, took, said)
		if c.kind != 0 {
			v.DeleteQueue("q" + long)
			v.DeleteExchange("x" + long)
			if v.Bytes() != 0 {
				t.Errorf("%s: %d bytes are counted of nothing", what, v.Bytes())
			}
		}
		runtime.KeepAlive(v)
	}
}
