package vhost

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

func TestMessagesWithoutTimeGoOnInPortions(t *testing.T) {
	// Broken if messages that run through many queues of TTL 0 do so in one step, however much that is: all others of
	// the virtual host wait for it; or if what a step leaves stays where it is, or is lost.
	const queues, messages, most = 100, 50, 64 << 10
	w := newWorld()
	must(t, w, open("a")...)
	for i := range queues {
		must(t, w, declareWith(fmt.Sprint("q", i), amqp.Field{Name: "x-message-ttl", Value: amqp.Int64(0)},
			textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", fmt.Sprint("q", i+1))))
	}
	must(t, w, declareWith(fmt.Sprint("q", queues)))
	w.v.BoundSteps(most)
	for i := range messages { // half of them go a long way
		must(t, w, publishTo(fmt.Sprint("q", i), amqp.Persistent, fmt.Sprint(i)))
		if n := w.v.Work(); n > 4*most {
			t.Fatalf("a message made %d octets of work in one step", n)
		}
	}
	for n := 0; ; n++ {
		if at, due := w.v.Due(); !due || at > w.now {
			break
		}
		must(t, w, Command{Kind: Tick})
		if n := w.v.Work(); n > 4*most {
			t.Fatalf("a tick made %d octets of work in one step", n)
		}
		if n > 10_000 {
			t.Fatal("it never ends")
		}
	}
	if n := w.v.queueNamed(fmt.Sprint("q", queues)).messages.Ready(); n != messages {
		t.Errorf("%d of %d messages came", n, messages)
	}
	if err := w.v.Check(); err != nil {
		t.Error(err)
	}
}
