package topology

import (
	"fmt"
	"testing"
)

// routes is one loaded topology and messages to send through it.
type routes struct {
	name string
	t    *Topology
	x    *Exchange
	keys [][]byte
	each int // queues per message
}

func loaded() []routes {
	const n = 10_000
	t := New()
	for _, x := range []Exchange{{Name: "d", Kind: Direct}, {Name: "f", Kind: Fanout}, {Name: "t", Kind: Topic}, {Name: "w", Kind: Topic}, {Name: "l", Kind: Topic}} {
		t.Declare(x)
	}
	all := []routes{
		{name: "default 10k queues", x: t.Exchange(""), each: 1},
		{name: "direct 10k queues", x: t.Exchange("d"), each: 1},
		{name: "fanout 100", x: t.Exchange("f"), each: 100},
		{name: "topic 10k literal and star", x: t.Exchange("t"), each: 1},
		{name: "topic 10k literal", x: t.Exchange("l"), each: 1},
		{name: "topic 10k with hash", x: t.Exchange("w"), each: 1},
	}
	for i := range n {
		q := fmt.Sprint("queue-", i)
		t.AddQueue(q, QueueID(i))
		bind := func(x, key string) {
			t.Bind(Binding{Source: x, Destination: q, ToQueue: true, RoutingKey: key})
		}
		bind("d", fmt.Sprint("key-", i))
		bind("t", fmt.Sprintf("site.%d.*.device-%d.temperature", i%100, i))
		bind("l", fmt.Sprintf("site.%d.room.device-%d.temperature", i%100, i))
		bind("w", fmt.Sprintf("#.device-%d.#", i))
		if i < 100 {
			bind("f", "")
		}
		all[0].keys = append(all[0].keys, []byte(q))
		all[1].keys = append(all[1].keys, fmt.Appendf(nil, "key-%d", i))
		all[2].keys = append(all[2].keys, []byte("any"))
		key := fmt.Appendf(nil, "site.%d.room.device-%d.temperature", i%100, i)
		all[3].keys = append(all[3].keys, key)
		all[4].keys = append(all[4].keys, key)
		all[5].keys = append(all[5].keys, key)
	}
	for i := range all {
		all[i].t = t
	}
	return all
}

func TestRouteAllocatesNothing(t *testing.T) {
	// Broken if routing a message left work for the garbage collector.
	for _, r := range loaded() {
		out := make([]QueueID, 0, 200)
		i := 0
		avg := testing.AllocsPerRun(1000, func() {
			m := Message{Key: r.keys[i*7919%len(r.keys)], More: r.keys[:1]}
			found := r.t.Route(r.x, &m, out[:0])
			if len(found.Queues) < r.each || !found.ByKeys {
				t.Fatalf("%s: %d queues, want %d", r.name, len(found.Queues), r.each)
			}
			i++
		})
		if avg != 0 {
			t.Errorf("%s: %v allocations a message", r.name, avg)
		}
	}
}

func BenchmarkRoute(b *testing.B) {
	for _, r := range loaded() {
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			out := make([]QueueID, 0, 200)
			i := 0
			for b.Loop() {
				m := Message{Key: r.keys[i*7919%len(r.keys)]}
				out = r.t.Route(r.x, &m, out[:0]).Queues
				if len(out) != r.each {
					b.Fatal(len(out))
				}
				i++
			}
		})
	}
}

func BenchmarkBindUnbind(b *testing.B) {
	t := loaded()[0].t
	for _, x := range []string{"d", "t"} {
		b.Run(x, func(b *testing.B) {
			bind := Binding{Source: x, Destination: "queue-77", ToQueue: true, RoutingKey: "a.b.c.d"}
			for b.Loop() {
				t.Bind(bind)
				t.Unbind(bind)
			}
		})
	}
}
