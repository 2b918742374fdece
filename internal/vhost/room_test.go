package vhost

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// TestPutOffIsCounted says that operators do not see how many messages wait for room on the disk.
func TestPutOffIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld()
	do := func(c Command) {
		t.Helper()
		c.Conn, c.Channel = 1, 1
		if refused, err := w.step(c); refused != nil || err != nil {
			t.Fatalf("%+v: %v, %v", c, refused, err)
		}
	}
	do(Command{Kind: Connect, Window: 1 << 20, Definition: &Definition{}})
	do(Command{Kind: OpenChannel, Number: 1})
	do(Command{Kind: DeclareQueue, Definition: &Definition{Name: "work", Durable: true, Arguments: amqp.Table{
		{Name: "x-dead-letter-exchange", Value: amqp.String("")}, {Name: "x-dead-letter-routing-key", Value: amqp.String("dead")},
	}}})
	do(Command{Kind: DeclareQueue, Definition: &Definition{Name: "dead", Durable: true}})
	const n = 3
	for range n {
		do(Command{Kind: Publish, Key: []byte("work"), Properties: amqp.AppendProperties(nil, &amqp.Properties{}), Body: []byte("m")})
	}
	do(Command{Kind: Consume, Definition: &Definition{Name: "work"}})
	for tag := uint64(1); tag <= n; tag++ {
		if got := w.v.Storage().PutOff; got != int(tag-1) {
			t.Errorf("before message %d is rejected %d are put off", tag, got)
		}
		do(Command{Kind: SetRoom, Room: false})
		do(Command{Kind: Reject, Tag: tag})
	}
	do(Command{Kind: SetRoom, Room: true})
	for range 4 {
		do(Command{Kind: Tick})
	}
	if q := w.v.queueNamed("dead"); w.v.Storage().PutOff != 0 || q.messages.Len() != n {
		t.Errorf("there is room: %d are put off, %d are dead letters", w.v.Storage().PutOff, q.messages.Len())
	}
}
