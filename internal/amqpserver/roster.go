package amqpserver

import (
	"cmp"
	"crypto/tls"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Connection is a picture of one live connection.
type Connection struct {
	ID               uint64 // never used twice in a process
	Name             string // "peer:port -> host:port"
	UserProvidedName string // client property connection_name
	User, VHost      string // empty until known
	State            string // starting, tuning, opening, running, flow, blocked, closing. Source: RabbitMQ management
	PeerHost, Host   string
	PeerPort, Port   int
	AuthMechanism    string
	ClientProperties amqp.Table // shared, not to be changed
	ConnectedAt      time.Time
	Conn             fact.ConnID // zero until attached
	Channels         []Channel   // by number
	ChannelMax       uint16
	FrameMax         uint32
	Heartbeat        time.Duration
	Received, Sent   uint64               // octets
	Reads, Writes    uint64               // that brought and sent them
	Pending          int                  // pieces that wait to be sent
	TLS              *tls.ConnectionState // nil: no TLS, or not agreed upon yet
}

// Channel is a picture of one open channel.
type Channel struct {
	Number uint16
	ID     vhost.ChannelID
}

// Connections lists the live connections in the order of their arrival.
func (s *Server) Connections() []Connection {
	conns := s.live()
	list := make([]Connection, len(conns))
	for i, c := range conns {
		list[i] = c.picture()
	}
	return list
}

// CloseConnection ends the connections of that name with 320 and the reason, and reports whether there was one. It
// does not wait until they are gone.
// Source: RabbitMQ management, connections.
func (s *Server) CloseConnection(name, reason string) bool {
	found := false
	for _, c := range s.live() {
		if c.name == name {
			c.end(amqp.ConnectionForced("%s", reason))
			found = true
		}
	}
	return found
}

// live lists the connections in the order of their arrival.
func (s *Server) live() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.mu.conns), func(a, b *conn) int { return cmp.Compare(a.id, b.id) })
}

// openConnections is how many connections there are.
func (s *Server) openConnections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.conns)
}

// about is what is known of the connection. What it has sent and received, and its channels, are in a picture alone.
func (c *conn) about() Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.about
}

func (c *conn) picture() Connection {
	p := c.about()
	switch {
	case p.State != "running":
	case c.blocked.Load():
		p.State = "blocked"
	case c.session.Paced():
		p.State = "flow"
	}
	p.ID, p.Name, p.ConnectedAt = c.id, c.name, c.connectedAt
	p.Received, p.Sent = c.input.received.Load(), c.outbox.sent.Load()
	p.Reads, p.Writes, p.Pending = c.input.reads.Load(), c.outbox.writes.Load(), c.outbox.pending()
	p.Channels = c.channels.pictures()
	if c.tls != nil && p.User != "" { // before, the handshake would be waited for
		state := c.tls.ConnectionState()
		p.TLS = &state
	}
	return p
}

func splitAddr(a net.Addr) (host string, port int) {
	if tcp, ok := a.(*net.TCPAddr); ok {
		at := tcp.AddrPort()
		return at.Addr().Unmap().String(), int(at.Port())
	}
	host, service, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String(), 0
	}
	port, _ = strconv.Atoi(service) // the net package writes numbers
	return host, port
}
