package amqpserver

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/listener"
)

// Server accepts AMQP connections. Its methods may be called from any goroutine.
type Server struct {
	engine  Engine
	options Options
	log     *slog.Logger
	buffers buffers

	greetings [2]atomic.Pointer[greeting] // without and with TLS; nil: not encoded yet

	notes  *notes
	letIn  atomic.Int64 // connections that are open
	opened atomic.Int64 // channels that are open

	answers         atomic.Int64 // octets that wait to be sent and took no window
	underWay        atomic.Int64 // octets of batches that the engine has, with their commands
	unfinished      unfinished
	unfinishedEnded atomic.Uint64 // connections
	sendTimeouts    atomic.Uint64 // likewise
	idlePauses      atomic.Uint64 // of readers, for frames that led to nothing

	closing chan struct{}  // closed by Close
	places  chan struct{}  // holds one for each accepted connection; nil without a limit
	running sync.WaitGroup // one for each connection and each Serve

	mu struct {
		sync.Mutex
		closed    bool
		watching  bool // watchSends and watchHangUps run
		lastID    uint64
		listeners map[net.Listener]struct{}
		conns     map[uint64]*conn
		users     map[string]*userLoad
	}
}

// userLoad is what the connections of one user have given to the engine.
type userLoad struct {
	underWay    atomic.Int64 // octets of batches, with their commands
	connections int          // the server's, with mu
}

// countUser has c counted among the connections of its user.
func (s *Server) countUser(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.users[c.user] == nil {
		s.mu.users[c.user] = &userLoad{}
	}
	c.ofUser = s.mu.users[c.user]
	c.ofUser.connections++
}

// discountUser ends that.
func (s *Server) discountUser(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.ofUser.connections--; c.ofUser.connections == 0 {
		delete(s.mu.users, c.user)
	}
}

// New returns a server of e. The error names an option that cannot be.
func New(e Engine, o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{engine: e, options: o, log: o.Log, buffers: newBuffers(), closing: make(chan struct{})}
	s.unfinished.node, s.unfinished.user = o.UnfinishedMax, o.UnfinishedMaxUser
	s.unfinished.mu.users = make(map[string]int64)
	s.notes = newNotes(o.Log, &s.running)
	s.mu.listeners = make(map[net.Listener]struct{})
	s.mu.conns = make(map[uint64]*conn)
	s.mu.users = make(map[string]*userLoad)
	if o.Connections > 0 {
		s.places = make(chan struct{}, o.Connections)
	}
	return s, nil
}

// Serve accepts connections from l, which may speak TLS, until Close, then returns nil; any other error is l's. It
// closes l.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	if !s.keep(l) {
		return nil
	}
	defer s.running.Done()
	defer s.forget(l)
	for {
		if !s.enter(l) {
			return nil
		}
		socket, err := l.Accept()
		if err == nil {
			s.take(socket, s.leave)
			continue
		}
		s.leave()
		switch {
		case s.isClosed():
			return nil
		case listener.IsShortage(err):
			s.log.Error("cannot accept AMQP connections", "listener", l.Addr(), "error", err)
			select {
			case <-time.After(acceptPause):
			case <-s.closing:
			}
		default:
			return err
		}
	}
}

// enter waits until one more connection may be accepted; false after Close. What waits with the kernel holds no file
// descriptor of ours: the log needs some, and cannot go on without.
// Source: RabbitMQ networking, file descriptor limit.
func (s *Server) enter(l net.Listener) bool {
	if s.places == nil {
		return true
	}
	select {
	case s.places <- struct{}{}:
		return true
	default:
	}
	s.log.Warn("AMQP connection limit reached: new connections wait", "listener", l.Addr(), "connections",
		cap(s.places))
	select {
	case s.places <- struct{}{}:
		return true
	case <-s.closing:
		return false
	}
}

// isTight reports whether the batches under way, of all connections or of those of the user, take so much that the
// connection may have one at a time, a small one.
func (c *conn) isTight() bool {
	most := c.server.options.UnfinishedMax / underWayShare
	return most > 0 && (c.server.underWay.Load() > most || c.ofUser.underWay.Load() > most/4*3)
}

// readsTiny reports whether what the connection sends is read in tiny pieces: it may have to wait for long.
func (c *conn) readsTiny() bool { return c.blocked.Load() || c.isTight() }

func (s *Server) leave() {
	if s.places != nil {
		<-s.places
	}
}

// Take serves one connection that was accepted elsewhere, in goroutines of its own, and closes it in the end. After
// Close it is closed at once.
func (s *Server) Take(socket net.Conn) { s.take(socket, func() {}) }

// take calls done when the connection is closed.
func (s *Server) take(socket net.Conn, done func()) {
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		socket.Close()
		done()
		return
	}
	s.mu.lastID++
	c := newConn(s, s.mu.lastID, socket)
	s.mu.conns[c.id] = c
	s.running.Add(1)
	if !s.mu.watching {
		s.mu.watching = true
		s.running.Go(s.watchHangUps)
		if s.options.SendTimeout > 0 {
			s.running.Go(s.watchSends)
		}
	}
	s.mu.Unlock()
	go func() {
		defer s.running.Done()
		defer done()
		defer s.drop(c)
		growStack(0)
		c.serve()
	}()
}

// growStack makes the stack of its goroutine as large as a connection needs, while there is little to copy:
// otherwise it grows two or three times during the handshake. Any index will do: the compiler does not know it, and so
// keeps the space.
//
//go:noinline
func growStack(i int) byte {
	var space [stackBytes]byte
	return space[i]
}

// admit counts a connection, unless there are as many as there may be.
func (s *Server) admit(c *conn) bool {
	most := int64(s.options.ConnectionMax)
	if s.letIn.Add(1) > most && most > 0 {
		s.letIn.Add(-1)
		return false
	}
	c.letIn = true
	return true
}

// Close stops accepting, ends every connection with 320 and returns when all are gone. Those that do not answer are cut
// off when no connection has ended for shutdownPatience. Once ctx is done, the rest is cut off at once, and the error
// of ctx is returned.
// Source: RabbitMQ, shutdown.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.mu.closed {
		s.mu.closed = true
		close(s.closing)
	}
	for l := range s.mu.listeners {
		l.Close()
	}
	s.mu.Unlock()
	live := s.live()
	for _, c := range live {
		c.end(amqp.ConnectionForced("broker forced connection closure with reason 'shutdown'"))
	}
	quiet := make(chan struct{})
	go func() {
		s.running.Wait()
		close(quiet)
	}()
	err := s.awaitQuiet(ctx, quiet, len(live))
	var cuts sync.WaitGroup
	for _, c := range s.live() {
		cuts.Go(c.cut) // which waits for the reader of the socket: not one after the other
	}
	cuts.Wait()
	<-quiet
	return err
}

// awaitQuiet waits until all connections are gone, or those that are left do not answer.
func (s *Server) awaitQuiet(ctx context.Context, quiet <-chan struct{}, left int) error {
	looks := time.NewTicker(shutdownPatience / shutdownLooks)
	defer looks.Stop()
	for still := 0; still < shutdownLooks; still++ {
		select {
		case <-quiet:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-looks.C:
		}
		if now := len(s.live()); now != left {
			left, still = now, -1
		}
	}
	return nil
}

func (s *Server) keep(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return false
	}
	s.running.Add(1)
	s.mu.listeners[l] = struct{}{}
	return true
}

func (s *Server) forget(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.listeners, l)
}

func (s *Server) drop(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.conns, c.id)
	if c.letIn {
		s.letIn.Add(-1)
	}
	s.opened.Add(-int64(len(c.numbers)))
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.closed
}
