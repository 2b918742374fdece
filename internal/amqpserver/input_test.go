package amqpserver

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// watchedInput tells when it has nothing to read, and whether it holds a load then.
type watchedInput struct {
	*input
	idled chan bool
	sizes chan int // of the buffer then; nil: nobody asks
}

func (w watchedInput) idle() bool {
	taken := w.input.idle()
	if l := w.input.load; w.sizes != nil && l != nil {
		w.sizes <- len(l.buf)
	}
	w.idled <- w.input.load != nil
	return taken
}

// If it failed, every silent connection would hold a read buffer, a large one if it was busy before; or what has come
// of a frame would be lost while the rest is waited for.
func TestSilentInputHoldsNoBuffer(t *testing.T) {
	t.Parallel()
	s, peer := pair(t)
	if s.raw == nil {
		return // here reads hold their buffer
	}
	b := newBuffers()
	in := watchedInput{&input{socket: s, buffers: &b, frameMax: 131072, size: readBufferLarge}, make(chan bool, 100), nil}
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

// If it failed, a connection that has sent much before would read into a large buffer for the little that it sends
// while memory is short, and what is read may wait in its buffer for very long.
func TestTightReadsAreTiny(t *testing.T) {
	t.Parallel()
	s, peer := pair(t)
	b, tight := newBuffers(), true
	in := &input{socket: s, buffers: &b, frameMax: 131072, size: readBufferLarge, tight: func() bool { return tight }}
	for _, want := range []int{readBufferTiny, readBufferTiny, readBufferLarge} {
		if tight = want == readBufferTiny; !tight {
			in.size = readBufferLarge
		}
		if _, err := peer.Write(wire.AppendHeartbeat(nil)); err != nil {
			t.Fatal(err)
		}
		if err := in.fill(); err != nil {
			t.Fatal(err)
		}
		if n := len(in.load.buf); n != want {
			t.Errorf("tight %t: a buffer of %d octets", tight, n)
		}
		if _, ok, err := in.frame(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		in.size = readBufferLarge
		in.buffers.recycle(in.load)
		in.drop()
	}
}

// If it failed, a few octets of a frame would hold a large buffer, before the login, too; or what is large would not be
// counted.
func TestUnfinishedFrameHoldsLittle(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		frameMax  uint32
		sent      int // octets of a frame that announces more
		buf, held int
	}{
		{131072, 100, readBufferTiny, 0}, {131072, 4000, readBufferSmall, 0},
		{131072, 50_000, readBufferLarge, readBufferLarge},
		{loginFrameMax, 8, readBufferTiny, 0}, {loginFrameMax, 8196, 2 * readBufferSmall, 0},
	} {
		s, peer := pair(t)
		if s.raw == nil {
			return // here reads hold their buffer
		}
		b := newBuffers()
		var held int64
		in := watchedInput{&input{socket: s, buffers: &b, frameMax: one.frameMax, size: readBufferSmall, hold: func(n int64) { held += n }}, make(chan bool, 100), make(chan int, 100)}
		if one.frameMax > loginFrameMax {
			in.size = readBufferLarge
		}
		frame := append([]byte{wire.FrameMethod, 0, 1, 0, 0, 0, 0}, make([]byte, one.frameMax)...)
		binary.BigEndian.PutUint32(frame[3:], min(one.frameMax, 100_000))
		said := make(chan error)
		go func() {
			_, err := peer.Write(frame[:one.sent])
			said <- err
		}()
		for in.end-in.start < one.sent { // as fill does
			n, err := s.readLent(in)
			if err != nil {
				t.Fatal(err)
			}
			in.end += n
		}
		if err := <-said; err != nil {
			t.Fatal(err)
		}
		for len(in.sizes) > 0 {
			<-in.sizes
		}
		size := 0
		held, in.held = 0, 0
		go func() {
			size = <-in.sizes // and then the rest comes
			_, err := peer.Write(frame[one.sent : one.sent+1])
			said <- err
		}()
		if n, err := s.readLent(in); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if err := <-said; err != nil {
			t.Fatal(err)
		}
		if size != one.buf || held != int64(one.held) {
			t.Errorf("%+v: %d octets held, %d counted", one, size, held)
		}
	}
}
