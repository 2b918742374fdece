package amqpserver

import (
	"bytes"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If it failed, clients would get another answer than they wait for.
func TestEveryCommandHasItsAnswer(t *testing.T) {
	t.Parallel()
	args := amqp.Table{{Name: "x", Value: amqp.Int32(1)}}
	for _, test := range []struct {
		say    wire.Method
		kind   vhost.CommandKind
		define *vhost.Definition
		answer wire.Method // nil: none
	}{
		{&wire.ExchangeDeclare{Exchange: "e\r\n", Type: "topic", Passive: true, Durable: true, AutoDelete: true, Internal: true, Arguments: args}, vhost.DeclareExchange,
			&vhost.Definition{Name: "e", Type: "topic", Passive: true, Durable: true, AutoDelete: true, Internal: true, Arguments: args}, &wire.ExchangeDeclareOk{}},
		{&wire.ExchangeDelete{Exchange: "e\n", IfUnused: true}, vhost.DeleteExchange, &vhost.Definition{Name: "e", IfUnused: true}, &wire.ExchangeDeleteOk{}},
		{&wire.ExchangeBind{Destination: "d", Source: "s", RoutingKey: "k", Arguments: args}, vhost.BindExchange,
			&vhost.Definition{Name: "d", Source: "s", RoutingKey: "k", Arguments: args}, &wire.ExchangeBindOk{}},
		{&wire.ExchangeUnbind{Destination: "d", Source: "s", RoutingKey: "k", Arguments: args}, vhost.UnbindExchange,
			&vhost.Definition{Name: "d", Source: "s", RoutingKey: "k", Arguments: args}, &wire.ExchangeUnbindOk{}},
		{&wire.QueueDeclare{Queue: "q\r", Passive: true, Durable: true, Exclusive: true, AutoDelete: true, Arguments: args}, vhost.DeclareQueue,
			&vhost.Definition{Name: "q", Passive: true, Durable: true, Exclusive: true, AutoDelete: true, Arguments: args},
			&wire.QueueDeclareOk{Queue: "q", MessageCount: 7, ConsumerCount: 3}},
		{&wire.QueueBind{Queue: "q", Exchange: "e", RoutingKey: "k", Arguments: args}, vhost.BindQueue,
			&vhost.Definition{Name: "q", Source: "e", RoutingKey: "k", Arguments: args}, &wire.QueueBindOk{}},
		{&wire.QueueUnbind{Queue: "q", Exchange: "e", RoutingKey: "k", Arguments: args}, vhost.UnbindQueue,
			&vhost.Definition{Name: "q", Source: "e", RoutingKey: "k", Arguments: args}, &wire.QueueUnbindOk{}},
		{&wire.QueuePurge{Queue: "q"}, vhost.PurgeQueue, &vhost.Definition{Name: "q"}, &wire.QueuePurgeOk{MessageCount: 7}},
		{&wire.QueueDelete{Queue: "q", IfUnused: true, IfEmpty: true}, vhost.DeleteQueue, &vhost.Definition{Name: "q", IfUnused: true, IfEmpty: true}, &wire.QueueDeleteOk{MessageCount: 7}},
		{&wire.BasicQos{PrefetchSize: 1, PrefetchCount: 2, Global: true}, vhost.Qos, &vhost.Definition{PrefetchSize: 1, Prefetch: 2, Global: true}, &wire.BasicQosOk{}},
		{&wire.BasicConsume{Queue: "q", ConsumerTag: "t", NoLocal: true, NoAck: true, Exclusive: true, Arguments: args}, vhost.Consume,
			&vhost.Definition{Name: "q", ConsumerTag: "t", NoAck: true, Exclusive: true, Arguments: args}, &wire.BasicConsumeOk{ConsumerTag: "t"}},
		{&wire.BasicCancel{ConsumerTag: "t"}, vhost.Cancel, &vhost.Definition{ConsumerTag: "t"}, &wire.BasicCancelOk{ConsumerTag: "t"}},
		{&wire.BasicGet{Queue: "q", NoAck: true}, vhost.Get, &vhost.Definition{Name: "q", NoAck: true}, &wire.BasicGetEmpty{}},
		{&wire.BasicRecover{Requeue: true}, vhost.Recover, nil, &wire.BasicRecoverOk{}},
		{&wire.BasicRecoverAsync{Requeue: true}, vhost.Recover, nil, nil},
		{&wire.ConfirmSelect{}, vhost.SelectConfirms, nil, &wire.ConfirmSelectOk{}},
		{&wire.ConfirmSelect{NoWait: true}, vhost.SelectConfirms, nil, nil},
		{&wire.TxSelect{}, vhost.SelectTx, nil, &wire.TxSelectOk{}},
		{&wire.TxCommit{}, vhost.CommitTx, nil, &wire.TxCommitOk{}},
		{&wire.TxRollback{}, vhost.RollbackTx, nil, &wire.TxRollbackOk{}},
		{&wire.QueueDeclare{Queue: "q", NoWait: true}, vhost.DeclareQueue, &vhost.Definition{Name: "q"}, nil},
		{&wire.BasicAck{DeliveryTag: 5, Multiple: true}, vhost.Ack, nil, nil},
		{&wire.BasicNack{DeliveryTag: 5, Multiple: true, Requeue: true}, vhost.Nack, nil, nil},
		{&wire.BasicReject{DeliveryTag: 5, Requeue: true}, vhost.Reject, nil, nil},
		{&wire.ChannelFlow{Active: true}, 0, nil, &wire.ChannelFlowOk{Active: true}},
		{&wire.AccessRequest{Realm: "/data"}, 0, nil, &wire.AccessRequestOk{Ticket: 1}},
		{&wire.ChannelFlowOk{}, 0, nil, nil},
		{&wire.BasicCancelOk{ConsumerTag: "t"}, 0, nil, nil},
	} {
		inBubble(t, nil, func(b *bed) {
			b.script.answer = func(s *scriptSession, c *vhost.Command) bool {
				counts := c.Kind == vhost.DeclareQueue || c.Kind == vhost.PurgeQueue || c.Kind == vhost.DeleteQueue
				if counts && !c.NoWait {
					s.frontend.Emit(&vhost.Effect{Kind: vhost.Done, Command: c.Kind, Channel: c.Channel, Name: c.Definition.Name, Count: 7, Consumers: 3})
				}
				return counts
			}
			c := b.open(0)
			c.openChannel(3)
			c.send(3, test.say)
			if test.answer != nil {
				f, _ := c.next()
				m, err := wire.ParseMethod(f.Payload)
				if err != nil || f.Channel != 3 || !reflect.DeepEqual(m, test.answer) {
					c.Errorf("%T was answered with %+v, %v", test.say, m, err)
				}
			}
			c.expectQuiet()
			commands := c.session.got()[1:]
			if test.kind == 0 {
				if len(commands) != 0 {
					c.Errorf("%T became %+v", test.say, commands)
				}
				return
			}
			if len(commands) != 1 || commands[0].Kind != test.kind || !reflect.DeepEqual(commands[0].Definition, test.define) {
				c.Fatalf("%T became %+v %+v", test.say, commands, commands[0].Definition)
			}
			switch test.say.(type) {
			case *wire.BasicAck, *wire.BasicNack, *wire.BasicReject:
				_, single := test.say.(*wire.BasicReject)
				_, ack := test.say.(*wire.BasicAck)
				if k := commands[0]; k.Tag != 5 || k.Multiple == single || k.Requeue == ack {
					c.Errorf("%T became %+v", test.say, k)
				}
			}
		})
	}
}

// If it failed, what consumers get would differ from what was published.
func TestMessagesGoOut(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		id := c.session.got(vhost.OpenChannel)[0].Channel
		properties := string(amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagAppID, AppID: "me"}))
		for _, size := range []int{0, 1, 1000, 131064, 131065, 3 << 20} {
			body := strings.Repeat("b", size)
			m := message("x", "k", properties, body)
			c.session.emit(
				vhost.Effect{Kind: vhost.Deliver, Channel: id, ConsumerTag: "tag", Tag: 9, Redelivered: true, Message: m},
				vhost.Effect{Kind: vhost.DeliverGot, Channel: id, Tag: 10, Count: 4, Message: m},
				vhost.Effect{Kind: vhost.SendBack, Channel: id, Message: m},
				vhost.Effect{Kind: vhost.Cancelled, Channel: id, ConsumerTag: "tag"})
			if got := expect[*wire.BasicDeliver](c, 1); *got != (wire.BasicDeliver{ConsumerTag: "tag", DeliveryTag: 9, Redelivered: true, Exchange: "x", RoutingKey: "k"}) {
				c.Errorf("delivered as %+v", got)
			}
			c.expectContent(1, properties, body)
			if got := expect[*wire.BasicGetOk](c, 1); *got != (wire.BasicGetOk{DeliveryTag: 10, Exchange: "x", RoutingKey: "k", MessageCount: 4}) {
				c.Errorf("got as %+v", got)
			}
			c.expectContent(1, properties, body)
			if got := expect[*wire.BasicReturn](c, 1); *got != (wire.BasicReturn{ReplyCode: 312, ReplyText: "NO_ROUTE", Exchange: "x", RoutingKey: "k"}) {
				c.Errorf("returned as %+v", got)
			}
			c.expectContent(1, properties, body)
			if got := expect[*wire.BasicCancel](c, 1); *got != (wire.BasicCancel{ConsumerTag: "tag", NoWait: true}) {
				c.Errorf("cancelled with %+v", got)
			}
			synctest.Wait()
			cost := 2 * engine.DeliveryCost(&vhost.Effect{Message: m}) // a return has cost the client what it costs us
			if back := c.session.written.Swap(0); back != cost {
				c.Errorf("%d octets of window given back, %d taken", back, cost)
			}
		}
	})
}

