package perf

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

const (
	// readBytes is the size of the read buffer; one read can bring as much.
	readBytes = 256 << 10

	// frameMax is the largest frame the client agrees to, in octets; it must fit the read buffer.
	frameMax = 128 << 10

	// channel is the only one of a link.
	channel = 1

	// replyTimeout is how long the broker may take for one synchronous answer.
	replyTimeout = 30 * time.Second

	// stampBytes is how much of a body the generator uses, and the size of the smallest.
	stampBytes = 16
)

// link is one connection with one channel. One goroutine may receive while another sends; call does both.
type link struct {
	conn     net.Conn
	product  string // the broker's name and version, as it gives them
	frameMax uint32 // octets of the largest frame that may be sent

	in         []byte // in[start:end] is read and not yet parsed
	start, end int
	got        received

	// The content whose frames are still arriving.
	partial struct {
		delivery
		returned bool
		header   bool   // the header is still to come
		left     uint64 // octets of the body still to come
		have     int    // octets in first
		first    [stampBytes]byte
	}
}

// dial connects, logs in and opens the channel.
func dial(ctx context.Context, to target) (*link, error) {
	return dialInto(ctx, to, make([]byte, readBytes))
}

// dialInto is dial with a read buffer of readBytes, which the link has until it is closed.
func dialInto(ctx context.Context, to target, in []byte) (*link, error) {
	l, err := connect(ctx, to, in)
	if err != nil {
		return nil, err
	}
	if err := l.open(); err != nil {
		l.conn.Close()
		return nil, fmt.Errorf("%s: %w", to.address, err)
	}
	return l, nil
}

// connect connects and logs in; in is the link's read buffer, of readBytes.
func connect(ctx context.Context, to target, in []byte) (*link, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", to.address)
	if err != nil {
		return nil, err
	}
	l, err := newLink(conn, to, in)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", to.address, err)
	}
	return l, nil
}

// introduction are the client properties. The capabilities make the broker say why it refuses a login, and that it
// cancels a consumer. Source: RabbitMQ, capabilities.
var introduction = amqp.Table{
	{Name: "product", Value: amqp.String("bartleby perf")},
	{Name: "capabilities", Value: amqp.TableValue(amqp.Table{
		{Name: "authentication_failure_close", Value: amqp.Bool(true)},
		{Name: "consumer_cancel_notify", Value: amqp.Bool(true)},
	})},
}

// newLink shakes hands over conn, which it then owns unless it fails.
func newLink(conn net.Conn, to target, in []byte) (*link, error) {
	l := &link{conn: conn, in: in}
	conn.SetDeadline(time.Now().Add(replyTimeout))
	defer conn.SetDeadline(time.Time{})
	if err := l.send([]byte(wire.ProtocolHeader)); err != nil {
		return nil, err
	}
	start, err := await[*wire.ConnectionStart](l)
	if err != nil {
		return nil, err
	}
	product, _ := start.ServerProperties.Get("product")
	version, _ := start.ServerProperties.Get("version")
	l.product = product.Str + " " + version.Str
	// what it is, behind what it passes for
	if platform, _ := start.ServerProperties.Get("platform"); platform.Str != "" {
		l.product += " (" + platform.Str + ")"
	}

	err = l.sendMethod(0, &wire.ConnectionStartOk{
		ClientProperties: introduction,
		Mechanism:        "PLAIN",
		Response:         "\x00" + to.user + "\x00" + to.password,
		Locale:           "en_US",
	})
	if err != nil {
		return nil, err
	}
	tune, err := await[*wire.ConnectionTune](l)
	if err != nil {
		return nil, err
	}
	l.frameMax = tune.FrameMax
	if l.frameMax == 0 || l.frameMax > frameMax {
		l.frameMax = frameMax
	}
	// No heartbeats: they would be one more timer per connection, and the run has its own timeouts.
	if err := l.sendMethod(0, &wire.ConnectionTuneOk{ChannelMax: tune.ChannelMax, FrameMax: l.frameMax}); err != nil {
		return nil, err
	}
	if err := l.sendMethod(0, &wire.ConnectionOpen{VirtualHost: to.vhost}); err != nil {
		return nil, err
	}
	_, err = await[*wire.ConnectionOpenOk](l)
	return l, err
}

// open opens the channel.
func (l *link) open() error {
	_, err := call[*wire.ChannelOpenOk](l, &wire.ChannelOpen{})
	return err
}

// call sends m and waits for its answer. Nothing may be under way to the link but that.
func call[Reply wire.Method](l *link, m wire.Method) (Reply, error) {
	l.conn.SetReadDeadline(time.Now().Add(replyTimeout))
	defer l.conn.SetReadDeadline(time.Time{})
	if err := l.sendMethod(channel, m); err != nil {
		var none Reply
		return none, err
	}
	return await[Reply](l)
}

// await receives until a reply comes. Contents and confirms before it are dropped.
func await[Reply wire.Method](l *link) (Reply, error) {
	var none Reply
	for {
		got, err := l.receive()
		if err != nil {
			return none, fmt.Errorf("waiting for %v: %w", none.ID(), err)
		}
		if got.reply == nil {
			continue
		}
		reply, ok := got.reply.(Reply)
		if !ok {
			return none, fmt.Errorf("waiting for %v: got %v", none.ID(), got.reply.ID())
		}
		return reply, nil
	}
}

func (l *link) sendMethod(ch uint16, m wire.Method) error {
	return l.send(wire.AppendMethod(nil, ch, m))
}

// send writes b, which is whole frames.
func (l *link) send(b []byte) error {
	_, err := l.conn.Write(b)
	return err
}

// interrupt makes receive return, now and until resume. Another goroutine than the receiving one may call it.
func (l *link) interrupt() { l.conn.SetReadDeadline(time.Unix(1, 0)) }

func (l *link) resume() { l.conn.SetReadDeadline(time.Time{}) }

// close says goodbye, which tells that the broker has handled all that was sent, and ends the connection.
func (l *link) close() error {
	defer l.conn.Close()
	l.conn.SetDeadline(time.Now().Add(replyTimeout))
	if err := l.sendMethod(0, &wire.ConnectionClose{ReplyCode: amqp.CodeReplySuccess, ReplyText: "done"}); err != nil {
		return err
	}
	_, err := await[*wire.ConnectionCloseOk](l)
	return err
}
