package amqpserver

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If it failed, a client that closes would wait for its answer, or get it before its exclusive queues are gone.
func TestClientCloses(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.raw(slices.Concat(publishing(1, "q", "last"), method(0, &wire.ConnectionClose{ReplyCode: 200}), publishing(1, "q", "after")))
		expect[*wire.ConnectionCloseOk](c, 0)
		if !c.session.isClosed() {
			c.Error("close-ok came before the engine was left")
		}
		if n := len(c.session.got(vhost.Publish)); n != 1 {
			c.Errorf("%d messages published", n)
		}
		c.Conn.Close()
		synctest.Wait()
		if n := len(b.server.Connections()); n != 0 {
			c.Errorf("%d connections left", n)
		}
	})
}

// If it failed, a broker would not stop, or clients would not learn why they lose their connection.
func TestServerCloses(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		polite, mute := b.open(0), b.open(60)
		began := time.Now()
		done := make(chan error)
		go func() { done <- b.server.Close(context.Background()) }()
		for _, c := range []*client{polite, mute} {
			got := expect[*wire.ConnectionClose](c, 0)
			want := wire.ConnectionClose{ReplyCode: 320,
				ReplyText: "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'"}
			if *got != want {
				c.Errorf("told %+v", got)
			}
		}
		polite.openLate() // ignored
		polite.send(0, &wire.ConnectionCloseOk{})
		polite.expectEnd()
		if wait := polite.at.Sub(began); wait != 0 {
			b.Errorf("closed %v after close-ok", wait)
		}
		mute.expectEnd()
		if wait := mute.at.Sub(began); wait < shutdownPatience || wait > 2*shutdownPatience {
			b.Errorf("closed %v after connection.close without an answer", wait)
		}
		if err := <-done; err != nil {
			b.Error(err)
		}
		if !polite.session.isClosed() || !mute.session.isClosed() {
			b.Error("still attached")
		}
		late := b.dial()
		if _, err := late.Write([]byte("AMQP")); err == nil {
			b.Error("a closed server took a connection")
		}
	})
}

func (c *client) openLate() { c.send(9, &wire.ChannelOpen{}) }

// If it failed, a shutdown would hang on a client that neither reads nor answers.
func TestServerCloseIsCutShort(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		b.open(0)
		b.dial() // never reads
		ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience/2)
		defer cancel()
		began := time.Now()
		if err := b.server.Close(ctx); err != context.DeadlineExceeded {
			b.Errorf("Close returned %v", err)
		}
		if took := time.Since(began); took != shutdownPatience/2 {
			b.Errorf("Close took %v", took)
		}
	})
}

// If it failed, sockets whose readers are slow would be closed one after the other, and a broker with many of them
// would not stop in time.
func TestServerCutsAllAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		const most = 20
		left := new(sync.WaitGroup)
		left.Add(most)
		for range most {
			_, theirs := net.Pipe()
			b.server.Take(&slowSocket{fromAddr: fromAddr{theirs, nil}, left: left})
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := b.server.Close(ctx); err != context.Canceled {
			b.Errorf("Close returned %v", err)
		}
	})
}

// slowSocket has a reader that nothing interrupts, and as long as it reads, closing waits.
type slowSocket struct {
	fromAddr
	closing sync.Once
	left    *sync.WaitGroup // sockets that nobody closes yet
}

func (s *slowSocket) Read([]byte) (int, error) {
	s.left.Wait()
	return 0, net.ErrClosed
}

func (s *slowSocket) Close() error {
	s.closing.Do(s.left.Done)
	s.left.Wait()
	return s.fromAddr.Close()
}

// If it failed, an operator could not end a connection, or would end others.
func TestOperatorClosesAConnection(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		if b.server.CloseConnection("other", "none") {
			c.Error("a connection that does not exist was closed")
		}
		if !b.server.CloseConnection(b.server.Connections()[0].Name, "Closed via management plugin") {
			c.Error("connection not found")
		}
		got := expect[*wire.ConnectionClose](c, 0)
		if got.ReplyCode != 320 || got.ReplyText != "CONNECTION_FORCED - Closed via management plugin" {
			c.Errorf("told %+v", got)
		}
		if state := b.server.Connections()[0].State; state != "closing" {
			c.Errorf("state is %s", state)
		}
		c.send(0, &wire.ConnectionClose{ReplyCode: 200}) // crossed ours
		expect[*wire.ConnectionCloseOk](c, 0)
		c.send(0, &wire.ConnectionCloseOk{})
		c.expectEnd()
	})
}

// If it failed, a vhost that fails or is deleted would leave its clients hanging.
func TestEngineStopsTheDoor(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.openChannel(1)
		c.session.mu.Lock()
		id := c.session.commands[0].Channel
		c.session.frontend.Emit(&vhost.Effect{Kind: vhost.Confirm, Channel: id, Tag: 1})
		c.session.frontend.Stopped(amqp.InternalError("vhost '/' has failed"))
		c.session.mu.Unlock()
		if got := expect[*wire.BasicAck](c, 1); got.DeliveryTag != 1 {
			c.Errorf("got %+v", got)
		}
		if got := expect[*wire.ConnectionClose](c, 0); got.ReplyCode != 541 {
			c.Errorf("told %+v", got)
		}
		c.send(0, &wire.ConnectionCloseOk{})
		c.expectEnd()
	})
}

