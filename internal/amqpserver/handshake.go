package amqpserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// headerOf09 is the protocol header of AMQP 0-9 as some clients send it, for the protocol we speak.
// Source: RabbitMQ, handshake.
const headerOf09 = "AMQP\x01\x01\x00\x09"

// productVersion is the series of RabbitMQ whose behaviour clients may expect.
const productVersion = "4.2.0"

// handshake leads from the protocol header to connection.open-ok. Its errors are reasons for finish.
//
//	header → start → start-ok → tune → tune-ok → open → open-ok
//	└────── starting ───────┘└─── tuning ───┘└── opening ──┘ running
//
// Source: AMQP connection; RabbitMQ, handshake.
func (c *conn) handshake() error {
	for _, step := range []func() error{c.secure, c.protocolHeader, c.start, c.tune, c.open} {
		switch err := step(); {
		case isTimeout(err) && c.outbox.isSealed():
			return errEnding
		case isTimeout(err):
			c.logAccepted()
			return errHandshakeTimeout
		case err != nil:
			return err
		}
	}
	return nil
}

// secure is the TLS handshake, if the listener asks for one.
func (c *conn) secure() error {
	o := &c.server.options
	if c.tls != nil {
		ctx, cancel := context.WithDeadline(context.Background(), c.connectedAt.Add(o.TLSTimeout))
		defer cancel()
		if err := c.tls.HandshakeContext(ctx); err != nil {
			return &tlsFailed{err}
		}
	}
	c.waitUntil(c.connectedAt.Add(o.HandshakeTimeout))
	return nil
}

func (c *conn) protocolHeader() error {
	for c.input.end-c.input.start < len(wire.ProtocolHeader) {
		if err := c.input.fill(); err != nil {
			return lostUnlessTimeout(err)
		}
	}
	c.logAccepted()
	header := string(c.input.load.buf[:len(wire.ProtocolHeader)])
	c.input.start += len(header)
	if header != wire.ProtocolHeader && header != headerOf09 {
		return errProtocolHeader
	}
	return nil
}

// start learns who the client is.
func (c *conn) start() error {
	time.Sleep(startPause)
	c.outbox.put(c.server.greeting(c.tls != nil), 0)
	m, err := c.method()
	if err != nil {
		return err
	}
	ok, is := m.(*wire.ConnectionStartOk)
	if !is {
		return outOfState(m, "starting")
	}
	c.tellsLogin = capability(ok.ClientProperties, "authentication_failure_close")
	c.tellsBlocked = capability(ok.ClientProperties, "connection.blocked")
	c.mu.Lock()
	c.mu.about.ClientProperties, c.mu.about.AuthMechanism = ok.ClientProperties, ok.Mechanism
	if v, ok := ok.ClientProperties.Get("connection_name"); ok && v.Kind == amqp.KindString {
		c.mu.about.UserProvidedName = v.Str
	}
	c.mu.Unlock()
	user, reason, err := c.logIn(ok.Mechanism, ok.Response)
	if err != nil {
		return err
	}
	if reason != "" {
		return &loginRefused{ok.Mechanism, reason}
	}
	c.user = user
	c.server.countUser(c)
	c.mu.Lock()
	c.mu.about.User, c.mu.about.State = user, "tuning"
	c.mu.Unlock()
	return nil
}

// tune agrees on limits. The client may lower ours, not raise them; its heartbeat counts.
func (c *conn) tune() error {
	o := &c.server.options
	c.outbox.put(wire.AppendMethod(nil, 0, &wire.ConnectionTune{
		ChannelMax: o.ChannelMax, FrameMax: o.FrameMax, Heartbeat: uint16(o.Heartbeat / time.Second),
	}), 0)
	m, err := c.method()
	if err != nil {
		return err
	}
	ok, is := m.(*wire.ConnectionTuneOk)
	if !is {
		return outOfState(m, "tuning")
	}
	if err := agree("frame_max", ok.FrameMax, frameBytesFloor, o.FrameMax); err != nil {
		return err
	}
	if err := agree("channel_max", uint32(ok.ChannelMax), 1, uint32(o.ChannelMax)); err != nil {
		return err
	}
	c.input.frameMax, c.encoder.frameMax = ok.FrameMax, ok.FrameMax
	c.channelMax = ok.ChannelMax
	if c.channelMax == 0 {
		c.channelMax = channelNumbers
	}
	c.heartbeat = time.Duration(ok.Heartbeat) * time.Second
	c.tuned = true
	c.mu.Lock()
	c.mu.about.ChannelMax, c.mu.about.FrameMax, c.mu.about.Heartbeat = c.channelMax, ok.FrameMax, c.heartbeat
	c.mu.about.State = "opening"
	c.mu.Unlock()
	return nil
}

