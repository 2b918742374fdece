package amqpserver

import (
	"time"
)

// A client that closes its socket while the server does not read it is noticed by nobody, unless there are heartbeats:
// because an alarm holds, or the engine is behind. Its transactions and unacked messages would stay. So the server
// looks every hangUpLooks, and cuts off those of which nothing was read for hangUpPatience looks. Until then what the
// client sent before it went is taken as soon as the reader goes on.
const (
	hangUpLooks    = 4 * time.Second
	hangUpPatience = 3
)

// pauses is what the server saw of a reader that pauses. watchHangUps owns it.
type pauses struct {
	received uint64 // octets, when it looked last
	looks    int    // since then at which the reader paused and no more had come
}

// watchHangUps cuts off clients that have gone while they were not read. On the way it lets kept buffers go.
func (s *Server) watchHangUps() {
	looks := time.NewTicker(hangUpLooks)
	defer looks.Stop()
	for {
		select {
		case <-s.closing: // then clients that do not answer are cut off anyway
			return
		case <-looks.C:
			s.lookForHangUps()
			s.buffers.letGo()
		}
	}
}

func (s *Server) lookForHangUps() {
	for _, c := range s.live() {
		received := c.input.received.Load()
		if !c.paused.Load() || received != c.pauses.received {
			c.pauses = pauses{received: received}
			continue
		}
		if c.pauses.looks++; c.pauses.looks >= hangUpPatience && c.socket.isHungUp() {
			why := errLost
			c.reason.CompareAndSwap(nil, &why)
			c.cut()
			c.outbox.fail() // wakes the reader
		}
	}
}

// isHungUp reports whether the client has closed the connection, or its half of it; false where the kernel does not
// tell. Any goroutine may ask.
func (s *socket) isHungUp() (hungUp bool) {
	s.ask(func(fd uintptr) { hungUp = isHungUp(fd) })
	return hungUp
}
