package amqpserver

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If it failed, a client that asks without ever reading the answers would take memory without end.
func TestClientThatNeverReads(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		close(c.mute)
		body := strings.Repeat("b", 1<<20)
		gets := 0
		b.script.answer = func(s *scriptSession, k *vhost.Command) bool {
			if k.Kind == vhost.Get {
				gets++
				s.frontend.Emit(&vhost.Effect{Kind: vhost.DeliverGot, Channel: k.Channel, Message: message("", "q", "\x00\x00", body)})
			}
			return k.Kind == vhost.Get
		}
		written := make(chan struct{})
		go func() {
			defer close(written)
			for range 1000 {
				if _, err := c.Write(method(1, &wire.BasicGet{Queue: "q"})); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		if gets < unsentBytesMax>>20 || gets > unsentBytesMax>>20+2 {
			c.Errorf("%d answers of 1 MiB were made for a client that does not read", gets)
		}
		c.Conn.Close()
		<-written
	})
}

// If it failed, a slow client that reads small answers would hold a chunk for each.
func TestSmallFlushesShareAChunk(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		close(c.mute)
		id := c.session.got(vhost.OpenChannel)[0].Channel
		for tag := range uint64(10_000) {
			if tag < 3 {
				synctest.Wait() // until the writer is stuck
			}
			c.session.emit(vhost.Effect{Kind: vhost.Confirm, Channel: id, Tag: tag + 1})
		}
		synctest.Wait()
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		for _, conn := range b.server.mu.conns {
			if n := len(conn.outbox.mu.queue); n < 1 || n > 5 {
				c.Errorf("%d chunks for 210 kB", n)
			}
		}
	})
}

// If it failed, a publisher faster than the engine would pile up its messages in the broker; or would be dropped,
// or think the broker dead, while it is held back.
func TestPublisherIsHeldBack(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(10)
		c.openChannel(1)
		c.session.park()
		written := make(chan struct{})
		go func() {
			defer close(written)
			for range 20 {
				c.raw(publishing(1, "q", "x"))
			}
		}()
		time.Sleep(time.Minute)
		select {
		case <-written:
			c.Error("an engine that is behind was sent everything")
		default:
		}
		c.session.mu.Lock()
		if n := len(c.session.parked); n != batchesUnderWayMax {
			c.Errorf("%d batches under way", n)
		}
		c.session.mu.Unlock()
		if n := len(c.frames); n < 5 || n > 12 {
			c.Errorf("%d heartbeats in six intervals", n)
		}
		c.session.unpark()
		<-written
		synctest.Wait()
		if n := len(c.session.got(vhost.Publish)); n != 20 {
			c.Errorf("%d messages published", n)
		}
	})
}

// If it failed, a connection could not end while the engine is behind.
func TestHeldBackPublisherCanBeClosed(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.session.park()
		for range batchesUnderWayMax {
			c.raw(publishing(1, "q", "x"))
			synctest.Wait()
		}
		b.server.CloseConnection(b.server.Connections()[0].Name, "enough")
		if got := expect[*wire.ConnectionClose](c, 0); got.ReplyCode != 320 {
			c.Errorf("told %+v", got)
		}
		c.send(0, &wire.ConnectionCloseOk{})
		c.expectEnd()
		c.session.unpark() // late, for a connection that is gone
	})
}

// If it failed, a client that dies while the engine waits for it to read would stay connected for ever.
func TestHeldBackClientDies(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.session.park()
		for range batchesUnderWayMax {
			c.raw(publishing(1, "q", "x"))
			synctest.Wait()
		}
		c.Conn.Close()
		c.session.emit(vhost.Effect{Kind: vhost.Cancelled, Channel: c.session.got(vhost.OpenChannel)[0].Channel, ConsumerTag: "c"})
		synctest.Wait()
		if n := len(b.server.Connections()); n != 0 {
			c.Errorf("%d connections are left", n)
		}
		c.session.unpark()
	})
}

