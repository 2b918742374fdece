package vhost

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// TestDefaultQueueType says that queues of a vhost get another type than it defaults to, or none that can be seen; or
// that a client which names no type cannot declare its own queue twice.
func TestDefaultQueueType(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	declare := func(d Definition) (refused *amqp.Error) {
		t.Helper()
		d.QueueType = "quorum"
		refused, err := w.step(Command{Kind: DeclareQueue, Channel: 1, Definition: &d})
		if err != nil {
			t.Fatal(err)
		}
		return refused
	}
	named := func(kind string) amqp.Table { return amqp.Table{{Name: "x-queue-type", Value: amqp.String(kind)}} }
	for _, c := range []struct {
		name string
		d    Definition
		want string
	}{
		{"durable", Definition{Durable: true}, "quorum"},
		{"with an argument", Definition{Durable: true, Arguments: amqp.Table{argumentOf("x-max-length", 5)}}, "quorum"},
		{"not durable", Definition{}, "classic"},
		{"exclusive", Definition{Durable: true, Exclusive: true}, "classic"},
		{"auto-delete", Definition{Durable: true, AutoDelete: true}, "classic"},
		{"named", Definition{Durable: true, Arguments: named("classic")}, "classic"},
	} {
		c.d.Name = c.name
		for _, time := range []string{"first", "second"} {
			if refused := declare(c.d); refused != nil {
				t.Fatalf("%s: refused the %s time: %v", c.name, time, refused)
			}
		}
		q := w.v.queueNamed(c.name)
		a, shown := q.object.Arguments.Get("x-queue-type")
		if q.object.Type != c.want || shown && a.Str != c.want || c.want == "quorum" && !shown {
			t.Errorf("%s: type %s, argument %v", c.name, q.object.Type, a)
		}
	}
	if refused := declare(Definition{Name: "durable", Durable: true, Arguments: named("classic")}); refused == nil {
		t.Error("a quorum queue was declared again as a classic one")
	}
}
