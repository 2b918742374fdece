package bartleby

import (
	"errors"
	"net"
	"sync"
	"time"
)

// roomAgain is how long a connection waits for room before another is closed for it.
const roomAgain = 100 * time.Millisecond

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

// roomListener hands out connections only while fewer than so many of them are open. When there are as many, the next
// one waits, and the others with the kernel.
type roomListener struct {
	net.Listener
	room     chan struct{} // holds one for each open connection
	makeRoom func()        // closes one that nobody needs, if there is one
	closed   chan struct{}
	closing  sync.Once
}

// withRoom is l with room for so many connections. makeRoom is called when one more comes, and now and
// then while that waits: it closes a connection that nobody needs, if there is one.
func withRoom(l net.Listener, connections int, makeRoom func()) net.Listener {
	return &roomListener{Listener: l, room: make(chan struct{}, connections), makeRoom: makeRoom, closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *roomListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	taken := &roomConn{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}
	for {
		select {
		case l.room <- struct{}{}:
			return taken, nil
		default:
			l.makeRoom()
		}
		select {
		case l.room <- struct{}{}:
			return taken, nil
		case <-l.closed:
			return nil, errors.Join(net.ErrClosed, c.Close())
		case <-time.After(roomAgain):
		}
	}
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