// If it failed, many clients that ask without reading the answers could take all of the memory together.
func TestClientsThatNeverReadShareABound(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *Options) { o.UnfinishedMax = 4 << 20 }, func(b *bed) {
		body := strings.Repeat("b", 100_000)
		b.script.answer = func(s *scriptSession, k *vhost.Command) bool {
			if k.Kind == vhost.Publish {
				s.frontend.Emit(&vhost.Effect{Kind: vhost.SendBack, Channel: k.Channel, Message: message("", "q", "\x00\x00", body)})
			}
			return k.Kind == vhost.Publish
		}
		for range 40 {
			c := b.open(0)
			c.openChannel(1)
			synctest.Wait()
			close(c.mute)
			for range 20 {
				c.sends(publishing(1, "q", "x"))
			}
			synctest.Wait()
		}
		n := b.server.answers.Load()
		if most := int64(4<<20/answersShare + 40*4*100_000); n > most || n < 4<<20/answersShare {
			t.Errorf("%d octets of answers wait", n)
		}
		for _, conn := range b.server.live() {
			conn.cut()
		}
		synctest.Wait()
		if n := b.server.answers.Load(); n != 0 {
			t.Errorf("%d octets are counted of connections that are gone", n)
		}
	})
}

// If it failed, a user who may do nothing could fill the memory with small methods, each of which takes 25 times as
// much decoded as on the wire; or frames that come in one read would be lost or change places.
func TestDecodedCommandsAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.session.park()
		const n = 40_000
		var frames []byte
		for i := range n {
			frames = append(frames, method(1, &wire.BasicQos{PrefetchCount: uint16(i)})...)
		}
		written := make(chan struct{})
		go func() {
			defer close(written)
			c.raw(frames)
		}()
		synctest.Wait()
		c.session.mu.Lock()
		commands := 0
		for _, x := range c.session.parked {
			commands += len(x.Commands)
		}
		c.session.mu.Unlock()
		if commands > batchesUnderWayMax*batchCommandsMax {
			c.Errorf("%d commands wait for the engine", commands)
		}
		if octets := b.server.underWay.Load(); octets > 4<<20 {
			c.Errorf("%d octets wait for the engine", octets)
		}
		c.session.unpark()
		<-written
		synctest.Wait()
		got := c.session.got(vhost.Qos)
		if len(got) != n {
			c.Fatalf("%d methods arrived", len(got))
		}
		for i := range got {
			if got[i].Definition.Prefetch != uint16(i) {
				c.Fatalf("method %d arrived as number %d", got[i].Definition.Prefetch, i)
			}
		}
	})
}

// If it failed, tables of many small values would pass the bound, or one user could take all that the connections have
// together.
func TestDecodedTablesAreCounted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *Options) { o.UnfinishedMax = 16 << 20 }, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.session.park()
		list := make([]amqp.Value, 4000)
		for i := range list {
			list[i] = amqp.Bool(true)
		}
		x := &wire.QueueDeclare{Queue: "q", Arguments: amqp.Table{{Name: "x", Value: amqp.Value{Kind: amqp.KindArray, Array: list}}}}
		var frames []byte
		for range 200 {
			frames = append(frames, method(1, x)...)
		}
		written := make(chan struct{})
		go func() {
			defer close(written)
			c.raw(frames)
		}()
		synctest.Wait()
		octets := b.server.underWay.Load()
		if most := int64(batchesUnderWayMax * (readBufferLarge + batchMadeMax + 600<<10)); octets < 4*500<<10 || octets > most {
			c.Errorf("%d octets wait for the engine", octets)
		}
		b.server.mu.Lock()
		ofUser := b.server.mu.users["guest"]
		if len(b.server.mu.users) != 1 || ofUser == nil || ofUser.underWay.Load() != octets {
			c.Errorf("of the user: %+v", ofUser)
		}
		b.server.mu.Unlock()
		c.session.unpark()
		<-written
		synctest.Wait()
		if n := len(c.session.got(vhost.DeclareQueue)); n != 200 {
			c.Errorf("%d methods arrived", n)
		}
		if octets := b.server.underWay.Load(); octets != 0 {
			c.Errorf("%d octets are left", octets)
		}
		c.Conn.Close()
		synctest.Wait()
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		if n := len(b.server.mu.users); n != 0 {
			c.Errorf("%d users are left", n)
		}
	})
}