// expectContent reads a header and bodies.
func (c *client) expectContent(channel uint16, properties, body string) {
	c.Helper()
	f, _ := c.next()
	h, err := wire.ParseContentHeader(f.Payload)
	if err != nil || f.Type != wire.FrameHeader || f.Channel != channel || string(h.Properties) != properties || h.BodySize != uint64(len(body)) {
		c.Fatalf("header is %+v, %v", h, err)
	}
	var got []byte
	for len(got) < len(body) {
		f, ok := c.next()
		if !ok || f.Type != wire.FrameBody || f.Channel != channel || len(f.Payload) > 131064 {
			c.Fatalf("body frame of type %d with %d octets", f.Type, len(f.Payload))
		}
		got = append(got, f.Payload...)
	}
	if string(got) != body {
		c.Fatal("body has changed")
	}
}

// If it failed, publishers would take what was refused for confirmed, or wait for ever, or get a frame per message.
func TestConfirmsAreCoalesced(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.openChannel(2)
		ids := c.session.got(vhost.OpenChannel)
		confirm := func(k int, tag uint64) vhost.Effect {
			return vhost.Effect{Kind: vhost.Confirm, Channel: ids[k-1].Channel, Tag: tag}
		}
		refuse := confirm(1, 4)
		refuse.Kind = vhost.Refuse
		back := vhost.Effect{Kind: vhost.SendBack, Channel: ids[0].Channel, Message: message("x", "k", "\x00\x00", "")}
		c.session.emit(confirm(1, 1), confirm(2, 1), confirm(1, 2), confirm(1, 3), refuse, confirm(1, 5), confirm(2, 2), back, confirm(1, 6))
		var got []any
		for range 5 {
			f, _ := c.next()
			m, err := wire.ParseMethod(f.Payload)
			if err != nil {
				c.Fatal(err)
			}
			got = append(got, f.Channel, m)
			if _, returned := m.(*wire.BasicReturn); returned {
				c.next() // its header
			}
		}
		want := []any{
			uint16(1), &wire.BasicAck{DeliveryTag: 3, Multiple: true},
			uint16(1), &wire.BasicNack{DeliveryTag: 4},
			uint16(1), &wire.BasicReturn{ReplyCode: 312, ReplyText: "NO_ROUTE", Exchange: "x", RoutingKey: "k"},
			uint16(1), &wire.BasicAck{DeliveryTag: 6, Multiple: true},
			uint16(2), &wire.BasicAck{DeliveryTag: 2, Multiple: true},
		}
		if !reflect.DeepEqual(got, want) {
			c.Errorf("got %+v", got)
		}
		c.session.emit(confirm(1, 7))
		if got := expect[*wire.BasicAck](c, 1); *got != (wire.BasicAck{DeliveryTag: 7}) {
			c.Errorf("a single confirm is %+v", got)
		}
		c.expectQuiet()
	})
}

