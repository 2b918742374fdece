package vhost

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// hotScenario is a broker that keeps all messages in memory.
func hotScenario() *scenario {
	sc := &scenario{world: newWorld(), queues: map[fact.QueueID]string{}, conns: map[string]fact.ConnID{}}
	sc.world.hot = true
	sc.world.v = sc.world.fresh()
	return sc
}

// If this fails, each message of a crowd that dies at once costs a read of its record and a history of its own.
func TestMessagesThatDieAlikeAreNotRead(t *testing.T) {
	t.Parallel()
	const crowd = 100
	for _, c := range []struct{ what, publish string }{
		{"with the time to live of the queue", "publish work"},
		{"with an expiration", "publish work expiration=1000"},
		{"with a far expiration each", "publish work expiration=2%03d"},
	} {
		sc := hotScenario()
		sc.do(t, "declare work ttl=1000 dlx=\"\" dlrk=grave\n declare grave")
		for i := range crowd {
			line := c.publish
			if strings.Contains(line, "%") {
				line = fmt.Sprintf(line, i)
			}
			sc.do(t, strings.Replace(line, "work", fmt.Sprintf("work %q", largeBody(i)[:1000]), 1))
		}
		sc.world.reads.bytes = 0
		before := len(sc.world.log.batches)
		sc.do(t, "advance 1s")
		if n := sc.world.v.queueNamed("grave").messages.Ready(); n != crowd {
			t.Fatalf("%s: %d dead letters", c.what, n)
		}
		if got := sc.world.reads.bytes; got == 0 || got > 2000 {
			t.Errorf("%s: %d bytes were read, those of one message are some 1000", c.what, got)
		}
		histories := 0
		for i, batch := range sc.world.log.batches[before:] {
			facts, err := fact.All(testLog, storage.Index(before+i+1), batch)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range facts {
				if f.Kind == fact.Remembered {
					histories++
				}
			}
		}
		if histories != 2 {
			t.Errorf("%s: %d histories were written, not one and that of the others", c.what, histories)
		}
		sc.do(t, "get grave")
	}
}

// If this fails, who publishes with ever new routing keys fills the memory with them, or a queue whose keys have
// changed is slow for ever.
func TestAddressesAreBounded(t *testing.T) {
	t.Parallel()
	sc := hotScenario()
	numbered := func(want int, when string) {
		t.Helper()
		if got := sc.world.v.addressed; got != want {
			t.Errorf("%s: %d addresses are numbered, expected %d", when, got, want)
		}
	}
	declare := func(n int) {
		sc.do(t, fmt.Sprintf("declare q%d dlx=\"\" dlrk=grave\n bind amq.topic -> q%d key=#", n, n))
	}
	declare(0)
	for i := range 2 * addressesMax {
		sc.do(t, fmt.Sprintf("publish amq.topic:k%d \"m\"", i))
	}
	numbered(addressesMax, "many keys")
	sc.do(t, "publish amq.topic:"+strings.Repeat("k", addressBytesMax)+" \"m\"")
	numbered(addressesMax, "a long key")
	sc.do(t, "purge q0\n publish amq.topic:new \"m\"")
	numbered(1, "an empty queue")
	last := sc.world.v.queueNamed("q0").messages
	if seq, e, ok := last.Head(); !ok || e.Address != 1 {
		t.Errorf("message %d has address %d", seq, e.Address)
	}
	sc.world.v.addressed = addressedMax
	sc.do(t, "publish amq.topic:newer \"m\"")
	numbered(addressedMax, "a full virtual host")
	sc.world.v.addressed = 1
	sc.do(t, "delete q0")
	numbered(0, "a deleted queue")
}

// If this fails, a dead letter is delivered with the headers of the one before it.
func TestRendererOfManyMessages(t *testing.T) {
	t.Parallel()
	var all []Delivered
	for _, history := range [][]byte{goldenHistory(), goldenAlike(), goldenRedriven(), nil} {
		for _, expiration := range []string{"", "5", "6"} {
			p := amqp.Properties{Has: amqp.FlagExpiration, Expiration: expiration}
			if expiration == "" {
				p.Has = 0
			}
			head := fact.Head{Exchange: []byte("x"), Key: []byte("k"), Properties: amqp.AppendProperties(nil, &p)}
			record := fact.AppendRecord(nil, &head, []byte("body"))
			for _, dialect := range []Dialect{0, Dialect3, DialectTotal} {
				all = append(all, Delivered{Record: record, History: history, Dialect: dialect})
			}
		}
	}
	var r Renderer
	dice := rand.New(rand.NewPCG(1, 2))
	for i, last := 0, 0; i < 5000; i++ {
		at := dice.IntN(len(all))
		if dice.IntN(2) == 0 {
			at = last
		}
		d := all[at]
		want, err := d.View()
		if err != nil {
			t.Fatal(err)
		}
		d.History = bytes.Clone(d.History) // as it is read again
		if got, _, err := r.AppendView(&d, nil, 0); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("after message %d, message %d is rendered as\n%q, expected\n%q", last, at, got, want)
		}
		last = at
	}
}
