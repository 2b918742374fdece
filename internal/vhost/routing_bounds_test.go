package vhost

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// costlyExchange declares a headers exchange "costly" that compares each message with very many headers before it finds
// the queue "last".
func costlyExchange(t *testing.T, w *world) {
	t.Helper()
	costly := Definition{Name: "costly", Type: "headers", Durable: true}
	must(t, w, Command{Kind: DeclareExchange, Channel: 1, Definition: &costly})
	bind := func(arguments amqp.Table) {
		binding := Definition{Name: "last", Source: "costly", Arguments: arguments}
		must(t, w, Command{Kind: BindQueue, Channel: 1, Definition: &binding})
	}
	for i := range 200 {
		arguments := amqp.Table{textOf("x-match", "any"), textOf("own", fmt.Sprint(i))}
		for h := range 20 {
			arguments = append(arguments, textOf(fmt.Sprint("h", h), "no"))
		}
		bind(arguments)
	}
	bind(amqp.Table{textOf("x-match", "all")})
}

// TestStepsAreBoundedByTheRoutingOfTheirMessages says that one command, or one tick, holds up everybody else of the
// virtual host for as long as it takes to route all its messages, however costly each is.
func TestStepsAreBoundedByTheRoutingOfTheirMessages(t *testing.T) {
	t.Parallel()
	consume := Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q", ConsumerTag: "c"}}
	reject := Command{Kind: Nack, Channel: 1, Multiple: true}
	toCostly := []amqp.Field{textOf("x-dead-letter-exchange", "costly")}
	order := JobSpec{User: "u", Source: Where{Queue: "q"}, Target: TargetExchange, Exchange: "costly"}
	const n = 100
	quorum := append(toCostly, textOf("x-queue-type", "quorum"))
	held := append(quorum, textOf("x-dead-letter-strategy", "at-least-once"), textOf("x-overflow", "reject-publish"))
	fill := Command{Kind: SetPolicy, Channel: 1, Policy: &Policy{Name: "full", Pattern: "^last$", Definition: amqp.Table{
		argumentOf("max-length", 0), textOf("overflow", "reject-publish")}}}
	toLast := JobSpec{User: "u", Source: Where{Queue: "q"}, Target: TargetQueue, Queue: "last"}
	var publishes []Command
	for range n {
		m := publishTo("", amqp.Persistent, "m")
		m.Exchange = []byte("costly")
		publishes = append(publishes, m)
	}
	tx, commit := Command{Kind: SelectTx, Channel: 1}, Command{Kind: CommitTx, Channel: 1}
	another := Command{Kind: BindQueue, Channel: 1, Definition: &Definition{
		Name: "q", Source: "costly", Arguments: amqp.Table{textOf("a", "b")},
	}}
	large := amqp.Table{textOf("h", string(make([]byte, 256<<10)))}
	for _, c := range []struct {
		what      string
		arguments []amqp.Field
		headers   amqp.Table
		prepare   []Command
		command   Command
		after     int64 // ms
		last      int   // messages that come into last
	}{
		{"reject of many", toCostly, nil, []Command{consume}, reject, 0, n},
		{"commit of rejects", toCostly, nil, []Command{tx, consume, reject}, commit, 0, n},
		{"expiry", append(toCostly, argumentOf("x-message-ttl", 1000)), nil, nil, Command{Kind: Tick}, 1000, n},
		{"return beyond the delivery limit", append(quorum, argumentOf("x-delivery-limit", 0)), nil,
			[]Command{consume}, Command{Kind: Nack, Channel: 1, Multiple: true, Requeue: true}, 0, n},
		{"close of a channel", append(quorum, argumentOf("x-delivery-limit", 0)), nil,
			[]Command{consume}, Command{Kind: Disconnect, Conn: 1}, 0, n},
		{"commit of publishes", nil, nil, append([]Command{tx}, publishes...), commit, 0, n},
		{"held dead letters that are tried again", held, nil, []Command{fill, consume, reject, {Kind: Tick}}, another, 5000, 0},
		{"redrive of messages with large headers", nil, large, nil,
			Command{Kind: BeginRedrive, Channel: 1, JobSpec: &toLast}, 0, n},
		{"redrive", nil, nil, nil, Command{Kind: BeginRedrive, Channel: 1, JobSpec: &order}, 0, n},
		{"a length limit", toCostly, nil, nil, Command{Kind: SetPolicy, Channel: 1, Policy: &Policy{
			Name: "p", Pattern: "^q$", Definition: amqp.Table{argumentOf("max-length", 0)}}}, 0, n},
	} {
		w := newWorld()
		w.out.Trace = false
		must(t, w, open("a")...)
		must(t, w, declareWith("last"), declareWith("q", c.arguments...))
		costlyExchange(t, w)
		for range n {
			m := publishTo("q", amqp.Persistent, "m")
			m.Properties = properties(amqp.Persistent, c.headers)
			must(t, w, m)
		}
		must(t, w, c.prepare...)
		w.now += Instant(c.after)
		must(t, w, c.command)
		one := (200*(1+20*16) + 1000) * workOfPoint // of one message, about
		most := stepBytesMax + 2*one
		for steps := 0; ; steps++ {
			if got := w.v.Work(); got > most {
				t.Errorf("%s: step %d does work of %d, more than %d", c.what, steps, got, most)
			}
			if at, ok := w.v.Due(); !w.v.Unfinished() && (!ok || at > w.now+100) {
				if steps < n*one/(2*most) {
					t.Errorf("%s: done after %d steps", c.what, steps)
				}
				break
			}
			w.now++
			must(t, w, Command{Kind: Tick})
		}
		if q, _ := w.v.Reader().Queue("last"); q.Ready != c.last {
			t.Errorf("%s: %d messages have come, not %d", c.what, q.Ready, c.last)
		}
		if err := w.audit(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
