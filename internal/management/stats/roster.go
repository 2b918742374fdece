package stats

import (
	"crypto/tls"
	"fmt"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A Roster knows the connections of the listeners for clients. Its methods may be called by any goroutine.
type Roster interface {
	// Connections lists the live ones, in the order of their arrival. The slice is the caller's.
	Connections() []Connection
	// CloseConnection ends those of that name, telling them the reason, and reports whether there was one. It
	// does not wait for their end.
	CloseConnection(name, reason string) bool
	// Doors are figures of all connections together.
	Doors() Doors
}

// Doors are figures of what connections cost beside their virtual hosts.
type Doors struct {
	UnfinishedBytes   int64  // of messages that have not arrived whole, or have in parts and were not taken yet
	UnfinishedWaiting int    // connections that wait for space for such
	UnfinishedEnded   uint64 // connections that ended because a message or a frame did not come on, or found no space
	SendTimeouts      uint64 // connections that ended because their clients did not read
	IdleFramePauses   uint64 // pauses in reading from clients that sent too many frames which led to nothing
	HandshakesWaited  uint64 // TLS handshakes that waited because others were being signed
}

// A Connection is a picture of a live connection.
type Connection struct {
	Name             string // "peer:port -> host:port"
	UserProvidedName string // client property connection_name
	User, VHost      string // empty until known
	State            string // starting, tuning, opening, running, closing
	Protocol         string // "AMQP 0-9-1"
	PeerHost, Host   string
	PeerPort, Port   int
	AuthMechanism    string
	ClientProperties amqp.Table // shared, not changed here
	ConnectedAt      time.Time
	Channels         int
	ChannelMax       int
	FrameMax         int // bytes
	Heartbeat        time.Duration
	Received, Sent   uint64               // bytes
	Reads, Writes    uint64               // of the socket, that brought and sent them
	Pending          int                  // pieces that wait to be sent
	TLS              *tls.ConnectionState // nil: it is not encrypted; shared, not changed here
}

// NoRoster is the roster of a broker without listeners for clients.
type NoRoster struct{}

func (NoRoster) Connections() []Connection           { return nil }
func (NoRoster) CloseConnection(string, string) bool { return false }
func (NoRoster) Doors() Doors                        { return Doors{} }

// ChannelName is how lists call a channel. Source: RabbitMQ management API, channels.
func ChannelName(connection string, number uint16) string {
	return fmt.Sprintf("%s (%d)", connection, number)
}
