package bartleby

import (
	"errors"
	"net"
	"sync"
	"time"
)

// limitPatience is how long a connection waits for space before another is closed for it.
const limitPatience = 100 * time.Millisecond

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

// limitedListener hands out connections only while fewer than so many of them are open. When there
// are as many, the next one waits, and the others with the kernel.
type limitedListener struct {
	net.Listener
	places  chan struct{} // holds one for each open connection
	evict   func()        // closes one that nobody needs, if there is one
	closed  chan struct{}
	closing sync.Once
}

// withLimit is l with space for so many connections. evict is called when one more comes, and now and
// then while that waits: it closes a connection that nobody needs, if there is one.
func withLimit(l net.Listener, connections int, evict func()) net.Listener {
	return &limitedListener{Listener: l, places: make(chan struct{}, connections), evict: evict,
		closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	taken := &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}
	for {
		select {
		case l.places <- struct{}{}:
			return taken, nil
		default:
			l.evict()
		}
		select {
		case l.places <- struct{}{}:
			return taken, nil
		case <-l.closed:
			return nil, errors.Join(net.ErrClosed, c.Close())
		case <-time.After(limitPatience):
		}
	}
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
