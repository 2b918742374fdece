package topology

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// numbered is the i-th binding from an exchange to a queue.
func numbered(exchange, queue string, i int) Binding {
	return Binding{
		Source: exchange, Destination: queue, ToQueue: true, RoutingKey: fmt.Sprint(1 + i%3),
		Arguments: amqp.Table{{Name: "n", Value: amqp.Int64(int64(i))}},
	}
}

func TestChangesCostLittle(t *testing.T) {
	// Broken if each message after a change of the bindings of a large exchange went through all of them: who binds and
	// publishes by turns would keep all others waiting. Not parallel: it counts what is allocated.
	const n, rounds = 5000, 50
	for _, kind := range []ExchangeKind{ConsistentHash, ModulusHash, Headers, Direct, Topic} {
		v := New()
		v.Declare(Exchange{Name: "x", Kind: kind})
		for i := range n + rounds {
			v.AddQueue(fmt.Sprint("q", i), QueueID(i+1))
		}
		for i := range n {
			v.Bind(numbered("x", fmt.Sprint("q", i), i))
		}
		m := message(nil, "1")
		v.Route(v.Exchange("x"), m, nil)
		v.Moved()
		for _, change := range []struct {
			what string
			do   func(i int)
		}{
			{"bind", func(i int) { v.Bind(numbered("x", fmt.Sprint("q", n+i), n+i)) }},
			{"unbind", func(i int) { v.Unbind(numbered("x", fmt.Sprint("q", 10*i), 10*i)) }},
		} {
			var before, after runtime.MemStats
			out := make([]QueueID, 0, n)
			work := 0
			runtime.ReadMemStats(&before)
			for i := range rounds {
				change.do(i)
				work += v.Route(v.Exchange("x"), m, out[:0]).Work
			}
			runtime.ReadMemStats(&after)
			if bytes := (after.TotalAlloc - before.TotalAlloc) / rounds; bytes > 16*n/2 {
				t.Errorf("%v: %s and publish allocate %d bytes", kind, change.what, bytes)
			}
			if most := rounds * 2 * headerWork * n; work > most {
				t.Errorf("%v: %d messages after %s take %d points", kind, rounds, change.what, work)
			}
			if moved := v.Moved(); moved > rounds*6*n {
				t.Errorf("%v: %d times %s moves %d entries", kind, rounds, change.what, moved)
			}
		}
	}
}

func TestManyBindingsGoAtOnce(t *testing.T) {
	// Broken if the deletion of a queue with many bindings went through a list of them for each.
	t.Parallel()
	const n = 4000
	for _, kind := range []ExchangeKind{ConsistentHash, ModulusHash, Headers, Direct, Topic, Fanout} {
		v := New()
		v.Declare(Exchange{Name: "x", Kind: kind})
		v.AddQueue("q", 1)
		v.AddQueue("other", 2)
		for i := range n {
			v.Bind(numbered("x", "q", i))
		}
		v.Bind(numbered("x", "other", 0))
		v.Route(v.Exchange("x"), message(nil, "1"), nil)
		v.Moved()
		v.DeleteQueue("q")
		if moved := v.Moved(); moved > 50*n {
			t.Errorf("%v: %d entries are moved", kind, moved)
		}
		if r := v.Route(v.Exchange("x"), message(amqp.Table{{Name: "n", Value: amqp.Int64(0)}}, "1"), nil); !slices.Equal(r.Queues, []QueueID{2}) {
			t.Errorf("%v: a message goes to %v", kind, r.Queues)
		}
	}
}

func TestHashesFollowChanges(t *testing.T) {
	// Broken if what a hash exchange keeps differed from what its bindings say: messages would go elsewhere after a
	// restart, which binds anew.
	t.Parallel()
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 3))
		v := New()
		v.Declare(Exchange{Name: "c", Kind: ConsistentHash})
		v.Declare(Exchange{Name: "m", Kind: ModulusHash})
		for step := range 400 {
			queue := fmt.Sprint("q", dice.IntN(12))
			v.AddQueue(queue, QueueID(step+1))
			source := []string{"c", "m"}[dice.IntN(2)]
			switch dice.IntN(12) {
			case 0:
				v.DeleteQueue(queue)
			case 1, 2, 3, 4, 5:
				v.Unbind(numbered(source, queue, dice.IntN(8)))
			default:
				v.Bind(numbered(source, queue, dice.IntN(8)))
			}
			if dice.IntN(3) > 0 {
				continue
			}
			again := New() // with the same bindings, made in their order
			again.Declare(Exchange{Name: "c", Kind: ConsistentHash})
			again.Declare(Exchange{Name: "m", Kind: ModulusHash})
			for b := range v.Bindings() {
				id, _ := v.Queue(b.Destination)
				again.AddQueue(b.Destination, id)
				again.Bind(b)
			}
			for k := range 20 {
				m := message(nil, fmt.Sprint(k))
				for _, x := range []string{"c", "m"} {
					got, want := v.Route(v.Exchange(x), m, nil).Queues, again.Route(again.Exchange(x), m, nil).Queues
					if !slices.Equal(got, want) {
						t.Fatalf("seed %d, step %d: key %d goes from %s to %v, after a restart to %v", seed, step, k, x, got, want)
					}
				}
			}
		}
	}
}
