package amqpserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// How a connection ends beside a refusal, which is an *amqp.Error, and the socket's own errors.
var (
	errClosedByClient   = errors.New("closed by the client")
	errEnding           = errors.New("ended by the broker")
	errProtocolHeader   = errors.New("bad protocol header")
	errHandshakeTimeout = errors.New("handshake timeout")
	errMissedHeartbeats = errors.New("missed heartbeats from client")
	errSendTimeout      = errors.New("send timeout of the client")
	errLost             = errors.New("client unexpectedly closed TCP connection")
)

// conn is one connection. The reader, which runs serve, owns what has no other owner named.
type conn struct {
	server      *Server
	id          uint64
	name        string
	connectedAt time.Time
	socket      *socket
	tls         *tls.Conn // nil without TLS
	accepted    bool      // something has come, and the log tells of the connection
	letIn       bool      // counted by the server
	log         *slog.Logger

	session Session // nil until attached; set before the first Submit
	input   input
	idle    idleFrames
	outbox  outbox

	tellsLogin   bool                // the client wants to be told of a failed login
	tellsBlocked bool                // the client wants to be told when it may not publish; set before the first Submit
	tuned        bool                // the client has logged in and tuned: refusals are told from now on
	numbers      map[uint16]*channel // channels by the client's number, until it may use it anew
	recent       *channel            // of the last frame
	partial      []*channel          // those with a content that has not arrived whole
	unfinished   int64               // octets that the server counts for them
	bodyBefore   int                 // octets of the last large body, at most largeBodyBefore
	more         bool                // what has arrived is not all cut: a batch was full
	stalled      bool                // the frame at which frames stopped has no space yet
	crowded      bool                // there is no space for the frame that has not arrived whole
	stalledSince time.Time           // zero: it is not
	user         string              // set before the first frame of a channel,
	ofUser       *userLoad           // likewise; until then, of nobody
	channelMax   uint16              // as negotiated; never 0
	heartbeat    time.Duration       // likewise; 0 means none
	pulseAt      time.Time           // when a heartbeat may be due; zero without
	checkAt      time.Time           // when checkProgress is due; zero: nothing is unfinished
	excused      bool                // the reader paused: what has not come on is not the client's fault
	frameAt      uint64              // position of the frame that was unfinished when checkProgress looked
	ofFrame      progress            // of that frame
	silence      int                 // half intervals since the last octet
	sentBefore   uint64              // octets sent at the last pulse, with its heartbeat; 0 before the first
	patience     *time.Timer         // for what is due while the reader pauses; nil until needed

	underWay atomic.Int32 // batches that the engine has
	blocked  atomic.Bool  // the engine lets what the client publishes wait
	paused   atomic.Bool  // the reader pauses
	leaving  atomic.Bool  // the client has sent connection.close: see awaitTaken

	channels channels
	encoder  encoder // the engine's
	reading  reading // of watchSends
	pauses   pauses  // of watchHangUps

	reason atomic.Pointer[error] // why the server has closed the socket; nil if it has not

	mu struct {
		sync.Mutex
		about Connection // what a picture shows and serve knows
	}
}

func newConn(s *Server, id uint64, accepted net.Conn) *conn {
	socket := newSocket(accepted)
	c := &conn{
		server: s, id: id, socket: socket, connectedAt: time.Now(),
		name:    socket.RemoteAddr().String() + " -> " + socket.LocalAddr().String(),
		numbers: make(map[uint16]*channel),
		outbox:  newOutbox(&s.buffers, socket, &s.answers, s.options.UnfinishedMax/answersShare),
	}
	c.tls, _ = accepted.(*tls.Conn)
	c.log = s.log.With("category", "connection")
	c.input.socket, c.input.buffers = socket, &s.buffers
	c.input.frameMax, c.input.size = loginFrameMax, readBufferTiny
	c.input.tight, c.input.hold, c.input.place = c.readsTiny, c.holdFrame, c.place
	c.ofUser = &userLoad{}
	c.encoder.conn = c
	c.outbox.writer = c.write
	about := &c.mu.about
	about.State = "starting"
	about.PeerHost, about.PeerPort = splitAddr(socket.RemoteAddr())
	about.Host, about.Port = splitAddr(socket.LocalAddr())
	return c
}

// serve leads the connection from its first octet to its end, and that of the writer.
func (c *conn) serve() {
	err := c.handshake()
	if err == nil {
		err = c.run()
	}
	c.finish(err)
	if c.input.load != nil {
		c.server.buffers.recycle(c.input.load)
	}
	if c.user != "" {
		c.server.discountUser(c)
	}
	if written := c.outbox.finish(); written != nil {
		c.socket.SetWriteDeadline(time.Now().Add(closeTimeout))
		<-written
	}
	if errors.Is(err, errClosedByClient) {
		c.linger(lingerTimeout)
	}
	c.socket.Close()
}

// write is the writer's goroutine.
func (c *conn) write() {
	if err := c.outbox.write(c.written); err != nil {
		c.socket.Close() // the reader sees it
	}
}