// If it failed, every delivery and confirm would cost the garbage collector.
func TestDeliveriesAndConfirmsAllocateNothing(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	o := Defaults()
	server, err := New(newScript(), o)
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(server, 1, ours)
	c.encoder.frameMax = 131072
	c.channels.add(&channel{number: 1, id: 1})
	m := message("exchange", "some.routing.key", "\x00\x00", strings.Repeat("b", 1024))
	deliver := vhost.Effect{Kind: vhost.Deliver, Channel: 1, ConsumerTag: "tag", Tag: 1, Message: m}
	confirm := vhost.Effect{Kind: vhost.Confirm, Channel: 1}
	run := func() {
		for range 200 { // several chunks
			c.encoder.Emit(&deliver)
			confirm.Tag++
			c.encoder.Emit(&confirm)
		}
		c.encoder.Flush()
		for _, p := range c.outbox.mu.queue {
			server.buffers.recycleChunk(p.octets)
		}
		c.outbox.mu.queue = c.outbox.mu.queue[:0]
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations for 200 deliveries and confirms", n)
	}
}

// If it failed, a thousand connections that get a message each at the same time would take 64 MiB for that.
func TestFewFramesTakeASmallChunk(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	server, err := New(newScript(), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(server, 1, ours)
	c.encoder.frameMax = 131072
	c.channels.add(&channel{number: 1, id: 1})
	m := message("exchange", "some.routing.key", "\x00\x00", strings.Repeat("b", 1024))
	deliver := vhost.Effect{Kind: vhost.Deliver, Channel: 1, ConsumerTag: "tag", Tag: 1, Message: m}
	for k, most := range []int{chunkBytesSmall, chunkBytesSmall, chunkBytesSmall, chunkBytes} {
		c.encoder.Emit(&deliver)
		if n := cap(c.encoder.chunk); n != most {
			t.Errorf("%d messages are encoded into a chunk of %d octets", k+1, n)
		}
	}
	whole := slices.Clone(c.encoder.chunk)
	if len(whole)%4 != 0 || !bytes.Equal(whole, bytes.Repeat(whole[:len(whole)/4], 4)) {
		t.Error("the chunk that became large has other frames")
	}
}

// If it failed, a connection that is lost would be sent messages until the engine lets it go, and a thousand would take
// the time of others for that.
func TestNothingIsEncodedForALostConnection(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		id := c.session.got(vhost.OpenChannel)[0].Channel
		ended := false
		b.script.ending = func(s *scriptSession) {
			ended = true
			m := message("", "q", "\x00\x00", "body")
			s.mu.Lock()
			defer s.mu.Unlock()
			s.frontend.Emit(&vhost.Effect{Kind: vhost.Deliver, Channel: id, ConsumerTag: "c", Tag: 1, Message: m})
			if s.frontend.(*encoder).chunk != nil {
				c.Error("a message was encoded")
			}
		}
		c.Conn.Close()
		synctest.Wait()
		if !ended {
			c.Error("the session has not ended")
		}
	})
}

