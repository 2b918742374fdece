package vhost

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// TestPutOffIsCounted says that operators do not see how many messages wait for disk space.
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
		if got := w.v.Reader().Storage().PutOff; got != int(tag-1) {
			t.Errorf("before message %d is rejected %d are put off", tag, got)
		}
		do(Command{Kind: SetSpace, Memory: true})
		do(Command{Kind: Reject, Tag: tag})
	}
	do(Command{Kind: SetSpace, Space: true, Memory: true})
	for range 4 {
		do(Command{Kind: Tick})
	}
	if q := w.v.queueNamed("dead"); w.v.Reader().Storage().PutOff != 0 || q.messages.Len() != n {
		t.Errorf("there is room: %d are put off, %d are dead letters", w.v.Reader().Storage().PutOff, q.messages.Len())
	}
}

// TestHeldDeadLettersWaitForMemory says that a queue which holds a dead letter holds further ones while memory is
// short, takes rejected messages without a bound, or stays as it is when its target has space again.
func TestHeldDeadLettersWaitForMemory(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.v.BoundPutOff(2)
	must(t, w, open("a")...)
	limited := declareWith("dead", amqp.Field{Name: "x-max-length", Value: amqp.Int64(1)},
		amqp.Field{Name: "x-overflow", Value: amqp.String("reject-publish")})
	must(t, w, limited, declareWith("work", amqp.Field{Name: "x-dead-letter-exchange", Value: amqp.String("")},
		amqp.Field{Name: "x-dead-letter-routing-key", Value: amqp.String("dead")},
		amqp.Field{Name: "x-dead-letter-strategy", Value: amqp.String("at-least-once")}))
	for range 8 {
		must(t, w, publishTo("work", amqp.Persistent, "m"))
	}
	tag := uint64(0)
	reject := func() {
		tag++
		must(t, w, Command{Kind: Get, Conn: 1, Channel: 1, Definition: &Definition{Name: "work"}},
			Command{Kind: Reject, Conn: 1, Channel: 1, Tag: tag})
	}
	expect := func(when string, ready, held, off, dead int) {
		t.Helper()
		if err := w.ticks(); err != nil {
			t.Fatal(err)
		}
		q, _ := w.v.Reader().Queue("work")
		to, _ := w.v.Reader().Queue("dead")
		if n := w.v.Reader().Storage().PutOff; q.Ready != ready || q.Held != held || n != off || to.Ready != dead {
			t.Errorf("%s: %d ready, %d held, %d put off, %d in the target; expected %d, %d, %d, %d",
				when, q.Ready, q.Held, n, to.Ready, ready, held, off, dead)
		}
	}
	reject()
	must(t, w, Command{Kind: SetSpace, Space: true})
	reject()
	expect("the target is full", 6, 1, 0, 1)
	reject()
	reject()
	expect("two are rejected beside a held one", 4, 1, 2, 1)
	must(t, w, Command{Kind: Get, Conn: 1, Channel: 1, Definition: &Definition{Name: "work"}})
	expect("a message is handed over although two are put off", 4, 1, 2, 1)
	must(t, w, Command{Kind: PurgeQueue, Conn: 1, Channel: 1, Definition: &Definition{Name: "dead"}})
	expect("the target has space for one", 4, 1, 1, 1)
	must(t, w, Command{Kind: SetSpace, Space: true, Memory: true})
	expect("there is memory", 4, 2, 0, 1)
	reject()
	expect("another one is rejected", 3, 3, 0, 1)
}

// TestBindingsThatGrowQueues says that a binding fills a queue from a recent history while publishers wait, or that a
// binding which brings no message waits with them.
func TestBindingsThatGrowQueues(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	exchange := func(name string) Command {
		return Command{Kind: DeclareExchange, Channel: 1, Definition: &Definition{Name: name, Type: "x-recent-history", Durable: true}}
	}
	bind := func(kind CommandKind, source, to string) Command {
		return Command{Kind: kind, Conn: 1, Channel: 1, Definition: &Definition{Source: source, Name: to}}
	}
	must(t, w, declareWith("bound"), declareWith("new"), exchange("full"), exchange("empty"), bind(BindQueue, "full", "bound"))
	c := publishTo("", amqp.Persistent, "m")
	c.Exchange = []byte("full")
	must(t, w, c)
	for _, c := range []struct {
		command Command
		want    bool
	}{
		{bind(BindQueue, "full", "new"), true},
		{bind(BindExchange, "full", "amq.fanout"), true},
		{bind(BindQueue, "full", "bound"), false}, // is there already
		{bind(BindQueue, "empty", "new"), false},
		{bind(BindQueue, "amq.fanout", "new"), false},
		{bind(BindQueue, "unknown", "new"), false},
		{bind(UnbindQueue, "full", "bound"), false},
	} {
		if got := w.v.Grows(&c.command); got != c.want {
			t.Errorf("command %d from %q to %q: grows %v", c.command.Kind, c.command.Definition.Source, c.command.Definition.Name, got)
		}
	}
}
