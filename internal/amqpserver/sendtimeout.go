package amqpserver

import (
	"fmt"
	"net"
	"time"
)

// sendLooks is how often, within a send timeout, the server looks whether clients take what is sent to them.
const sendLooks = 4

// reading is what the server saw of a client when it looked last. watchSends owns it.
type reading struct {
	taken uint64    // octets that the client has taken
	since time.Time // it has taken no more since then; zero: nothing waits for it
}

// watchSends cuts off clients that do not read: a connection that has something to send, of which its client takes
// nothing for the send timeout, ends. A client that reads slowly keeps it, for every octet that it takes counts.
// Source: RabbitMQ tcp_listen_options.send_timeout.
func (s *Server) watchSends() {
	looks := time.NewTicker(s.options.SendTimeout / sendLooks)
	defer looks.Stop()
	for {
		select {
		case <-s.closing: // then clients that do not answer are cut off anyway
			return
		case now := <-looks.C:
			for _, c := range s.live() {
				c.lookAtReading(now, s.options.SendTimeout)
			}
		}
	}
}

// lookAtReading cuts the client off if it has read nothing for that long.
func (c *conn) lookAtReading(now time.Time, timeout time.Duration) {
	unsent := c.outbox.waiting()
	if unsent == 0 {
		c.reading.since = time.Time{}
		return
	}
	taken := c.outbox.sent.Load() + c.socket.acknowledged()
	if c.reading.since.IsZero() || taken != c.reading.taken {
		c.reading = reading{taken, now}
		return
	}
	if now.Sub(c.reading.since) < timeout {
		return
	}
	c.server.sendTimeouts.Add(1)
	why := fmt.Errorf("%w: the client read nothing for %v, and %d octets are pending", errSendTimeout, timeout, unsent)
	c.reason.CompareAndSwap(nil, &why)
	c.reset()
}

// reset closes the socket and drops what the kernel has not sent yet, which would else stay there for minutes.
func (c *conn) reset() {
	if tcp, ok := innermost(c.socket.Conn).(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // its error leaves what waits to the kernel
	}
	c.cut()
}

// innermost is the connection within those that add something to it, such as TLS.
func innermost(conn net.Conn) net.Conn {
	for {
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = outer.NetConn()
	}
}

// Unfinished tells of messages that have not arrived whole.
func (s *Server) Unfinished() UnfinishedMessages {
	octets, waiting := s.unfinished.figures()
	return UnfinishedMessages{octets, waiting, s.unfinishedEnded.Load()}
}

// SendTimeouts counts the connections that ended because their clients did not read, ever.
func (s *Server) SendTimeouts() uint64 { return s.sendTimeouts.Load() }
