package amqpserver

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// pair is a TCP connection over loopback, the first end as the server sees it.
func pair(t *testing.T) (*socket, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ours.Close()
		theirs.Close()
	})
	return newSocket(ours), theirs
}

// If it failed, the short way to the kernel would lose octets, the end, or a deadline.
func TestSocketReads(t *testing.T) {
	t.Parallel()
	s, peer := pair(t)
	said := bytes.Repeat([]byte("octets "), 100_000)
	go func() {
		for rest := said; len(rest) > 0; {
			n, err := peer.Write(rest[:min(len(rest), 9999)])
			if err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
	}()
	heard := make([]byte, len(said))
	if _, err := io.ReadFull(s, heard); err != nil || !bytes.Equal(heard, said) {
		t.Fatalf("octets changed on their way: %v", err)
	}
	s.SetReadDeadline(past)
	if _, err := s.Read(heard); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read after the deadline: %v", err)
	}
	s.SetReadDeadline(time.Time{})
	interrupted := make(chan error)
	go func() {
		_, err := s.Read(heard)
		interrupted <- err
	}()
	s.SetReadDeadline(past)
	if err := <-interrupted; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read when the deadline was set: %v", err)
	}
	s.SetReadDeadline(time.Time{})
	peer.Close()
	if _, err := s.Read(heard); err != io.EOF {
		t.Errorf("read after the end: %v", err)
	}
	s.Close()
	if _, err := s.Read(heard); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
}

// If it failed, the engine would wait for a client, or what it could not write would be lost or out of order.
func TestSocketWritesWhatTheKernelTakes(t *testing.T) {
	t.Parallel()
	s, peer := pair(t)
	b := newBuffers()
	o := newOutbox(&b, s, new(atomic.Int64), 0)
	written, cost, begin := make(chan error), int64(0), make(chan struct{})
	o.writer = func() {
		<-begin
		written <- o.write(func(c int64) { cost += c })
	}
	var said []byte
	full := false
	for i := 0; !full || len(said) < 8<<20; i++ {
		chunk := append(b.chunk(directBytesMax), bytes.Repeat([]byte{byte(i)}, 1+i%directBytesMax)...)
		said = append(said, chunk...)
		if i%5 == 4 { // a large body goes to the socket from where it is
			body := bytes.Repeat([]byte{byte(i)}, 3*chunkBytes)
			said = append(said, body...)
			o.lend(chunk, [][]byte{body[:chunkBytes], body[chunkBytes:]}, 1)
			full = true
			continue
		}
		full = !o.put(chunk, 1) || full
	}
	close(begin)
	heard := make([]byte, len(said))
	if _, err := io.ReadFull(peer, heard); err != nil || !bytes.Equal(heard, said) {
		t.Fatalf("octets changed on their way: %v", err)
	}
	o.finish()
	if err := <-written; err != nil {
		t.Error(err)
	}
	if got := o.sent.Load(); got != uint64(len(said)) {
		t.Errorf("%d octets counted, %d sent", got, len(said))
	}
	if cost == 0 {
		t.Error("no window given back by the writer")
	}
	s.Close()
	if n := s.tryWrite([]byte("x")); n != 0 {
		t.Errorf("%d octets written after Close", n)
	}
}

// If it failed, TLS would be bypassed.
func TestSocketOfAnythingElse(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	s := newSocket(ours)
	if n := s.tryWrite([]byte("x")); n != 0 {
		t.Errorf("%d octets written around the connection", n)
	}
	go theirs.Write([]byte("x"))
	if n, err := s.Read(make([]byte, 2)); n != 1 || err != nil {
		t.Errorf("read %d octets, %v", n, err)
	}
}
