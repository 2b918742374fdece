package listener

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// meet has a client say something to a fresh listener, and returns what was accepted with what follows the header.
func meet(t *testing.T, said string) (peer, host, rest string, ok bool) {
	t.Helper()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := behindProxy(raw)
	defer l.Close()
	c, err := net.Dial("tcp", raw.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, said); err != nil {
		t.Fatal(err)
	}
	c.(*net.TCPConn).CloseWrite()
	accepted := make(chan net.Conn, 1)
	go func() {
		a, err := l.Accept()
		if err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		accepted <- a
	}()
	refused := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, c) // ends when the other side closes
		close(refused)
	}()
	select {
	case a := <-accepted:
		text, err := io.ReadAll(a)
		if err != nil {
			t.Error(err)
		}
		peer, host = a.RemoteAddr().String(), a.LocalAddr().String()
		if peer == c.LocalAddr().String() && host == raw.Addr().String() {
			peer, host = "itself", "itself"
		}
		a.Close()
		<-refused
		return peer, host, string(text), true
	case <-refused:
		l.Close()
		<-accepted
		return "", "", "", false
	}
}

func TestHeaders(t *testing.T) {
	// If this fails, clients behind a load balancer are taken for others, or lose what they say first.
	t.Parallel()
	v6 := strings.Repeat("\x00", 15) + "\x01" + strings.Repeat("\x00", 15) + "\x02"
	for said, want := range map[string][2]string{
		"PROXY TCP4 192.0.2.1 192.0.2.2 40000 5672\r\n":                                            {"192.0.2.1:40000", "192.0.2.2:5672"},
		"PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n":                                           {"[2001:db8::1]:1", "[2001:db8::2]:65535"},
		"PROXY UNKNOWN\r\n":                                                                        {"itself", "itself"},
		"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n":                            {"itself", "itself"},
		signature + "\x21\x11\x00\x0c\xc0\x00\x02\x01\xc0\x00\x02\x02\x9c\x40\x16\x28":             {"192.0.2.1:40000", "192.0.2.2:5672"},
		signature + "\x21\x11\x00\x0f\xc0\x00\x02\x01\xc0\x00\x02\x02\x9c\x40\x16\x28\x04\x00\x00": {"192.0.2.1:40000", "192.0.2.2:5672"},
		signature + "\x21\x21\x00\x24" + v6 + "\x00\x07\x16\x28":                                   {"[::1]:7", "[::2]:5672"},
		signature + "\x20\x00\x00\x00":                                                             {"itself", "itself"},
	} {
		peer, host, rest, ok := meet(t, said+"AMQP and more")
		if !ok || peer != want[0] || host != want[1] || rest != "AMQP and more" {
			t.Errorf("%q: %q, %q, %q, %v", said, peer, host, rest, ok)
		}
	}
	for _, said := range []string{"", "AMQP\x00\x00\x09\x01 and more", "PROXY TCP4 192.0.2.1 192.0.2.2 40000\r\n", "PROXY TCP4 here there 1 2\r\n",
		"PROXY UDP4 192.0.2.1 192.0.2.2 40000 5672\r\n", "PROXY " + strings.Repeat("x", 200) + "\r\n", "PROXY TCP4 192.0.2.1",
		"PROXY TCP4 192.0.2.1 192.0.2.2 70000 5672\r\n", signature + "\x11\x11\x00\x00", signature + "\x21\x11\x00\x04abcd",
		signature + "\x21\x11\xff\xff", signature + "\x21\x31\x00\x00", signature + "\x22\x11\x00\x00", signature + "\x21"} {
		if peer, _, _, ok := meet(t, said); ok {
			t.Errorf("%q is accepted as %s", said, peer)
		}
	}
}

func TestCloseEndsWaiting(t *testing.T) {
	// If this fails, a broker that stops waits for who has connected and tells nothing.
	t.Parallel()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := behindProxy(raw)
	c, err := net.Dial("tcp", raw.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestHellosAreBounded(t *testing.T) {
	// If this fails, connections that send nothing take any number of goroutines and file descriptors.
	t.Parallel()
	raw := &endless{}
	l := behindProxy(raw)
	defer l.Close()
	for raw.accepted.Load() < 10*helloMost {
		if open := raw.accepted.Load() - raw.closed.Load(); open > helloMost+2 { // one is accepted, one is being closed
			t.Fatalf("%d silent connections are open, want %d", open, helloMost)
		}
		runtime.Gosched()
	}
}

func TestNewConnectionsReplaceSilentOnes(t *testing.T) {
	// If this fails, clients that connect and send nothing keep all others waiting.
	t.Parallel()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := behindProxy(raw)
	defer l.Close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", raw.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first := dial()
	for range helloMost {
		dial()
	}
	first.SetReadDeadline(time.Now().Add(helloWithin / 2))
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the oldest of %d silent connections is not closed: %v", helloMost+1, err)
	}
	io.WriteString(dial(), "PROXY TCP4 192.0.2.1 192.0.2.2 40000 5672\r\n")
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.RemoteAddr().String(); got != "192.0.2.1:40000" {
		t.Errorf("accepted %s", got)
	}
}

// endless is a listener to which clients connect forever, and send nothing.
type endless struct{ accepted, closed atomic.Int64 }

func (e *endless) Accept() (net.Conn, error) {
	e.accepted.Add(1)
	c, _ := net.Pipe()
	return &counted{c, e}, nil
}
func (e *endless) Close() error   { return nil }
func (e *endless) Addr() net.Addr { return &net.TCPAddr{} }

// counted is a connection that notes when it is closed, once.
type counted struct {
	net.Conn
	in *endless
}

func (c *counted) Close() error {
	c.in.closed.Add(1)
	return c.Conn.Close()
}

func FuzzHeader(f *testing.F) {
	f.Add("PROXY TCP4 192.0.2.1 192.0.2.2 40000 5672\r\n")
	f.Add(signature + "\x21\x11\x00\x0c\xc0\x00\x02\x01\xc0\x00\x02\x02\x9c\x40\x16\x28")
	f.Fuzz(func(t *testing.T, said string) {
		// If this fails, a header can end the broker.
		peer, host, err := header(strings.NewReader(said))
		if err == nil && peer.IsValid() != host.IsValid() {
			t.Errorf("%q: %v, %v", said, peer, host)
		}
	})
}
