package amqpserver

import (
	"context"
	"log/slog"
	"net"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// bed is a server over a script, in a bubble of virtual time: when the test ends, no goroutine may be left.
type bed struct {
	*testing.T
	script *script
	server *Server
}

// inBubble runs a test against a server with the default options, changed by the given function if there is one.
func inBubble(t *testing.T, change func(*Options), test func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := Defaults()
		o.Log = slog.New(slog.DiscardHandler)
		if change != nil {
			change(&o)
		}
		b := &bed{T: t, script: newScript()}
		server, err := New(b.script, o)
		if err != nil {
			t.Fatal(err)
		}
		b.server = server
		test(b)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = server.Close(ctx) // cuts off what the test has left
	})
}

// client is the other end of a pipe, frame by frame.
type client struct {
	*bed
	net.Conn
	frames  chan wire.Frame // closed with the pipe
	session *scriptSession
	sent    chan struct{} // closed when what sends was given last is sent; nil before
	mute    chan struct{} // closed: the client stops reading
	at      time.Time     // when the pipe was closed by the server; valid once frames is closed
}

// dial connects without a word.
func (b *bed) dial() *client { return b.dialAs(nil) }

// dialAs is dial from an address.
func (b *bed) dialAs(from net.Addr) *client {
	ours, theirs := net.Pipe()
	c := &client{bed: b, Conn: ours, frames: make(chan wire.Frame, 1<<16), mute: make(chan struct{})}
	b.server.Take(&fromAddr{theirs, from})
	return c
}

// listen collects frames until the server closes the pipe.
func (c *client) listen() *client {
	go func() {
		defer close(c.frames)
		defer c.Conn.Close()
		defer func() { c.at = time.Now() }()
		var b []byte
		for {
			f, n, err := wire.ParseFrame(b, 0)
			if err != nil {
				c.Errorf("server sent no frame: %v", err)
				return
			}
			if n > 0 {
				c.frames <- f
				b = b[n:]
				continue
			}
			select {
			case <-c.mute:
				<-c.Context().Done()
			default:
			}
			more := make([]byte, 64<<10)
			n, err = c.Read(more)
			if err != nil {
				return
			}
			b = append(b[:len(b):len(b)], more[:n]...)
		}
	}()
	return c
}

// open connects and goes through the handshake with that heartbeat.
func (b *bed) open(heartbeat uint16) *client {
	b.Helper()
	c := b.dial().listen()
	c.handshake(heartbeat)
	return c
}

// handshake leads to connection.open-ok.
func (c *client) handshake(heartbeat uint16) { c.handshakeWithin(heartbeat, 128<<10) }

// handshakeWithin is handshake with a frame-max of the client's choice.
func (c *client) handshakeWithin(heartbeat uint16, frameMax uint32) {
	c.Helper()
	c.raw([]byte(wire.ProtocolHeader))
	expect[*wire.ConnectionStart](c, 0)
	c.send(0, startOk("PLAIN", "\x00guest\x00guest", true))
	expect[*wire.ConnectionTune](c, 0)
	c.send(0, &wire.ConnectionTuneOk{ChannelMax: 2047, FrameMax: frameMax, Heartbeat: heartbeat})
	c.send(0, &wire.ConnectionOpen{VirtualHost: "/"})
	expect[*wire.ConnectionOpenOk](c, 0)
	c.session = <-c.script.sessions
}

// openChannel opens a channel and waits for it.
func (c *client) openChannel(number uint16) {
	c.Helper()
	c.send(number, &wire.ChannelOpen{})
	expect[*wire.ChannelOpenOk](c, number)
}

func startOk(mechanism, response string, capabilities bool) *wire.ConnectionStartOk {
	able := amqp.TableValue(amqp.Table{
		{Name: "authentication_failure_close", Value: amqp.Bool(capabilities)},
		{Name: "consumer_cancel_notify", Value: amqp.Bool(capabilities)},
		{Name: "connection.blocked", Value: amqp.Bool(capabilities)},
	})
	return &wire.ConnectionStartOk{
		ClientProperties: amqp.Table{{Name: "capabilities", Value: able}, {Name: "connection_name", Value: amqp.String("test")}},
		Mechanism:        mechanism, Response: response, Locale: "en_US",
	}
}

func (c *client) raw(b []byte) {
	c.Helper()
	if _, err := c.Write(b); err != nil {
		c.Fatalf("server does not read: %v", err)
	}
}

func (c *client) send(channel uint16, m wire.Method) {
	c.Helper()
	c.raw(wire.AppendMethod(nil, channel, m))
}

// next returns the next frame that is no heartbeat; ok is false when the server has closed the pipe.
func (c *client) next() (f wire.Frame, ok bool) {
	for f = range c.frames {
		if f.Type != wire.FrameHeartbeat {
			return f, true
		}
	}
	return f, false
}

// expect waits for a method of that type on the channel.
func expect[M wire.Method](c *client, channel uint16) M {
	c.Helper()
	f, ok := c.next()
	if !ok {
		c.Fatalf("connection closed, %v expected", reflect.TypeFor[M]())
	}
	if f.Type != wire.FrameMethod {
		c.Fatalf("got frame of type %d on channel %d, %v expected", f.Type, f.Channel, reflect.TypeFor[M]())
	}
	m, err := wire.ParseMethod(f.Payload)
	if err != nil {
		c.Fatal(err)
	}
	typed, ok := m.(M)
	if !ok || f.Channel != channel {
		c.Fatalf("got %T %+v on channel %d, %v on %d expected", m, m, f.Channel, reflect.TypeFor[M](), channel)
	}
	return typed
}

// expectEnd waits until the server has closed the pipe without a further frame.
func (c *client) expectEnd() {
	c.Helper()
	if f, ok := c.next(); ok {
		c.Fatalf("got frame %+v, end of connection expected", f)
	}
}

// expectQuiet checks that all goroutines rest and nothing has come.
func (c *client) expectQuiet() {
	c.Helper()
	synctest.Wait()
	select {
	case f, ok := <-c.frames:
		c.Fatalf("got frame %+v (open: %v), none expected", f, ok)
	default:
	}
}

// fromAddr is a connection that seems to come from elsewhere.
type fromAddr struct {
	net.Conn
	from net.Addr
}

func (f *fromAddr) RemoteAddr() net.Addr {
	if f.from != nil {
		return f.from
	}
	return f.Conn.RemoteAddr()
}
