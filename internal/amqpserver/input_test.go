package amqpserver

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// watchedInput tells when it has nothing to read, and whether it holds a load then.
type watchedInput struct {
	*input
	idled chan bool
}

func (w watchedInput) idle() bool {
	taken := w.input.idle()
	w.idled <- w.input.load != nil
	return taken
}

// If it failed, every silent connection would hold a read buffer, a large one if it was busy before; or what has come of a
// frame would be lost while the rest is waited for.
func TestSilentInputHoldsNoBuffer(t *testing.T) {
	t.Parallel()
	s, peer := pair(t)
	if s.raw == nil {
		return // here reads hold their buffer
	}
	b := newBuffers()
	in := watchedInput{&input{socket: s, buffers: &b, frameMax: 131072, size: readBufferLarge}, make(chan bool, 100)}
	frame := wire.AppendHeartbeat(nil)
	said := bytes.Repeat(frame, 3)
	part := len(frame) + 2 // one frame and the beginning of another
	heard := make(chan error, 1)
	read := func() {
		n, err := s.readLent(in)
		in.end += n
		heard <- err
	}
	go read()
	if held := <-in.idled; held {
		t.Error("a buffer is held before anything came")
	}
	say(t, peer, said[:part])
	if err := <-heard; err != nil || in.end-in.start != part {
		t.Fatalf("%d octets, %v", in.end-in.start, err)
	}
	if _, ok, err := in.frame(); !ok || err != nil {
		t.Fatal("the first frame is not there", err)
	}
	go read()
	if held := <-in.idled; !held {
		t.Fatal("half a frame is forgotten")
	}
	say(t, peer, said[part:])
	if err := <-heard; err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if f, ok, err := in.frame(); !ok || err != nil || f.Type != wire.FrameHeartbeat {
			t.Fatalf("%v, %v, %v", f, ok, err)
		}
	}
	go read()
	if held := <-in.idled; held {
		t.Error("a buffer is held after all was read")
	}
	peer.Close()
	if err := <-heard; err != io.EOF {
		t.Errorf("the end: %v", err)
	}
}

func say(t *testing.T, to net.Conn, octets []byte) {
	t.Helper()
	if _, err := to.Write(octets); err != nil {
		t.Fatal(err)
	}
}
