package vhost

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// deadLetterOf is a dead letter with so many deaths, the newest of which is of queue q0.
func deadLetterOf(deaths int, headers amqp.Table, returns uint32) *Delivered {
	h := fact.History{Exchange: "dlx", Keys: []string{"key"}, Share: 1}
	for i := range deaths {
		h.Deaths = append(h.Deaths, fact.Death{Queue: fmt.Sprint("q", i), Reason: fact.Rejected, Count: 1, Keys: []string{"k"}})
	}
	h.First = fact.Origin{Reason: fact.Rejected, Queue: fmt.Sprint("q", deaths-1), Exchange: "first"}
	h.Last = fact.Origin{Reason: fact.Rejected, Queue: "q0", Exchange: "last"}
	p := amqp.Properties{Has: amqp.FlagHeaders, Headers: headers}
	if headers == nil {
		p.Has = 0
	}
	record := fact.AppendRecord(nil, &fact.Head{Properties: amqp.AppendProperties(nil, &p)}, []byte("m"))
	return &Delivered{Record: record, History: fact.AppendHistory(nil, &h), Acquired: returns, Count: returns}
}

// headersWithin renders d within limit.
func headersWithin(t *testing.T, d *Delivered, limit int) (headers amqp.Table, size int) {
	t.Helper()
	v, _, err := new(Renderer).AppendView(d, nil, limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := amqp.ParseProperties(v.Properties)
	if err != nil {
		t.Fatalf("what was rendered does not decode: %v", err)
	}
	return p.Headers, len(v.Properties)
}

// TestDeadLettersFitInAHeaderFrame says that a dead letter with a long history is sent in a frame that its
// consumer has not agreed to, which ends the connection at every attempt; or that more of the history is lost
// than need be.
func TestDeadLettersFitInAHeaderFrame(t *testing.T) {
	t.Parallel()
	const deaths = 500
	theirs := amqp.Table{{Name: "a", Value: amqp.String("first")}, {Name: "z", Value: amqp.Array(amqp.Int32(1))}}
	d := deadLetterOf(deaths, theirs, 3)
	all, full := headersWithin(t, d, 0)
	if x, _ := all.Get("x-death"); len(x.Array) != deaths {
		t.Fatalf("%d deaths without a limit", len(x.Array))
	}
	last := deaths
	for limit := full; limit >= 300; limit -= 97 {
		headers, size := headersWithin(t, d, limit)
		x, _ := headers.Get("x-death")
		if size > limit || last > len(x.Array) && size < limit-120 {
			t.Fatalf("%d octets with %d deaths, %d are allowed", size, len(x.Array), limit)
		}
		if last = len(x.Array); last > 0 {
			if q, _ := x.Array[0].Table.Get("queue"); q.Str != "q0" {
				t.Fatalf("within %d octets the newest death is that of %q", limit, q.Str)
			}
		}
		for _, f := range all {
			if v, ok := headers.Get(f.Name); f.Name != "x-death" && (!ok || !v.Equal(f.Value)) {
				t.Fatalf("within %d octets %q is %v", limit, f.Name, v)
			}
		}
	}
}

// TestWhatIsLeftOutFirst says that a dead letter loses more important headers before lesser ones, or its
// publisher's; or that an x-death of the publisher's own is taken for the broker's when there is no space for
// that.
func TestWhatIsLeftOutFirst(t *testing.T) {
	t.Parallel()
	theirs := amqp.Table{{Name: "mine", Value: amqp.String(strings.Repeat("m", 100))}, {Name: "x-death", Value: amqp.String("forged")}}
	d := deadLetterOf(3, theirs, 3)
	_, full := headersWithin(t, d, 0)
	order := []string{
		"x-death", "x-last-death-exchange", "x-last-death-queue", "x-last-death-reason",
		"x-first-death-exchange", "x-first-death-queue", "x-first-death-reason", "x-acquired-count", "x-delivery-count",
	}
	gone := 0
	for limit := full; limit > 0; limit-- {
		headers, _ := headersWithin(t, d, limit)
		for i, name := range order {
			v, ok := headers.Get(name)
			switch {
			case ok && i < gone:
				t.Fatalf("within %d octets %q is there, and was not with more room", limit, name)
			case !ok && i == gone:
				gone++
			case !ok && i > gone:
				t.Fatalf("within %d octets %q is left out, %q is not", limit, name, order[gone])
			}
			if v.Str == "forged" {
				t.Fatalf("within %d octets the publisher's x-death is back", limit)
			}
		}
		if mine, _ := headers.Get("mine"); len(mine.Str) != 100 {
			t.Fatalf("within %d octets the publisher's header is %q", limit, mine.Str)
		}
	}
	if gone != len(order) {
		t.Errorf("%q was never left out", order[gone])
	}
}

// TestLargeHeadersAreNotDecoded says that each delivery of a dead letter costs as much as its publisher's
// headers are large, decoded: a forged x-death of tens of thousands of entries would be paid for by the
// broker, over and over.
func TestLargeHeadersAreNotDecoded(t *testing.T) {
	forged := make([]amqp.Value, 25_000)
	for i := range forged {
		forged[i] = amqp.TableValue(nil)
	}
	d := deadLetterOf(3, amqp.Table{{Name: "mine", Value: amqp.Int32(1)}, {Name: "x-death",
		Value: amqp.Array(forged...)}}, 0)
	var r Renderer
	buf := make([]byte, 0, 1<<20)
	allocs := testing.AllocsPerRun(10, func() {
		if _, _, err := r.AppendView(d, buf, 8000); err != nil {
			t.Error(err)
		}
	})
	if allocs > 1 {
		t.Errorf("%v allocations for one delivery", allocs)
	}
}
