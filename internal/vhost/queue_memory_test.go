package vhost

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/liveheap"
)

func TestQueueBytesAreAboutMemory(t *testing.T) {
	// Broken if what queues that are used are said to take is less than what they take: the limit of declared objects
	// would come when the memory alarm is set already, and that ends only when somebody deletes them. What the rest of
	// the broker keeps of a queue is counted, too, so that it is more here. Not parallel: it measures the heap.
	const n = 20_000
	v, stamp := New("/", 1, nil, nil), Stamp{Now: 1, From: 1, Wall: 1}
	do := func(c Command) {
		t.Helper()
		var out Outcome
		stamp.Index++
		if err := v.Step(stamp, c, &out); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range open("a") {
		do(c)
	}
	before, counted := liveheap.Bytes(), v.ObjectBytes()
	measure := func(what string) {
		t.Helper()
		took, said := (liveheap.Bytes()-before)/n, int(v.ObjectBytes()-counted)/n
		if t.Logf("%s: %d of %d", what, took, said); said < took || said > 2*took {
			t.Errorf("%s: %d bytes each are counted, %d are taken", what, said, took)
		}
	}
	name := func(i int) string { return fmt.Sprint("a-queue-", i) }
	for i := range n {
		do(Command{Kind: DeclareQueue, Conn: 1, Channel: 1, Definition: &Definition{Name: name(i), Durable: true}})
	}
	measure("declared")
	for i := range n {
		do(publishTo(name(i), amqp.Persistent, "m"))
		do(Command{Kind: PurgeQueue, Conn: 1, Channel: 1, Definition: &Definition{Name: name(i)}})
	}
	measure("used")
	for i := range n {
		c := publishTo(name(i), amqp.Persistent, "m")
		c.Properties = amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagExpiration, Expiration: "0"})
		do(c)
	}
	measure("a message has died")
	if err := v.Check(); err != nil {
		t.Error(err)
	}
	for i := range n {
		do(Command{Kind: DeleteQueue, Conn: 1, Channel: 1, Definition: &Definition{Name: name(i)}})
	}
	if left := v.ObjectBytes() - counted; left != 0 {
		t.Errorf("%d bytes are counted of no queue", left)
	}
}
