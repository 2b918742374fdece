package bartleby

import (
	"net"
	"sync"
)

// How the file descriptors of the process are shared. The log takes two for each of its segments and cannot go on
// without; clients must not be able to take them all.
// Source: RabbitMQ networking, file descriptor limit.
const (
	filesUnknown = 1 << 20 // where the system tells no limit

	amqpSixteenths = 10 // of them for AMQP connections
	pageSixteenths = 1  // for each HTTP listener; the log and the rest have what is left
)

// share is that many sixteenths of files, and one at the least.
func share(files, sixteenths int) int { return max(files*sixteenths/16, 1) }

// roomListener accepts only while fewer than so many of its connections are open; the next ones wait with the kernel.
type roomListener struct {
	net.Listener
	room    chan struct{} // holds one for each open connection
	closed  chan struct{}
	closing sync.Once
}

func withRoom(l net.Listener, connections int) net.Listener {
	return &roomListener{Listener: l, room: make(chan struct{}, connections), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *roomListener) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &roomConn{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close implements net.Listener.
func (l *roomListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type roomConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *roomConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
