package amqpserver

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// deliverAll sends a consumer that many messages of 1 KiB.
func (c *client) deliverAll(n int) {
	id := c.session.got(vhost.OpenChannel)[0].Channel
	body := strings.Repeat("x", 1<<10)
	for tag := range n {
		c.session.emit(vhost.Effect{Kind: vhost.Deliver, Channel: id, Tag: uint64(tag + 1), Message: message("", "q", "\x00\x00", body)})
	}
}

// If it failed, a client that consumes and never reads would keep its memory and its connection for ever.
func TestClientThatNeverReadsIsCutOff(t *testing.T) {
	t.Parallel()
	for heartbeat, paused := range map[uint16]bool{0: false, 60: false, 1: true} {
		var log bytes.Buffer
		inBubble(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }, func(b *bed) {
			c := b.open(heartbeat)
			c.openChannel(1)
			synctest.Wait()
			close(c.mute)
			c.deliverAll(100)
			if paused {
				c.session.park()
			}
			go func() {
				for { // it sends, all the same
					if _, err := c.Write(method(1, &wire.BasicAck{DeliveryTag: 1})); err != nil {
						return
					}
					time.Sleep(300 * time.Millisecond)
				}
			}()
			time.Sleep(14 * time.Second)
			if n := len(b.server.Connections()); n != 1 {
				t.Fatalf("cut off before the time: %s", log.String())
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if n := len(b.server.Connections()); n != 0 {
				t.Errorf("heartbeat %d: %d connections are left", heartbeat, n)
			}
			if n := b.server.SendTimeouts(); n != 1 {
				t.Errorf("%d counted", n)
			}
			c.session.unpark()
		})
		if !strings.Contains(log.String(), "send timeout of the client: the client read nothing for 15s, and") {
			t.Errorf("logged: %s", log.String())
		}
	}
}

// If it failed, consumers that read slowly, or an idle moment after a busy one, would cost connections.
func TestSlowReadersStay(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.dial()
		frames := make(chan struct{})
		c.listen()
		c.handshake(0)
		c.openChannel(1)
		synctest.Wait()
		close(c.mute) // from now on it reads as below
		go func() {
			defer close(frames)
			for buf := make([]byte, 8<<10); ; time.Sleep(6 * time.Second) {
				if _, err := c.Read(buf); err != nil {
					return
				}
			}
		}()
		for range 5 {
			c.deliverAll(300)
			time.Sleep(10 * time.Minute)
		}
		if n := len(b.server.Connections()); n != 1 || b.server.SendTimeouts() != 0 {
			t.Errorf("%d connections, %d cut off", n, b.server.SendTimeouts())
		}
		c.Conn.Close()
		<-frames
	})
}

// If it failed, a slow client with large buffers would look like one that reads nothing.
func TestAcknowledged(t *testing.T) {
	t.Parallel()
	if !canAskKernel {
		t.Skip("the system does not tell")
	}
	s, peer := pair(t)
	before, said := s.acknowledged(), make([]byte, 100_000)
	go func() {
		if _, err := io.ReadFull(peer, make([]byte, len(said))); err != nil {
			t.Error(err)
		}
		if _, err := peer.Write([]byte("!")); err != nil { // acknowledges all that it has read
			t.Error(err)
		}
	}()
	if _, err := s.Write(said); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if n := s.acknowledged() - before; n != uint64(len(said)) {
		t.Errorf("%d octets were acknowledged", n)
	}
}
