package amqpserver

import (
	"log/slog"
	"net"
	"runtime"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// If it failed, a client without heartbeats that goes while an alarm holds would stay, and all that it holds with it;
// or a client that is only slow, or that the server reads, would be cut off.
func TestClientsThatGoWhileTheyAreNotReadAreNoticed(t *testing.T) {
	t.Parallel()
	if !canAskKernel {
		t.Skip("the system does not tell")
	}
	o := Defaults()
	o.Log = slog.New(slog.DiscardHandler)
	script := newScript()
	server, err := New(script, o)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	b := &bed{T: t, script: script, server: server}
	pausing := func() (*client, *conn) {
		socket, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := (&client{bed: b, Conn: socket, frames: make(chan wire.Frame, 100), mute: make(chan struct{})}).listen()
		c.handshake(0)
		c.openChannel(1)
		c.session.park()
		live := server.live()
		ours := live[0]
		for _, x := range live {
			if x.id > ours.id {
				ours = x
			}
		}
		for !ours.paused.Load() { // until the engine has as many batches as may be under way
			before := ours.input.received.Load()
			c.raw(publishing(1, "q", "held"))
			// No more than the server's kernel takes: what waits in the client's comes before its end.
			for !ours.paused.Load() && ours.input.received.Load() == before {
				runtime.Gosched()
			}
		}
		return c, ours
	}
	_, stays := pausing()
	c, goes := pausing()
	for range 2 * hangUpPatience {
		server.lookForHangUps()
	}
	if stays.outbox.isOver() || goes.outbox.isOver() {
		t.Fatal("cut off, though its client is there")
	}
	c.Conn.Close()
	for !goes.socket.isHungUp() {
		runtime.Gosched()
	}
	server.lookForHangUps()
	if !goes.outbox.isOver() || stays.outbox.isOver() {
		t.Errorf("cut off: the one that has gone %v, the other %v", goes.outbox.isOver(), stays.outbox.isOver())
	}
	for !c.session.isClosed() {
		runtime.Gosched()
	}
	if err := server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