// If it failed, a channel number would stay taken, or the answers of its two lives would mix.
func TestClientClosesChannel(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		c := b.open(0)
		c.raw(slices.Concat(method(1, &wire.ChannelOpen{}), method(1, &wire.ChannelClose{}), method(1, &wire.ChannelOpen{}),
			method(1, &wire.BasicQos{})))
		expect[*wire.ChannelOpenOk](c, 1)
		expect[*wire.ChannelCloseOk](c, 1)
		expect[*wire.ChannelOpenOk](c, 1)
		expect[*wire.BasicQosOk](c, 1)
		if p := b.server.Connections()[0].Channels; len(p) != 1 || p[0].Number != 1 {
			c.Errorf("channels are %+v", p)
		}
	})
}

// If it failed, a client whose close crosses ours would wait for ever, or lose the reason.
func TestChannelClosesCross(t *testing.T) {
	t.Parallel()
	refusal := amqp.NotFound("no exchange 'x' in vhost '/'")
	t.Run("ours first", func(t *testing.T) {
		t.Parallel()
		inBubble(t, nil, func(b *bed) {
			b.script.answer = func(s *scriptSession, c *vhost.Command) bool {
				if c.Kind == vhost.Publish {
					s.closeWith(c, refusal)
				}
				return c.Kind == vhost.Publish
			}
			c := b.open(0)
			c.openChannel(1)
			c.raw(publishing(1, "q", "refused"))
			synctest.Wait() // ours is out, the client has not read it
			c.send(1, &wire.ChannelClose{})
			if got := expect[*wire.ChannelClose](c, 1); got.ReplyCode != 404 {
				c.Errorf("told %+v", got)
			}
			expect[*wire.ChannelCloseOk](c, 1)
			c.send(1, &wire.ChannelCloseOk{})
			c.openChannel(1)
			c.expectQuiet()
		})
	})
	t.Run("theirs first", func(t *testing.T) {
		t.Parallel()
		inBubble(t, nil, func(b *bed) {
			var refused vhost.Command
			b.script.answer = func(s *scriptSession, c *vhost.Command) bool {
				if c.Kind == vhost.Publish { // decided, but its answer is not safe yet
					refused = *c
					s.kill(c.Channel)
				}
				return c.Kind == vhost.Publish
			}
			c := b.open(0)
			c.openChannel(1)
			c.raw(slices.Concat(publishing(1, "q", "refused"), method(1, &wire.ChannelClose{})))
			c.expectQuiet()
			c.session.emit(vhost.Effect{Kind: vhost.Closed, Command: vhost.Publish, Channel: refused.Channel, Err: refusal})
			if got := expect[*wire.ChannelClose](c, 1); got.ReplyCode != 404 || got.MethodID != 40 {
				c.Errorf("told %+v", got)
			}
			expect[*wire.ChannelCloseOk](c, 1)
			c.send(1, &wire.ChannelCloseOk{})
			c.openChannel(1)
			c.expectQuiet()
		})
	})
	t.Run("reader's refusal", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(o *Options) { o.MessageMax = 1 }, func(b *bed) {
			c := b.open(0)
			c.openChannel(1)
			c.raw(slices.Concat(publishing(1, "q", "long"), method(1, &wire.ChannelClose{})))
			if got := expect[*wire.ChannelClose](c, 1); got.ReplyCode != 406 {
				c.Errorf("told %+v", got)
			}
			expect[*wire.ChannelCloseOk](c, 1)
			c.send(1, &wire.ChannelCloseOk{})
			c.openChannel(1)
			c.expectQuiet()
		})
	})
}

// shortListener has no file descriptor at first.
type shortListener struct {
	net.Listener
	shortages atomic.Int32
	conns     chan net.Conn
	closing   sync.Once
}

func (l *shortListener) Accept() (net.Conn, error) {
	if l.shortages.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *shortListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *shortListener) Close() error {
	l.closing.Do(func() { close(l.conns) })
	return nil
}

// If it failed, a moment without file descriptors would end the listener for good.
func TestShortageDoesNotEndTheListener(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(b *bed) {
		l := &shortListener{conns: make(chan net.Conn)}
		l.shortages.Store(3)
		served := make(chan error)
		go func() { served <- b.server.Serve(l) }()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		synctest.Wait()
		if n := len(b.server.Connections()); n != 1 {
			b.Errorf("%d connections", n)
		}
		ours.Close()
		if err := b.server.Close(b.Context()); err != nil {
			b.Error(err)
		}
		if err := <-served; err != nil {
			b.Errorf("Serve returned %v", err)
		}
	})
}

// If it failed, clients could take every file descriptor of the process, and the log would have none to go on with.
func TestConnectionsWaitForRoom(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *Options) { o.Connections = 2 }, func(b *bed) {
		l := &shortListener{conns: make(chan net.Conn)}
		served := make(chan error)
		go func() { served <- b.server.Serve(l) }()
		var ours [3]net.Conn
		for i := range ours {
			var theirs net.Conn
			ours[i], theirs = net.Pipe()
			go func() { l.conns <- theirs }()
			synctest.Wait()
		}
		if n := len(b.server.Connections()); n != 2 {
			b.Errorf("%d connections at once, 2 allowed", n)
		}
		ours[0].Close()
		synctest.Wait()
		if n := len(b.server.Connections()); n != 2 {
			b.Errorf("%d connections after one has made room for the third", n)
		}
		if err := b.server.Close(b.Context()); err != nil {
			b.Error(err)
		}
		if err := <-served; err != nil {
			b.Errorf("Serve returned %v", err)
		}
	})
}
