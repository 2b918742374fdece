package vhost

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// cpuTime is how long this thread has used a processor: other programs do not count.
func cpuTime() time.Duration {
	const threadClock = 3
	var t syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(t.Nano())
}

// A stepMeter plays one case in the bare machine. It keeps the longest step and the largest batch, and lets ticks
// follow until nothing is due.
type stepMeter struct {
	w       *world
	steps   int
	longest time.Duration
	first   time.Duration
	bytes   int
	total   time.Duration
}

func (m *stepMeter) step(b *testing.B, c Command) {
	at := cpuTime()
	refused, err := m.w.step(c)
	d := cpuTime() - at
	if refused != nil || err != nil {
		b.Fatal(refused, err)
	}
	batch, _ := m.w.out.Seal()
	m.bytes = max(m.bytes, len(batch))
	m.w.taken = batch != nil
	if m.w.taken {
		m.w.log.batches = append(m.w.log.batches, batch)
	}
	m.w.begin()
	if m.steps == 0 {
		m.first = d
	}
	m.steps++
	m.total += d
	m.longest = max(m.longest, d)
}

func (m *stepMeter) ticks(b *testing.B) {
	for at, due := m.w.v.Due(); due && at <= m.w.now; at, due = m.w.v.Due() {
		m.step(b, Command{Kind: Tick})
	}
}