// If it failed, every message that comes in would cost the garbage collector.
func TestPublishesAllocateNothing(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	server, err := New(newScript(), Defaults())
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(server, 1, ours)
	c.input.frameMax = 131072
	ch := &channel{number: 1, id: 1}
	c.numbers[1] = ch
	stream := bytes.Repeat(slices.Concat(publishing(1, "some.routing.key", strings.Repeat("b", 1024)),
		method(1, &wire.BasicAck{DeliveryTag: 1})), 200)
	run := func() {
		buf, _ := c.input.lend()
		copy(buf, stream)
		c.input.start, c.input.end = 0, len(stream)
		if err := c.frames(); err != nil {
			t.Fatal(err)
		}
		full := c.input.take()
		if len(full.Commands) != 400 {
			t.Fatalf("%d commands", len(full.Commands))
		}
		full.conn = c
		full.Free(&full.Batch)
	}
	c.input.size = readBufferLarge
	for range 4 {
		run()
	}
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations for 200 publishes and acks", n)
	}
}

// If it failed, a message whose counters make its header frame larger than the client has agreed to would end the
// connection at every attempt to deliver it.
func TestHeaderFramesFit(t *testing.T) {
	t.Parallel()
	const frameMax = 8192
	inBubble(t, nil, func(b *bed) {
		c := b.dial().listen()
		c.handshakeWithin(0, frameMax)
		c.openChannel(1)
		const overhead = 8 + 12 + 2 + 4 + 2 + 5 // frame, content header, flags, table, name, value
		table := amqp.Table{{Name: "a", Value: amqp.String(strings.Repeat("a", frameMax-overhead))}}
		full := amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagHeaders, Headers: table})
		m := message("", "q", string(full), "body")
		m.Acquired, m.Count = 3, 3
		id := c.session.got(vhost.OpenChannel)[0].Channel
		c.session.emit(vhost.Effect{Kind: vhost.Deliver, Channel: id, ConsumerTag: "c", Tag: 1, Message: m})
		expect[*wire.BasicDeliver](c, 1)
		if f, ok := c.next(); !ok || f.Type != wire.FrameHeader || len(f.Payload) != frameMax-8 || !bytes.HasSuffix(f.Payload, full) {
			c.Errorf("header frame of type %d with %d octets", f.Type, len(f.Payload))
		}
	})
}
