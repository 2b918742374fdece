package sim

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// share makes a dead letter that one target has and another refuses, so that it is held. The first target is
// a transient queue, the newest of all: after the restart only the dead letter knows its number. The next
// queue that a client declares must have another.
func (w *world) share() {
	_, ch := w.floodable()
	if ch == nil {
		return
	}
	w.shared++
	recoveries, journal := w.result.Recoveries, w.journal
	do := func(c vhost.Command) (ok bool) {
		c.Conn, c.Channel = ch.Conn.ID, ch.ID
		return w.decide(c) && w.violation == nil && w.result.Recoveries == recoveries && w.Channels[ch.ID] != nil && !ch.Dead
	}
	queue := func(name string, durable bool, arguments ...amqp.Field) bool {
		return do(vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: name, Durable: durable, Arguments: arguments}})
	}
	bound := func(name string) bool {
		return do(vhost.Command{Kind: vhost.BindQueue, Definition: &vhost.Definition{Source: "amq.fanout", Name: name}})
	}
	text := func(name, value string) amqp.Field { return amqp.Field{Name: name, Value: amqp.String(value)} }
	number := func(name string, n int64) amqp.Field { return amqp.Field{Name: name, Value: amqp.Int64(n)} }
	ok := queue("full", true, number("x-max-length", 0), text("x-overflow", "reject-publish")) && bound("full") &&
		queue("source", true, number("x-message-ttl", 0), text("x-dead-letter-exchange", "amq.fanout"), text("x-dead-letter-strategy", "at-least-once")) &&
		queue("short", false) && bound("short")
	if !ok {
		return
	}
	m := &clients.Message{TTL: -1, Step: w.step, Persistent: true, Keys: []string{"source"}}
	if !do(w.Compose(m, nil, "source", 8)) {
		return
	}
	w.finish()
	if w.violation == nil && w.result.Recoveries == recoveries && w.journal == journal {
		w.restart()
	}
}
