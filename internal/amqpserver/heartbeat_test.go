package amqpserver

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If it failed, clients would take an idle broker for dead: those that wait for one interval and no longer, too.
func TestServerBeats(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(10)
		c.openChannel(1)
		time.Sleep(time.Second) // the heartbeats come between the looks
		for i := range 20 {
			c.raw(wire.AppendHeartbeat(nil))
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if n := len(c.frames); n != i+1 {
				c.Fatalf("%d heartbeats after %d half intervals", n, i+1)
			}
		}
	})
}

// If it failed, a busy broker would send heartbeats for nothing.
func TestTrafficStandsForHeartbeats(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(10)
		c.openChannel(1)
		id := c.session.got(vhost.OpenChannel)[0].Channel
		for tag := range uint64(100) {
			time.Sleep(time.Second)
			c.session.emit(vhost.Effect{Kind: vhost.Confirm, Channel: id, Tag: tag + 1})
			c.send(1, &wire.BasicAck{DeliveryTag: 1})
		}
		synctest.Wait()
		beats := 0
		for len(c.frames) > 0 {
			if f := <-c.frames; f.Type == wire.FrameHeartbeat {
				beats++
			}
		}
		if beats > 1 {
			c.Errorf("%d heartbeats amid traffic, not at most the first", beats)
		}
	})
}

// If it failed, connections of vanished clients would keep their exclusive queues and unacked messages.
func TestSilentClientIsDropped(t *testing.T) {
	t.Parallel()
	for _, speaks := range []bool{false, true} {
		inBubble(t, nil, func(b *bed) {
			c := b.open(10)
			if speaks {
				time.Sleep(17 * time.Second)
				c.raw(wire.AppendHeartbeat(nil))
			}
			last := time.Now()
			c.expectEnd() // without connection.close
			if wait := c.at.Sub(last); wait < 20*time.Second || wait > 25*time.Second {
				c.Errorf("dropped after %v of silence", wait)
			}
			synctest.Wait()
			if !c.session.isClosed() {
				c.Error("still attached")
			}
		})
	}
}

// If it failed, clients that switch heartbeats off would be dropped.
func TestNoHeartbeats(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		time.Sleep(24 * time.Hour)
		c.expectQuiet()
		c.openChannel(1)
	})
}
