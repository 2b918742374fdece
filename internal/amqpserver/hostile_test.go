package amqpserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	random "math/rand/v2"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If it failed, somebody's broken client could bring the broker down, or leave goroutines behind.
func TestMutatedStreams(t *testing.T) {
	t.Parallel()
	const seed = 20260402
	t.Logf("seed %d", seed)
	dice := random.New(random.NewPCG(seed, 0))
	sound := slices.Concat(
		method(1, &wire.QueueDeclare{Queue: "q", Arguments: amqp.Table{{Name: "x-message-ttl", Value: amqp.Int32(1)}}}),
		method(1, &wire.BasicConsume{Queue: "q"}),
		publishing(1, "q", "one"), publishing(2, "q", "two"),
		method(1, &wire.BasicAck{DeliveryTag: 1}),
		method(2, &wire.ChannelClose{}), method(2, &wire.ChannelOpen{}),
		wire.AppendHeartbeat(nil),
		publishing(2, "q", "three"),
	)
	endings := 0
	for range 500 {
		inBubble(t, nil, func(b *bed) {
			c := b.open(10)
			c.openChannel(1)
			c.openChannel(2)
			stream := slices.Clone(sound)
			for range 1 + dice.IntN(3) {
				at := dice.IntN(len(stream))
				switch dice.IntN(4) {
				case 0:
					stream[at] ^= 1 << dice.IntN(8)
				case 1:
					stream[at] = byte(dice.Uint32())
				case 2:
					stream = slices.Delete(stream, at, min(at+1+dice.IntN(9), len(stream)))
				case 3:
					stream = slices.Insert(stream, at, stream[:dice.IntN(at+1)]...)
				}
			}
			for len(stream) > 0 {
				n := min(1+dice.IntN(100), len(stream))
				if _, err := c.Write(stream[:n]); err != nil {
					break // the server has had enough
				}
				stream = stream[n:]
			}
			synctest.Wait()
			if b.server.Connections()[0].State == "closing" {
				endings++
			}
			c.Conn.Close()
			c.expectGone()
		})
	}
	if endings < 50 || endings > 450 {
		t.Errorf("%d of 500 mutated streams ended the connection: the mutations are too mild or too wild", endings)
	}
}

// expectGone reads until the end and checks that the server has forgotten the connection.
func (c *client) expectGone() {
	c.Helper()
	for range c.frames {
	}
	synctest.Wait()
	if n := len(c.server.Connections()); n != 0 || !c.session.isClosed() {
		c.Errorf("%d connections left, detached %v", n, c.session.isClosed())
	}
}

// If it failed, closing or a heartbeat would break a connection that is encrypted: both interrupt its reads.
func TestInterruptedReadsUnderTLS(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	synctest.Test(t, func(t *testing.T) {
		o := Defaults()
		o.Log = slog.New(slog.DiscardHandler)
		server, err := New(newScript(), o)
		if err != nil {
			t.Fatal(err)
		}
		b := &bed{T: t, script: server.engine.(*script), server: server}
		ours, theirs := net.Pipe()
		server.Take(tls.Server(theirs, config))
		c := &client{bed: b, Conn: tls.Client(ours, &tls.Config{InsecureSkipVerify: true}), frames: make(chan wire.Frame, 1000)}
		c.listen()
		c.handshake(10)
		c.openChannel(1)
		for range 10 {
			time.Sleep(5 * time.Second)
			c.raw(wire.AppendHeartbeat(nil))
		}
		c.raw(publishing(1, "q", "after many an interruption"))
		synctest.Wait()
		if n := len(c.session.got(vhost.Publish)); n != 1 {
			c.Errorf("%d messages published", n)
		}
		server.CloseConnection(server.Connections()[0].Name, "enough")
		expect[*wire.ConnectionClose](c, 0)
		c.send(0, &wire.ConnectionCloseOk{})
		c.expectEnd()
		if err := server.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
