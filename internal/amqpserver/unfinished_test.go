package amqpserver

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// half is the beginning of a message: method, header, and so much of its body in frames of 100,000 octets.
func half(channel uint16, announced, sent int) []byte {
	b := wire.AppendPublish(nil, channel, "", "q", false)
	b = wire.AppendContentHeader(b, channel, uint64(announced), []byte{0, 0})
	return append(b, more(channel, sent)...)
}

// more goes on with a body.
func more(channel uint16, octets int) []byte {
	return wire.AppendBody(nil, channel, bytes.Repeat([]byte("x"), octets), 100_000)
}

// sends writes in the background, in order, for a server that may not read.
func (c *client) sends(b []byte) {
	before, done := c.sent, make(chan struct{})
	c.sent = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		_, _ = c.Write(b) // its error is the end of the connection
	}()
}

// small lets messages that have not arrived whole take 4 MiB of the node, 3 of a user, 2 of a connection.
func small(o *Options) {
	o.UnfinishedMax, o.UnfinishedMaxUser, o.UnfinishedMaxConnection = 4<<20, 3<<20, 2<<20
	o.MessageMax = 1 << 20
}

// published is how many whole messages the engine has got.
func (c *client) published() int { return len(c.session.got(vhost.Publish)) }

// If it failed, clients that send halves of messages could take all of the memory, or lock each other for ever.
func TestHalfSentMessagesAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, small, func(b *bed) {
		var all []*client
		for range 20 {
			c := b.open(0)
			c.openChannel(1)
			c.sends(half(1, 1<<20, 1_000_000))
			synctest.Wait()
			all = append(all, c)
		}
		if u := b.server.Unfinished(); u.Bytes > 3<<20+1<<20 || u.Bytes < 2<<20 || u.Waiting < 15 {
			b.Errorf("%+v", u)
		}
		for i, c := range all { // half of them go on
			if i%2 == 0 {
				c.sends(more(1, 1<<20-1_000_000))
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		whole, ended := 0, 0
		for _, c := range all {
			whole += c.published()
			if len(c.frames) > 0 {
				if got := expect[*wire.ConnectionClose](c, 0); got.ReplyCode != 506 || !strings.HasPrefix(got.ReplyText, "RESOURCE_ERROR - ") {
					b.Errorf("%+v", got)
				}
				ended++
			}
		}
		u := b.server.Unfinished()
		if whole+ended != 20 || whole == 0 || u.Bytes != 0 || u.Waiting != 0 || u.Ended != uint64(ended) {
			b.Errorf("%d whole, %d ended, left: %+v", whole, ended, u)
		}
	})
}

// If it failed, a message larger than what is left, or than all there is, could not be sent though it is alone; or two
// that need the same space would wait for each other.
func TestTheFirstThatWaitsPasses(t *testing.T) {
	t.Parallel()
	few := func(o *Options) {
		small(o)
		o.UnfinishedMax, o.UnfinishedMaxUser, o.UnfinishedMaxConnection = 1<<19, 1<<19, 1
	}
	inBubble(t, few, func(b *bed) {
		alone := b.open(0)
		alone.openChannel(1)
		alone.raw(half(1, 1<<20, 1<<20))
		synctest.Wait()
		if alone.published() != 1 {
			t.Fatal("it did not arrive")
		}
		var all []*client
		for range 6 {
			c := b.open(10)
			c.openChannel(1)
			c.sends(half(1, 1<<20, 300_000))
			synctest.Wait()
			all = append(all, c)
		}
		for _, c := range slices.Backward(all) {
			c.sends(slices.Concat(more(1, 1<<20-300_000), publishing(1, "q", "next")))
			synctest.Wait()
		}
		for i, c := range all {
			if n := c.published(); n != 2 {
				t.Errorf("%d messages of connection %d arrived", n, i)
			}
		}
		if u := b.server.Unfinished(); u != (UnfinishedMessages{}) {
			t.Errorf("left: %+v", u)
		}
	})
}

// If it failed, what a user may not publish would be kept in memory until it is whole.
func TestBodyOfARefusedMessageIsNotKept(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		b.script.answer = func(s *scriptSession, k *vhost.Command) bool {
			if k.Kind == vhost.Announce {
				if string(k.Key) != "q" || len(k.Body) > 0 {
					t.Errorf("asked for %+v", k)
				}
				s.closeWith(k, amqp.AccessRefused("no"))
			}
			return k.Kind == vhost.Announce
		}
		c := b.open(0)
		for n := range uint16(20) {
			c.openChannel(n + 1)
			c.raw(half(n+1, 16<<20, 300_000))
			if got := expect[*wire.ChannelClose](c, n+1); got.ReplyCode != 403 || got.ClassID != 60 || got.MethodID != 40 {
				t.Errorf("%+v", got)
			}
			c.raw(more(n+1, 15<<20))
		}
		synctest.Wait()
		if u := b.server.Unfinished(); u.Bytes != 0 {
			t.Errorf("%+v", u)
		}
		c.openChannel(99)
		c.raw(half(99, 60_000, 60_000)) // small ones are not asked for
		synctest.Wait()
		if n := len(c.session.got(vhost.Announce)); n != 20 || c.published() != 1 {
			t.Errorf("%d asked for", n)
		}
	})
}