// BenchmarkLongSteps is how long others wait, and how large a batch grows, when a single command concerns very much.
// Run it with -benchtime=1x.
func BenchmarkLongSteps(b *testing.B) {
	type commands []Command
	persistent := amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: amqp.Persistent})
	to := func(exchange, key string) Command {
		return Command{Kind: Publish, Exchange: []byte(exchange), Key: []byte(key), Properties: persistent, Body: []byte("a body of some octets")}
	}
	queueOf := func(name string, arguments ...amqp.Field) Command {
		return Command{Kind: DeclareQueue, Definition: &Definition{Name: name, Durable: true, Arguments: arguments}}
	}
	dlx := []amqp.Field{textOf("x-dead-letter-exchange", "amq.fanout"), textOf("x-dead-letter-routing-key", "k")}
	dlq := []amqp.Field{textOf("x-dead-letter-exchange", ""), textOf("x-dead-letter-routing-key", "grave")}
	fanout := func(do func(Command), n int) {
		for i := range n {
			name := fmt.Sprint("f", i)
			do(queueOf(name))
			do(Command{Kind: BindQueue, Definition: &Definition{Name: name, Source: "amq.fanout"}})
		}
	}
	fill := func(do func(Command), name string, n int) {
		c := to("", name)
		for range n {
			do(c)
		}
	}
	for _, c := range []struct {
		name string
		hot  bool
		with func(w *world, do func(Command)) []Command // commands without a channel get channel 1
	}{
		{"publish/queues=1000", true, func(w *world, do func(Command)) []Command { fanout(do, 1000); return commands{to("amq.fanout", "")} }},
		{"publish/queues=10000", true, func(w *world, do func(Command)) []Command { fanout(do, 10000); return commands{to("amq.fanout", "")} }},
		{"publish/queues=100000", true, func(w *world, do func(Command)) []Command { fanout(do, 100000); return commands{to("amq.fanout", "")} }},
		{"dead letter/queues=1000", true, func(w *world, do func(Command)) []Command {
			return deadLetterTo(do, fanout, queueOf("source", dlx...), to("", "source"), 1000)
		}},
		{"dead letter/queues=10000", true, func(w *world, do func(Command)) []Command {
			return deadLetterTo(do, fanout, queueOf("source", dlx...), to("", "source"), 10_000)
		}},
		{"dead letter/queues=100000", true, func(w *world, do func(Command)) []Command {
			return deadLetterTo(do, fanout, queueOf("source", dlx...), to("", "source"), 100_000)
		}},
		{"expire/500000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("q", argumentOf("x-message-ttl", 1000)))
			fill(do, "q", 500_000)
			w.now += 1000
			return commands{{Kind: Tick}}
		}},
		{"expire/dlx/500000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("grave"))
			do(queueOf("q", append(dlq, argumentOf("x-message-ttl", 1000))...))
			fill(do, "q", 500_000)
			w.now += 1000
			return commands{{Kind: Tick}}
		}},
		{"expire/ack/dlx/500000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("grave"))
			do(queueOf("q", append(dlq, argumentOf("x-message-ttl", 1000))...))
			do(Command{Kind: Qos, Definition: &Definition{Prefetch: 1}})
			do(Command{Kind: Consume, Definition: &Definition{Name: "q"}})
			fill(do, "q", 500_000)
			w.now += 1000
			return commands{{Kind: Ack, Tag: 1}}
		}},
		{"expire/get/dlx/500000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("grave"))
			do(queueOf("q", append(dlq, argumentOf("x-message-ttl", 1000))...))
			fill(do, "q", 500_000)
			w.now += 1000
			return commands{{Kind: Get, Definition: &Definition{Name: "q"}}}
		}},
		{"policy/max-length=0/100000x10", false, func(w *world, do func(Command)) []Command {
			for i := range 100_000 {
				do(queueOf(fmt.Sprint("q", i)))
			}
			for i := range 1_000_000 {
				do(to("", fmt.Sprint("q", i%100_000)))
			}
			return commands{{Kind: SetPolicy, Policy: &Policy{Name: "p", Pattern: ".*", Definition: amqp.Table{argumentOf("max-length", 0)}}}}
		}},
		{"recent/4096x1000", true, func(w *world, do func(Command)) []Command {
			do(Command{Kind: DeclareExchange, Definition: &Definition{Name: "r", Type: "x-recent-history", Durable: true, Arguments: amqp.Table{argumentOf("x-recent-history-length", 4096)}}})
			fanout(do, 1000)
			for range 4096 {
				do(to("r", ""))
			}
			return commands{{Kind: BindExchange, Definition: &Definition{Name: "amq.fanout", Source: "r"}}}
		}},
		{"recent/4096x1", true, func(w *world, do func(Command)) []Command {
			do(Command{Kind: DeclareExchange, Definition: &Definition{Name: "r", Type: "x-recent-history", Durable: true, Arguments: amqp.Table{argumentOf("x-recent-history-length", 4096)}}})
			do(queueOf("q"))
			for range 4096 {
				do(to("r", ""))
			}
			return commands{{Kind: BindQueue, Definition: &Definition{Name: "q", Source: "r"}}}
		}},
		{"purge/hot/1000000", true, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			fill(do, "q", 1_000_000)
			return commands{{Kind: PurgeQueue, Definition: &Definition{Name: "q"}}}
		}},
		{"purge/cold/1000000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			fill(do, "q", 1_000_000)
			return commands{{Kind: PurgeQueue, Definition: &Definition{Name: "q"}}}
		}},
		{"purge/cold/5000000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			fill(do, "q", 5_000_000)
			return commands{{Kind: PurgeQueue, Definition: &Definition{Name: "q"}}}
		}},
		{"delete/cold/5000000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			fill(do, "q", 5_000_000)
			return commands{{Kind: DeleteQueue, Definition: &Definition{Name: "q"}}}
		}},
		{"delete/ttl/1000000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("q", argumentOf("x-message-ttl", 1000000)))
			fill(do, "q", 1_000_000)
			return commands{{Kind: DeleteQueue, Definition: &Definition{Name: "q"}}}
		}},
		{"commit/200x1000", true, func(w *world, do func(Command)) []Command {
			fanout(do, 1000)
			do(Command{Kind: SelectTx})
			for range 200 {
				do(to("amq.fanout", ""))
			}
			return commands{{Kind: CommitTx}}
		}},
		{"commit/1000x1000", true, func(w *world, do func(Command)) []Command {
			fanout(do, 1000)
			do(Command{Kind: SelectTx})
			for range 1000 {
				do(to("amq.fanout", ""))
			}
			return commands{{Kind: CommitTx}}
		}},
		{"commit/1x100000", true, func(w *world, do func(Command)) []Command {
			fanout(do, 100_000)
			do(Command{Kind: SelectTx})
			do(to("amq.fanout", ""))
			return commands{{Kind: CommitTx}}
		}},
		{"fire/queues=100000", true, func(w *world, do func(Command)) []Command {
			do(Command{Kind: DeclareExchange, Definition: &Definition{
				Name: "d", Type: "x-delayed-message", Durable: true, Arguments: amqp.Table{textOf("x-delayed-type", "fanout")},
			}})
			fanout(do, 100_000)
			do(Command{Kind: BindExchange, Definition: &Definition{Name: "amq.fanout", Source: "d"}})
			c := to("d", "")
			c.Properties = properties(amqp.Persistent, amqp.Table{argumentOf("x-delay", 1000)})
			do(c)
			w.now += 1000
			return commands{{Kind: Tick}}
		}},
		{"unbind/bindings=100000", true, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			for i := range 100_000 {
				do(Command{Kind: BindQueue, Definition: &Definition{Name: "q", Source: "amq.topic", RoutingKey: fmt.Sprint("a.", i)}})
			}
			return commands{
				{Kind: UnbindQueue, Definition: &Definition{Name: "q", Source: "amq.topic", RoutingKey: "a.50000"}},
				{Kind: BindQueue, Definition: &Definition{Name: "q", Source: "amq.topic", RoutingKey: "a.50000"}},
				to("amq.topic", "a.50000"), queueOf("r"), {Kind: DeleteQueue, Definition: &Definition{Name: "r"}},
			}
		}},
		{"commit/200000x1", true, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			do(Command{Kind: SelectTx})
			for range 200_000 {
				do(to("", "q"))
			}
			return commands{{Kind: CommitTx}}
		}},
		{"delete/bindings=50000", true, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			for i := range 50_000 {
				do(Command{Kind: BindQueue, Definition: &Definition{Name: "q", Source: "amq.topic", RoutingKey: fmt.Sprint("a.", i)}})
			}
			return commands{{Kind: DeleteQueue, Definition: &Definition{Name: "q"}}}
		}},
		{"delete-exchange/bindings=50000", true, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			do(Command{Kind: DeclareExchange, Definition: &Definition{Name: "x", Type: "topic", Durable: true}})
			for i := range 50_000 {
				do(Command{Kind: BindQueue, Definition: &Definition{Name: "q", Source: "x", RoutingKey: fmt.Sprint("a.", i)}})
			}
			return commands{{Kind: DeleteExchange, Definition: &Definition{Name: "x"}}}
		}},
		{"delete-exchange/queues=50000", true, func(w *world, do func(Command)) []Command {
			do(Command{Kind: DeclareExchange, Definition: &Definition{Name: "x", Type: "fanout", Durable: true}})
			for i := range 50_000 {
				do(queueOf(fmt.Sprint("q", i)))
				do(Command{Kind: BindQueue, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "x"}})
			}
			return commands{{Kind: DeleteExchange, Definition: &Definition{Name: "x"}}}
		}},
		{"close/consumers=60000/queue=1", true, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			for i := range 60_000 {
				do(Command{Kind: Consume, Definition: &Definition{Name: "q", ConsumerTag: fmt.Sprint("c", i)}})
			}
			return commands{{Kind: CloseChannel}}
		}},
		{"delete/consumers=60000", true, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			for i := range 60_000 {
				do(Command{Kind: Consume, Definition: &Definition{Name: "q", ConsumerTag: fmt.Sprint("c", i)}})
			}
			return commands{{Kind: DeleteQueue, Definition: &Definition{Name: "q"}}}
		}},
		{"cancel/consumers=60000", true, func(w *world, do func(Command)) (all []Command) {
			do(queueOf("q"))
			for i := range 60_000 {
				do(Command{Kind: Consume, Definition: &Definition{Name: "q", ConsumerTag: fmt.Sprint("c", i)}})
			}
			for i := range 100 {
				all = append(all, Command{Kind: Cancel, Definition: &Definition{ConsumerTag: fmt.Sprint("c", i)}})
			}
			return all
		}},
		{"close/consumers=60000/queues=60000", true, func(w *world, do func(Command)) []Command {
			for i := range 60_000 {
				do(queueOf(fmt.Sprint("q", i)))
				do(Command{Kind: Consume, Definition: &Definition{Name: fmt.Sprint("q", i), ConsumerTag: fmt.Sprint("c", i)}})
			}
			return commands{{Kind: CloseChannel}}
		}},
		{"ack/consumers=60000/queues=60000/qos", true, func(w *world, do func(Command)) []Command {
			do(Command{Kind: Qos, Definition: &Definition{Prefetch: 1, Global: true}})
			for i := range 60_000 {
				do(queueOf(fmt.Sprint("q", i)))
				do(Command{Kind: Consume, Definition: &Definition{Name: fmt.Sprint("q", i), ConsumerTag: fmt.Sprint("c", i)}})
			}
			fill(do, "q0", 1)
			return commands{{Kind: Ack, Tag: 1}}
		}},
		{"ack/consumers=100000/1000", true, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			do(Command{Kind: Qos, Definition: &Definition{Prefetch: 1}})
			for i := range 100_000 {
				do(Command{Kind: Consume, Definition: &Definition{Name: "q", ConsumerTag: fmt.Sprint("c", i)}})
			}
			fill(do, "q", 102_000)
			all := commands{}
			for i := range 1000 {
				all = append(all, Command{Kind: Ack, Tag: uint64(i + 1)})
			}
			return all
		}},
		{"consume/5000000/window=1MiB", false, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			fill(do, "q", 5_000_000)
			w.v.conns[1].window.Max = 1 << 20
			return commands{{Kind: Consume, Definition: &Definition{Name: "q"}}}
		}},
		{"close/unacked=500000", false, func(w *world, do func(Command)) []Command {
			unacked(do, queueOf("q"), to("", "q"), 500_000)
			return commands{{Kind: CloseChannel}}
		}},
		{"close/unacked=500000/quorum", false, func(w *world, do func(Command)) []Command {
			unacked(do, queueOf("q", textOf("x-queue-type", "quorum")), to("", "q"), 500_000)
			return commands{{Kind: CloseChannel}}
		}},
		{"timeout/unacked=500000", false, func(w *world, do func(Command)) []Command {
			unacked(do, queueOf("q"), to("", "q"), 500_000)
			w.now += settings.ConsumerTimeoutMax
			return commands{{Kind: Tick}}
		}},
		{"ack/500000", false, func(w *world, do func(Command)) []Command {
			unacked(do, queueOf("q"), to("", "q"), 500_000)
			return commands{{Kind: Ack, Multiple: true}}
		}},
		{"nack/requeue/500000", false, func(w *world, do func(Command)) []Command {
			unacked(do, queueOf("q"), to("", "q"), 500_000)
			do(Command{Kind: Cancel, Definition: &Definition{ConsumerTag: "c"}})
			return commands{{Kind: Nack, Multiple: true, Requeue: true}}
		}},
		{"nack/500000", false, func(w *world, do func(Command)) []Command {
			unacked(do, queueOf("q"), to("", "q"), 500_000)
			return commands{{Kind: Nack, Multiple: true}}
		}},
		{"nack/dlx/500000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("grave"))
			unacked(do, queueOf("q", dlq...), to("", "q"), 500_000)
			return commands{{Kind: Nack, Multiple: true}}
		}},
		{"commit/nack/dlx/500000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("grave"))
			unacked(do, queueOf("q", dlq...), to("", "q"), 500_000)
			do(Command{Kind: SelectTx})
			do(Command{Kind: Nack, Multiple: true})
			return commands{{Kind: CommitTx}}
		}},
		{"select/nack/dlx/500000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("grave"))
			unacked(do, queueOf("q", dlq...), to("", "q"), 500_000)
			do(Command{Kind: SelectTx})
			return commands{{Kind: Nack, Multiple: true}}
		}},
		{"disconnect/limit/500000", false, func(w *world, do func(Command)) []Command { // returned once too often
			do(queueOf("grave"))
			limited := append(dlq, textOf("x-queue-type", "quorum"), argumentOf("x-delivery-limit", 0))
			unacked(do, queueOf("q", limited...), to("", "q"), 500_000)
			return commands{{Kind: Disconnect, Conn: 1}}
		}},
		{"disconnect/channels=2047", false, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			for n := range 2046 {
				w.step(Command{Kind: OpenChannel, Conn: 1, Channel: ChannelID(2 + n)})
				for i := range 10 {
					w.step(Command{Kind: Consume, Channel: ChannelID(2 + n), Definition: &Definition{Name: "q", ConsumerTag: fmt.Sprint("c", i)}})
				}
			}
			fill(do, "q", 500_000)
			return commands{{Kind: Disconnect, Conn: 1}}
		}},
		{"disconnect/exclusive=50000", false, func(w *world, do func(Command)) []Command {
			for i := range 50_000 {
				do(Command{Kind: DeclareQueue, Definition: &Definition{Name: fmt.Sprint("q", i), Exclusive: true}})
				do(Command{Kind: BindQueue, Definition: &Definition{Name: fmt.Sprint("q", i), Source: "amq.topic", RoutingKey: fmt.Sprint("a.", i)}})
			}
			return commands{{Kind: Disconnect, Conn: 1}}
		}},
		{"orphans/chain=50000", true, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			for i := range 50_000 {
				do(Command{Kind: DeclareExchange, Definition: &Definition{Name: fmt.Sprint("x", i), Type: "fanout", Durable: true, AutoDelete: true}})
				if i > 0 {
					do(Command{Kind: BindExchange, Definition: &Definition{Name: fmt.Sprint("x", i-1), Source: fmt.Sprint("x", i)}})
				}
			}
			do(Command{Kind: BindQueue, Definition: &Definition{Name: "q", Source: "x0"}})
			return commands{{Kind: DeleteQueue, Definition: &Definition{Name: "q"}}}
		}},
		{"orphans/star=50000", true, func(w *world, do func(Command)) []Command {
			do(Command{Kind: DeclareExchange, Definition: &Definition{Name: "x", Type: "fanout", Durable: true}})
			for i := range 50_000 {
				do(Command{Kind: DeclareExchange, Definition: &Definition{Name: fmt.Sprint("x", i), Type: "fanout", Durable: true, AutoDelete: true}})
				do(Command{Kind: BindExchange, Definition: &Definition{Name: "x", Source: fmt.Sprint("x", i)}})
			}
			return commands{{Kind: DeleteExchange, Definition: &Definition{Name: "x"}}}
		}},
		{"policy/queues=100000", true, func(w *world, do func(Command)) []Command {
			for i := range 100_000 {
				do(queueOf(fmt.Sprint("q", i)))
			}
			return commands{{Kind: SetPolicy, Policy: &Policy{Name: "p", Pattern: ".*", Definition: amqp.Table{argumentOf("max-length", 1000)}}}}
		}},
		{"options/queues=100000", true, func(w *world, do func(Command)) []Command {
			for i := range 100_000 {
				do(queueOf(fmt.Sprint("q", i)))
			}
			return commands{{Kind: SetOptions, Definition: &Definition{Arguments: amqp.Table{{Name: "ttl-in-dlq", Value: amqp.Bool(false)}}}}}
		}},
		{"policy/max-length=0/1000000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("q"))
			fill(do, "q", 1_000_000)
			return commands{{Kind: SetPolicy, Policy: &Policy{Name: "p", Pattern: ".*", Definition: amqp.Table{argumentOf("max-length", 0)}}}}
		}},
		{"policy/max-length=0/dlx/1000000", false, func(w *world, do func(Command)) []Command {
			do(queueOf("grave"))
			do(queueOf("q", dlq...))
			fill(do, "q", 1_000_000)
			return commands{{Kind: SetPolicy, Policy: &Policy{Name: "p", Pattern: "^q$", Definition: amqp.Table{argumentOf("max-length", 0)}}}}
		}},
		{"policy/expiry-head/1000000", false, func(w *world, do func(Command)) []Command {
			do(Command{Kind: SetPolicy, Policy: &Policy{Name: "p", Pattern: "^q$", Definition: amqp.Table{textOf("expiry", "head")}}})
			do(queueOf("q", argumentOf("x-message-ttl", 1000000)))
			fill(do, "q", 1_000_000)
			return commands{{Kind: ClearPolicy, Policy: &Policy{Name: "p"}}}
		}},
		{"recovered/unacked=1000000", false, func(w *world, do func(Command)) []Command {
			unacked(do, queueOf("q"), to("", "q"), 1_000_000)
			return recoveredFrom(b, w)
		}},
		{"recovered/unacked=1000000/quorum", false, func(w *world, do func(Command)) []Command {
			unacked(do, queueOf("q", textOf("x-queue-type", "quorum")), to("", "q"), 1_000_000)
			return recoveredFrom(b, w)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			w, do := benchWorld(b)
			if !c.hot {
				w.v.KeepHot(hotEntriesMax, 1)
			}
			list := c.with(w, do)
			m := stepMeter{w: w}
			for _, x := range list {
				if x.Channel == 0 {
					x.Channel = 1
				}
				m.step(b, x)
			}
			m.ticks(b)
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			b.ReportMetric(ms(m.first), "first-ms")
			b.ReportMetric(ms(m.longest), "longest-ms")
			b.ReportMetric(float64(m.bytes)/1024, "largest-KiB")
			b.ReportMetric(float64(m.steps), "steps")
			b.ReportMetric(ms(m.total), "all-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func deadLetterTo(do func(Command), fanout func(func(Command), int), source, publish Command, queues int) []Command {
	fanout(do, queues)
	do(source)
	do(publish)
	do(Command{Kind: Get, Definition: &Definition{Name: "source"}})
	return []Command{{Kind: Reject, Tag: 1}}
}

// unacked fills a queue whose messages all go to one consumer.
func unacked(do func(Command), declare, publish Command, n int) {
	do(declare)
	do(Command{Kind: Consume, Definition: &Definition{Name: declare.Definition.Name, ConsumerTag: "c"}})
	for range n {
		do(publish)
	}
}

// recoveredFrom restarts the world without a Recovered.
func recoveredFrom(b *testing.B, w *world) []Command {
	v := w.fresh()
	v.KeepHot(hotEntriesMax, 1)
	if err := w.replayAll(v); err != nil {
		b.Fatal(err)
	}
	w.v, w.out = v, Outcome{}
	return []Command{{Kind: Recovered}}
}
