package bartleby

import (
	"net"
	"testing"
)

// If this fails, HTTP clients that open connections and do nothing can take every file descriptor, or a closed
// connection does not free its slot for the next.
func TestListenerWithRoom(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := withLimit(inner, 2, func() {})
	accepted := make(chan net.Conn)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	var served []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for range 2 {
		served = append(served, <-accepted)
	}
	select {
	case <-accepted:
		t.Error("a third connection was accepted with a limit of two")
	default:
	}
	for range 2 { // closing twice makes space once
		served[0].Close()
	}
	third := <-accepted
	defer third.Close()
	defer served[1].Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("Accept continues after Close")
	}
}

// If this fails, the log has no file descriptors left on a machine that allows few.
func TestSharesLeaveSomeForTheLog(t *testing.T) {
	t.Parallel()
	for _, files := range []int{64, 256, 1024, 20_000, filesUnknown} {
		if left := files - share(files, amqpSixteenths) - 2*share(files, pageSixteenths); left < files/4 {
			t.Errorf("of %d file descriptors %d are left for the log", files, left)
		}
	}
}
