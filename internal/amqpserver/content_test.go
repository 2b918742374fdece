package amqpserver

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If it failed, messages would arrive changed, depending on how the network cut them.
func TestContentInAnySplit(t *testing.T) {
	t.Parallel()
	properties := amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagContentType | amqp.FlagDeliveryMode, ContentType: "text/plain", DeliveryMode: 2})
	const seed = 20260401
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 40 {
		inBubble(t, nil, func(b *bed) {
			c := b.open(0)
			c.openChannel(1)
			var stream []byte
			var bodies []string
			for range 20 {
				size := []int{0, 1, random.IntN(100), random.IntN(5000), random.IntN(400_000)}[random.IntN(5)]
				body := strings.Repeat(string(rune('a'+random.IntN(26))), size)
				bodies = append(bodies, body)
				stream = wire.AppendPublish(stream, 1, "x", "key", true)
				stream = wire.AppendContentHeader(stream, 1, uint64(size), properties)
				for rest := []byte(body); len(rest) > 0; {
					n := min(len(rest), 1+random.IntN(1+random.IntN(131064)), 131064)
					stream = wire.AppendBody(stream, 1, rest[:n], 0)
					rest = rest[n:]
					if random.IntN(4) == 0 {
						stream = wire.AppendHeartbeat(stream)
					}
				}
			}
			small := round%2 == 0
			for len(stream) > 0 {
				n := 1 + random.IntN(300_000)
				if small && len(stream) < 4000 {
					n = 1 + random.IntN(3)
				}
				n = min(n, len(stream))
				c.raw(stream[:n])
				stream = stream[n:]
			}
			synctest.Wait()
			got := c.session.got(vhost.Publish)
			if len(got) != len(bodies) {
				c.Fatalf("%d messages arrived, %d sent", len(got), len(bodies))
			}
			for i, m := range got {
				if string(m.Body) != bodies[i] || string(m.Exchange) != "x" || string(m.Key) != "key" || !m.Mandatory ||
					m.Immediate || !bytes.Equal(m.Properties, properties) {
					c.Fatalf("message %d of %d octets arrived as %d octets, exchange %q, key %q, properties %x",
						i, len(bodies[i]), len(m.Body), m.Exchange, m.Key, m.Properties)
				}
			}
		})
	}
}

// If it failed, two threads of a client that publish on channels of their own would mix their messages.
func TestContentOfTwoChannelsInterleaved(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.openChannel(2)
		var one, two []byte
		one = wire.AppendPublish(one, 1, "", "one", false)
		two = wire.AppendPublish(two, 2, "", "two", false)
		c.raw(slices.Concat(one, two))
		c.raw(slices.Concat(wire.AppendContentHeader(nil, 2, 6, []byte{0, 0}), wire.AppendContentHeader(nil, 1, 3, []byte{0, 0})))
		c.raw(wire.AppendBody(nil, 2, []byte("222"), 0))
		c.raw(wire.AppendBody(nil, 1, []byte("111"), 0))
		c.raw(wire.AppendBody(nil, 2, []byte("333"), 0))
		synctest.Wait()
		got := c.session.got(vhost.Publish)
		if len(got) != 2 || string(got[0].Key) != "one" || string(got[0].Body) != "111" ||
			string(got[1].Key) != "two" || string(got[1].Body) != "222333" {
			c.Errorf("published %+v", got)
		}
	})
}

// If it failed, half a message would be published when its publisher dies.
func TestClientDiesInAMessage(t *testing.T) {
	t.Parallel()
	whole := publishing(1, "q", "whole")
	for cut := range len(whole) {
		inBubble(t, nil, func(b *bed) {
			c := b.open(0)
			c.openChannel(1)
			c.raw(slices.Concat(whole, whole[:cut]))
			c.Conn.Close()
			c.expectEnd()
			synctest.Wait()
			if n := len(c.session.got(vhost.Publish)); n != 1 || !c.session.isClosed() {
				c.Errorf("cut at %d: %d messages published, detached %v", cut, n, c.session.isClosed())
			}
			if n := len(b.server.Connections()); n != 0 {
				c.Errorf("%d connections left", n)
			}
		})
	}
}

// If it failed, announcements alone could exhaust the memory.
func TestAnnouncedBodiesCostNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		for number := range uint16(100) {
			c.openChannel(number + 1)
			c.raw(slices.Concat(wire.AppendPublish(nil, number+1, "", "q", false),
				wire.AppendContentHeader(nil, number+1, 16<<20, []byte{0, 0}), wire.AppendBody(nil, number+1, []byte("x"), 0)))
		}
		synctest.Wait()
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		for _, conn := range b.server.mu.conns {
			total := 0
			for _, ch := range conn.partial {
				total += cap(ch.content.body)
			}
			if len(conn.partial) != 100 || total > 100*2 {
				c.Errorf("%d announcements took %d octets", len(conn.partial), total)
			}
		}
	})
}

// If it failed, the reader would hand on one command at a time, and speed would be gone.
func TestOneReadIsOneBatch(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		for i := range 2 { // the first fills the small buffer that a connection begins with
			before := c.session.batches
			c.raw(bytes.Repeat(publishing(1, "q", "0123456789"), 100))
			synctest.Wait()
			if n := c.session.batches - before; n > 2-i || len(c.session.got(vhost.Publish)) != 100*(i+1) {
				c.Errorf("%d batches for read %d", n, i)
			}
		}
	})
}
