package vhost

import (
	"fmt"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// benchWorld is a world with one channel, and a function that has commands done on it which are not refused.
func benchWorld(b *testing.B) (*world, func(Command)) {
	w := newWorld()
	w.hot, w.out.Trace = true, false
	w.v = w.fresh()
	w.step(Command{Kind: Connect, Conn: 1, Window: 1 << 40, Definition: &Definition{}})
	w.step(Command{Kind: OpenChannel, Conn: 1, Channel: 1})
	do := func(c Command) {
		c.Channel = 1
		if refused, err := w.step(c); refused != nil || err != nil {
			b.Fatal(refused, err)
		}
		w.seal()
		w.begin()
		w.out.Batch = nil
	}
	return w, do
}

// BenchmarkCheckpoint is how long others wait while a checkpoint is taken: at its beginning, and for each portion.
func BenchmarkCheckpoint(b *testing.B) {
	for _, c := range []struct{ queues, bindings, messages int }{
		{1, 0, 1_000_000},
		{1000, 10_000, 500_000},
		{10_000, 10_000, 100_000},
	} {
		b.Run(fmt.Sprintf("queues=%d/bindings=%d/messages=%d", c.queues, c.bindings, c.messages), func(b *testing.B) {
			w, do := benchWorld(b)
			for i := range c.queues {
				do(Command{Kind: DeclareQueue, Definition: &Definition{Name: fmt.Sprint("q", i), Durable: true}})
			}
			for i := range c.bindings {
				do(Command{Kind: BindQueue, Definition: &Definition{Name: fmt.Sprint("q", i%c.queues), Source: "amq.topic", RoutingKey: fmt.Sprint("a.", i)}})
			}
			p := amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: amqp.Persistent})
			for i := range c.messages {
				do(Command{Kind: Publish, Key: fmt.Append(nil, "q", i%c.queues), Properties: p, Body: []byte("body")})
			}
			w.v.KeepHot(hotEntriesMax, 1)
			w.v.trim()
			b.ResetTimer()
			var begin, portion time.Duration
			for b.Loop() {
				at := time.Now()
				w.v.BeginCheckpoint(w.next() - 1)
				begin = max(begin, time.Since(at))
				for more := true; more; {
					at = time.Now()
					more = w.v.SaveCheckpoint(2048)
					portion = max(portion, time.Since(at))
				}
				at = time.Now()
				w.v.EndCheckpoint()
				portion = max(portion, time.Since(at))
				w.v.CheckpointStored(true)
			}
			b.ReportMetric(float64(begin.Microseconds()), "begin-max-µs")
			b.ReportMetric(float64(portion.Microseconds()), "portion-max-µs")
		})
	}
}