// open attaches to the virtual host.
func (c *conn) open() error {
	m, err := c.method()
	if err != nil {
		return err
	}
	open, is := m.(*wire.ConnectionOpen)
	if !is {
		return outOfState(m, "opening")
	}
	about := c.about()
	if !c.server.admit(c) {
		return amqp.NotAllowed("connection refused: node connection limit (%d) is reached", c.server.options.ConnectionMax).
			WithMethod(ids(wire.IDConnectionOpen))
	}
	session, err := c.server.engine.Attach(&c.encoder, engine.ConnInfo{
		Principal: authz.Principal{User: about.User, From: peer(c.socket)}, Name: c.name, VHost: open.VirtualHost, Protocol: "AMQP 0-9-1",
		CancelNotify: capability(about.ClientProperties, "consumer_cancel_notify"),
	})
	if err != nil {
		var refusal *amqp.Error
		if !errors.As(err, &refusal) {
			c.log.Error("cannot attach", "vhost", open.VirtualHost, "error", err)
			refusal = amqp.InternalError("cannot open vhost '%s'", open.VirtualHost)
		}
		return refusal.WithMethod(ids(wire.IDConnectionOpen))
	}
	c.session = session
	c.mu.Lock()
	c.mu.about.VHost, c.mu.about.Conn, c.mu.about.State = open.VirtualHost, session.Conn(), "running"
	c.mu.Unlock()
	c.logOpened()
	c.outbox.put(wire.AppendMethod(nil, 0, &wire.ConnectionOpenOk{}), 0)
	return nil
}

// method waits for the next method on channel 0, skipping heartbeats. A client that closes ends the handshake.
func (c *conn) method() (wire.Method, error) {
	for {
		f, ok, err := c.input.frame()
		switch {
		case err != nil:
			return nil, err
		case !ok:
			if err := c.input.fill(); err != nil {
				return nil, lostUnlessTimeout(err)
			}
			continue
		case f.Type == wire.FrameHeartbeat:
			continue
		case f.Type != wire.FrameMethod || f.Channel != 0:
			return nil, wire.UnexpectedFrame(f)
		}
		m, err := wire.ParseMethod(f.Payload)
		if err != nil {
			return nil, err
		}
		if m.ID() == wire.IDConnectionClose {
			return nil, errClosedByClient
		}
		return m, nil
	}
}

// agree checks a limit that the client sends back. Zero means none on either side.
// Source: RabbitMQ, tuning.
func agree(name string, client, least, server uint32) error {
	switch {
	case client != 0 && client < least:
		return amqp.NotAllowed("negotiated %s = %d is lower than the minimum allowed value (%d)", name, client, least)
	case server != 0 && (client == 0 || client > server):
		return amqp.NotAllowed("negotiated %s = %d is higher than the maximum allowed value (%d)", name, client, server)
	}
	return nil
}

func outOfState(m wire.Method, state string) error {
	return amqp.ChannelError("unexpected method in connection state %s", state).WithMethod(ids(m.ID()))
}

// ids splits a method's id for WithMethod.
func ids(id wire.MethodID) (classID, methodID uint16) { return id.Class(), id.Method() }

// capability reports whether a client announced one.
// Source: RabbitMQ, capabilities.
func capability(properties amqp.Table, name string) bool {
	v, _ := properties.Get("capabilities")
	able, _ := v.Table.Get(name)
	yes, _ := able.Bool()
	return yes
}

// greeting is a connection.start of the caller's own. It is encoded when the name of the cluster has changed.
func (s *Server) greeting(encrypted bool) []byte {
	at := &s.greetings[0]
	if encrypted {
		at = &s.greetings[1]
	}
	cluster := cmp.Or(s.engine.Accounts().ClusterName(), s.options.Node)
	g := at.Load()
	if g == nil || g.cluster != cluster {
		g = &greeting{cluster: cluster, frame: wire.AppendMethod(nil, 0, &wire.ConnectionStart{
			VersionMajor: 0, VersionMinor: 9, ServerProperties: s.properties(cluster),
			Mechanisms: strings.Join(s.mechanisms(encrypted), " "), Locales: "en_US",
		})}
		at.Store(g)
	}
	return bytes.Clone(g.frame)
}

// greeting is an encoded connection.start, which nobody changes.
type greeting struct {
	cluster string // the name that it says
	frame   []byte
}

// properties is what the server says of itself. Clients choose their ways by product and version.
// Source: RabbitMQ, server properties.
func (s *Server) properties(cluster string) amqp.Table {
	var able amqp.Table
	for name := range strings.FieldsSeq(`publisher_confirms exchange_exchange_bindings basic.nack consumer_cancel_notify
		connection.blocked consumer_priorities authentication_failure_close per_consumer_qos direct_reply_to`) {
		able = append(able, amqp.Field{Name: name, Value: amqp.Bool(true)})
	}
	return amqp.Table{
		{Name: "capabilities", Value: amqp.TableValue(able)},
		{Name: "cluster_name", Value: amqp.String(cluster)},
		{Name: "copyright", Value: amqp.String("The Bartleby authors")},
		{Name: "information", Value: amqp.String("Licensed under the Apache License 2.0")},
		{Name: "platform", Value: amqp.String(s.options.Platform)},
		{Name: "product", Value: amqp.String("RabbitMQ")},
		{Name: "version", Value: amqp.String(productVersion)},
	}
}

// peer is the client's address, invalid if it has none: not a network's.
func peer(socket net.Conn) netip.Addr {
	if a, ok := socket.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr()
	}
	return netip.Addr{}
}

func lostUnlessTimeout(err error) error {
	if isTimeout(err) {
		return err
	}
	return lost(err)
}