// written gives window back for what is in the socket. The writer calls it.
func (c *conn) written(cost int64) { c.session.Written(cost) }

// end makes the connection close with err, from any goroutine, without waiting. Only the first call has an effect.
func (c *conn) end(err *amqp.Error) { c.endFor(err, err) }

// endFor is end with what the log is told.
func (c *conn) endFor(err *amqp.Error, reason error) {
	if c.outbox.seal(closeFrame(err)) {
		c.logEnd(reason)
		c.setState("closing")
		c.socket.SetReadDeadline(past) // wakes the reader
	}
}

// cut closes the socket under a client that does not answer.
func (c *conn) cut() {
	if c.tls != nil {
		c.tls.NetConn().Close() // Close of TLS would wait for the client to read
	}
	c.socket.Close()
}

// past is a deadline that interrupts a read.
var past = time.Unix(1, 0)

func closeFrame(err *amqp.Error) []byte {
	return wire.AppendMethod(nil, 0, &wire.ConnectionClose{
		ReplyCode: err.Code, ReplyText: err.Text, ClassID: err.ClassID, MethodID: err.MethodID,
	})
}

// finish does what the end of the connection, for that reason, asks for. The engine is left first: who is told of the
// close knows that exclusive queues are gone and unacked messages back.
func (c *conn) finish(reason error) {
	c.dropPartial()
	c.server.unfinished.leave(c)
	if c.isCut(reason) {
		c.outbox.fail() // at once: the engine may have others to serve before it lets the connection go
	}
	if c.session != nil {
		c.session.Close()
	}
	var refusal *amqp.Error
	switch {
	case errors.Is(reason, errClosedByClient):
		c.logEnd(reason)
		c.outbox.seal(wire.AppendMethod(nil, 0, &wire.ConnectionCloseOk{}))
	case errors.As(reason, &refusal) && c.tuned:
		c.end(refusal)
		c.awaitCloseOk(closeTimeout)
	case errors.As(reason, &refusal) && c.tellsLogin && refusal.Code == amqp.CodeAccessRefused:
		c.endFor(refusal, reason)
		c.awaitCloseOk(lingerTimeout)
	case errors.As(reason, &refusal):
		c.logEnd(reason)
		c.setState("closing")
		c.linger(refusalDelay)
	case c.outbox.isSealed(): // by end
		c.awaitCloseOk(closeTimeout)
	case errors.Is(reason, errProtocolHeader):
		c.logEnd(reason)
		c.outbox.seal([]byte(wire.ProtocolHeader))
	default:
		c.logEnd(reason)
	}
	c.setState("closing")
}

// isCut reports whether a connection ends for a reason that the client is not told: nothing more is sent to it.
func (c *conn) isCut(reason error) bool {
	var refusal *amqp.Error
	told := errors.Is(reason, errClosedByClient) || errors.Is(reason, errProtocolHeader) || errors.As(reason, &refusal)
	return !told && !c.outbox.isSealed()
}

// awaitCloseOk discards what the client sends until its close-ok, answering a close that crossed ours, for at most
// that long.
// Source: AMQP connection.close; RabbitMQ, connection.close.
func (c *conn) awaitCloseOk(timeout time.Duration) {
	deadline := time.Now().Add(timeout)
	c.socket.SetReadDeadline(deadline)
	for {
		f, ok, err := c.input.frame()
		switch {
		case err != nil: // nor can what follows be cut into frames
			c.linger(lingerTimeout)
			return
		case !ok:
			switch err := c.input.fill(); {
			case isTimeout(err) && time.Now().Before(deadline): // end's wake-up came late
				c.socket.SetReadDeadline(deadline)
			case err != nil:
				return
			}
			continue
		case f.Type != wire.FrameMethod || f.Channel != 0:
			continue
		}
		switch id, _, _ := wire.CutMethod(f.Payload); id {
		case wire.IDConnectionClose:
			c.outbox.putSealed(wire.AppendMethod(nil, 0, &wire.ConnectionCloseOk{}))
		case wire.IDConnectionCloseOk:
			return
		}
	}
}

// linger discards what the client still sends until it closes its socket, for at most that long.
func (c *conn) linger(timeout time.Duration) {
	c.socket.SetReadDeadline(time.Now().Add(timeout))
	_, _ = io.Copy(io.Discard, c.socket) // its error is the end
}

func (c *conn) setState(state string) {
	c.mu.Lock()
	c.mu.about.State = state
	c.mu.Unlock()
}

// waitUntil sets the deadline of reads, unless the reader shall wake: end, or freed, has set it, or will.
func (c *conn) waitUntil(deadline time.Time) {
	c.socket.SetReadDeadline(deadline)
	if c.outbox.isSealed() || c.isTaken() {
		c.socket.SetReadDeadline(past)
	}
}

// lost names the socket's error as a reason.
func (c *conn) lost(err error) error {
	if why := c.reason.Load(); why != nil {
		return *why
	}
	return lost(err)
}

func lost(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) {
		return errLost
	}
	return fmt.Errorf("%w: %w", errLost, err)
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