// If it failed, messages would go on to grow during an alarm; or be lost by it.
func TestBodiesWaitForTheEndOfAnAlarm(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(10)
		c.openChannel(1)
		c.raw(half(1, 1<<20, 200_000))
		synctest.Wait()
		c.session.block(true)
		c.sends(more(1, 1<<20-200_000))
		before := b.server.Unfinished().Bytes
		for range 10 {
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if u := b.server.Unfinished(); u.Bytes != before || c.published() != 0 {
			t.Errorf("%+v, %d before", u, before)
		}
		c.session.block(false)
		synctest.Wait()
		if u := b.server.Unfinished(); c.published() != 1 || u != (UnfinishedMessages{}) {
			t.Errorf("%d published, %+v", c.published(), u)
		}
	})
}

// If it failed, a message would be cut off though it comes on, or stay for ever though it does not.
func TestWhatDoesNotComeOnEnds(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string][]byte{
		"a body": half(1, 1<<20, 300_000), "a small one": half(1, 5, 1), "a header": half(1, 1<<20, 0), "a method": wire.AppendPublish(nil, 1, "", "q", false),
		"a frame": method(1, &wire.QueueDeclare{Queue: "q"})[:9], "its first octet": {1},
		"empty frames": half(1, 1<<20, 300_000),
	} {
		inBubble(t, nil, func(b *bed) {
			c := b.open(0)
			c.openChannel(1)
			c.openChannel(2)
			c.raw(begun)
			wrote := make(chan struct{})
			go func() {
				defer close(wrote)
				for {
					time.Sleep(10 * time.Second)
					rest := wire.AppendHeartbeat(nil) // there is traffic, all the same
					switch name {
					case "a frame", "its first octet":
						return
					case "empty frames":
						rest = []byte{3, 0, 1, 0, 0, 0, 0, wire.FrameEnd}
					}
					if _, err := c.Write(rest); err != nil {
						return
					}
				}
			}()
			begin := time.Now()
			got := expect[*wire.ConnectionClose](c, 0)
			if wait := time.Since(begin); got.ReplyCode != 506 || !strings.Contains(got.ReplyText, "is stalled") || wait < 30*time.Second || wait > time.Minute {
				t.Errorf("%s: %+v after %v", name, got, wait)
			}
			if u := b.server.Unfinished(); u.Bytes != 0 || u.Ended != 1 {
				t.Errorf("%s: %+v", name, u)
			}
			c.Conn.Close()
			<-wrote
		})
	}
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.raw(half(1, 1<<20, 0))
		for range 256 {
			time.Sleep(14 * time.Second)
			c.raw(more(1, 4<<10))
		}
		synctest.Wait()
		if c.published() != 1 {
			t.Error("a slow message did not arrive")
		}
		time.Sleep(time.Hour)
		c.expectQuiet()
	})
}

// If it failed, one connection could take the space of all others with the halves of messages on
// many channels, with the properties of many, or with what was published and not taken.
func TestHalfSentMessagesOfOneConnection(t *testing.T) {
	t.Parallel()
	inBubble(t, small, func(b *bed) {
		c := b.open(0)
		for n := range uint16(100) {
			c.openChannel(n + 1)
			c.sends(half(n+1, 1<<20, 300_000))
			synctest.Wait()
			if len(c.frames) > 0 {
				break
			}
		}
		if got := expect[*wire.ConnectionClose](c, 0); got.ReplyCode != 506 || got.ReplyText != "RESOURCE_ERROR - more than 2097152 octets in incomplete messages" {
			t.Errorf("%+v", got)
		}
		properties := amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagHeaders, Headers: amqp.Table{{Name: "h", Value: amqp.String(strings.Repeat("x", 100_000))}}})
		c = b.open(0)
		for n := range uint16(100) {
			c.openChannel(n + 1)
			c.sends(wire.AppendContentHeader(wire.AppendPublish(nil, n+1, "", "q", false), n+1, 100, properties))
			synctest.Wait()
			if len(c.frames) > 0 {
				break
			}
		}
		if got := expect[*wire.ConnectionClose](c, 0); got.ReplyCode != 506 {
			t.Errorf("%+v", got)
		}
		if u := b.server.Unfinished(); u.Bytes != 0 {
			t.Errorf("%+v", u)
		}
		c = b.open(0)
		c.openChannel(1)
		c.session.park()
		for range 3 {
			c.sends(half(1, 1<<20, 1<<20))
			synctest.Wait()
		}
		if u := b.server.Unfinished(); u.Bytes != 2<<20 {
			t.Errorf("what the engine has not taken is not counted: %+v", u)
		}
		c.session.unpark()
		synctest.Wait()
		if u := b.server.Unfinished(); u.Bytes != 0 || c.published() != 3 {
			t.Errorf("%+v, %d published", u, c.published())
		}
	})
}
